//! Assembles the results of a round from reports that may arrive twice, late, out of order, or
//! never. Pure: no clock, no network.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use super::messages::{News, Report};
use loadgen_engine::{Finished, WorkerResults};
use loadgen_measure::{GrowingSeries, Phase, Series, Snapshot, Strain, StrainSample};

/// Most samples of one worker in a round: at 10 million requests per second, a round would take 300 days. The sums
/// over all workers, at most 10,000, then stay in the range that histograms can be saved in, below 2^63.
const MOST_SAMPLES: u64 = 1 << 48;

/// Collects the workers' reports of one round.
pub(super) struct Collector {
    epoch: u32,
    /// Merged results of all workers. A separate series for each worker
    /// would take a hundred times the memory.
    series: GrowingSeries,
    workers: Vec<Collected>,
}

#[derive(Default)]
struct Collected {
    /// Numbers of the worker's snapshots that have arrived, counted from 0.
    numbers: BTreeSet<u32>,
    /// Number of the worker's requests that ended in the hold phase, which the results describe.
    requests: u64,
    /// Number of these requests that failed.
    errors: u64,
    /// Number of samples in all histograms of the worker.
    samples: u64,
    /// Number of seconds from the end of the warm-up to the end of the last results.
    seconds: u32,
    /// Final report of the worker; `None` until the report arrives.
    finished: Option<Finished>,
    /// Strain on the worker (CPU use and timer delays), summed over the snapshots that have seconds
    /// outside the warm-up and stop phases.
    strain: Strain,
}

/// Effect of a report on the collected results.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    /// The report is a snapshot that arrived for the first time, and was added to the results.
    New(Snapshot),
    /// The worker reports that it has finished.
    Finished,
    /// The worker reports that its round failed; the value is the reason.
    Failed(String),
    /// The report is a duplicate and was ignored: the first report counts.
    Again,
    /// The report belongs to another round, and was ignored.
    OtherEpoch,
    /// The report contradicts an earlier report, or is from no worker of the round. The
    /// value is a sentence about the error.
    Refused(String),
}

impl Collector {
    /// Creates a collector for the reports of `workers` workers in
    /// the round with the number `epoch`.
    #[must_use]
    pub(super) fn new(epoch: u32, workers: u32) -> Self {
        Self {
            epoch,
            series: GrowingSeries::default(),
            workers: (0..workers).map(|_| Collected::default()).collect(),
        }
    }

    /// Adds a report to the results, and returns the report's effect.
    pub(super) fn take(&mut self, report: Report) -> Taken {
        let Report { epoch, worker, news } = report;
        if epoch != self.epoch {
            return Taken::OtherEpoch;
        }
        let Some(collected) = self.workers.get_mut(worker as usize) else {
            return Taken::Refused(format!("there is no worker {worker}"));
        };
        match news {
            News::Snapshot(snapshot, sample) => {
                let taken = collected.take(worker, snapshot, &sample);
                if let Taken::New(snapshot) = &taken {
                    self.series.add(snapshot);
                }
                taken
            }
            News::Finished(finished, _) => collected.finish(worker, finished),
            News::Failed(reason) => Taken::Failed(reason),
        }
    }

    /// Returns whether all reports of `worker` have arrived.
    #[must_use]
    pub(super) fn is_complete(&self, worker: u32) -> bool {
        self.workers.get(worker as usize).is_some_and(Collected::is_complete)
    }

    /// Number of workers, including those that have reported nothing.
    #[must_use]
    pub(super) fn workers(&self) -> u32 {
        // `new` was given this number as a `u32`.
        self.workers.len() as u32
    }

    /// Returns whether `worker` has reported the end of its round; snapshots may still be missing.
    #[must_use]
    pub(super) fn has_finished(&self, worker: u32) -> bool {
        self.workers.get(worker as usize).is_some_and(|collected| collected.finished.is_some())
    }

