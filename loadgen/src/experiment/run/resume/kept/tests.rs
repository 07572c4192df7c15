//! Tests of runs that are kept.

use super::*;
use crate::experiment::run::resume::files::encode;

fn round(number: u32, contender: usize) -> MeasuredRound {
    MeasuredRound { number, contender, ..MeasuredRound::default() }
}

fn first(rounds: &[(u32, usize)], contenders: usize) -> u32 {
    let rounds: Vec<_> = rounds.iter().map(|(number, of)| round(*number, *of)).collect();
    first_incomplete(rounds.iter(), contenders)
}

#[test]
fn a_round_is_kept_if_all_contenders_were_measured() {
    assert_eq!(first(&[], 2), 1);
    assert_eq!(first(&[(1, 1), (1, 0), (2, 0)], 2), 2);
    assert_eq!(first(&[(1, 1), (1, 0), (2, 0), (2, 1)], 2), 3);
    assert_eq!(first(&[(1, 0), (3, 0)], 1), 2, "what follows a gap is of no use");
}

fn state(resumed: Vec<ResumedRecord>) -> State {
    State {
        build: build(),
        words: vec!["loadgen".to_owned()],
        directory: PathBuf::from("/"),
        seed: 7,
        contenders: 2,
        conditions: Conditions::default(),
        started: "2026-11-30T08:30:00Z".to_owned(),
        command: Vec::new(),
        began: SystemTime::now() - Duration::from_secs(90),
        resumed,
        lost: Vec::new(),
    }
}

fn write_state(files: &Files, state: &State) {
    files.write(STATE, &encode(state).unwrap()).unwrap();
}

fn write_round(files: &Files, kept: &KeptRound<&MeasuredRound>) {
    files.write(&name_of(kept.round), &encode(kept).unwrap()).unwrap();
}

/// Returns the folder of a run with these rounds, which ended this long ago.
fn run(state: &State, rounds: &[(u32, usize, u64)]) -> tempfile::TempDir {
    let run = tempfile::tempdir().unwrap();
    let files = Files::create(run.path()).unwrap();
    write_state(&files, state);
    for (number, contender, ago) in rounds {
        let round = &round(*number, *contender);
        let ended = SystemTime::now() - Duration::from_secs(*ago);
        let took = Duration::from_secs(100 - ago);
        let kept = KeptRound { ended, stages: vec![5], took, workers: 2, round };
        write_round(&files, &kept);
    }
    run
}

#[test]
fn whole_rounds_are_kept_and_others_are_removed() {
    let rounds = [(1, 1, 60), (1, 0, 50), (2, 0, 40)];
    let earlier = |from_round| ResumedRecord {
        at: String::new(),
        from_round,
        gap_s: 1.0,
        changed: Vec::new(),
    };
    let run = run(&state(vec![earlier(1), earlier(2)]), &rounds);
    let kept = Kept::open(run.path()).unwrap();
    assert_eq!((kept.next, kept.rounds().len()), (2, 2));
    let measured = kept.take();
    let order: Vec<_> = measured.rounds.iter().map(|it| (it.number, it.contender)).collect();
    assert_eq!(order, [(1, 1), (1, 0)]);
    assert_eq!((measured.stages, measured.took), (vec![5], Duration::from_secs(50)));
    // One of which no round is kept has taken place as well: losses count those before them.
    let before = vec![earlier(1), earlier(2)];
    assert_eq!((measured.workers, measured.earlier.unwrap().resumed), (2, before));
    let changed = ["the kernel was \"1\", and is \"2\"".to_owned()];
    let resumed = kept.resume(&changed).resumed;
    assert_eq!(resumed.iter().map(|it| it.from_round).collect::<Vec<_>>(), [1, 2, 2]);
    assert!((49.0..55.0).contains(&resumed[2].gap_s), "{resumed:?}");
    assert_eq!(resumed[2].changed, changed);
    assert_eq!(kept.state().resumed, resumed);
    assert_eq!(kept.files.names().unwrap().len(), 4, "nothing is removed yet");
    kept.remove_rest().unwrap();
    let names = kept.files.names().unwrap();
    assert_eq!(names, ["round-000001-0", "round-000001-1", "run"]);
}

