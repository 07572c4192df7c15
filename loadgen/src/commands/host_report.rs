//! `loadgen host-report` (hidden): answers `loadgen hosts check` on a host.

use std::io::{self, BufRead as _};

use crate::cli::HostReportArgs;
use crate::cluster::{HostReport, clock_line};
use crate::experiment::host_rate::host_rate;
use crate::experiment::system_limits::limits;
use crate::failure::{Exit, Failure};
use crate::process::{on_all_cpus, print};

/// Says what this host has: a line with its clock for each line of standard input, and a report at the end.
pub(super) fn run(args: &HostReportArgs) -> Result<Exit, Failure> {
    // Fails if nobody listens any more.
    let tell = |line: String| print(&format!("{line}\n"));
    for _asked in io::stdin().lock().lines().map_while(Result::ok) {
        tell(clock_line())?;
    }
    // Before the workers start, which inherit the limit.
    let limits = limits();
    let rate = on_all_cpus()?.block_on(host_rate(args.workers));
    let (rate, rate_error) = match rate {
        Ok(rate) => (Some(rate), None),
        Err(why) => (None, Some(why)),
    };
    let report = HostReport {
        name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        limits,
        rate_error,
        rate_per_s: rate.map(|rate| rate.rate_per_s),
        others_percent: rate.and_then(|rate| rate.others_percent),
    };
    tell(report.line())?;
    Ok(Exit::Done)
}
