//! From measured rounds to the run record.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use super::job::{Job, Subject};
use super::proof::proof;
use super::session::{Measured, Round, held};
use super::verdicts;
use crate::commands::Exit;
use crate::lab::{Lab, Usage};
use crate::measure::{
    Bottleneck, Comparison, Counts, Degraded, Environment, Latencies, LatencyOverRounds,
    LatencySummary, LoadRecord, Phase, ResourceRecord, RoundRecord, RunRecord, SCHEMA,
    SecondRecord, Series, ServerRecord, StageRecord, Summary, TargetRecord, ThresholdRecord,
    WorkerRecord, compare,
};
use crate::scenario::{Metric, Model, Step, Threshold, Until, When};

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
}

/// Sums up a run.
pub fn build(job: &Job, measured: &Measured, context: Context<'_>) -> RunRecord {
    let mut pooled = Vec::new();
    for (index, name) in job.names().into_iter().enumerate() {
        let rounds: Vec<&Round> = measured.rounds.iter().filter(|r| r.target == index).collect();
        if !rounds.is_empty() {
            let can_send = measured.calibration.map(|calibration| calibration.rate_per_s);
            pooled.push(Pooled::new(job, index, name, &rounds, &context, can_send));
        }
    }
    let missing = measured.rounds.iter().find_map(|round| round.yielded.missing.clone());
    let failed = measured.failure.as_ref().filter(|failure| failure.exit == Exit::Degraded);
    let degraded = missing.or_else(|| failed.map(|failure| failure.report.to_string()));
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        scenario: job.scenario.name.clone(),
        started: humantime::format_rfc3339_seconds(context.started).to_string(),
        seed: job.seed,
        environment: context.environment,
        load: load(job),
        comparison: comparison(job, &pooled),
        thresholds: pooled.iter().flat_map(|p| p.judge(&job.scenario.thresholds)).collect(),
        targets: pooled.into_iter().map(|p| p.record).collect(),
        calibration: measured.calibration,
        verdicts: Vec::new(),
        degraded: degraded.map(|reason| Degraded { reason }),
        interrupted: context.interrupted,
    };
    record.verdicts = verdicts::judge(&record, &job.scenario);
    record
}

/// A server that was running already is held against nothing but itself. One whose rate was
/// somebody else's has no place, unless it is only held against itself.
fn comparison(job: &Job, pooled: &[Pooled]) -> Option<Comparison> {
    if matches!(job.subject, Subject::Url(_)) && !job.aa {
        return None;
    }
    let is_ranked = |target: &TargetRecord| {
        job.aa || target.bottleneck.as_ref().is_none_or(Bottleneck::is_of_target)
    };
    let (ranked, others): (Vec<&TargetRecord>, Vec<&TargetRecord>) =
        pooled.iter().map(|p| &p.record).partition(|target| is_ranked(target));
    let of = |figures: fn(&[RoundRecord]) -> BTreeMap<u32, f64>| -> Vec<_> {
        ranked.iter().map(|target| (target.name.clone(), figures(&target.rounds))).collect()
    };
    let comparison = match job.scenario.load.model {
        Model::Closed => compare(&of(rates)),
        Model::Open(_) => compare(&of(rates)).by_speed(&of(speeds)),
    };
    let unranked = others.into_iter().map(|target| target.name.clone()).collect();
    let comparison = Comparison { unranked, ..comparison };
    Some(if job.aa { comparison.of_one_server() } else { comparison })
}

/// From this share of its planned requests on, a target carries the rate of the open model.
const CARRIED: f64 = 0.99;

/// How fast the rounds were answered, one over the median latency in s; nothing where one of them
/// did not carry the rate.
fn speeds(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    let speed = |round: &RoundRecord| {
        let total = &round.total;
        let planned = total.requests + total.cancelled + total.unsent;
        let answered = total.requests - total.errors;
        let median =
            total.latency_us.p50.filter(|_| answered as f64 >= CARRIED * planned as f64)?;
        Some((round.round, 1e6 / median as f64))
    };
    let whole = rounds.iter().filter(|round| round.whole);
    whole.map(speed).collect::<Option<_>>().unwrap_or_default()
}

/// What the ranking goes by: the rates of whole rounds, or of the others where there is none.
///
/// A round that is not whole ends the run, or had too few rows, as all the others then: there are
/// never enough of them for a claim.
fn rates(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    let any_whole = rounds.iter().any(|round| round.whole);
    let ranked = rounds.iter().filter(|round| round.whole || !any_whole);
    ranked.map(|round| (round.round, round.total.rate_per_s)).collect()
}

fn load(job: &Job) -> LoadRecord {
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
        warmup_s: job.warmup.as_secs_f64(),
        targets: job.names(),
        rounds: job.rounds,
        workers: job.workers.unwrap_or(0),
    }
}

/// One target's rounds, pooled.
struct Pooled {
    record: TargetRecord,
    /// All steps together, and each step: what thresholds are judged by.
    all: Counts,
    steps: Vec<Counts>,
}

