//! Runs one round: Goose's users, a snapshot each second, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use goose::GooseAttack;
use goose::client::GooseClientBuilder;
use goose::config::GooseConfiguration;
use goose::goose::{Scenario, Transaction, TransactionFunction};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::check::Check;
use super::countdown::{Countdown, OneLess};
use super::error::EngineError;
use super::gate::Gate;
use super::load::{Closed, Turn};
use super::load_change::Change;
use super::plan::Plan;
use super::reading_lag::ReadingLag;
use super::rows::Supply;
use super::scaling::{follow, may_come};
use super::senders::Due;
use super::strain_monitor::StrainMonitor;
use super::takeover::Place;
use super::tracing::Tracing;
use super::transport::Transport;
use super::user::Shared;
use loadgen_measure::{Connections, HeldUp, Latencies, Recorder, RowsUsed, SendGaps, Snapshot};
use loadgen_scenario::{Model, OnDisk, Secrets};

/// Delay from the end of a second to the snapshot of this second, so that the snapshot includes
/// requests that ended in the last moment of the second.
const SETTLE: Duration = Duration::from_millis(10);

/// Timeout for opening the users' first connections.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// Final report of one process on its round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Number of snapshots that the process sent.
    pub snapshots: u32,
    /// Time for which the load ran after the ramp-up.
    pub held: Duration,
    /// Names of the data files whose rows ran out: users took the last row and needed more.
    pub ran_out: Vec<String>,
    /// Rows of the data files that were used by users' starts and by iterations after the warm-up.
    pub rows: RowsUsed,
    /// Counts of the connections that the process opened. Boxed, because messages are passed on.
    pub connections: Box<Connections>,
    /// Gaps between the sends of the hold; empty in the closed model.
    pub send_gaps: Box<SendGaps>,
    /// How late the process read what had arrived during the hold; empty unless a step expects a
    /// stream.
    pub reading_lag: Box<Latencies>,
    /// Times of the hold in which the process was held up.
    pub held_up: HeldUp,
}

impl Finished {
    /// Number of samples in all histograms together.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let Connections { connect_histogram, tls_histogram, .. } = &*self.connections;
        let opened = [connect_histogram, tls_histogram].map(|times| times.latencies().len());
        opened.into_iter().fold(self.reading_lag.len(), u64::saturating_add)
    }
}

/// A round that is ready to start. Rounds that a process runs at the same time must start together,
/// because Goose, the library that runs the users, clears its global cancel flag at each start.
pub struct GooseRound {
    plan: Plan,
    transport: Transport,
    changes: mpsc::UnboundedReceiver<Change>,
    change: mpsc::UnboundedSender<Change>,
    strain: Arc<StrainMonitor>,
}

impl GooseRound {
    /// Prepares a round of `plan`, without sending anything.
    pub fn prepare(plan: Plan) -> Result<Self, EngineError> {
        plan.scenario.files_on_disk().try_for_each(OnDisk::open).map_err(EngineError::File)?;
        let transport = Transport::new(&plan).map_err(EngineError::Client)?;
        let (change, changes) = mpsc::unbounded_channel();
        let strain = Arc::new(StrainMonitor::new());
        Ok(Self { plan, transport, changes, change, strain })
    }

    /// Returns the sender for changes during the round.
    #[must_use]
    pub fn changes(&self) -> mpsc::UnboundedSender<Change> {
        self.change.clone()
    }

    /// Returns the monitor of this process during the round.
    #[must_use]
    pub fn strain(&self) -> Arc<StrainMonitor> {
        self.strain.clone()
    }

    /// Opens the connections of the users that send from the start of the round on. Otherwise the
    /// round would measure how some users send while others still connect. After three seconds,
    /// users open the remaining connections themselves.
    pub async fn connect(&self) {
        let Plan { scenario, share, warmup, .. } = &self.plan;
        let closed = Closed::new(&scenario.load, *warmup);
        let at_once =
            |local: &u32| closed.turn(share.number(*local).global, Duration::ZERO) == Turn::Now;
        let users = match scenario.load.model {
            Model::Closed => share.users(scenario.load.users),
            // The open model opens connections when arrivals need them.
            Model::Open(_) => 0,
        };
        let users = (0..users).filter(at_once).map(|local| share.number(local));
        let open = self.transport.open(users);
        // Connections opened before the timeout are kept.
        let _ = tokio::time::timeout(CONNECT_LIMIT, open).await;
    }

