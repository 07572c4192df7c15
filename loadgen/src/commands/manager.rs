//! `loadgen manager`: a run whose load comes from workers on other hosts.

use super::run::{job::Job, measure};
use super::{Exit, Failure};
use crate::cli::ManagerArgs;
use crate::cluster::RemoteWorkers;

/// Waits for the workers, and measures what the command line asks for with them.
pub fn run(args: ManagerArgs) -> Result<Exit, Failure> {
    let common = &args.run.common;
    let usage =
        |message: &str, help: &str| Err(Failure::message(Exit::Usage, message.to_owned(), help));
    if common.workers.is_some() {
        let message =
            "--workers starts workers on this host, and a manager waits for those of others";
        return usage(message, "say how many: --expect-workers N");
    }
    if common.url.is_empty() {
        let message =
            "the targets of the lab listen on this host alone, where workers can't reach them";
        return usage(message, "say where the server is: --url http://HOST:PORT");
    }
    let remote = RemoteWorkers {
        count: args.expect_workers,
        address: args.listen,
        folder: args.join_dir,
        lease: args.lease,
        limit: args.wait,
    };
    let mut job = Job::resolve(args.run)?;
    job.workers = Some(remote.count);
    job.remote = Some(remote);
    // What workers elsewhere can send can't be found out here.
    job.calibrate = false;
    measure(&job)
}
