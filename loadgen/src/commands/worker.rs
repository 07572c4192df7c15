//! `loadgen worker`: serves the rounds of a manager.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};
use std::thread;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::output::say;
use super::process::use_huge_pages;
use super::threads::on_all_cpus;
use crate::cli::WorkerArgs;
use crate::cluster::{Allowed, AllowedTarget, ClusterError, Join, Joined, Terms, join};
use crate::experiment::limits::raise_open_files;
use crate::failure::{Exit, Failure};

/// Between two attempts to find a manager.
const PAUSE: Duration = Duration::from_secs(1);

/// Joins, and serves until the manager says so or is gone; with a join file of its own it then waits
/// for the next run.
///
/// # Errors
/// When the worker could not join, or left without having been told to by its manager.
pub fn run(args: &WorkerArgs) -> Result<Exit, Failure> {
    if args.once && args.join == "-" {
        let message = "--once has no effect with --join -: such a worker serves one manager anyway";
        return Err(Failure::message(Exit::Usage, message.to_owned(), "leave it out"));
    }
    // How many users there will be is not known yet.
    use_huge_pages();
    let allowed =
        args.allow_target.iter().map(|text| allowed(text)).collect::<Result<Vec<_>, _>>()?;
    let serving = serve(args, allowed.into());
    on_all_cpus()?.block_on(serving).map(|()| Exit::Done).map_err(Failure::with(Exit::Failed))
}

fn allowed(text: &str) -> Result<AllowedTarget, Failure> {
    text.parse().map_err(|why: String| {
        let message = format!("--allow-target {text}: {why}");
        Failure::message(Exit::Usage, message, "name a host, or a host and its port")
    })
}

async fn serve(args: &WorkerArgs, allowed: Allowed) -> Result<(), ClusterError> {
    // Ctrl-C is for the loadgen that started a worker, and ends it in good order, to decide on.
    let is_local = args.join == "-";
    let leave = leave_on_signal(!is_local)?;
    let terms = Terms { leave, allowed, limit: args.wait, ..Terms::default() };
    if is_local {
        let document = first_line(&terms.gone).await?.ok_or(ClusterError::ManagerGone)?;
        return join(&Join::parse(&document)?, terms).await?.serve().await;
    }
    raise_open_files();
    let document = std::fs::read_to_string(&args.join)
        .map_err(|e| ClusterError::Join(format!("{}: {e}", args.join)))?;
    let document = Join::parse(&document)?;
    loop {
        serve_one(&document, &terms, args.wait).await?;
        if args.once || terms.leave.is_cancelled() {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for the manager, for as long as it may, and serves it until it is done or gone.
async fn serve_one(
    document: &Join,
    terms: &Terms,
    wait: Option<Duration>,
) -> Result<(), ClusterError> {
    let address = &document.address;
    say(format!("waiting for the manager at {address}"));
    let Some(joined) = find(document, terms, wait).await? else { return Ok(()) };
    say(format!("joined the manager at {address} as {}", document.user()));
    match joined.serve().await {
        Ok(()) => say("the manager has done with this worker"),
        Err(ClusterError::Signalled) => say("left on a signal; the load was stopped"),
        // It may come back, or another after it.
        Err(gone @ ClusterError::ManagerGone) => say(gone),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Tries to join until it has, or the wait is over, or it is to leave: there is nothing to serve then.
/// Whatever may pass is tried again, and said once.
///
/// # Errors
/// What won't pass; when the wait is over, what was met last.
async fn find(
    document: &Join,
    terms: &Terms,
    wait: Option<Duration>,
) -> Result<Option<Joined>, ClusterError> {
    let start = Instant::now();
    let mut met = HashSet::new();
    loop {
        let left = wait.map(|wait| wait.saturating_sub(start.elapsed()));
        let terms = Terms { gone: CancellationToken::new(), limit: left, ..terms.clone() };
        let error = match join(document, terms).await {
            Ok(joined) => return Ok(Some(joined)),
            Err(ClusterError::Signalled) => return Ok(None),
            Err(error) if error.may_pass() => error,
            Err(error) => return Err(error),
        };
        if let Some(wait) = wait.filter(|wait| start.elapsed() + PAUSE > *wait) {
            return Err(error.within(wait));
        }
        let what = format!("{error}; it is tried again");
        if met.insert(what.clone()) {
            say(what);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// By SIGTERM, or by SIGINT where that is to be heeded.
fn leave_on_signal(by_interrupt: bool) -> Result<CancellationToken, ClusterError> {
    let failed = |e: &dyn std::fmt::Display| ClusterError::Signals(e.to_string());
    // The first handler stays: without this one Goose would set its own, which ends the process.
    // It takes both signals; Tokio's handlers, set after it, are called beside it.
    ctrlc::set_handler(|| {}).map_err(|e| failed(&e))?;
    let mut terminations = signal(SignalKind::terminate()).map_err(|e| failed(&e))?;
    let mut interrupts = signal(SignalKind::interrupt()).map_err(|e| failed(&e))?;
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
