//! Ctrl-C and SIGTERM.

use std::fmt::Display;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};

/// Signals within this time are one request to end: a terminal that closes sends several.
const ONE_PRESS: Duration = Duration::from_secs(1);

/// A token that SIGINT, SIGTERM or SIGHUP cancels. A second one exits at once: the guards end
/// the services, and the workers end themselves; `at_once` is done before that exit.
///
/// It must be called before the first round, since Goose sets a handler of its own where there
/// is none.
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

/// A token that SIGTERM cancels, and SIGINT where that is to be heeded.
pub fn leave_on_signal(by_interrupt: bool) -> Result<CancellationToken, Failure> {
    // The first handler stays: without this one Goose would set its own, which ends the process.
    // It takes both signals; Tokio's handlers, set after it, are called beside it.
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
    let message = format!("cannot watch for signals: {error}");
    Failure::message(Exit::Failed, message, "this is a fault of loadgen's: please report it")
}
