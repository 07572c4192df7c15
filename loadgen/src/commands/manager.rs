//! `loadgen manager`: a run whose load comes from workers on other hosts.

use super::run::run_with;
use crate::cli::ManagerArgs;
use crate::cluster::{RemoteWorkers, advertised};
use crate::failure::{Exit, Failure};

/// Waits for the workers, and measures with them as the command line says.
pub fn run(args: ManagerArgs) -> Result<Exit, Failure> {
    let common = &args.run.common;
    let usage =
        |message: &str, help: &str| Err(Failure::message(Exit::Usage, message.to_owned(), help));
    if common.workers.is_some() {
        let message =
            "--workers starts workers on this host, and a manager waits for those of others";
        return usage(message, "say how many: --expect-workers N");
    }
    if common.no_calibrate {
        let message =
            "--no-calibrate has no effect: what workers elsewhere can send is never looked for";
        return usage(message, "leave it out");
    }
    if common.url.is_empty() {
        let message =
            "the targets of the lab listen on this host alone, where workers can't reach them";
        return usage(message, "say where the server is: --url http://HOST:PORT");
    }
    let address = advertised(&args.listen, args.advertise.as_deref()).map_err(|why| {
        let help = "say where workers find this host: --advertise HOST[:PORT]";
        Failure::message(Exit::Usage, why, help)
    })?;
    let remote = RemoteWorkers {
        count: args.expect_workers,
        listen: args.listen,
        address,
        folder: args.join_dir,
        lease: args.lease,
        limit: args.wait,
    };
    run_with(args.run, Some(remote))
}
