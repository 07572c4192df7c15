//! Manages workers that have joined: runs rounds on them, and ends them.

mod dispatch;
mod round;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use self::dispatch::Dispatched;
use self::round::{RoundUnderWay, not_begun};
use super::blobs::Digest;
use super::bus::{Event, Events, ManagerBus};
use super::error::ClusterError;
use super::hosts::Session;
use super::limits::HostShares;
use super::messages::{Command, Hello};
use super::round_state::OnLoss;
use super::worker_process::{Process, QUIT_LIMIT, end_all};
use loadgen_engine::{Host, LostWorker, Plan, Results, RoundControl, Seen, Share};
use loadgen_measure::GrowingSeries;
use loadgen_scenario::OnDisk;

/// Time between two checks: of the worker processes while workers join, and
/// of the time limits during a round.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// Time limit for a worker to prepare a round, without the time to read large files.
const PREPARE_LIMIT: Duration = Duration::from_secs(10);
/// Bytes per second that a worker reads at least of the files whose digests it compares: a slow disk.
const READS_PER_S: f64 = 50e6;

/// A manager's workers, which have joined and wait for rounds. Dropping the cluster ends the
/// workers at once; [`Cluster::quit`] first asks the workers to leave.
///
/// Requires a multi-threaded Tokio runtime: sending a command may block one of its threads.
pub struct Cluster {
    pub(super) bus: ManagerBus,
    pub(super) events: Events,
    /// Number of workers, including those that are lost or did not join in time.
    pub(super) size: u32,
    /// Workers that did not join in time and have no share of the load.
    pub(super) absent: BTreeSet<u32>,
    /// First message of each admitted worker, by the worker's number.
    pub(super) hellos: BTreeMap<u32, Hello>,
    /// Processes of workers on this machine, indexed by the worker's number;
    /// empty if workers are on other hosts.
    pub(super) processes: Vec<Process>,
    /// Connections to the hosts on which this manager started workers.
    pub(super) sessions: Vec<Session>,
    /// Digests of the encoded plan and data rows that each worker
    /// already has, by the worker's number.
    pub(super) held: BTreeMap<u32, BTreeSet<Digest>>,
    pub(super) epoch: u32,
    /// Reason for the loss of each lost worker, by the worker's number.
    pub(super) gone: BTreeMap<u32, String>,
    pub(super) on_loss: OnLoss,
    /// Workers to which the load of the newest round was dealt, in the order of their shares.
    pub(super) hands: Vec<u32>,
}

/// A round that all workers have prepared, and can start.
#[derive(Debug)]
pub struct PreparedRound {
    /// Digest of the encoded plan that the workers must run.
    digest: Digest,
    /// Round-trip time of each present worker, by the worker's number.
    round_trips: BTreeMap<u32, Duration>,
}

