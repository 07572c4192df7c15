//! Lists what a reader must know before believing the figures.

use super::changes::changes;
use super::degraded::degraded;
use super::{Warning, left_out};
use crate::record::{RunRecord, TargetRecord, Verdict, VerdictKind};

/// Returns all warnings of a run.
pub(crate) fn warnings(record: &RunRecord) -> Vec<Warning> {
    let plain = |what: String| Warning { kind: None, who: None, what, more: None };
    let verdicts = record.verdicts.iter().filter(|verdict| !is_of_the_table(verdict, record));
    let warnings = verdicts.map(|verdict| {
        let who = verdict.target.as_ref().map(|t| format!("{t}: ")).unwrap_or_default();
        let what = format!("{who}{}", verdict.message);
        let (kind, who) = (Some(verdict.kind), verdict.target.clone());
        Warning { kind, who, what, more: Some(verdict.advice.clone()) }
    });
    let left_out = record.left_out.iter().map(|(target, why)| plain(left_out(target, why)));
    let others = [degraded(record), changes(record).map(plain), short_rounds(record).map(plain)];
    warnings.chain(left_out).chain(others.into_iter().flatten()).collect()
}

/// Whether a verdict is only about missing percentiles that the table does not show. The table
/// shows the 50th, 95th and 99th percentile.
fn is_of_the_table(verdict: &Verdict, record: &RunRecord) -> bool {
    let shown = |target: &TargetRecord| {
        let latency = &target.total.latency_us;
        [latency.p50, latency.p95, latency.p99].iter().all(Option::is_some)
    };
    verdict.kind == VerdictKind::TooFewSamples
        && record.targets.iter().any(|t| verdict.target.as_ref() == Some(&t.name) && shown(t))
}

fn short_rounds(record: &RunRecord) -> Option<String> {
    let planned = record.load.passes() as usize;
    let measured = |name: &String| {
        record.targets.iter().find(|t| t.name == *name).map_or(0, |target| target.rounds.len())
    };
    let names = record.load.targets.iter();
    let short: Vec<String> = names
        .filter(|name| measured(name) < planned)
        .map(|name| format!("{name} {} of {planned}", measured(name)))
        .collect();
    (!short.is_empty()).then(|| format!("not all rounds were measured: {}", short.join(", ")))
}
