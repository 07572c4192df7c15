//! Finds what differs between the arms of an experiment besides their results.

use std::collections::BTreeMap;
use std::time::Duration;

use super::differences::differences;
use crate::record::{DifferenceKind, DifferenceRecord, LimitsRecord, ServerRecord, TargetRecord};
use loadgen_measure::BodySizes;
use loadgen_scenario::experiment::{Arm, Claim, Group, Statement, describe_load};
use loadgen_text::{count, duration};

/// An arm, with what is known about the arm so far.
pub struct Compared<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Whether the quick form of the load is meant.
    pub quick: bool,
    /// Limits under which the arm ran or, before the measurement, runs in a container.
    pub limits: LimitsRecord,
    /// Warm-up of the arm in s.
    pub warmup_s: f64,
    /// Software of the arm's target; empty for a server that loadgen does not start.
    pub server: &'a ServerRecord,
    /// Results of the arm; `None` before the measurement.
    pub measured: Option<&'a TargetRecord>,
}

impl Compared<'_> {
    fn load(&self) -> String {
        let load = self.arm.quick.as_ref().filter(|_| self.quick);
        describe_load(load.unwrap_or(&self.arm.scenario.load))
    }
}

/// Returns the differences between these arms. `cpus` is the number of CPUs that a target may use;
/// 0 if unknown.
#[must_use]
pub fn unlike(arms: &[Compared<'_>], cpus: usize) -> Vec<DifferenceRecord> {
    let mut all = Vec::new();
    let mut add = |kind, what: Option<String>| {
        all.extend(what.map(|what| DifferenceRecord { kind, what }));
    };
    let scenario = |arm: &Compared<'_>| format!("scenario {}", arm.arm.scenario.name);
    add(DifferenceKind::Load, by_value(arms, |arm| Some(scenario(arm))));
    add(DifferenceKind::Load, by_value(arms, |arm| Some(arm.load())));
    add(DifferenceKind::Load, by_value(arms, |arm| Some(warmup(arm.warmup_s))));
    let workers = |arm: &Compared<'_>| match arm.server.workers {
        0 => None,
        1 => Some("1 worker process".to_owned()),
        n => Some(format!("{} worker processes", count(n.into()))),
    };
    add(DifferenceKind::ServerWorkers, by_value(arms, workers));
    add(DifferenceKind::Limits, by_value(arms, |arm| Some(arm.limits.to_string())));
    add(DifferenceKind::Cpus, too_many_workers(arms, cpus));
    let servers: Vec<(&str, &ServerRecord)> =
        arms.iter().map(|arm| (arm.arm.name.as_str(), arm.server)).collect();
    let software = differences(&servers, false);
    for what in software.into_iter().filter(|what| arms.len() > 1 && !what.starts_with("all: ")) {
        add(DifferenceKind::Software, Some(what));
    }
    for step in steps(arms) {
        add(DifferenceKind::AnswerSize, answer_sizes(arms, step));
        let keys = |arm: &Compared<'_>| {
            let keys = arm.measured?.json_keys.get(step)?;
            Some(format!("answers to {step} have the JSON keys {}", keys.join(", ")))
        };
        add(DifferenceKind::AnswerKeys, by_value(arms, keys));
    }
    all
}

fn warmup(seconds: f64) -> String {
    format!("warm-up of {}", duration(Duration::try_from_secs_f64(seconds).unwrap_or_default()))
}

