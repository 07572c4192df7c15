//! Finds the facts that a reader must know before believing the figures.

mod answers;
mod bottleneck;
mod collapse;
mod concurrency;
mod connections;
mod containers;
mod held_up;
mod idle_targets;
mod logged;
mod machine;
mod nodes;
mod probe;
mod queue;
mod rate;
mod replicas;
mod resent;
mod resumed;
mod schedule;
mod server;
mod silence;
mod steady;
mod streams;
mod system;
mod telemetry;
mod workers;

use self::answers::{answers_differ, answers_vary};
use self::bottleneck::disturbed;
pub use self::bottleneck::{bottleneck, cpus_of_test, is_disturbed};
use self::collapse::collapse;
use self::concurrency::littles_law;
use self::connections::connections;
use self::containers::{throttled, unlike_limits};
use self::held_up::held_up;
use self::idle_targets::idle_targets_busy;
use self::logged::much_logged;
use self::machine::{data_in_memory, machine, measured_together};
use self::nodes::shared_node;
use self::probe::probe_differs;
use self::queue::users_queue;
use self::rate::rate_not_kept;
use self::replicas::replicas;
use self::resent::resent;
use self::resumed::resumed;
use self::schedule::schedule_not_kept;
use self::server::{open_files, unequal_workers};
use self::silence::silence;
use self::steady::not_steady;
use self::streams::slow_reader;
use self::system::system;
use self::telemetry::telemetry;
use self::workers::{slow_worker, worker_without_success};
use crate::record::{
    ExpectedContentRecord, ProofRecord, RunRecord, StoppedEarly, TargetRecord, Verdict, VerdictKind,
};
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Scenario, When};
use loadgen_text::counted;

/// Returns the verdicts on a run of `scenario`. The record of the run must be complete, except for
/// the verdicts.
pub fn judge(record: &RunRecord, scenario: &Scenario) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = record
        .targets
        .iter()
        .flat_map(|target| {
            nothing_answered(target)
                .into_iter()
                .chain(target_ended(target))
                .chain(errors(target, scenario))
                .chain(collapse(target, record))
                .chain(silence(target, record))
                .chain(stop_failed(target, scenario))
                .chain(rows_ran_out(target))
                .chain(bottleneck(target, &record.environment).filter(|it| explains(target, it)))
                .chain(held_up(target))
                .chain(slow_reader(target))
                .chain(throttled(target))
                .chain(idle_targets_busy(target))
                .chain(worker_without_success(target, record))
                .chain(slow_worker(target))
                .chain(shared_node(target))
                .chain(littles_law(target, record))
                .chain(resent(target))
                .chain(connections(target, record, scenario))
                .chain(answers_vary(target, scenario))
                .chain(much_logged(target, &record.load))
                .chain(unequal_workers(target))
                .chain(replicas(target))
                .chain(open_files(target))
                .chain(rate_not_kept(target, record).or_else(|| schedule_not_kept(target)))
                .chain(
                    stall_hidden(target).filter(|_| record.duet.is_none() && !was_held_up(target)),
                )
                .chain(probe_differs(target, record))
                .chain(not_steady(target, record))
                .chain(too_few_samples(target))
                .chain(target.proofs.iter().filter_map(|proof| proof_failed(target, proof)))
        })
        .collect();
    verdicts.extend(answers_differ(record, scenario));
    verdicts.extend(disturbed(record));
    verdicts.extend(measured_together(record));
    verdicts.extend(machine(record));
    verdicts.extend(system(record));
    verdicts.extend(data_in_memory(record));
    verdicts.extend(unlike_limits(record));
    verdicts.extend(users_queue(record));
    verdicts.extend(few_cores(record));
    verdicts.extend(telemetry(record));
    verdicts.extend(record.stopped_early.as_ref().map(stopped_early));
    verdicts.extend(record.resumed.iter().map(resumed));
    if record.interrupted {
        verdicts.push(Verdict {
            kind: VerdictKind::Interrupted,
            target: None,
            message: "the run was interrupted: the results are those from before the interruption"
                .to_owned(),
            advice: "run to the end before you compare".to_owned(),
        });
    }
    verdicts
}

fn verdict(target: &TargetRecord, kind: VerdictKind, message: String, advice: &str) -> Verdict {
    Verdict { kind, target: Some(target.name.clone()), message, advice: advice.to_owned() }
}

