//! What an experiment is to do, checked as far as possible before anything starts.

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

/// What is to be done, all options resolved.
pub struct Job {
    /// The scenario, its load overridden by the command line.
    pub scenario: Scenario,
    /// What is put under load.
    pub subject: Subject,
    /// Worker processes; `None` for load from this process.
    pub workers: Option<u32>,
    /// Where these come from, if from other hosts.
    pub remote: Option<RemoteWorkers>,
    /// What becomes of the run when one of them is lost.
    pub on_loss: OnLoss,
    /// Whether the one subject is measured twice in each round, against itself.
    pub aa: bool,
    /// Rounds for each target.
    pub rounds: u32,
    /// How long each round runs before it counts.
    pub warmup: Duration,
    /// What generated data and the order of the targets are seeded with.
    pub seed: u64,
    /// What is measured in each round, targets by the order in which they were named.
    pub contenders: Vec<Contender>,
    /// What targets and backends run in.
    pub runtime: Runtime,
    /// Whether to find out what the generator can send at most.
    pub calibrate: bool,
}

impl Job {
    /// The names of what is compared.
    pub fn names(&self) -> Vec<String> {
        self.contenders.iter().map(|contender| contender.name.clone()).collect()
    }

    /// Whether targets are measured with several numbers of server workers or users.
    pub fn is_matrix(&self) -> bool {
        self.contenders.iter().any(|contender| contender.name != contender.target)
    }

    /// The most worker processes that a target is started with.
    pub fn most_server_workers(&self) -> u32 {
        self.contenders.iter().map(|contender| contender.server_workers).max().unwrap_or(1)
    }

    /// The lab's target behind this contender.
    pub fn target(&self, contender: usize) -> Option<&TargetSpec> {
        match &self.subject {
            Subject::Lab { targets, .. } => {
                targets.get(self.contenders.get(contender)?.index).or(targets.last())
            }
            Subject::Running(_) => None,
        }
    }

    /// Where this contender answers, if it runs already.
    pub fn running(&self, contender: usize) -> Option<&Server> {
        match &self.subject {
            Subject::Lab { .. } => None,
            Subject::Running(servers) => {
                servers.get(self.contenders.get(contender)?.index).or(servers.last())
            }
        }
    }

    /// The whole load of one round over this contender, which answers at `base_url`.
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

/// A seed of 53 bits, which every JSON reader keeps.
pub fn random_seed() -> Result<u64, Failure> {
    let random = SysRng.try_next_u64().map_err(|e| {
        let message = format!("the system gives no random numbers: {e}");
        Failure::message(Exit::Failed, message, "choose a number yourself: --seed N")
    })?;
    Ok(random >> 11)
}
