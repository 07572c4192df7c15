//! The manager: starts workers, waits until they have joined, and ends them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::bus::{Event, ManagerBus};
use super::course::{LostWorker, OnLoss};
use super::error::ClusterError;
use super::join::{Join, random_hex};
use super::messages::Command;
use super::process::Process;
use super::round::{Round, RoundUnderWay, Seen};
use crate::engine::{Plan, Share};

/// How long workers may take to join.
const JOIN_LIMIT: Duration = Duration::from_secs(15);
/// How often processes are looked at while nothing else happens.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How long a worker may take to make ready.
const PREPARE_LIMIT: Duration = Duration::from_secs(10);
/// How long workers may take to end by themselves.
const QUIT_LIMIT: Duration = Duration::from_secs(2);

/// What workers to start on this machine.
#[derive(Debug, Clone)]
pub struct LocalWorkers {
    /// How many, at least one.
    pub count: u32,
    /// The executable of loadgen.
    pub program: PathBuf,
    /// The folder for their log files, `worker-0.log` and so on; without one they write to the
    /// stderr of this process.
    pub logs: Option<PathBuf>,
}

impl LocalWorkers {
    /// `count` workers that run this program and write to its stderr.
    ///
    /// # Errors
    /// Where the system can't tell which program this is.
    pub fn new(count: u32) -> Result<Self, ClusterError> {
        let program = if cfg!(target_os = "linux") {
            // The very file that runs, also when a build has put a newer one in its place.
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().map_err(|source| ClusterError::Spawn {
                program: PathBuf::from("loadgen"),
                source,
            })?
        };
        Ok(Self { count, program, logs: None })
    }
}

/// Workers that have joined and wait for rounds. They end when it is dropped; [`Cluster::quit`]
/// is kinder.
///
/// It needs a multi-threaded Tokio runtime: sending a command may block a thread of it.
pub struct Cluster {
    pub(super) bus: ManagerBus,
    pub(super) events: UnboundedReceiver<Event>,
    pub(super) processes: Vec<Process>,
    pub(super) epoch: u32,
    /// The workers that are gone, and why.
    pub(super) gone: BTreeMap<u32, String>,
    pub(super) on_loss: OnLoss,
}

impl Cluster {
    /// Starts workers, and waits until all have joined; `progress` is told how many have.
    ///
    /// # Errors
    /// When a worker could not be started, ended early, was refused, or did not join in time.
    /// Those that did start are ended.
    pub async fn start(
        workers: &LocalWorkers,
        progress: impl FnMut(usize),
    ) -> Result<Self, ClusterError> {
        // Letters and digits, as the join document wants it.
        let run = random_hex(8)?;
        let mut joins = (0..workers.count)
            .map(|worker| Join::new(&run, worker))
            .collect::<Result<Vec<_>, _>>()?;
        let (bus, events) = ManagerBus::listen(&run, &mut joins).await?;
        let mut processes = Vec::new();
        for join in &joins {
            let logs = workers.logs.as_deref();
            processes.push(Process::spawn(&workers.program, join, logs).await?);
        }
        let (gone, on_loss) = (BTreeMap::new(), OnLoss::default());
        let mut cluster = Self { bus, events, processes, epoch: 0, gone, on_loss };
        cluster.wait_until_joined(progress).await?;
        Ok(cluster)
    }

    async fn wait_until_joined(
        &mut self,
        mut progress: impl FnMut(usize),
    ) -> Result<(), ClusterError> {
        let deadline = Instant::now() + JOIN_LIMIT;
        let of = self.processes.len();
        let mut joined = BTreeSet::new();
        while joined.len() < of {
            match tokio::time::timeout(TICK, self.events.recv()).await {
                Ok(Some(Event::Joined(worker))) if (worker as usize) < of => {
                    joined.insert(worker);
                    progress(joined.len());
                }
                Ok(Some(Event::Refused { worker, reason })) => {
                    return Err(ClusterError::Refused {
                        who: "the manager".to_owned(),
                        what: "a worker",
                        reason: format!("worker {worker}: {reason}"),
                    });
                }
                _ => {}
            }
            for (worker, process) in (0..).zip(&mut self.processes) {
                if let Some(error) = process.early_end(worker) {
                    return Err(error);
                }
            }
            if Instant::now() > deadline {
                return Err(ClusterError::NotJoined {
                    joined: joined.len(),
                    of,
                    limit: JOIN_LIMIT,
                });
            }
        }
        Ok(())
    }

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

    /// Runs one round of `plan`, whose share is set for each worker, until its end or until `stop`.
    /// `show` sees results and losses as they come. A worker that is lost ends the round on all the
    /// others, unless they are to go on; its share is not given out again.
    ///
    /// # Errors
    /// When the round could not begin. Once it has begun, what came of it is returned, with the
    /// workers that were lost.
    pub async fn round(
        &mut self,
        plan: Plan,
        stop: CancellationToken,
        show: impl FnMut(Seen<'_>),
    ) -> Result<Round, ClusterError> {
        self.epoch += 1;
        self.take_note();
        self.check_present()?;
        let (epoch, of) = (self.epoch, self.size());
        let prepare =
            |index| Command::Prepare { epoch, plan: Box::new(plan.part(Share { index, of })) };
        for (worker, prepared) in self.command_all("the plan", prepare, PREPARE_LIMIT).await {
            match prepared {
                Err(ClusterError::Bus(_)) => {
                    self.gone.insert(worker, "it did not take the plan of a round".to_owned());
                    self.fence(worker);
                }
                prepared => prepared?,
            }
        }
        self.check_present()?;
        let under_way = RoundUnderWay::start(self, &plan, show).await;
        Ok(under_way.collect(&stop).await)
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

    /// How many workers there are, the lost ones among them.
    pub(super) fn size(&self) -> u32 {
        // It was made from as many numbers of this type.
        self.processes.len() as u32
    }

    /// The numbers of the workers that are there.
    pub(super) fn present(&self) -> Vec<u32> {
        (0..self.size()).filter(|worker| !self.gone.contains_key(worker)).collect()
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
        for worker in self.present() {
            let (bus, command) = (self.bus.clone(), command(worker));
            asked.spawn(async move {
                let answer = bus.command(worker, what, &command, limit).await;
                (worker, answer)
            });
        }
        asked
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
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Left(worker) if !self.gone.contains_key(&worker) => {
                    self.gone.insert(worker, "it was lost between two rounds".to_owned());
                }
                Event::Joined(worker) if self.gone.contains_key(&worker) => self.fence(worker),
                _ => {}
            }
        }
    }
}
