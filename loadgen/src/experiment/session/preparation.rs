//! Starts what the rounds of a session need: backends, workers, and the target of each round.

use super::generator::Generator;
use super::probe::Probe;
use super::round_steps::After;
use super::stopped::{Stopped, unless};
use super::{Session, workers};
use crate::cluster::HostShares;
use crate::experiment::host_limits::HostLimits;
use crate::experiment::job::{Job, Method};
use crate::experiment::observe::{Begun, Event};
use crate::failure::{Exit, Failure};
use crate::lab::{Lab, LabError, Size, Target};
use crate::scenario::Backend;

/// Message to the user if the scenario has proofs but loadgen runs no backends.
const NO_BACKENDS: &str = "proofs are skipped: loadgen runs no backends for a server at --url";

/// Message to the user if the scenario has proofs but two contenders write to the same backends.
const NO_PROOFS_IN_DUETS: &str =
    "proofs are skipped: in a duet, both targets write to the same backends";

/// Message to the user if the scenario has proofs but contenders write to the same backends in turn.
const NO_PROOFS_IN_SLICES: &str =
    "proofs are skipped: with --slices, all targets write to the same backends in turn";

/// Message to the user if the scenario has proofs but the arms of an experiment's quick form share a start.
const NO_PROOFS_IN_ONE_START: &str =
    "proofs are skipped: in the quick form, all arms of a group write to the same backends in turn";

/// Message to the user if the scenario has proofs but servers in a cluster write to the same backends in turn.
const NO_PROOFS_IN_CLUSTER: &str =
    "proofs are skipped: in a cluster, all servers write to the same backends in turn";

/// Message to the user if the scenario has proofs and steps that might delete what the proofs count.
const NO_FINALLY: &str = "steps with when = \"finally\" are not sent: they might delete what the proofs count, and \
                          loadgen empties the backends before each round itself";

