//! Checks whether a target's processes shared its work and had the resources that they needed.

use super::verdict;
use crate::record::{RoundRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_measure::ResourceRecord;
use loadgen_text::counted;

/// Share of the busiest server worker's CPU time (0 to 1) below which another server worker counts
/// as having too little to do.
const SHARE: f64 = 0.5;

/// CPU time of the busiest server worker, in % of a core, below which all server workers are too
/// idle to be compared.
const BUSY_PERCENT: f64 = 10.0;

/// Least number of open files, in % of the process's limit, for a verdict: the process will soon
/// accept no connection.
const OPEN_FILES_PERCENT: f64 = 95.0;

/// Returns a verdict if some of a target's server workers did much less than others, in most
/// rounds.
pub(super) fn unequal_workers(target: &TargetRecord) -> Option<Verdict> {
    let workers = usize::try_from(target.server.processes()).ok().filter(|workers| *workers > 1)?;
    let rounds = target.rounds.iter().filter_map(|round| extremes(round, workers));
    let unequal: Vec<(f64, f64)> = rounds
        .filter(|(busiest, least)| *busiest >= BUSY_PERCENT && *least < SHARE * busiest)
        .collect();
    if unequal.len() * 2 <= target.rounds.len() {
        return None;
    }
    let worst =
        |one: &&(f64, f64), other: &&(f64, f64)| (one.1 / one.0).total_cmp(&(other.1 / other.0));
    let (busiest, least) = unequal.iter().min_by(worst)?;
    let in_pods = target.rounds.iter().any(|round| round.target_pods.is_some());
    let of = if in_pods { " in the pods" } else { "" };
    let message = format!(
        "the {workers} server workers{of} got unequal shares in {} of {}: in the worst round, one \
         used {busiest:.0} % of a core and another {least:.0} %",
        unequal.len(),
        counted(target.rounds.len() as u64, "round")
    );
    let advice = match in_pods {
        true => {
            "the cluster gives each connection to a pod at random: use more users, or fewer pods"
        }
        false => {
            "a connection stays with the server worker that accepted it: use more users, or \
             measure with fewer server workers"
        }
    };
    Some(verdict(target, VerdictKind::UnequalWorkers, message, advice))
}

/// Returns the CPU time of the busiest and of the least busy server worker, in % of a core; `None`
/// if too few processes are known. Helper processes of the target have less to do than any server
/// worker, so the `workers` busiest processes are the server workers.
fn extremes(round: &RoundRecord, workers: usize) -> Option<(f64, f64)> {
    let processes = &round.resources.get("target")?.processes_percent;
    Some((*processes.first()?, *processes.get(workers - 1)?))
}

/// Returns a verdict if a service had nearly as many files open as its limit allows.
pub(super) fn open_files(target: &TargetRecord) -> Option<Verdict> {
    let short = |(_, used): &(&String, &ResourceRecord)| {
        used.open_files_of_limit_percent >= OPEN_FILES_PERCENT
    };
    let (service, used) = target.resources.iter().find(short)?;
    let message = format!(
        "a process of {service} had {:.0} % of its limit of files and sockets open",
        used.open_files_of_limit_percent
    );
    let advice = "at the limit, a process accepts no more connections: raise the limit (ulimit -n), or \
                  use fewer users";
    Some(verdict(target, VerdictKind::OpenFiles, message, advice))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::{LatencyOverRounds, ServerRecord};
    use loadgen_measure::Summary;

    fn target(workers: u32, rounds: &[&[f64]]) -> TargetRecord {
        let round = |processes: &&[f64]| {
            let used = ResourceRecord {
                processes_percent: processes.to_vec(),
                ..ResourceRecord::default()
            };
            let resources = BTreeMap::from([("target".to_owned(), used)]);
            RoundRecord { resources, ..RoundRecord::default() }
        };
        TargetRecord {
            name: "sanic".to_owned(),
            target: "sanic".to_owned(),
            users: 1,
            url: String::new(),
            transport: None,
            server: ServerRecord { workers, ..ServerRecord::default() },
            steps: Vec::new(),
            total: Summary::default(),
            probe: None,
            groups: Vec::new(),
            flows: Vec::new(),
            stages: Vec::new(),
            latency_histograms: BTreeMap::new(),
            uncoordinated_us: None,
            latency_over_rounds_us: LatencyOverRounds::default(),
            rate_over_rounds_per_s: None,
            failed_over_rounds_percent: None,
            steps_over_rounds: BTreeMap::new(),
            effective_samples: BTreeMap::new(),
            counters: BTreeMap::new(),
            json_keys: BTreeMap::new(),
            proofs: Vec::new(),
            rounds: rounds.iter().map(round).collect(),
            resources: BTreeMap::new(),
            bottleneck: None,
            profile: None,
            cpu_us_per_request_over_rounds: BTreeMap::new(),
            workers: Vec::new(),
        }
    }

    #[test]
    fn workers_with_less_than_half_are_named() {
        let even: &[f64] = &[50.0, 45.0, 0.5];
        let uneven: &[f64] = &[80.0, 20.0, 0.5];
        assert_eq!(unequal_workers(&target(2, &[even, even, uneven])), None, "one round of three");
        assert_eq!(unequal_workers(&target(1, &[uneven])), None, "its own helpers");
        assert_eq!(unequal_workers(&target(2, &[&[6.0, 1.0]])), None, "idle");
        assert_eq!(unequal_workers(&target(4, &[&[90.0]])), None, "not known");
        let said = unequal_workers(&target(2, &[even, uneven, &[90.0, 9.0]])).unwrap();
        assert_eq!(
            said.message,
            "the 2 server workers got unequal shares in 2 of 3 rounds: in the worst round, one used \
             90 % of a core and another 9 %"
        );
    }

    #[test]
    fn a_process_short_of_files_is_named() {
        let mut target = target(1, &[]);
        assert_eq!(open_files(&target), None);
        let used =
            ResourceRecord { open_files_of_limit_percent: 99.6, ..ResourceRecord::default() };
        target.resources.insert("redis".to_owned(), used);
        assert!(open_files(&target).unwrap().message.contains("redis had 100 %"));
    }
}
