//! Builds the record of one contender from its rounds, pooled.

use std::collections::BTreeMap;
use std::time::Duration;

use super::phases::{
    at_stop, by_name, flows_of_phase, latencies_of_flows, of_phase, summarize, summarize_flows,
    summarize_groups,
};
use super::proofs::proofs;
use super::resources::{Answered, cpu_over_rounds, resources};
use super::round::{Conditions, round_record};
use super::stages::stages;
use super::worker::workers;
use crate::analysis::steps::{Tally, counters, together};
use crate::analysis::{effective_samples, probe_ratios, starts, thresholds};
use crate::engine::Results;
use crate::experiment::contender::Contender;
use crate::experiment::job::Job;
use crate::experiment::measured::MeasuredRound;
use crate::experiment::sent::transport;
use crate::measure::{Counts, Latencies, LatencySummary, Phase, Series};
use crate::record::{
    Bottleneck, ProbeRecord, RoundRecord, ServerRecord, StepOverRounds, TargetRecord,
    ThresholdRecord,
};
use crate::scenario::{Model, Step, Until};

/// Combines the results of all rounds over one contender,
/// and compares the combined results with the thresholds.
pub fn pool(
    job: &Job,
    contender: &Contender,
    rounds: &[&MeasuredRound],
    server: ServerRecord,
    conditions: &Conditions<'_>,
) -> (TargetRecord, Vec<ThresholdRecord>) {
    let scenario = &job.scenario;
    let steps = &scenario.steps;
    let series: Vec<&Series> = rounds.iter().map(|round| &round.results.series).collect();
    let window = rounds.iter().map(|round| round.held).sum();
    let (summaries, total) = summarize(steps, &series, Phase::Hold, window);
    let counts = of_phase(steps, &series, Phase::Hold);
    let mut by_row = counts.clone();
    at_stop(steps, &series).for_each(|(index, counts)| by_row[index] = counts);
    let flows = |phase| flows_of_phase(scenario, &series, phase);
    let cut = Tally { steps: of_phase(steps, &series, Phase::Tail), flows: flows(Phase::Tail) };
    let tally = |steps: &[Counts]| {
        Tally { steps: steps.to_vec(), flows: flows(Phase::Hold) }.with_cut(&cut)
    };
    let (all, rows) = (tally(&counts), tally(&by_row));
    let scored = thresholds::Scored { all: &all, by_row: &rows, held: window };
    let thresholds = thresholds::judge(&contender.name, scenario, &scored);
    let rounds_recorded: Vec<RoundRecord> =
        rounds.iter().map(|round| round_record(scenario, round, conditions)).collect();
    let one_start = job.is_one_start();
    let over_rounds = StepOverRounds::of(&rounds_recorded, one_start, |round| &round.total);
    let of_steps = (0..steps.len())
        .map(|index| StepOverRounds::of(&rounds_recorded, one_start, |round| &round.steps[index]));
    let whole: Vec<&MeasuredRound> = rounds.iter().copied().filter(|round| round.whole).collect();
    let url = rounds.last().map(|round| &round.url);
    let changed = rounds.iter().any(|round| !round.results.changes.is_empty());
    let record = TargetRecord {
        rate_over_rounds_per_s: over_rounds.rate_per_s,
        latency_over_rounds_us: over_rounds.latency_us,
        failed_over_rounds_percent: over_rounds.failed_percent,
        steps_over_rounds: by_name(steps, of_steps),
        effective_samples: effective_samples(&answered_by_start(rounds, &rounds_recorded)),
        transport: url.map(|url| transport(&job.scenario, url)),
        url: url.cloned().unwrap_or_default(),
        server,
        steps: summaries,
        groups: summarize_groups(steps, &series, window),
        flows: summarize_flows(scenario, &series, window),
        latency_histograms: by_name(steps, by_row.into_iter().map(|c| c.answered.into()))
            .into_iter()
            .chain(latencies_of_flows(scenario, &series))
            .collect(),
        uncoordinated_us: uncoordinated(job, contender.users, changed, &together(&counts), window),
        total,
        probe: probe(steps, rounds, &rounds_recorded),
        stages: stages(steps, &job.scenario.load, &whole),
        counters: counters(steps, &counts),
        json_keys: json_keys(steps, rounds),
        proofs: rounds.iter().flat_map(|round| proofs(&job.scenario, round)).collect(),
        resources: resources(
            rounds.iter().map(|round| &round.observed.services),
            &Answered::of(rounds.iter().copied()),
        ),
        bottleneck: Bottleneck::of_most(&rounds_recorded),
        cpu_us_per_request_over_rounds: cpu_over_rounds(&rounds_recorded, one_start),
        rounds: rounds_recorded,
        workers: workers(rounds),
        name: contender.name.clone(),
        target: contender.target.clone(),
        users: contender.users,
        // The profiling rounds are no rounds.
        profile: None,
    };
    (record, thresholds)
}

