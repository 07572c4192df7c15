//! From measured rounds to the run record.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, SystemTime};

use super::comparison;
use super::generator::Worked;
use super::job::Job;
use super::losses;
use super::matrix::Contender;
use super::measured::{Measured, Round, held};
use super::proof::proofs;
use super::resources::{cpu_over_rounds, others, resources};
use super::sent::{sent, transport};
use super::steps::{by_step, counters, together, with_cut};
use super::{thresholds, verdicts};
use crate::lab::Lab;
use crate::measure::{
    Bottleneck, Counts, Environment, LatencyOverRounds, LatencySummary, LoadRecord, NoiseFloor,
    Phase, RoundRecord, RowsRecord, RunRecord, SCHEMA, SecondRecord, Series, ServerRecord,
    StageRecord, StepSeconds, Summary, TargetRecord, ThresholdRecord, Told, WorkerRecord,
};
use crate::scenario::{Model, Rows, Step, Until, When};

/// What the record tells besides what was measured.
pub struct Context<'a> {
    /// Where it ran.
    pub environment: Environment,
    /// What launched the targets, if a lab did.
    pub lab: Option<&'a Lab>,
    /// When it began.
    pub started: SystemTime,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// What an earlier run found of the noise here.
    pub noise_floor: Option<NoiseFloor>,
}

/// Sums up a run.
pub fn build(job: &Job, measured: &Measured, context: Context<'_>) -> RunRecord {
    let (mut targets, mut thresholds) = (Vec::new(), Vec::new());
    for (index, contender) in job.contenders.iter().enumerate() {
        let rounds: Vec<&Round> = measured.rounds.iter().filter(|r| r.target == index).collect();
        if !rounds.is_empty() {
            let rounds = Rounds {
                measured: &rounds,
                environment: &context.environment,
                can_send: measured.calibration.map(|calibration| calibration.rate_per_s),
                ramp_up: job.scenario.load.before_hold(),
                rows: &job.scenario.rows,
            };
            let (target, judged) = pool(job, contender, &rounds, server(job, index, context.lab));
            targets.push(target);
            thresholds.extend(judged);
        }
    }
    let load = load(job, measured.workers);
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        scenario: job.scenario.name.clone(),
        started: humantime::format_rfc3339_seconds(context.started).to_string(),
        seed: job.seed,
        command: command_line(),
        environment: context.environment,
        sent: Some(sent(&job.scenario)),
        comparison: comparison::of(job, &load, &targets),
        load,
        thresholds,
        targets,
        calibration: measured.calibration,
        noise_floor: context.noise_floor,
        verdicts: Vec::new(),
        degraded: losses::degraded(job, measured),
        stopped_early: measured.stopped_early.clone(),
        interrupted: context.interrupted,
    };
    record.verdicts = verdicts::judge(&record, &job.scenario);
    record
}

/// What this process was called with.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn load(job: &Job, workers: u32) -> LoadRecord {
    let load = &job.scenario.load;
    let (iterations, stages) = match &load.until {
        Until::Duration(_) => (None, Vec::new()),
        Until::Iterations(n) => (Some(*n), Vec::new()),
        Until::IterationsPerUser(n) => (Some(n.saturating_mul(load.users.into())), Vec::new()),
        Until::Stages(stages) => (None, stages.clone()),
    };
    let open = match load.model {
        Model::Closed => None,
        Model::Open(open) => Some(open),
    };
    LoadRecord {
        model: if open.is_some() { "open" } else { "closed" }.to_owned(),
        users: load.users,
        rate_per_s: open.map(|open| open.rate),
        arrivals: open.map(|open| open.arrivals.to_string()),
        stages: stages
            .iter()
            .map(|s| StageRecord { to: s.to, over_s: s.over.as_secs_f64() })
            .collect(),
        ramp_up_s: load.ramp_up.as_secs_f64(),
        think_time: load.think_time.map(|time| time.to_string()),
        duration_s: load.held().map(|held| held.as_secs_f64()),
        iterations,
        drain_s: load.drain.as_secs_f64(),
        warmup_s: job.warmup.as_secs_f64(),
        targets: job.names(),
        rounds: job.rounds,
        workers,
    }
}

/// The rounds over one contender, and what to judge them by.
struct Rounds<'a> {
    measured: &'a [&'a Round],
    environment: &'a Environment,
    /// The most that the generator was found able to send, in requests/s.
    can_send: Option<f64>,
    /// Before the hold, and measured.
    ramp_up: Duration,
    /// The scenario's files of rows.
    rows: &'a [Rows],
}

