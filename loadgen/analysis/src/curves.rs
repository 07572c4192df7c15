//! Fits scaling curves to targets that were measured in several sizes.

use std::collections::BTreeSet;

use super::figures::rates;
use super::limits_in_force::cpus;
use super::scaling::{FEWEST_SIZES_AMDAHL, Observation, Unit, fit, sentence};
use crate::record::{
    Bottleneck, FEWEST_ROUNDS, LoadRecord, RunRecord, Scaling, ScalingRecord, TargetRecord,
};
use loadgen_text::counted;

/// Unit of the sizes of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Replicas behind a load balancer.
    Replicas,
    /// Worker processes of a server.
    ServerWorkers,
}

impl Counted {
    fn unit(self) -> Unit<'static> {
        match self {
            Self::Replicas => Unit { one: "replica", many: "replicas" },
            Self::ServerWorkers => Unit { one: "server worker", many: "server workers" },
        }
    }

    fn size(self, target: &TargetRecord) -> Option<u32> {
        match self {
            Self::Replicas => target.server.replicas,
            Self::ServerWorkers => Some(target.server.workers).filter(|workers| *workers > 0),
        }
    }
}

/// Returns a curve for each target of a run that was measured in at least three sizes.
#[must_use]
pub fn curves_of_run(record: &RunRecord) -> Vec<ScalingRecord> {
    if !grows_with_the_target(&record.load) {
        return Vec::new();
    }
    let users = || record.targets.iter().map(|target| target.users);
    let has_users = users().min() != users().max();
    let name = |target: &TargetRecord, by: Counted| {
        let mut name = target.target.clone();
        if by == Counted::Replicas && target.server.workers > 1 {
            name += &format!(" ×{}", target.server.workers);
        }
        if by == Counted::ServerWorkers
            && let Some(replicas) = target.server.replicas
        {
            name += &format!(", {}", counted(replicas.into(), "replica"));
        }
        if has_users {
            name += &format!(", {}", counted(target.users.into(), "user"));
        }
        name
    };
    let cpus = cpus(&record.environment, "target");
    let of = |counted| {
        let targets = record.targets.iter().map(move |target| (name(target, counted), target));
        curves(counted, cpus, targets)
    };
    [Counted::Replicas, Counted::ServerWorkers].into_iter().flat_map(of).collect()
}

/// Returns whether the rate under this load follows from the target: not at a fixed rate, and not if
/// users pause.
#[must_use]
pub fn grows_with_the_target(load: &LoadRecord) -> bool {
    load.rate_per_s.is_none() && load.think_time.is_none() && load.stages.is_empty()
}

/// Returns a curve for each name under which targets of at least three sizes were measured, from the
/// names and the targets. A size at which something other than the target limited the rate is left
/// out. `cpus` is the number of CPUs of all sizes together; 0 if unknown.
#[must_use]
pub fn curves<'a>(
    counted: Counted,
    cpus: usize,
    targets: impl Iterator<Item = (String, &'a TargetRecord)>,
) -> Vec<ScalingRecord> {
    let mut lines: Vec<(String, Vec<(u32, &TargetRecord)>)> = Vec::new();
    for (name, target) in targets {
        let Some(size) = counted.size(target) else { continue };
        match lines.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sizes)) => sizes.push((size, target)),
            None => lines.push((name, vec![(size, target)])),
        }
    }
    let lines = lines.into_iter().filter(|(_, sizes)| distinct(sizes).len() >= FEWEST_SIZES_AMDAHL);
    lines.map(|(name, sizes)| curve(name, counted, cpus, &sizes)).collect()
}

fn distinct(sizes: &[(u32, &TargetRecord)]) -> BTreeSet<u32> {
    sizes.iter().map(|(size, _)| *size).collect()
}

fn curve(
    name: String,
    counted: Counted,
    cpus: usize,
    sizes: &[(u32, &TargetRecord)],
) -> ScalingRecord {
    let (own, limited): (Vec<_>, Vec<_>) =
        sizes.iter().partition(|(_, target)| target.bottleneck == Some(Bottleneck::Target));
    let observations: Vec<Observation> = own
        .iter()
        .flat_map(|(size, target)| {
            // With slices, a round of the curve is a start.
            let by_round = rates(&target.rounds).into_iter();
            by_round.map(|(round, rate)| Observation { size: *size, round, rate })
        })
        .collect();
    let unit = counted.unit();
    let counts = unit.many.to_owned();
    let (mut says, fits) = match fit(&observations) {
        Ok(fits) => (finding(&fits, unit), Some(fits)),
        Err(why) => (format!("no curve: {why}"), None),
    };
    if !limited.is_empty() {
        let sizes: Vec<String> = distinct(&limited).iter().map(ToString::to_string).collect();
        says += &format!(
            "; without {} {counts}, where the target was not found to be the limit",
            sizes.join(", ")
        );
    }
    let most = own.iter().map(|(_, target)| target.server.processes()).max().unwrap_or(0);
    if cpus > 0 && usize::try_from(most).is_ok_and(|most| most > cpus) {
        let cpus = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        says += &format!("; up to {most} processes shared {cpus}, so this is no curve of CPUs");
    }
    ScalingRecord { name, counts, says, fits }
}

