//! One round, from the common start to the last report.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::bus::Event;
use super::collector::WorkerRound;
use super::course::{Action, Course, Input, LostWorker, Results, Schedule};
use super::error::ClusterError;
use super::manager::{Cluster, TICK};
use super::messages::{Command, News, Report};
use super::start::{Acknowledged, StartSkew};
use crate::engine::{Change, Orders, Plan};
use crate::measure::{GrowingSeries, Series, Snapshot};
use crate::scenario::Load;

/// From the command to the common start, besides the round trip of the farthest worker: far more than a
/// command waits anywhere on its way.
const LEAD: Duration = Duration::from_millis(100);
/// How long a worker may take to acknowledge a command.
const COMMAND_LIMIT: Duration = Duration::from_secs(3);
/// How long the end of a lost worker's process is waited for, to say how it ended.
const AUTOPSY_LIMIT: Duration = Duration::from_millis(200);

/// What came of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// What all workers measured.
    pub series: Series,
    /// What each worker gave, in the order of their numbers; lost ones gave less.
    pub workers: Vec<WorkerRound>,
    /// The workers that were not there to its end: those lost before the round, then those that were
    /// lost in it, in the order in which they were.
    pub lost: Vec<LostWorker>,
    /// How the load was changed, in the order in which it was.
    pub changes: Vec<Change>,
    /// Sentences about reports that were not understood or contradicted others; none of those
    /// is in the results.
    pub refused: Vec<String>,
    /// The round trip of each worker, shortly before the start.
    pub round_trips: BTreeMap<u32, Duration>,
    /// How far apart the moments were at which they had to start, at most.
    pub start_skew: StartSkew,
}

impl Round {
    /// One that was ended before it began.
    pub(super) fn not_begun(cluster: &Cluster) -> Self {
        let schedule = Schedule { measured: Duration::ZERO, end: None, drain: Duration::ZERO };
        let (epoch, lost) = (cluster.epoch, cluster.lost());
        let (workers, on_loss) = (cluster.size, cluster.on_loss);
        let course = Course::new(epoch, workers, &cluster.absent, lost, schedule, on_loss);
        let results = course.into_results(|_| Duration::ZERO);
        let Results { series, workers, lost, refused } = results;
        let (changes, round_trips) = (Vec::new(), BTreeMap::new());
        let start_skew = StartSkew::default();
        Self { series, workers, lost, changes, refused, round_trips, start_skew }
    }

    /// What is missing in the results, in a sentence: lost workers first, then [`Round::gaps`].
    /// `None` where nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let lost = self.lost.iter().map(ToString::to_string);
        let all: Vec<String> = lost.chain(self.gaps()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What did not arrive although nobody was lost: a sentence for each worker whose snapshots are
    /// missing, and for each report that was refused.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let gaps = self.workers.iter().filter(|worker| !worker.gaps.is_empty()).map(|worker| {
            let gaps: Vec<String> = worker.gaps.iter().map(numbers).collect();
            format!("worker {}: snapshots did not arrive: {}", worker.worker, gaps.join(", "))
        });
        let refused = self.refused.iter().map(|reason| format!("a report was refused: {reason}"));
        gaps.chain(refused).collect()
    }
}

/// "4" or "4 to 7".
fn numbers(gap: &Range<u32>) -> String {
    match gap.end.saturating_sub(1) {
        last if last <= gap.start => gap.start.to_string(),
        last => format!("{} to {last}", gap.start),
    }
}

/// What is seen of a round while it runs.
#[derive(Debug)]
pub enum Seen<'a> {
    /// All make ready, and start at this moment.
    Started(std::time::Instant),
    /// Results of a worker, each once, as they arrive.
    Snapshot(u32, &'a Snapshot),
    /// A worker was lost.
    Lost(&'a LostWorker),
    /// Time has passed; some times a second.
    Tick,
}

/// A round that has started.
pub(super) struct RoundUnderWay<'a, F> {
    cluster: &'a mut Cluster,
    plan: &'a Plan,
    /// The plan's.
    digest: String,
    /// When the command to start was given.
    began: Instant,
    /// From that command to the common start.
    lead: Duration,
    course: Course,
    round_trips: BTreeMap<u32, Duration>,
    start_skew: StartSkew,
    /// What became of the commands to stop is not waited for: who doesn't obey misses the deadline.
    stopping: JoinSet<(u32, Result<(), ClusterError>)>,
    /// Who has not taken a change yet.
    changing: JoinSet<(u32, Result<(), ClusterError>)>,
    changes: Vec<Change>,
    show: F,
}

