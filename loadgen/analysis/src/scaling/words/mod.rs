//! States how throughput scales, in one sentence for a report.

#[cfg(test)]
mod tests;

use crate::record::{Estimate, Law, Scaling, Speedup, Usl};
use crate::statistics::LEVEL;

/// Name of the things that a size counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<'a> {
    /// Singular, such as `replica`.
    pub one: &'a str,
    /// Plural, such as `replicas`.
    pub many: &'a str,
}

impl Unit<'_> {
    /// Returns a rounded number with the name, such as `4 replicas`.
    fn count(self, number: f64) -> String {
        let number = number.round();
        format!("{number:.0} {}", if number > 1.0 { self.many } else { self.one })
    }
}

/// Least change of throughput, as a share, that a single round states. The noise of a single round is
/// unknown.
const CHANGE: f64 = 0.05;

/// Returns a sentence about the growth of throughput, the coefficients of the preferred law and the
/// peak. The coefficients have no intervals if the rates contradict the law. The sentence has no full
/// stop.
#[must_use]
pub fn sentence(scaling: &Scaling, unit: Unit) -> String {
    let best = best(scaling);
    let grows = best.filter(|best| best.fold.low.unwrap_or(best.fold.value - CHANGE) > 1.0);
    let mut clauses = Vec::from_iter(growth(scaling, best, grows, unit));
    let mut coefficients = match preferred_usl(scaling) {
        Some(usl) => contention_and_crosstalk(scaling, usl, unit),
        None if grows.is_some() => serial_share(scaling),
        None => Vec::new(),
    };
    if let (Some(misfit), Some(first)) = (misfit(scaling), coefficients.first_mut()) {
        *first = format!("{misfit}: {first}");
    }
    clauses.append(&mut coefficients);
    if scaling.rounds < 2 {
        clauses.push("a single round has no confidence interval".to_owned());
    }
    clauses.join("; ")
}

fn preferred_usl(scaling: &Scaling) -> Option<&Usl> {
    scaling.usl.as_ref().filter(|_| scaling.better == Law::Usl)
}

/// Returns the measured size that the preferred law predicts to be the fastest; `None` for the
/// smallest. A choice by the measured rates would favour a size that was lucky.
fn best(scaling: &Scaling) -> Option<&Speedup> {
    let predicted = |size| scaling.predict(size);
    let fastest =
        scaling.speedups.iter().max_by(|a, b| predicted(a.size).total_cmp(&predicted(b.size)))?;
    (predicted(fastest.size) >= predicted(scaling.smallest)).then_some(fastest)
}

/// States how throughput changes up to the fastest size; `grows` is this size if its gain is shown.
fn growth(
    scaling: &Scaling,
    best: Option<&Speedup>,
    grows: Option<&Speedup>,
    unit: Unit,
) -> Option<String> {
    let last = scaling.speedups.last()?;
    let fold_to = |to: &Speedup| {
        let (from, fold) = (scaling.smallest, times(to.fold.value));
        let to_size = unit.count(f64::from(to.size));
        format!("{fold}-fold from {from} to {to_size}{}", interval(to.fold, times))
    };
    let adding = format!("adding {}", unit.many);
    Some(match grows {
        Some(best) if best.size < last.size => {
            let (at, fold) = (last.size, times(last.fold.value));
            format!("throughput grows {}, and is {fold}-fold at {at}", fold_to(best))
        }
        Some(best) => format!("throughput grows {}", fold_to(best)),
        None if last.fold.high.unwrap_or(last.fold.value + CHANGE) < 1.0 => {
            format!("{adding} costs throughput: {}", fold_to(last))
        }
        None if scaling.rounds < 2 => {
            format!("{adding} adds nothing: {}", fold_to(best.unwrap_or(last)))
        }
        None => format!(
            "{adding} adds nothing that these rounds can show: {}",
            fold_to(best.unwrap_or(last))
        ),
    })
}

fn serial_share(scaling: &Scaling) -> Vec<String> {
    if misfit(scaling).is_some() {
        return vec![format!("serial share {}", percent(scaling.amdahl.serial.value))];
    }
    let share = with_interval("serial share", scaling.amdahl.serial);
    // Amdahl's law counts crosstalk as serial work.
    let possible = scaling.usl.and_then(|usl| usl.crosstalk.high).filter(|high| *high > 0.0);
    let crosstalk = possible.map(|high| {
        format!("no crosstalk shown, but up to {} is possible and counts as serial", percent(high))
    });
    [Some(share), crosstalk].into_iter().flatten().collect()
}

fn contention_and_crosstalk(scaling: &Scaling, usl: &Usl, unit: Unit) -> Vec<String> {
    let fits = misfit(scaling).is_none();
    let shown = |estimate: Estimate| if fits { estimate } else { estimate.without_interval() };
    let share = with_interval("serial share", shown(usl.contention));
    let crosstalk = with_interval("crosstalk", shown(usl.crosstalk));
    let peak = usl.peak.zip(scaling.speedups.last()).map(|(peak, last)| {
        let ends = interval(shown(peak), |size| format!("{size:.0}"));
        let beyond = if peak.value.round() > f64::from(last.size) {
            format!(", extrapolated beyond {}", last.size)
        } else {
            String::new()
        };
        format!("peak at {}{ends}{beyond}", unit.count(peak.value))
    });
    [share, crosstalk].into_iter().chain(peak).collect()
}

/// Returns a statement that the rates contradict the preferred law; `None` if they do not.
fn misfit(scaling: &Scaling) -> Option<String> {
    let amdahl = &scaling.amdahl;
    let (lack, residual, law) = match preferred_usl(scaling) {
        Some(usl) => (usl.lack_of_fit?, usl.residual_percent, "the Universal Scalability Law"),
        None => (amdahl.lack_of_fit?, amdahl.residual_percent, "Amdahl's law"),
    };
    let off = percent(residual / 100.0);
    (lack < LEVEL).then(|| {
        format!(
            "the rates are {off} off the curve of {law}, more than noise explains, and give roughly"
        )
    })
}

fn with_interval(name: &str, estimate: Estimate) -> String {
    format!("{name} {}{}", percent(estimate.value), interval(estimate, percent))
}

/// Returns the interval in parentheses, after a space; empty without an interval.
fn interval(estimate: Estimate, format: impl Fn(f64) -> String) -> String {
    match (estimate.low, estimate.high) {
        (Some(0.0), Some(high)) => format!(" (95 %: at most {})", format(high)),
        (Some(low), Some(high)) => format!(" (95 %: {} to {})", format(low), format(high)),
        (Some(low), None) => format!(" (95 %: at least {})", format(low)),
        (None, _) => String::new(),
    }
}

/// Formats a ratio: one decimal from 2 on, two below.
fn times(ratio: f64) -> String {
    if ratio < 2.0 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

/// Formats a share as a percentage with up to two decimals, fewer for greater values.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 10.0 {
        0
    } else if percent >= 1.0 {
        1
    } else {
        2
    };
    let text = format!("{percent:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}
