//! Records the resources that services used, round by round and over rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::phases::answered;
use crate::analysis::by_start;
use crate::experiment::measured::{MeasuredRound, held};
use crate::lab::cpus::available;
use crate::measure::{ContainerRecord, IDLE_TARGETS, PARTNER, PROBE, ResourceRecord};
use crate::record::{Environment, OverRounds, RoundRecord};

/// Shortest hold for which the CPU use of other programs is told: it is a difference of times with a
/// resolution of 10 ms.
const SHORTEST: Duration = Duration::from_millis(500);

/// Returns the CPU use of other programs on the CPUs of the test, in % of one CPU; `None` if not
/// known. The test of a server that ran already has all CPUs that loadgen may use.
pub fn others(round: &MeasuredRound, environment: &Environment) -> Option<f64> {
    let mut cpus: BTreeSet<usize> = environment.cpus.values().flatten().copied().collect();
    if cpus.is_empty() && round.observed.server_percent.is_some() {
        cpus.extend(available());
    }
    let known = round.held >= SHORTEST
        && !cpus.is_empty()
        && !round.observed.machine.programs_percent.is_empty();
    known.then(|| round.observed.others_percent(&cpus).max(0.0))
}

/// Numbers of successful answers while the full load was held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Answered {
    /// Answers to the load.
    load: u64,
    /// Answers that the partners of duets gave to their own load; 0 in rounds over one contender.
    by_partner: u64,
    /// Answers to the probe; 0 without a probe.
    probe: u64,
}

impl Answered {
    /// Returns the numbers of these rounds together.
    pub(super) fn of<'a>(rounds: impl IntoIterator<Item = &'a MeasuredRound>) -> Self {
        rounds.into_iter().fold(Self::default(), |all, round| Self {
            load: all.load + answered(&held(&round.results.series)),
            by_partner: all.by_partner + round.partner.map_or(0, |partner| partner.answered),
            probe: all.probe
                + round.probe.as_ref().map_or(0, |probe| answered(&held(&probe.series))),
        })
    }

    /// Returns the number of answers that a service worked for.
    fn with(self, service: &str) -> u64 {
        let Self { load, by_partner, probe } = self;
        match service {
            "target" => load + probe,
            "generator" => load + by_partner,
            PARTNER => by_partner,
            PROBE => probe,
            IDLE_TARGETS => 0,
            // Backends and balancers.
            _ => load + by_partner + probe,
        }
    }
}

/// Combines each service's resources over rounds: adds up CPU seconds,
/// averages percentages and mean memory, and keeps the maximum memory.
/// `answered` has the numbers of successful answers in these rounds.
pub(super) fn resources<'a>(
    rounds: impl Iterator<Item = &'a BTreeMap<String, ResourceRecord>>,
    answered: &Answered,
) -> BTreeMap<String, ResourceRecord> {
    let mut by_service: BTreeMap<&String, Vec<&ResourceRecord>> = BTreeMap::new();
    for (name, usage) in rounds.flatten() {
        by_service.entry(name).or_default().push(usage);
    }
    let record = |(name, usages): (&String, Vec<&ResourceRecord>)| {
        let memory_means = usages.iter().map(|usage| usage.memory_mean_bytes).sum::<u64>();
        // Processes and samples differ between rounds: only those of a single round are kept.
        let of_round = if let [round] = usages[..] { Some(round) } else { None };
        let mean = |of: fn(&ResourceRecord) -> f64| {
            usages.iter().map(|usage| of(usage)).sum::<f64>() / usages.len() as f64
        };
        let mean_if_known = |of: fn(&ResourceRecord) -> Option<f64>| {
            let known: Option<Vec<f64>> = usages.iter().map(|usage| of(usage)).collect();
            known.map(|all| all.iter().sum::<f64>() / all.len() as f64)
        };
        let sum = ResourceRecord {
            cpu_s: usages.iter().map(|usage| usage.cpu_s).sum(),
            cpu_percent: mean(|usage| usage.cpu_percent),
            cpu_wait_percent: mean(|usage| usage.cpu_wait_percent),
            busiest_thread_percent: mean_if_known(|usage| usage.busiest_thread_percent),
            longest_wait_percent: mean_if_known(|usage| usage.longest_wait_percent),
            context_switches_per_s: mean_if_known(|usage| usage.context_switches_per_s),
            processes_percent: of_round
                .map(|one| one.processes_percent.clone())
                .unwrap_or_default(),
            samples: of_round.map(|one| one.samples.clone()).unwrap_or_default(),
            open_files_max: usages.iter().filter_map(|usage| usage.open_files_max).max(),
            open_files_of_limit_percent: usages
                .iter()
                .map(|usage| usage.open_files_of_limit_percent)
                .fold(0.0, f64::max),
            memory_max_bytes: usages.iter().map(|usage| usage.memory_max_bytes).max().unwrap_or(0),
            memory_mean_bytes: memory_means / usages.len() as u64,
            memory_idle_bytes: mean_if_known(|usage| Some(usage.memory_idle_bytes? as f64))
                .map(|bytes| bytes as u64),
            container: ContainerRecord::over_rounds(
                &usages.iter().map(|usage| usage.container).collect::<Vec<_>>(),
            ),
            ..ResourceRecord::default()
        };
        (name.clone(), sum.over(answered.with(name)))
    };
    by_service.into_iter().map(record).collect()
}

/// Summarizes each service's CPU time per request over whole rounds; with slices, over starts. Services
/// for which a whole round has no such value are left out.
pub(super) fn cpu_over_rounds(
    rounds: &[RoundRecord],
    one_start: bool,
) -> BTreeMap<String, OverRounds> {
    let over = |name: &String| {
        let of = |round: &RoundRecord| round.resources.get(name)?.cpu_us_per_request;
        Some((name.clone(), OverRounds::of(by_start(rounds, of)?.into_values(), one_start)?))
    };
    let first = rounds.iter().find(|round| round.whole);
    first.into_iter().flat_map(|first| first.resources.keys()).filter_map(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_works_for_its_own_answers() {
        let answered = Answered { load: 1_000, by_partner: 0, probe: 20 };
        let of = |service: &str| answered.with(service);
        assert_eq!(["target", "redis", "generator", PROBE].map(of), [1_020, 1_020, 1_000, 20]);
        let duet = Answered { load: 500, by_partner: 400, probe: 0 };
        let of = |service: &str| duet.with(service);
        assert_eq!(["target", "redis", "generator", PARTNER].map(of), [500, 900, 900, 400]);
    }
}