impl<'a, F: FnMut(Seen<'_>, &mut GrowingSeries)> RoundUnderWay<'a, F> {
    /// Starts all workers at the same time.
    pub(super) async fn start(
        cluster: &'a mut Cluster,
        plan: &'a Plan,
        digest: String,
        round_trips: BTreeMap<u32, Duration>,
        show: F,
    ) -> Self {
        let epoch = cluster.epoch;
        let lead = LEAD + farthest(&round_trips);
        let began = Instant::now();
        let mut starting = cluster.send_start(began + lead, &round_trips);
        let schedule = Schedule {
            measured: lead + plan.warmup,
            end: plan.length().map(|length| lead + length),
            drain: plan.scenario.load.drain,
        };
        let (workers, lost) = (cluster.size, cluster.lost());
        let course = Course::new(epoch, workers, &cluster.absent, lost, schedule, cluster.on_loss);
        let mut round = Self {
            cluster,
            plan,
            digest,
            began,
            lead,
            course,
            round_trips,
            start_skew: StartSkew::default(),
            stopping: JoinSet::new(),
            changing: JoinSet::new(),
            changes: Vec::new(),
            show,
        };
        round.show(Seen::Started((began + lead).into_std()));
        let mut acknowledged = Vec::new();
        // No task of these panics, and none is cancelled.
        while let Some(Ok((worker, started))) = starting.join_next().await {
            match started {
                Ok(worker) => acknowledged.push(worker),
                Err(error) => round.take(Input::Left(worker, error.to_string())),
            }
        }
        round.start_skew = StartSkew::of(&acknowledged);
        round
    }

    /// Collects what workers report until all of them have finished or are lost.
    pub(super) async fn collect(mut self, mut orders: Orders) -> Round {
        let stop = orders.stop.clone();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_told = false;
        while !self.course.is_over() {
            let input = tokio::select! {
                event = self.cluster.events.recv() => match event {
                    Some(event) => self.input(event).await,
                    // The session, which this cluster owns, holds the other end.
                    None => break,
                },
                () = stop.cancelled(), if !is_told => {
                    is_told = true;
                    Input::Stop
                }
                // One after another, so that no worker hears of the later one first.
                asked = orders.next(), if !is_told && self.changing.is_empty() => {
                    // The farthest worker hears of it so much later.
                    let heard = self.since_start() + farthest(&self.round_trips);
                    if let Some(change) = asked.decide(self.plan, heard) {
                        self.change(change);
                    }
                    continue;
                }
                Some(Ok((worker, taken))) = self.changing.join_next() => match taken {
                    // Without it the workers would no longer do the same.
                    Err(error) if self.course.awaits(worker) => Input::Left(worker, error.to_string()),
                    _ => continue,
                },
                _ = tick.tick() => {
                    self.show(Seen::Tick);
                    Input::Tick
                }
            };
            self.take(input);
        }
        let load = &self.plan.scenario.load;
        let results = self.course.into_results(|seconds| held(load, seconds));
        let Results { series, workers, lost, refused } = results;
        let Self { changes, round_trips, start_skew, .. } = self;
        Round { series, workers, lost, changes, refused, round_trips, start_skew }
    }

    fn show(&mut self, seen: Seen<'_>) {
        (self.show)(seen, self.course.series());
    }

    /// From the common start on.
    fn since_start(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.lead)
    }

    /// Has all workers change the load.
    fn change(&mut self, change: Change) {
        self.changes.push(change);
        let epoch = self.cluster.epoch;
        let command = |_| Command::Change { epoch, change };
        self.cluster.send_to_all(&mut self.changing, "a change", command, COMMAND_LIMIT);
    }

    async fn input(&mut self, event: Event) -> Input {
        match event {
            Event::Report(Report { epoch, worker, news: News::Finished(_, digest) })
                if epoch == self.cluster.epoch && digest != self.digest =>
            {
                Input::Left(worker, "it ran another scenario than it was given".to_owned())
            }
            Event::Report(report) => Input::Report(report),
            // Who said hello is there once it is alive.
            Event::Hello(_) => Input::Tick,
            Event::Joined(worker) => Input::Joined(worker),
            Event::Left(worker) if self.course.awaits(worker) => {
                Input::Left(worker, self.autopsy(worker).await)
            }
            Event::Left(worker) => Input::Left(worker, "it left after a round".to_owned()),
            Event::Foreign(reason) => Input::Noise(reason),
            Event::Refused { worker, reason } => Input::Noise(format!("worker {worker}: {reason}")),
        }
    }

    /// Tells the course what happened now, and does what follows from it.
    fn take(&mut self, input: Input) {
        for action in self.course.take(self.began.elapsed(), input) {
            match action {
                Action::Show(worker, snapshot) => self.show(Seen::Snapshot(worker, &snapshot)),
                Action::StopAll => {
                    let epoch = self.cluster.epoch;
                    let stop = |_| Command::Stop { epoch };
                    self.stopping = self.cluster.send_all("the stop", stop, COMMAND_LIMIT);
                }
                Action::Lose(lost) => {
                    self.cluster.gone.insert(lost.worker, lost.why.clone());
                    self.show(Seen::Lost(&lost));
                }
                Action::Fence(worker) => self.cluster.fence(worker),
            }
        }
    }

    /// Why a worker's link is gone.
    async fn autopsy(&mut self, worker: u32) -> String {
        let deadline = Instant::now() + AUTOPSY_LIMIT;
        while let Some(process) = self.cluster.processes.get_mut(worker as usize) {
            if let Some(status) = process.ended() {
                return format!("its process ended ({status})");
            }
            if Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(AUTOPSY_LIMIT / 10).await;
        }
        match self.cluster.processes.is_empty() {
            true => "it no longer answers".to_owned(),
            false => "it no longer answers, though its process is there".to_owned(),
        }
    }
}

