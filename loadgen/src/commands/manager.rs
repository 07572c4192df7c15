//! `loadgen manager`: a run whose load comes from workers on other hosts.

use super::options::hosts;
use super::run::{Loaded, load, measure, resolve};
use crate::cli::ManagerArgs;
use crate::cluster::{Keys, RemoteWorkers, advertised};
use crate::experiment::job::Remote;
use crate::failure::{Exit, Failure};

/// Waits for workers on other hosts, and carries out a run with these workers.
pub(super) fn run(args: ManagerArgs) -> Result<Exit, Failure> {
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
    hosts::refuse_own_servers("", common, &args.run.request)?;
    let (loaded, text) = load(&args.run)?;
    run_loaded(args, loaded, text.as_deref())
}

/// Like [`run`], with the scenario and the servers that were read already.
pub(super) fn run_loaded(
    args: ManagerArgs,
    loaded: Loaded,
    text: Option<&str>,
) -> Result<Exit, Failure> {
    let address = advertised(&args.listen, args.advertise.as_deref()).map_err(|why| {
        let help = "name the address at which workers reach this host: --advertise HOST[:PORT]";
        Failure::message(Exit::Usage, "bad_address", why, help)
    })?;
    let remote = RemoteWorkers {
        count: args.expect_workers,
        listen: args.listen,
        address,
        keys: match args.authority {
            Some(file) => Keys::File(file),
            None => Keys::Folder(args.join_dir),
        },
        lease: args.lease,
        limit: args.wait,
        needs_all: args.needs_all,
    };
    let run = resolve(&args.run, loaded, Some(Remote::Awaited(remote)))?;
    measure(&args.run, &run, text)
}
