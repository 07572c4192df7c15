//! Runs a round whose load comes from this process alone.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::error::EngineError;
use super::goose_round::GooseRound;
use super::load_change::{Change, RoundControl};
use super::plan::{Plan, Share};
use super::results::{Results, Seen, WorkerResults};
use loadgen_measure::{Counts, GrowingSeries, Phase, Series};

/// Time from the preparation of a round to its start, so that the users are ready at the start.
const LEAD: Duration = Duration::from_millis(50);
/// Interval between two [`Seen::Tick`] events.
const TICK: Duration = Duration::from_millis(100);

/// Runs a round of `plan` from this process alone, until the planned end or an end by `control`.
/// Calls `show` for each event as it happens, with all results so far.
///
/// # Errors
/// Returns an error if the round could not be prepared, or did not run to its end.
pub async fn run_alone(
    plan: Plan,
    control: RoundControl,
    show: impl FnMut(Seen<'_>, &mut GrowingSeries),
) -> Result<Results, EngineError> {
    let ready = Ready::prepare(plan, control)?;
    ready.connect().await;
    ready.run(Instant::now() + LEAD, show).await
}

/// Runs two rounds at the same time from this process, from one common start, each like
/// [`run_alone`]. Both plans must have the same length: the end of one round ends the other's
/// company. Each of `rounds` is a plan, its control, and the function to call for its events.
///
/// # Errors
/// Returns an error if a round could not be prepared, or did not run to its end.
pub async fn run_both<One, Other>(
    one: (Plan, RoundControl, One),
    other: (Plan, RoundControl, Other),
) -> Result<[Results; 2], EngineError>
where
    One: FnMut(Seen<'_>, &mut GrowingSeries),
    Other: FnMut(Seen<'_>, &mut GrowingSeries),
{
    let (one, show_one) = (Ready::prepare(one.0, one.1)?, one.2);
    let (other, show_other) = (Ready::prepare(other.0, other.1)?, other.2);
    tokio::join!(one.connect(), other.connect());
    let start = Instant::now() + LEAD;
    let (one, other) = tokio::try_join!(one.run(start, show_one), other.run(start, show_other))?;
    Ok([one, other])
}

/// A round that is ready to start.
struct Ready {
    plan: Plan,
    control: RoundControl,
    round: GooseRound,
}

impl Ready {
    fn prepare(plan: Plan, control: RoundControl) -> Result<Self, EngineError> {
        let round = GooseRound::prepare(plan.part(Share::WHOLE))?;
        Ok(Self { plan, control, round })
    }

    /// Opens the users' first connections, unless the round is stopped before.
    async fn connect(&self) {
        tokio::select! {
            () = self.round.connect() => {}
            () = self.control.stop.cancelled() => {}
        }
    }

    /// Runs the round from `start`.
    async fn run(
        self,
        start: Instant,
        mut show: impl FnMut(Seen<'_>, &mut GrowingSeries),
    ) -> Result<Results, EngineError> {
        let Self { plan, mut control, round } = self;
        let users = plan.scenario.load.users;
        let (sender, mut snapshots) = mpsc::channel(16);
        let (mut series, mut changes) = (GrowingSeries::default(), Vec::new());
        let (stop, change) = (control.stop.clone(), round.changes());
        show(Seen::Started(start), &mut series);
        let running = async {
            let finished = round.run(start, stop, &sender).await;
            drop(sender);
            finished
        };
        let merging = async {
            let mut tick = tokio::time::interval(TICK);
            loop {
                tokio::select! {
                    snapshot = snapshots.recv() => match snapshot {
                        Some(snapshot) => {
                            series.add(&snapshot);
                            show(Seen::Snapshot(0, &snapshot), &mut series);
                        }
                        None => break,
                    },
                    _ = tick.tick() => show(Seen::Tick, &mut series),
                }
            }
        };
        let changing = async {
            loop {
                let asked = control.next().await;
                let elapsed = Instant::now().saturating_duration_since(start);
                if let Some(decided) = asked.decide(&plan, elapsed) {
                    changes.push(decided);
                    // A round that is over needs no change.
                    let _ = change.send(Change::Load(decided));
                }
            }
        };
        let finished = tokio::select! {
            (finished, ()) = async { tokio::join!(running, merging) } => finished,
            never = changing => never,
        };
        let finished = finished?;
        show(Seen::Complete, &mut series);
        let series = Series::from(series);
        let held = series.phase(Phase::Hold);
        let requests = held.iter().map(Counts::requests).sum();
        let errors = held.iter().map(Counts::failures).sum();
        let snapshots = finished.snapshots;
        let own = WorkerResults {
            users,
            requests,
            errors,
            snapshots,
            finished,
            ..WorkerResults::default()
        };
        Ok(Results { series, workers: vec![own], changes, ..Results::default() })
    }
}
