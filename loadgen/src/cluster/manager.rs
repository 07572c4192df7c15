//! The manager: starts workers, waits until they have joined, and ends them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::bus::{Event, ManagerBus};
use super::error::ClusterError;
use super::join::{Join, random_hex};
use super::messages::Command;
use super::process::Process;
use super::round::{LostWorker, Round, RoundUnderWay};
use crate::engine::{Plan, Share};
use crate::measure::Snapshot;

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
        let mut cluster = Self { bus, events, processes, epoch: 0, gone: BTreeMap::new() };
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

    /// Runs one round of `plan`, whose share is set for each worker, until its end, until `stop`,
    /// or until a worker is lost, which ends it on all the others. `on_snapshot` sees each
    /// snapshot once, as it arrives.
    ///
    /// # Errors
    /// When the round could not begin. Once it has begun, what came of it is returned, with the
    /// workers that were lost.
    pub async fn round(
        &mut self,
        plan: Plan,
        stop: CancellationToken,
        on_snapshot: impl FnMut(u32, &Snapshot),
    ) -> Result<Round, ClusterError> {
        self.epoch += 1;
        self.check_present()?;
        let epoch = self.epoch;
        let of = self.size();
        let prepare =
            |index| Command::Prepare { epoch, plan: Box::new(plan.part(Share { index, of })) };
        for (_, prepared) in self.command_all("the plan", prepare, PREPARE_LIMIT).await {
            prepared?;
        }
        let under_way = RoundUnderWay::start(self, &plan, on_snapshot).await;
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

    /// Takes note of what happened between rounds; all workers must still be there.
    fn check_present(&mut self) -> Result<(), ClusterError> {
        while let Ok(event) = self.events.try_recv() {
            if let Event::Left(worker) = event {
                self.gone.insert(worker, "it was lost between two rounds".to_owned());
            }
        }
        match self.gone.first_key_value() {
            None => Ok(()),
            Some((worker, why)) => Err(ClusterError::Lost(LostWorker {
                worker: *worker,
                second: None,
                why: why.clone(),
            })),
        }
    }
}