    /// Runs this process's share of the round from `start` to the end of the round, or until `stop`
    /// is cancelled. Sends a snapshot to `snapshots` each second, and a last one at the end.
    pub async fn run(
        mut self,
        start: Instant,
        stop: CancellationToken,
        snapshots: &mpsc::Sender<Snapshot>,
    ) -> Result<Finished, EngineError> {
        let gate = Gate::new(&self.plan, start);
        let threads = tokio::runtime::Handle::current().metrics().num_workers();
        let scenario = &self.plan.scenario;
        let flows = if scenario.measures_iterations() { scenario.flows.len() } else { 0 };
        let recorder = Recorder::new(gate.timeline(), scenario.steps.len(), flows, threads)
            .with_stages(scenario.load.stage_ends());
        let first = start + self.plan.first_snapshot();
        let users = self.plan.share.users(self.plan.scenario.load.users);
        let tracing = Tracing::new(self.plan.trace_one_in, scenario);
        let shared = Arc::new(Shared {
            checks: self.plan.scenario.steps.iter().map(Check::new).collect(),
            known: std::mem::take(&mut self.plan.known).into(),
            secrets: Secrets::of(&self.plan.scenario),
            iterating: Countdown::new(users + u32::from(may_come(&gate))),
            supply: Supply::new(
                std::mem::take(&mut self.plan.scenario.rows),
                self.plan.scenario.load.users,
            ),
            plan: self.plan,
            gate,
            recorder,
            transport: self.transport,
            tracing,
        });
        let strain = self.strain;
        let _watching = strain.watch(shared.gate.timeline());
        let has_stream = shared.plan.scenario.steps.iter().any(|it| it.expect.stream.is_some());
        let lag = has_stream.then(|| ReadingLag::start(shared.gate.timeline()));
        // Ends all users, however this function is left.
        let halt = HaltOnDrop(&shared.gate);
        let all_end = async {
            tokio::try_join!(run_planned(&shared, users), follow(self.changes, &shared, users))
        };
        let here = tokio::select! {
            biased;
            result = all_end => result?.1,
            result = send_each_second(first, &shared.recorder, snapshots) => result.map(|()| 0)?,
            () = halt.when(&stop) => 0,
        };
        // Stop steps come after `over_at`. A process without users held no load.
        let left = shared.iterating.over_at().filter(|_| here > 0).unwrap_or(start);
        let ended = shared.gate.ended(left);
        let scenario = &shared.plan.scenario;
        for (number, Due { planned, counted, .. }) in (0..).zip(shared.gate.unsent(ended)) {
            let flow = &scenario.flows[scenario.flow_of_user(number)];
            shared.recorder.unsent(flow.steps.start, counted, planned);
        }
        let held = shared.gate.timeline().held(ended);
        let last = shared.recorder.finish();
        let finished = Finished {
            snapshots: last.number + 1,
            held,
            ran_out: shared.supply.ran_out(),
            rows: shared.supply.used(),
            connections: shared.transport.connections().into(),
            send_gaps: shared.gate.take_gaps().into(),
            held_up: strain.held_up(),
            reading_lag: lag.map(|lag| lag.take()).unwrap_or_default().into(),
        };
        snapshots.send(last).await.map_err(|_| EngineError::Abandoned)?;
        Ok(finished)
    }
}

/// Runs the users that were planned for this process, and completes when they have ended.
async fn run_planned(shared: &Arc<Shared>, users: u32) -> Result<(), EngineError> {
    if users == 0 {
        return Ok(());
    }
    let ended = Arc::new(Countdown::new(users));
    let attack = goose_attack(shared, users, &ended)?;
    // Goose checks only twice a second whether its users have ended. The end of our users suffices
    // here, and Goose's tasks end with our users.
    tokio::select! {
        biased;
        () = ended.wait() => {}
        result = attack.execute() => {
            result.map_err(|e| EngineError::Goose(format!("{e:?}")))?;
            let left = "it ended before its users did".to_owned();
            let wait = tokio::time::timeout(Duration::from_secs(1), ended.wait());
            wait.await.map_err(|_| EngineError::Goose(left))?;
        }
    }
    if ended.has_panicked() { Err(EngineError::UserPanicked) } else { Ok(()) }
}