/// Returns a verdict if a run with several numbers of server workers or replicas had more server
/// workers than the target had cores.
fn few_cores(record: &RunRecord) -> Option<Verdict> {
    // The cores of the manager's pod are not those of the servers'.
    if record.environment.runtime == "kubernetes" {
        return None;
    }
    let numbers = || record.targets.iter().map(|target| target.server.processes());
    let most = numbers().max().filter(|most| numbers().any(|n| n < *most))?;
    let pinned = record.environment.cpus.get("target").map_or(0, Vec::len);
    let cores = if pinned > 0 { pinned } else { record.environment.cores };
    if usize::try_from(most).is_ok_and(|most| most <= cores) {
        return None;
    }
    Some(Verdict {
        kind: VerdictKind::FewCores,
        target: None,
        message: format!(
            "up to {most} server workers shared {cores} core(s): more server workers than cores help \
             only while server workers wait"
        ),
        advice: "use a machine with more cores, or fewer server workers".to_owned(),
    })
}

fn stopped_early(stopped: &StoppedEarly) -> Verdict {
    let StoppedEarly { target, round, threshold } = stopped;
    Verdict {
        kind: VerdictKind::StoppedEarly,
        target: Some(target.clone()),
        message: format!("--fail-fast ended the run in round {round}: {threshold} failed"),
        advice: "the results are those from before the end; a round that was cut short is in no \
                 ranking"
            .to_owned(),
    }
}

fn nothing_answered(target: &TargetRecord) -> Option<Verdict> {
    let total = &target.total;
    let sent = total.requests + total.cancelled + total.unsent;
    let has_run = target.rounds.iter().any(|round| round.whole);
    if sent == 0 && has_run {
        let message = "no request was sent".to_owned();
        let advice = "see whether the conditions (`when`) of the steps can hold, and whether a request is \
                      due within the duration";
        return Some(verdict(target, VerdictKind::NothingAnswered, message, advice));
    }
    (sent > 0 && total.requests == total.errors).then(|| {
        let late = counted(total.answered_late, "response");
        let (message, advice) = match (total.requests, total.answered_late) {
            (0, 0) => {
                ("no request got a response before the end of its round".to_owned(), "see the server's log")
            }
            (0, _) => (
                format!("no request got a response before the end of its round, and {late} came after it"),
                "responses take longer than the measurement: measure for longer, with --duration",
            ),
            _ => ("no request got the expected response".to_owned(), "see the server's log"),
        };
        verdict(target, VerdictKind::NothingAnswered, message, advice)
    })
}

/// Returns whether the bottleneck explains the rate. Users of a server that is gone keep the generator
/// busy with refused connections.
fn explains(target: &TargetRecord, bottleneck: &Verdict) -> bool {
    let is_ours =
        [VerdictKind::GeneratorBound, VerdictKind::GeneratorBusy].contains(&bottleneck.kind);
    !is_ours || target.rounds.iter().all(|round| round.target_ended.is_none())
}

fn target_ended(target: &TargetRecord) -> Option<Verdict> {
    let (round, how) =
        target.rounds.iter().find_map(|r| Some((r.round, r.target_ended.as_ref()?)))?;
    let message = format!("in round {round}: {how}");
    let advice = "the round is in no comparison: see the log of the program that ended";
    Some(verdict(target, VerdictKind::TargetEnded, message, advice))
}

fn errors(target: &TargetRecord, scenario: &Scenario) -> Option<Verdict> {
    let total = &target.total;
    if total.errors == 0 {
        return None;
    }
    let kinds: Vec<String> = total
        .errors_by_kind
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(kind, n)| match total.error_examples.get(kind) {
            Some(example) => format!("{n} × {kind} ({example})"),
            None => format!("{n} × {kind}"),
        })
        .collect();
    let percent = total.error_rate() * 100.0;
    let message = format!("{percent:.2} % of requests failed: {}", kinds.join("; "));
    let has_status = total.errors_by_kind.get(&ErrorKind::Status).is_some_and(|n| *n > 0);
    let advice = match (has_status, &scenario.grpc) {
        (true, None) => {
            "failed requests are in no rate or latency: fix the errors before you compare, or set \
             `expect.status` of the step, such as [200, 404], if the status is right"
        }
        (true, Some(_)) => {
            "failed requests are in no rate or latency: fix the errors before you compare, or set \
             `expect.grpc_status` of the step, such as [\"OK\", \"NOT_FOUND\"], if the status is right"
        }
        (false, _) => {
            "failed requests are in no rate or latency: fix the errors before you compare"
        }
    };
    Some(verdict(target, VerdictKind::Errors, message, advice))
}

fn rows_ran_out(target: &TargetRecord) -> Option<Verdict> {
    let rounds = target.rounds.iter().filter(|round| !round.rows_ran_out.is_empty());
    let (numbers, names): (Vec<_>, Vec<_>) =
        rounds.map(|round| (round.round.to_string(), round.rows_ran_out.join(" and "))).unzip();
    let message = format!(
        "the rows of {} ran out in round {}: users without a row stopped",
        names.first()?,
        numbers.join(", ")
    );
    let advice = "add rows to the file, reduce the load, or set use = \"cycle\"";
    Some(verdict(target, VerdictKind::RowsRanOut, message, advice))
}

