//! The manager of workers that have joined: gives them rounds, and ends them.

mod dispatch;
mod round;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::task::JoinSet;

use self::dispatch::Dispatched;
use self::round::{RoundUnderWay, not_begun};
use super::blobs::Digest;
use super::bus::{Event, Events, ManagerBus};
use super::error::ClusterError;
use super::messages::{Command, Hello};
use super::round_state::OnLoss;
use super::worker_process::Process;
use crate::engine::{Host, LostWorker, Plan, Results, RoundControl, Seen, Share};
use crate::measure::GrowingSeries;

/// How often processes are looked at while nothing else happens.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How long a worker may take to make ready.
const PREPARE_LIMIT: Duration = Duration::from_secs(10);
/// How long workers may take to end by themselves.
const QUIT_LIMIT: Duration = Duration::from_secs(2);

/// Workers that have joined and wait for rounds. They end when it is dropped; [`Cluster::quit`]
/// is kinder.
///
/// It needs a multi-threaded Tokio runtime: sending a command may block a thread of it.
pub struct Cluster {
    pub(super) bus: ManagerBus,
    pub(super) events: Events,
    /// How many workers there are, the lost and the absent ones among them.
    pub(super) size: u32,
    /// The workers that did not come in time, and have no share of the load.
    pub(super) absent: BTreeSet<u32>,
    /// What each of the others said of itself.
    pub(super) hellos: BTreeMap<u32, Hello>,
    /// The processes of workers on this machine, by number; none of workers on others.
    pub(super) processes: Vec<Process>,
    /// The blobs that each of them has.
    pub(super) held: BTreeMap<u32, BTreeSet<Digest>>,
    pub(super) epoch: u32,
    /// The workers that are gone, and why.
    pub(super) gone: BTreeMap<u32, String>,
    pub(super) on_loss: OnLoss,
}

