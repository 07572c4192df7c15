//! Builds the record of one round.

use std::collections::BTreeMap;
use std::time::Duration;

use super::phases::{by_name, ms, summarize, summarize_flows, summarize_groups};
use super::resources::{Answered, others, resources};
use super::stages::stages;
use super::worker::workers;
use crate::analysis::steps::{by_step, counters};
use crate::engine::{LoadChange, Results};
use crate::experiment::job::Job;
use crate::experiment::measured::{MeasuredRound, held};
use crate::measure::{
    ErrorKind, HeldUp, LatencySummary, Phase, SecondRecord, Series, StepSeconds, Told,
};
use crate::record::{
    Bottleneck, Calibration, Environment, HeldUpRecord, LoadChangeRecord, PartnerRecord,
    ReceivedRecord, ReplicaRecord, RoundRecord, RowsRecord, ScheduleRecord,
};
use crate::scenario::{Load, LoadLevel, Rows, Scenario, Step};

/// Conditions that the rounds of a job have in common.
pub struct Conditions<'a> {
    /// Description of the machine and its software.
    environment: &'a Environment,
    /// Maximum rate of the generator in requests/s, if known.
    can_send: Option<f64>,
    /// Duration of the warm-up, whose requests are not counted.
    warmup: Duration,
    /// Duration of the ramp-up between the warm-up and the hold, which is reported separately.
    ramp_up: Duration,
    /// Whether requests follow redirects.
    redirects: bool,
    /// Load of each round.
    load: &'a Load,
    /// Data files of the scenario, whose rows supply values for requests.
    rows: &'a [Rows],
    /// Names of the contenders.
    names: Vec<String>,
}

impl<'a> Conditions<'a> {
    /// Returns the conditions of a job in this environment.
    pub fn of(
        job: &'a Job,
        environment: &'a Environment,
        calibration: Option<Calibration>,
    ) -> Self {
        Self {
            environment,
            can_send: calibration.map(|calibration| calibration.rate_per_s),
            warmup: job.warmup,
            ramp_up: job.scenario.load.before_hold(),
            redirects: job.scenario.follows_redirects(),
            load: &job.scenario.load,
            rows: &job.scenario.rows,
            names: job.names(),
        }
    }
}

/// Builds the record of one round.
pub(super) fn round_record(
    scenario: &Scenario,
    round: &MeasuredRound,
    conditions: &Conditions<'_>,
) -> RoundRecord {
    let steps = scenario.steps.as_slice();
    let results = &round.results;
    let series = &results.series;
    let (summaries, total) = summarize(steps, &[series], Phase::Hold, round.held);
    let ramp = series.phase(Phase::RampUp);
    let ramp_up = match ramp.is_empty() {
        true => Vec::new(),
        false => summarize(steps, &[series], Phase::RampUp, Duration::ZERO).0,
    };
    // A round that was cut off may have ended in the ramp-up.
    let length = round.whole.then(|| conditions.ramp_up + round.held);
    let (seconds, steps_seconds) = seconds(steps, series, length.unwrap_or_default());
    let record = RoundRecord {
        round: round.number,
        held_s: round.held.as_secs_f64(),
        steps: summaries,
        total,
        groups: summarize_groups(steps, &[series], round.held),
        flows: summarize_flows(scenario, &[series], round.held),
        stages: stages(steps, conditions.load, &[round]),
        counters: counters(steps, &by_step(held(series), steps.len())),
        ramp_up,
        whole: round.whole,
        partner: round.partner.map(|partner| PartnerRecord {
            name: conditions.names[partner.contender].clone(),
            is_first: partner.is_first,
        }),
        probe: round
            .probe
            .as_ref()
            .map(|probe| summarize(steps, &[&probe.series], Phase::Hold, probe.held()).1),
        slice: round.slice,
        users_planned: round.users,
        users_achieved: round.users_achieved(),
        account: round.account,
        start_skew_ms: results.start_skew.map(|skew| ms(skew.any_path)),
        start_skew_symmetric_ms: results.start_skew.map(|skew| ms(skew.symmetric)),
        connections: Some(results.connections().into()),
        schedule: ScheduleRecord::of(&results.send_gaps()),
        reading_lag_us: Some(results.reading_lag())
            .filter(|lag| !lag.is_empty())
            .map(|lag| LatencySummary::from(&lag)),
        held_up: held_up(results),
        changes: results.changes.iter().map(|change| changed(change, conditions.warmup)).collect(),
        target_ended: round.ended.clone(),
        rows_ran_out: results.ran_out().into_iter().map(str::to_owned).collect(),
        rows_used: rows_used(round, conditions.rows),
        seconds,
        steps_seconds,
        resources: resources(std::iter::once(&round.observed.services), &Answered::of([round])),
        target_pods: round.observed.target_pods.clone(),
        backend_pods: round.observed.backend_pods.clone(),
        replicas: replicas(round),
        // Each redirect is a response, too, and loadgen counts only the last one.
        replicas_received: (!round.responses.is_empty() && !conditions.redirects)
            .then(|| received(round)),
        logged_bytes: round.logged,
        postgres: round.postgres,
        cpus_busy_percent: round.observed.machine.busy_percent.clone(),
        machine: round.observed.machine.taken.clone(),
        others_percent: others(round, conditions.environment),
        busiest_others: round.observed.busiest_others.clone(),
        other_loadgen: round.observed.other_loadgen,
        bottleneck: None,
    };
    let mut workers = workers(&[round]);
    workers.retain(|worker| worker.host.is_some());
    let Conditions { environment, can_send, .. } = conditions;
    let bottleneck = Bottleneck::of(&record, environment, *can_send, &workers);
    RoundRecord { bottleneck, ..record }
}