#[test]
fn a_round_is_read_as_it_was_measured() {
    use crate::engine::{Host, Results, StartSkew, WorkerResults};
    use crate::lab::Observed;
    use crate::measure::{Counts, Interval, Phase, ResourceRecord, Series, Snapshot};

    let mut counts = Counts { bytes: 7, counters: vec![3], ..Counts::default() };
    (1..2_000).for_each(|us| counts.answered.record(Duration::from_micros(us * us)));
    let (steps, flows) = (vec![counts.clone()], vec![counts]);
    let interval = Interval { phase: Phase::Hold, second: 2, steps, flows, stage: 1 };
    let mut series = Series::default();
    series.add(Snapshot::new(0, vec![interval]));
    let host = Some(Host { name: "load-1".to_owned(), cpus: 2 });
    let gaps = vec![4..6, 8..9];
    let workers = vec![WorkerResults { worker: 1, host, gaps, ..WorkerResults::default() }];
    let start_skew = Some(StartSkew { any_path: Duration::from_nanos(3), ..StartSkew::default() });
    let used = ResourceRecord { cpu_s: 0.1 + 0.2, ..ResourceRecord::default() };
    let services = [("target".to_owned(), used)].into();
    let round = MeasuredRound {
        url: "http://a".to_owned(),
        held: Duration::from_nanos(2_999_999_999),
        results: Results { series, workers, start_skew, ..Results::default() },
        observed: Observed {
            services,
            stacks: Some(Err("none".to_owned())),
            ..Observed::default()
        },
        verified: vec![vec![1], vec![]],
        json_keys: vec![None, Some(vec!["a".to_owned()])],
        whole: true,
        ..round(1, 0)
    };
    let run = tempfile::tempdir().unwrap();
    let files = Files::create(run.path()).unwrap();
    write_state(&files, &State { contenders: 1, ..state(Vec::new()) });
    let (ended, took) = (SystemTime::now(), Duration::ZERO);
    let kept = KeptRound { ended, stages: Vec::new(), took, workers: 2, round: &round };
    write_round(&files, &kept);
    drop(files);
    assert_eq!(Kept::open(run.path()).unwrap().take().rounds, [round]);
}

#[test]
fn without_a_round_the_run_begins_again() {
    let run = run(&state(Vec::new()), &[]);
    let kept = Kept::open(run.path()).unwrap();
    assert_eq!((kept.next, kept.rounds().len()), (1, 0));
    assert!((89.0..95.0).contains(&kept.resume(&[]).resumed[0].gap_s));
}

fn refused(run: &Path) -> String {
    format!("{:?}", Kept::open(run).unwrap_err().report)
}

#[test]
fn what_cannot_be_resumed_is_refused_with_a_reason() {
    let run = run(&state(Vec::new()), &[(1, 0, 9)]);
    let kept = Kept::open(run.path()).unwrap();
    assert!(refused(run.path()).contains("run_in_use"));
    let (name, files) = ("round-000001-0", kept.files);
    std::fs::write(files.path(name), b"nothing").unwrap();
    drop(files);
    let told = refused(run.path());
    assert!(told.contains("damaged_run") && told.contains(name), "{told}");
    let files = Files::open(run.path()).unwrap().unwrap();
    let other = State { build: "loadgen 0.0.1".to_owned(), ..state(Vec::new()) };
    write_state(&files, &other);
    drop(files);
    let told = refused(run.path());
    assert!(told.contains("cannot_resume") && told.contains("0.0.1"), "{told}");
    assert!(refused(&run.path().join("elsewhere")).contains("bad_saved_run"));
    Files::open(run.path()).unwrap().unwrap().discard().unwrap();
    std::fs::write(run.path().join("run.json"), "{}").unwrap();
    assert!(refused(run.path()).contains("bad_saved_run"));
}