/// Returns a sentence that names the arms of each value, or `None` if no two arms differ. An arm
/// without a value counts as equal to all.
fn by_value(
    arms: &[Compared<'_>],
    value: impl Fn(&Compared<'_>) -> Option<String>,
) -> Option<String> {
    let mut owners: Vec<(String, Vec<&str>)> = Vec::new();
    for arm in arms {
        let Some(value) = value(arm) else { continue };
        match owners.iter_mut().find(|(other, _)| *other == value) {
            Some((_, names)) => names.push(&arm.arm.name),
            None => owners.push((value, vec![&arm.arm.name])),
        }
    }
    let groups: Vec<String> =
        owners.iter().map(|(value, names)| format!("{}: {value}", names.join(", "))).collect();
    (groups.len() > 1).then(|| groups.join("; "))
}

fn too_many_workers(arms: &[Compared<'_>], cpus: usize) -> Option<String> {
    let exceeds = |arm: &&Compared<'_>| cpus > 0 && arm.server.processes() as usize > cpus;
    let names: Vec<&str> = arms.iter().filter(exceeds).map(|arm| arm.arm.name.as_str()).collect();
    let cpus = match cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    (!names.is_empty()).then(|| {
        format!("{}: more worker processes than the {cpus} of the targets", names.join(", "))
    })
}

/// Returns the names of all steps that were measured.
fn steps<'a>(arms: &[Compared<'a>]) -> Vec<&'a str> {
    let measured = arms.iter().filter_map(|arm| arm.measured);
    let mut names: Vec<&str> =
        measured.flat_map(|target| &target.steps).map(|step| step.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the arms of each size of answers, if no single size occurs in all arms.
fn answer_sizes(arms: &[Compared<'_>], step: &str) -> Option<String> {
    let of = |arm: &Compared<'_>| {
        let summary = arm.measured?.steps.iter().find(|summary| summary.name == step)?;
        summary.body_bytes
    };
    let all: BTreeMap<&str, BodySizes> =
        arms.iter().filter_map(|arm| Some((arm.arm.name.as_str(), of(arm)?))).collect();
    // Answers of several sizes are alike if their ranges overlap.
    let largest_smallest = all.values().map(|sizes| sizes.smallest).max()?;
    let smallest_largest = all.values().map(|sizes| sizes.largest).min()?;
    if largest_smallest <= smallest_largest {
        return None;
    }
    let text = |sizes: BodySizes| match sizes {
        BodySizes { smallest, largest } if smallest == largest => count(smallest),
        BodySizes { smallest, largest } => format!("{} to {}", count(smallest), count(largest)),
    };
    by_value(arms, |arm| Some(format!("answers to {step} of {} bytes", text(of(arm)?))))
}

/// Returns a warning about a claim whose arms differ in more than one respect, so that a finding
/// does not tell which respect is the cause.
#[must_use]
pub fn confounded(claim: &Claim, group: &Group) -> Option<String> {
    let arms = match &claim.statement {
        Statement::Order(arms) => arms.as_slice(),
        Statement::Ratio { arms, .. } | Statement::Equal { arms, .. } => arms,
        Statement::Condition { .. } => return None,
    };
    let pair = arms.windows(2).map(|pair| [&group.arms[pair[0]], &group.arms[pair[1]]]);
    let sentence = pair.filter_map(|[one, other]| {
        let respects = [
            ("target", one.target != other.target),
            ("server workers", one.server_workers != other.server_workers),
            ("replicas", one.replicas != other.replicas),
            ("limits", one.limits != other.limits),
            ("scenario", one.scenario.name != other.scenario.name),
            ("load", one.scenario.load != other.scenario.load),
        ];
        let differ: Vec<&str> =
            respects.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        let (last, others) = differ.split_last()?;
        let others = (!others.is_empty()).then(|| others.join(", "))?;
        Some(format!("{} and {} differ in {others} and {last}", one.name, other.name))
    });
    let all: Vec<String> = sentence.collect();
    (!all.is_empty()).then(|| format!("\"{}\": {}", claim.sentence(group), all.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::Summary;
    use loadgen_scenario::experiment::Statement;
    use loadgen_scenario::{Limits, Metric, Statistic, Timing, parse};

    fn arm(name: &str, server_workers: u32, scenario: &str) -> Arm {
        Arm {
            name: name.to_owned(),
            target: name.to_owned(),
            server_workers,
            needs_cpus: 0,
            replicas: None,
            limits: Limits::default(),
            scenario: parse(scenario, "test.toml", "[[step]]\nname = \"hello\"\nget = \"/\"\n")
                .unwrap(),
            quick: None,
            warmup: Duration::from_secs(1),
            quick_warmup: Duration::from_secs(1),
        }
    }

    fn server(workers: u32, differs: &[&str]) -> ServerRecord {
        let differs = differs.iter().map(|text| (*text).to_owned()).collect();
        ServerRecord { workers, differs, ..ServerRecord::default() }
    }

    /// Returns results whose answers have this size and these keys.
    fn measured(sizes: [u64; 2], keys: &[&str]) -> TargetRecord {
        let [smallest, largest] = sizes;
        let body_bytes = Some(BodySizes { smallest, largest });
        let step = Summary { name: "hello".to_owned(), body_bytes, ..Summary::default() };
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        TargetRecord {
            steps: vec![step],
            json_keys: BTreeMap::from([("hello".to_owned(), keys)]),
            ..TargetRecord::default()
        }
    }

    fn said(arms: &[Compared<'_>], cpus: usize) -> Vec<String> {
        unlike(arms, cpus).into_iter().map(|difference| difference.what).collect()
    }

    #[test]
    fn equal_arms_have_no_differences() {
        let (one, other) = (arm("a", 2, "direct"), arm("b", 2, "direct"));
        let server = server(2, &["uvloop"]);
        let (few, many) = (measured([10, 20], &["message"]), measured([15, 15], &["message"]));
        let limits = LimitsRecord::default();
        let compared = |arm, measured| Compared {
            arm,
            quick: false,
            limits,
            warmup_s: 1.0,
            server: &server,
            measured,
        };
        assert_eq!(said(&[compared(&one, Some(&few)), compared(&other, Some(&many))], 2), [""; 0]);
        assert_eq!(said(&[compared(&one, Some(&few)), compared(&other, None)], 0), [""; 0]);
    }

    #[test]
    fn each_difference_names_its_arms() {
        let (one, other) = (arm("a", 1, "direct"), arm("b", 4, "other"));
        let servers = [server(1, &["uvloop"]), server(4, &[])];
        let results = [measured([25, 25], &["message"]), measured([1_026, 1_030], &["greeting"])];
        let compared = |arm, at: usize| {
            let (server, measured) = (&servers[at], Some(&results[at]));
            let limits = LimitsRecord { cpus: Some((at + 1) as f64), memory_bytes: None };
            Compared { arm, quick: false, limits, warmup_s: 1.0, server, measured }
        };
        assert_eq!(
            said(&[compared(&one, 0), compared(&other, 1)], 2),
            [
                "a: scenario direct; b: scenario other",
                "a: 1 worker process; b: 4 worker processes",
                "a: 1 CPU; b: 2 CPUs",
                "b: more worker processes than the 2 CPUs of the targets",
                "a: uvloop",
                "a: answers to hello of 25 bytes; b: answers to hello of 1,026 to 1,030 bytes",
                "a: answers to hello have the JSON keys message; b: answers to hello have the JSON keys greeting",
            ]
        );
    }

    #[test]
    fn a_claim_is_confounded_if_its_arms_differ_twice() {
        let arms = vec![arm("a", 1, "direct"), arm("a4", 4, "direct"), arm("b", 1, "direct")];
        let arms = arms.into_iter().map(|arm| Arm { target: arm.name[..1].to_owned(), ..arm });
        let group = Group {
            name: "direct".to_owned(),
            description: None,
            rounds: 5,
            quick_one_start: false,
            in_quick_form: true,
            quick_rounds: 5,
            capacity: None,
            quick_capacity: None,
            backend_alone: None,
            arms: arms.collect(),
        };
        let mean = || Metric::Time(Timing::Latency, Statistic::Mean);
        let claim = |statement| Claim {
            says: None,
            group: 0,
            needs_cpus: 0,
            full_only: None,
            metric: mean(),
            statement,
        };
        assert_eq!(confounded(&claim(Statement::Order(vec![0, 1])), &group), None);
        assert_eq!(confounded(&claim(Statement::Order(vec![0, 2])), &group), None);
        let twice = Statement::Equal { arms: [1, 2], within: 0.1 };
        assert_eq!(
            confounded(&claim(twice), &group).unwrap(),
            "\"mean of a4 equals mean of b within 10 %\": a4 and b differ in target and server workers"
        );
    }
}
