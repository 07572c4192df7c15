//! Tells telemetry what happens, without ever waiting for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::told::{CountedRows, Loaded, Told, Traced};
use crate::measure::{Counts, Phase, PresentUsage, Snapshot};
use crate::report::view::PlannedLoad;

/// Number of messages that wait for the thread of telemetry, from which on counts are added up here and values of the
/// moment are left out.
const ROOM: usize = 64;

/// Most traced requests that wait to be told.
const MOST_TRACED: usize = 4_000;

/// Time between two messages about counts.
const EVERY: Duration = Duration::from_secs(1);

/// Tells telemetry what happens. Counts are told once a second.
#[derive(Debug)]
pub struct TelemetryTeller {
    channel: Channel,
    /// When counts were told.
    told: Option<Instant>,
}

/// Counts that were not told yet.
#[derive(Debug, Default)]
struct Pending {
    counted: BTreeMap<Phase, CountedRows>,
    /// Requests that ended, by the number of the worker.
    ended: BTreeMap<u32, u64>,
    traced: Traced,
}

/// Way to the thread of telemetry.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    sender: mpsc::UnboundedSender<Told>,
    /// Number of messages that wait for the thread.
    waiting: Arc<AtomicUsize>,
    /// Only the command uses it, and its thread never waits for another.
    pending: Arc<Mutex<Pending>>,
}

/// The other end of a [`Channel`].
pub(super) struct Receiver {
    receiver: mpsc::UnboundedReceiver<Told>,
    waiting: Arc<AtomicUsize>,
}

impl Channel {
    pub(super) fn new() -> (Self, Receiver) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let channel = Self { sender, waiting: waiting.clone(), pending: Arc::default() };
        (channel, Receiver { receiver, waiting })
    }

    fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < ROOM
    }

    pub(super) fn tell(&self, told: Told) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Nobody listens if the thread has ended with an error.
        let _ = self.sender.send(told);
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all that was counted.
    pub(super) fn tell_counts(&self) {
        let Pending { counted, ended, traced } = std::mem::take(&mut *self.pending());
        if !counted.is_empty() {
            self.tell(Told::Counted(counted, ended));
        }
        if !traced.requests.is_empty() || traced.over_limit > 0 {
            self.tell(Told::Traced(traced));
        }
    }
}

impl Receiver {
    pub(super) async fn next(&mut self) -> Option<Told> {
        let told = self.receiver.recv().await?;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(told)
    }
}

impl TelemetryTeller {
    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, told: None }
    }

    /// Tells that a round of this number begins, after all that was counted before.
    pub fn round(&mut self, target: Loaded, number: u32) {
        self.channel.tell_counts();
        self.channel.tell(Told::Round(Arc::new(target), number));
    }

    /// Tells that the load of the round starts.
    pub fn load_started(&mut self) {
        self.channel.tell(Told::LoadStarted);
    }

    /// Counts the results of a worker.
    pub fn count(&mut self, worker: u32, snapshot: &Snapshot) {
        let mut pending = self.channel.pending();
        let Pending { counted, ended, traced } = &mut *pending;
        let ended = ended.entry(worker).or_default();
        for interval in &snapshot.intervals {
            let requests = interval.steps.iter().map(Counts::requests);
            *ended = requests.fold(*ended, u64::saturating_add);
            let rows = counted.entry(interval.phase).or_default();
            merge(&mut rows.steps, &interval.steps);
            merge(&mut rows.flows, &interval.flows);
        }
        let room = MOST_TRACED.saturating_sub(traced.requests.len()).min(snapshot.traced.len());
        let (kept, others) = snapshot.traced.split_at(room);
        traced.requests.extend(kept.iter().map(|request| (worker, request.clone())));
        traced.dropped = traced.dropped.saturating_add(others.len() as u64);
        traced.over_limit = traced.over_limit.saturating_add(snapshot.over_limit);
    }

    /// Tells the load that is planned for now, and once a second what was counted.
    pub fn tick(&mut self, load: PlannedLoad) {
        let now = Instant::now();
        let is_due = self.told.is_none_or(|told| now.saturating_duration_since(told) >= EVERY);
        if is_due && self.channel.has_room() {
            self.told = Some(now);
            self.channel.tell(Told::Load(load));
            self.channel.tell_counts();
        }
    }

    /// Tells that the load of the round is over, and all that was counted in it.
    pub fn round_over(&mut self) {
        self.channel.tell_counts();
        self.channel.tell(Told::RoundOver);
    }

    /// Tells which workers send the load, with the host of each that is on another.
    pub fn joined(&mut self, roster: &[(u32, Option<String>)]) {
        self.channel.tell(Told::Joined(roster.iter().cloned().collect()));
    }

    /// Tells that a worker was lost, after all that it sent.
    pub fn lost(&mut self, worker: u32) {
        self.channel.tell_counts();
        self.channel.tell(Told::Lost(worker));
    }

    /// Returns a function that tells what each service and the generator use now.
    pub fn usage(&self) -> impl Fn(BTreeMap<String, PresentUsage>) + Send + Sync + use<> {
        let channel = self.channel.clone();
        move |usage| {
            if channel.has_room() {
                channel.tell(Told::Usage(usage));
            }
        }
    }
}

fn merge(sums: &mut Vec<Counts>, more: &[Counts]) {
    sums.resize_with(sums.len().max(more.len()), Counts::default);
    sums.iter_mut().zip(more).for_each(|(sum, more)| sum.merge(more));
}