    /// Returns the merged results of all workers so far.
    pub(super) fn series(&mut self) -> &mut GrowingSeries {
        &mut self.series
    }

    /// Returns the merged results of all workers, and each worker's separate results. For a worker
    /// that sent no final report, `held` computes the duration of the hold phase from the number of
    /// seconds after the warm-up that have results.
    #[must_use]
    pub(super) fn into_results(
        self,
        held: impl Fn(u32) -> Duration,
    ) -> (Series, Vec<WorkerResults>) {
        let workers = (0..).zip(self.workers).map(|(worker, c)| c.into_results(worker, &held));
        (self.series.into(), workers.collect())
    }
}

impl Collected {
    fn take(&mut self, worker: u32, snapshot: Snapshot, sample: &StrainSample) -> Taken {
        let number = snapshot.number;
        if let Some(total) = self.announced()
            && number >= total
        {
            return Taken::Refused(format!(
                "worker {worker} announced {total} snapshots and sent number {number}"
            ));
        }
        if self.numbers.contains(&number) {
            return Taken::Again;
        }
        let intervals = snapshot.intervals.iter();
        let counts = intervals.flat_map(|interval| interval.steps.iter().chain(&interval.flows));
        let samples = counts.fold(self.samples, |sum, counts| sum.saturating_add(counts.samples()));
        if samples > MOST_SAMPLES {
            return Taken::Refused(too_many(worker));
        }
        self.samples = samples;
        self.numbers.insert(number);
        let counted = snapshot.intervals.iter().filter(|it| Strain::counts_in(it.phase));
        let seconds = counted.map(|interval| interval.second.saturating_add(1)).max();
        self.seconds = self.seconds.max(seconds.unwrap_or(0));
        // Of the parts of a split snapshot, only one has the strain of its second.
        if seconds.is_some() && !sample.elapsed.is_zero() {
            self.strain.add(sample);
        }
        let held = snapshot.intervals.iter().filter(|interval| interval.phase == Phase::Hold);
        for counts in held.flat_map(|interval| &interval.steps) {
            self.requests = self.requests.saturating_add(counts.requests());
            self.errors = self.errors.saturating_add(counts.failures());
        }
        Taken::New(snapshot)
    }

    fn finish(&mut self, worker: u32, finished: Finished) -> Taken {
        if self.finished.is_some() {
            return Taken::Again;
        }
        if let Some(latest) = self.numbers.last()
            && *latest >= finished.snapshots
        {
            return Taken::Refused(format!(
                "worker {worker} sent snapshot {latest} and announced only {}",
                finished.snapshots
            ));
        }
        let samples = self.samples.saturating_add(finished.samples());
        if samples > MOST_SAMPLES {
            return Taken::Refused(too_many(worker));
        }
        self.finished = Some(finished);
        Taken::Finished
    }

    fn into_results(self, worker: u32, held: impl Fn(u32) -> Duration) -> WorkerResults {
        let gaps = self.gaps();
        // A set of `u32` has at most one entry for each `u32`.
        let snapshots = self.numbers.len() as u32;
        let Self { requests, errors, seconds, finished, strain, .. } = self;
        // Only the snapshots of a lost worker are known.
        let finished =
            finished.unwrap_or_else(|| Finished { held: held(seconds), ..Finished::default() });
        let of = WorkerResults { worker, requests, errors, snapshots, ..WorkerResults::default() };
        WorkerResults { gaps, finished, strain, ..of }
    }

    /// Returns the total number of snapshots that the worker announced in its final report; `None`
    /// if the final report has not arrived.
    fn announced(&self) -> Option<u32> {
        self.finished.as_ref().map(|finished| finished.snapshots)
    }

    /// Returns whether the final report and all snapshots have arrived. To compare counts is
    /// enough, because no snapshot's number is at or beyond the announced total.
    fn is_complete(&self) -> bool {
        self.announced().is_some_and(|total| self.numbers.len() == total as usize)
    }

