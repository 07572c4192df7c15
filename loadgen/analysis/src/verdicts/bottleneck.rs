//! Checks whether the target limited the rate.

use std::collections::BTreeSet;

use super::verdict;
use crate::bottleneck::part_of;
use crate::record::{
    Bottleneck, Environment, RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind,
    WorkerRecord,
};
use loadgen_measure::BALANCER;
use loadgen_text::counted;

/// Least utilization of the generator's cores, in %, at which the generator may have limited the
/// rate.
const BUSY_PERCENT: f64 = 90.0;

/// Returns a verdict if the generator, a backend or the network was the bottleneck. Otherwise,
/// returns a verdict if the generator used nearly all of its CPU time.
pub fn bottleneck(target: &TargetRecord, environment: &Environment) -> Option<Verdict> {
    let bound = target.bottleneck.as_ref().filter(|bottleneck| !bottleneck.is_of_target());
    let (kind, who, advice) = match bound {
        None => return generator_busy(target, environment),
        Some(Bottleneck::Backend(name)) if name == BALANCER => (
            VerdictKind::BackendBound,
            BALANCER,
            "the load balancer has the CPUs of the backends: use fewer users, or a machine with more CPUs",
        ),
        Some(Bottleneck::Backend(name)) => (
            VerdictKind::BackendBound,
            name.as_str(),
            "make the servers the limit before you compare them: give the backend less work or more CPU",
        ),
        Some(Bottleneck::Network) => return Some(network(target)),
        Some(_) => (
            VerdictKind::GeneratorBound,
            "generator",
            "look for other programs on loadgen's CPUs; give loadgen more CPUs or hosts, or use fewer users",
        ),
    };
    let rounds = &target.rounds;
    let found = rounds.iter().filter(|round| round.bottleneck.as_ref() == bound).count();
    let wanted = |service: &str| {
        let used = target.resources.get(service)?;
        let percent = (used.cpu_percent + used.cpu_wait_percent).round();
        Some(format!("{service} ran or waited for a CPU for {percent} % of the time"))
    };
    let elsewhere = (who == "generator").then(|| workers_at_limit(target)).flatten();
    let both = [who, "target"].into_iter().filter_map(wanted).chain(elsewhere);
    let both: Vec<String> = both.collect();
    let name = if who == "generator" { "loadgen itself" } else { who };
    let message = format!(
        "{name} was the bottleneck in {found} of {}, so the rate is not the server's and is \
         not ranked ({})",
        counted(rounds.len() as u64, "round"),
        both.join(", ")
    );
    Some(verdict(target, kind, message, advice))
}

/// Returns how many workers on other hosts were at the limit of their CPUs, in words; `None` without such workers.
fn workers_at_limit(target: &TargetRecord) -> Option<String> {
    let elsewhere = target.workers.iter().filter(|worker| worker.host.is_some());
    let limited: Vec<bool> = elsewhere.map(WorkerRecord::is_at_limit).collect();
    let count = limited.iter().filter(|is_limited| **is_limited).count();
    let all = counted(limited.len() as u64, "worker");
    (count > 0).then(|| format!("{count} of {all} had no more CPU"))
}

/// Returns the verdict that the network was the bottleneck, which names the fullest network link of
/// the affected rounds.
fn network(target: &TargetRecord) -> Verdict {
    let full = || {
        let full = |round: &&RoundRecord| round.bottleneck == Some(Bottleneck::Network);
        target.rounds.iter().filter(full)
    };
    let links = full().filter_map(|round| round.machine.fullest_link.as_ref());
    let fullest = links.max_by(|a, b| a.busy_percent.total_cmp(&b.busy_percent));
    let what = fullest.map(|link| format!("{} was {:.0} % full", link.name, link.busy_percent));
    let message = format!(
        "the network was the bottleneck in {} of {}, so the rate is not the server's and is \
         not ranked ({})",
        full().count(),
        counted(target.rounds.len() as u64, "round"),
        what.unwrap_or_default()
    );
    let advice = "request smaller responses, or use a faster link or more hosts";
    verdict(target, VerdictKind::NetworkBound, message, advice)
}

/// Least CPU time of other programs that disturbs a test, in % of one core: the first number for
/// all CPUs of the test together, the second for each CPU. The larger total applies.
const OTHERS_PERCENT: (f64, f64) = (10.0, 3.0);

/// Returns whether a test on `cpus` CPUs is disturbed if other programs use `others_percent` % of
/// one core on these CPUs.
pub fn is_disturbed(others_percent: f64, cpus: usize) -> bool {
    others_percent >= OTHERS_PERCENT.0.max(OTHERS_PERCENT.1 * cpus as f64)
}

