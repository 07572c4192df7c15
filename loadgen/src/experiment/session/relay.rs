//! Passes on what is seen of a load.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::refusals::{GONE_AFTER, GONE_AT_END, Refusals};
use super::service_monitor::Watch;
use crate::engine::Seen;
use crate::experiment::measured::Measured;
use crate::experiment::observe::{Event, Observers};
use crate::measure::GrowingSeries;

/// Passes on what is seen of a load: to the observers, to the watch over the services, and to the probe.
/// Ends the load if an observer asks for the end, or if the server is gone.
pub(super) struct Relay<'s, 'o> {
    pub observers: &'s mut Observers<'o>,
    /// Results of a run's earlier rounds; `None` in a search.
    pub before: Option<&'s Measured>,
    pub watch: Watch,
    /// Tells the probe when the load starts; `None` afterwards.
    pub tell_start: Option<oneshot::Sender<Instant>>,
    /// Refused connections of a server that loadgen did not start; `None` for another server.
    pub refusals: Option<Refusals>,
    /// Ends the load when it is cancelled.
    pub stop: CancellationToken,
    /// For how long the server has accepted no connection, if it is gone.
    pub gone: Option<Duration>,
}

impl Relay<'_, '_> {
    /// Passes on what is seen. `results` are all results of the load so far.
    pub(super) fn pass(&mut self, seen: Seen<'_>, results: &mut GrowingSeries) {
        match seen {
            Seen::Started(start) => {
                if let Some(tell) = self.tell_start.take() {
                    // Without a probe, nobody listens.
                    let _ = tell.send(start);
                }
                self.watch.begin(start.into());
                self.observers.tell(Event::LoadStarted(start));
            }
            Seen::Snapshot(worker, snapshot) => {
                self.observers.tell(Event::Snapshot(worker, snapshot, results));
                if let Some(refusals) = &mut self.refusals {
                    let now = Instant::now();
                    refusals.add(snapshot, now);
                    self.gone = self.gone.or(refusals.lasting(now, GONE_AFTER));
                }
                if self.gone.is_some() || self.observers.stopped().is_some() {
                    self.stop.cancel();
                }
            }
            Seen::Lost(lost) => self.observers.tell(Event::Lost(lost)),
            Seen::Tick => self.observers.tell(Event::Tick(results, self.before)),
            Seen::Complete => {
                // A load that was ended early has no last second.
                let refusals = self.refusals.as_ref().filter(|_| !self.stop.is_cancelled());
                let refused = refusals.and_then(|it| it.lasting(Instant::now(), GONE_AT_END));
                self.gone = self.gone.or(refused);
                self.observers.tell(Event::Complete(results));
            }
        }
    }
}