/// Returns the processes that were held up.
fn held_up(results: &Results) -> Vec<HeldUpRecord> {
    let has_workers = results.start_skew.is_some();
    let record = |(worker, HeldUp { total, longest }): (u32, HeldUp)| HeldUpRecord {
        worker: has_workers.then_some(worker),
        total_s: total.as_secs_f64(),
        longest_s: longest.as_secs_f64(),
    };
    results.held_up().map(record).collect()
}

/// Returns what each replica of the target did.
fn replicas(round: &MeasuredRound) -> Vec<ReplicaRecord> {
    let record = |(index, responses): (usize, &u64)| {
        let used = round.observed.replicas.get(index);
        ReplicaRecord {
            responses: *responses,
            cpu_percent: used.map(|used| used.cpu_percent),
            memory_max_bytes: used.map(|used| used.memory_max_bytes),
        }
    };
    round.responses.iter().enumerate().map(record).collect()
}

/// Returns the number of responses that arrived, in all phases, also at the probe.
fn received(round: &MeasuredRound) -> ReceivedRecord {
    const PHASES: [Phase; 5] =
        [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail, Phase::Stop];
    let (mut least, mut unknown) = (0, 0);
    for counts in PHASES.into_iter().flat_map(|phase| round.sent(phase)) {
        // A response with an unexpected body is from a replica. One with an unexpected status may be
        // the balancer's own.
        let unexpected = counts.errors.get(&ErrorKind::Expectation).copied().unwrap_or(0);
        least += counts.answered.len() + counts.answered_late + unexpected;
        // Of a request that was sent again, the first response may be on its way.
        unknown += counts.failures() - unexpected + counts.resent;
        unknown += counts.cancelled.saturating_sub(counts.answered_late);
    }
    ReceivedRecord { least, most: least + unknown }
}

/// Returns the number of rows of each data file, and how many
/// rows were used. Files that no process reported are left out.
fn rows_used(round: &MeasuredRound, files: &[Rows]) -> BTreeMap<String, RowsRecord> {
    let rows = round.results.rows();
    let told = files.iter().filter_map(|file| {
        let of = file.len() as u64;
        let used = rows.get(&file.name)?.count(of);
        Some((file.name.clone(), RowsRecord { used, of }))
    });
    told.collect()
}

/// Returns the counts of each second of the ramp-up and the hold: for all steps together and, if
/// there are several steps, for each step. Whole seconds without requests are included; both phases
/// together lasted at least `length`.
fn seconds(
    steps: &[Step],
    series: &Series,
    length: Duration,
) -> (Vec<SecondRecord>, BTreeMap<String, StepSeconds>) {
    let mut told: BTreeMap<u32, Told> =
        series.seconds().map(|second| (second.all.second, second)).collect();
    let measured = told.keys().next_back().copied().unwrap_or(0);
    for number in 0..u32::try_from(length.as_secs()).unwrap_or(u32::MAX).max(measured) {
        told.entry(number).or_insert_with(|| Told::of(number, &[]));
    }
    let (mut all, mut each) = (Vec::new(), vec![StepSeconds::default(); steps.len()]);
    for second in told.into_values() {
        for (index, step) in each.iter_mut().enumerate() {
            step.push(second.steps.get(index));
        }
        all.push(second.all);
    }
    let each = if steps.len() > 1 { by_name(steps, each.into_iter()) } else { BTreeMap::new() };
    (all, each)
}

/// Returns the record of a change of the load. The second is counted from the end of the warm-up.
pub fn changed(change: &LoadChange, warmup: Duration) -> LoadChangeRecord {
    let (users, rate_per_s) = match change.to {
        LoadLevel::Users(users) => (Some(users), None),
        LoadLevel::Rate(rate) => (None, Some(rate)),
    };
    LoadChangeRecord { second: change.second(warmup), users, rate_per_s }
}
