//! Says what became of a claim: in one sentence, and as the rows that tables and charts show.

use super::here::{brief, with_interval};
use crate::analysis::claims::unit_of;
use crate::record::{
    ClaimRecord, EvidenceRecord, ExperimentRecord, Finding, GroupRecord, PublishedRecord,
};
use crate::text::{count, precise};

/// Finding about a claim, as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The measurement confirms the claim.
    Held,
    /// The measurement refutes the claim.
    DidNotHold,
    /// The measurement does neither.
    Open,
    /// The experiment has no figure for the claim.
    NotMeasured,
}

impl Shown {
    /// All findings, in the order of a legend.
    pub(crate) const ALL: [Self; 4] = [Self::Held, Self::DidNotHold, Self::Open, Self::NotMeasured];

    /// Returns the finding about a claim.
    fn of(claim: &ClaimRecord) -> Self {
        match claim.finding {
            Finding::Held => Self::Held,
            Finding::DidNotHold => Self::DidNotHold,
            _ if claim.evidence.iter().all(|one| one.figure.is_none()) => Self::NotMeasured,
            Finding::CouldNotBeShown => Self::Open,
        }
    }

    /// Returns a symbol that can be told from the others without colour.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Held => "✓",
            Self::DidNotHold => "✗",
            Self::Open => "?",
            Self::NotMeasured => "–",
        }
    }

    /// Returns the finding in words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::DidNotHold => "did not hold",
            Self::Open => "open",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A claim, its finding, and the figures that it is about.
pub(crate) struct ClaimRow<'a> {
    /// The claim.
    pub claim: &'a ClaimRecord,
    /// Finding about the claim.
    pub shown: Shown,
    /// The figures; several for an order of more than two arms.
    pub figures: Vec<Claimed>,
}

/// A figure that a claim is about: the value of an arm, or the ratio of two arms.
pub(crate) struct Claimed {
    /// Name of the arm, or of both arms: `go ÷ flask`.
    pub name: String,
    /// Finding of this figure; for one of several pairs, by the pair's own interval.
    pub shown: Shown,
    /// The figure measured here; `None` if it was not measured.
    pub figure: Option<f64>,
    /// 95 % confidence interval of `figure`; `None` with too few rounds.
    pub confidence_95: Option<[f64; 2]>,
    /// Published figures, one for each machine of the publication.
    pub published: Vec<f64>,
    /// Lowest and highest figure that confirms the claim; `None` if unknown.
    pub range: Option<[Option<f64>; 2]>,
    /// Unit of all figures; empty for a ratio.
    pub unit: &'static str,
}

/// Returns a row for each claim, in the order of the experiment.
pub(crate) fn rows(record: &ExperimentRecord) -> Vec<ClaimRow<'_>> {
    record.claims.iter().map(|claim| row(record, claim)).collect()
}

fn row<'a>(record: &'a ExperimentRecord, claim: &'a ClaimRecord) -> ClaimRow<'a> {
    let shown = Shown::of(claim);
    let group = record.groups.iter().find(|group| group.name == claim.group);
    let is_one = claim.evidence.len() < 2;
    let figures = claim.evidence.iter().map(|evidence| {
        let (unit, factor) = match evidence.arms.len() {
            1 => unit_of(&claim.metric),
            _ => ("", 1.0),
        };
        let published = match (claim.published, group) {
            (Some(published), _) if is_one => vec![published],
            (_, Some(group)) => published(group, &claim.metric, &evidence.arms),
            _ => Vec::new(),
        };
        let mut one = Claimed {
            name: evidence.arms.join(" ÷ "),
            shown,
            figure: evidence.figure.map(|figure| figure * factor),
            confidence_95: evidence.confidence_95.map(|ends| ends.map(|end| end * factor)),
            published,
            range: claim.range.map(|range| range.map(|end| end.map(|end| end * factor))),
            unit,
        };
        if !is_one {
            one.shown = one.by_itself(shown);
        }
        one
    });
    ClaimRow { claim, shown, figures: figures.collect() }
}

/// Returns the published figure of an arm, or the ratio of two arms', for each machine that has all.
fn published(group: &GroupRecord, metric: &str, arms: &[String]) -> Vec<f64> {
    let of = |name: &String| -> Vec<&PublishedRecord> {
        let arm = group.arms.iter().find(|arm| arm.name == *name);
        let all = arm.into_iter().flat_map(|arm| &arm.published);
        all.filter(|figure| figure.metric == metric).collect()
    };
    match arms {
        [arm] => of(arm).iter().map(|figure| figure.published).collect(),
        [one, other] => {
            let others = of(other);
            let ratio = |figure: &&PublishedRecord| {
                let same = others.iter().find(|other| other.machine == figure.machine)?;
                (same.published > 0.0).then(|| figure.published / same.published)
            };
            of(one).iter().filter_map(ratio).collect()
        }
        _ => Vec::new(),
    }
}

