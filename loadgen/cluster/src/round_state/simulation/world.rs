//! Simulates workers and a network that follow from a seed.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::messages::{News, Report};
use crate::round_state::OnLoss;
use loadgen_engine::Finished;
use loadgen_measure::{Counts, Interval, Phase, Snapshot, StrainSample};

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Behavior of a simulated worker; times are in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    Works,
    Dies {
        at: u64,
    },
    /// The worker is paused from `at` to `until`, and then continues as if nothing had happened.
    /// The worker's connection is lost if the pause is longer than the lease.
    Sleeps {
        at: u64,
        until: u64,
    },
    /// From `at` on, the worker sends nothing more, though its connection exists.
    FallsSilent {
        at: u64,
    },
    /// The worker receives no command, and does not end.
    IsDeaf,
    Fails {
        at: u64,
    },
}

#[derive(Debug)]
pub enum Happening {
    Arrives(Report),
    Left(u32),
    Joined(u32),
    Noise,
    UserStops,
    Tick,
}

/// Time without a message, in ms, after which a connection counts as lost.
const LEASE: u64 = 3_000;

pub struct World {
    random: ChaCha8Rng,
    queue: BTreeMap<(u64, u64), Happening>,
    /// Number of events so far, which orders events at the same time.
    count: u64,
    pub epoch: u32,
    pub on_loss: OnLoss,
    pub measured: u64,
    /// Planned end of the load, in ms; `None` if the load ends by another condition than time.
    pub end: Option<u64>,
    pub user_stops: Option<u64>,
    pub fates: Vec<Fate>,
    /// Longest time from the send of a message to its arrival, in ms.
    delay: u64,
    /// Share of messages that arrive twice, from 0 to 1; `never` is the share that never arrives.
    twice: f64,
    never: f64,
    /// Remaining reports of each worker, by the time in ms at which the worker sends them.
    script: Vec<BTreeMap<u64, News>>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let workers = random.random_range(1..=5);
        let measured = random.random_range(0..3) * 1_000;
        let length = measured + random.random_range(1..=9) * 1_000;
        let is_timed = random.random_bool(0.7);
        // Without a planned end a deaf worker would continue forever,
        // which is no fault of the round.
        let fates = (0..workers).map(|_| fate(&mut random, length, is_timed)).collect();
        let stops = random.random_bool(0.15);
        let user_stops = stops.then(|| random.random_range(0..length));
        let mut world = Self {
            queue: BTreeMap::new(),
            count: 0,
            epoch: 7,
            on_loss: [OnLoss::Fail, OnLoss::Continue, OnLoss::Redistribute]
                [random.random_range(0..3)],
            measured,
            end: is_timed.then_some(length),
            user_stops,
            fates,
            delay: [5, 300, 2_500][random.random_range(0..3)],
            twice: [0.0, 0.3][random.random_range(0..2)],
            never: [0.0, 0.0, 0.05][random.random_range(0..3)],
            script: Vec::new(),
            random,
        };
        for worker in 0..workers {
            let end = match is_timed {
                true => length,
                false => world.random.random_range(500..length + 3_000),
            };
            let lines = world.lines(worker, end);
            world.script.push(lines);
            world.announce_fate(worker);
        }
        world.strangers();
        if let Some(at) = user_stops {
            world.push(at, Happening::UserStops);
        }
        world.push(0, Happening::Tick);
        world
    }

    /// Returns whether every message arrives, and arrives before the manager
    /// gives the worker up for its silence.
    pub fn is_lossless(&self) -> bool {
        self.never == 0.0
    }

    /// Returns the next event and its time in ms.
    pub fn advance(&mut self) -> (u64, Happening) {
        loop {
            let next = self.queue.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
            if let Some(worker) = self.speaks_before(next) {
                self.speak(worker);
                continue;
            }
            let ((at, _), happening) = self.queue.pop_first().unwrap();
            if matches!(happening, Happening::Tick) {
                self.push(at + 100, Happening::Tick);
            }
            return (at, happening);
        }
    }

    /// Commands a worker to end. The command has no effect if the worker is gone, asleep or deaf.
    pub fn tell_to_stop(&mut self, worker: u32, now: u64) {
        let heard = now + self.random.random_range(0..50);
        let index = worker as usize;
        let deaf = match self.fates[index] {
            Fate::IsDeaf => true,
            Fate::Dies { at } | Fate::Fails { at } | Fate::FallsSilent { at } => heard >= at,
            Fate::Sleeps { at, until } => (at..until).contains(&heard),
            Fate::Works => false,
        };
        let has_ended = self.script[index].is_empty();
        if deaf || has_ended {
            return;
        }
        let unsaid = self.script[index].split_off(&heard);
        let number = |news: &News| match news {
            News::Snapshot(snapshot, _) => Some(snapshot.number),
            News::Finished(finished, _) => Some(finished.snapshots),
            News::Failed(_) => None,
        };
        let Some(number) = unsaid.values().filter_map(number).min() else { return };
        // Users wait for their answers: here for less than two seconds,
        // in real rounds for up to three.
        let last = heard + self.random.random_range(0..2_000);
        let content = self.random.random();
        self.script[index].insert(last, snapshot(number, content));
        self.script[index].insert(last + 1, finished(number + 1));
    }

    /// Returns the reports of a worker that runs until `end` (in ms) without a stop, by
    /// the time of sending in ms: a snapshot each second, a last snapshot, and a final
    /// report with the number of snapshots.
    fn lines(&mut self, worker: u32, end: u64) -> BTreeMap<u64, News> {
        let mut lines = BTreeMap::new();
        let end = if self.fates[worker as usize] == Fate::IsDeaf { 70_000 } else { end };
        let offset = self.random.random_range(100..110);
        let mut number = 0;
        for at in (1_000..end).step_by(1_000) {
            lines.insert(at + offset, snapshot(number, self.random.random()));
            number += 1;
        }
        let last = end + self.random.random_range(200..1_500);
        lines.insert(last, snapshot(number, self.random.random()));
        lines.insert(last + 1, finished(number + 1));
        lines
    }

    /// Schedules the events that result from the worker's fate, such as
    /// the loss of the worker's connection.
    fn announce_fate(&mut self, worker: u32) {
        let soon = self.random.random_range(0..50);
        match self.fates[worker as usize] {
            // The worker's last reports are still on their way.
            Fate::Dies { at } => self.push(at + soon, Happening::Left(worker)),
            Fate::Sleeps { at, until } if until - at > LEASE => {
                self.push(at + LEASE, Happening::Left(worker));
                self.push(until + soon, Happening::Joined(worker));
            }
            Fate::Fails { at } => {
                self.script[worker as usize].split_off(&at);
                self.script[worker as usize].insert(at, News::Failed("it failed".to_owned()));
            }
            _ => {}
        }
    }

    /// Schedules messages that do not concern this round: reports of another round or of an
    /// unknown worker, and invalid bytes.
    fn strangers(&mut self) {
        for _ in 0..self.random.random_range(0..4) {
            let at = self.random.random_range(0..5_000);
            let content = self.random.random();
            let (epoch, worker) = match self.random.random_bool(0.5) {
                true => (self.epoch - 1, 0),
                false => (self.epoch, 99),
            };
            let report = Report { epoch, worker, news: snapshot(0, content) };
            self.push(at, Happening::Arrives(report));
            self.push(at, Happening::Noise);
        }
    }

    fn push(&mut self, at: u64, happening: Happening) {
        self.count += 1;
        self.queue.insert((at, self.count), happening);
    }

    /// Returns the worker that sends the next report, if the worker
    /// sends at or before `limit` (in ms).
    fn speaks_before(&self, limit: u64) -> Option<usize> {
        let next = self
            .script
            .iter()
            .enumerate()
            .filter_map(|(worker, lines)| lines.first_key_value().map(|(at, _)| (*at, worker)));
        next.min().filter(|(at, _)| *at <= limit).map(|(_, worker)| worker)
    }

    fn speak(&mut self, worker: usize) {
        let (mut at, news) = self.script[worker].pop_first().unwrap();
        match self.fates[worker] {
            Fate::Dies { at: end } | Fate::FallsSilent { at: end } if at >= end => return,
            Fate::Sleeps { at: from, until } if (from..until).contains(&at) => at = until,
            _ => {}
        }
        let report = Report { epoch: self.epoch, worker: worker as u32, news };
        if self.random.random_bool(self.never) {
            return;
        }
        let late = self.random.random_range(0..=self.delay);
        if self.random.random_bool(self.twice) {
            let again = late + self.random.random_range(0..=self.delay);
            let forged = forged(&report, self.random.random());
            self.push(at + again, Happening::Arrives(forged));
        }
        self.push(at + late, Happening::Arrives(report));
    }
}

