//! Finds the limits of an experiment's file that were not in force.

use crate::record::{Environment, LimitsRecord};
use loadgen_scenario::Limits;
use loadgen_scenario::experiment::Group;
use loadgen_text::limits as words;

/// Arms that ran under the same conditions.
pub struct Ran<'a> {
    /// Machine, software and limits.
    pub environment: &'a Environment,
    /// Warm-up in s.
    pub warmup_s: f64,
    /// Names of the arms.
    pub arms: Vec<&'a str>,
}

/// Returns the limits under which the arm, the target or the backend called `name` ran, as one of
/// these parts of the test: `target` or `backends`. A limit of more CPUs than the part may use is
/// reduced to these CPUs.
#[must_use]
pub fn limits_in_force(environment: &Environment, part: &str, name: &str) -> LimitsRecord {
    let limits = environment.limits.get(name).copied().unwrap_or_default();
    let cpus = cpus(environment, part);
    let most = |limit: f64| if cpus > 0 { limit.min(cpus as f64) } else { limit };
    LimitsRecord { cpus: limits.cpus.map(most), ..limits }
}

/// Returns the number of CPUs that a part of the test may use; 0 if unknown.
#[must_use]
pub fn cpus(environment: &Environment, part: &str) -> usize {
    match environment.cpus.get(part).map(Vec::len) {
        None | Some(0) => environment.cores,
        Some(pinned) => pinned,
    }
}

/// Returns the limits of a group's file that were not in force, as phrases: without containers, with
/// other limits on the command line, or with fewer CPUs than the limit allows. `backends` are the
/// limits of each backend, and `ran` the arms of the group that ran.
#[must_use]
pub fn changed_limits(group: &Group, backends: Limits, ran: &[Ran<'_>]) -> Vec<String> {
    // Phrases without the names of arms or backends, each with these names.
    let mut changed: Vec<(String, Vec<&str>)> = Vec::new();
    for Ran { environment, arms, .. } in ran {
        let mut compare = |part: &str, name, planned: Limits| {
            let Some(phrase) = difference(planned, limits_in_force(environment, part, name)) else {
                return;
            };
            match changed.iter_mut().find(|(other, _)| *other == phrase) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => changed.push((phrase, vec![name])),
            }
        };
        for arm in &group.arms {
            if arms.contains(&arm.name.as_str()) {
                compare("target", &arm.name, arm.limits);
            }
        }
        for backend in environment.backends.keys() {
            compare("backends", backend, backends);
        }
    }
    let reason = match ran.first().map(|ran| ran.environment.runtime.as_str()) {
        Some("process") => " (limits need containers: --runtime podman)",
        Some("url") => " (loadgen sets no limits of a server at --url)",
        _ => "",
    };
    let phrases =
        changed.into_iter().map(|(phrase, names)| format!("{}: {phrase}", names.join(", ")));
    let mut phrases: Vec<String> = phrases.collect();
    phrases.last_mut().into_iter().for_each(|last| *last += reason);
    phrases
}

/// Returns the limits in force instead of those that the file plans, as a phrase; `None` if all that
/// the file limits is limited so.
fn difference(planned: Limits, actual: LimitsRecord) -> Option<String> {
    let cpus = planned.cpus.map(f64::from);
    let memory = planned.memory.map(|memory| memory.bytes());
    let actual =
        (actual.cpus.filter(|_| cpus.is_some()), actual.memory_bytes.filter(|_| memory.is_some()));
    (actual != (cpus, memory))
        .then(|| format!("{} instead of {}", words(actual.0, actual.1), words(cpus, memory)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_scenario::experiment::{ExperimentFile, Known};
    use loadgen_scenario::parse;

    const SCENARIO: &str = "backends = [\"postgres\"]\n[[step]]\nget = \"/\"\n";

    fn limits(cpus: f64, memory_gib: u64) -> LimitsRecord {
        LimitsRecord { cpus: Some(cpus), memory_bytes: Some(memory_gib << 30) }
    }

    /// Returns an experiment with the arms a and b, and these lines for all arms and for backends.
    fn file(arms: &str, backends: &str) -> ExperimentFile {
        let text = format!(
            "{backends}\n[[group]]\nname = \"both\"\nscenario = \"one\"\n{arms}\n\
             [[group.arm]]\ntarget = \"a\"\n[[group.arm]]\ntarget = \"b\"\n"
        );
        let scenario = |_: &str| Ok(parse("one", "one.toml", SCENARIO).unwrap());
        let known = Known { scenario: &scenario, targets: None };
        ExperimentFile::parse("two", "two.toml", &text, &known).unwrap()
    }

    fn limited() -> ExperimentFile {
        file("cpus = 1\nmemory = \"1g\"", "backend_cpus = 2\nbackend_memory = \"1g\"")
    }

    /// Returns the conditions of both arms over PostgreSQL, whose parts may use this number of CPUs
    /// each.
    fn run(runtime: &str, cpus: usize, limits: &[(&str, LimitsRecord)]) -> Environment {
        Environment {
            runtime: runtime.to_owned(),
            backends: [("postgres".to_owned(), "18".to_owned())].into(),
            cpus: ["target", "backends"].map(|part| (part.to_owned(), (0..cpus).collect())).into(),
            limits: limits.iter().map(|(name, limits)| ((*name).to_owned(), *limits)).collect(),
            ..Environment::default()
        }
    }

    fn changed(file: &ExperimentFile, environment: &Environment) -> Vec<String> {
        let ran = Ran { environment, warmup_s: 1.0, arms: vec!["a", "b"] };
        changed_limits(&file.groups[0], file.backend_limits, &[ran])
    }

    #[test]
    fn limits_in_force_changed_nothing() {
        let [one, two] = [limits(1.0, 1), limits(2.0, 1)];
        let as_planned = run("podman", 2, &[("a", one), ("b", one), ("postgres", two)]);
        assert_eq!(changed(&limited(), &as_planned), [""; 0]);
        // Limits of the command line or of targets.toml, where the file has none.
        assert_eq!(changed(&file("", ""), &as_planned), [""; 0]);
        let only_cpus = file("cpus = 1", "backend_cpus = 2");
        assert_eq!(changed(&only_cpus, &as_planned), [""; 0]);
        assert_eq!(changed(&file("", ""), &run("process", 1, &[])), [""; 0]);
    }

    #[test]
    fn limits_that_were_not_in_force_are_named_with_their_arms() {
        let [one, two] = [limits(1.0, 1), limits(2.0, 1)];
        assert_eq!(
            changed(&limited(), &run("process", 1, &[])),
            [
                "a, b: no limit instead of 1 CPU, 1 GiB",
                "postgres: no limit instead of 2 CPUs, 1 GiB (limits need containers: --runtime podman)",
            ]
        );
        let few_cpus = run("podman", 1, &[("a", one), ("b", one), ("postgres", two)]);
        assert_eq!(
            changed(&limited(), &few_cpus),
            ["postgres: 1 CPU, 1 GiB instead of 2 CPUs, 1 GiB"]
        );
        let half = run("podman", 2, &[("a", limits(0.5, 1)), ("b", one), ("postgres", two)]);
        assert_eq!(changed(&limited(), &half), ["a: 0.5 CPUs, 1 GiB instead of 1 CPU, 1 GiB"]);
        let of_one_arm = file("memory = \"1g\"", "");
        assert_eq!(
            changed(&of_one_arm, &run("url", 0, &[])),
            ["a, b: no limit instead of 1 GiB (loadgen sets no limits of a server at --url)"]
        );
    }
}
