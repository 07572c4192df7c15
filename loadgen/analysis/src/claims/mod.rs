//! Judges claims about the arms of an experiment by the rounds that were measured.
//!
//! A claim is judged by the 95 % confidence interval of its ratio or value: the claim held if all of
//! the interval confirms it, and did not hold if all of the interval refutes it. Ratios are paired by
//! round, as in a comparison of targets. For an equality this is the test of two one-sided tests
//! (Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach", 1987),
//! at half the usual level.

mod arm_figure;
mod figure;

use std::f64::consts::SQRT_2;

pub use arm_figure::{ArmFigure, arm_figure, unit_of};
use figure::is_memory;
pub use figure::{figures, is_better_higher, unit};

use super::compare::ByRound;
use super::statistics::{LEVEL, OVER_STARTS, Sample, rounds_to_exclude};
use crate::record::{
    Bottleneck, ClaimRecord, EvidenceRecord, FEWEST_ROUNDS, Finding, TargetRecord,
};
use loadgen_measure::BALANCER;
use loadgen_scenario::experiment::{Claim, Group, Statement};
use loadgen_scenario::{Metric, Operator};

/// Level at which a claim counts as clear before all rounds are measured. Looks at a thousandth leave nearly
/// the whole level to the last one, without a correction (Haybittle, "Repeated Assessment of Results in Clinical
/// Trials of Cancer Treatment", 1971; Peto et al., "Design and Analysis of Randomized Clinical Trials Requiring
/// Prolonged Observation of Each Patient", 1976).
const CLEAR: f64 = 0.001;

/// Numbers of rounds after which claims may be looked at: few looks, so that looking costs no certainty.
pub const LOOKS: [u32; 6] = [5, 8, 12, 16, 20, 25];

/// Targets that were measured for the claims about a group.
#[derive(Clone, Copy)]
pub struct Arms<'a> {
    /// The group, as its file describes it.
    pub group: &'a Group,
    /// The targets. A target has the name of its arm.
    pub targets: &'a [&'a TargetRecord],
    /// Whether all rounds of a target share one start.
    pub one_start: bool,
    /// Tells why an arm was left out, if it was; the part of the reason before its first semicolon says what is
    /// missing, such as `needs Go 1.26`.
    pub left_out: &'a dyn Fn(&str) -> Option<String>,
}

/// Judges the claim about the arms' group.
#[must_use]
pub fn judge_claim(claim: &Claim, arms: Arms<'_>) -> ClaimRecord {
    let result = judge(claim, arms, LEVEL);
    let more_rounds = result.more_rounds.filter(|_| !arms.one_start);
    record(claim, arms.group, ClaimResult { more_rounds, ..result })
}

/// Returns the record of a claim that is not judged here, for this reason.
#[must_use]
pub fn not_judged(claim: &Claim, group: &Group, why: String) -> ClaimRecord {
    let about = match &claim.statement {
        Statement::Order(arms) => arms.windows(2).collect::<Vec<_>>(),
        other => vec![other.arms()],
    };
    let names = |arms: &[usize]| arms.iter().map(|&arm| group.arms[arm].name.clone()).collect();
    let evidence = about.into_iter().map(|arms| without_figure(names(arms)));
    record(claim, group, ClaimResult::not_shown(evidence.collect(), why))
}

/// Returns the evidence of arms that have no figure.
fn without_figure(arms: Vec<String>) -> EvidenceRecord {
    EvidenceRecord { arms, figure: None, confidence_95: None, rounds: 0 }
}

fn record(claim: &Claim, group: &Group, result: ClaimResult) -> ClaimRecord {
    ClaimRecord {
        says: claim.sentence(group),
        group: group.name.clone(),
        metric: claim.metric.to_string(),
        range: Some(range(&claim.statement, &claim.metric)),
        finding: result.finding,
        evidence: result.evidence,
        published: claim.statement.published(),
        why: result.why,
        more_rounds: result.more_rounds,
    }
}

