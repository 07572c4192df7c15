//! One round, from the common start to the last report.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::bus::Event;
use super::collector::{Collector, Taken, WorkerRound};
use super::error::ClusterError;
use super::manager::{Cluster, TICK};
use super::messages::{Command, Report};
use crate::engine::Plan;
use crate::measure::Snapshot;
use crate::scenario::Load;

/// From the command to the common start: far more than a command needs to reach every worker.
const LEAD: Duration = Duration::from_millis(100);
/// How long a worker may take to acknowledge a command.
const COMMAND_LIMIT: Duration = Duration::from_secs(3);
/// How long a worker that runs may say nothing. It reports each second.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// How long after its planned end a round may last: users wait three seconds for answers, and have
/// three more for what they send when they stop.
const END_LIMIT: Duration = Duration::from_secs(8);
/// How long a worker may take to end and to report the last of it, once it was told to.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How long the end of a lost worker's process is waited for, to say how it ended.
const AUTOPSY_LIMIT: Duration = Duration::from_millis(200);
/// How many sentences about refused reports are kept.
const REFUSED: usize = 20;

/// What came of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// What each worker gave, in the order of their numbers; lost ones gave less.
    pub workers: Vec<WorkerRound>,
    /// The workers that were lost. Where there is one, the round ended early on all of them.
    pub lost: Vec<LostWorker>,
    /// Sentences about reports that were not understood or contradicted others; none of those
    /// is in the results.
    pub refused: Vec<String>,
}

impl Round {
    /// What is missing in the results, in a sentence: lost workers first, then snapshots that did
    /// not arrive, then reports that were refused. `None` where nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let lost = self.lost.iter().map(ToString::to_string);
        let gaps = self.workers.iter().filter(|worker| !worker.gaps.is_empty()).map(|worker| {
            let gaps: Vec<String> = worker.gaps.iter().map(numbers).collect();
            format!("worker {}: snapshots did not arrive: {}", worker.share.index, gaps.join(", "))
        });
        let refused = self.refused.iter().map(|reason| format!("a report was refused: {reason}"));
        let all: Vec<String> = lost.chain(gaps).chain(refused).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// "4" or "4 to 7".
fn numbers(gap: &Range<u32>) -> String {
    match gap.end.saturating_sub(1) {
        last if last <= gap.start => gap.start.to_string(),
        last => format!("{} to {last}", gap.start),
    }
}

/// A worker that went before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWorker {
    /// Its number.
    pub worker: u32,
    /// Seconds from the end of the warm-up; `None` when it was lost between rounds.
    pub second: Option<u32>,
    /// What is known about why.
    pub why: String,
}

impl fmt::Display for LostWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} was lost", self.worker)?;
        if let Some(second) = self.second {
            write!(f, " in second {second}")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// A round that has started.
pub(super) struct RoundUnderWay<'a, F> {
    cluster: &'a mut Cluster,
    collector: Collector,
    plan: &'a Plan,
    /// When the measuring begins.
    measured: Instant,
    /// When each worker was last heard of.
    heard: Vec<Instant>,
    /// When the round must be over.
    deadline: Option<Instant>,
    stopping: Option<JoinSet<(u32, Result<(), ClusterError>)>>,
    lost: Vec<LostWorker>,
    refused: Vec<String>,
    on_snapshot: F,
}

impl<'a, F: FnMut(u32, &Snapshot)> RoundUnderWay<'a, F> {
    /// Starts all workers at the same time.
    pub(super) async fn start(cluster: &'a mut Cluster, plan: &'a Plan, on_snapshot: F) -> Self {
        let epoch = cluster.epoch;
        let start = |_| Command::Start { epoch, after: LEAD };
        let measured = Instant::now() + LEAD + plan.warmup;
        let starting = cluster.send_all("the start", start, COMMAND_LIMIT);
        let workers = cluster.size();
        let mut round = Self {
            collector: Collector::new(epoch, workers),
            plan,
            measured,
            heard: vec![measured; workers as usize],
            deadline: plan.length().map(|length| measured - plan.warmup + length + END_LIMIT),
            stopping: None,
            lost: Vec::new(),
            refused: Vec::new(),
            on_snapshot,
            cluster,
        };
        for (worker, started) in starting.join_all().await {
            if let Err(error) = started {
                round.lose(worker, error.to_string());
            }
        }
        round
    }

    /// Collects what workers report until all of them have finished or are lost.
    pub(super) async fn collect(mut self, stop: &CancellationToken) -> Round {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.awaited().next().is_some() {
            tokio::select! {
                event = self.cluster.events.recv() => match event {
                    Some(event) => self.take(event).await,
                    // The session, which this cluster owns, holds the other end.
                    None => break,
                },
                () = stop.cancelled(), if self.stopping.is_none() => self.stop(),
                _ = tick.tick() => self.check_limits(),
            }
        }
        self.into_round()
    }

