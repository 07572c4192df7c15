use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::groups::Groups;
use super::*;
use crate::commands::experiment::jobs::{Settings, Targets, published};
use crate::commands::k8s::packed::unpack;
use crate::experiment::experiments::find;
use crate::experiment::folder::RunFolder;
use crate::experiment::published::{GroupApart, LeftOut, TargetCpus};
use crate::experiment::saved::{Record, Saved};
use crate::kubernetes::{Followed, KubernetesError};
use crate::lab::Runtime;
use crate::record::{Degraded, ExperimentRecord, Finding, RunRecord};
use crate::report::Format;
use crate::scenario::experiment::Claim;

const SCENARIO: &str = r#"
backends = ["redis"]
existing_profiles = 10
[rows.users]
file = "users.csv"
[[step]]
get = "/{{ users.name }}"
"#;

const EXPERIMENT: &str = r#"
title = "Two groups"

[[group]]
name = "first"
scenario = "a.toml"
rounds = 2
load = { users = 2, duration = "1s" }
quick = { one_start = true, load = { users = 2, duration = "500ms" } }
backend_alone = "redis"

[[group.arm]]
name = "old"
target = "shop"
memory = "64m"

[[group.arm]]
name = "old, many users"
target = "shop"
load = { users = 9, duration = "1s" }

[[group.arm]]
name = "large"
target = "shop"
replicas = 16
needs_cpus = 16

[[group]]
name = "second"
scenario = "a.toml"
rounds = 2
load = { users = 2, duration = "3s" }
quick = { one_start = true, load = { users = 2, duration = "1500ms" } }

[[group.arm]]
name = "new"
target = "shop"

[[published]]
group = "second"
metric = "mean"
figures = { "new" = "2ms" }

[[claim]]
group = "second"
metric = "error_rate"
arm = "new"
is = "< 1%"

[[claim]]
group = "first"
metric = "rate"
order = ["old", "old, many users"]

[[claim]]
group = "second"
metric = "p99"
arm = "new"
is = "< 1s"
"#;

/// Returns the experiment of this folder in the quick form, with 4 CPUs for the targets.
fn experiment(folder: &Path) -> Published {
    fs::write(folder.join("users.csv"), "name\nann\nbob\n").unwrap();
    fs::write(folder.join("a.toml"), SCENARIO).unwrap();
    fs::write(folder.join("mine.toml"), EXPERIMENT).unwrap();
    let file = find(&folder.join("mine.toml").to_string_lossy(), None).unwrap();
    let (cpus, mut left_out) = (TargetCpus(Some(4)), LeftOut::default());
    cpus.leave_out(&file, &mut left_out);
    let settings = Settings {
        warmup: None,
        workers: None,
        remote: None,
        trace_one_in: None,
        calibrate: false,
        runtime: Runtime::Process,
        seed: 1,
        rounds: None,
        quick: true,
    };
    let targets = Targets::Running(vec![server("shop")]);
    published(file, &targets, &settings, left_out, cpus).unwrap()
}

fn server(name: &str) -> Server {
    Server { name: name.to_owned(), url: format!("http://{name}:80"), deployed: None }
}

#[test]
fn a_group_survives_its_way_to_the_manager() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment(folder.path());
    let servers: BTreeMap<String, Server> = [("old".to_owned(), server("a"))].into();
    let group = experiment.apart(0, servers);
    let packed = pack(Load::Group(Box::new(group.clone()))).unwrap();
    let Load::Group(again) = unpack(&packed).unwrap() else { panic!("it is a group") };
    assert_eq!(*again, group);
    let GroupApart { file, quick, .. } = &group;
    assert_eq!((file.groups.len(), file.groups[0].arms.len(), *quick), (1, 3, true));
    assert_eq!(file.groups[0].backend_alone, None, "no backend is there");
    let cells = &again.file.groups[0].arms[1].scenario.rows[0].cells;
    assert_eq!(*cells, file.groups[0].arms[0].scenario.rows[0].cells, "not in the serialized rows");
    let why = again.left_out().of(0, "large").unwrap().to_owned();
    assert!(why.contains("needs 16 CPUs"), "{why}");
}

#[test]
fn a_group_apart_has_its_own_figures_and_claims_and_its_part_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment(folder.path());
    let second = experiment.apart(1, BTreeMap::new()).file;
    assert_eq!(second.published.iter().map(|of| of.group).collect::<Vec<_>>(), [0]);
    let groups = second.claims.iter().map(|claim: &Claim| claim.group);
    assert_eq!(groups.collect::<Vec<_>>(), [0, 0]);
    let metrics = second.claims.iter().map(|claim| claim.metric.to_string());
    assert_eq!(metrics.collect::<Vec<_>>(), ["error_rate", "p99"], "in the order of the file");
    let first = experiment.apart(0, BTreeMap::new()).file;
    let both = first.quick_time + second.quick_time;
    let difference = both.abs_diff(experiment.file.quick_time);
    assert!(difference.as_millis() < 2, "{both:?}");
    assert!(first.quick_time > second.quick_time / 2, "it has two arms");
}

/// How a group ends: the record that was fetched, and the exit code of its manager.
type End = (Option<ExperimentRecord>, Result<Option<u8>, KubernetesError>);

/// An experiment whose groups end as a test tells.
struct Ended {
    folder: tempfile::TempDir,
    experiment: Published,
}

