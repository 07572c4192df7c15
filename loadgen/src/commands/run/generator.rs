//! Where the load of a round comes from: this process, or workers. Both give the same.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::cluster::{Cluster, ClusterError, LostWorker, Round, Seen, StartSkew};
use crate::commands::{Exit, Failure};
use crate::engine::{Attack, Change, Orders, Plan, Share};
use crate::measure::{Connections, GrowingSeries, RowsUsed, Series, Strain};

/// How far ahead of its start a round in this process is planned, so that its users are there.
const LEAD: Duration = Duration::from_millis(50);
/// How often it is shown that time passes.
const TICK: Duration = Duration::from_millis(100);

/// Where the load comes from.
pub enum Generator {
    /// This process.
    Process,
    /// Worker processes.
    Workers(Box<Cluster>),
}

/// What a round gave.
#[derive(Default)]
pub struct Yield {
    /// All snapshots, merged.
    pub series: Series,
    /// How long the load was held.
    pub held: Duration,
    /// What each worker did; empty for load from this process.
    pub workers: Vec<Worked>,
    /// The workers that were not there to the end, those that the round began without first.
    pub lost: Vec<LostWorker>,
    /// Sentences about what did not arrive although nobody was lost.
    pub gaps: Vec<String>,
    /// Users that it should have had.
    pub users: u32,
    /// How the load was changed, in the order in which it was.
    pub changes: Vec<Change>,
    /// The files of rows that ran out on some process.
    pub ran_out: BTreeSet<String>,
    /// The rows that its requests used; none where a lost worker can't tell.
    pub rows: RowsUsed,
    /// How far apart its workers started, at most; `None` for load from this process.
    pub start_skew: Option<StartSkew>,
    /// The connections that were opened; of workers that were lost none is known.
    pub connections: Connections,
}

/// What one worker did in a round.
#[derive(Clone)]
pub struct Worked {
    /// Its number.
    pub worker: u32,
    /// Its host and the CPUs that it may use there, where it came from elsewhere.
    pub host: Option<(String, usize)>,
    /// Its share of the users.
    pub users: u32,
    /// Its round trip to the manager, the longest of all rounds; `None` where it was lost before it was
    /// measured.
    pub round_trip: Option<Duration>,
    /// Requests that came to an end while the load was held.
    pub requests: u64,
    /// Snapshots that came of it.
    pub snapshots: u32,
    /// How hard pressed it was.
    pub strain: Strain,
}

impl Worked {
    /// Adds what the same worker did in another round.
    pub fn add(&mut self, other: &Self) {
        self.round_trip = self.round_trip.max(other.round_trip);
        self.requests += other.requests;
        self.snapshots += other.snapshots;
        self.strain.merge(&other.strain);
    }
}

