//! Lists the limits of containers, and the limits of an experiment's file that could not be set.

use std::collections::BTreeMap;

use super::job::Job;
use crate::lab::{Lab, Runtime};
use crate::record::{Environment, LimitsRecord, RunRecord};
use crate::scenario::experiment::Group;
use crate::scenario::{Limits, Memory};

/// Returns the CPU and memory limits of each container of a job, by name; empty without containers.
pub fn limits(job: &Job, lab: Option<&Lab>) -> BTreeMap<String, LimitsRecord> {
    let Some((lab, Runtime::Podman { backends, .. })) = lab.map(|lab| (lab, lab.runtime())) else {
        return BTreeMap::new();
    };
    let targets = job.contenders.iter().enumerate().filter_map(|(index, contender)| {
        let limits = lab.target_limits(job.target(index)?, contender.limits);
        Some((contender.target.clone(), record(limits)))
    });
    let up = lab.backends().into_iter().map(|(one, _)| (one.to_string(), record(backends)));
    targets.chain(up).collect()
}

/// Returns the limits under which the arm, the target or the backend of this name ran.
pub fn limits_of(run: &RunRecord, name: &str) -> LimitsRecord {
    run.environment.limits.get(name).copied().unwrap_or_default()
}

/// Returns the number of CPUs that a part of the test may use: `target`, `backends` or `generator`.
pub fn cpus(environment: &Environment, part: &str) -> usize {
    match environment.cpus.get(part).map(Vec::len) {
        None | Some(0) => environment.cores,
        Some(pinned) => pinned,
    }
}

/// Returns the limits of a group's file that were not in force, as phrases: without containers, with
/// other limits on the command line, or with fewer CPUs than the limit allows. `backends` are the
/// limits of each backend, and `runs` the records of the group's jobs.
pub fn changed_limits(group: &Group, backends: Limits, runs: &[&RunRecord]) -> Vec<String> {
    let mut all = Vec::new();
    for run in runs {
        let mut compare = |who: &str, part: &str, name: &str, planned: Limits| {
            let (planned, actual) = (record(planned), limits_of(run, name));
            let actual = within(actual, cpus(&run.environment, part));
            let phrase = format!("{who}: {actual} instead of {planned}");
            if planned != LimitsRecord::default() && planned != actual && !all.contains(&phrase) {
                all.push(phrase);
            }
        };
        for arm in &group.arms {
            if run.targets.iter().any(|target| target.name == arm.name) {
                compare("targets", "target", &arm.name, arm.limits);
            }
        }
        for backend in run.environment.backends.keys() {
            compare(backend, "backends", backend, backends);
        }
    }
    let has_containers = runs.iter().all(|run| run.environment.podman.is_some());
    if let (Some(last), false) = (all.last_mut(), has_containers) {
        *last += " (limits need containers: --runtime podman)";
    }
    all
}

/// Returns the limits of a container that may use this number of CPUs at most; 0 if unknown.
fn within(limits: LimitsRecord, cpus: usize) -> LimitsRecord {
    let most = |limit: f64| if cpus > 0 { limit.min(cpus as f64) } else { limit };
    LimitsRecord { cpus: limits.cpus.map(most), ..limits }
}

fn record(limits: Limits) -> LimitsRecord {
    LimitsRecord {
        cpus: limits.cpus.map(f64::from),
        memory_bytes: limits.memory.map(Memory::bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TargetRecord;
    use crate::scenario::experiment::{ExperimentFile, Known};
    use crate::scenario::parse;

    fn limits(cpus: &str, memory: &str) -> Limits {
        Limits { cpus: cpus.parse().ok(), memory: memory.parse().ok() }
    }

    /// Returns an experiment whose arms and backends have the limits of these lines.
    fn file(arms: &str, backends: &str) -> ExperimentFile {
        let text = format!(
            "{backends}\n[[group]]\nname = \"both\"\nscenario = \"one\"\n{arms}\n\
             [[group.arm]]\ntarget = \"a\"\n[[group.arm]]\ntarget = \"b\"\n"
        );
        let scenario = |_: &str| Ok(parse("one", "one.toml", "[[step]]\nget = \"/\"\n").unwrap());
        let known = Known { scenario: &scenario, targets: None };
        ExperimentFile::parse("two", "two.toml", &text, &known).unwrap()
    }

    fn changed(file: &ExperimentFile, run: &RunRecord) -> Vec<String> {
        changed_limits(&file.groups[0], file.backend_limits, &[run])
    }

    /// Returns a run of both arms over PostgreSQL, with these limits of the arms and of PostgreSQL.
    fn run(containers: Option<[Limits; 2]>, cpus: usize) -> RunRecord {
        let target = |name: &str| TargetRecord { name: name.to_owned(), ..Default::default() };
        let targets = ["a", "b"].map(target).into();
        let mut run = RunRecord { targets, ..RunRecord::default() };
        run.environment.backends.insert("postgres".to_owned(), "18".to_owned());
        for part in ["target", "backends"] {
            run.environment.cpus.insert(part.to_owned(), (0..cpus).collect());
        }
        if let Some([arms, postgres]) = containers {
            run.environment.podman = Some("podman 5".to_owned());
            for (name, limits) in [("a", arms), ("b", arms), ("postgres", postgres)] {
                run.environment.limits.insert(name.to_owned(), record(limits));
            }
        }
        run
    }

    #[test]
    fn limits_that_were_set_changed_nothing() {
        let both = [limits("1", "1g"), limits("2", "1g")];
        let limited =
            file("cpus = 1\nmemory = \"1g\"", "backend_cpus = 2\nbackend_memory = \"1g\"");
        assert_eq!(changed(&limited, &run(Some(both), 2)), [""; 0]);
        assert_eq!(changed(&file("", ""), &run(None, 1)), [""; 0]);
        // Limits of the command line, where the file has none, are in the environment.
        assert_eq!(changed(&file("", ""), &run(Some(both), 2)), [""; 0]);
    }

    #[test]
    fn limits_that_were_not_in_force_are_named_once() {
        let [one, two] = [limits("1", "1g"), limits("2", "1g")];
        let limited =
            file("cpus = 1\nmemory = \"1g\"", "backend_cpus = 2\nbackend_memory = \"1g\"");
        assert_eq!(
            changed(&limited, &run(None, 1)),
            [
                "targets: no limit instead of 1 CPU, 1 GiB",
                "postgres: no limit instead of 2 CPUs, 1 GiB (limits need containers: --runtime podman)",
            ]
        );
        assert_eq!(
            changed(&limited, &run(Some([one, two]), 1)),
            ["postgres: 1 CPU, 1 GiB instead of 2 CPUs, 1 GiB"]
        );
        assert_eq!(
            changed(&limited, &run(Some([limits("0.5", "1g"), two]), 2)),
            ["targets: 0.5 CPUs, 1 GiB instead of 1 CPU, 1 GiB"]
        );
    }
}
