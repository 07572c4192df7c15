//! Defines the job of an experiment. Everything that can be checked before the start is checked.

use std::num::NonZeroU32;
use std::time::Duration;

use rand::TryRng;
use rand::rngs::SysRng;

use super::contender::Contender;
use super::slicing::Slicing;
use super::subject::{Server, Subject};
use crate::cluster::{HostWorkers, OnLoss, RemoteWorkers};
use crate::engine::{Plan, Share};
use crate::failure::{Exit, Failure};
use crate::lab::{Runtime, Size, TargetSpec};
use crate::scenario::Scenario;

/// Description of an experiment, with all options resolved: servers, load, rounds and settings.
#[derive(Debug, Clone)]
pub struct Job {
    /// Scenario, with its load overridden by the command line.
    pub scenario: Scenario,
    /// Servers under load: targets that loadgen starts, or servers that run already.
    pub subject: Subject,
    /// Number of worker processes that generate the
    /// load; `None` if this process generates the load.
    pub workers: Option<u32>,
    /// Description of the workers on other hosts; `None` if this machine generates the load.
    pub remote: Option<Remote>,
    /// Reaction to the loss of a worker.
    pub on_loss: OnLoss,
    /// Whether the only target is measured twice in each
    /// round, for a comparison with itself (`--aa`).
    pub aa: bool,
    /// How the contenders are loaded.
    pub method: Method,
    /// Rate of the probe, which measures the latency beside the load, in requests/s; `None` without a
    /// probe (`--probe`).
    pub probe: Option<f64>,
    /// One request in so many tells its server to trace it; `None` if none does (`--trace-one-in`).
    pub trace_one_in: Option<NonZeroU32>,
    /// Number of rounds for each contender; the rounds of the first stage if a precision is asked for.
    pub rounds: u32,
    /// Duration of the warm-up at the start of each round, whose requests are not counted.
    pub warmup: Duration,
    /// Seed of generated data and of the order of the contenders.
    pub seed: u64,
    /// Contenders of each round (targets, each with a number of server workers and of users), in
    /// the order in which the user named the targets.
    pub contenders: Vec<Contender>,
    /// Runtime of targets and backends: processes or containers.
    pub runtime: Runtime,
    /// Whether the scenario is one request of the command line, instead of a file.
    pub one_request: bool,
    /// Name of the group in an experiment file; `None` without one.
    pub group: Option<String>,
    /// Whether to measure the generator's maximum rate.
    pub calibrate: bool,
}

/// Workers on other hosts.
#[derive(Debug, Clone)]
pub enum Remote {
    /// They are started by hand, and the manager waits for them.
    Awaited(RemoteWorkers),
    /// The manager starts them through SSH.
    Started(HostWorkers),
}

impl Remote {
    /// Returns the number of workers.
    pub fn count(&self) -> u32 {
        match self {
            Self::Awaited(workers) => workers.count,
            Self::Started(workers) => workers.count(),
        }
    }
}

/// How the contenders of a job are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// One after another in each round, each alone, with a start of its own.
    Rounds,
    /// Two at the same time, on the same CPUs: the first with each other one (`--duet`).
    Duets,
    /// In turn, several times in each start, in which all are up (`--slices`). The scenario's duration is
    /// that of a slice, and `Job::rounds` counts the starts.
    Slices(Slicing),
    /// In turn in each round, in one start in which all are up: the quick form of an experiment. Holds the
    /// warm-up of each round but the first, which has the whole warm-up.
    OneStart(Duration),
}

impl Method {
    /// Returns the slices of each start; `None` for another method.
    pub fn slicing(self) -> Option<Slicing> {
        match self {
            Self::Slices(slicing) => Some(slicing),
            Self::Rounds | Self::Duets | Self::OneStart(_) => None,
        }
    }

    /// Returns whether the round, or slice, of this number is the first one of a start.
    pub fn begins_start(self, number: u32) -> bool {
        match self {
            Self::Rounds | Self::Duets => true,
            Self::Slices(slicing) => slicing.place(number).number == 1,
            Self::OneStart(_) => number <= 1,
        }
    }

    /// Returns the warm-up of the round, or slice, of this number. `whole` is that of a start.
    pub fn warmup_of(self, number: u32, whole: Duration) -> Duration {
        match self {
            Self::Rounds | Self::Duets => whole,
            Self::Slices(slicing) => slicing.warmup_of(number, whole),
            Self::OneStart(later) => {
                if number <= 1 {
                    whole
                } else {
                    later
                }
            }
        }
    }

    /// Returns whether all rounds of a contender share one start.
    pub fn is_one_start(self) -> bool {
        matches!(self, Self::OneStart(_))
    }
}

impl Job {
    /// Returns the number of measured passes of each round: over each contender or, in a duet, over the
    /// first together with each other one; with slices, over each contender in each slice.
    pub fn passes(&self) -> u32 {
        let contenders = u32::try_from(self.contenders.len()).unwrap_or(u32::MAX);
        match self.method {
            Method::Rounds | Method::OneStart(_) => contenders,
            Method::Duets => contenders.saturating_sub(1),
            Method::Slices(slicing) => contenders.saturating_mul(slicing.slices),
        }
    }

