//! Begins and ends the telemetry of `--otlp` and `--prometheus`.

use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::cli::TelemetryArgs;
use crate::commands::options::telemetry::{bad_setting, settings};
use crate::failure::{Exit, Failure};
use crate::report::Progress;
use crate::report::telemetry::{CannotTell, Telemetry};
use crate::text::{duration, say};

/// Time after which a wait is noticed.
const NOTICED: Duration = Duration::from_millis(500);

/// Begins telemetry, if requested, and says where Prometheus finds the metrics. The results are saved in `folder`.
///
/// # Errors
/// If a setting cannot be followed, or the address cannot be used.
pub(super) fn begin(
    args: &TelemetryArgs,
    folder: &Path,
    progress: &Progress,
) -> Result<Option<Telemetry>, Failure> {
    let settings = settings(args, folder)?;
    let is_sent = settings.as_ref().is_some_and(|settings| settings.otlp.is_some());
    if args.otlp.is_some() && !is_sent {
        progress.note("telemetry: no metrics are sent, because OTEL_SDK_DISABLED is true");
    }
    let Some(settings) = settings else { return Ok(None) };
    let telemetry = Telemetry::begin(settings, progress.noter());
    let telemetry = telemetry.map_err(|error| cannot_tell(args, &error))?;
    if let Some(url) = telemetry.url() {
        progress.pin(&format!("metrics for Prometheus: {url}"));
    }
    Ok(Some(telemetry))
}

/// Notes that the measurement has ended, and waits until the collector, if any, has all that was measured. Ctrl-C ends
/// the wait, unless the command was `interrupted` already. `tell` shows what is going on.
pub(super) async fn end(
    telemetry: &mut Telemetry,
    tell: impl FnOnce(&str),
    interrupted: bool,
    interrupt: &CancellationToken,
) {
    telemetry.all_told();
    let slow = async {
        sleep(NOTICED).await;
        tell("sending the last metrics, for up to 5 s; Ctrl-C ends the wait");
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = telemetry.all_sent() => {}
        () = interrupt.cancelled(), if !interrupted => {}
        () = slow => {}
    }
}

/// Waits until Prometheus, if it is served, has the last values. Ctrl-C ends the wait; if the command was `interrupted`
/// already, a second one ends loadgen.
pub(super) fn linger(telemetry: &Telemetry, interrupted: bool, interrupt: &CancellationToken) {
    let Some(longest) = telemetry.linger(interrupted) else { return };
    let (at_most, how) = (duration(longest), "Ctrl-C ends the wait");
    say(format!("waiting up to {at_most} for Prometheus to ask for the last values; {how}"));
    let is_cut_short = || !interrupted && interrupt.is_cancelled();
    if !telemetry.wait_for_prometheus(longest, is_cut_short) {
        say("Prometheus has not asked for the last values");
    }
}

fn cannot_tell(args: &TelemetryArgs, error: &CannotTell) -> Failure {
    let (message, help) = match error {
        CannotTell::Setting(error) => return bad_setting(error),
        CannotTell::Address(error) => {
            let address = args.prometheus.as_ref().map(ToString::to_string).unwrap_or_default();
            let message = format!("cannot serve metrics at {address}: {error}");
            (message, "name an address of this host with a free port: --prometheus=HOST:PORT")
        }
        CannotTell::Thread(error) => {
            let message = format!("cannot start the thread of telemetry: {error}");
            (message, "raise the limit of threads, or leave out --otlp and --prometheus")
        }
    };
    Failure::message(Exit::Failed, "cannot_serve_metrics", message, help)
}
