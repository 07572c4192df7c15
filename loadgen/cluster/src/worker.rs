//! Runs a worker: joins its manager, and obeys the manager's commands, round after round.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::allowed_targets::Allowed;
use super::blobs::{Assignment, Blobs, Digest};
use super::bus::{Request, WorkerBus};
use super::error::ClusterError;
use super::join::Join;
use super::limits::SystemLimits;
use super::messages::{Answer, Command, Hello, News, Report};
use super::splitting::Splitter;
use loadgen_engine::{Change, Finished, GooseRound, StrainMonitor};
use loadgen_measure::Snapshot;

/// Maximum time for which one call of [`join`] looks for a manager.
const JOIN_LIMIT: Duration = Duration::from_secs(10);
/// Time limit for a round to end after a stop.
pub(super) const END_LIMIT: Duration = Duration::from_secs(4);
/// Maximum number of snapshots in the queue for sending. If the queue is full, the task that
/// produces snapshots waits; simulated users never wait.
const WAITING: usize = 64;

/// Options of a worker: when to leave, on which servers to put load,
/// and how long to look for a manager.
#[derive(Clone, Default)]
pub struct Terms {
    /// Cancelled by the caller or by the network layer when the manager is lost.
    pub gone: CancellationToken,
    /// Cancelled when this worker must leave.
    pub leave: CancellationToken,
    /// Servers on which the worker may put load.
    pub allowed: Allowed,
    /// Maximum time to look for the manager. [`join`] looks for at most ten seconds.
    /// [`serve_managers`](super::serve_managers) looks forever if the limit is `None`.
    pub limit: Option<Duration>,
    /// Name of the node on which the worker's host runs, if that is a pod of a cluster.
    pub node: Option<String>,
    /// Limits of the worker's system, which the manager compares with the worker's share.
    pub limits: SystemLimits,
}

/// A worker that has joined its manager.
pub struct Joined {
    worker: Worker,
    requests: UnboundedReceiver<Request>,
    terms: Terms,
}

/// Joins the manager that the join document `join` names.
///
/// # Errors
/// If the worker could not join within ten seconds or `terms.limit`, whichever is less, or
/// if a token in `terms` was cancelled.
pub async fn join(join: &Join, terms: Terms) -> Result<Joined, ClusterError> {
    let mut hello = Hello { limits: terms.limits, ..Hello::from_worker(join.worker) };
    if let Some(node) = &terms.node {
        hello.host = format!("{} on {node}", hello.host);
    }
    let limit = terms.limit.map_or(JOIN_LIMIT, |limit| limit.min(JOIN_LIMIT));
    let joining = WorkerBus::join(join, &hello, limit, &terms.gone);
    let (bus, requests) = tokio::select! {
        joined = joining => joined?,
        () = terms.gone.cancelled() => return Err(ClusterError::ManagerGone),
        () = terms.leave.cancelled() => return Err(ClusterError::Signalled),
    };
    let (blobs, state, allowed) = (Blobs::default(), State::Idle, terms.allowed.clone());
    let leaving = Arc::default();
    let worker = Worker { bus: Arc::new(bus), newest: 0, blobs, state, leaving, allowed };
    Ok(Joined { worker, requests, terms })
}

impl Joined {
    /// Runs the manager's rounds until the manager ends this worker or is
    /// lost, or until the worker must leave.
    ///
    /// # Errors
    /// If the worker left without a command of the manager. The worker's load has then ended, too.
    pub async fn serve(self) -> Result<(), ClusterError> {
        let Self { mut worker, requests, terms } = self;
        let outcome = tokio::select! {
            biased;
            () = terms.gone.cancelled() => Err(ClusterError::ManagerGone),
            () = terms.leave.cancelled() => Err(ClusterError::Signalled),
            () = worker.obey(requests) => Ok(()),
        };
        if let Err(why) = &outcome {
            // Set only once, here.
            let _ = worker.leaving.set(match why {
                ClusterError::Signalled => "it left on a signal",
                _ => "its manager, or the program that had started it, is gone",
            });
        }
        // The load must end at once, even if no manager can receive a report.
        worker.end_round().await;
        worker.bus.close().await;
        outcome
    }
}

struct Worker {
    bus: Arc<WorkerBus>,
    /// Epoch (unique number) of the newest round that the worker knows; 0 before the first round.
    /// Commands of older rounds are refused.
    newest: u32,
    blobs: Blobs,
    state: State,
    /// Reason for which the worker leaves; empty unless it leaves without a command of the manager.
    leaving: Arc<OnceLock<&'static str>>,
    allowed: Allowed,
}

enum State {
    Idle,
    /// The round is ready to start. `digest` identifies the plan. `stop`
    /// may be cancelled before the start.
    Prepared {
        goose: Box<GooseRound>,
        digest: Digest,
        stop: CancellationToken,
    },
    /// The round has started in a separate task, `task`, and is running or has ended.
    Started {
        stop: CancellationToken,
        changes: UnboundedSender<Change>,
        task: JoinHandle<()>,
    },
}

impl Worker {
    /// Carries out the manager's commands until the command to quit.
    async fn obey(&mut self, mut requests: UnboundedReceiver<Request>) {
        while let Some(mut request) = requests.recv().await {
            let received = Instant::now();
            let command = std::mem::replace(&mut request.command, Command::Quit);
            let quits = command == Command::Quit;
            let done = self.carry_out(command, received).await;
            request.answer(&Answer::from(done)).await;
            if quits {
                return;
            }
        }
    }