/// Returns whether further rounds may settle the claim: it is not clear so far, and each of its arms has
/// figures that count.
#[must_use]
pub fn is_open(claim: &Claim, arms: Arms<'_>) -> bool {
    let result = judge(claim, arms, CLEAR);
    let has_figures = result.evidence.iter().all(|one| one.figure.is_some());
    result.finding == Finding::CouldNotBeShown && has_figures && !result.evidence.is_empty()
}

/// Judges the claim at this significance level.
fn judge(claim: &Claim, arms: Arms<'_>, level: f64) -> ClaimResult {
    let Arms { group, targets, one_start, left_out } = arms;
    let judging = Judging { metric: &claim.metric, targets, group, one_start, level, left_out };
    match &claim.statement {
        Statement::Order(arms) => judging.order(arms),
        Statement::Ratio { arms, between, .. } => judging.ratio(*arms, *between),
        Statement::Equal { arms, within } => judging.ratio(*arms, equality(*within)),
        Statement::Condition { arm, operator, bound, .. } => judging.value(*arm, *operator, *bound),
    }
}

/// Returns the lowest and the highest figure that confirms a statement.
fn range(statement: &Statement, metric: &Metric) -> [Option<f64>; 2] {
    match statement {
        Statement::Order(_) if is_better_higher(metric) => [Some(1.0), None],
        Statement::Order(_) => [None, Some(1.0)],
        Statement::Ratio { between, .. } => between.map(Some),
        Statement::Equal { within, .. } => equality(*within).map(Some),
        Statement::Condition { operator, bound, .. } if operator.is_upper() => [None, Some(*bound)],
        Statement::Condition { bound, .. } => [Some(*bound), None],
    }
}

/// Returns the lowest and the highest ratio of two figures that differ by at most this share of the smaller.
fn equality(within: f64) -> [f64; 2] {
    [1.0 / (1.0 + within), 1.0 + within]
}

/// Result of a claim: the finding, with its evidence.
struct ClaimResult {
    finding: Finding,
    evidence: Vec<EvidenceRecord>,
    why: Option<String>,
    more_rounds: Option<u32>,
}

impl ClaimResult {
    /// Returns that a claim could not be shown, for this reason.
    fn not_shown(evidence: Vec<EvidenceRecord>, why: impl Into<String>) -> Self {
        let why = Some(why.into());
        Self { finding: Finding::CouldNotBeShown, evidence, why, more_rounds: None }
    }
}