impl Session<'_> {
    /// Starts, verifies and stops each contender once, so that one that cannot be measured is found
    /// before the others are. `turns` has the job and the index of each contender.
    pub(super) async fn preflight(&mut self, turns: &[(usize, usize)]) -> Result<(), Stopped> {
        self.tell(Event::Phase("starting each contender once, before the first round"));
        let mut tried = Vec::new();
        for &(index, contender) in turns {
            self.turn_to(index);
            let job = self.job();
            let of = &job.contenders[contender];
            // Contenders that differ only in their users are one server.
            let name = job.target(contender).map(|target| &target.name);
            let server = (index, name, of.server_workers, job.replicas(contender), of.limits);
            if tried.contains(&server) {
                continue;
            }
            tried.push(server);
            // Rounds have the numbers from 1.
            let (url, mut running) = self.up(contender, &of.log(0, job.is_matrix())).await?;
            let plan = job.plan(contender, url, 0);
            let group = job.group.as_deref();
            let begun = Begun { contender, number: 1, name: &of.name, group, plan: &plan };
            let verified = self.try_round(begun, running.as_mut()).await;
            let stopped = match running {
                Some(running) => running.stop().await.map_err(Failure::from),
                None => Ok(()),
            };
            verified?;
            stopped?;
        }
        Ok(())
    }

    /// Sends each step once, as a round without users would.
    async fn try_round(
        &mut self,
        begun: Begun<'_>,
        mut running: Option<&mut Target>,
    ) -> Result<(), Stopped> {
        let (plan, mut result) = self.set_up(begun, running.as_deref_mut()).await;
        let begun = Begun { plan: &plan, ..begun };
        if result.is_ok() {
            result = self.verify(begun, running.as_deref_mut()).await.map(|_| ());
        }
        let after = if result.is_ok() { After::Load } else { After::Error };
        self.tear_down(begun, running, after).await;
        result
    }

    /// Starts the processes that run during all rounds of these jobs, unless they run already:
    /// backends, the probe and workers.
    pub async fn start(&mut self, jobs: &[Job]) -> Result<(), Stopped> {
        let interrupt = self.interrupt.clone();
        if let Some(lab) = &mut self.lab {
            unless(&interrupt, lab.start_backends(&backends(jobs)))
                .await?
                .map_err(Failure::from)?;
        }
        if self.probe.is_none() {
            let started =
                Box::pin(Probe::start(self.job(), self.layout, &self.logs, &mut self.observers));
            self.probe = unless(&interrupt, started).await??;
        }
        if let Generator::Workers(_) = self.generator {
            return self.await_pods(jobs).await;
        }
        let gathered = workers::gather(self.job(), &self.logs, &mut self.observers);
        if let Some(cluster) =
            unless(&interrupt, gathered).await?.map_err(Failure::with(Exit::Failed))?
        {
            self.observers.tell(Event::Joined(cluster.roster()));
            let cluster = cluster.on_loss(self.job().on_loss);
            let hosts = cluster.host_shares();
            self.generator = Generator::Workers(Box::new(cluster));
            self.fit(&hosts, jobs)?;
        }
        self.await_pods(jobs).await
    }

    /// Checks that the hosts of workers carry the users of these jobs, and tells the control of the hosts' limits.
    fn fit(&self, hosts: &[HostShares], jobs: &[Job]) -> Result<(), Stopped> {
        for job in jobs {
            let limits = HostLimits::of(hosts.to_vec(), job);
            for contender in &job.contenders {
                limits.allow(contender.users).map_err(Failure::with(Exit::Usage))?;
            }
            if let Some(control) = &self.control {
                control.limit(limits);
            }
        }
        Ok(())
    }

    /// Asks all proof questions of the scenarios once before the first round, so that a question
    /// that fails is found before the measurement.
    pub(super) async fn try_proofs(&mut self, jobs: &[Job]) -> Result<(), Stopped> {
        let with_proofs = || jobs.iter().filter(|job| !job.scenario.proofs.is_empty());
        match &self.lab {
            _ if with_proofs().next().is_none() => {}
            _ if self.job().method == Method::Duets => {
                self.observers.tell(Event::Note(NO_PROOFS_IN_DUETS))
            }
            None if self.job().subject.is_deployed() => {
                self.observers.tell(Event::Note(NO_PROOFS_IN_CLUSTER));
            }
            None => self.observers.tell(Event::Note(NO_BACKENDS)),
            _ if self.job().method.slicing().is_some() => {
                self.observers.tell(Event::Note(NO_PROOFS_IN_SLICES));
            }
            _ if matches!(self.job().method, Method::OneStart(_)) => {
                self.observers.tell(Event::Note(NO_PROOFS_IN_ONE_START));
            }
            Some(lab) => {
                if with_proofs().any(|job| !job.scenario.finally.is_empty()) {
                    self.observers.tell(Event::Note(NO_FINALLY));
                }
                let existing = jobs.iter().map(|job| job.scenario.existing);
                let existing = existing.max_by_key(|existing| existing.items).unwrap_or_default();
                unless(&self.interrupt, lab.fill(existing)).await?.map_err(Failure::from)?;
                for job in with_proofs() {
                    self.ask(lab, job).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the backends' answers to the proof questions of the scenario, in their order.
    pub(super) async fn ask(&self, lab: &Lab, job: &Job) -> Result<Vec<i64>, Stopped> {
        let ask = async {
            let mut answers = Vec::new();
            for proof in &job.scenario.proofs {
                answers.push(lab.ask(proof).await?);
            }
            Ok::<_, LabError>(answers)
        };
        let asked = unless(&self.interrupt, ask).await?;
        Ok(asked.map_err(Failure::from)?)
    }

    /// Fills the backends with data and starts the target. Returns the target's base URL and the
    /// running target, which is `None` for a server that runs already.
    pub async fn up(
        &mut self,
        target: usize,
        log: &str,
    ) -> Result<(String, Option<Target>), Stopped> {
        if let Some(server) = self.job().running(target) {
            return Ok((server.url.clone(), None));
        }
        self.fill(&self.job().contenders[target].name).await?;
        let running = self.start_target(target, log).await?;
        Ok((running.url.clone(), Some(running)))
    }

    /// Fills the backends with data, for a round of this name.
    pub(super) async fn fill(&mut self, name: &str) -> Result<(), Stopped> {
        let Some(lab) = &self.lab else { return Ok(()) };
        self.observers.tell(Event::Step(&format!("starting {name}")));
        let filled = lab.fill(self.job().scenario.existing);
        Ok(unless(&self.interrupt, filled).await?.map_err(Failure::from)?)
    }

    /// Starts the target of a contender, with this file for its output.
    pub(super) async fn start_target(
        &self,
        contender: usize,
        log: &str,
    ) -> Result<Target, Stopped> {
        let (Some(lab), Some(spec)) = (&self.lab, self.job().target(contender)) else {
            return Err(Stopped::Interrupted);
        };
        let of = &self.job().contenders[contender];
        let size = Size {
            workers: of.server_workers,
            replicas: self.job().replicas(contender),
            limits: of.limits,
            backends: &self.job().scenario.backends,
            profiled: self.is_profiling,
        };
        let started = lab.start_target(&spec.name, log, size);
        Ok(unless(&self.interrupt, started).await?.map_err(Failure::from)?)
    }
}

/// Returns the backends that at least one job needs, in the order of the jobs.
fn backends(jobs: &[Job]) -> Vec<Backend> {
    let mut all = Vec::new();
    for backend in jobs.iter().flat_map(|job| &job.scenario.backends) {
        if !all.contains(backend) {
            all.push(*backend);
        }
    }
    all
}