    /// The workers whose round is not over.
    fn awaited(&self) -> impl Iterator<Item = u32> {
        let present = self.cluster.present().into_iter();
        present.filter(|worker| !self.collector.is_complete(*worker) && !self.is_lost(*worker))
    }

    fn is_lost(&self, worker: u32) -> bool {
        self.lost.iter().any(|lost| lost.worker == worker)
    }

    async fn take(&mut self, event: Event) {
        match event {
            Event::Report(report) => self.take_report(report),
            Event::Left(worker) if self.collector.is_complete(worker) => {
                let why = "it left after a round".to_owned();
                self.cluster.gone.insert(worker, why);
            }
            Event::Left(worker) if self.is_lost(worker) => {}
            Event::Left(worker) => {
                let why = self.autopsy(worker).await;
                self.lose(worker, why);
            }
            Event::Foreign(reason) => self.refuse(reason),
            Event::Refused { worker, reason } => self.refuse(format!("worker {worker}: {reason}")),
            Event::Joined(_) => {}
        }
    }

    fn take_report(&mut self, report: Report) {
        let worker = report.worker;
        match self.collector.take(report) {
            Taken::New(snapshot) => (self.on_snapshot)(worker, &snapshot),
            Taken::Failed(reason) => return self.lose(worker, reason),
            Taken::Refused(reason) => return self.refuse(reason),
            Taken::Finished | Taken::Again => {}
            Taken::OtherEpoch => return,
        }
        if let Some(heard) = self.heard.get_mut(worker as usize) {
            *heard = Instant::now().max(*heard);
        }
    }

    fn refuse(&mut self, reason: String) {
        if self.refused.len() < REFUSED {
            self.refused.push(reason);
        }
    }

    /// Tells all workers to end the round now.
    fn stop(&mut self) {
        let epoch = self.cluster.epoch;
        let stop = |_| Command::Stop { epoch };
        // Whoever doesn't obey misses the deadline.
        self.stopping = Some(self.cluster.send_all("the stop", stop, COMMAND_LIMIT));
        self.deadline = Some(Instant::now() + STOP_LIMIT);
    }

    /// Gives a worker up, and ends the round on the others. A worker that is still there is
    /// killed: it must put no load on the target any more, also if it was only paused.
    fn lose(&mut self, worker: u32, why: String) {
        if worker >= self.cluster.size() || self.is_lost(worker) {
            return;
        }
        self.cluster.processes[worker as usize].kill();
        self.cluster.gone.insert(worker, why.clone());
        let since = Instant::now().saturating_duration_since(self.measured);
        self.lost.push(LostWorker {
            worker,
            second: Some(u32::try_from(since.as_secs()).unwrap_or(u32::MAX)),
            why,
        });
        if self.stopping.is_none() {
            self.stop();
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
        "it no longer answers, though its process is there".to_owned()
    }

    /// Nothing hangs for ever: gives up those who are silent or late.
    fn check_limits(&mut self) {
        let now = Instant::now();
        let late = self.deadline.is_some_and(|deadline| now > deadline);
        if late && self.stopping.is_none() {
            // It should have ended by itself; it may yet when it is told to.
            return self.stop();
        }
        let awaited: Vec<u32> = self.awaited().collect();
        for worker in awaited {
            let silent = now.saturating_duration_since(self.heard[worker as usize]);
            if late {
                self.lose(worker, "it did not end when it was told to".to_owned());
            } else if silent > SILENCE_LIMIT {
                let silent = humantime::format_duration(SILENCE_LIMIT);
                self.lose(worker, format!("it said nothing for {silent}"));
            }
        }
    }

    fn into_round(self) -> Round {
        let load = &self.plan.scenario.load;
        Round {
            workers: self.collector.into_rounds(|seconds| held(load, seconds)),
            lost: self.lost,
            refused: self.refused,
        }
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
    use crate::engine::Share;
    use crate::measure::{Series, Strain};

    fn worker(index: u32, gaps: &[Range<u32>]) -> WorkerRound {
        WorkerRound {
            share: Share { index, of: 2 },
            series: Series::default(),
            snapshots: 3,
            held: Duration::from_secs(3),
            gaps: gaps.to_vec(),
            ran_out: Vec::new(),
            strain: Strain::default(),
        }
    }

    #[test]
    fn what_is_missing_is_told_with_the_worst_first() {
        let whole = Round {
            workers: vec![worker(0, &[]), worker(1, &[])],
            lost: Vec::new(),
            refused: Vec::new(),
        };
        assert_eq!(whole.missing(), None);
        let all = Round {
            workers: vec![worker(0, &[]), worker(1, &[1..2, 4..8])],
            lost: vec![LostWorker { worker: 0, second: Some(2), why: "it ended".to_owned() }],
            refused: vec!["there is no worker 7".to_owned()],
        };
        assert_eq!(
            all.missing().unwrap(),
            "worker 0 was lost in second 2: it ended; \
             worker 1: snapshots did not arrive: 1, 4 to 7; \
             a report was refused: there is no worker 7"
        );
    }
}
