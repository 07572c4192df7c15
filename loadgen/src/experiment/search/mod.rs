//! Searches for the highest rate that each target carries (its capacity), in rounds over targets.
//! One target runs at a time, and is loaded in trial after trial.

mod autosave;
mod kind;
mod profiling;
pub mod searched;
mod terms;
mod to_record;

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use self::searched::{OfTarget, Searched};
pub use self::terms::Terms;
use super::job::Job;
use super::measured::{MeasuredRound, held};
use super::observe::{Begun, Event, SoFar};
use super::session::{OVERHEAD, Session, Stopped};
use super::site::Site;
use super::to_record::{Conditions, others, pool};
use crate::analysis::statistics::order;
use crate::analysis::verdicts::bottleneck;
use crate::analysis::{OfferedRate, Search, TrialResult, Tried, judge, wide_percent};
use crate::engine::Plan;
use crate::failure::{Exit, Failure};
use crate::lab::Target;
use crate::measure::Latencies;
use crate::record::{Bottleneck, Capacity, ServerRecord, TrialRecord};
use crate::scenario::{Model, Open, Until};
use crate::text::rate;

/// A search for the highest rate that each target carries, with its options.
#[derive(Clone, Copy)]
pub struct CapacitySearch<'j> {
    /// Targets, load and settings of the search.
    pub job: &'j Job,
    /// Criteria, length of the trials, and precision.
    pub terms: &'j Terms,
    /// Number of profiling rounds over each target, after the search; 0 for none.
    pub profiling_rounds: u32,
}

/// Rates at which the curve of latency over throughput is measured in addition to the search, as
/// shares of the capacity. The knee of the curve is mostly between 0.5 and 0.9 of the capacity,
/// where the search tries too few rates.
const CURVE: [f64; 6] = [0.25, 0.5, 0.6, 0.7, 0.8, 0.9];

/// Approximate number of trials in a target's first round, and in each later round.
const TRIALS: [u32; 2] = [18, 4];

impl CapacitySearch<'_> {
    /// Returns the approximate duration of a trial.
    pub fn trial_length(&self) -> Duration {
        self.job.warmup + self.terms.duration + OVERHEAD
    }

    /// Returns the load of the trial of this number, at this rate.
    fn plan(&self, target: usize, url: String, number: u32, rate_per_s: f64) -> Plan {
        let mut plan = self.job.plan(target, url, number);
        let load = &mut plan.scenario.load;
        load.until = Until::Duration(self.terms.criteria.length(rate_per_s));
        if let Model::Open(open) = load.model {
            load.model = Model::Open(Open { rate: rate_per_s, ..open });
        }
        plan
    }

    /// Returns the approximate number of trials over all targets.
    pub fn trials(&self) -> u32 {
        let targets = u32::try_from(self.job.contenders.len()).unwrap_or(u32::MAX);
        (TRIALS[0] + TRIALS[1] * (self.job.rounds - 1)).saturating_mul(targets)
    }
}

/// Search in progress, which carries out the rounds and collects the results.
struct Rounds<'q, 'a> {
    quest: CapacitySearch<'q>,
    /// Index of the search's job in the session.
    job: usize,
    /// Approximate number of trials of searches that follow in the experiment.
    later: u32,
    session: &'q mut Session<'a>,
    site: &'q Site<'q>,
    searched: &'q mut Searched,
}

/// Target that runs in the present round.
struct Up {
    /// Index of the target in the job.
    target: usize,
    round: u32,
    url: String,
    running: Option<Target>,
    /// Number of times that the target was started in this round.
    starts: u32,
}

impl Rounds<'_, '_> {
    /// Runs all rounds over all targets.
    async fn run(mut self) -> Result<(), Stopped> {
        let targets = self.searched.targets.len();
        let planned = self.quest.job.rounds;
        for number in 1..=planned + self.quest.terms.more_rounds {
            if number > planned && !self.goes_on(number) {
                break;
            }
            for (turn, target) in
                order(targets, self.quest.job.seed, number).into_iter().enumerate()
            {
                self.expect(number, u32::try_from(targets - turn).unwrap_or(u32::MAX));
                self.round(target, number).await?;
                self.session.round_over(SoFar::Search(self.job, self.searched));
            }
        }
        Ok(())
    }