impl Cluster {
    /// Returns the process ids of the workers that run on this machine.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().filter_map(Process::pid).collect()
    }

    /// Returns whether the workers run on other hosts, or may do so.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.processes.is_empty()
    }

    /// Sets what the cluster does when it loses a worker.
    #[must_use]
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { on_loss, ..self }
    }

    /// Runs one round of `plan`, in which each worker generates its share of the load. `control`
    /// can change the load or end the round. Calls `show` with each event, such as new results or a
    /// loss, together with all results so far. [`OnLoss`] decides what happens after the loss of a worker.
    ///
    /// # Errors
    /// If the round could not begin. After the beginning the results are always
    /// returned, with the workers that were lost.
    pub async fn round(
        &mut self,
        plan: Plan,
        control: impl Into<RoundControl>,
        show: impl FnMut(Seen<'_>, &mut GrowingSeries),
    ) -> Result<Results, ClusterError> {
        let control = control.into();
        let prepared = tokio::select! {
            prepared = self.prepare_round(&plan) => prepared?,
            // The preparation may take minutes over a slow network.
            () = control.stop.cancelled() => return Ok(not_begun(self, plan.scenario.load.users)),
        };
        Ok(self.run_prepared(&plan, prepared, None, control, show).await)
    }

    /// Prepares a round of `plan` on all workers, for [`Cluster::run_prepared`].
    ///
    /// # Errors
    /// If the round cannot begin.
    pub async fn prepare_round(&mut self, plan: &Plan) -> Result<PreparedRound, ClusterError> {
        self.epoch += 1;
        self.take_note();
        self.check_present()?;
        self.deal();
        let digest = self.prepare(plan).await?;
        let round_trips = self.measure_round_trips().await;
        self.check_present()?;
        Ok(PreparedRound { digest, round_trips })
    }

    /// Runs the round of `plan` that [`Cluster::prepare_round`] has prepared, like [`Cluster::round`].
    /// All workers start at `start`, or as soon as they can if `start` is `None`. A worker that learns
    /// too late of `start` starts at once.
    pub async fn run_prepared(
        &mut self,
        plan: &Plan,
        prepared: PreparedRound,
        start: Option<Instant>,
        control: RoundControl,
        show: impl FnMut(Seen<'_>, &mut GrowingSeries),
    ) -> Results {
        RoundUnderWay::start(self, plan, prepared, start, show).await.collect(control).await
    }

    /// Prepares all workers for a round of `plan`, and returns the plan's digest.
    async fn prepare(&mut self, plan: &Plan) -> Result<Digest, ClusterError> {
        let mut preparing = JoinSet::new();
        let to_read: u64 = plan.scenario.files_on_disk().map(OnDisk::length).sum();
        let limit = PREPARE_LIMIT + Duration::from_secs_f64(to_read as f64 / READS_PER_S);
        let Dispatched { digest, workers } = self.dispatch(plan).await?;
        for (worker, sent) in workers {
            match sent {
                Ok(assignment) => {
                    let prepare = Command::Prepare { epoch: self.epoch, assignment };
                    self.send_to(&mut preparing, worker, "the plan", prepare, limit);
                }
                Err(error) => self.give_up(worker, &format!("it did not accept the plan: {error}")),
            }
        }
        for (worker, prepared) in preparing.join_all().await {
            match prepared {
                Err(ClusterError::Bus(_)) => {
                    self.give_up(worker, "it did not accept the plan of a round");
                }
                prepared => prepared?,
            }
        }
        self.check_present()?;
        Ok(digest)
    }

    /// Measures and returns the round-trip time of each present worker. Treats
    /// workers that don't answer as lost.
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

    /// Ends the workers: asks them to leave, and kills the processes that don't end.
    pub async fn quit(mut self) {
        self.command_all("leaving", |_| Command::Quit, QUIT_LIMIT).await;
        end_all(&mut self.processes).await;
        self.sessions.iter_mut().for_each(Session::close);
        let over = Instant::now() + QUIT_LIMIT;
        for session in &mut self.sessions {
            session.end(over.saturating_duration_since(Instant::now())).await;
        }
        self.bus.close().await;
    }

    /// Records that the worker is lost for the reason `why`, and ensures that the
    /// worker puts no more load on the target.
    fn give_up(&mut self, worker: u32, why: &str) {
        self.gone.insert(worker, why.to_owned());
        self.fence(worker);
    }

    /// Kills a worker's process, even a paused process, if the process is on this machine.
    pub(super) fn kill(&mut self, worker: u32) {
        if let Some(process) = self.processes.get_mut(worker as usize) {
            process.kill();
        }
    }

    /// Returns the numbers of the workers that have joined and are not lost.
    pub(super) fn present(&self) -> Vec<u32> {
        let is_there = |worker: &u32| !self.gone.contains_key(worker);
        (0..self.size).filter(is_there).filter(|worker| !self.absent.contains(worker)).collect()
    }

    /// Number of workers that share the load, including lost ones.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.size - self.absent.len() as u32
    }

    /// Returns this worker's share of the newest round's load; `None` if it was lost before. A share does not change in
    /// the round.
    #[must_use]
    pub fn share(&self, worker: u32) -> Option<Share> {
        let index = self.hands.iter().position(|hand| *hand == worker)?;
        // There are no more hands than workers, whose number is a `u32`.
        Some(Share { index: index as u32, of: self.hands.len() as u32 })
    }

    /// Deals the load of the next round: also to lost workers, whose load is then missing, unless the others carry it.
    fn deal(&mut self) {
        self.hands = match self.on_loss {
            OnLoss::Redistribute => self.present(),
            OnLoss::Fail | OnLoss::Continue => {
                (0..self.size).filter(|worker| !self.absent.contains(worker)).collect()
            }
        };
    }

    /// Returns the number of each present worker, and the name of the worker's host. The name is
    /// `None` for workers that this process started.
    #[must_use]
    pub fn roster(&self) -> Vec<(u32, Option<String>)> {
        let host = |worker| self.host(worker).map(|host| host.name);
        self.present().into_iter().map(|worker| (worker, host(worker))).collect()
    }

    /// Returns the name of the worker's host, and the number of CPUs that the worker may use there. The name is that by
    /// which the user names the host, or that by which the host calls itself. `None` for workers that this process
    /// started here.
    #[must_use]
    pub fn host(&self, worker: u32) -> Option<Host> {
        let hello = self.hellos.get(&worker).filter(|_| self.is_elsewhere())?;
        let session = self.sessions.iter().find(|session| session.has(worker));
        let name = session.map_or(hello.host.as_str(), Session::machine);
        Some(Host { name: name.to_owned(), cpus: hello.cpus })
    }

    /// Returns the hosts of workers that are elsewhere, with the shares of the first round. Workers that this manager
    /// has started through one connection share the ports of their host. Others have a host each, because two hosts may
    /// have one name.
    #[must_use]
    pub fn host_shares(&self) -> Vec<HostShares> {
        let here: Vec<u32> = (0..self.size).filter(|it| !self.absent.contains(it)).collect();
        // There are no more than `size` workers.
        let of = here.len() as u32;
        let mut all: Vec<HostShares> = Vec::new();
        let mut last = None;
        for (index, worker) in (0..of).zip(here) {
            let Some(hello) = self.hellos.get(&worker).filter(|_| self.is_elsewhere()) else {
                continue;
            };
            let (share, limits) = (Share { index, of }, hello.limits);
            let session = self.sessions.iter().position(|session| session.has(worker));
            if let Some(one) = all.last_mut().filter(|_| session.is_some() && session == last) {
                one.shares.push(share);
                one.limits = one.limits.or_lower(limits);
            } else {
                let name = session.map(|session| self.sessions[session].host());
                let host = name.unwrap_or(&hello.host).to_owned();
                all.push(HostShares { host, shares: vec![share], limits });
            }
            last = session;
        }
        all
    }

    /// Sends a command to all present workers at once, waits at most `limit` for their answers, and
    /// returns each worker's number and outcome. `what` names the command in errors.
    async fn command_all(
        &self,
        what: &'static str,
        command: impl Fn(u32) -> Command,
        limit: Duration,
    ) -> Vec<(u32, Result<(), ClusterError>)> {
        self.send_all(what, command, limit).join_all().await
    }

    /// Sends a command to all present workers at once, without waiting. The returned set yields
    /// each worker's number and outcome. `what` names the command in errors.
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

    /// Like [`Self::send_all`], but adds the outcomes to the existing set `asked`.
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

    /// Sends a command to one worker, without waiting. Adds the outcome to the set `asked`.
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

    /// Returns all lost workers, without a time of the loss: in the next round's results, the
    /// workers were lost before the round.
    pub(super) fn lost(&self) -> Vec<LostWorker> {
        let lost = |(worker, why): (&u32, &String)| LostWorker {
            worker: *worker,
            second: None,
            why: why.clone(),
            taken_over: None,
        };
        self.gone.iter().map(lost).collect()
    }

    /// Returns whether another round can run: either no worker is lost, or the others go on without it, and at least one
    /// worker remains.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        self.check_present().is_ok()
    }

    fn check_present(&self) -> Result<(), ClusterError> {
        let goes_on = self.on_loss != OnLoss::Fail && !self.present().is_empty();
        match self.lost().into_iter().next() {
            Some(lost) if !goes_on => Err(ClusterError::Lost(lost)),
            _ => Ok(()),
        }
    }

    /// Processes the events since the last round: records lost workers, and ends
    /// lost workers that have joined again.
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
