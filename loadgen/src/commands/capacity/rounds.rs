//! The searching: rounds over targets, one target up at a time, and trial after trial on it.

use std::time::SystemTime;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_util::sync::CancellationToken;

use super::Quest;
use super::criteria::judge;
use super::record::{Context as Found, record as found};
use crate::commands::run::folder::RunFolder;
use crate::commands::run::measured::{Loaded, Measured, Round, held};
use crate::commands::run::order::order;
use crate::commands::run::record::{self, Context};
use crate::commands::run::session::{Session, Stopped};
use crate::commands::{Exit, Failure};
use crate::engine::Plan;
use crate::lab::Target;
use crate::measure::{
    Bottleneck, CapacityRound, Connections, Environment, Judgement, Latencies, Search, TrialRecord,
    Tried,
};
use crate::report::rate;
use crate::scenario::{Model, Open, Until};

/// Where the curve is measured besides where the search was: shares of the capacity. The knee is
/// mostly between a half and nine tenths of it, where the search has been too seldom.
const CURVE: [f64; 6] = [0.25, 0.5, 0.6, 0.7, 0.8, 0.9];

/// About how many trials the first round of a target takes, and another.
const TRIALS: [u32; 2] = [18, 4];

/// What came of a search.
pub struct Searched {
    /// By the targets' places in the job.
    pub targets: Vec<OfTarget>,
    /// What ended it early, if it was an error.
    pub failure: Option<Failure>,
}

/// What came of the rounds over one target.
#[derive(Default)]
pub struct OfTarget {
    /// Where it answered.
    pub url: String,
    /// One search each.
    pub rounds: Vec<CapacityRound>,
    /// In the order in which they ran.
    pub trials: Vec<Tried>,
    /// The connections of all of them.
    pub connections: Connections,
}

impl Searched {
    /// Nothing yet.
    pub fn new(targets: usize) -> Self {
        Self { targets: (0..targets).map(|_| OfTarget::default()).collect(), failure: None }
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.targets.iter().all(|target| target.trials.is_empty())
    }
}

/// The rounds under way.
pub struct Rounds<'q, 's, 'a> {
    quest: &'q Quest,
    session: &'q mut Session<'a>,
    place: Place<'q>,
    interrupt: &'q CancellationToken,
    searched: &'s mut Searched,
}

/// Where the search is made, and kept.
pub struct Place<'q> {
    /// The machine and what runs on it.
    pub environment: &'q Environment,
    /// Where what was found is saved after each round, as a search that was interrupted.
    pub folder: &'q RunFolder,
    /// When the search began.
    pub started: SystemTime,
}

/// The target that is up, in a round.
struct Up {
    /// Its place in the job.
    target: usize,
    round: u32,
    url: String,
    running: Option<Target>,
    /// How many times it was started in this round.
    starts: u32,
}

impl<'q, 's, 'a> Rounds<'q, 's, 'a> {
    /// Rounds that add what they find to `searched`.
    pub fn new(
        quest: &'q Quest,
        session: &'q mut Session<'a>,
        place: Place<'q>,
        interrupt: &'q CancellationToken,
        searched: &'s mut Searched,
    ) -> Self {
        Self { quest, session, place, interrupt, searched }
    }

    /// Goes through all rounds.
    pub async fn run(mut self) -> Result<(), Stopped> {
        let targets = self.searched.targets.len();
        for number in 1..=self.quest.job.rounds {
            for (turn, target) in
                order(targets, self.quest.job.seed, number).into_iter().enumerate()
            {
                self.expect(number, u32::try_from(targets - turn).unwrap_or(u32::MAX));
                self.round(target, number).await?;
                self.keep();
            }
        }
        Ok(())
    }

    /// Saves what was found so far: whoever kills loadgen takes no more of it along than a round.
    fn keep(&self) {
        let Place { environment, folder, started, .. } = self.place;
        let (lab, environment) = (self.session.lab(), environment.clone());
        let context = Found { environment, lab, started, interrupted: true };
        // Why it can't be saved is told at the end.
        let _ = folder.save_capacity(&found(self.quest, self.searched, context));
    }

    /// Tells the progress about how many trials are still to come, with so many targets left in
    /// this round.
    fn expect(&mut self, number: u32, left: u32) {
        let targets = u32::try_from(self.searched.targets.len()).unwrap_or(u32::MAX);
        let this = TRIALS[usize::from(number > 1)] * left;
        let others = TRIALS[1] * targets * (self.quest.job.rounds - number);
        self.session.progress().expect(this + others);
    }

    /// One round: a search, and what the curve still lacks after the first.
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

