//! The thread of telemetry: beside the load one of the lowest priority, afterwards another.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::otlp::{BadSetting, Exporter, OtlpSettings};
use super::prometheus;
use super::shared::Shared;
use super::teller::{Channel, Receiver, TelemetryTeller};
use super::told::Told;
use crate::record::TelemetryRecord;
use crate::report::listen::{Bounded, ServeAddress, Time, in_background};
use crate::report::progress::Teller;

/// Name of the threads.
const NAME: &str = "telemetry";

/// Longest time, at the end, in which Prometheus must load what it has asked for.
const LOADING: Duration = Duration::from_secs(2);

/// Longest wait, at the end, for the last message to a collector, which has 5 s to arrive.
const LONGEST_SEND: Duration = Duration::from_secs(6);

/// Longest wait, at the end, for Prometheus to ask for the last values: somewhat longer than the minute after which it
/// asks again unless it is set up otherwise.
const LONGEST_LINGER: Duration = Duration::from_secs(65);

/// Where metrics go, and what describes the command.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// Collector of OpenTelemetry that gets the metrics, if any.
    pub otlp: Option<OtlpSettings>,
    /// Address at which Prometheus finds the metrics, if any.
    pub prometheus: Option<ServeAddress>,
    /// Attributes of the command that all metrics have.
    pub resource: Vec<(String, String)>,
}

/// Why telemetry cannot begin.
#[derive(Debug)]
pub enum CannotTell {
    /// The address for Prometheus cannot be used.
    Address(io::Error),
    /// A file that is named for the collector cannot be used.
    Setting(BadSetting),
    /// The system refuses a thread.
    Thread(io::Error),
}

/// Telemetry of a command, until the value is dropped.
pub struct Telemetry {
    shared: Arc<Shared>,
    channel: Channel,
    /// URL of the metrics, for Prometheus.
    url: Option<String>,
    /// Cancelled when the sends to a collector have ended.
    sent: CancellationToken,
    /// Cancelled when nothing is served any more.
    closed: CancellationToken,
    /// Cancelled when there is no load any more.
    unloaded: CancellationToken,
    beside_load: Option<JoinHandle<Option<Work>>>,
    after_load: Option<JoinHandle<()>>,
}

/// Work of the thread of telemetry, which another thread can continue.
struct Work {
    runtime: Runtime,
    rest: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Work {
    /// Works until all is done, or until it is `interrupted`: returns then what is left.
    fn go_on(mut self, interrupted: &CancellationToken) -> Option<Self> {
        let is_done = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = &mut self.rest => true,
                () = interrupted.cancelled() => false,
            }
        });
        (!is_done).then_some(self)
    }
}

impl Telemetry {
    /// Greatest number of connections to the server that Prometheus asks, at the same time.
    pub const CONNECTIONS: u16 = 16;