/// Returns a verdict if final requests, which users send when the users stop, failed or were cut
/// off. Final requests come after the hold (the measured period), so no other verdict covers them.
fn stop_failed(target: &TargetRecord, scenario: &Scenario) -> Option<Verdict> {
    let at_stop = scenario.steps.iter().zip(&target.steps).filter(|(s, _)| s.when == When::Stop);
    let failed: Vec<String> = at_stop
        .filter(|(_, summary)| summary.errors + summary.cancelled > 0)
        .map(|(step, summary)| {
            let planned = summary.requests + summary.cancelled;
            let example = summary.error_examples.values().next();
            let why = example.map(|text| format!(" ({text})")).unwrap_or_default();
            match summary.cancelled {
                0 => format!("{} of {planned} × {}{why}", summary.errors, step.name),
                cut => {
                    format!("{} of {planned} × {}, {cut} cut off{why}", summary.errors, step.name)
                }
            }
        })
        .collect();
    if failed.is_empty() {
        return None;
    }
    let message = format!("final requests of stopping users failed: {}", failed.join("; "));
    let advice = "final requests come after the hold and are in no rate; their cleanup may be \
                  incomplete";
    Some(verdict(target, VerdictKind::StopFailed, message, advice))
}

/// Factor by which an estimated latency must exceed the measured latency, and difference in µs, for
/// a verdict on a hidden stall. Both must be exceeded.
const HIDDEN: (u64, u64) = (2, 5_000);

/// Whether loadgen itself stood still, so that users waited for it and not for the server.
fn was_held_up(target: &TargetRecord) -> bool {
    target.rounds.iter().any(|round| !round.held_up.is_empty())
}

/// Returns a verdict if the closed model hid a stall of the server: users that waited sent no
/// requests that would have shown the stall.
fn stall_hidden(target: &TargetRecord) -> Option<Verdict> {
    let (shown, all) = (&target.total.latency_us, target.uncoordinated_us.as_ref()?);
    let percentiles = [
        ("p95", shown.p95, all.p95),
        ("p99", shown.p99, all.p99),
        ("p99.9", shown.p99_9, all.p99_9),
    ];
    let hides = |(_, shown, all): &(&str, Option<u64>, Option<u64>)| match (shown, all) {
        (Some(shown), Some(all)) => *all > HIDDEN.0 * shown && all - shown > HIDDEN.1,
        _ => false,
    };
    let (name, shown, all) = percentiles.into_iter().find(hides)?;
    let ms = |us: Option<u64>| us.unwrap_or_default() as f64 / 1e3;
    let message = format!(
        "users waited up to {:.0} ms for a response and sent nothing in that time: at their mean \
         pace, {name} would be about {:.0} ms, not {:.1} ms",
        ms(target.total.latency_us.max),
        ms(all),
        ms(shown)
    );
    let advice = "the closed model hides stalls, and long waits of a few requests: measure in the open \
                  model, with --rate";
    Some(verdict(target, VerdictKind::StallHidden, message, advice))
}

/// Returns a verdict that lists the percentiles, over all steps together, for which there are too
/// few samples. Single steps have fewer samples, and are not checked.
fn too_few_samples(target: &TargetRecord) -> Option<Verdict> {
    let (total, latency) = (&target.total, &target.total.latency_us);
    let missing: Vec<&str> = [
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p95", latency.p95),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("p99.99", latency.p99_99),
    ]
    .iter()
    .filter(|(_, value)| value.is_none())
    .map(|(name, _)| *name)
    .collect();
    let answered = total.requests - total.errors;
    if missing.is_empty() || answered == 0 {
        return None;
    }
    let message = match answered {
        1 => format!("one sample is too few for {}", missing.join(", ")),
        n => format!("{n} samples are too few for {}", missing.join(", ")),
    };
    let advice =
        "measure longer: a percentile needs ten samples beyond it, so p99 needs 1,000 samples";
    Some(verdict(target, VerdictKind::TooFewSamples, message, advice))
}

fn proof_failed(target: &TargetRecord, proof: &ProofRecord) -> Option<Verdict> {
    if proof.agrees {
        return None;
    }
    let expected = match &proof.expected {
        ExpectedContentRecord::Answers { counter, counted, uncounted } => {
            format!("{counter} is {counted} counted + {uncounted} uncounted")
        }
        ExpectedContentRecord::Scenario { value } => format!("expected {value}"),
    };
    let ProofRecord { round, backend, held, .. } = proof;
    let question = proof.in_short();
    let message =
        format!("round {round}: {expected}, but {backend} returned {held} for `{question}`");
    let advice = match proof.unknown {
        0 => "the backend does not hold the expected data: do not trust the server's rate",
        _ => "the server may have carried out requests that failed or were cut off",
    };
    Some(verdict(target, VerdictKind::ProofFailed, message, advice))
}
