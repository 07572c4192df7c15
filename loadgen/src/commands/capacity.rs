//! `loadgen capacity`: finds the highest rate that each target
//! carries, by search in the open model.
//!
//! A round is a search over one target, which is started afresh. A search is a series of trials.
//! Each trial holds a rate and is judged like a run of one round.

use super::measure::{carry_out, save};
use super::options::request::FromUrls;
use super::options::{Contest, Output, hosts, job, profile, scenario_to_run};
use crate::cli::CapacityArgs;
use crate::experiment::contender::Numbers;
use crate::experiment::search::{CapacitySearch, Terms};
use crate::failure::{Exit, Failure};
use crate::scenario::OverrideError;
use crate::scenario::experiment::CapacitySettings;

/// Number of searches for each target unless the command line has another, and most further searches
/// while a capacity is uncertain.
const ROUNDS: u32 = 5;

/// Searches for the highest rate that each target carries, saves the record, and prints the record.
pub(super) fn run(args: CapacityArgs) -> Result<Exit, Failure> {
    let output = Output::from(&args.common.measuring);
    let CapacityArgs {
        scenario, request, common, users, duration, precision, rounds, profile, ..
    } = args;
    let numbers = Numbers {
        server_workers: args.server_workers.into_iter().collect(),
        replicas: args.replicas.into_iter().collect(),
        users: users.into_iter().collect(),
    };
    let is_one_request = scenario.is_none();
    let remote = hosts::remote(&common, &request)?;
    let (mut scenario, running) = match scenario {
        Some(name) => (scenario_to_run(&name)?, None),
        None => {
            let FromUrls { scenario, servers, .. } = FromUrls::of(&request, &common)?;
            (scenario, servers)
        }
    };
    let settings = CapacitySettings { users, duration, precision: precision / 100.0 };
    let terms = Terms::of(&mut scenario, settings, common.drain).map_err(|e: OverrideError| {
        let help = "see `loadgen capacity --help`";
        Failure::message(Exit::Usage, "bad_load", e.to_string(), help)
    })?;
    let more_rounds = if rounds.is_none() { ROUNDS } else { 0 };
    let terms = Terms { more_rounds, ..terms };
    let contest = Contest { numbers, rounds: Some(rounds.unwrap_or(ROUNDS)), ..Contest::default() };
    let mut job = job(scenario, running, &common, contest, remote)?;
    job.one_request = is_one_request;
    let profiling_rounds = profile::rounds(&job, profile)?;
    let quest = CapacitySearch { job: &job, terms: &terms, profiling_rounds };
    carry_out(&quest, &output, save)
}