impl Yield {
    /// Whether all of the load was there to the end, and all that came of it is here.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.gaps.is_empty()
    }

    /// What is missing, in a sentence, if anything is.
    pub fn missing(&self) -> Option<String> {
        let lost = self.lost.iter().map(ToString::to_string);
        let all: Vec<String> = lost.chain(self.gaps.iter().cloned()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The share of the users that this worker has, or had.
    pub fn users_of(&self, worker: u32) -> u32 {
        self.workers.iter().find(|worked| worked.worker == worker).map_or(0, |worked| worked.users)
    }

    /// The host of this worker, where it came from elsewhere.
    pub fn host_of(&self, worker: u32) -> Option<String> {
        let worked = self.workers.iter().find(|worked| worked.worker == worker)?;
        worked.host.as_ref().map(|(name, _)| name.clone())
    }

    /// The users that were there to the end.
    pub fn users_achieved(&self) -> u32 {
        self.lost
            .iter()
            .fold(self.users, |left, lost| left.saturating_sub(self.users_of(lost.worker)))
    }
}

impl Generator {
    /// Puts the load of `plan` on its target, and shows what comes of it as it comes, with all that came
    /// so far.
    pub async fn round(
        &mut self,
        plan: Plan,
        orders: impl Into<Orders>,
        show: impl FnMut(Seen<'_>, &mut GrowingSeries),
    ) -> Result<Yield, Failure> {
        let orders = orders.into();
        match self {
            Self::Process => in_process(plan, orders, show).await,
            Self::Workers(cluster) => on_workers(cluster, plan, orders, show).await,
        }
    }

    /// Whether there can be another round.
    pub fn can_go_on(&self) -> bool {
        match self {
            Self::Process => true,
            Self::Workers(cluster) => cluster.can_go_on(),
        }
    }

    /// How many workers share the load; 0 where it comes from this process.
    pub fn workers(&self) -> u32 {
        match self {
            Self::Process => 0,
            Self::Workers(cluster) => cluster.workers(),
        }
    }

    /// The processes that make the load besides this one.
    pub fn pids(&self) -> Vec<u32> {
        match self {
            Self::Process => Vec::new(),
            Self::Workers(cluster) => cluster.pids(),
        }
    }

    /// Ends the workers.
    pub async fn close(self) {
        if let Self::Workers(cluster) = self {
            cluster.quit().await;
        }
    }
}

async fn in_process(
    plan: Plan,
    mut orders: Orders,
    mut show: impl FnMut(Seen<'_>, &mut GrowingSeries),
) -> Result<Yield, Failure> {
    let users = plan.scenario.load.users;
    let attack = Attack::prepare(plan.part(Share::WHOLE)).map_err(Failure::with(Exit::Failed))?;
    let (sender, mut snapshots) = mpsc::channel(16);
    let (mut series, mut changes) = (GrowingSeries::default(), Vec::new());
    let (stop, change) = (orders.stop.clone(), attack.changes());
    tokio::select! {
        () = attack.connect() => {}
        () = stop.cancelled() => {}
    }
    let start = Instant::now() + LEAD;
    show(Seen::Started(start), &mut series);
    let running = async {
        let finished = attack.run(start, stop, &sender).await;
        drop(sender);
        finished
    };
    let merging = async {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                snapshot = snapshots.recv() => match snapshot {
                    Some(snapshot) => {
                        series.add(&snapshot);
                        show(Seen::Snapshot(0, &snapshot), &mut series);
                    }
                    None => break,
                },
                _ = tick.tick() => show(Seen::Tick, &mut series),
            }
        }
    };
    let changing = async {
        loop {
            let asked = orders.next().await;
            let elapsed = Instant::now().saturating_duration_since(start);
            if let Some(decided) = asked.decide(&plan, elapsed) {
                changes.push(decided);
                // A round that is over needs none.
                let _ = change.send(decided);
            }
        }
    };
    let finished = tokio::select! {
        (finished, ()) = async { tokio::join!(running, merging) } => finished,
        never = changing => never,
    };
    let finished = finished.map_err(Failure::with(Exit::Failed))?;
    Ok(Yield {
        series: series.into(),
        held: finished.held,
        workers: Vec::new(),
        lost: Vec::new(),
        gaps: Vec::new(),
        users,
        changes,
        ran_out: finished.ran_out.into_iter().collect(),
        rows: finished.rows,
        start_skew: None,
        connections: finished.connections,
    })
}

async fn on_workers(
    cluster: &mut Cluster,
    plan: Plan,
    orders: Orders,
    show: impl FnMut(Seen<'_>, &mut GrowingSeries),
) -> Result<Yield, Failure> {
    let users = plan.scenario.load.users;
    let round = cluster.round(plan, orders, show).await;
    let round = round.map_err(|error| match error {
        ClusterError::Lost(_) => Failure::new(Exit::Degraded, error),
        _ => Failure::new(Exit::Failed, error),
    })?;
    let gaps = round.gaps();
    let mut workers = Vec::new();
    let mut held = Duration::ZERO;
    let (mut ran_out, mut rows) = (BTreeSet::new(), RowsUsed::new());
    let mut connections = Connections::default();
    for worker in round.workers {
        held = held.max(worker.held);
        workers.push(Worked {
            worker: worker.worker,
            host: cluster.host(worker.worker),
            users: cluster.share(worker.worker).users(users),
            round_trip: round.round_trips.get(&worker.worker).copied(),
            requests: worker.requests,
            snapshots: worker.snapshots,
            strain: worker.strain,
        });
        ran_out.extend(worker.ran_out);
        for (name, used) in worker.rows {
            match rows.entry(name) {
                Entry::Occupied(mut known) => known.get_mut().merge(used),
                Entry::Vacant(new) => drop(new.insert(used)),
            }
        }
        connections.merge(&worker.connections);
    }
    let Round { series, lost, changes, start_skew, .. } = round;
    if !lost.is_empty() {
        rows.clear();
    }
    let start_skew = Some(start_skew);
    let of_workers = Yield { workers, ran_out, rows, connections, ..Yield::default() };
    Ok(Yield { series, held, lost, gaps, users, changes, start_skew, ..of_workers })
}
