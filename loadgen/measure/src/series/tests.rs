//! Tests that a series keeps everything, in any order of arrival.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::outcome::ErrorKind;
use crate::seconds::SecondRecord;
use crate::streams::StreamCounts;

const PHASES: [Phase; 5] = [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail, Phase::Stop];

fn counts() -> impl Strategy<Value = Counts> {
    let kind = prop::sample::select(ErrorKind::ALL.to_vec());
    (
        prop::collection::vec(1u64..1_000_000, 0..4),
        prop::collection::btree_map(kind.clone(), 1u64..9, 0..3),
        prop::collection::btree_map(kind, "[a-c]{1,2}", 0..3),
        (0u64..9, 0u64..99),
        prop::collection::vec(0u64..99, 0..3),
        prop::option::of((1u64..99_000, 1u64..9)),
    )
        .prop_map(|(answered, errors, examples, (cancelled, bytes), counters, stream)| {
            let mut counts =
                Counts { errors, examples, cancelled, bytes, counters, ..Counts::default() };
            for us in answered {
                counts.answered.record(Duration::from_micros(us));
                if stream.is_some() {
                    counts.first_byte.record(Duration::from_micros(us / 2));
                }
            }
            if let Some((us, events)) = stream {
                let mut stream = StreamCounts { events, ..StreamCounts::default() };
                stream.first_event.record(Duration::from_micros(us));
                stream.gaps.record_n(Duration::from_micros(2 * us), events);
                counts.stream = Some(Box::new(stream));
            }
            counts
        })
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let phase = prop::sample::select(PHASES.to_vec());
    let of = |most| prop::collection::vec(counts(), 0..most);
    let interval =
        (phase, 0u32..4, 0u32..3, of(3), of(2)).prop_map(|(phase, second, stage, steps, flows)| {
            Interval { phase, second, stage, steps, flows }
        });
    (0u32..99, prop::collection::vec(interval, 0..3))
        .prop_map(|(number, intervals)| Snapshot::new(number, intervals))
}

fn merged<'a>(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Series {
    let mut series = Series::default();
    snapshots.into_iter().for_each(|s| series.add(s.clone()));
    series
}

/// Returns 10,000 log-logistic latencies: half within 5 ms, and one in a thousand beyond 40 ms.
fn busy_second() -> Counts {
    let mut counts = Counts::default();
    for i in 0..10_000 {
        let q = (f64::from(i) + 0.5) / 10_000.0;
        counts.answered.record(Duration::from_secs_f64(0.005 * (q / (1.0 - q)).powf(0.3)));
    }
    counts
}

fn of_second(second: u32, steps: Vec<Counts>) -> Snapshot {
    let interval = Interval { phase: Phase::Hold, second, steps, ..Interval::default() };
    Snapshot::new(second, vec![interval])
}

fn bytes(packed: &Packed) -> usize {
    match packed {
        Packed::Bytes(bytes) => bytes.len(),
        Packed::Steps(_) => panic!("it was not packed"),
    }
}

#[test]
fn an_hour_takes_little_memory() {
    let mut growing = GrowingSeries::default();
    let steps = vec![busy_second()];
    (0..3_600).for_each(|second| growing.add(&of_second(second, steps.clone())));
    let series = Series::from(growing);
    let packed: usize = series.open.values().chain(series.closed.values()).map(bytes).sum();
    assert!(packed < 512 << 10, "{packed} bytes");
    assert_eq!(series.phase(Phase::Hold)[0].answered.len(), 36_000_000);
    let expected = Told::of(0, &steps);
    let mut told = 0;
    for (number, second) in (0..).zip(series.seconds()) {
        assert_eq!(second.all, SecondRecord { second: number, ..expected.all.clone() });
        told += 1;
    }
    assert_eq!(told, 3_600);
}

#[test]
fn late_results_of_a_closed_second_count_without_new_percentiles() {
    let of = |ms: u64, n: usize| {
        let mut counts = Counts::default();
        (0..n).for_each(|_| counts.answered.record(Duration::from_millis(ms)));
        vec![counts]
    };
    let mut growing = GrowingSeries::default();
    growing.add(&of_second(0, of(1, 100)));
    growing.add(&of_second(9, of(1, 1)));
    growing.add(&of_second(500, of(1, 100)));
    growing.add(&of_second(0, of(2, 900)));
    growing.add(&of_second(9, of(2, 900)));
    growing.add(&of_second(501, of(1, 100)));
    let series = Series::from(growing);
    assert!(series.open.keys().all(|at| at.second >= 500), "{:?}", series.open.keys());
    let told: Vec<_> =
        series.seconds().map(|it| (it.all.second, it.all.answered, it.all.p50_us)).collect();
    let late = Some(2_000);
    assert_eq!(
        told[..2],
        [(0, 1_000, Some(1_000)), (9, 901, late)],
        "too few had come for the second"
    );
    let steps: Vec<u64> = series.seconds().map(|it| it.steps[0].answered).collect();
    assert_eq!(steps, [1_000, 901, 100, 100]);
    let all = &series.phase(Phase::Hold)[0].answered;
    assert_eq!((all.len(), all.quantile(0.5)), (2_101, Some(2_000)));
}