/// Halts the round, at the latest when dropped.
struct HaltOnDrop<'a>(&'a Gate);

impl HaltOnDrop<'_> {
    /// Halts the round when `stop` is cancelled. Never completes, because
    /// the users still have to end.
    async fn when(&self, stop: &CancellationToken) {
        stop.cancelled().await;
        self.0.halt();
        std::future::pending().await
    }
}

impl Drop for HaltOnDrop<'_> {
    fn drop(&mut self) {
        self.0.halt();
    }
}

/// Sends a snapshot to `snapshots` soon after `first`, and soon after each second from then on.
/// Returns only if the receiver is gone.
async fn send_each_second(
    first: Instant,
    recorder: &Recorder,
    snapshots: &mpsc::Sender<Snapshot>,
) -> Result<(), EngineError> {
    let mut due = first + SETTLE;
    loop {
        tokio::time::sleep_until(due.into()).await;
        // Reserves a slot of the channel first: a drained snapshot must not
        // be lost if the round ends during the wait.
        let place = snapshots.reserve().await.map_err(|_| EngineError::Abandoned)?;
        place.send(recorder.drain(Instant::now()));
        due += Duration::from_secs(1);
    }
}

/// Maximum number of loadgen's users that run within one user of Goose. A Goose user takes
/// 7 KB of memory and time to start; a loadgen user takes 2 KB. See
/// docs/explanation/cost.md for the effect of this limit.
const USERS_PER_GOOSE_USER: u32 = 32;

/// Builds a Goose attack with one scenario and one transaction. Each Goose
/// user runs the transaction once. The transaction starts some of loadgen's
/// users, and ends when these users have ended.
fn goose_attack(
    shared: &Arc<Shared>,
    users: u32,
    ended: &Arc<Countdown>,
) -> Result<GooseAttack, EngineError> {
    let next = Arc::new(AtomicU32::new(0));
    let (shared, ended) = (shared.clone(), ended.clone());
    let some_users: TransactionFunction = Arc::new(move |_| {
        let first = next.fetch_add(USERS_PER_GOOSE_USER, Ordering::Relaxed);
        let numbers = first..users.min(first.saturating_add(USERS_PER_GOOSE_USER));
        // Our users run in separate tasks. In Goose's task, each answer that wakes a user would
        // poll through Goose's future, which is larger than all of ours.
        let started: Vec<JoinHandle<()>> = numbers
            .map(|local| {
                let (shared, ended) = (shared.clone(), ended.clone());
                tokio::spawn(async move {
                    let _ended = OneLess(&ended);
                    let place = Place::first(shared.plan.share.number(local).global);
                    shared.run_user(local, place).await;
                })
            })
            .collect();
        Box::pin(async move {
            for user in started {
                // The countdown records a panic.
                let _ = user.await;
            }
            Ok(())
        })
    });
    let scenario = Scenario::new("users").register_transaction(Transaction::new(some_users));
    let goose_users = users.div_ceil(USERS_PER_GOOSE_USER);
    GooseAttack::initialize_with_config(configuration(goose_users))
        .and_then(|attack| {
            attack
                .register_scenario(scenario)
                .set_client_builder_without_cookies(GooseClientBuilder::new().without_cookies())
        })
        .map_err(|e| EngineError::Goose(format!("{e:?}")))
}

/// Configures Goose to start all Goose users at once, to run one iteration each, and to print,
/// listen and measure nothing. The gate, not Goose, decides when loadgen's users begin.
fn configuration(users: u32) -> GooseConfiguration {
    let mut configuration = GooseConfiguration::default();
    // Goose needs a host, and sends nothing to it.
    configuration.host = Some("http://localhost".to_owned());
    configuration.users = Some(users as usize);
    configuration.increase_rate = Some("1000000".to_owned());
    configuration.iterations = Some(1);
    configuration.quiet = 3;
    configuration.no_metrics = true;
    configuration.no_print_metrics = true;
    configuration.no_error_summary = true;
    configuration.no_telnet = true;
    configuration
}