/// Returns a verdict if other programs used too much CPU time on the CPUs of the test.
pub(super) fn disturbed(record: &RunRecord) -> Option<Verdict> {
    let cpus = cpus_of_test(&record.environment);
    let rounds = || record.targets.iter().flat_map(|target| &target.rounds);
    let others = rounds().filter_map(|round| Some((round.others_percent?, round)));
    let disturbed = others.filter(|(percent, _)| is_disturbed(*percent, cpus)).collect::<Vec<_>>();
    let (most, round) = disturbed.iter().copied().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let mut busiest: Vec<_> = round.busiest_others.iter().collect();
    busiest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let named: Vec<String> =
        busiest.into_iter().map(|(name, percent)| format!("{name} {percent:.0} %")).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let advice = "stop the other programs, or measure again after they end";
    let of_server = match record.environment.runtime == "url" {
        true => {
            "; programs that work for the server count as others, unless it started them and they ran \
                 for a second or more, or it has TCP connections to them"
        }
        false => "",
    };
    Some(Verdict {
        kind: VerdictKind::Disturbed,
        target: None,
        message: format!(
            "other programs used up to {most:.0} % of a core on the CPUs of the test{named}, in {} \
             of {}",
            disturbed.len(),
            counted(rounds().count() as u64, "round")
        ),
        advice: format!("{advice}{of_server}"),
    })
}

/// Returns the number of CPUs of the test: all that loadgen may use, unless some are reserved.
pub fn cpus_of_test(environment: &Environment) -> usize {
    match environment.cpus.values().flatten().collect::<BTreeSet<_>>().len() {
        0 => environment.cores,
        reserved => reserved,
    }
}

/// Returns a verdict if the generator used nearly all of its CPU time. If generator and backends
/// have the same CPUs, the CPU time of the backends counts too.
fn generator_busy(target: &TargetRecord, environment: &Environment) -> Option<Verdict> {
    let cpus = |part: &str| environment.cpus.get(part).filter(|cpus| !cpus.is_empty());
    let shares_with_backends = cpus("generator").is_some() && cpus("generator") == cpus("backends");
    let used: f64 = target
        .resources
        .iter()
        .filter(|(name, _)| match part_of(name) {
            "generator" => true,
            "backends" => shares_with_backends,
            _ => false,
        })
        .map(|(_, used)| used.cpu_percent)
        .sum();
    let cores = cpus("generator").map_or(environment.cores, Vec::len);
    if used < BUSY_PERCENT * cores as f64 {
        return None;
    }
    let who = if shares_with_backends { "the generator and the backends" } else { "the generator" };
    let message = format!(
        "{who} used {used:.0} % of a core, with {cores} core(s) available, and may have limited the \
         rate"
    );
    let advice = "treat this rate as a lower bound; give the generator more cores or hosts";
    Some(verdict(target, VerdictKind::GeneratorBusy, message, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::ResourceRecord;

    /// Returns the verdict on a target whose services used this much CPU, in % of one core, where
    /// generator and backends share a CPU.
    fn said(used: &[(&str, f64)]) -> Option<String> {
        let of = |(name, cpu_percent): &(&str, f64)| {
            let used = ResourceRecord { cpu_percent: *cpu_percent, ..ResourceRecord::default() };
            ((*name).to_owned(), used)
        };
        let resources = used.iter().map(of).collect();
        let target = TargetRecord { resources, ..TargetRecord::default() };
        let cpus = [("target", vec![1]), ("backends", vec![0]), ("generator", vec![0])];
        let cpus = cpus.map(|(part, cpus)| (part.to_owned(), cpus)).into();
        let environment = Environment { cpus, ..Environment::default() };
        generator_busy(&target, &environment).map(|verdict| verdict.message)
    }

    /// Returns the message of the verdict on two rounds, in the second of which other programs used
    /// this much CPU, for a server at a URL on a machine with two CPUs.
    fn beside(others_percent: Option<f64>) -> Option<String> {
        let busiest_others =
            [("cc1", 9.0), ("rustc", 81.6)].map(|(name, it)| (name.to_owned(), it));
        let second =
            RoundRecord { others_percent, busiest_others: busiest_others.into(), ..calm() };
        let rounds = vec![calm(), second];
        let targets = vec![TargetRecord { rounds, ..TargetRecord::default() }];
        let environment =
            Environment { cores: 2, runtime: "url".to_owned(), ..Environment::default() };
        let record = RunRecord { targets, environment, ..RunRecord::default() };
        disturbed(&record).map(|verdict| verdict.message)
    }

    fn calm() -> RoundRecord {
        RoundRecord { others_percent: Some(4.0), ..RoundRecord::default() }
    }

    #[test]
    fn other_programs_are_named_from_a_threshold_on() {
        assert_eq!(
            beside(Some(95.2)).unwrap(),
            "other programs used up to 95 % of a core on the CPUs of the test (rustc 82 %, cc1 9 %), in \
             1 of 2 rounds"
        );
        assert_eq!(beside(Some(9.9)), None);
        // The processes of the server are not known.
        assert_eq!(beside(None), None);
    }

    #[test]
    fn only_services_on_the_cpus_of_the_generator_make_it_busy() {
        let busy = said(&[("target", 99.0), ("redis", 50.0), ("generator", 45.0)]).unwrap();
        assert!(busy.contains("the generator and the backends used 95 % of a core"), "{busy}");
        // Upstreams have the CPUs of the target.
        assert_eq!(said(&[("target", 13.0), ("flask", 81.0), ("generator", 10.0)]), None);
    }
}
