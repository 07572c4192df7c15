//! `loadgen manager`: a run whose load comes from workers on other hosts.

use std::path::Path;

use clap::Parser as _;

use super::options::hosts;
use super::run::{Loaded, load, measure, resolve};
use crate::cli::{Cli, Command, ManagerArgs};
use crate::cluster::{Keys, RemoteWorkers, advertised};
use crate::experiment::job::Remote;
use crate::experiment::run::Run;
use crate::experiment::run::resume::{Kept, Resumable};
use crate::failure::{Exit, Failure};

/// Waits for workers on other hosts, and carries out a run with these workers, or resumes one.
pub(super) fn run(args: ManagerArgs) -> Result<Exit, Failure> {
    if let Some(folder) = &args.resume {
        return resume(folder);
    }
    check(&args)?;
    let (loaded, text) = load(&args.run)?;
    let mut run = with_workers(&args, loaded)?;
    run.resumable = words(&args).and_then(|words| Resumable::new(words, &run.job));
    measure(&args.run, &run, text.as_deref())
}

/// Refuses options that have no effect on a manager, and servers that it would start itself.
fn check(args: &ManagerArgs) -> Result<(), Failure> {
    let common = &args.run.common;
    let unused = |message: &str, help: &str| {
        Err(Failure::message(Exit::Usage, "unused_option", message.to_owned(), help))
    };
    if common.measuring.workers.is_some() {
        let message =
            "--workers starts workers on this host, but a manager waits for workers of other hosts";
        return unused(message, "set the number of workers: --expect-workers N");
    }
    if common.measuring.no_calibrate {
        let message = "--no-calibrate has no effect: a manager never measures the maximum rate of its workers";
        return unused(message, "leave out --no-calibrate");
    }
    if !common.hosts.is_empty() {
        let message = "--hosts starts workers, but a manager waits for workers that others start";
        return unused(message, "leave out `manager`, or --hosts");
    }
    hosts::refuse_own_servers("", common, &args.run.request)
}

/// Like [`run`], with the scenario and the servers that were read already. Such a run cannot be resumed.
pub(super) fn run_loaded(
    args: ManagerArgs,
    loaded: Loaded,
    text: Option<&str>,
) -> Result<Exit, Failure> {
    let run = with_workers(&args, loaded)?;
    measure(&args.run, &run, text)
}

/// Goes on with the run in this folder, whose manager has ended.
fn resume(folder: &Path) -> Result<Exit, Failure> {
    let mut kept = Kept::open(folder)?;
    kept.enter()?;
    let args = match Cli::try_parse_from(&kept.state().words) {
        Ok(Cli { command: Some(Command::Manager(args)), .. }) => args,
        // The same build has read the same words before.
        other => {
            let why = other.err().map(|error| error.to_string()).unwrap_or_default();
            return Err(kept.damaged(&format!("its command line is not that of a manager: {why}")));
        }
    };
    // The files may be of another user, after all.
    check(&args)?;
    let (loaded, _) = load(&args.run)?;
    let mut run = with_workers(&args, loaded)?;
    run.resumable = Some(Resumable::of(kept, &mut run.job)?);
    measure(&args.run, &run, None)
}

/// Returns the run that the command line means, with its workers on other hosts.
fn with_workers(args: &ManagerArgs, loaded: Loaded) -> Result<Run, Failure> {
    resolve(&args.run, loaded, Some(remote(args)?))
}

/// Returns the workers on other hosts for which the command line waits.
pub(super) fn remote(args: &ManagerArgs) -> Result<Remote, Failure> {
    let (Some(listen), Some(count)) = (args.listen.clone(), args.expect_workers) else {
        // The command line requires both, unless it resumes a run.
        let message = "a manager needs --listen and --expect-workers".to_owned();
        return Err(Failure::conflict(message, "name both"));
    };
    let address = advertised(&listen, args.advertise.as_deref()).map_err(|why| {
        let help = "name the address at which workers reach this host: --advertise HOST[:PORT]";
        Failure::message(Exit::Usage, "bad_address", why, help)
    })?;
    let remote = RemoteWorkers {
        count,
        listen,
        address,
        keys: match &args.authority {
            Some(file) => Keys::File(file.clone()),
            None => Keys::Folder(args.join_dir.clone()),
        },
        lease: args.lease,
        limit: args.wait,
        needs_all: args.needs_all,
    };
    Ok(Remote::Awaited(remote))
}

/// Returns the command line of this process, if it can be given again: a scenario from standard input cannot.
fn words(args: &ManagerArgs) -> Option<Vec<String>> {
    if args.run.scenario.as_deref() == Some("-") {
        return None;
    }
    std::env::args_os().map(|word| word.into_string().ok()).collect()
}
