//! Holds what telemetry knows: the sums of everything since the command began, and the values of the moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::durations::Durations;
use super::metrics::{self, Metric};
use super::told::{CountedRows, Loaded, LoadedStep, Told};
use crate::measure::{Counts, ErrorKind, Phase, PresentUsage};
use crate::report::view::PlannedLoad;

/// `error.type` of a histogram of failed requests of several kinds, by the semantic conventions.
const OTHER: &str = "_OTHER";

/// What telemetry knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Sums of each target; those of the target that was loaded last are the last.
    targets: Vec<(Arc<Loaded>, Sums)>,
    workers: BTreeMap<u32, Worker>,
    /// The round that began last; `None` after its load.
    round: Option<u32>,
    now: Option<Now>,
}

/// Sums of one target.
#[derive(Debug, Clone, Default)]
struct Sums {
    steps: BTreeMap<(usize, Phase), Tally>,
    flows: BTreeMap<(usize, Phase), Tally>,
}

/// What one step or flow has done in one phase.
#[derive(Debug, Clone, Default)]
struct Tally {
    answered: Durations,
    failed: Durations,
    delay: Durations,
    errors: BTreeMap<ErrorKind, u64>,
    cancelled: u64,
    unsent: u64,
    resent: u64,
    bytes: u64,
    counters: Vec<u64>,
}

#[derive(Debug, Clone, Default)]
struct Worker {
    host: Option<String>,
    /// Whether the worker has reported in this round, and was not lost since.
    works: bool,
    requests: u64,
}

/// What is known of the round in progress.
#[derive(Debug, Clone)]
struct Now {
    target: Arc<Loaded>,
    round: u32,
    load: Option<PlannedLoad>,
    usage: BTreeMap<String, PresentUsage>,
}

/// Value of a metric with certain attributes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point<'a> {
    pub attributes: Vec<(&'static str, String)>,
    pub value: Value<'a>,
}

/// Value of a metric, by its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Counter(u64),
    Gauge(f64),
    Histogram(&'a Durations),
}

/// Values of each metric that has any.
pub(super) type Points<'a> = Vec<(&'static Metric, Vec<Point<'a>>)>;

impl Known {
    /// Learns what happened.
    pub(super) fn learn(&mut self, told: Told) {
        match told {
            Told::Round(target, round) => self.begin(target, round),
            Told::Counted(by_phase, by_worker) => {
                if let Some((_, sums)) = self.targets.last_mut() {
                    by_phase.iter().for_each(|(phase, rows)| sums.add(*phase, rows));
                }
                for (number, requests) in by_worker {
                    let worker = self.workers.entry(number).or_default();
                    worker.works = true;
                    worker.requests = worker.requests.saturating_add(requests);
                }
            }
            Told::Joined(workers) => {
                for (number, host) in workers {
                    self.workers.entry(number).or_default().host = host;
                }
            }
            Told::LoadStarted => {
                let target = self.targets.last().map(|(target, _)| target.clone());
                let begun = target.zip(self.round);
                self.now = begun.map(|(target, round)| Now {
                    target,
                    round,
                    load: None,
                    usage: BTreeMap::new(),
                });
            }
            Told::Lost(number) => self.workers.entry(number).or_default().works = false,
            Told::Load(load) => self.now.iter_mut().for_each(|now| now.load = Some(load)),
            Told::Usage(usage) => {
                if let Some(now) = &mut self.now {
                    now.usage = usage;
                }
            }
            Told::RoundOver | Told::Ended => self.now = None,
            // No metric.
            Told::Traced(_) => {}
        }
    }

    /// Begins a round. Its series begin with 0 before anything is counted, so that nobody who compares two moments
    /// misses what was counted before the first.
    fn begin(&mut self, target: Arc<Loaded>, round: u32) {
        let at = self.targets.iter().position(|(known, _)| known.is_same(&target));
        let mut sums = at.map(|at| self.targets.remove(at).1).unwrap_or_default();
        let warmup = target.has_warmup.then_some(Phase::Warmup);
        let ramp_up = target.has_ramp_up.then_some(Phase::RampUp);
        for phase in warmup.into_iter().chain(ramp_up).chain([Phase::Hold, Phase::Tail]) {
            for at in 0..target.steps.len() {
                sums.steps.entry((at, phase)).or_default();
            }
            for at in 0..target.flows.len() {
                sums.flows.entry((at, phase)).or_default();
            }
        }
        self.targets.push((target, sums));
        if self.workers.is_empty() {
            // This process, which has the number 0.
            self.workers.insert(0, Worker::default());
        }
        self.workers.values_mut().for_each(|worker| worker.works = false);
        (self.round, self.now) = (Some(round), None);
    }