    /// Returns whether the capacity of a target is uncertain after the planned rounds, and says so
    /// before the first further round.
    fn goes_on(&mut self, number: u32) -> bool {
        let names = self.quest.job.names();
        let of = |(name, of): (String, &OfTarget)| {
            let capacity = Capacity::of(&of.rounds);
            let percent = wide_percent(capacity.rate_per_s, capacity.confidence_95_per_s)?;
            Some(format!("{name} ±{percent:.0} %"))
        };
        let all: Vec<String> =
            names.into_iter().zip(&self.searched.targets).filter_map(of).collect();
        if !all.is_empty() && number == self.quest.job.rounds + 1 {
            let note = format!(
                "uncertain after {} searches: {}; searching up to {} more times",
                number - 1,
                all.join(", "),
                self.quest.terms.more_rounds
            );
            self.session.tell(Event::Note(&note));
        }
        !all.is_empty()
    }

    /// Tells observers the approximate number of trials and rounds still to come, with
    /// `left` targets left in this round of the search.
    fn expect(&mut self, number: u32, left: u32) {
        let targets = u32::try_from(self.searched.targets.len()).unwrap_or(u32::MAX);
        let this = TRIALS[usize::from(number > 1)] * left;
        let others = TRIALS[1] * targets * self.quest.job.rounds.saturating_sub(number);
        let each = self.quest.trial_length();
        self.session.tell(Event::Expected(this + others + self.later, each));
    }

    /// Runs one round over a target: a search and, in the first round, trials at additional rates
    /// that the curve of latency over throughput still lacks.
    async fn round(&mut self, target: usize, number: u32) -> Result<(), Stopped> {
        let mut search = self.begin(target, number);
        let mut up = self.start(target, number, 1).await?;
        let result = self.trials(&mut search, &mut up).await;
        let stopped = match up.running {
            Some(running) => running.stop().await.map_err(Failure::from),
            None => Ok(()),
        };
        result.and(stopped.map_err(Stopped::from))
    }

    /// Returns a search that begins near the capacity from earlier rounds or, if no capacity is
    /// known, at the lowest rate that gives a trial of the usual length enough samples.
    fn begin(&self, target: usize, number: u32) -> Search {
        let CapacitySearch { job, terms: Terms { criteria, precision, .. }, .. } = self.quest;
        let mut random = ChaCha8Rng::seed_from_u64(job.seed);
        random.set_stream((u64::from(number) << 32) + target as u64 + 1);
        let chance = random.random_range(-0.5..0.5);
        let rounds = &self.searched.targets[target].rounds;
        Search::after(rounds, criteria.start_per_s(), criteria.range(*precision), chance)
    }

    async fn start(&mut self, target: usize, round: u32, starts: u32) -> Result<Up, Stopped> {
        let log = self.quest.job.contenders[target].log(round, false);
        let log = match starts {
            1 => log,
            again => format!("{}-start{again}.log", log.trim_end_matches(".log")),
        };
        let (url, running) = self.session.up(target, &log).await?;
        Ok(Up { target, round, url, running, starts })
    }

    async fn trials(&mut self, search: &mut Search, up: &mut Up) -> Result<(), Stopped> {
        let result = self.search(search, up).await;
        let found = search.found(up.round);
        let known = found.capacity_per_s.or(found.passed_per_s);
        self.searched.targets[up.target].rounds.push(found);
        result?;
        let Some(capacity) = known.filter(|_| up.round == 1) else { return Ok(()) };
        let Terms { criteria, precision, .. } = self.quest.terms;
        let lowest = criteria.range(*precision).lowest_per_s;
        for rate in CURVE.map(|share| share * capacity) {
            if rate >= lowest && !self.is_known(up.target, rate) {
                self.trial(rate, up).await?;
            }
        }
        Ok(())
    }

    async fn search(&mut self, search: &mut Search, up: &mut Up) -> Result<(), Stopped> {
        while let Some(rate) = search.next_per_s() {
            search.judged(self.trial(rate, up).await?);
        }
        Ok(())
    }

    /// Returns whether the target has had a trial near
    /// this rate, within the precision of the search.
    fn is_known(&self, target: usize, rate: f64) -> bool {
        let ratio = |tried: &Tried| (tried.record.rate_per_s / rate).ln().abs();
        self.searched.targets[target]
            .trials
            .iter()
            .any(|t| ratio(t) <= self.quest.terms.precision.ln_1p())
    }