    /// Begins to tell what is measured. `note` shows a message to the user.
    ///
    /// # Errors
    /// If the address cannot be used, or a file that the settings name.
    pub fn begin(settings: TelemetrySettings, note: Teller) -> Result<Self, CannotTell> {
        let shared = Arc::new(Shared::new(settings.resource, note));
        let bound = settings.prometheus.as_ref().map(ServeAddress::bind).transpose();
        let bound = bound.map_err(CannotTell::Address)?;
        let url = bound.as_ref().map(|bound| format!("http://{}/metrics", bound.shown));
        let listener = bound.map(|bound| bound.listener);
        let exporter = settings.otlp.map(|settings| Exporter::new(settings, shared.clone()));
        let exporter = exporter.transpose().map_err(CannotTell::Setting)?;
        let [sent, closed, unloaded] = std::array::from_fn(|_| CancellationToken::new());
        let (channel, receiver) = Channel::new();
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CannotTell::Thread)?;
        let tokens = (sent.clone(), closed.clone());
        let rest = Box::pin(serve(shared.clone(), receiver, listener, exporter, tokens));
        let (work, interrupted) = (Work { runtime, rest }, unloaded.clone());
        let thread = in_background(NAME, move || work.go_on(&interrupted));
        let beside_load = Some(thread.map_err(CannotTell::Thread)?);
        Ok(Self { shared, channel, url, sent, closed, unloaded, beside_load, after_load: None })
    }

    /// Returns the URL at which Prometheus finds the metrics; `None` without an address.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Returns what tells telemetry what happens.
    #[must_use]
    pub fn teller(&self) -> TelemetryTeller {
        TelemetryTeller::new(self.channel.clone())
    }

    /// Returns a function that tells what became of the messages to a collector so far.
    #[must_use]
    pub fn exports(&self) -> Box<dyn Fn() -> Option<TelemetryRecord>> {
        let shared = self.shared.clone();
        Box::new(move || shared.exports())
    }

    /// Notes that the measurement has ended. What is left to do, a thread of the usual priority does: there is no load
    /// that it could disturb, and other programs could take all of the time of one with the lowest priority.
    pub fn all_told(&mut self) {
        self.channel.tell_counts();
        self.channel.tell(Told::Ended);
        self.unloaded.cancel();
        let Some(beside_load) = self.beside_load.take() else { return };
        let never = CancellationToken::new();
        let go_on = move || {
            if let Ok(Some(work)) = beside_load.join() {
                work.go_on(&never);
            }
        };
        // Without a thread, what was not sent by now is missing, which the record says.
        self.after_load = thread::Builder::new().name(NAME.to_owned()).spawn(go_on).ok();
    }

    /// Waits until the collector, if any, has all that was measured: at the latest for 6 s.
    pub async fn all_sent(&self) {
        // The thread may have ended with an error.
        let _ = timeout(LONGEST_SEND, self.sent.cancelled()).await;
    }

    /// Returns for how long the end of the command should wait for Prometheus to ask for the last values; `None`
    /// if it has them, without an address, and for a command that was `interrupted` before it ever asked.
    #[must_use]
    pub fn linger(&self, interrupted: bool) -> Option<Duration> {
        let scrapes = self.shared.scrapes();
        self.url.as_ref().filter(|_| !scrapes.has_all)?;
        if interrupted && scrapes.last.is_none() {
            return None;
        }
        // It may be a little late.
        let expected = scrapes.longest.map(|longest| longest.mul_f64(1.5) + Duration::from_secs(1));
        Some(expected.unwrap_or(LONGEST_LINGER).min(LONGEST_LINGER))
    }

    /// Waits until Prometheus has asked for the last values, at the latest for this time, or until
    /// `is_cut_short` says so. Returns whether Prometheus has them.
    pub fn wait_for_prometheus(&self, longest: Duration, is_cut_short: impl Fn() -> bool) -> bool {
        let until = Instant::now() + longest;
        let has_all = || self.shared.scrapes().has_all;
        while !has_all() && Instant::now() < until && !is_cut_short() {
            thread::sleep(Duration::from_millis(20));
        }
        has_all()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.closed.cancel();
        // The panic hook has already reported a panic of a thread.
        drop(self.beside_load.take().map(JoinHandle::join));
        drop(self.after_load.take().map(JoinHandle::join));
    }
}

async fn serve(
    shared: Arc<Shared>,
    mut told: Receiver,
    listener: Option<std::net::TcpListener>,
    exporter: Option<Exporter>,
    (sent, closed): (CancellationToken, CancellationToken),
) {
    let learn = async {
        let mut round = None;
        while let Some(told) = told.next().await {
            match (told, &round) {
                (Told::Ended, _) => {
                    shared.known().learn(Told::Ended);
                    shared.all_told.cancel();
                }
                (Told::Traced(traced), Some((target, round))) => {
                    shared.spans().add(target, *round, traced);
                }
                (told, _) => {
                    if let Told::Round(target, number) = &told {
                        round = Some((target.clone(), *number));
                    }
                    shared.known().learn(told);
                }
            }
        }
    };
    let send = async {
        if let Some(exporter) = exporter {
            exporter.run().await;
        }
        sent.cancel();
    };
    let answer = async {
        let Some(listener) = listener.and_then(|listener| TcpListener::from_std(listener).ok())
        else {
            return closed.cancelled().await;
        };
        let listener = Bounded::new(listener, Telemetry::CONNECTIONS, Time::InAll);
        let _ = axum::serve(listener, prometheus::routes(shared.clone()))
            .with_graceful_shutdown(closed.clone().cancelled_owned())
            .await;
    };
    let too_late = async {
        closed.cancelled().await;
        sleep(LOADING).await;
    };
    let work = async {
        tokio::join!(learn, send);
        closed.cancelled().await;
    };
    tokio::select! {
        biased;
        () = answer => {}
        () = too_late => {}
        () = work => {}
    }
}