impl Ended {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let experiment = experiment(folder.path());
        Self { folder, experiment }
    }

    /// Returns the record of a group, whose claims held.
    fn record(&self, group: usize) -> ExperimentRecord {
        let layout = Layout::unpinned();
        let site = crate::experiment::site::Site::new(&layout, Default::default());
        let all = self.experiment.joined(&BTreeMap::new(), &site, false);
        let name = &self.experiment.file.groups[group].name;
        let mut record = all;
        record.groups = vec![record.groups.remove(group)];
        record.claims.retain(|claim| claim.group == *name);
        record.groups[0].runs = vec![RunRecord::default()];
        record.claims.iter_mut().for_each(|claim| claim.finding = Finding::Held);
        record
    }

    /// Takes the ends of the groups, in their order, and returns the exit code with the saved record.
    fn of(&self, ends: Vec<End>) -> (Result<Exit, Failure>, Option<ExperimentRecord>, usize) {
        let (out, layout) = (self.folder.path().join("out"), Layout::unpinned());
        let delivery = Delivery::prepare(Some(&out), "mine", Format::Json, None).unwrap();
        let mut groups = Groups::new(&self.experiment, &delivery, &layout);
        let mut taken = 0;
        for (index, (record, end)) in ends.into_iter().enumerate() {
            let folder = groups.folder(index).unwrap();
            if let Some(record) = record {
                RunFolder::of_saved(&folder).save(&record).unwrap();
            }
            let followed = end.map(|exit_code| Followed { exit_code, ..Followed::default() });
            taken += 1;
            if groups.take(index, &folder, followed).is_break() {
                break;
            }
        }
        let exit = groups.conclude(false);
        let saved = Saved::read(&out).ok().and_then(|saved| match saved.record {
            Record::Experiment(record) => Some(*record),
            _ => None,
        });
        drop(delivery);
        let _ = fs::remove_dir_all(out);
        (exit, saved, taken)
    }
}

fn findings(record: &ExperimentRecord) -> Vec<Finding> {
    record.claims.iter().map(|claim| claim.finding).collect()
}

#[test]
fn records_of_groups_make_one_in_the_order_of_the_file() {
    let ended = Ended::new();
    let all = vec![(Some(ended.record(0)), Ok(Some(0))), (Some(ended.record(1)), Ok(Some(0)))];
    let (exit, saved, _) = ended.of(all);
    let saved = saved.unwrap();
    assert_eq!((exit.unwrap(), saved.interrupted), (Exit::Done, false));
    assert_eq!(findings(&saved), [Finding::Held; 3]);
    let names = saved.groups.iter().map(|group| (group.name.as_str(), group.runs.len()));
    assert_eq!(names.collect::<Vec<_>>(), [("first", 1), ("second", 1)]);
    let of = saved.claims.iter().map(|claim| claim.group.as_str());
    assert_eq!(of.collect::<Vec<_>>(), ["second", "first", "second"]);
}

#[test]
fn an_interrupted_group_ends_the_experiment_which_keeps_what_was_measured() {
    let ended = Ended::new();
    let interrupted = ExperimentRecord { interrupted: true, ..ended.record(0) };
    let (exit, saved, taken) =
        ended.of(vec![(Some(interrupted), Ok(Some(130))), (Some(ended.record(1)), Ok(Some(0)))]);
    let saved = saved.unwrap();
    assert_eq!((exit.unwrap(), saved.interrupted, taken), (Exit::Interrupted, true, 1));
    let [could_not, held] = [Finding::CouldNotBeShown, Finding::Held];
    assert_eq!(findings(&saved), [could_not, held, could_not]);
    assert!(saved.groups[1].runs.is_empty());

    // Before the first group, or in it: nothing is left of the folder.
    for end in [None, Some(130)] {
        let (exit, saved, _) = ended.of(vec![(None, Ok(end))]);
        assert_eq!((exit.unwrap(), saved), (Exit::Interrupted, None));
    }
    // Before the second one.
    let all = vec![(Some(ended.record(0)), Ok(Some(0))), (None, Ok(None))];
    let (exit, saved, _) = ended.of(all);
    assert_eq!((exit.unwrap(), saved.unwrap().interrupted), (Exit::Interrupted, true));
}

#[test]
fn the_most_urgent_exit_code_counts_and_only_failures_end_the_experiment() {
    let ended = Ended::new();
    let mut degraded = ended.record(0);
    degraded.groups[0].runs[0].degraded =
        Some(Degraded { reason: "a worker was lost".to_owned(), lost: Vec::new() });
    let second = || (Some(ended.record(1)), Ok(Some(0)));
    let (exit, _, taken) = ended.of(vec![(Some(degraded), Ok(Some(5))), second()]);
    assert_eq!((exit.unwrap(), taken), (Exit::Degraded, 2), "other groups have other workers");

    // A target that ended by itself is in no verdict: the group has failed.
    let (exit, saved, taken) = ended.of(vec![(Some(ended.record(0)), Ok(Some(4))), second()]);
    assert_eq!((exit.unwrap(), taken), (Exit::Target, 1));
    assert!(!saved.unwrap().interrupted, "as on one machine");

    // The cluster does not start the second group.
    let refused = || KubernetesError::NoRights("create jobs".to_owned());
    let first = (Some(ended.record(0)), Ok(Some(0)));
    let (exit, saved, _) = ended.of(vec![first, (None, Err(refused()))]);
    assert_eq!(exit.unwrap(), Exit::Failed);
    assert_eq!(findings(&saved.unwrap())[1], Finding::Held);
    let (exit, saved, _) = ended.of(vec![(None, Err(refused()))]);
    assert!(exit.is_err() && saved.is_none(), "nothing was measured");
    let (exit, saved, _) = ended.of(vec![(None, Ok(Some(2)))]);
    assert_eq!((exit.unwrap(), saved), (Exit::Usage, None));
}