/// Arms and metric of a claim that is being judged.
struct Judging<'a> {
    metric: &'a Metric,
    targets: &'a [&'a TargetRecord],
    group: &'a Group,
    one_start: bool,
    level: f64,
    left_out: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Judging<'a> {
    fn name(&self, arm: usize) -> &'a str {
        &self.group.arms[arm].name
    }

    /// Returns the figures of an arm by round, or the reason why its figures judge nothing.
    fn figures(&self, arm: usize) -> Result<ByRound, String> {
        let name = self.name(arm);
        let Some(target) = self.targets.iter().find(|target| target.name == name) else {
            return Err(not_measured(name, (self.left_out)(name).as_deref()));
        };
        match target.bottleneck {
            Some(Bottleneck::Generator) => {
                return Err(format!("loadgen itself limited the load on {name}"));
            }
            Some(Bottleneck::Network) => {
                return Err(format!("the network limited the load on {name}"));
            }
            Some(Bottleneck::Backend(ref backend)) if backend == BALANCER => {
                return Err(format!("the load balancer limited the load on {name}"));
            }
            _ => {}
        }
        let figures = figures(&target.rounds, self.metric);
        match figures.is_empty() {
            true if is_memory(self.metric) => Err(format!(
                "{name} lacks this figure: the memory of processes, also of those in pods, counts the pages that \
                 they share several times, so memory is judged with --runtime podman only"
            )),
            true => Err(format!("{name} lacks this figure in a round of full length")),
            false => Ok(figures),
        }
    }

    /// Judges whether the ratio of the first arm's figure to the second arm's is in a range.
    fn ratio(&self, arms: [usize; 2], between: [f64; 2]) -> ClaimResult {
        let ratio = match self.paired(arms) {
            Ok(ratio) => ratio,
            Err((evidence, why)) => return ClaimResult::not_shown(evidence, why),
        };
        let bounds = between.map(f64::ln);
        let (finding, more_rounds) = ratio.inside(bounds, self.level);
        let why =
            ratio.why_open(finding, "the confidence interval reaches into and out of the range");
        ClaimResult { finding, evidence: vec![ratio.evidence], why, more_rounds }
    }

    /// Judges whether each arm is better than the next. All pairs must be shown for the claim to
    /// hold, which needs no correction (an intersection-union test); one reversed pair refutes the
    /// claim, so the level of the refutation is divided by the number of pairs.
    fn order(&self, arms: &[usize]) -> ClaimResult {
        let pairs = arms.windows(2).map(|pair| [pair[0], pair[1]]);
        let number = arms.len().saturating_sub(1).max(1) as f64;
        let (mut evidence, mut open, mut all_held, mut one_reversed) =
            (Vec::new(), None, true, false);
        let mut more_rounds = Some(0);
        for pair in pairs {
            let [better, worse] = pair.map(|arm| self.name(arm));
            let ratio = match self.paired(pair) {
                Ok(ratio) => ratio,
                Err((known, why)) => {
                    evidence.extend(known);
                    (all_held, more_rounds) = (false, None);
                    open.get_or_insert(why);
                    continue;
                }
            };
            let sign = if figure::is_better_higher(self.metric) { 1.0 } else { -1.0 };
            let sample = Sample { mean: sign * ratio.sample.mean, ..ratio.sample };
            let is_enough = sample.rounds >= FEWEST_ROUNDS;
            let p = sample.p_value().filter(|_| is_enough).unwrap_or(1.0);
            let held = p < self.level && sample.mean > 0.0;
            one_reversed |= p < self.level / number && sample.mean < 0.0;
            if !held {
                all_held = false;
                let more = rounds_to_exclude(&ratio.sample, 0.0, LEVEL).filter(|_| is_enough);
                more_rounds = more_rounds.zip(more).map(|(most, more): (u32, u32)| most.max(more));
                open.get_or_insert(match is_enough {
                    true => format!("the order of {better} and {worse} may be chance"),
                    false => too_few(sample.rounds),
                });
            }
            evidence.push(ratio.evidence);
        }
        let finding = match (all_held, one_reversed) {
            (true, _) => Finding::Held,
            (_, true) => Finding::DidNotHold,
            _ => Finding::CouldNotBeShown,
        };
        let is_open = finding == Finding::CouldNotBeShown;
        let why = open.filter(|_| is_open);
        ClaimResult {
            finding,
            evidence,
            why,
            more_rounds: more_rounds.filter(|more| is_open && *more > 0),
        }
    }

    /// Judges whether the value of an arm is on the side of a bound that the operator demands.
    fn value(&self, arm: usize, operator: Operator, bound: f64) -> ClaimResult {
        let name = self.name(arm).to_owned();
        let figures = match self.figures(arm) {
            Ok(figures) => figures,
            Err(why) => return ClaimResult::not_shown(vec![without_figure(vec![name])], why),
        };
        let values: Vec<f64> = figures.values().copied().collect();
        let rounds = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // A sample does not care whether its numbers are logarithms.
        let sample = Sample::of(&values).filter(|_| rounds >= FEWEST_ROUNDS);
        let sample = sample.map(|sample| self.with_starts(sample, OVER_STARTS * mean));
        let interval = |level| sample.and_then(|sample| sample.confidence(level));
        let evidence = EvidenceRecord {
            arms: vec![name],
            figure: Some(mean),
            // No figure is negative, although Student's interval may reach below zero.
            confidence_95: interval(LEVEL).map(|[low, high]| [low.max(0.0), high]),
            rounds,
        };
        let Some(ends) = interval(self.level) else {
            return ClaimResult::not_shown(vec![evidence], too_few(rounds));
        };
        let (finding, why) = match ends.map(|end| operator.holds(end, bound)) {
            [true, true] => (Finding::Held, None),
            [false, false] => (Finding::DidNotHold, None),
            _ => {
                let why = "the bound lies within the confidence interval".to_owned();
                (Finding::CouldNotBeShown, Some(why))
            }
        };
        ClaimResult { finding, evidence: vec![evidence], why, more_rounds: None }
    }

    /// Returns the sample with the error that another start would have brought, if the rounds share one start.
    fn with_starts(&self, sample: Sample, deviation: f64) -> Sample {
        if self.one_start { sample.within_one_start(deviation) } else { sample }
    }

    /// Returns the ratio of two arms' figures over the rounds that both have, or the reason why
    /// there is none, with the evidence so far.
    fn paired(&self, arms: [usize; 2]) -> Result<Ratio, (Vec<EvidenceRecord>, String)> {
        let names = arms.map(|arm| self.name(arm).to_owned()).to_vec();
        let none = without_figure(names);
        let no_evidence = |why| (vec![none.clone()], why);
        let [one, other] = [self.figures(arms[0]), self.figures(arms[1])];
        let (one, other) = (one.map_err(no_evidence)?, other.map_err(no_evidence)?);
        let both: Vec<f64> =
            one.iter().filter_map(|(round, figure)| Some(figure / other.get(round)?)).collect();
        let rounds = u32::try_from(both.len()).unwrap_or(u32::MAX);
        let none = EvidenceRecord { rounds, ..none };
        let Some(sample) = Sample::of_figures(both) else {
            let why = match rounds {
                0 => "no round of full length has both arms",
                _ => "a figure is zero in one of the rounds, so there is no ratio",
            };
            return Err((vec![none], why.to_owned()));
        };
        let sample = self.with_starts(sample, OVER_STARTS * SQRT_2);
        let confidence_95 = sample.geometric_95().filter(|_| rounds >= FEWEST_ROUNDS);
        let figure = Some(sample.geometric_mean());
        Ok(Ratio { sample, evidence: EvidenceRecord { figure, confidence_95, ..none } })
    }
}