    /// A search from where enough samples begin, or near what is known.
    fn begin(&self, target: usize, number: u32) -> Search {
        let Quest { job, criteria, precision, .. } = self.quest;
        let mut random = ChaCha8Rng::seed_from_u64(job.seed);
        random.set_stream((u64::from(number) << 32) + target as u64 + 1);
        let chance = random.random_range(-0.5..0.5);
        let rounds = &self.searched.targets[target].rounds;
        Search::after(rounds, criteria.start_per_s(), criteria.limits(*precision), chance)
    }

    async fn start(&mut self, target: usize, round: u32, starts: u32) -> Result<Up, Stopped> {
        let name = &self.quest.job.names()[target];
        let log = match starts {
            1 => format!("{name}-{round}.log"),
            again => format!("{name}-{round}-{again}.log"),
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
        let lowest = self.quest.criteria.limits(self.quest.precision).lowest_per_s;
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

    /// Whether the curve has a point near this rate.
    fn is_known(&self, target: usize, rate: f64) -> bool {
        let ratio = |tried: &Tried| (tried.record.rate_per_s / rate).ln().abs();
        self.searched.targets[target]
            .trials
            .iter()
            .any(|t| ratio(t) <= self.quest.precision.ln_1p())
    }

    /// Holds a rate, and judges whether the target carried it. One that did not is started afresh,
    /// so that no trial begins with what another has left waiting.
    async fn trial(&mut self, rate_per_s: f64, up: &mut Up) -> Result<Judgement, Stopped> {
        let round = self.measure(rate_per_s, up).await?;
        let connections = round.yielded.connections.clone();
        let (tried, judgement) = self.judge(rate_per_s, round, up);
        if !tried.record.passed {
            let why = tried.record.reasons.join("; ");
            self.session.progress().note(&format!("  failed: {why}"));
        }
        let of = &mut self.searched.targets[up.target];
        of.url.clone_from(&up.url);
        of.connections.merge(&connections);
        of.trials.push(tried);
        if judgement != Judgement::Passed
            && let Some(running) = up.running.take()
        {
            running.stop().await.map_err(Failure::from)?;
            *up = self.start(up.target, up.round, up.starts + 1).await?;
        }
        Ok(judgement)
    }

    async fn measure(&mut self, rate_per_s: f64, up: &mut Up) -> Result<Round, Stopped> {
        let name = format!("{} at {}/s", self.quest.job.names()[up.target], rate(rate_per_s));
        let plan = self.plan(rate_per_s, up);
        let loaded = self.session.load(up.target, &name, plan, up.running.as_mut(), None).await?;
        let Loaded { verified, yielded, observed, ended } = loaded;
        if let Some(error) = ended {
            return Err(Failure::from(error).into());
        }
        if self.interrupt.is_cancelled() {
            return Err(Stopped::Interrupted);
        }
        if let Some(missing) = yielded.missing() {
            let advice = "the trials before it are kept; search again";
            return Err(Failure::message(Exit::Degraded, missing, advice).into());
        }
        let begun = Round::begun(up.target, up.round, &up.url, yielded.users);
        Ok(Round { yielded, observed, verified, whole: true, ..begun })
    }

    /// The load of a trial. Each has data and arrivals of its own.
    fn plan(&self, rate_per_s: f64, up: &Up) -> Plan {
        let trials = self.searched.targets.iter().map(|target| target.trials.len()).sum::<usize>();
        let mut plan =
            self.quest.job.plan(up.target, up.url.clone(), u32::try_from(trials).unwrap_or(0));
        let load = &mut plan.scenario.load;
        load.until = Until::Duration(self.quest.criteria.length(rate_per_s));
        if let Model::Open(open) = load.model {
            load.model = Model::Open(Open { rate: rate_per_s, ..open });
        }
        plan
    }

    /// A trial is judged as a run of one round.
    fn judge(&self, rate_per_s: f64, round: Round, up: &Up) -> (Tried, Judgement) {
        let mut answered = Latencies::default();
        held(&round.yielded.series).iter().for_each(|step| answered.merge(&step.answered));
        let context = Context {
            environment: self.place.environment.clone(),
            lab: None,
            started: SystemTime::now(),
            interrupted: false,
            noise_floor: None,
        };
        let held_s = round.yielded.held.as_secs_f64();
        let calibration = self.session.calibration();
        let measured = Measured { rounds: vec![round], calibration, ..Measured::default() };
        let mut run = record::build(&self.quest.job, &measured, context);
        let (judgement, reasons) = judge(&run, rate_per_s);
        // It has the one target that a round was measured of.
        let target = run.targets.remove(0);
        let record = TrialRecord {
            round: up.round,
            rate_per_s,
            held_s,
            passed: judgement == Judgement::Passed,
            generator_limited: judgement == Judgement::Limited
                && !matches!(target.bottleneck, Some(Bottleneck::Backend(_) | Bottleneck::Network)),
            reasons,
            bottleneck: target.bottleneck,
            total: target.total,
            resources: target.resources,
        };
        (Tried { record, answered }, judgement)
    }
}