#[test]
fn counts_beyond_the_encoding_are_kept() {
    let mut most = Counts::default();
    most.answered.record(Duration::from_millis(1));
    // Doubles each time, up to 2^62 in one bucket: the highest power of two that can be encoded.
    (0..62).for_each(|_| most.merge(&most.clone()));
    let steps = [most];
    let mut series = Series::default();
    let at = Place { phase: Phase::Hold, second: 0, stage: 0 };
    (0..2).for_each(|_| series.add_steps(at, &steps));
    assert!(matches!(series.open[&at], Packed::Steps(_)));
    assert_eq!(series.phase(Phase::Hold)[0].answered.len(), 1 << 63);
    series.close(1);
    series.add_steps(at, &steps);
    series.close(1);
    assert_eq!(series.phase(Phase::Hold)[0].answered.len(), 3 << 62);
}

fn counted(series: &Series) -> Vec<Vec<Counts>> {
    let stages = (0..3).map(|stage| Series::stage_of([series], stage));
    PHASES.map(|phase| series.phase(phase)).into_iter().chain(stages).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_order_of_merging_does_not_matter(a in snapshot(), b in snapshot(), c in snapshot()) {
        prop_assert_eq!(merged([&a, &b, &c]), merged([&c, &a, &b]));
    }

    #[test]
    fn rounds_together_contain_all_results(a in snapshot(), b in snapshot()) {
        let (both, rounds) = (merged([&a, &b]), [merged([&a]), merged([&b])]);
        for phase in PHASES {
            prop_assert_eq!(Series::phase_of(&rounds, phase), both.phase(phase));
        }
        for stage in 0..3 {
            prop_assert_eq!(Series::stage_of(&rounds, stage), Series::stage_of([&both], stage));
        }
    }

    #[test]
    fn packing_later_gives_the_same_series(
        snapshots in prop::collection::vec((snapshot(), any::<bool>()), 0..5),
    ) {
        let mut growing = GrowingSeries::default();
        for (snapshot, is_looked_at) in &snapshots {
            growing.add(snapshot);
            if *is_looked_at {
                growing.packed();
            }
        }
        let expected = merged(snapshots.iter().map(|(snapshot, _)| snapshot));
        let seconds: Vec<u32> = expected.seconds().map(|second| second.all.second).collect();
        prop_assert_eq!(growing.newest(), seconds.last().copied());
        for second in seconds {
            prop_assert_eq!(growing.second(second), expected.second(second));
        }
        prop_assert_eq!(Series::from(growing), expected);
    }

    #[test]
    fn packing_loses_nothing(a in snapshot(), b in snapshot()) {
        let mut plain: BTreeMap<Place, Vec<Counts>> = BTreeMap::new();
        for interval in a.intervals.iter().chain(&b.intervals) {
            merge_steps(plain.entry(interval.place()).or_default(), &interval.steps);
        }
        let series = merged([&a, &b]);
        let kept = series.open.iter().map(|(at, packed)| (*at, packed.unpack()));
        prop_assert_eq!(kept.collect::<BTreeMap<_, _>>(), plain);
    }

    #[test]
    fn closing_loses_only_the_percentiles_of_late_results(
        snapshots in prop::collection::vec((snapshot(), 0u32..5), 0..6),
    ) {
        let expected = merged(snapshots.iter().map(|(snapshot, _)| snapshot));
        let mut series = Series::default();
        let (mut closed, mut late) = (0, BTreeSet::new());
        for (snapshot, before) in &snapshots {
            let seconds = snapshot.intervals.iter().map(|interval| interval.second);
            late.extend(seconds.filter(|second| *second < closed));
            series.add(snapshot);
            series.close(*before);
            closed = closed.max(*before);
            prop_assert!(series.oldest().is_none_or(|oldest| oldest >= *before));
        }
        prop_assert_eq!(counted(&series), counted(&expected));
        let counts = |told: &Told| {
            let of = |it: &SecondRecord| (it.second, it.answered, it.errors);
            (of(&told.all), told.steps.iter().map(of).collect::<Vec<_>>())
        };
        let (kept, whole): (Vec<_>, Vec<_>) = (series.seconds().collect(), expected.seconds().collect());
        prop_assert_eq!(kept.len(), whole.len());
        for (kept, whole) in kept.iter().zip(&whole) {
            prop_assert_eq!(counts(kept), counts(whole));
            if !late.contains(&kept.all.second) {
                prop_assert_eq!(kept, whole);
            }
        }
    }

    #[test]
    fn a_series_survives_serialization(a in snapshot(), b in snapshot(), closed in 0u32..4) {
        let mut series = merged([&a, &b]);
        series.close(closed);
        let bytes = rmp_serde::to_vec_named(&series).unwrap();
        prop_assert_eq!(rmp_serde::from_slice::<Series>(&bytes).unwrap(), series);
    }

    #[test]
    fn a_snapshot_survives_serialization(a in snapshot()) {
        let bytes = rmp_serde::to_vec_named(&a).unwrap();
        prop_assert_eq!(rmp_serde::from_slice::<Snapshot>(&bytes).unwrap(), a);
    }
}
