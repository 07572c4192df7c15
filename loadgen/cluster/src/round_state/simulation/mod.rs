//! Simulates thousands of rounds without a network or a clock. Workers die, sleep and
//! wake, or fall silent or deaf; their reports arrive late, twice, out of order, or never.
//! Each history follows from a seed.

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::world::{Fate, Happening, World, ms};
use super::*;
use crate::messages::News;
use loadgen_engine::{Finished, WorkerResults};
use loadgen_measure::Series;

const HISTORIES: u64 = 4_000;

/// Log of a simulated round: the events that reached the manager, and the manager's actions. Does
/// not depend on the manager's code and state.
struct Told {
    world: World,
    /// Snapshots that reached the manager, by worker and snapshot number. Of several
    /// snapshots with the same number, the first.
    delivered: Vec<BTreeMap<u32, Snapshot>>,
    /// Number of snapshots that each worker announced; `None` if the announcement did not arrive.
    announced: Vec<Option<u32>>,
    /// Time, in ms, at which the manager gave each worker up as lost;
    /// `None` if the worker was not lost.
    given_up: Vec<Option<u64>>,
    /// Times, in ms, at which the manager acted to keep each lost
    /// worker from putting load on the target.
    fenced: Vec<Vec<u64>>,
    /// Times, in ms, at which the manager commanded all workers to stop.
    stops: Vec<u64>,
    /// Workers whose load the others were told to carry.
    taken_over: Vec<u32>,
    /// Worker number and snapshot number of each snapshot that the manager showed.
    shown: BTreeSet<(u32, u32)>,
    ended: u64,
}

/// Simulates one round, which the seed determines. Returns the log of the
/// round, and the manager's final state.
fn tell(seed: u64) -> (Told, RoundState) {
    let world = World::new(seed);
    let workers = world.fates.len();
    let schedule = Schedule {
        measured: ms(world.measured),
        end: world.end.map(ms),
        drain: ms(3_000),
        last_stage: 0,
    };
    let mut state = RoundState::new(
        world.epoch,
        workers as u32,
        &BTreeSet::new(),
        Vec::new(),
        schedule,
        world.on_loss,
    );
    let mut told = Told {
        world,
        delivered: vec![BTreeMap::new(); workers],
        announced: vec![None; workers],
        given_up: vec![None; workers],
        fenced: vec![Vec::new(); workers],
        stops: Vec::new(),
        taken_over: Vec::new(),
        shown: BTreeSet::new(),
        ended: 0,
    };
    while !state.is_over() {
        let (now, happening) = told.world.advance();
        assert!(now < 60_000, "seed {seed}: it hangs: {:?}", told.world.fates);
        let input = match happening {
            Happening::Arrives(report) => {
                told.note(&report);
                Input::Report(report)
            }
            Happening::Left(worker) => Input::Left(worker, "its link is gone".to_owned()),
            Happening::Joined(worker) => Input::Joined(worker),
            Happening::Noise => Input::Noise("cannot decode a message of 9 bytes".to_owned()),
            Happening::UserStops => Input::Stop,
            Happening::Tick => Input::Tick,
        };
        for action in state.take(ms(now), input) {
            told.act(now, action);
        }
        told.ended = now;
    }
    (told, state)
}

impl Told {
    fn note(&mut self, report: &Report) {
        let worker = report.worker as usize;
        let of_this = report.epoch == self.world.epoch && worker < self.delivered.len();
        if !of_this || self.given_up[worker].is_some() {
            return;
        }
        match &report.news {
            News::Snapshot(snapshot, _) => {
                self.delivered[worker].entry(snapshot.number).or_insert_with(|| snapshot.clone());
            }
            News::Finished(finished, _) => self.announced[worker] = Some(finished.snapshots),
            News::Failed(_) => {}
        }
    }

    fn act(&mut self, now: u64, action: Action) {
        match action {
            Action::Show(worker, snapshot) => {
                assert!(self.shown.insert((worker, snapshot.number)), "it was shown twice");
            }
            Action::StopAll => {
                self.stops.push(now);
                let there = |worker: &u32| self.given_up[*worker as usize].is_none();
                for worker in (0..self.given_up.len() as u32).filter(there) {
                    self.world.tell_to_stop(worker, now);
                }
            }
            Action::Lose(lost) => {
                let before = self.given_up[lost.worker as usize].replace(now);
                assert_eq!(before, None, "nobody is lost twice");
            }
            Action::Fence(worker) => self.fenced[worker as usize].push(now),
            Action::TakeOver(worker) => {
                assert_eq!(self.world.on_loss, OnLoss::Redistribute);
                assert!(self.stops.is_empty(), "nothing is left to take over");
                assert_eq!(self.given_up[worker as usize], Some(now), "at once, from who is lost");
                self.taken_over.push(worker);
            }
        }
    }
}

