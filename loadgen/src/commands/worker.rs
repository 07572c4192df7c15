//! `loadgen worker`: serves the rounds of a manager.

use std::io::{self, BufRead, Read};
use std::thread;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::process::use_huge_pages;
use super::{Exit, Failure};
use crate::cli::WorkerArgs;
use crate::cluster::{ClusterError, Join, serve};

/// Joins, and serves until the manager says so or is gone.
///
/// # Errors
/// When the worker could not join, or left without having been told to by its manager.
pub fn run(args: &WorkerArgs) -> Result<Exit, Failure> {
    // How many users there will be is not known yet.
    use_huge_pages();
    super::runtime()?.block_on(join(args)).map(|()| Exit::Done).map_err(Failure::with(Exit::Failed))
}

async fn join(args: &WorkerArgs) -> Result<(), ClusterError> {
    let leave = leave_on_sigterm()?;
    let gone = CancellationToken::new();
    let document = if args.join == "-" {
        let document = first_line(&gone).await?;
        document.ok_or(ClusterError::ManagerGone)?
    } else {
        std::fs::read_to_string(&args.join)
            .map_err(|e| ClusterError::Join(format!("{}: {e}", args.join)))?
    };
    serve(&Join::parse(&document)?, gone, leave).await
}

/// SIGINT is for loadgen itself, which ends its workers in good order; SIGTERM means this one.
fn leave_on_sigterm() -> Result<CancellationToken, ClusterError> {
    let failed = |e: &dyn std::fmt::Display| ClusterError::Signals(e.to_string());
    // The first handler stays: without this one Goose would set its own, which ends the process.
    // It takes SIGTERM too; Tokio's handler, set after it, is called beside it.
    ctrlc::set_handler(|| {}).map_err(|e| failed(&e))?;
    let mut terminations = signal(SignalKind::terminate()).map_err(|e| failed(&e))?;
    let leave = CancellationToken::new();
    let told = leave.clone();
    tokio::spawn(async move {
        terminations.recv().await;
        told.cancel();
    });
    Ok(leave)
}

/// The first line of standard input; `gone` is cancelled when the input ends.
///
/// In a thread of its own and not in Tokio's, which would wait for it at the end of the process.
async fn first_line(gone: &CancellationToken) -> Result<Option<String>, ClusterError> {
    let (line, first) = tokio::sync::oneshot::channel();
    let gone = gone.clone();
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let mut stdin = io::stdin().lock();
            let mut text = String::new();
            if stdin.read_line(&mut text).is_ok_and(|bytes| bytes > 0) {
                let _ = line.send(text);
                // Nothing more is said; the end of it is what matters.
                let mut ignored = [0; 64];
                while stdin.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
            }
            gone.cancel();
        })
        .map_err(|e| ClusterError::Join(e.to_string()))?;
    Ok(first.await.ok())
}