    /// Returns the sums that were added after `earlier`, an earlier state, and the present values of the moment.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let sums_of = |target: &Arc<Loaded>| {
            let mut all = earlier.targets.iter();
            all.find(|(known, _)| known.is_same(target)).map(|(_, sums)| sums)
        };
        let targets = self.targets.iter().map(|(target, sums)| {
            let since = sums_of(target).map_or_else(|| sums.clone(), |before| sums.since(before));
            (target.clone(), since)
        });
        let workers = self.workers.iter().map(|(number, worker)| {
            let before = earlier.workers.get(number).map_or(0, |worker| worker.requests);
            (*number, Worker { requests: worker.requests - before, ..worker.clone() })
        });
        let (targets, workers) = (targets.collect(), workers.collect());
        Self { targets, workers, round: self.round, now: self.now.clone() }
    }

    /// Returns the values of all metrics.
    pub(super) fn points(&self) -> Points<'_> {
        let mut points: BTreeMap<&'static str, Vec<Point<'_>>> = BTreeMap::new();
        let mut add = |metric: &'static Metric, attributes, value| {
            points.entry(metric.name).or_default().push(Point { attributes, value });
        };
        for (target, sums) in &self.targets {
            sums.add_points(target, &mut add);
        }
        for (number, worker) in &self.workers {
            let mut attributes = vec![("loadgen.worker", number.to_string())];
            attributes.extend(worker.host.clone().map(|host| ("loadgen.worker.host", host)));
            add(&metrics::WORKER_REQUESTS, attributes, Value::Counter(worker.requests));
        }
        if let Some(now) = &self.now {
            let workers = self.workers.values().filter(|worker| worker.works).count();
            now.add_points(workers, &mut add);
        }
        let of = |metric: &'static Metric| Some((metric, points.remove(metric.name)?));
        metrics::all().into_iter().filter_map(of).collect()
    }
}

impl Sums {
    fn add(&mut self, phase: Phase, rows: &CountedRows) {
        let of = [(&mut self.steps, &rows.steps), (&mut self.flows, &rows.flows)];
        for (sums, counted) in of {
            for (at, counts) in counted.iter().enumerate() {
                sums.entry((at, phase)).or_default().add(counts);
            }
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let of = |now: &BTreeMap<_, Tally>, earlier: &BTreeMap<_, Tally>| {
            let since = |(key, tally): (&(usize, Phase), &Tally)| match earlier.get(key) {
                Some(before) => (*key, tally.since(before)),
                None => (*key, tally.clone()),
            };
            now.iter().map(since).collect()
        };
        Self { steps: of(&self.steps, &earlier.steps), flows: of(&self.flows, &earlier.flows) }
    }

    fn add_points<'a>(
        &'a self,
        target: &Loaded,
        add: &mut impl FnMut(&'static Metric, Vec<(&'static str, String)>, Value<'a>),
    ) {
        for ((at, phase), tally) in &self.steps {
            // Results of steps that the scenario does not have, from a foreign worker, are no one's.
            let Some(step) = target.steps.get(*at) else { continue };
            let of_this = |more: Option<(&'static str, String)>| {
                target.attributes().chain(of_step(step, *phase)).chain(more).collect::<Vec<_>>()
            };
            let (duration, of_request) = duration_of(step, target);
            for (durations, error) in tally.durations() {
                let attributes = of_this(None).into_iter().chain(of_request.clone()).chain(error);
                add(duration, attributes.collect(), Value::Histogram(durations));
            }
            if target.is_open {
                add(&metrics::DELAY, of_this(None), Value::Histogram(&tally.delay));
            }
            for kind in ErrorKind::ALL {
                let n = tally.errors.get(&kind).copied().unwrap_or(0);
                let kind = Some(("error.type", kind.to_string()));
                add(&metrics::FAILURES, of_this(kind), Value::Counter(n));
            }
            for (metric, n) in [
                (&metrics::CANCELLED, tally.cancelled),
                (&metrics::UNSENT, tally.unsent),
                (&metrics::RESENT, tally.resent),
                (&metrics::BODY_SIZE, tally.bytes),
            ] {
                add(metric, of_this(None), Value::Counter(n));
            }
            for (at, counter) in step.counters.iter().enumerate() {
                let n = tally.counters.get(at).copied().unwrap_or(0);
                let counter = Some(("loadgen.counter.name", counter.clone()));
                add(&metrics::COUNTER, of_this(counter), Value::Counter(n));
            }
        }
        for ((at, phase), tally) in &self.flows {
            let Some(flow) = target.flows.get(*at) else { continue };
            for (durations, error) in tally.durations() {
                let own = [("loadgen.flow", flow.clone()), ("loadgen.phase", name(*phase))];
                let attributes = target.attributes().chain(own).chain(error).collect();
                add(&metrics::ITERATION_DURATION, attributes, Value::Histogram(durations));
            }
        }
    }
}