impl Cluster {
    /// The process ids of the workers that run.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().filter_map(Process::pid).collect()
    }

    /// The same cluster, which does this from now on when it loses a worker.
    #[must_use]
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { on_loss, ..self }
    }

    /// Runs one round of `plan`, whose share is set for each worker, until its end or as it is told.
    /// `show` sees results and losses as they come, and with each of them all results so far. A worker that
    /// is lost ends the round on all the others, unless they are to go on; its share is not given out again.
    ///
    /// # Errors
    /// When the round could not begin. Once it has begun, what came of it is returned, with the
    /// workers that were lost.
    pub async fn round(
        &mut self,
        plan: Plan,
        control: impl Into<RoundControl>,
        show: impl FnMut(Seen<'_>, &mut GrowingSeries),
    ) -> Result<Results, ClusterError> {
        self.epoch += 1;
        self.take_note();
        self.check_present()?;
        let control = control.into();
        let digest = tokio::select! {
            digest = self.prepare(&plan) => digest?,
            // It may take minutes over a slow network.
            () = control.stop.cancelled() => return Ok(not_begun(self, plan.scenario.load.users)),
        };
        let round_trips = self.measure_round_trips().await;
        self.check_present()?;
        let under_way = RoundUnderWay::start(self, &plan, digest, round_trips, show).await;
        Ok(under_way.collect(control).await)
    }

    /// Has all workers make ready for a round of `plan`, and gives its digest.
    async fn prepare(&mut self, plan: &Plan) -> Result<Digest, ClusterError> {
        let mut preparing = JoinSet::new();
        let Dispatched { digest, workers } = self.dispatch(plan).await?;
        for (worker, sent) in workers {
            match sent {
                Ok(assignment) => {
                    let prepare = Command::Prepare { epoch: self.epoch, assignment };
                    self.send_to(&mut preparing, worker, "the plan", prepare, PREPARE_LIMIT);
                }
                Err(error) => self.give_up(worker, &format!("it did not take the plan: {error}")),
            }
        }
        for (worker, prepared) in preparing.join_all().await {
            match prepared {
                Err(ClusterError::Bus(_)) => {
                    self.give_up(worker, "it did not take the plan of a round");
                }
                prepared => prepared?,
            }
        }
        self.check_present()?;
        Ok(digest)
    }

    /// The round trips of the workers that are there, without those who don't answer.
    async fn measure_round_trips(&mut self) -> BTreeMap<u32, Duration> {
        let mut round_trips = BTreeMap::new();
        for (worker, round_trip) in self.round_trips().await {
            match round_trip {
                Ok(round_trip) => drop(round_trips.insert(worker, round_trip)),
                Err(_) => self.give_up(worker, "it did not answer before the start of a round"),
            }
        }
        round_trips
    }

    /// Ends the workers: asks them to leave, and kills those that don't.
    pub async fn quit(mut self) {
        self.command_all("leaving", |_| Command::Quit, QUIT_LIMIT).await;
        let leaving = async {
            for process in &mut self.processes {
                process.leave().await;
            }
        };
        if tokio::time::timeout(QUIT_LIMIT, leaving).await.is_err() {
            self.processes.iter_mut().for_each(Process::kill);
        }
        self.bus.close().await;
    }

    /// Goes on without this worker, for good.
    fn give_up(&mut self, worker: u32, why: &str) {
        self.gone.insert(worker, why.to_owned());
        self.fence(worker);
    }

    /// Ends a worker's process, if that is on this machine, whatever it does.
    pub(super) fn kill(&mut self, worker: u32) {
        if let Some(process) = self.processes.get_mut(worker as usize) {
            process.kill();
        }
    }

    /// The numbers of the workers that are there.
    pub(super) fn present(&self) -> Vec<u32> {
        let is_there = |worker: &u32| !self.gone.contains_key(worker);
        (0..self.size).filter(is_there).filter(|worker| !self.absent.contains(worker)).collect()
    }

    /// How many workers share the load, the lost ones among them.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.size - self.absent.len() as u32
    }

    /// The part of a plan that this worker has, or had until it was lost.
    #[must_use]
    pub fn share(&self, worker: u32) -> Share {
        let before = self.absent.range(..worker).count() as u32;
        Share { index: worker - before, of: self.workers() }
    }

    /// The numbers of the workers that are there, and their hosts.
    #[must_use]
    pub fn roster(&self) -> Vec<(u32, Option<String>)> {
        let host = |worker| self.host(worker).map(|host| host.name);
        self.present().into_iter().map(|worker| (worker, host(worker))).collect()
    }

    /// The name of the host that this worker runs on, and how many CPUs it may use there; `None` for
    /// workers that were started here.
    #[must_use]
    pub fn host(&self, worker: u32) -> Option<Host> {
        let hello = self.hellos.get(&worker).filter(|_| self.processes.is_empty())?;
        Some(Host { name: hello.host.clone(), cpus: hello.cpus })
    }

    /// Gives a command to all workers at once, and gathers what became of it.
    async fn command_all(
        &self,
        what: &'static str,
        command: impl Fn(u32) -> Command,
        limit: Duration,
    ) -> Vec<(u32, Result<(), ClusterError>)> {
        self.send_all(what, command, limit).join_all().await
    }

    /// Gives a command to all workers at once, without waiting.
    pub(super) fn send_all(
        &self,
        what: &'static str,
        command: impl Fn(u32) -> Command,
        limit: Duration,
    ) -> JoinSet<(u32, Result<(), ClusterError>)> {
        let mut asked = JoinSet::new();
        self.send_to_all(&mut asked, what, command, limit);
        asked
    }

    /// The same, with what becomes of it added to those that were `asked` before.
    pub(super) fn send_to_all(
        &self,
        asked: &mut JoinSet<(u32, Result<(), ClusterError>)>,
        what: &'static str,
        command: impl Fn(u32) -> Command,
        limit: Duration,
    ) {
        for worker in self.present() {
            self.send_to(asked, worker, what, command(worker), limit);
        }
    }

    /// Gives a command to one worker, without waiting.
    fn send_to(
        &self,
        asked: &mut JoinSet<(u32, Result<(), ClusterError>)>,
        worker: u32,
        what: &'static str,
        command: Command,
        limit: Duration,
    ) {
        let bus = self.bus.clone();
        asked.spawn(async move {
            let answer = bus.command(worker, what, &command, limit).await;
            (worker, answer)
        });
    }

    /// The workers that are gone, as those that a round begins without.
    pub(super) fn lost(&self) -> Vec<LostWorker> {
        let lost = |(worker, why): (&u32, &String)| LostWorker {
            worker: *worker,
            second: None,
            why: why.clone(),
        };
        self.gone.iter().map(lost).collect()
    }

    /// Whether another round can be run: all workers are there, or enough that those that are left
    /// are to go on.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        self.check_present().is_ok()
    }

    fn check_present(&self) -> Result<(), ClusterError> {
        let goes_on = self.on_loss == OnLoss::Continue && !self.present().is_empty();
        match self.lost().into_iter().next() {
            Some(lost) if !goes_on => Err(ClusterError::Lost(lost)),
            _ => Ok(()),
        }
    }

    /// Takes note of what happened between rounds.
    fn take_note(&mut self) {
        while let Some(event) = self.events.try_recv() {
            match event {
                Event::Left(worker) if self.present().contains(&worker) => {
                    self.gone.insert(worker, "it was lost between two rounds".to_owned());
                }
                Event::Joined(worker) if self.gone.contains_key(&worker) => self.fence(worker),
                _ => {}
            }
        }
    }
}
