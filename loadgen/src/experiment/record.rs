//! From measured rounds to the run record.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, SystemTime};

use super::contender::Contender;
use super::job::Job;
use super::measured::{Measured, Round, held};
use super::proof::proofs;
use super::resources::{cpu_over_rounds, others, resources};
use super::sent::{sent, transport};
use super::site::Site;
use super::{comparison, losses};
use crate::analysis::steps::{by_step, counters, together, with_cut};
use crate::analysis::{thresholds, verdicts};
use crate::engine::{Change, WorkerResults};
use crate::lab::Lab;
use crate::measure::{
    Counts, LatencySummary, Phase, SecondRecord, Series, StepSeconds, Summary, Told,
};
use crate::record::{
    Bottleneck, Calibration, ChangeRecord, Environment, LatencyOverRounds, LoadRecord, NoiseFloor,
    RoundRecord, RowsRecord, RunRecord, SCHEMA, ServerRecord, StageRecord, TargetRecord,
    ThresholdRecord, WorkerRecord,
};
use crate::scenario::{Amount, Model, Rows, Step, Until, When};

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

impl<'a> Context<'a> {
    /// Of a run on this site.
    pub fn of(
        site: &Site<'_>,
        measured: &Measured,
        lab: Option<&'a Lab>,
        interrupted: bool,
    ) -> Self {
        Self {
            environment: site.environment(lab, &measured.backends).clone(),
            lab,
            started: site.started,
            interrupted,
            noise_floor: None,
        }
    }
}

