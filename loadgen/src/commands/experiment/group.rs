//! Measures one group of an experiment, with servers that loadgen has deployed in a cluster, and with workers there.

use super::jobs::{Settings, Targets, published};
use crate::cli::RunArgs;
use crate::commands::measure::{carry_out, save};
use crate::commands::options::Output;
use crate::experiment::job::Remote;
use crate::experiment::published::GroupApart;
use crate::failure::{Exit, Failure};
use crate::lab::Runtime;

/// Measures the group, saves its record, and prints the record. The options of `run` that an experiment has are followed.
pub fn run(args: &RunArgs, group: GroupApart, remote: Remote) -> Result<Exit, Failure> {
    let measuring = &args.common.measuring;
    let settings = Settings {
        workers: Some(remote.count()),
        remote: Some(remote),
        // The maximum rate of workers on other hosts cannot be measured here.
        calibrate: false,
        // The servers run already.
        ..Settings::of(measuring, Runtime::Process, args.rounds, group.quick)?
    };
    let (left_out, target_cpus) = (group.left_out(), group.target_cpus());
    let GroupApart { file, servers, .. } = group;
    let targets = Targets::Deployed(servers);
    let experiment = published(file, &targets, &settings, left_out, target_cpus)?;
    carry_out(&experiment, &Output::from(measuring), save)
}