#[test]
fn every_history_ends_and_counts_each_report_once() {
    let mut seen = [0_u32; 6];
    for seed in 0..HISTORIES {
        let (told, state) = tell(seed);
        let results = state.into_results(|seconds| Duration::from_secs(seconds.into()));
        check_counts(seed, &told, &results);
        let Results { workers: rounds, lost, .. } = results;
        check_losses(seed, &told, &rounds, &lost);
        check_stops(seed, &told, &lost);
        check_fences(seed, &told);
        check_takeovers(seed, &told, &lost);
        let gaps = rounds.iter().any(|round| !round.gaps.is_empty());
        let went_on = !lost.is_empty() && told.stops.is_empty();
        let partial = lost.iter().any(|lost| rounds[lost.worker as usize].snapshots > 0);
        let woke = told.world.fates.iter().any(|f| matches!(f, Fate::Sleeps { .. }));
        let facts = [!lost.is_empty(), gaps, went_on, partial, woke, lost.len() == rounds.len()];
        (0..).zip(facts).for_each(|(index, fact): (usize, bool)| seen[index] += u32::from(fact));
    }
    let all = "lost, gaps, went on, kept, slept, all lost";
    assert!(seen.iter().all(|times| *times >= 50), "{all}: {seen:?} of {HISTORIES} are too few");
}

/// Checks that each snapshot counts once, as first delivered, and that
/// missing snapshots show as gaps.
fn check_counts(seed: u64, told: &Told, results: &Results) {
    let mut expected = Series::default();
    for (worker, round) in results.workers.iter().enumerate() {
        let delivered = &told.delivered[worker];
        delivered.values().for_each(|snapshot| expected.add(snapshot));
        assert_eq!(round.snapshots as usize, delivered.len(), "seed {seed}, worker {worker}");
        let end = told.announced[worker].or_else(|| delivered.keys().last().map(|last| last + 1));
        let missing: Vec<u32> =
            (0..end.unwrap_or(0)).filter(|number| !delivered.contains_key(number)).collect();
        let gaps: Vec<u32> = round.gaps.iter().cloned().flatten().collect();
        assert_eq!(gaps, missing, "seed {seed}, worker {worker}");
    }
    assert_eq!(results.series, expected, "seed {seed}");
    let all = (0..).zip(&told.delivered);
    let all = all.flat_map(|(worker, of)| of.keys().map(move |number| (worker, *number)));
    assert_eq!(told.shown, all.collect(), "seed {seed}: what is counted was shown");
}

/// Checks that each worker sent its final report or is lost, and that no
/// worker is lost without a reason.
fn check_losses(seed: u64, told: &Told, rounds: &[WorkerResults], lost: &[LostWorker]) {
    let is_lost = |worker: usize| lost.iter().any(|lost| lost.worker as usize == worker);
    for (worker, fate) in told.world.fates.iter().enumerate() {
        let why = || format!("seed {seed}, worker {worker}, {fate:?}");
        assert!(is_lost(worker) || told.announced[worker].is_some(), "{}", why());
        if *fate == Fate::Works && told.world.is_lossless() {
            assert!(!is_lost(worker) && rounds[worker].gaps.is_empty(), "{}", why());
            assert_eq!(told.announced[worker], Some(rounds[worker].snapshots), "{}", why());
        }
    }
    for lost in lost {
        let at = told.given_up[lost.worker as usize].map(|at| {
            let second = at.saturating_sub(told.world.measured) / 1_000;
            u32::try_from(second).unwrap()
        });
        assert_eq!(lost.second, at, "seed {seed}: {lost}");
    }
}