/// Sums up a run, with what there is of the round that is under way.
pub fn build(
    job: &Job,
    measured: &Measured,
    under_way: Option<&Round>,
    context: Context<'_>,
) -> RunRecord {
    let (mut targets, mut thresholds) = (Vec::new(), Vec::new());
    for (index, contender) in job.contenders.iter().enumerate() {
        let rounds = measured.rounds.iter().chain(under_way);
        let rounds: Vec<&Round> = rounds.filter(|round| round.contender == index).collect();
        if !rounds.is_empty() {
            let of = Rounds::of(job, &rounds, &context.environment, measured.calibration);
            let (target, judged) = of.pool(job, contender, server(job, index, context.lab));
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
pub struct Rounds<'a> {
    measured: &'a [&'a Round],
    environment: &'a Environment,
    /// The most that the generator was found able to send, in requests/s.
    can_send: Option<f64>,
    /// Before all that is measured.
    warmup: Duration,
    /// Before the hold, and measured.
    ramp_up: Duration,
    /// The scenario's files of rows.
    rows: &'a [Rows],
}

impl<'a> Rounds<'a> {
    /// These rounds of a job, in this environment.
    pub fn of(
        job: &'a Job,
        measured: &'a [&'a Round],
        environment: &'a Environment,
        calibration: Option<Calibration>,
    ) -> Self {
        Self {
            measured,
            environment,
            can_send: calibration.map(|calibration| calibration.rate_per_s),
            warmup: job.warmup,
            ramp_up: job.scenario.load.before_hold(),
            rows: &job.scenario.rows,
        }
    }

    /// The rounds, pooled, and held against the thresholds.
    pub fn pool(
        &self,
        job: &Job,
        contender: &Contender,
        server: ServerRecord,
    ) -> (TargetRecord, Vec<ThresholdRecord>) {
        let steps = &job.scenario.steps;
        let series: Vec<&Series> =
            self.measured.iter().map(|round| &round.results.series).collect();
        let window = self.measured.iter().map(|round| round.held).sum();
        let (summaries, total) = summarize(steps, &series, Phase::Hold, window);
        let counts = of_phase(steps, &series, Phase::Hold);
        let mut by_row = counts.clone();
        at_stop(steps, &series).for_each(|(index, counts)| by_row[index] = counts);
        let cut = of_phase(steps, &series, Phase::Tail);
        let (all, rows) = (with_cut(counts.clone(), &cut), with_cut(by_row.clone(), &cut));
        let scored = thresholds::Scored { all: &all, by_row: &rows, held: window };
        let thresholds =
            thresholds::judge(&contender.name, &job.scenario.thresholds, steps, &scored);
        let rounds_recorded: Vec<RoundRecord> =
            self.measured.iter().map(|round| round_record(steps, round, self)).collect();
        let url = self.measured.last().map(|round| &round.url);
        let changed = self.measured.iter().any(|round| !round.results.changes.is_empty());
        let record = TargetRecord {
            latency_over_rounds_us: over_rounds(&rounds_recorded),
            transport: url.map(|url| transport(&job.scenario, url)),
            url: url.cloned().unwrap_or_default(),
            server,
            steps: summaries,
            latency_histograms: by_name(steps, by_row.into_iter().map(|c| c.answered.into())),
            uncoordinated_us: uncoordinated(
                job,
                contender.users,
                changed,
                &together(&counts),
                window,
            ),
            total,
            counters: counters(steps, &counts),
            proofs: self.measured.iter().flat_map(|round| proofs(&job.scenario, round)).collect(),
            resources: resources(
                self.measured.iter().map(|round| &round.observed.services),
                answered(&counts),
            ),
            bottleneck: Bottleneck::of_most(&rounds_recorded),
            cpu_us_per_request_over_rounds: cpu_over_rounds(&rounds_recorded),
            rounds: rounds_recorded,
            workers: workers(self.measured),
            name: contender.name.clone(),
            target: contender.target.clone(),
            users: contender.users,
        };
        (record, thresholds)
    }
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
    let results = &round.results;
    let series = &results.series;
    let (summaries, total) = summarize(steps, &[series], Phase::Hold, round.held);
    let ramp = series.phase(Phase::RampUp);
    let ramp_up = match ramp.is_empty() {
        true => Vec::new(),
        false => summarize(steps, &[series], Phase::RampUp, Duration::ZERO).0,
    };
    // What cut a round off may have done so in the ramp-up.
    let length = round.whole.then(|| rounds.ramp_up + round.held);
    let (seconds, steps_seconds) = seconds(steps, series, length.unwrap_or_default());
    let record = RoundRecord {
        round: round.number,
        held_s: round.held.as_secs_f64(),
        steps: summaries,
        total,
        ramp_up,
        whole: round.whole,
        users_planned: round.users,
        users_achieved: round.users_achieved(),
        start_skew_ms: results.start_skew.map(|skew| ms(skew.any_path)),
        start_skew_symmetric_ms: results.start_skew.map(|skew| ms(skew.symmetric)),
        connections: Some(results.connections()),
        changes: results.changes.iter().map(|change| changed(change, rounds.warmup)).collect(),
        target_ended: round.ended.clone(),
        rows_ran_out: results.ran_out().into_iter().map(str::to_owned).collect(),
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
    let rows = round.results.rows();
    let told = files.iter().filter_map(|file| {
        let of = file.len() as u64;
        let used = rows.get(&file.name)?.count(of);
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

/// What each worker did, over all rounds; nothing for load from one process.
fn workers(rounds: &[&Round]) -> Vec<WorkerRecord> {
    let mut all: BTreeMap<u32, WorkerResults> = BTreeMap::new();
    let by_workers = rounds.iter().filter(|round| round.results.start_skew.is_some());
    for worker in by_workers.flat_map(|round| &round.results.workers) {
        match all.entry(worker.worker) {
            Entry::Vacant(free) => drop(free.insert(worker.clone())),
            Entry::Occupied(mut before) => before.get_mut().add(worker),
        }
    }
    all.into_values().map(worker_record).collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn worker_record(of: WorkerResults) -> WorkerRecord {
    let (host, cpus) = of.host.map(|host| (host.name, host.cpus)).unzip();
    let strain = &of.strain;
    WorkerRecord {
        worker: of.worker,
        host,
        cpus,
        users: of.users,
        rtt_ms: of.round_trip.map(ms),
        requests: of.requests,
        snapshots: of.snapshots,
        cpu_percent: strain.cpu_percent(),
        lag_mean_ms: strain.lag_mean_ms(),
        lag_max_ms: strain.lag_max_ms(),
        seconds: strain.seconds(),
        late_seconds: strain.late_seconds(),
    }
}

/// A change of the load, counted from the end of the warm-up.
pub fn changed(change: &Change, warmup: Duration) -> ChangeRecord {
    let (users, rate_per_s) = match change.to {
        Amount::Users(users) => (Some(users), None),
        Amount::Rate(rate) => (None, Some(rate)),
    };
    ChangeRecord { second: change.second(warmup), users, rate_per_s }
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