impl Pooled {
    fn new(
        job: &Job,
        index: usize,
        name: String,
        rounds: &[&Round],
        context: &Context<'_>,
        can_send: Option<f64>,
    ) -> Self {
        let steps = &job.scenario.steps;
        let mut series = Series::default();
        for round in rounds {
            series.merge(round.yielded.series.clone());
        }
        let window = rounds.iter().map(|round| round.yielded.held).sum();
        let (summaries, total) = summarize(steps, &series, Phase::Hold, window);
        let counts = by_step(held(&series), steps.len());
        let mut by_row = counts.clone();
        at_stop(steps, &series).for_each(|(index, counts)| by_row[index] = counts);
        let recorded = |round: &&Round| {
            let record = round_record(steps, round);
            let bottleneck = Bottleneck::of(&record, &context.environment, can_send);
            RoundRecord {
                bottleneck,
                others_percent: others(round, &context.environment),
                ..record
            }
        };
        let rounds_recorded: Vec<RoundRecord> = rounds.iter().map(recorded).collect();
        let record = TargetRecord {
            latency_over_rounds_us: over_rounds(&rounds_recorded),
            url: rounds.last().map(|round| round.url.clone()).unwrap_or_default(),
            server: server(job, index, context.lab),
            steps: summaries,
            uncoordinated_us: uncoordinated(job, &together(&counts), window),
            total,
            counters: counters(steps, &counts),
            proofs: rounds.iter().filter_map(|round| proof(steps, round)).collect(),
            bottleneck: Bottleneck::of_most(&rounds_recorded),
            rounds: rounds_recorded,
            resources: resources(rounds.iter().map(|round| &round.observed.services)),
            workers: workers(rounds),
            name,
        };
        Self { record, all: together(&counts), steps: by_row }
    }

    fn judge(&self, thresholds: &[Threshold]) -> Vec<ThresholdRecord> {
        thresholds
            .iter()
            .map(|threshold| {
                let (summary, counts) = match &threshold.step {
                    None => (&self.record.total, &self.all),
                    Some(step) => match self.record.steps.iter().position(|s| s.name == *step) {
                        Some(i) => (&self.record.steps[i], &self.steps[i]),
                        None => (&self.record.total, &self.all),
                    },
                };
                let measured = match threshold.metric {
                    Metric::Percentile(p) => {
                        counts.answered.quantile(p / 100.0).map(|us| us as f64)
                    }
                    Metric::ErrorRate => Some(summary.error_rate()),
                    Metric::Rate => Some(summary.rate_per_s),
                    Metric::Mean => counts.answered.mean(),
                    Metric::Max => counts.answered.max().map(|us| us as f64),
                    Metric::Unsent => Some(summary.unsent as f64),
                };
                ThresholdRecord {
                    target: self.record.name.clone(),
                    threshold: threshold.to_string(),
                    measured,
                    passed: measured.is_some_and(|value| threshold.holds(value)),
                }
            })
            .collect()
    }
}

/// What requests would have seen that came as often as those of the closed model, and waited for
/// nobody. A user sends as often as its share of all answers.
fn uncoordinated(job: &Job, all: &Counts, window: Duration) -> Option<LatencySummary> {
    let load = &job.scenario.load;
    let changes = matches!(load.until, Until::Stages(_));
    if load.model != Model::Closed || changes || all.answered.is_empty() {
        return None;
    }
    let interval = window.mul_f64(f64::from(load.users) / all.answered.len() as f64);
    Some(LatencySummary::from(&all.answered.without_coordination(interval)))
}

/// The summaries of one phase, by step and of all steps together. What the end cut off belongs
/// to the hold.
fn summarize(
    steps: &[Step],
    series: &Series,
    phase: Phase,
    window: Duration,
) -> (Vec<Summary>, Summary) {
    let counts = by_step(series.phase(phase), steps.len());
    let tail = match phase {
        Phase::Hold => by_step(series.phase(Phase::Tail), steps.len()),
        _ => vec![Counts::default(); steps.len()],
    };
    let mut summaries: Vec<Summary> = steps
        .iter()
        .zip(counts.iter().zip(&tail))
        .map(|(step, (counts, tail))| Summary::new(&step.name, counts, tail.cancelled, window))
        .collect();
    if phase == Phase::Hold {
        for (index, counts) in at_stop(steps, series) {
            summaries[index] = Summary::new(&steps[index].name, &counts, 0, Duration::ZERO);
        }
    }
    let cut = tail.iter().map(|counts| counts.cancelled).sum();
    (summaries, Summary::new("all", &together(&counts), cut, window))
}

/// What became of the steps that users send when they stop: after the hold, so that it is in their
/// own rows only, and at no rate.
fn at_stop<'a>(steps: &'a [Step], series: &Series) -> impl Iterator<Item = (usize, Counts)> + 'a {
    let counts = by_step(series.phase(Phase::Stop), steps.len());
    counts.into_iter().enumerate().filter(|(index, _)| steps[*index].when == When::Stop)
}