/// Checks that the loss of a worker stops all workers at once with `OnLoss::Fail`, and stops
/// no worker otherwise.
fn check_stops(seed: u64, told: &Told, lost: &[LostWorker]) {
    let World { on_loss, user_stops, end, .. } = &told.world;
    assert!(told.stops.len() <= 1, "seed {seed}: {:?}", told.stops);
    let first_loss = lost.first().and_then(|lost| told.given_up[lost.worker as usize]);
    let overdue = end.map(|end| end + END_LIMIT.as_millis() as u64);
    let Some(stop) = told.stops.first() else {
        assert!(*on_loss != OnLoss::Fail || lost.is_empty(), "seed {seed}");
        return;
    };
    assert!(told.ended <= stop + STOP_LIMIT.as_millis() as u64 + 200, "seed {seed}: it drags on");
    if *on_loss == OnLoss::Fail && first_loss.is_some_and(|loss| loss < *stop) {
        panic!("seed {seed}: the first loss at {first_loss:?} stopped all only at {stop}");
    }
    let by_loss = *on_loss == OnLoss::Fail && first_loss == Some(*stop);
    let by_user = *user_stops == Some(*stop);
    assert!(by_loss || by_user || overdue.is_some_and(|at| *stop > at), "seed {seed}: {stop}");
}

/// Checks that with `OnLoss::Redistribute` the others carry the load of each worker that is lost before the round
/// stops.
fn check_takeovers(seed: u64, told: &Told, lost: &[LostWorker]) {
    let is_lost = |worker: &u32| lost.iter().any(|lost| lost.worker == *worker);
    assert!(told.taken_over.iter().all(is_lost), "seed {seed}: {:?}", told.taken_over);
    let stop = told.stops.first().copied().unwrap_or(u64::MAX);
    let is_early = |worker: u32| told.given_up[worker as usize].is_some_and(|at| at < stop);
    let missing = lost.iter().find(|lost| {
        is_early(lost.worker) && told.taken_over.iter().all(|worker| *worker != lost.worker)
    });
    assert!(told.world.on_loss != OnLoss::Redistribute || missing.is_none(), "seed {seed}");
}

/// Checks that a lost worker is fenced (kept from putting load on the target) at once,
/// and again when the worker comes back.
fn check_fences(seed: u64, told: &Told) {
    for (worker, fate) in told.world.fates.iter().enumerate() {
        let (given_up, fenced) = (told.given_up[worker], &told.fenced[worker]);
        assert_eq!(given_up.as_ref(), fenced.first(), "seed {seed}, worker {worker}");
        let Fate::Sleeps { until, .. } = *fate else { continue };
        if given_up.is_some_and(|at| at < until) && until + 1_000 < told.ended {
            let soon = until..until + 1_000;
            assert!(
                fenced.iter().any(|at| soon.contains(at)),
                "seed {seed}, worker {worker} woke at {until} and was left alone"
            );
        }
    }
}

/// Checks that no reports are expected from a worker that was lost before the round, and that the
/// manager fences the worker (keeps it from putting load on the target) when the worker comes back.
#[test]
fn a_worker_lost_before_the_round_takes_no_part() {
    let before =
        LostWorker { worker: 1, second: None, why: "it was lost".to_owned(), taken_over: None };
    let schedule =
        Schedule { measured: ms(0), end: Some(ms(1_000)), drain: ms(3_000), last_stage: 0 };
    let mut state =
        RoundState::new(2, 2, &BTreeSet::new(), vec![before.clone()], schedule, OnLoss::Continue);
    assert!(state.awaits(0) && !state.awaits(1));
    assert_eq!(state.take(ms(1), Input::Joined(1)), [Action::Fence(1)]);
    let news = News::Finished(
        Finished { snapshots: 0, held: ms(0), ..Finished::default() },
        String::new(),
    );
    let report = |worker, epoch| Input::Report(Report { epoch, worker, news: news.clone() });
    assert_eq!(state.take(ms(2), report(1, 2)), [Action::Fence(1)]);
    assert_eq!(state.take(ms(3), report(0, 1)), [], "of the round before");
    assert!(!state.is_over());
    assert_eq!(state.take(ms(4), report(0, 2)), []);
    assert!(state.is_over());
    let left = state.take(ms(5), Input::Left(0, "it left".to_owned()));
    let missed =
        LostWorker { worker: 0, second: None, why: "it left".to_owned(), taken_over: None };
    assert_eq!(left, [Action::Lose(missed), Action::Fence(0)], "for the next round");
    assert_eq!(state.into_results(|_| ms(0)).lost, [before]);
}
