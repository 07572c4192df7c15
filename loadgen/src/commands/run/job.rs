//! A run as the command line asks for it, checked as far as possible before anything starts.

use std::path::PathBuf;
use std::time::Duration;

use rand::TryRng;
use rand::rngs::SysRng;

use super::matrix::{Contender, product};
use super::unused;
use crate::cli::{Format, OnWorkerLoss, RunArgs};
use crate::cluster::{OnLoss, RemoteWorkers};
use crate::commands::url::{Server, servers};
use crate::commands::{Exit, Failure, runtime, scenarios};
use crate::engine::{Plan, Share};
use crate::lab::{Home, Manifest, Runtime, TargetSpec};
use crate::scenario::{Model, OverrideError, Overrides, Scenario};

/// What tells the second measurement of one subject from the first, behind its name.
pub const AGAIN: &str = " (again)";

/// What is to be done, every wish resolved.
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
    /// Whether the first threshold that fails ends the run.
    pub fail_fast: bool,
    /// What targets and backends run in.
    pub runtime: Runtime,
    /// Whether to find out what the generator can send at most.
    pub calibrate: bool,
    /// Whether to show on a terminal how it goes.
    pub live: bool,
    /// Where to save the run.
    pub out: Option<PathBuf>,
    /// The file for the thresholds as JUnit XML.
    pub junit: Option<PathBuf>,
    /// What goes to stdout.
    pub format: Format,
}

/// What is put under load.
pub enum Subject {
    /// Targets that the lab launches.
    Lab {
        /// Where they are.
        home: Home,
        /// Which.
        targets: Vec<TargetSpec>,
    },
    /// Servers that run already.
    Running(Vec<Server>),
}

impl Job {
    /// Resolves the command line, of a manager where workers come from other hosts; whatever is wrong
    /// with it is said here.
    pub fn resolve(args: RunArgs, remote: Option<RemoteWorkers>) -> Result<Self, Failure> {
        let mut scenario = scenarios::find_to_run(args.scenario.as_deref().unwrap_or_default())?;
        let overrides = Overrides {
            users: args.users.iter().copied().max(),
            ramp_up: args.ramp_up,
            duration: args.duration,
            iterations: args.iterations,
            rate: args.rate,
            drain: args.common.drain,
        };
        let usage = |e: OverrideError| {
            Failure::message(Exit::Usage, e.to_string(), "see `loadgen run --help`")
        };
        for users in &args.users {
            let one = Overrides { users: Some(*users), ..overrides };
            scenario.load.clone().with_overrides(one).map_err(usage)?;
        }
        scenario.load = scenario.load.with_overrides(overrides).map_err(usage)?;
        check_matrix(&args, &scenario)?;
        if args.fail_fast && scenario.thresholds.is_empty() {
            let message = format!("--fail-fast: scenario \"{}\" has no thresholds", scenario.name);
            let help = "add [thresholds]: docs/scenarios.md has them";
            return Err(Failure::message(Exit::Usage, message, help));
        }
        let workers = remote.as_ref().map(|remote| remote.count).or(args.common.workers);
        unused::refuse(&args, &scenario, workers)?;
        let common = args.common;
        let runtime = runtime::runtime(common.runtime)?;
        let subject = match common.url.as_slice() {
            [] => lab_subject(&common.target, &scenario)?,
            words => Subject::Running(servers("--url", words)?),
        };
        subject.check_equals(args.aa)?;
        let users = if args.users.is_empty() { vec![scenario.load.users] } else { args.users };
        let server_workers: &[u32] = match args.server_workers.as_slice() {
            [] => &[1],
            numbers => numbers,
        };
        let contenders = product(&subject.names(args.aa), server_workers, &users);
        let rounds = args.rounds.unwrap_or(match subject {
            Subject::Running(_) if contenders.len() == 1 => 1,
            _ => 5,
        });
        Ok(Self {
            scenario,
            subject,
            workers,
            on_loss: match args.on_worker_loss {
                None | Some(OnWorkerLoss::Fail) => OnLoss::Fail,
                Some(OnWorkerLoss::Continue) => OnLoss::Continue,
            },
            aa: args.aa,
            rounds,
            warmup: common.warmup,
            seed: common.seed.map_or_else(random_seed, Ok)?,
            contenders,
            fail_fast: args.fail_fast,
            runtime,
            // What workers elsewhere can send can't be found out here.
            calibrate: remote.is_none() && !common.no_calibrate,
            remote,
            live: !common.no_progress,
            out: common.out,
            junit: args.junit,
            format: common.format,
        })
    }

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

impl Subject {
    /// The names of its targets, and one more where it is measured again.
    fn names(&self, again: bool) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Lab { targets, .. } => targets.iter().map(|t| t.name.clone()).collect(),
            Self::Running(servers) => servers.iter().map(|server| server.name.clone()).collect(),
        };
        if again {
            names.extend(names.first().map(|name| format!("{name}{AGAIN}")));
        }
        names
    }

    /// Only one can be measured against itself.
    fn check_equals(&self, aa: bool) -> Result<(), Failure> {
        let (n, help) = match self {
            Self::Lab { targets, .. } => (targets.len(), "name one: --target NAME"),
            Self::Running(servers) => (servers.len(), "name one: --url URL"),
        };
        if aa && n != 1 {
            let message = format!("--aa measures one target against itself, not {n}");
            return Err(Failure::message(Exit::Usage, message, help));
        }
        Ok(())
    }
}

/// Several numbers of server workers or users must have a meaning.
fn check_matrix(args: &RunArgs, scenario: &Scenario) -> Result<(), Failure> {
    let wrong =
        |message: &str, help: &str| Err(Failure::message(Exit::Usage, message.to_owned(), help));
    for (option, numbers) in [("--users", &args.users), ("--server-workers", &args.server_workers)]
    {
        if let Some(n) = (1..numbers.len()).find(|n| numbers[..*n].contains(&numbers[*n])) {
            let message = format!("{option} has {} twice", numbers[n]);
            return wrong(&message, "name each number once");
        }
    }
    let (users, server_workers) = (args.users.len() > 1, args.server_workers.len() > 1);
    if users && scenario.load.model != Model::Closed {
        let message = "--users takes one number in the open model, where the rate is the load";
        return wrong(message, "there it is the most that send at the same time");
    }
    if args.aa && (users || server_workers) {
        let message = "--aa measures equals: --users and --server-workers take one number there";
        return wrong(message, "choose one of them");
    }
    Ok(())
}

/// A seed of 53 bits, which every JSON reader keeps.
pub fn random_seed() -> Result<u64, Failure> {
    let random = SysRng.try_next_u64().map_err(|e| {
        let message = format!("the system gives no random numbers: {e}");
        Failure::message(Exit::Failed, message, "choose a number yourself: --seed N")
    })?;
    Ok(random >> 11)
}

fn lab_subject(named: &[String], scenario: &Scenario) -> Result<Subject, Failure> {
    let home = Home::find()?;
    let manifest = Manifest::load(&home.manifest())?;
    let names = match (named, scenario.targets.as_slice()) {
        ([], []) => manifest.default_targets(),
        ([], own) => own.to_vec(),
        (named, _) => named.to_vec(),
    };
    let mut targets: Vec<TargetSpec> = Vec::new();
    for name in &names {
        let target = manifest.target(name.trim())?;
        if targets.iter().any(|t| t.name == target.name) {
            let message = format!("target \"{name}\" is named twice");
            return Err(Failure::message(Exit::Usage, message, "name each target once"));
        }
        targets.push(target.clone());
    }
    Ok(Subject::Lab { home, targets })
}
