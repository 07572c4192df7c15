//! Checks settings of the machine that change what is measured.

use crate::record::{Environment, RunRecord, SystemRecord, Verdict, VerdictKind};

/// Clocks that programs read without a system call.
const FAST_CLOCKS: [&str; 7] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "riscv_clocksource",
    "timebase",
    "tod",
];

/// Returns a verdict for each setting of the machine that makes measurements differ.
pub(super) fn system(record: &RunRecord) -> Vec<Verdict> {
    let environment = &record.environment;
    let of = &environment.system;
    let all = [
        shared_cores(of),
        frequency_varies(of),
        slow_clock(of),
        busy_before(environment).filter(|_| others_are_unknown(record)),
    ];
    all.into_iter().flatten().collect()
}

fn verdict(kind: VerdictKind, message: String, advice: &str) -> Verdict {
    Verdict { kind, target: None, message, advice: advice.to_owned() }
}

fn shared_cores(of: &SystemRecord) -> Option<Verdict> {
    let mut parts: Vec<String> = Vec::new();
    for shared in &of.shared_cores {
        let both = shared.parts.join(" and ");
        if !parts.contains(&both) {
            parts.push(both);
        }
    }
    let [first, other] = of.shared_cores.first()?.cpus;
    let message = format!(
        "parts of the test ran on hardware threads of the same cores ({}; CPUs {first} and {other} are \
         one core): while both are busy, each slows the other",
        parts.join(", ")
    );
    let advice = "switch SMT off, or leave one thread of each core to the test (taskset)";
    Some(verdict(VerdictKind::SharedCores, message, advice))
}

/// Returns a verdict if a governor other than `performance` may change the frequency.
fn frequency_varies(of: &SystemRecord) -> Option<Verdict> {
    let governor = of.governor.as_ref().filter(|governor| *governor != "performance")?;
    let [low, high] = of.frequency_mhz.filter(|[low, high]| low < high)?;
    let message = format!(
        "the frequency of the CPUs may vary between {low:.0} and {high:.0} MHz with the load (governor: \
         {governor})"
    );
    let advice = "set the governor to performance (cpupower frequency-set -g performance), and measure \
                  again";
    Some(verdict(VerdictKind::FrequencyVaries, message, advice))
}

fn slow_clock(of: &SystemRecord) -> Option<Verdict> {
    let clock = of.clock_source.as_deref().filter(|clock| !FAST_CLOCKS.contains(clock))?;
    let message = format!(
        "the kernel reads the time from {clock}, not from the counter of the CPU: each reading may take \
         a system call, in loadgen and in the servers"
    );
    let advice = "see why the kernel avoids the CPU's counter (dmesg | grep -i clocksource)";
    Some(verdict(VerdictKind::SlowClock, message, advice))
}

/// Returns a verdict if, in the minute before the run, as many processes ran or waited as the machine
/// has CPUs.
fn busy_before(environment: &Environment) -> Option<Verdict> {
    let cores = environment.cores as f64;
    let load = environment.system.load_average.filter(|load| cores > 0.0 && *load >= cores)?;
    let message = format!(
        "the machine was busy before the run: a load average of {load:.1} on {cores:.0} CPU(s), and what \
         other programs used during the run is unknown"
    );
    let advice = "stop other programs, and measure again";
    Some(verdict(VerdictKind::BusyBefore, message, advice))
}

/// Returns whether a round lacks the CPU time of other programs, which is a better measure of them
/// than the load before the run.
fn others_are_unknown(record: &RunRecord) -> bool {
    let mut rounds = record.targets.iter().flat_map(|target| &target.rounds);
    rounds.any(|round| round.others_percent.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RoundRecord, SharedCoreRecord, TargetRecord};

    fn judged(of: SystemRecord, others_percent: Option<f64>) -> Vec<(VerdictKind, String)> {
        let round = RoundRecord { others_percent, ..RoundRecord::default() };
        let record = RunRecord {
            environment: Environment { cores: 2, system: of, ..Environment::default() },
            targets: vec![TargetRecord { rounds: vec![round], ..TargetRecord::default() }],
            ..RunRecord::default()
        };
        system(&record).into_iter().map(|it| (it.kind, it.message)).collect()
    }

    #[test]
    fn a_quiet_server_has_no_verdict() {
        let of = SystemRecord {
            governor: Some("performance".to_owned()),
            frequency_mhz: Some([800.0, 3_900.0]),
            turbo: Some(true),
            smt: Some(true),
            clock_source: Some("tsc".to_owned()),
            load_average: Some(1.9),
            ..SystemRecord::default()
        };
        assert_eq!(judged(of, None), []);
        assert_eq!(judged(SystemRecord::default(), None), [], "nothing is known");
    }

    #[test]
    fn cores_that_parts_share_are_named() {
        let shared =
            |parts: [&str; 2], cpus| SharedCoreRecord { parts: parts.map(str::to_owned), cpus };
        let shared_cores = vec![
            shared(["target", "backends"], [6, 2]),
            shared(["target", "backends"], [7, 3]),
            shared(["backends", "generator"], [2, 6]),
        ];
        let said = judged(SystemRecord { shared_cores, ..SystemRecord::default() }, Some(0.0));
        assert_eq!(
            said,
            [(
                VerdictKind::SharedCores,
                "parts of the test ran on hardware threads of the same cores (target and backends, \
                 backends and generator; CPUs 6 and 2 are one core): while both are busy, each slows \
                 the other"
                    .to_owned()
            )]
        );
    }

    #[test]
    fn a_frequency_that_cannot_move_is_no_fault() {
        let of = |governor: &str, mhz| SystemRecord {
            governor: Some(governor.to_owned()),
            frequency_mhz: mhz,
            ..SystemRecord::default()
        };
        let kinds = |of| judged(of, Some(0.0)).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(kinds(of("powersave", Some([800.0, 3_900.0]))), [VerdictKind::FrequencyVaries]);
        assert_eq!(
            kinds(of("performance, schedutil", Some([800.0, 3_900.0]))),
            [VerdictKind::FrequencyVaries]
        );
        assert_eq!(kinds(of("powersave", Some([2_000.0, 2_000.0]))), []);
        assert_eq!(kinds(of("powersave", None)), []);
    }

    #[test]
    fn slow_clocks_are_named() {
        let of = |clock: &str| {
            judged(
                SystemRecord { clock_source: Some(clock.to_owned()), ..SystemRecord::default() },
                Some(0.0),
            )
        };
        for fast in FAST_CLOCKS {
            assert_eq!(of(fast), []);
        }
        let [(kind, said)] = &of("hpet")[..] else { panic!("no verdict") };
        assert!(*kind == VerdictKind::SlowClock && said.contains("from hpet, not"), "{said}");
    }

    #[test]
    fn the_load_before_counts_where_that_during_the_run_is_unknown() {
        let busy = SystemRecord { load_average: Some(2.0), ..SystemRecord::default() };
        let [(kind, said)] = &judged(busy.clone(), None)[..] else { panic!("no verdict") };
        assert!(*kind == VerdictKind::BusyBefore && said.contains("2.0 on 2 CPU(s)"), "{said}");
        assert_eq!(judged(busy, Some(0.0)), [], "measured");
    }
}