/// Returns the latencies of the expected responses in the hold of each start that ran as planned: of its
/// only round, or of all of its slices together. `records` describe these rounds.
fn answered_by_start(rounds: &[&MeasuredRound], records: &[RoundRecord]) -> Vec<Latencies> {
    let measured: BTreeMap<u32, &MeasuredRound> =
        rounds.iter().map(|round| (round.number, *round)).collect();
    let of_start = |slices: Vec<&RoundRecord>| {
        let mut all = Latencies::default();
        for round in slices.into_iter().filter_map(|slice| measured.get(&slice.round)) {
            all.merge(&together(&round.results.series.phase(Phase::Hold)).answered);
        }
        all
    };
    starts(records).into_values().map(of_start).collect()
}

/// Returns the results of the probe over these rounds, which `records` describe, and compares the
/// latencies of the load with them; `None` without a probe.
fn probe(
    steps: &[Step],
    rounds: &[&MeasuredRound],
    records: &[RoundRecord],
) -> Option<ProbeRecord> {
    let probes: Vec<&Results> = rounds.iter().filter_map(|round| round.probe.as_ref()).collect();
    let series: Vec<&Series> = probes.iter().map(|probe| &probe.series).collect();
    let window = probes.iter().map(|probe| probe.held()).sum();
    let (_, total) = summarize(steps, &series, Phase::Hold, window);
    (!probes.is_empty()).then(|| ProbeRecord { total, ratios: probe_ratios(records) })
}

/// Returns the keys of the JSON object in the first answer to each step, by the step's name.
fn json_keys(steps: &[Step], rounds: &[&MeasuredRound]) -> BTreeMap<String, Vec<String>> {
    let first = rounds.iter().find(|round| !round.json_keys.is_empty());
    let keys = first.into_iter().flat_map(|round| steps.iter().zip(&round.json_keys));
    keys.filter_map(|(step, keys)| Some((step.name.clone(), keys.clone()?))).collect()
}

/// Estimates the latencies if users in the closed model sent requests at the same rate as measured,
/// but without waiting for earlier answers. All users are assumed to have the same rate. `None` in
/// the open model, for a load that changes, and without answers.
fn uncoordinated(
    job: &Job,
    users: u32,
    changed: bool,
    all: &Counts,
    window: Duration,
) -> Option<LatencySummary> {
    let load = &job.scenario.load;
    let changes = changed || matches!(load.until, Until::Stages(_));
    if load.model != Model::Closed || changes || all.answered.is_empty() {
        return None;
    }
    let interval = window.mul_f64(f64::from(users) / all.answered.len() as f64);
    Some(LatencySummary::from(&all.answered.without_coordination(interval)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SliceRecord;

    #[test]
    fn a_start_that_lacks_a_slice_has_no_latencies() {
        let round = |number: u32| MeasuredRound { number, ..MeasuredRound::default() };
        let record = |number: u32| RoundRecord {
            round: number,
            slice: Some(SliceRecord {
                start: (number - 1) / 2 + 1,
                number: (number - 1) % 2 + 1,
                of: 2,
            }),
            whole: number != 3,
            ..RoundRecord::default()
        };
        let rounds = [1, 2, 3, 4, 5].map(round);
        let records = [1, 2, 3, 4, 5].map(record);
        let rounds: Vec<&MeasuredRound> = rounds.iter().collect();
        // The second start was cut off in a slice, and the third lacks one.
        assert_eq!(answered_by_start(&rounds, &records).len(), 1);
    }
}
