//! Checks whether the machine withheld CPU time or memory from all programs, and whether PostgreSQL
//! wrote to memory instead of a disk.

use crate::record::{RoundRecord, RunRecord, Verdict, VerdictKind};
use loadgen_text::counted;

/// Least share of all CPU time, in %, that the hypervisor must give to other machines for a
/// verdict.
const STOLEN_PERCENT: f64 = 2.0;

/// Least share of the time, in %, for which a CPU limit must stop processes for a verdict.
const THROTTLED_PERCENT: f64 = 1.0;

/// Least number of swapped memory pages for a verdict. Fewer pages (usually 400 KB) belong to
/// programs that sleep.
const SWAPPED_PAGES: u64 = 100;

/// Returns a verdict for each kind of withheld resource (stolen CPU time, throttling, swapping)
/// that affected any round, with the worst value of all rounds.
pub(super) fn machine(record: &RunRecord) -> Vec<Verdict> {
    let rounds: Vec<&RoundRecord> =
        record.targets.iter().flat_map(|target| &target.rounds).collect();
    let worst = |of: &dyn Fn(&RoundRecord) -> f64, least: f64| {
        let found: Vec<f64> =
            rounds.iter().map(|r| of(r)).filter(|value| *value >= least).collect();
        let worst = found.iter().copied().max_by(f64::total_cmp)?;
        Some((worst, format!("in {} of {}", found.len(), counted(rounds.len() as u64, "round"))))
    };
    let throttled = |round: &RoundRecord| {
        let throttled_ms = round.machine.throttled_ms;
        if round.held_s > 0.0 { throttled_ms / 10.0 / round.held_s } else { 0.0 }
    };
    let stolen = worst(&|round| round.machine.stolen_percent, STOLEN_PERCENT);
    let throttled = worst(&throttled, THROTTLED_PERCENT);
    let swapped = worst(&|round| round.machine.swapped_pages as f64, SWAPPED_PAGES as f64);
    let verdict = |kind, message, advice: &str| Verdict {
        kind,
        target: None,
        message,
        advice: advice.to_owned(),
    };
    let stolen = stolen.map(|(percent, rounds)| {
        let message = format!(
            "the hypervisor gave up to {percent:.0} % of the CPU time to other machines, {rounds}"
        );
        verdict(VerdictKind::Stolen, message, "measure on dedicated CPUs, or measure more rounds")
    });
    let throttled = throttled.map(|(percent, rounds)| {
        let message = format!(
            "a CPU limit stopped loadgen and the processes that loadgen started for up to \
             {percent:.0} % of the time, {rounds}"
        );
        verdict(VerdictKind::Throttled, message, "raise the CPU limit of the container")
    });
    let swapped = swapped.map(|(pages, rounds)| {
        let message = format!("the machine swapped up to {pages:.0} pages of memory, {rounds}");
        verdict(VerdictKind::Swapped, message, "free memory, or measure with less in memory")
    });
    stolen.into_iter().chain(throttled).chain(swapped).collect()
}

/// Returns a verdict if another loadgen measured on the same machine during a round.
pub(super) fn measured_together(record: &RunRecord) -> Option<Verdict> {
    let rounds = || record.targets.iter().flat_map(|target| &target.rounds);
    let together = rounds().filter(|round| round.other_loadgen).count();
    (together > 0).then(|| Verdict {
        kind: VerdictKind::MeasuredTogether,
        target: None,
        message: format!(
            "another loadgen measured on this machine at the same time, in {together} of {} rounds",
            rounds().count()
        ),
        advice: "measure one after the other: without --anyway, the second run waits".to_owned(),
    })
}

/// Returns a verdict if PostgreSQL's data was in memory, because commits then did not wait for a
/// disk.
pub(super) fn data_in_memory(record: &RunRecord) -> Option<Verdict> {
    let data = record.environment.postgres_data.as_ref().filter(|data| data.in_memory)?;
    Some(Verdict {
        kind: VerdictKind::DataInMemory,
        target: None,
        message: format!(
            "PostgreSQL's data was on {}, which is memory, so commits did not wait for a disk",
            data.filesystem
        ),
        advice: "set TMPDIR to a folder on a disk, or give containers a volume on a disk"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Environment, FilesystemRecord, TargetRecord};
    use loadgen_measure::MachineRecord;

    /// Returns the verdicts on a run of two rounds of two seconds each; `machine` describes what
    /// the machine withheld in the second round.
    fn said(machine: MachineRecord) -> Vec<(VerdictKind, String)> {
        let calm = RoundRecord { held_s: 2.0, ..RoundRecord::default() };
        let rounds = vec![calm.clone(), RoundRecord { machine, ..calm }];
        let targets = vec![TargetRecord { rounds, ..TargetRecord::default() }];
        let record = RunRecord { targets, ..RunRecord::default() };
        super::machine(&record).into_iter().map(|v| (v.kind, v.message)).collect()
    }

    #[test]
    fn withheld_resources_are_reported_from_a_threshold_on() {
        let stolen = |stolen_percent| MachineRecord { stolen_percent, ..MachineRecord::default() };
        let throttled = |throttled_ms| MachineRecord { throttled_ms, ..MachineRecord::default() };
        let swapped = |swapped_pages| MachineRecord { swapped_pages, ..MachineRecord::default() };
        for below in [stolen(1.9), throttled(19.9), swapped(99)] {
            assert_eq!(said(below), []);
        }
        let told = |kind, message: &str| [(kind, format!("{message}, in 1 of 2 rounds"))];
        assert_eq!(
            said(stolen(2.0)),
            told(
                VerdictKind::Stolen,
                "the hypervisor gave up to 2 % of the CPU time to other machines"
            )
        );
        assert_eq!(
            said(throttled(20.0)),
            told(
                VerdictKind::Throttled,
                "a CPU limit stopped loadgen and the processes that loadgen started for up to 1 % of \
                 the time"
            )
        );
        assert_eq!(
            said(swapped(100)),
            told(VerdictKind::Swapped, "the machine swapped up to 100 pages of memory")
        );
    }

    #[test]
    fn rounds_beside_another_measurement_are_counted() {
        let together = RoundRecord { other_loadgen: true, ..RoundRecord::default() };
        let rounds = vec![RoundRecord::default(), together];
        let targets = vec![TargetRecord { rounds, ..TargetRecord::default() }];
        let record = RunRecord { targets, ..RunRecord::default() };
        let verdict = measured_together(&record).unwrap();
        assert!(verdict.message.ends_with("in 1 of 2 rounds"), "{}", verdict.message);
        assert_eq!(measured_together(&RunRecord::default()), None);
    }

    fn on(filesystem: &str, in_memory: bool) -> RunRecord {
        let data = FilesystemRecord { filesystem: filesystem.to_owned(), in_memory };
        let environment = Environment { postgres_data: Some(data), ..Environment::default() };
        RunRecord { environment, ..RunRecord::default() }
    }

    #[test]
    fn only_a_database_in_memory_is_reported() {
        let verdict = data_in_memory(&on("tmpfs", true)).unwrap();
        assert!(verdict.message.contains("was on tmpfs"), "{}", verdict.message);
        assert_eq!(data_in_memory(&on("ext4", false)), None);
        assert_eq!(data_in_memory(&RunRecord::default()), None);
    }
}