/// The longest of all round trips.
fn farthest(round_trips: &BTreeMap<u32, Duration>) -> Duration {
    round_trips.values().max().copied().unwrap_or_default()
}

impl Cluster {
    /// Tells all workers to start at the same moment.
    fn send_start(
        &self,
        start: Instant,
        round_trips: &BTreeMap<u32, Duration>,
    ) -> JoinSet<(u32, Result<Acknowledged, ClusterError>)> {
        let (mut starting, epoch) = (JoinSet::new(), self.epoch);
        for worker in self.present() {
            let bus = self.bus.clone();
            let round_trip = round_trips.get(&worker).copied().unwrap_or_default();
            starting.spawn(async move {
                // The commands of some workers wait for those of others: the delay is worked out last.
                let sent = Instant::now();
                let after = start.saturating_duration_since(sent).saturating_sub(round_trip / 2);
                let start = Command::Start { epoch, after };
                let started = bus.command(worker, "the start", &start, COMMAND_LIMIT).await;
                (worker, started.map(|()| Acknowledged { round_trip, took: sent.elapsed() }))
            });
        }
        starting
    }

    /// Sees to it that a worker that was given up puts no load on the target any more, also if it was
    /// only paused: its process is killed where there is one, and wherever it is, it is told to leave.
    pub(super) fn fence(&mut self, worker: u32) {
        self.kill(worker);
        let bus = self.bus.clone();
        tokio::spawn(async move {
            // One that is paused hears nothing; it is told again when it comes back, and finds its
            // manager gone.
            let _ = bus.command(worker, "leaving", &Command::Quit, COMMAND_LIMIT).await;
        });
    }
}

/// How long the load was held in the first `seconds` after the warm-up.
fn held(load: &Load, seconds: u32) -> Duration {
    let held = Duration::from_secs(seconds.into()).saturating_sub(load.ramp_up);
    load.held().map_or(held, |most| held.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Connections, Strain};

    fn worker(worker: u32, gaps: &[Range<u32>]) -> WorkerRound {
        WorkerRound {
            worker,
            requests: 9,
            snapshots: 3,
            held: Duration::from_secs(3),
            gaps: gaps.to_vec(),
            ran_out: Vec::new(),
            rows: Default::default(),
            connections: Connections::default(),
            strain: Strain::default(),
        }
    }

    #[test]
    fn what_is_missing_is_told_with_the_worst_first() {
        let whole = Round {
            series: Series::default(),
            workers: vec![worker(0, &[]), worker(1, &[])],
            lost: Vec::new(),
            changes: Vec::new(),
            refused: Vec::new(),
            round_trips: BTreeMap::new(),
            start_skew: StartSkew::default(),
        };
        assert_eq!(whole.missing(), None);
        let all = Round {
            series: Series::default(),
            workers: vec![worker(0, &[]), worker(1, &[1..2, 4..8])],
            lost: vec![LostWorker { worker: 0, second: Some(2), why: "it ended".to_owned() }],
            changes: Vec::new(),
            refused: vec!["there is no worker 7".to_owned()],
            round_trips: BTreeMap::new(),
            start_skew: StartSkew::default(),
        };
        assert_eq!(
            all.missing().unwrap(),
            "worker 0 was lost in second 2: it ended; \
             worker 1: snapshots did not arrive: 1, 4 to 7; \
             a report was refused: there is no worker 7"
        );
    }
}