    /// Returns the ranges of missing snapshot numbers. Iterates over the snapshots that arrived,
    /// not over the announced total, which may be made up.
    fn gaps(&self) -> Vec<Range<u32>> {
        let end = self.announced();
        let mut gaps = Vec::new();
        let mut next = 0;
        for number in self.numbers.iter().copied().chain(end) {
            if number > next {
                gaps.push(next..number);
            }
            next = number.saturating_add(1);
        }
        gaps
    }
}

fn too_many(worker: u32) -> String {
    format!("worker {worker} reported more samples than a run can have")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::{Counts, Interval};
    use proptest::prelude::*;

    const HELD: Duration = Duration::from_secs(3);

    #[test]
    fn more_samples_than_a_run_can_have_are_refused() {
        let report = |number, samples| {
            let mut counts = Counts::default();
            counts.answered.record_n(Duration::from_millis(1), samples);
            let interval =
                Interval { phase: Phase::Hold, steps: vec![counts], ..Interval::default() };
            let snapshot = Snapshot::new(number, vec![interval]);
            Report { epoch: 1, worker: 0, news: News::Snapshot(snapshot, StrainSample::default()) }
        };
        let mut collector = Collector::new(1, 1);
        assert!(matches!(collector.take(report(0, MOST_SAMPLES)), Taken::New(_)));
        let refused =
            Taken::Refused("worker 0 reported more samples than a run can have".to_owned());
        assert_eq!(collector.take(report(1, 1)), refused);
        assert_eq!(collector.take(report(1, 1 << 62)), refused);
        let mut finished = Finished { snapshots: 9, ..Finished::default() };
        finished.reading_lag.record_n(Duration::from_millis(1), 1);
        let news = News::Finished(finished, String::new());
        assert_eq!(collector.take(Report { epoch: 1, worker: 0, news }), refused);
        let (series, _) = collector.into_results(SECONDS);
        // What was taken can be saved.
        assert_eq!(series.phase(Phase::Hold)[0].answered.len(), MOST_SAMPLES);
        assert!(rmp_serde::to_vec(&series.phase(Phase::Hold)).is_ok());
    }

    const SECONDS: fn(u32) -> Duration = |seconds| Duration::from_secs(seconds.into());

    /// Returns a snapshot whose content is unique to this worker and number.
    fn snapshot(worker: u32, number: u32) -> Snapshot {
        let counts = Counts {
            cancelled: u64::from(worker) * 1_000 + u64::from(number) + 1,
            ..Counts::default()
        };
        let steps = vec![counts];
        let interval =
            Interval { phase: Phase::Hold, second: number, steps, ..Interval::default() };
        Snapshot::new(number, vec![interval])
    }

    fn sent(epoch: u32, worker: u32, number: u32) -> Report {
        let news = News::Snapshot(snapshot(worker, number), StrainSample::default());
        Report { epoch, worker, news }
    }

    fn finished(epoch: u32, worker: u32, snapshots: u32) -> Report {
        let news = News::Finished(
            Finished { snapshots, held: HELD, ..Finished::default() },
            String::new(),
        );
        Report { epoch, worker, news }
    }

    fn merged(snapshots: impl IntoIterator<Item = Snapshot>) -> Series {
        let mut series = Series::default();
        snapshots.into_iter().for_each(|snapshot| series.add(snapshot));
        series
    }

    #[test]
    fn the_first_report_with_a_number_is_kept() {
        let mut collector = Collector::new(1, 1);
        assert!(matches!(collector.take(sent(1, 0, 0)), Taken::New(_)));
        let forged = Report {
            news: News::Snapshot(Snapshot::new(0, Vec::new()), StrainSample::default()),
            ..sent(1, 0, 0)
        };
        assert_eq!(collector.take(forged), Taken::Again);
        assert_eq!(collector.into_results(SECONDS).0, merged([snapshot(0, 0)]));
    }

    #[test]
    fn contradictory_and_foreign_reports_are_refused_with_a_reason() {
        let mut collector = Collector::new(1, 1);
        collector.take(sent(1, 0, 4));
        let refused = |taken: Taken| match taken {
            Taken::Refused(reason) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            refused(collector.take(finished(1, 0, 4))),
            "worker 0 sent snapshot 4 and announced only 4"
        );
        assert_eq!(collector.take(finished(1, 0, 5)), Taken::Finished);
        assert_eq!(
            refused(collector.take(sent(1, 0, 5))),
            "worker 0 announced 5 snapshots and sent number 5"
        );
        assert_eq!(refused(collector.take(sent(1, 7, 0))), "there is no worker 7");
    }

    #[test]
    fn a_worker_without_an_end_report_held_until_its_last_result() {
        let mut collector = Collector::new(1, 2);
        (0..4).for_each(|number| drop(collector.take(sent(1, 0, number))));
        let (_, rounds) = collector.into_results(SECONDS);
        assert_eq!((rounds[0].finished.held, rounds[1].finished.held), (SECONDS(4), SECONDS(0)));
    }

    #[test]
    fn a_huge_announced_count_takes_no_memory() {
        let mut collector = Collector::new(1, 1);
        collector.take(sent(1, 0, 1));
        collector.take(finished(1, 0, u32::MAX));
        assert!(!collector.is_complete(0));
        assert_eq!(collector.into_results(SECONDS).1[0].gaps, [0..1, 2..u32::MAX]);
    }

    proptest! {
        #[test]
        fn duplicates_reordering_and_gaps_never_change_results_silently(
            totals in prop::collection::vec(1u32..6, 1..4),
            lost in prop::collection::btree_set((0u32..4, 0u32..6), 0..4),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
            other_epochs in prop::collection::vec((0u32..3, 0u32..4, 0u32..6), 0..10),
        ) {
            let workers = totals.len() as u32;
            let mut network: Vec<Report> = Vec::new();
            for (worker, total) in (0..).zip(&totals) {
                let arrives = |number: &u32| !lost.contains(&(worker, *number));
                network.extend((0..*total).filter(arrives).map(|n| sent(7, worker, n)));
                network.push(finished(7, worker, *total));
            }
            // Each entry of `order` delivers one of the reports, possibly
            // again; then all reports arrive.
            let mut delivered: Vec<Report> = order.iter().map(|i| i.get(&network).clone()).collect();
            delivered.extend(other_epochs.iter().map(|(e, w, n)| sent(*e, *w, *n)));
            delivered.extend(network.iter().rev().cloned());

            let mut collector = Collector::new(7, workers);
            let mut new = 0;
            for report in delivered {
                new += usize::from(matches!(collector.take(report), Taken::New(_)));
            }
            for (worker, total) in (0..).zip(&totals) {
                let whole = (0..*total).all(|n| !lost.contains(&(worker, n)));
                prop_assert_eq!(collector.is_complete(worker), whole);
            }
            let (series, rounds) = collector.into_results(SECONDS);
            prop_assert_eq!(new, rounds.iter().map(|r| r.snapshots as usize).sum::<usize>());
            let mut expected = Vec::new();
            for (round, (worker, total)) in rounds.into_iter().zip((0..).zip(&totals)) {
                prop_assert_eq!(round.finished.held, HELD);
                let missing: Vec<u32> = round.gaps.into_iter().flatten().collect();
                let (lost, came): (Vec<u32>, Vec<u32>) =
                    (0..*total).partition(|n| lost.contains(&(worker, *n)));
                prop_assert_eq!(missing, lost);
                prop_assert_eq!(round.snapshots as usize, came.len());
                expected.extend(came.into_iter().map(|n| snapshot(worker, n)));
            }
            prop_assert_eq!(series, merged(expected));
        }
    }
}