/// Returns the sentence about the fits. Few rounds show only the measured ratio.
fn finding(fits: &Scaling, unit: Unit<'_>) -> String {
    let Some(last) = fits.speedups.last().filter(|_| fits.rounds < FEWEST_ROUNDS) else {
        return sentence(fits, unit);
    };
    format!(
        "measured {:.2}-fold from {} to {} {}; {} {} too few to show a change",
        last.fold.value,
        fits.smallest,
        last.size,
        unit.many,
        fits.rounds,
        if fits.rounds == 1 { "round is" } else { "rounds are" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RoundRecord, ServerRecord};
    use loadgen_measure::Summary;

    fn target(name: &str, replicas: u32, rates: &[f64]) -> TargetRecord {
        let round = |(number, rate): (u32, &f64)| RoundRecord {
            round: number,
            whole: true,
            total: Summary { rate_per_s: *rate, ..Summary::default() },
            ..RoundRecord::default()
        };
        TargetRecord {
            target: name.to_owned(),
            server: ServerRecord {
                workers: 1,
                replicas: Some(replicas),
                ..ServerRecord::default()
            },
            rounds: (1..).zip(rates).map(round).collect(),
            bottleneck: Some(Bottleneck::Target),
            ..TargetRecord::default()
        }
    }

    const SIZES: [u32; 4] = [1, 2, 4, 8];

    fn targets(rounds: usize) -> Vec<TargetRecord> {
        let noise = [1.0, 1.01, 0.99, 1.005, 0.995];
        let rates = |size: u32| noise.map(|noise| 100.0 * f64::from(size) * noise);
        SIZES.iter().map(|size| target("a", *size, &rates(*size)[..rounds])).collect()
    }

    fn run(targets: Vec<TargetRecord>) -> RunRecord {
        RunRecord { targets, ..RunRecord::default() }
    }

    #[test]
    fn three_sizes_of_a_target_make_a_curve() {
        let mut all = targets(5);
        all.push(target("b", 1, &[100.0; 5]));
        let found = curves_of_run(&run(all));
        assert_eq!(found.len(), 1, "b has one size");
        assert_eq!((found[0].name.as_str(), found[0].counts.as_str()), ("a", "replicas"));
        assert!(found[0].says.contains("8.0-fold from 1 to 8 replicas"), "{}", found[0].says);
    }

    #[test]
    fn sizes_that_the_target_did_not_limit_are_left_out_by_name() {
        let mut all = targets(5);
        all[3].bottleneck = Some(Bottleneck::Backend("balancer".to_owned()));
        let says = &curves_of_run(&run(all.clone()))[0].says;
        assert!(says.contains("4.0-fold from 1 to 4 replicas"), "{says}");
        assert!(says.contains("without 8 replicas, where the target was not found"), "{says}");
        all[2].bottleneck = None;
        let curve = &curves_of_run(&run(all))[0];
        assert!(curve.fits.is_none() && curve.says.starts_with("no curve: "), "{}", curve.says);
    }

    #[test]
    fn a_load_that_does_not_grow_with_the_target_has_no_curve() {
        let mut record = run(targets(5));
        record.load.rate_per_s = Some(100.0);
        assert_eq!(curves_of_run(&record), []);
    }

    #[test]
    fn few_rounds_show_no_change() {
        let says = &curves_of_run(&run(targets(2)))[0].says;
        assert_eq!(
            says,
            "measured 8.00-fold from 1 to 8 replicas; 2 rounds are too few to show a change"
        );
    }

    #[test]
    fn more_processes_than_cpus_are_named() {
        let mut record = run(targets(5));
        record.environment.cpus.insert("target".to_owned(), vec![1]);
        let says = &curves_of_run(&record)[0].says;
        assert!(
            says.ends_with("; up to 8 processes shared 1 CPU, so this is no curve of CPUs"),
            "{says}"
        );
    }
}