    /// Holds a rate, in requests/s, and judges whether the target carried
    /// the rate. After a trial that did not pass, the target is restarted,
    /// so that no trial begins with the backlog of another trial.
    async fn trial(&mut self, rate_per_s: f64, up: &mut Up) -> Result<TrialResult, Stopped> {
        let round = self.measure(rate_per_s, up).await?;
        let connections = round.results.connections();
        let (tried, judgement) = self.judge(rate_per_s, &round);
        if !tried.record.passed {
            let why = tried.record.reasons.join("; ");
            self.session.tell(Event::Note(&format!("  failed: {why}")));
        }
        let of = &mut self.searched.targets[up.target];
        of.url.clone_from(&up.url);
        of.connections.merge(&connections);
        of.trials.push(tried);
        if judgement != TrialResult::Passed
            && let Some(running) = up.running.take()
        {
            running.stop().await.map_err(Failure::from)?;
            *up = self.start(up.target, up.round, up.starts + 1).await?;
        }
        Ok(judgement)
    }

    async fn measure(&mut self, rate_per_s: f64, up: &mut Up) -> Result<MeasuredRound, Stopped> {
        let name = format!("{} at {}/s", self.quest.job.names()[up.target], rate(rate_per_s));
        let plan = self.plan(rate_per_s, up);
        let group = self.quest.job.group.as_deref();
        let (contender, number) = (up.target, up.round);
        let begun = Begun { contender, number, name: &name, group, plan: &plan };
        let (round, ended) = self.session.load(begun, None, up.running.as_mut()).await?;
        if let Some(error) = ended {
            return Err(Failure::from(error).into());
        }
        if self.session.is_interrupted() {
            return Err(Stopped::Interrupted);
        }
        if let Some(missing) = round.results.missing() {
            let advice = "the results of earlier trials are kept; start the search again";
            return Err(Failure::message(Exit::Degraded, "missing_results", missing, advice).into());
        }
        Ok(MeasuredRound { whole: true, ..round })
    }

    /// Returns the load of a trial at this rate. Each trial has a separate seed, so that data and
    /// arrival times differ between trials.
    fn plan(&self, rate_per_s: f64, up: &Up) -> Plan {
        let trials = self.searched.targets.iter().map(|target| target.trials.len()).sum::<usize>();
        let number = u32::try_from(trials).unwrap_or(0);
        self.quest.plan(up.target, up.url.clone(), number, rate_per_s)
    }

    /// Judges a trial by the search's criteria, in the same way as a run of one round.
    fn judge(&self, rate_per_s: f64, round: &MeasuredRound) -> (Tried, TrialResult) {
        let mut answered = Latencies::default();
        held(&round.results.series).iter().for_each(|step| answered.merge(&step.answered));
        let job = self.quest.job;
        let environment = self.site.environment(job, self.session.lab(), &self.searched.backends);
        let conditions = Conditions::of(job, &environment, self.session.calibration());
        let contender = &job.contenders[round.contender];
        let server = ServerRecord::default();
        let (target, thresholds) = pool(job, contender, &[round], server, &conditions);
        let held_s = round.held.as_secs_f64();
        let asked = OfferedRate::constant(rate_per_s, held_s, job.warmup.as_secs_f64());
        let limit = bottleneck(&target, &environment).map(|verdict| verdict.kind);
        let (judgement, reasons) = judge(&target.total, asked, &thresholds, limit);
        let record = TrialRecord {
            round: round.number,
            rate_per_s,
            held_s,
            passed: judgement == TrialResult::Passed,
            generator_limited: judgement == TrialResult::Limited
                && !matches!(target.bottleneck, Some(Bottleneck::Backend(_) | Bottleneck::Network)),
            reasons,
            bottleneck: target.bottleneck,
            total: target.total,
            resources: target.resources,
            others_percent: others(round, &environment),
            other_loadgen: round.observed.other_loadgen,
        };
        (Tried { record, answered }, judgement)
    }
}

/// Runs a search in all rounds, or in as many rounds as an interrupt or an error allows. `job` is the
/// index of its job in the session, and `later` the approximate number of trials of searches that follow
/// in the experiment.
pub async fn search(
    quest: CapacitySearch<'_>,
    job: usize,
    later: u32,
    session: &mut Session<'_>,
    site: &Site<'_>,
) -> Searched {
    session.turn_to(job);
    let mut searched = Searched::new(quest.job.contenders.len());
    let started = session.start(std::slice::from_ref(quest.job)).await;
    if let Some(lab) = session.lab() {
        searched.backends = lab.backend_versions().await;
    }
    let result = match started {
        Ok(()) => {
            let searched = &mut searched;
            Rounds { quest, job, later, session, site, searched }.run().await
        }
        Err(stopped) => Err(stopped),
    };
    if let Err(Stopped::Failed(failure)) = result {
        searched.failure = Some(failure);
    }
    searched
}