    /// Carries out a command. A command that arrives twice has no further effect.
    async fn carry_out(&mut self, command: Command, received: Instant) -> Result<(), String> {
        match command {
            Command::Chunk(chunk) => block_in_place(|| self.blobs.take(chunk)),
            Command::Prepare { epoch, assignment } => self.prepare(epoch, assignment).await,
            Command::Start { epoch, after } => {
                self.fence(epoch)?;
                self.start(epoch, received + after)
            }
            Command::Change { epoch, change } => {
                self.fence(epoch)?;
                self.change(Change::Load(change));
                Ok(())
            }
            Command::TakeOver { epoch, takeovers } => {
                self.fence(epoch)?;
                self.change(Change::Processes(takeovers));
                Ok(())
            }
            Command::Stop { epoch } => {
                self.fence(epoch)?;
                if let State::Prepared { stop, .. } | State::Started { stop, .. } = &self.state {
                    stop.cancel();
                }
                Ok(())
            }
            Command::Ping | Command::Quit => Ok(()),
        }
    }

    fn change(&self, change: Change) {
        let changes = match &self.state {
            // The command to start may arrive later.
            State::Prepared { goose, .. } => &goose.changes(),
            State::Started { changes, .. } => changes,
            State::Idle => return,
        };
        // A round that has ended needs no change.
        let _ = changes.send(change);
    }

    /// Refuses a command unless `epoch` is the number of the newest round. A manager that
    /// gave this worker up may have begun another round, and late commands of the old
    /// round must not disturb the new round.
    fn fence(&self, epoch: u32) -> Result<(), String> {
        if epoch == self.newest {
            return Ok(());
        }
        let newest = self.newest;
        Err(format!("the command is of round {epoch}, but this is round {newest}"))
    }

    async fn prepare(&mut self, epoch: u32, assignment: Assignment) -> Result<(), String> {
        if epoch <= self.newest {
            return self.fence(epoch);
        }
        let plan = block_in_place(|| self.blobs.plan(&assignment))?;
        self.allowed.check(&plan)?;
        plan.scenario.check_flows()?;
        self.newest = epoch;
        // A process can run only one round at a time.
        if !self.end_round().await {
            return Err("the previous round has not ended yet".to_owned());
        }
        // Large files may be read for their digests.
        let goose = block_in_place(|| GooseRound::prepare(plan)).map_err(|e| e.to_string())?;
        goose.connect().await;
        let (goose, stop) = (Box::new(goose), CancellationToken::new());
        self.state = State::Prepared { goose, digest: assignment.plan, stop };
        Ok(())
    }

    fn start(&mut self, epoch: u32, start: Instant) -> Result<(), String> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => return Err("the round was not prepared".to_owned()),
            State::Prepared { goose, digest, stop } => {
                let changes = goose.changes();
                let (bus, leaving) = (self.bus.clone(), self.leaving.clone());
                let round = Round { bus, epoch, digest, leaving };
                let task = tokio::spawn(round.run(*goose, start, stop.clone()));
                self.state = State::Started { stop, changes, task };
            }
            started @ State::Started { .. } => self.state = started,
        }
        Ok(())
    }

    /// Stops a running round, and waits for at most `END_LIMIT` until the final report is sent.
    /// Returns whether the round is over.
    async fn end_round(&mut self) -> bool {
        let State::Started { stop, task, .. } = &mut self.state else {
            return true;
        };
        stop.cancel();
        let ended = tokio::time::timeout(END_LIMIT, task).await.is_ok();
        if ended {
            self.state = State::Idle;
        }
        ended
    }
}

/// A round on this worker: generates the load, and reports the results.
struct Round {
    bus: Arc<WorkerBus>,
    epoch: u32,
    digest: Digest,
    /// See [`Worker`].
    leaving: Arc<OnceLock<&'static str>>,
}

impl Round {
    async fn run(self, goose: GooseRound, start: Instant, stop: CancellationToken) {
        let round = Arc::new(self);
        let (drained, waiting) = mpsc::channel(WAITING);
        let publishing = tokio::spawn(round.clone().publish(waiting, goose.strain()));
        let ran = goose.run(start, stop, &drained).await;
        // Tells the publishing task that no more snapshots come.
        drop(drained);
        let published = publishing.await;
        let last_word = match (ran, published) {
            (_, Ok(Err(unsent))) => News::Failed(unsent.to_string()),
            (_, Err(ended)) => News::Failed(ended.to_string()),
            (Err(failed), _) => News::Failed(failed.to_string()),
            (Ok(finished), Ok(Ok(snapshots))) => match round.leaving.get() {
                // The worker's load is missing from here on, which counts as a loss even if the worker
                // left in good order.
                Some(why) => News::Failed((*why).to_owned()),
                None => News::Finished(Finished { snapshots, ..finished }, round.digest.clone()),
            },
        };
        // If this report can't be sent, the manager notices the worker's silence.
        let _ = round.report(last_word).await;
    }

    /// Sends the round's snapshots to the manager until there are no more, and returns the number of those sent. Sends
    /// nothing after an error; the closed channel then informs the task that produces snapshots.
    async fn publish(
        self: Arc<Self>,
        mut snapshots: mpsc::Receiver<Snapshot>,
        strain: Arc<StrainMonitor>,
    ) -> Result<u32, ClusterError> {
        let mut splitter = Splitter::default();
        while let Some(snapshot) = snapshots.recv().await {
            // No user of this thread waits for it.
            let taken = strain.clone();
            let sample = spawn_blocking(move || taken.take()).await.unwrap_or_default();
            for (part, sample) in splitter.split(snapshot, sample) {
                self.report(News::Snapshot(part, sample)).await?;
            }
        }
        Ok(splitter.sent())
    }

    async fn report(&self, news: News) -> Result<(), ClusterError> {
        let report = Report { epoch: self.epoch, worker: self.bus.worker(), news };
        self.bus.publish(&report).await
    }
}
