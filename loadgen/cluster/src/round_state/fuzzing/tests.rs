//! Tests reports that decode but contain the most absurd values.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::encoding::encode;
use crate::messages::{News, Report};
use loadgen_engine::Finished;
use loadgen_engine::Results;
use loadgen_measure::{
    BodySizes, Counts, ErrorKind, Interval, Latencies, Snapshot, StrainSample, StreamCounts,
    TraceContext, TracedEnd, TracedRequest,
};

/// Generates any number, usually an extreme number.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), Just(u64::MAX / 2 + 1), 0_u64..9, any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0_u32..4, 1 => Just(u32::MAX), 1 => any::<u32>()]
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(Duration::ZERO), Just(Duration::MAX), (0_u64..9).prop_map(Duration::from_secs)]
}

fn counts() -> impl Strategy<Value = Counts> {
    let kind = prop::sample::select(ErrorKind::ALL.to_vec());
    let numbers = (number(), number(), number(), number());
    let errors = prop::collection::btree_map(kind.clone(), number(), 0..3);
    let counters = prop::collection::vec(number(), 0..3);
    // One latency, and how many times its count is doubled.
    let answered = prop::option::of((number(), 0_u32..63));
    let examples = prop::collection::btree_map(kind, ".{0,9}", 0..3);
    (numbers, errors, examples, counters, answered).prop_map(
        |((cancelled, unsent, unanswered, bytes), errors, examples, counters, answered)| {
            let bodies = Some(BodySizes { smallest: bytes, largest: cancelled });
            let mut counts = Counts { cancelled, unsent, unanswered, bytes, ..Counts::default() };
            if let Some((us, doublings)) = answered {
                counts.answered.record(Duration::from_micros(us));
                (0..doublings).for_each(|_| counts.answered.merge(&counts.answered.clone()));
                let gaps = counts.answered.clone();
                let stream = StreamCounts { gaps, events: cancelled, ..StreamCounts::default() };
                counts.stream = Some(Box::new(stream));
            }
            Counts { errors, examples, counters, bodies, ..counts }
        },
    )
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let phase = [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail, Phase::Stop];
    let phase = prop::sample::select(phase.to_vec());
    let of = || prop::collection::vec(counts(), 0..3);
    let interval = (phase, small(), of(), of()).prop_map(|(phase, second, steps, flows)| {
        Interval { phase, second, steps, flows, ..Interval::default() }
    });
    let traced = prop_oneof![9 => 0_usize..3, 1 => 999_usize..1_003];
    (small(), prop::collection::vec(interval, 0..3), traced, any::<u64>()).prop_map(
        |(number, intervals, traced, over_limit)| {
            let traced = vec![TRACED; traced];
            Snapshot { number, intervals, traced, over_limit }
        },
    )
}

/// A traced request with the strangest times.
const TRACED: TracedRequest = TracedRequest {
    step: u32::MAX,
    phase: Phase::Hold,
    context: TraceContext { trace_id: [0; 16], span_id: [0; 8] },
    sent_unix_ns: u64::MAX,
    delay: Duration::MAX,
    first_byte: Some(Duration::MAX),
    took: Duration::MAX,
    status: Some(u16::MAX),
    resent: true,
    end: TracedEnd::Answered,
};