/// One contender's rounds, pooled, and held against the thresholds.
fn pool(
    job: &Job,
    contender: &Contender,
    rounds: &Rounds<'_>,
    server: ServerRecord,
) -> (TargetRecord, Vec<ThresholdRecord>) {
    let steps = &job.scenario.steps;
    let series: Vec<&Series> = rounds.measured.iter().map(|round| &round.yielded.series).collect();
    let window = rounds.measured.iter().map(|round| round.yielded.held).sum();
    let (summaries, total) = summarize(steps, &series, Phase::Hold, window);
    let counts = of_phase(steps, &series, Phase::Hold);
    let mut by_row = counts.clone();
    at_stop(steps, &series).for_each(|(index, counts)| by_row[index] = counts);
    let cut = of_phase(steps, &series, Phase::Tail);
    let (all, rows) = (with_cut(counts.clone(), &cut), with_cut(by_row.clone(), &cut));
    let scored = thresholds::Scored { all: &all, by_row: &rows, held: window };
    let thresholds = thresholds::judge(&contender.name, &job.scenario.thresholds, steps, &scored);
    let rounds_recorded: Vec<RoundRecord> =
        rounds.measured.iter().map(|round| round_record(steps, round, rounds)).collect();
    let url = rounds.measured.last().map(|round| &round.url);
    let changed = rounds.measured.iter().any(|round| !round.changes.is_empty());
    let record = TargetRecord {
        latency_over_rounds_us: over_rounds(&rounds_recorded),
        transport: url.map(|url| transport(&job.scenario, url)),
        url: url.cloned().unwrap_or_default(),
        server,
        steps: summaries,
        latency_histograms: by_name(steps, by_row.into_iter().map(|c| c.answered.into())),
        uncoordinated_us: uncoordinated(job, contender.users, changed, &together(&counts), window),
        total,
        counters: counters(steps, &counts),
        proofs: rounds.measured.iter().flat_map(|round| proofs(&job.scenario, round)).collect(),
        resources: resources(
            rounds.measured.iter().map(|round| &round.observed.services),
            answered(&counts),
        ),
        bottleneck: Bottleneck::of_most(&rounds_recorded),
        cpu_us_per_request_over_rounds: cpu_over_rounds(&rounds_recorded),
        rounds: rounds_recorded,
        workers: workers(rounds.measured),
        name: contender.name.clone(),
        target: contender.target.clone(),
        users: contender.users,
    };
    (record, thresholds)
}

/// What belongs to each step, by its name.
fn by_name<T>(steps: &[Step], each: impl Iterator<Item = T>) -> BTreeMap<String, T> {
    steps.iter().map(|step| step.name.clone()).zip(each).collect()
}

/// What requests would have seen that came as often as those of the closed model, and waited for
/// nobody. A user sends as often as its share of all answers.
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

/// What happened in one phase of these rounds, with a place for each step.
fn of_phase(steps: &[Step], rounds: &[&Series], phase: Phase) -> Vec<Counts> {
    by_step(Series::phase_of(rounds.iter().copied(), phase), steps.len())
}

/// The summaries of one phase, by step and of all steps together. What the end cut off belongs
/// to the hold.
fn summarize(
    steps: &[Step],
    rounds: &[&Series],
    phase: Phase,
    window: Duration,
) -> (Vec<Summary>, Summary) {
    let counts = of_phase(steps, rounds, phase);
    let tail = match phase {
        Phase::Hold => of_phase(steps, rounds, Phase::Tail),
        _ => vec![Counts::default(); steps.len()],
    };
    let mut summaries: Vec<Summary> = steps
        .iter()
        .zip(counts.iter().zip(&tail))
        .map(|(step, (counts, tail))| Summary::new(&step.name, counts, tail, window))
        .collect();
    if phase == Phase::Hold {
        for (index, counts) in at_stop(steps, rounds) {
            let nothing = Counts::default();
            summaries[index] = Summary::new(&steps[index].name, &counts, &nothing, Duration::ZERO);
        }
    }
    (summaries, Summary::new("all", &together(&counts), &together(&tail), window))
}

/// What became of the steps that users send when they stop: after the hold, so that it is in their
/// own rows only, and at no rate.
fn at_stop<'a>(
    steps: &'a [Step],
    rounds: &[&Series],
) -> impl Iterator<Item = (usize, Counts)> + use<'a> {
    let counts = of_phase(steps, rounds, Phase::Stop);
    counts.into_iter().enumerate().filter(|(index, _)| steps[*index].when == When::Stop)
}

