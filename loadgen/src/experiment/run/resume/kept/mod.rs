//! Holds the state and the rounds of a run for a manager that resumes it.

use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::conditions::Conditions;
use super::files::{self, Files, ROUND};
use super::refusals::{damaged, in_use, is_finished, nothing_to_resume, unlike};
use crate::experiment::cache;
use crate::experiment::folder::RESUMABLE;
use crate::experiment::measured::{Earlier, EarlierLoss, Measured, MeasuredRound};
use crate::failure::Failure;
use crate::record::ResumedRecord;

/// File with [`Head`] and [`State`].
const STATE: &str = RESUMABLE;

/// Longest time that the rounds of a run can have taken.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// Build of loadgen that wrote the folder. Another build may read something else into the other files.
#[derive(Serialize, Deserialize)]
struct Head {
    build: String,
}

/// State of a run, known from its start on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Build of loadgen that measures the run.
    pub build: String,
    /// Command line of the run, with secrets.
    pub words: Vec<String>,
    /// Folder in which the command was given, to which its paths are relative.
    pub directory: PathBuf,
    /// Seed of the generated data and of the order of contenders.
    pub seed: u64,
    /// Number of contenders.
    pub contenders: usize,
    /// Conditions of the last manager.
    pub conditions: Conditions,
    /// Start of the run, as in its record.
    pub started: String,
    /// Command line of the run, as in its record.
    pub command: Vec<String>,
    /// Moment from which on nothing is known to have been measured, without a round.
    pub began: SystemTime,
    /// Resumptions so far.
    pub resumed: Vec<ResumedRecord>,
    /// Losses of workers so far, also in rounds that are measured again.
    pub lost: Vec<EarlierLoss>,
}

/// A measured round, and the state of the run at its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptRound<R> {
    /// End of the round.
    pub ended: SystemTime,
    /// See [`Measured::stages`].
    pub stages: Vec<u32>,
    /// See [`Measured::took`].
    pub took: Duration,
    /// See [`Measured::workers`].
    pub workers: u32,
    /// The round.
    pub round: R,
}

/// A run that another manager has begun, and that this one resumes.
#[derive(Debug)]
pub struct Kept {
    /// Folder of the run.
    pub folder: PathBuf,
    /// The files, which this process has locked.
    pub files: Arc<Files>,
    /// Number of the round with which the run goes on.
    pub next: u32,
    /// Moment from which on no other manager lives.
    pub alone_since: Instant,
    /// End of the last round.
    ended: SystemTime,
    /// State of the run, with this resumption once it has taken place.
    state: RefCell<State>,
    /// Results of the rounds that are kept, until [`Kept::take`] takes them: there may be many.
    measured: RefCell<Measured>,
}

/// Identifies this build, because another one may write other fields.
pub fn build() -> String {
    cache::build().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())
}

/// Returns the name of the file with this round. Numbers have six digits, so that names are in the order of numbers.
pub fn name_of(round: &MeasuredRound) -> String {
    format!("{ROUND}{:06}-{}", round.number, round.contender)
}