fn news() -> impl Strategy<Value = News> {
    let times = (time(), time(), time(), time(), time());
    let sample = (times, any::<u32>(), any::<u32>(), any::<u32>());
    let sample = sample.prop_map(|(times, cpus, periods, throttled)| StrainSample {
        elapsed: times.0,
        cpu: times.1,
        waited: times.2,
        busy: (periods > 0).then_some(times.3),
        cpus,
        lag: times.4,
        periods,
        throttled,
    });
    let ran_out = prop::collection::vec(".{0,9}", 0..3);
    let finished = (small(), time(), ran_out).prop_map(|(snapshots, held, ran_out)| {
        News::Finished(Finished { snapshots, held, ran_out, ..Finished::default() }, String::new())
    });
    prop_oneof![
        6 => (snapshot(), sample).prop_map(|(snapshot, sample)| News::Snapshot(snapshot, sample)),
        2 => finished,
        1 => ".{0,9}".prop_map(News::Failed),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let epoch = prop_oneof![9 => Just(1), 1 => any::<u32>()];
    (epoch, small(), news()).prop_map(|(epoch, worker, news)| Report { epoch, worker, news })
}

/// Checks the reports of a worker that joined only after the load
/// was divided among the other workers.
#[test]
fn reports_of_a_worker_without_a_share_are_refused() {
    let schedule = Schedule { measured: ms(100), end: None, drain: ms(3_000), last_stage: 0 };
    let absent = BTreeSet::from([2]);
    let mut state = RoundState::new(1, 3, &absent, Vec::new(), schedule, OnLoss::Continue);
    let steps = vec![Counts { cancelled: 1, ..Counts::default() }];
    let intervals = vec![Interval { phase: Phase::Hold, steps, ..Interval::default() }];
    let news = News::Snapshot(Snapshot::new(0, intervals), StrainSample::default());
    let actions = state.take(ms(200), Input::Report(Report { epoch: 1, worker: 2, news }));
    assert_eq!(actions, []);
    let results = state.into_results(|seconds| Duration::from_secs(seconds.into()));
    assert_eq!(results.refused, ["worker 2 has no share of this round"]);
    assert!(results.series.phase(Phase::Hold).is_empty());
}

fn take(reports: &[Report]) -> Results {
    let messages: Vec<_> = reports.iter().map(|report| encode(report).unwrap()).collect();
    take_foreign(messages.iter().map(Vec::as_slice))
}

/// Returns the reports of a successful round: two snapshots of each worker, with all kinds of
/// outcome, and the worker's final report.
fn whole_round() -> Vec<Report> {
    let counts = Counts {
        answered: latencies(1..40),
        failed: latencies(3..5),
        errors: BTreeMap::from([(ErrorKind::Status, 2)]),
        examples: BTreeMap::from([(ErrorKind::Status, "503".to_owned())]),
        counters: vec![7],
        bytes: 4_000,
        bodies: Some(BodySizes { smallest: 90, largest: 110 }),
        first_byte: latencies(0..39),
        stream: Some(Box::new(StreamCounts {
            first_event: latencies(0..39),
            gaps: latencies(1..9),
            events: 200,
            closed: 3,
        })),
        ..Counts::default()
    };
    let snapshot = |number| {
        let steps = vec![counts.clone(); 2];
        let interval = Interval { phase: Phase::Hold, steps, ..Interval::default() };
        News::Snapshot(Snapshot::new(number, vec![interval]), StrainSample::default())
    };
    let (held, digest) = (Duration::from_secs(1), "0123456789abcdef".to_owned());
    let ran_out = vec!["users.csv".to_owned()];
    let news = [
        snapshot(0),
        snapshot(1),
        News::Finished(Finished { snapshots: 2, held, ran_out, ..Finished::default() }, digest),
    ];
    let of_all =
        news.into_iter().flat_map(|news| (0..WORKERS).map(move |worker| (worker, news.clone())));
    of_all.map(|(worker, news)| Report { epoch: 1, worker, news }).collect()
}

fn latencies(ms: std::ops::Range<u64>) -> Latencies {
    let mut latencies = Latencies::default();
    ms.for_each(|it| latencies.record(Duration::from_millis(it)));
    latencies
}

/// Folder of the fuzzer's initial inputs.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/messages");

#[test]
fn a_seed_of_the_fuzzer_holds_a_complete_round() {
    let seed: Vec<u8> = whole_round()
        .iter()
        .map(|report| encode(report).unwrap())
        .flat_map(|bytes| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], &bytes].concat())
        .collect();
    let round = take_foreign(split_foreign(&seed));
    assert_eq!(round.refused, [] as [String; 0]);
    assert!(round.lost.is_empty() && round.workers.iter().all(|worker| worker.snapshots == 2));
    let file = Path::new(SEEDS).join("whole-round");
    if std::env::var_os("LOADGEN_WRITE_SEED").is_some() {
        std::fs::write(&file, &seed).unwrap();
    }
    let is_todays = std::fs::read(&file).is_ok_and(|written| written == seed);
    assert!(is_todays, "the protocol has changed: LOADGEN_WRITE_SEED=1 writes {}", file.display());
}