    /// Returns the names of the contenders.
    pub fn names(&self) -> Vec<String> {
        self.contenders.iter().map(|contender| contender.name.clone()).collect()
    }

    /// Returns whether all rounds of a contender share one start: that of the method, or that of pods in a cluster.
    pub fn is_one_start(&self) -> bool {
        self.method.is_one_start() || self.subject.is_deployed()
    }

    /// Returns whether one copy of the data may serve all contenders, one after another or at the same time. Servers that
    /// loadgen has deployed are up together, and may share a store of the user's.
    fn shares_data(&self) -> bool {
        self.method != Method::Rounds || self.subject.is_deployed()
    }

    /// Returns whether targets are measured with several numbers of server workers or users.
    pub fn is_matrix(&self) -> bool {
        self.contenders.iter().any(|contender| contender.name != contender.target)
    }

    /// Returns the number of replicas of the contender with this index; `None` without a load
    /// balancer.
    pub fn replicas(&self, contender: usize) -> Option<u32> {
        self.contenders.get(contender)?.replicas.or(self.target(contender)?.entry.replicas)
    }

    /// Returns whether a contender has replicas behind a load balancer.
    pub fn has_replicas(&self) -> bool {
        (0..self.contenders.len()).any(|contender| self.replicas(contender).is_some())
    }

    /// Returns the largest number of worker processes that a target is started with, of all replicas
    /// together.
    pub fn most_server_workers(&self) -> u32 {
        let numbers = self.contenders.iter().enumerate();
        let processes = numbers.map(|(index, contender)| {
            contender.server_workers.saturating_mul(self.replicas(index).unwrap_or(1))
        });
        processes.max().unwrap_or(1)
    }

    /// Returns the number of connections that the contenders that are up at the same time may open to a
    /// backend.
    pub fn connections(&self) -> u32 {
        let of = |index: usize, contender: &Contender| {
            let size = Size::of_workers(contender.server_workers);
            Size { replicas: self.replicas(index), ..size }.connections()
        };
        let each = self.contenders.iter().enumerate().map(|(index, it)| of(index, it));
        match self.method {
            Method::Rounds => each.max().unwrap_or(0),
            Method::Duets => each.max().unwrap_or(0).saturating_mul(2),
            Method::Slices(_) | Method::OneStart(_) => each.sum(),
        }
    }

    /// Returns the target of the contender with this index; `None` if the servers run already.
    pub fn target(&self, contender: usize) -> Option<&TargetSpec> {
        match &self.subject {
            Subject::Lab { targets, .. } => {
                targets.get(self.contenders.get(contender)?.index).or(targets.last())
            }
            Subject::Running(_) => None,
        }
    }

    /// Returns the server of the contender with this index if the
    /// server runs already; `None` for a target that loadgen starts.
    pub fn running(&self, contender: usize) -> Option<&Server> {
        match &self.subject {
            Subject::Lab { .. } => None,
            Subject::Running(servers) => {
                servers.get(self.contenders.get(contender)?.index).or(servers.last())
            }
        }
    }

    /// Returns the load of one round, for all processes together. `contender` is the contender's
    /// index, and `base_url` the URL of the contender's server. `round` is the number of the round;
    /// with slices, of the slice among those of all starts.
    pub fn plan(&self, contender: usize, base_url: String, round: u32) -> Plan {
        let mut scenario = self.scenario.clone();
        if let Some(contender) = self.contenders.get(contender) {
            scenario.load.users = contender.users;
        }
        Plan {
            scenario,
            base_url,
            warmup: self.method.warmup_of(round, self.warmup),
            seed: self
                .seed
                .wrapping_add(u64::from(round))
                .wrapping_add(apart(self.shares_data(), contender)),
            known: Vec::new(),
            first_user: 0,
            trace_one_in: self.trace_one_in,
            share: Share::WHOLE,
        }
    }
}

/// Returns the distance of the seeds of a contender from those of the first one. Contenders that one copy of the data serves
/// must not send the same data: the second would find what the first has written. Otherwise the data is the same, so that it
/// is no difference.
fn apart(shares_data: bool, contender: usize) -> u64 {
    if shares_data { (contender as u64) << 32 } else { 0 }
}

/// Returns a random seed of 53 bits, which every JSON reader keeps exactly.
pub fn random_seed() -> Result<u64, Failure> {
    let random = SysRng.try_next_u64().map_err(|e| {
        let message = format!("the system provides no random numbers: {e}");
        Failure::message(Exit::Failed, "no_random_numbers", message, "choose a seed with --seed N")
    })?;
    Ok(random >> 11)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_over_one_copy_of_the_data_send_different_data() {
        // No number of a round reaches the seeds of another contender.
        assert_eq!([0, 1, 2].map(|of| apart(true, of)), [0, 1 << 32, 2 << 32]);
        assert_eq!(apart(false, 1), 0, "each has a copy of its own");
    }
}
