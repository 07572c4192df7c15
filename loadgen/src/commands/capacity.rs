//! `loadgen capacity`: the highest rate that each target carries, found by search in the open model.
//!
//! A round is a search over one target, started afresh; a search is a row of trials, each of which
//! holds a rate and is judged like a run of one round.

use std::time::Duration;

use super::arguments::{Contest, Output, job};
use super::measure::{Experiment, carry_out};
use crate::analysis::Criteria;
use crate::cli::CapacityArgs;
use crate::experiment::folder::RunFolder;
use crate::experiment::job::Job;
use crate::experiment::observe::Observe;
use crate::experiment::scenarios;
use crate::experiment::search::searched::Searched;
use crate::experiment::search::{Context, Keeper, Quest, record, search};
use crate::experiment::session::{OVERHEAD, Session};
use crate::experiment::site::Site;
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::record::{Bound, CapacityRecord};
use crate::report::{Document, html};
use crate::scenario::{OverrideError, Overrides};

/// Searches what the command line asks for, saves it, and prints it.
pub fn run(args: CapacityArgs) -> Result<Exit, Failure> {
    let output = Output::from(&args.common);
    let CapacityArgs { scenario, common, users, duration, precision, rounds, server_workers } =
        args;
    let mut scenario = scenarios::find_to_run(&scenario)?;
    let criteria = Criteria::of(&mut scenario, duration);
    let overrides = Overrides {
        users,
        ramp_up: Some(Duration::ZERO),
        duration: Some(duration),
        iterations: None,
        // What each trial sets anew.
        rate: Some(criteria.start_per_s()),
        drain: common.drain,
    };
    let usage = |e: OverrideError| {
        Failure::message(Exit::Usage, e.to_string(), "see `loadgen capacity --help`")
    };
    scenario.load = scenario.load.with_overrides(overrides).map_err(usage)?;
    let contest = Contest {
        users: users.into_iter().collect(),
        server_workers: server_workers.into_iter().collect(),
        rounds: Some(rounds),
        aa: false,
    };
    let job = job(scenario, &common, contest, None)?;
    carry_out(&Quest { job, criteria, precision: precision / 100.0, duration }, &output)
}

impl Experiment for Quest {
    type Measured = Searched;
    type Record = CapacityRecord;

    const CAN_CHANGE: bool = false;

    fn job(&self) -> &Job {
        &self.job
    }

    fn forecast(&self) -> (u32, Option<Duration>) {
        (1, Some(self.job.warmup + self.duration + OVERHEAD))
    }

    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>> {
        vec![Box::new(Keeper { quest: self, site, folder })]
    }

    async fn measure(&self, session: &mut Session<'_>, site: &Site<'_>) -> Searched {
        search(self, session, site).await
    }

    fn is_empty(searched: &Searched) -> bool {
        searched.is_empty()
    }

    fn failure(searched: Searched) -> Option<Failure> {
        searched.failure
    }

    fn record(
        &self,
        searched: &Searched,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> CapacityRecord {
        record(self, searched, Context::of(site, searched, lab, interrupted))
    }

    fn save(&self, record: &CapacityRecord, folder: &RunFolder) -> Result<(), Failure> {
        folder.save_capacity(record)?;
        folder.save_page(&html::capacity(record))
    }

    fn document(record: &CapacityRecord) -> Document<'_> {
        Document::Capacity(record)
    }

    fn exit(record: &CapacityRecord, failed: Option<Exit>) -> Exit {
        if record.interrupted {
            Exit::Interrupted
        } else if let Some(exit) = failed {
            exit
        } else if record.targets.iter().any(|target| target.capacity.bound == Bound::Below) {
            Exit::Threshold
        } else {
            Exit::Done
        }
    }
}