impl Tally {
    fn add(&mut self, counts: &Counts) {
        self.answered.add(&counts.answered);
        self.failed.add(&counts.failed);
        self.delay.add(&counts.delay);
        for (kind, n) in &counts.errors {
            let sum = self.errors.entry(*kind).or_default();
            *sum = sum.saturating_add(*n);
        }
        if self.counters.len() < counts.counters.len() {
            self.counters.resize(counts.counters.len(), 0);
        }
        let counters = self.counters.iter_mut().zip(counts.counters.iter().copied());
        let sums = [
            (&mut self.cancelled, counts.cancelled),
            (&mut self.unsent, counts.unsent),
            (&mut self.resent, counts.resent),
            (&mut self.bytes, counts.bytes),
        ];
        for (sum, more) in sums.into_iter().chain(counters) {
            *sum = sum.saturating_add(more);
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let errors =
            self.errors.iter().map(|(kind, n)| (*kind, n - earlier.errors.get(kind).unwrap_or(&0)));
        let before = earlier.counters.iter().copied().chain(std::iter::repeat(0));
        Self {
            answered: self.answered.since(&earlier.answered),
            failed: self.failed.since(&earlier.failed),
            delay: self.delay.since(&earlier.delay),
            errors: errors.collect(),
            cancelled: self.cancelled - earlier.cancelled,
            unsent: self.unsent - earlier.unsent,
            resent: self.resent - earlier.resent,
            bytes: self.bytes - earlier.bytes,
            counters: self.counters.iter().zip(before).map(|(now, before)| now - before).collect(),
        }
    }

    /// Returns the durations of expected responses, and those of failed requests if there are any, with their
    /// attribute.
    fn durations(&self) -> impl Iterator<Item = (&Durations, Option<(&'static str, String)>)> {
        let failed =
            (self.failed.count > 0).then(|| (&self.failed, Some(("error.type", OTHER.to_owned()))));
        std::iter::once((&self.answered, None)).chain(failed)
    }
}

impl Now {
    fn add_points<'a>(
        &self,
        workers: usize,
        add: &mut impl FnMut(&'static Metric, Vec<(&'static str, String)>, Value<'a>),
    ) {
        let mut add_gauge = |metric, service: Option<&String>, value| {
            let service = service.map(|name| ("loadgen.service", name.clone()));
            let attributes = self.target.attributes().chain(service).collect();
            add(metric, attributes, Value::Gauge(value));
        };
        match self.load {
            Some(PlannedLoad::Users(users)) => {
                add_gauge(&metrics::USERS, None, f64::from(users));
            }
            Some(PlannedLoad::Rate(per_s)) => add_gauge(&metrics::RATE, None, per_s),
            None => {}
        }
        add_gauge(&metrics::ROUND, None, f64::from(self.round));
        add_gauge(&metrics::WORKERS, None, workers as f64);
        for (name, used) in &self.usage {
            add_gauge(&metrics::CPU, Some(name), used.cpu_percent / 100.0);
            add_gauge(&metrics::MEMORY, Some(name), used.memory_bytes as f64);
        }
    }
}

impl Loaded {
    /// Whether values about the other target have the same attributes.
    fn is_same(&self, other: &Self) -> bool {
        (&self.group, &self.scenario, &self.target)
            == (&other.group, &other.scenario, &other.target)
    }

    /// Returns the attributes of every value about this target: those in [`metrics::COMMON`].
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'static str, String)> {
        let [group, scenario, target] = metrics::COMMON;
        let of_group = self.group.clone().map(|name| (group, name));
        let own = [(scenario, self.scenario.clone()), (target, self.target.clone())];
        of_group.into_iter().chain(own)
    }
}

/// Returns the metric for the durations of a step, and its attributes besides those of all metrics of steps.
fn duration_of(
    step: &LoadedStep,
    target: &Loaded,
) -> (&'static Metric, Vec<(&'static str, String)>) {
    match step.method {
        None => (&metrics::MESSAGE_DURATION, Vec::new()),
        Some(_) => (&metrics::REQUEST_DURATION, of_request(step, target)),
    }
}

/// Returns the attributes of the requests of a step in a phase.
pub(super) fn of_step(step: &LoadedStep, phase: Phase) -> [(&'static str, String); 2] {
    [("loadgen.step", step.name.clone()), ("loadgen.phase", name(phase))]
}

/// Returns the attributes of the HTTP requests of a step, by the semantic conventions.
pub(super) fn of_request(step: &LoadedStep, target: &Loaded) -> Vec<(&'static str, String)> {
    let method = step.method.clone().map(|method| ("http.request.method", method));
    let address = target.address.clone().map(|address| ("server.address", address));
    let port = target.port.map(|port| ("server.port", port.to_string()));
    method.into_iter().chain(address).chain(port).collect()
}

/// Returns the name of a phase as a value of `loadgen.phase`.
fn name(phase: Phase) -> String {
    match phase {
        Phase::Warmup => "warmup",
        Phase::RampUp => "ramp_up",
        Phase::Hold => "hold",
        Phase::Tail => "tail",
        Phase::Stop => "stop",
    }
    .to_owned()
}
