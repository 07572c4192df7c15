//! Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP.

use std::fmt::Display;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};

/// Time within which several signals count as a single request to end, because a terminal that
/// closes sends several signals.
const ONE_PRESS: Duration = Duration::from_secs(1);

/// Returns a token that the first SIGINT, SIGTERM or SIGHUP cancels. A signal more than a second
/// later calls `at_once` and exits immediately. The guards then end the services, and the workers
/// end by themselves.
///
/// Must be called before the first round, because Goose sets its own signal handler if no handler
/// is set.
pub fn on_signal(at_once: fn()) -> Result<CancellationToken, Failure> {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let first = OnceLock::new();
    ctrlc::set_handler(move || {
        if first.get_or_init(Instant::now).elapsed() > ONE_PRESS {
            at_once();
            std::process::exit(Exit::Interrupted as i32);
        }
        cancel.cancel();
    })
    .map_err(unwatched)?;
    Ok(token)
}

/// Returns a token that SIGTERM cancels, and that SIGINT also cancels if `by_interrupt` is true.
pub fn leave_on_signal(by_interrupt: bool) -> Result<CancellationToken, Failure> {
    // The first handler stays: without this one, Goose would set its own, which ends the process.
    // The empty handler takes both signals; Tokio's handlers, set later, are called in addition.
    ctrlc::set_handler(|| {}).map_err(unwatched)?;
    let mut terminations = signal(SignalKind::terminate()).map_err(unwatched)?;
    let mut interrupts = signal(SignalKind::interrupt()).map_err(unwatched)?;
    let leave = CancellationToken::new();
    let told = leave.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminations.recv() => {}
            _ = interrupts.recv(), if by_interrupt => {}
        }
        told.cancel();
    });
    Ok(leave)
}

fn unwatched(error: impl Display) -> Failure {
    let message = format!("cannot handle signals: {error}");
    let help = "this is a bug in loadgen: please report the bug";
    Failure::message(Exit::Failed, "no_signal_handler", message, help)
}
