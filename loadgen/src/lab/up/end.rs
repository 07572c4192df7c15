//! Waits for the request to end a standalone lab.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

use crate::lab::LabError;
use crate::lab::service::guard::pipe_closed;

/// Returns at SIGINT (Ctrl-C), SIGTERM or SIGHUP, or when standard input is a pipe that closes.
pub(super) async fn asked_to_end() -> Result<(), LabError> {
    let handle = |kind| signal(kind).map_err(LabError::io("handle signals"));
    let (mut interrupt, mut terminate) =
        (handle(SignalKind::interrupt())?, handle(SignalKind::terminate())?);
    let mut hangup = handle(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
        () = input_closed() => {}
    }
    Ok(())
}

/// Returns when standard input is a pipe and closes; otherwise never returns. The program at the
/// other end of the pipe ends the lab by closing the pipe.
async fn input_closed() {
    let is_pipe = rustix::fs::fstat(io::stdin()).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
    });
    if !is_pipe {
        return std::future::pending().await;
    }
    let _ = pipe_closed().await;
}