impl Claimed {
    /// Returns what one of several pairs shows, where the finding about the claim is `of_claim`.
    fn by_itself(&self, of_claim: Shown) -> Shown {
        match self.figure.and(self.margin()) {
            None if self.figure.is_none() => Shown::NotMeasured,
            None => of_claim,
            _ if self.confidence_95.is_none() => Shown::Open,
            Some(margin) if margin >= 0.0 => Shown::Held,
            // The level of a refutation is divided by the number of pairs.
            _ if of_claim == Shown::DidNotHold && self.is_outside() => Shown::DidNotHold,
            _ => Shown::Open,
        }
    }

    /// Returns how far inside the range the figure, with its interval, is, as a logarithm; negative outside of
    /// the range. `None` if the range or the figure is unknown.
    fn margin(&self) -> Option<f64> {
        let [from, to] = self.confidence_95.or(self.figure.map(|figure| [figure, figure]))?;
        let [low, high] = self.range?;
        let sides = [low.map(|low| (from / low).ln()), high.map(|high| (high / to).ln())];
        sides.into_iter().flatten().min_by(f64::total_cmp)
    }

    fn is_outside(&self) -> bool {
        let (Some([from, to]), Some([low, high])) = (self.confidence_95, self.range) else {
            return false;
        };
        low.is_some_and(|low| to < low) || high.is_some_and(|high| high < from)
    }

    /// Returns the figure with its interval and unit, or that there is none.
    pub(crate) fn here(&self) -> String {
        match self.figure {
            None => Shown::NotMeasured.word().to_owned(),
            Some(figure) => with_interval(figure, self.confidence_95, self.unit),
        }
    }

    /// Returns the published figures with their unit: the least and the greatest if machines differ.
    pub(crate) fn published(&self) -> String {
        let least = self.published.iter().copied().min_by(f64::total_cmp).map(brief);
        let most = self.published.iter().copied().max_by(f64::total_cmp).map(brief);
        match least.zip(most) {
            None => "–".to_owned(),
            Some((least, most)) if least == most => with_unit(&least, self.unit),
            Some((least, most)) => with_unit(&format!("{least}–{most}"), self.unit),
        }
    }
}

/// Returns a figure with its unit.
fn with_unit(figure: &str, unit: &str) -> String {
    match unit {
        "" => figure.to_owned(),
        "/s" => format!("{figure}/s"),
        unit => format!("{figure} {unit}"),
    }
}

impl ClaimRow<'_> {
    /// Returns the figure that decides the claim: of several pairs, the one that is furthest from confirming it.
    /// An open claim is decided first by a pair without a figure.
    pub(crate) fn decisive(&self) -> Option<&Claimed> {
        let missing = self.figures.iter().find(|one| one.figure.is_none());
        let missing = missing.filter(|_| self.shown == Shown::Open);
        let least = || {
            let known = self.figures.iter().filter(|one| one.figure.is_some());
            known.min_by(|one, other| {
                let margin = |one: &Claimed| one.margin().unwrap_or(0.0);
                margin(one).total_cmp(&margin(other))
            })
        };
        missing.or_else(least).or_else(|| self.figures.first())
    }
}

/// Returns how many claims have each finding: `9 held ✓, 4 did not hold ✗`.
pub(crate) fn counted_findings(rows: &[ClaimRow<'_>]) -> String {
    let each = Shown::ALL.iter().filter_map(|shown| {
        let n = rows.iter().filter(|row| row.shown == *shown).count() as u64;
        (n > 0).then(|| format!("{} {} {}", count(n), shown.word(), shown.symbol()))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Returns a claim with its finding and its evidence.
pub(crate) fn claim(claim: &ClaimRecord) -> String {
    let finding = match claim.finding {
        Finding::Held => "held",
        Finding::DidNotHold => "did not hold",
        Finding::CouldNotBeShown => "could not be shown",
    };
    let mut text = format!("{finding}: {} ({})", claim.says, claim.group);
    let evidence: Vec<String> =
        claim.evidence.iter().map(|one| evidence(one, &claim.metric)).collect();
    if !evidence.is_empty() {
        text += &format!("; {}", evidence.join(", "));
    }
    if let Some(published) = claim.published {
        text += &format!("; published {}", precise(published));
    }
    if let Some(why) = &claim.why {
        text += &format!("; {why}");
    }
    match claim.more_rounds {
        Some(1) => text += "; 1 more round may settle it",
        Some(more) => text += &format!("; {} more rounds may settle it", count(more.into())),
        None => {}
    }
    text
}

fn evidence(evidence: &EvidenceRecord, metric: &str) -> String {
    let what = evidence.arms.join(" / ");
    // The unit of a value is that of its metric; a ratio has none.
    let (unit, factor) = if evidence.arms.len() > 1 { ("", 1.0) } else { unit_of(metric) };
    let shown = |value: f64| precise(value * factor);
    let figure =
        evidence.figure.map_or("unknown".to_owned(), |value| with_unit(&shown(value), unit));
    let interval = evidence
        .confidence_95
        .map(|[low, high]| format!(" (95 %: {} to {})", shown(low), shown(high)));
    format!("{what} {figure}{}", interval.unwrap_or_default())
}