fn fate(random: &mut ChaCha8Rng, length: u64, is_timed: bool) -> Fate {
    let at = random.random_range(0..length + 1_000);
    match random.random_range(0..20) {
        0..3 => Fate::Dies { at },
        3..6 => Fate::Sleeps { at, until: at + random.random_range(100..8_000) },
        6 => Fate::FallsSilent { at },
        7 if is_timed => Fate::IsDeaf,
        8 => Fate::Fails { at },
        _ => Fate::Works,
    }
}

/// Returns a snapshot in which `content` is one of the counts, so that tests can
/// distinguish snapshots with the same number.
fn snapshot(number: u32, content: u32) -> News {
    let counts = Counts { cancelled: u64::from(content), ..Counts::default() };
    let (phase, steps) = (Phase::Hold, vec![counts]);
    let interval = Interval { phase, second: number, steps, ..Interval::default() };
    News::Snapshot(Snapshot::new(number, vec![interval]), StrainSample::default())
}

fn finished(snapshots: u32) -> News {
    News::Finished(Finished { snapshots, held: ms(1_000), ..Finished::default() }, String::new())
}

/// Returns a copy of the report, in which a snapshot gets other content: only the
/// first of the two snapshots must count.
fn forged(report: &Report, content: u32) -> Report {
    let news = match &report.news {
        News::Snapshot(first, _) => snapshot(first.number, content),
        other => other.clone(),
    };
    Report { news, ..report.clone() }
}
