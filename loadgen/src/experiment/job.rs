//! Defines the job of an experiment. Everything that can be checked before the start is checked.

use std::time::Duration;

use rand::TryRng;
use rand::rngs::SysRng;

use super::contender::Contender;
use super::subject::{Server, Subject};
use crate::cluster::{OnLoss, RemoteWorkers};
use crate::engine::{Plan, Share};
use crate::failure::{Exit, Failure};
use crate::lab::{Runtime, TargetSpec};
use crate::scenario::Scenario;

/// The job of an experiment, with all options resolved.
pub struct Job {
    /// Scenario, with its load overridden by the command line.
    pub scenario: Scenario,
    /// Targets or servers under load.
    pub subject: Subject,
    /// Number of worker processes; `None` for load from this process.
    pub workers: Option<u32>,
    /// Workers on other hosts, if the load comes from other hosts.
    pub remote: Option<RemoteWorkers>,
    /// Reaction to the loss of a worker.
    pub on_loss: OnLoss,
    /// Whether the one subject is measured twice in each round, against itself.
    pub aa: bool,
    /// Number of rounds for each contender.
    pub rounds: u32,
    /// Duration of each round before its results count.
    pub warmup: Duration,
    /// Seed of generated data and of the order of the contenders.
    pub seed: u64,
    /// Contenders of each round, with the targets in the order in which they were named.
    pub contenders: Vec<Contender>,
    /// Runtime of targets and backends: processes or containers.
    pub runtime: Runtime,
    /// Whether to measure the generator's maximum rate.
    pub calibrate: bool,
}

impl Job {
    /// Returns the names of the contenders.
    pub fn names(&self) -> Vec<String> {
        self.contenders.iter().map(|contender| contender.name.clone()).collect()
    }

    /// Returns whether targets are measured with several numbers of server workers or users.
    pub fn is_matrix(&self) -> bool {
        self.contenders.iter().any(|contender| contender.name != contender.target)
    }

    /// Returns the largest number of worker processes that a target is started with.
    pub fn most_server_workers(&self) -> u32 {
        self.contenders.iter().map(|contender| contender.server_workers).max().unwrap_or(1)
    }

    /// Returns the lab's target of this contender; `None` if servers run already.
    pub fn target(&self, contender: usize) -> Option<&TargetSpec> {
        match &self.subject {
            Subject::Lab { targets, .. } => {
                targets.get(self.contenders.get(contender)?.index).or(targets.last())
            }
            Subject::Running(_) => None,
        }
    }

    /// Returns the server of this contender if it runs already; `None` for a target of the lab.
    pub fn running(&self, contender: usize) -> Option<&Server> {
        match &self.subject {
            Subject::Lab { .. } => None,
            Subject::Running(servers) => {
                servers.get(self.contenders.get(contender)?.index).or(servers.last())
            }
        }
    }

    /// Returns the whole load of one round over this contender, which answers at `base_url`.
    pub fn plan(&self, contender: usize, base_url: String, round: u32) -> Plan {
        let mut scenario = self.scenario.clone();
        if let Some(contender) = self.contenders.get(contender) {
            scenario.load.users = contender.users;
        }
        Plan {
            scenario,
            base_url,
            warmup: self.warmup,
            seed: self.seed.wrapping_add(u64::from(round)),
            share: Share::WHOLE,
        }
    }
}

/// Returns a random seed of 53 bits, which every JSON reader keeps exactly.
pub fn random_seed() -> Result<u64, Failure> {
    let random = SysRng.try_next_u64().map_err(|e| {
        let message = format!("the system provides no random numbers: {e}");
        Failure::message(Exit::Failed, "no_random_numbers", message, "choose a seed with --seed N")
    })?;
    Ok(random >> 11)
}