impl Kept {
    /// Locks and reads the files of the run in this folder.
    ///
    /// # Errors
    /// If there is no such run, its manager lives, another build began it, or a file is damaged.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        if !files::exist(folder) {
            return Err(nothing_to_resume(folder));
        }
        let unreadable = |error: std::io::Error| damaged(folder, &error.to_string());
        let files = Files::open(folder).map_err(unreadable)?.ok_or_else(|| in_use(folder))?;
        let alone_since = Instant::now();
        // Only now, because a manager that has just saved its result may have ended meanwhile.
        if is_finished(folder) {
            return Err(nothing_to_resume(folder));
        }
        let names = files.names().map_err(unreadable)?;
        if names.is_empty() {
            return Err(nothing_to_resume(folder));
        }
        let bad = |name: &str| {
            let path = files.path(name);
            move |why: String| damaged(&path, &why)
        };
        let Head { build: of } = files.read(STATE).map_err(bad(STATE))?;
        if of != build() {
            return Err(unlike(
                folder,
                &[format!("it was begun by {of}, and this is {}", build())],
            ));
        }
        let mut state: State = files.read(STATE).map_err(bad(STATE))?;
        let mut rounds = Vec::new();
        for name in names.iter().filter(|name| name.starts_with(ROUND)) {
            rounds.push(files.read::<KeptRound<MeasuredRound>>(name).map_err(bad(name))?);
        }
        let is_one = |kept: &KeptRound<MeasuredRound>| {
            let MeasuredRound { number, contender, partner, .. } = &kept.round;
            let is_known = *number > 0 && *contender < state.contenders && partner.is_none();
            is_known && kept.took < LONGEST && !kept.stages.contains(&0)
        };
        if !rounds.iter().all(is_one) || state.contenders == 0 {
            return Err(bad(STATE)("its rounds are not those of such a run".to_owned()));
        }
        let next = first_incomplete(rounds.iter().map(|kept| &kept.round), state.contenders);
        rounds.retain(|kept| kept.round.number < next);
        // The clock may have been set back between two of them.
        rounds.sort_by_key(|kept| (kept.round.number, kept.ended));
        // A resumption without a round that is kept is part of this gap.
        state.resumed.retain(|resumed| resumed.from_round < next);
        let ended = rounds.last().map_or(state.began, |kept| kept.ended);
        let (stages, took, workers) = match rounds.last() {
            Some(KeptRound { stages, took, workers, .. }) => (stages.clone(), *took, *workers),
            None => Default::default(),
        };
        let rounds = rounds.into_iter().map(|kept| kept.round).collect();
        let measured = Measured { rounds, stages, took, workers, ..Measured::default() };
        Ok(Self {
            folder: folder.to_owned(),
            files: Arc::new(files),
            next,
            alone_since,
            ended,
            state: RefCell::new(state),
            measured: RefCell::new(measured),
        })
    }

    /// Makes the folder of the first command the current one, so that its paths mean the same.
    ///
    /// # Errors
    /// If that folder is gone.
    pub fn enter(&mut self) -> Result<(), Failure> {
        let directory = &self.state.get_mut().directory;
        if std::env::current_dir().is_ok_and(|here| here == *directory) {
            return Ok(());
        }
        let gone = |error: std::io::Error| {
            let why = "the folder in which it was begun cannot be entered";
            unlike(&self.folder, &[format!("{why}: {}: {error}", directory.display())])
        };
        let folder = std::path::absolute(&self.folder).map_err(gone)?;
        std::env::set_current_dir(directory).map_err(gone)?;
        self.folder = folder;
        Ok(())
    }

    /// Returns the error that the command line of the run cannot be used.
    pub fn damaged(&self, why: &str) -> Failure {
        damaged(&self.files.path(STATE), why)
    }

    /// Returns the state of the run, with this resumption once it has taken place.
    pub fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// Sets the conditions under which the run goes on.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.state.get_mut().conditions = conditions;
    }

    /// Resumes the run now. Returns all resumptions, and what else earlier managers know. `changed` are the told conditions
    /// that have changed.
    pub fn resume(&self, changed: &[String]) -> Earlier {
        let now = SystemTime::now();
        self.state.borrow_mut().resumed.push(ResumedRecord {
            at: humantime::format_rfc3339_seconds(now).to_string(),
            from_round: self.next,
            gap_s: now.duration_since(self.ended).unwrap_or_default().as_secs_f64(),
            changed: changed.to_vec(),
        });
        self.earlier()
    }

    fn earlier(&self) -> Earlier {
        let State { started, command, resumed, lost, .. } = self.state().clone();
        Earlier { started, command, resumed, lost }
    }

    /// Returns the rounds that are kept, until [`Kept::take`] takes them.
    pub fn rounds(&self) -> Ref<'_, [MeasuredRound]> {
        Ref::map(self.measured.borrow(), |measured| &measured.rounds[..])
    }

    /// Takes the results of the run so far.
    pub fn take(&self) -> Measured {
        Measured { earlier: Some(self.earlier()), ..self.measured.take() }
    }

    /// Removes the files of rounds that are measured again.
    pub fn remove_rest(&self) -> std::io::Result<()> {
        let next = format!("{ROUND}{:06}", self.next);
        let stays = |name: &String| name == STATE || (name.starts_with(ROUND) && *name < next);
        self.files
            .names()?
            .iter()
            .filter(|name| !stays(name))
            .try_for_each(|name| self.files.remove(name))
    }
}

/// Returns the number of the first round that lacks a contender. Contenders are compared within a round, so that both
/// sides of a gap must not be in one.
fn first_incomplete<'a>(
    rounds: impl Iterator<Item = &'a MeasuredRound> + Clone,
    contenders: usize,
) -> u32 {
    let has_all = |number: &u32| {
        let of = rounds.clone().filter(|round| round.number == *number);
        of.count() >= contenders
    };
    (1..).take_while(has_all).count() as u32 + 1
}

#[cfg(test)]
mod tests {
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
        assert_eq!((measured.workers, measured.earlier.unwrap().resumed), (2, vec![earlier(1)]));
        let changed = ["the kernel was \"1\", and is \"2\"".to_owned()];
        let resumed = kept.resume(&changed).resumed;
        assert_eq!(resumed.iter().map(|it| it.from_round).collect::<Vec<_>>(), [1, 2]);
        assert!((49.0..55.0).contains(&resumed[1].gap_s), "{resumed:?}");
        assert_eq!(resumed[1].changed, changed);
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
        let start_skew =
            Some(StartSkew { any_path: Duration::from_nanos(3), ..StartSkew::default() });
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
}
