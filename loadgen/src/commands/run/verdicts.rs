//! What a reader must know before believing the figures.

use super::job::Job;
use crate::measure::{RunRecord, TargetRecord, Verdict, VerdictKind};

/// From this share of one core on, the generator may have held the target back.
const BUSY_PERCENT: f64 = 90.0;

/// Judges the record, which is complete but for its verdicts.
pub fn judge(record: &RunRecord, job: &Job) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> =
        record.targets.iter().flat_map(|target| judge_target(target, record, job)).collect();
    if record.interrupted {
        verdicts.push(Verdict {
            kind: VerdictKind::Interrupted,
            target: None,
            message: "the run was interrupted: only what was measured until then is here"
                .to_owned(),
            advice: "let it run to its end before you compare".to_owned(),
        });
    }
    verdicts
}

fn judge_target(target: &TargetRecord, record: &RunRecord, job: &Job) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut add = |kind, message: String, advice: &str| {
        verdicts.push(Verdict {
            kind,
            target: Some(target.name.clone()),
            message,
            advice: advice.to_owned(),
        });
    };
    let total = &target.total;
    if total.requests == total.errors {
        add(
            VerdictKind::NothingAnswered,
            "no request was answered as expected".to_owned(),
            "look into its log in the run's folder",
        );
    }
    if total.errors > 0 {
        let kinds: Vec<String> = total
            .errors_by_kind
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(kind, n)| match total.error_examples.get(kind) {
                Some(example) => format!("{n} × {kind} ({example})"),
                None => format!("{n} × {kind}"),
            })
            .collect();
        add(
            VerdictKind::Errors,
            format!("{:.2} % of requests failed: {}", total.error_rate() * 100.0, kinds.join("; ")),
            "failed requests are in no rate or latency: mend them before you compare",
        );
    }
    if let Some(generator) = target.resources.get("generator") {
        let cores = record.environment.cpus.get("generator").map_or(0, Vec::len);
        let cores = if cores == 0 { record.environment.cores } else { cores };
        if generator.cpu_percent >= BUSY_PERCENT * cores as f64 {
            add(
                VerdictKind::GeneratorBusy,
                format!(
                    "the generator used {:.0} % of its {cores} core(s): it may have been the limit",
                    generator.cpu_percent
                ),
                "take this rate for a lower bound; give the generator more cores, or hosts",
            );
        }
    }
    let missing: Vec<&str> = [("p95", total.latency_us.p95), ("p99", total.latency_us.p99)]
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| *name)
        .collect();
    if !missing.is_empty() && total.requests > total.errors {
        let answered = total.requests - total.errors;
        add(
            VerdictKind::TooFewSamples,
            format!("{answered} samples are too few for {}", missing.join(" and ")),
            "measure longer: p95 takes 200 answers, p99 takes 1,000",
        );
    }
    for proof in target.proofs.iter().filter(|proof| !proof.agrees) {
        let incomplete = match proof.incomplete {
            0 => String::new(),
            n => format!(", {n} of them incomplete"),
        };
        add(
            VerdictKind::ProofFailed,
            format!(
                "round {}: {} counted {} and {} outside of the count, but the backend holds {}{incomplete}",
                proof.round, proof.counter, proof.counted, proof.uncounted, proof.held
            ),
            if total.errors > 0 || job.plan(String::new(), 1).length().is_none() {
                "requests that failed or were cut off may have been carried out all the same"
            } else {
                "what the server says it did is not what the backend holds: don't trust its rate"
            },
        );
    }
    verdicts
}