#[test]
fn every_seed_of_the_fuzzer_is_accepted_or_refused() {
    let files = std::fs::read_dir(SEEDS).unwrap().map(|file| std::fs::read(file.unwrap().path()));
    for file in files {
        let round = take_foreign(split_foreign(&file.unwrap()));
        assert_eq!(round.workers.len(), WORKERS as usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_decoded_report_is_accepted_or_refused(reports in prop::collection::vec(report(), 0..12)) {
        let round = take(&reports);
        prop_assert_eq!(round.workers.len(), WORKERS as usize);
        let taken: u32 = round.workers.iter().map(|worker| worker.snapshots).sum();
        prop_assert!(taken as usize + round.refused.len() <= reports.len());
        // No worker's times reach beyond the round, so sums of them can't either.
        let most = Duration::from_secs(10) + ms(250) * 12;
        for worker in &round.workers {
            prop_assert!(worker.finished.held <= most + Duration::from_secs(1), "{:?}", worker.finished.held);
        }
        prop_assert!(round.series.seconds().all(|it| u64::from(it.all.second) <= most.as_secs()));
    }

    #[test]
    fn sums_saturate_at_the_largest_number(one in counts(), other in counts()) {
        let mut sum = one.clone();
        sum.merge(&other);
        let counted: [fn(&Counts) -> u64; 4] =
            [|counts| counts.cancelled, |counts| counts.bytes, Counts::failures, Counts::requests];
        for count in counted {
            prop_assert!(count(&sum) >= count(&one).max(count(&other)));
        }
    }

    #[test]
    fn damaged_messages_are_accepted_or_refused(
        reports in prop::collection::vec(report(), 1..4),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut messages: Vec<_> = reports.iter().map(|report| encode(report).unwrap()).collect();
        for (at, with) in damages {
            for bytes in &mut messages {
                let at = at.index(bytes.len());
                bytes[at] = with;
            }
        }
        let round = take_foreign(messages.iter().map(Vec::as_slice));
        prop_assert_eq!(round.workers.len(), WORKERS as usize);
    }
}

#[test]
fn impossible_reports_are_refused_with_a_reason() {
    let interval = Interval { phase: Phase::Hold, second: u32::MAX, ..Interval::default() };
    let snapshot = Snapshot::new(0, vec![interval]);
    let staged = Interval { phase: Phase::Hold, stage: 1, ..Interval::default() };
    let news = [
        News::Snapshot(snapshot, StrainSample::default()),
        News::Snapshot(Snapshot::new(0, vec![staged]), StrainSample::default()),
        News::Finished(
            Finished { snapshots: 0, held: Duration::MAX, ..Finished::default() },
            String::new(),
        ),
    ];
    let round = take(&news.map(|news| Report { epoch: 1, worker: 1, news }));
    assert_eq!(
        round.refused,
        [
            "worker 1 reported second 4294967295 in second 0",
            "worker 1 reported stage 1, which does not exist",
            "worker 1 reported second 18446744073709551615 in second 0",
        ]
    );
}

#[test]
fn a_report_that_would_fill_the_memory_is_refused() {
    let mut counts = Counts::default();
    (1..200).for_each(|n| counts.answered.record(ms(n)));
    let report = |steps: usize| {
        let steps = vec![counts.clone(); steps];
        let interval = Interval { phase: Phase::Hold, steps, ..Interval::default() };
        let snapshot = Snapshot::new(0, vec![interval]);
        Report { epoch: 1, worker: 0, news: News::Snapshot(snapshot, StrainSample::default()) }
    };
    assert_eq!(take(&[report(1_000)]).workers[0].snapshots, 1);
    // One MB, which would take 350 MB in memory.
    let round = take(&[report(2_001)]);
    assert_eq!(round.refused, ["2001 large histograms in one report are too many"]);
    assert_eq!(round.workers[0].snapshots, 0);
}

#[test]
fn steps_without_a_histogram_do_not_count_against_the_memory_limit() {
    let errors = BTreeMap::from([(ErrorKind::Reset, 7)]);
    let steps = vec![Counts { errors, ..Counts::default() }; 5_000];
    let interval = Interval { phase: Phase::Hold, steps, ..Interval::default() };
    let snapshot = Snapshot::new(0, vec![interval]);
    let news = News::Snapshot(snapshot, StrainSample::default());
    assert_eq!(take(&[Report { epoch: 1, worker: 0, news }]).workers[0].snapshots, 1);
}