/// A place for each step, also for those of which nothing was seen.
pub fn by_step(mut counts: Vec<Counts>, steps: usize) -> Vec<Counts> {
    counts.resize_with(steps, Counts::default);
    counts
}

/// All steps together. Counters belong to their steps and are left out.
fn together(steps: &[Counts]) -> Counts {
    steps.iter().fold(Counts::default(), |mut all, step| {
        all.merge(&Counts { counters: Vec::new(), ..step.clone() });
        all
    })
}

/// The sums of all counters, by their names.
pub fn counters(steps: &[Step], counts: &[Counts]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (step, counts) in steps.iter().zip(counts) {
        for (i, counter) in step.counters.iter().enumerate() {
            *sums.entry(counter.name.clone()).or_default() +=
                counts.counters.get(i).copied().unwrap_or(0);
        }
    }
    sums
}

/// Only whole rounds tell how much they differ.
fn over_rounds(rounds: &[RoundRecord]) -> LatencyOverRounds {
    let whole = rounds.iter().filter(|round| round.whole);
    LatencyOverRounds::of(&whole.map(|round| &round.total.latency_us).collect::<Vec<_>>())
}

fn round_record(steps: &[Step], round: &Round) -> RoundRecord {
    let series = &round.yielded.series;
    let (summaries, total) = summarize(steps, series, Phase::Hold, round.yielded.held);
    let ramp = series.phase(Phase::RampUp);
    let ramp_up = match ramp.is_empty() {
        true => Vec::new(),
        false => summarize(steps, series, Phase::RampUp, Duration::ZERO).0,
    };
    RoundRecord {
        round: round.number,
        held_s: round.yielded.held.as_secs_f64(),
        steps: summaries,
        total,
        ramp_up,
        whole: round.whole,
        target_ended: round.ended.clone(),
        rows_ran_out: round.yielded.ran_out.iter().cloned().collect(),
        seconds: seconds(series),
        resources: resources(std::iter::once(&round.observed.services)),
        cpus_busy_percent: round.observed.cpus.clone(),
        others_percent: None,
        bottleneck: None,
    }
}

/// What others used of the CPUs that were set aside for the test.
fn others(round: &Round, environment: &Environment) -> Option<f64> {
    let cpus: BTreeSet<usize> = environment.cpus.values().flatten().copied().collect();
    let known = !cpus.is_empty() && !round.observed.cpus.is_empty();
    known.then(|| round.observed.others_percent(&cpus).max(0.0))
}

/// What counted, second by second: the ramp-up and the hold.
fn seconds(series: &Series) -> Vec<SecondRecord> {
    series
        .seconds(&[Phase::RampUp, Phase::Hold])
        .map(|(second, steps)| {
            let mut answered = Latencies::default();
            steps.iter().for_each(|step| answered.merge(&step.answered));
            SecondRecord {
                second,
                answered: answered.len(),
                errors: steps.iter().map(Counts::failures).sum(),
                p50_us: answered.quantile(0.5),
                p99_us: answered.quantile(0.99),
            }
        })
        .collect()
}

/// CPU seconds add up over rounds, their shares are averaged, and the most memory is kept.
fn resources<'a>(
    rounds: impl Iterator<Item = &'a BTreeMap<String, Usage>>,
) -> BTreeMap<String, ResourceRecord> {
    let mut sums: BTreeMap<String, (ResourceRecord, f64)> = BTreeMap::new();
    for (name, usage) in rounds.flatten() {
        let (sum, n) = sums.entry(name.clone()).or_default();
        sum.cpu_s += usage.cpu_seconds;
        sum.cpu_percent += usage.cpu_percent;
        sum.cpu_wait_percent += usage.cpu_wait_percent;
        // The system tells it of all rounds, or of none.
        if let Some(percent) = usage.busiest_thread_percent {
            *sum.busiest_thread_percent.get_or_insert_default() += percent;
        }
        sum.memory_max_bytes = sum.memory_max_bytes.max(usage.rss_max_bytes);
        *n += 1.0;
    }
    let mean = |(name, (sum, n)): (String, (ResourceRecord, f64))| {
        let mean = ResourceRecord {
            cpu_percent: sum.cpu_percent / n,
            cpu_wait_percent: sum.cpu_wait_percent / n,
            busiest_thread_percent: sum.busiest_thread_percent.map(|sum| sum / n),
            ..sum
        };
        (name, mean)
    };
    sums.into_iter().map(mean).collect()
}

fn workers(rounds: &[&Round]) -> Vec<WorkerRecord> {
    let mut sums: BTreeMap<u32, WorkerRecord> = BTreeMap::new();
    for worker in rounds.iter().flat_map(|round| &round.yielded.workers) {
        sums.entry(worker.worker)
            .and_modify(|sum| {
                sum.requests += worker.requests;
                sum.snapshots += worker.snapshots;
            })
            .or_insert_with(|| worker.clone());
    }
    sums.into_values().collect()
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
        workers: job.server_workers,
        packages: lab.python().versions(&entry.packages),
        differs: entry.differs.clone(),
    }
}