/// Ratio of two arms' figures over the rounds that both have.
struct Ratio {
    sample: Sample,
    evidence: EvidenceRecord,
}

impl Ratio {
    /// Returns whether the logarithm of the ratio is between two bounds, and the number of further
    /// rounds that would settle an open finding, at this significance level.
    fn inside(&self, [low, high]: [f64; 2], level: f64) -> (Finding, Option<u32>) {
        let enough = self.evidence.confidence_95.and_then(|_| self.sample.confidence(level));
        let Some([from, to]) = enough else { return (Finding::CouldNotBeShown, None) };
        if low <= from && to <= high {
            (Finding::Held, None)
        } else if to < low || high < from {
            (Finding::DidNotHold, None)
        } else {
            // The interval must shrink until it excludes the nearer bound.
            let nearer = if (self.sample.mean - low).abs() < (self.sample.mean - high).abs() {
                low
            } else {
                high
            };
            (Finding::CouldNotBeShown, rounds_to_exclude(&self.sample, nearer, LEVEL))
        }
    }

    /// Returns the reason for an open finding: too few rounds, or `otherwise`.
    fn why_open(&self, finding: Finding, otherwise: &str) -> Option<String> {
        let is_open = finding == Finding::CouldNotBeShown;
        is_open.then(|| match self.evidence.confidence_95 {
            None => too_few(self.evidence.rounds),
            Some(_) => otherwise.to_owned(),
        })
    }
}

/// Returns that an arm was not measured, with what is missing, if the arm was left out for this reason.
#[must_use]
pub fn not_measured(arm: &str, left_out: Option<&str>) -> String {
    let missing = left_out.and_then(|why| why.split(';').next());
    let missing = missing.map(|missing| format!(": {missing}")).unwrap_or_default();
    format!("{arm} was not measured{missing}")
}

fn too_few(rounds: u32) -> String {
    format!("{rounds} of at least {FEWEST_ROUNDS} rounds that a finding needs")
}

#[cfg(test)]
mod tests;