/// Only whole rounds tell how much they differ.
fn over_rounds(rounds: &[RoundRecord]) -> LatencyOverRounds {
    let whole = rounds.iter().filter(|round| round.whole);
    LatencyOverRounds::of(&whole.map(|round| &round.total.latency_us).collect::<Vec<_>>())
}

fn round_record(steps: &[Step], round: &Round, rounds: &Rounds<'_>) -> RoundRecord {
    let series = &round.yielded.series;
    let (summaries, total) = summarize(steps, &[series], Phase::Hold, round.yielded.held);
    let ramp = series.phase(Phase::RampUp);
    let ramp_up = match ramp.is_empty() {
        true => Vec::new(),
        false => summarize(steps, &[series], Phase::RampUp, Duration::ZERO).0,
    };
    // What cut a round off may have done so in the ramp-up.
    let length = round.whole.then(|| rounds.ramp_up + round.yielded.held);
    let (seconds, steps_seconds) = seconds(steps, series, length.unwrap_or_default());
    let record = RoundRecord {
        round: round.number,
        held_s: round.yielded.held.as_secs_f64(),
        steps: summaries,
        total,
        ramp_up,
        whole: round.whole,
        users_planned: round.yielded.users,
        users_achieved: round.yielded.users_achieved(),
        start_skew_ms: round.yielded.start_skew.map(|skew| ms(skew.any_path)),
        start_skew_symmetric_ms: round.yielded.start_skew.map(|skew| ms(skew.symmetric)),
        connections: Some(round.yielded.connections.clone()),
        changes: round.changes.clone(),
        target_ended: round.ended.clone(),
        rows_ran_out: round.yielded.ran_out.iter().cloned().collect(),
        rows_used: rows_used(round, rounds.rows),
        seconds,
        steps_seconds,
        resources: resources(std::iter::once(&round.observed.services), answered(&held(series))),
        cpus_busy_percent: round.observed.machine.busy_percent.clone(),
        machine: round.observed.machine.taken.clone(),
        others_percent: others(round, rounds.environment),
        bottleneck: None,
    };
    let bottleneck = Bottleneck::of(&record, rounds.environment, rounds.can_send);
    RoundRecord { bottleneck, ..record }
}

/// How much of each file was used, as far as the processes told.
fn rows_used(round: &Round, files: &[Rows]) -> BTreeMap<String, RowsRecord> {
    let told = files.iter().filter_map(|file| {
        let of = file.len() as u64;
        let used = round.yielded.rows.get(&file.name)?.count(of);
        Some((file.name.clone(), RowsRecord { used, of }))
    });
    told.collect()
}

/// What counted, second by second: the ramp-up and the hold, which lasted at least so long together. Of all
/// steps together, and of each where there are several. A whole second without anything is one, too.
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

fn answered(steps: &[Counts]) -> u64 {
    steps.iter().map(|counts| counts.answered.len()).sum()
}

/// What each worker did, over all rounds.
fn workers(rounds: &[&Round]) -> Vec<WorkerRecord> {
    let mut all: BTreeMap<u32, Worked> = BTreeMap::new();
    for worked in rounds.iter().flat_map(|round| &round.yielded.workers) {
        match all.entry(worked.worker) {
            Entry::Vacant(free) => drop(free.insert(worked.clone())),
            Entry::Occupied(mut before) => before.get_mut().add(worked),
        }
    }
    all.into_values().map(worker_record).collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn worker_record(worked: Worked) -> WorkerRecord {
    let Worked { worker, host, users, round_trip, requests, snapshots, strain } = worked;
    let (host, cpus) = host.unzip();
    WorkerRecord {
        worker,
        host,
        cpus,
        users,
        rtt_ms: round_trip.map(ms),
        requests,
        snapshots,
        cpu_percent: strain.cpu_percent(),
        lag_mean_ms: strain.lag_mean_ms(),
        lag_max_ms: strain.lag_max_ms(),
        seconds: strain.seconds(),
        late_seconds: strain.late_seconds(),
    }
}

/// What the lab knows of a target; nothing where there is no lab.
pub fn server(job: &Job, index: usize, lab: Option<&Lab>) -> ServerRecord {
    let (Some(target), Some(lab)) = (job.target(index), lab) else {
        return ServerRecord::default();
    };
    let entry = &target.entry;
    ServerRecord {
        framework: entry.framework.clone(),
        server: entry.server.clone(),
        workers: job.contenders[index].server_workers,
        packages: lab.versions(&entry.packages),
        differs: entry.differs.clone(),
    }
}
