//! Splits a worker's snapshots into reports that the manager accepts.

use std::mem;

use loadgen_measure::{Counts, Interval, Snapshot, Strain, StrainSample};

use super::messages::MOST_HISTOGRAMS;

/// Numbers the snapshots that a worker sends in a round: the parts of those that its recorder returned.
#[derive(Default)]
pub(super) struct Splitter {
    sent: u32,
}

impl Splitter {
    /// Returns the results of a snapshot as snapshots of at most [`MOST_HISTOGRAMS`] large histograms, almost always
    /// one. The first of them in which strain counts has the strain of the snapshot's time.
    pub(super) fn split(
        &mut self,
        snapshot: Snapshot,
        strain: StrainSample,
    ) -> impl Iterator<Item = (Snapshot, StrainSample)> {
        let Snapshot { intervals, mut traced, mut over_limit, .. } = snapshot;
        let parts = split(intervals, MOST_HISTOGRAMS);
        let first = self.sent;
        self.sent = first.saturating_add(u32::try_from(parts.len()).unwrap_or(u32::MAX));
        let counts = |part: &Vec<Interval>| part.iter().any(|it| Strain::counts_in(it.phase));
        let strained = parts.iter().position(counts).unwrap_or(0);
        parts.into_iter().enumerate().zip(first..).map(move |((part, intervals), number)| {
            let strain = if part == strained { strain } else { StrainSample::default() };
            // All in the first part.
            let traced = mem::take(&mut traced);
            let over_limit = mem::take(&mut over_limit);
            (Snapshot { number, intervals, traced, over_limit }, strain)
        })
    }

    /// Number of the snapshots so far.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }
}

/// Splits intervals into parts of at most `most` large histograms; more, if one step has more. The parts together
/// have what the intervals have.
fn split(intervals: Vec<Interval>, most: usize) -> Vec<Vec<Interval>> {
    let counts = |interval: &Interval| -> usize {
        interval.steps.iter().chain(&interval.flows).map(Counts::large_histograms).sum()
    };
    if intervals.iter().map(counts).sum::<usize>() <= most {
        return vec![intervals];
    }
    let mut parts = Parts { done: Vec::new(), last: Vec::new(), large: 0, most };
    for Interval { phase, second, stage, steps, flows } in intervals {
        let place = Interval { phase, second, stage, ..Interval::default() };
        parts.last.push(place.clone());
        for (index, counts) in steps.into_iter().enumerate() {
            put(&mut parts.interval_for(&counts, &place).steps, index, counts);
        }
        for (index, counts) in flows.into_iter().enumerate() {
            put(&mut parts.interval_for(&counts, &place).flows, index, counts);
        }
    }
    parts.done.push(parts.last);
    parts.done
}

struct Parts {
    done: Vec<Vec<Interval>>,
    /// Part that is being filled.
    last: Vec<Interval>,
    /// Number of its large histograms.
    large: usize,
    most: usize,
}

impl Parts {
    /// Returns the interval at `place` with room for these counts: that of the last part, or of a new one.
    fn interval_for(&mut self, counts: &Counts, place: &Interval) -> &mut Interval {
        let large = counts.large_histograms();
        if self.large > 0 && self.large + large > self.most {
            self.done.push(std::mem::take(&mut self.last));
            self.large = 0;
        }
        self.large += large;
        if self.last.is_empty() {
            self.last.push(place.clone());
        }
        let last = self.last.len() - 1;
        &mut self.last[last]
    }
}

/// Puts the counts of a step or flow at its index, after those that are in another part.
fn put(all: &mut Vec<Counts>, index: usize, counts: Counts) {
    all.resize(index, Counts::default());
    all.push(counts);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loadgen_measure::{Phase, Series, TraceContext, TracedEnd, TracedRequest};
    use proptest::prelude::*;

    use super::*;

    fn counts() -> impl Strategy<Value = Counts> {
        (any::<bool>(), any::<bool>(), 0u64..5).prop_map(|(answered, failed, cancelled)| {
            let mut counts = Counts { cancelled, ..Counts::default() };
            let latencies = || (1..200u64).map(Duration::from_millis);
            latencies().filter(|_| answered).for_each(|it| counts.answered.record(it));
            latencies().filter(|_| failed).for_each(|it| counts.failed.record(it));
            counts
        })
    }

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let some = || prop::collection::vec(counts(), 0..6);
        let interval = (0u32..3, some(), some()).prop_map(|(second, steps, flows)| Interval {
            phase: Phase::Hold,
            second,
            steps,
            flows,
            ..Interval::default()
        });
        prop::collection::vec(interval, 0..4)
    }

    fn merged(snapshots: &[Snapshot]) -> Series {
        let mut series = Series::default();
        snapshots.iter().for_each(|snapshot| series.add(snapshot));
        series
    }

    proptest! {
        #[test]
        fn parts_are_small_and_have_everything(intervals in intervals(), most in 2usize..5) {
            let whole = Snapshot::new(0, intervals.clone());
            let parts = split(intervals, most);
            let parts: Vec<_> =
                (0..).zip(parts).map(|(number, intervals)| Snapshot::new(number, intervals)).collect();
            for part in &parts {
                let all = part.intervals.iter().flat_map(|it| it.steps.iter().chain(&it.flows));
                prop_assert!(all.map(Counts::large_histograms).sum::<usize>() <= most);
            }
            prop_assert_eq!(merged(&parts).phase(Phase::Hold), merged(&[whole]).phase(Phase::Hold));
        }
    }

    fn traced() -> TracedRequest {
        TracedRequest {
            step: 0,
            phase: Phase::Hold,
            context: TraceContext { trace_id: [1; 16], span_id: [2; 8] },
            sent_unix_ns: 0,
            delay: Duration::ZERO,
            first_byte: None,
            took: Duration::ZERO,
            status: None,
            resent: false,
            end: TracedEnd::Answered,
        }
    }

    #[test]
    fn snapshots_are_numbered_over_all_parts() {
        let mut counts = Counts::default();
        (1..200).for_each(|ms| counts.answered.record(Duration::from_millis(ms)));
        let snapshot = |steps: usize| {
            let steps = vec![counts.clone(); steps];
            let interval = Interval { phase: Phase::Hold, steps, ..Interval::default() };
            Snapshot { traced: vec![traced()], over_limit: 5, ..Snapshot::new(7, vec![interval]) }
        };
        let mut splitter = Splitter::default();
        let strain = StrainSample { elapsed: Duration::from_secs(1), ..StrainSample::default() };
        let mut numbers = |steps| {
            let parts: Vec<_> = splitter.split(snapshot(steps), strain).collect();
            assert_eq!(parts.iter().filter(|(_, it)| *it == strain).count(), 1);
            let traces = parts.iter().map(|(part, _)| (part.traced.len(), part.over_limit));
            let (traced, over_limit): (Vec<_>, Vec<_>) = traces.unzip();
            assert_eq!((traced.iter().sum::<usize>(), over_limit.iter().sum::<u64>()), (1, 5));
            parts.into_iter().map(|(part, _)| part.number).collect::<Vec<_>>()
        };
        assert_eq!(
            [numbers(1), numbers(2 * MOST_HISTOGRAMS + 1), numbers(0)],
            [vec![0], vec![1, 2, 3], vec![4]]
        );
        assert_eq!(splitter.sent(), 5);
    }
}
