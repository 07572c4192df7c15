//! Folds warnings: those of one code become one line, with the number of targets and the worst case.
//!
//! The rule for a terminal, of a run and of an experiment: the answer comes last and stays on the screen. The
//! report of a run keeps each warning in full while all of it fits a screen of [`SCREEN`] lines. Otherwise, and
//! for an experiment always, a terminal shows one line for each code. `report.html`, Markdown and the saved
//! document have all warnings in full.

use std::collections::BTreeMap;

use super::warnings::warnings;
use super::{Warning, left_out, searched};
use crate::record::{ExperimentRecord, GroupRecord, VerdictKind};
use crate::text::{counted, cut};

/// Lines of a screen on which the answer must stay.
pub(crate) const SCREEN: usize = 40;

/// All warnings of one code, or one warning without a code.
pub(crate) struct Folded {
    /// Code of the warnings; `None` for a warning that is no verdict.
    pub kind: Option<VerdictKind>,
    /// Warnings in full, with their advice.
    pub all: Vec<String>,
    /// Targets or arms that the warnings are about, each once.
    who: Vec<String>,
    /// The worst observation, with the name of its target.
    worst: String,
    /// How bad the worst observation is.
    badness: f64,
}

impl Folded {
    /// Returns the code, the number of targets, which `noun` names, and the worst case.
    pub(crate) fn line(&self, noun: &str) -> String {
        let Some(kind) = self.kind else { return self.worst.clone() };
        match self.who.len() {
            0 | 1 => format!("{}: {}", kind.as_ref(), self.worst),
            n => format!("{}: {}; worst: {}", kind.as_ref(), counted(n as u64, noun), self.worst),
        }
    }

    /// Like [`Folded::line`], without the worst case.
    pub(crate) fn title(&self, noun: &str) -> String {
        let of = match self.who.len() {
            0 => String::new(),
            n => format!(": {}", counted(n as u64, noun)),
        };
        self.kind.map_or_else(|| self.worst.clone(), |kind| format!("{}{of}", kind.as_ref()))
    }
}

/// Returns a line of at most this many columns for each of the folded warnings, and one that says where they
/// stand in full.
pub(crate) fn lines(folded: &[Folded], noun: &str, columns: usize) -> Vec<String> {
    let line = |one: &Folded| format!(" ! {}", cut(&one.line(noun), columns - 3));
    let mut all: Vec<String> = folded.iter().map(line).collect();
    if !all.is_empty() {
        all.push("   in full, with advice: report.html, or --format markdown".to_owned());
    }
    all
}

/// Folds the warnings of a run.
pub(crate) fn of_run(all: impl IntoIterator<Item = Warning>) -> Vec<Folded> {
    let mut folded = Vec::new();
    all.into_iter().for_each(|warning| add(&mut folded, warning, None));
    folded
}

/// Folds the warnings of all groups of an experiment.
pub(crate) fn of_experiment(record: &ExperimentRecord) -> Vec<Folded> {
    let mut folded = Vec::new();
    for warning in left_out_arms(record) {
        add(&mut folded, warning, None);
    }
    for group in &record.groups {
        for warning in group.runs.iter().flat_map(warnings) {
            add(&mut folded, warning, Some(&group.name));
        }
        for what in searched::warned(group) {
            add(&mut folded, Warning { kind: None, who: None, what, more: None }, None);
        }
    }
    folded
}

/// Adds a warning to those of its code. `group` is the name of its group.
fn add(folded: &mut Vec<Folded>, warning: Warning, group: Option<&String>) {
    let in_group = |text: &str| match group {
        Some(group) => format!("{group}: {text}"),
        None => text.to_owned(),
    };
    let full = match &warning.more {
        Some(more) => format!("{} ({more})", in_group(&warning.what)),
        None => in_group(&warning.what),
    };
    let badness = badness(&warning);
    let worst = in_group(&warning.what);
    let who = warning.who.as_deref().map(in_group);
    let same =
        |it: &&mut Folded| it.kind == warning.kind && (it.kind.is_some() || it.all[0] == full);
    let Some(known) = folded.iter_mut().find(same) else {
        let who = who.into_iter().collect();
        folded.push(Folded { kind: warning.kind, all: vec![full], who, worst, badness });
        return;
    };
    known.who.extend(who.filter(|who| !known.who.contains(who)));
    if badness > known.badness {
        (known.worst, known.badness) = (worst, badness);
    }
    if !known.all.contains(&full) {
        known.all.push(full);
    }
}

/// Returns how bad an observation is, compared with others of the same code. A verdict has no figure for this,
/// so its message gives the figure: the greatest percentage or, without a percentage, the first number.
fn badness(warning: &Warning) -> f64 {
    let message = warning.who.as_ref().and_then(|who| warning.what.strip_prefix(who.as_str()));
    let message = message.unwrap_or(&warning.what);
    let mut words =
        message.split([' ', '(', ')', ';', ':']).filter(|word| !word.is_empty()).peekable();
    let (mut percent, mut first) = (None, None);
    while let Some(word) = words.next() {
        let Ok(number) = word.replace(',', "").parse::<f64>() else { continue };
        let number = number.abs();
        first.get_or_insert(number);
        if words.peek() == Some(&"%") {
            percent = Some(percent.map_or(number, |most: f64| most.max(number)));
        }
    }
    let most = percent.or(first).unwrap_or(0.0);
    // Fewer samples are worse.
    if warning.kind == Some(VerdictKind::TooFewSamples) { -most } else { most }
}

/// Returns a warning for each reason why arms were left out, with the targets of which no arm was measured, or
/// else the arms.
fn left_out_arms(record: &ExperimentRecord) -> Vec<Warning> {
    let arms = || record.groups.iter().flat_map(|group| &group.arms);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for arm in arms() {
        let Some(why) = &arm.left_out else { continue };
        let mut of_target = arms().filter(|other| other.target == arm.target);
        let is_whole = of_target.all(|other| other.left_out.as_ref() == Some(why));
        let name = if is_whole { &arm.target } else { &arm.name };
        let names = reasons.entry(why).or_default();
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let warning = |what| Warning { kind: None, who: None, what, more: None };
    reasons.into_iter().map(|(why, names)| warning(left_out(&names.join(", "), why))).collect()
}

/// Returns the warnings of all runs of the experiment, each with the name of its group. Warnings of
/// one kind with the same advice are one sentence for each group.
pub(crate) fn warned(record: &ExperimentRecord) -> Vec<String> {
    let of_group = |group: &GroupRecord| {
        let mut merged: Vec<Warning> = Vec::new();
        for warning in group.runs.iter().flat_map(warnings) {
            let same = |it: &&mut Warning| (it.kind, &it.more) == (warning.kind, &warning.more);
            match merged.iter_mut().find(same).filter(|it| it.kind.is_some()) {
                Some(other) => add_observation(&mut other.what, &warning.what, group),
                None => merged.push(warning),
            }
        }
        let sentence = |warning: &Warning| match &warning.more {
            Some(more) => format!("{}: {} ({more})", group.name, warning.coded()),
            None => format!("{}: {}", group.name, warning.coded()),
        };
        merged.iter().map(sentence).collect::<Vec<_>>()
    };
    let mut all: Vec<String> =
        left_out_arms(record).into_iter().map(|warning| warning.what).collect();
    all.extend(
        record.groups.iter().flat_map(|group| [of_group(group), searched::warned(group)].concat()),
    );
    all.dedup();
    all
}

/// Adds an observation to others. If the last one says the same about other arms, only the name of
/// the arm is added.
fn add_observation(all: &mut String, what: &str, group: &GroupRecord) {
    let of_arm = group.arms.iter().find_map(|arm| {
        let said = what.strip_prefix(arm.name.as_str())?.strip_prefix(": ")?;
        Some((arm.name.as_str(), said))
    });
    match of_arm {
        Some((arm, said)) if all.ends_with(&format!(": {said}")) => {
            let names = all.len() - said.len() - 2;
            all.insert_str(names, &format!(", {arm}"));
        }
        _ => {
            all.push_str("; ");
            all.push_str(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(kind: VerdictKind, who: Option<&str>, message: &str) -> Warning {
        let what = who.map_or(message.to_owned(), |who| format!("{who}: {message}"));
        let who = who.map(str::to_owned);
        Warning { kind: Some(kind), who, what, more: Some("advice".to_owned()) }
    }

    #[test]
    fn warnings_of_one_code_are_one_line_with_the_worst() {
        use VerdictKind::{FewCores, NotSteady, TooFewSamples};
        let plain =
            |what: &str| Warning { kind: None, who: None, what: what.to_owned(), more: None };
        let folded = of_run([
            warning(NotSteady, Some("sanic (4)"), "the rate differed by 19.8 % (18.8 to 20.7 %)"),
            warning(NotSteady, Some("flask"), "the rate differed by -34 % (-36.1 to -32 %)"),
            warning(NotSteady, Some("flask"), "the rate changed within 1 of 5 rounds"),
            warning(TooFewSamples, Some("a"), "1,200 samples are too few for p99.9"),
            warning(TooFewSamples, Some("b"), "90 samples are too few for p99, p99.9"),
            warning(FewCores, None, "up to 12 server workers shared 2 core(s)"),
            plain("degraded: a worker was lost"),
            plain("degraded: a worker was lost"),
        ]);
        assert_eq!(
            lines(&folded, "target", 80),
            [
                " ! not_steady: 2 targets; worst: flask: the rate differed by -34 % (-36.1 to…",
                " ! too_few_samples: 2 targets; worst: b: 90 samples are too few for p99, p99.9",
                " ! few_cores: up to 12 server workers shared 2 core(s)",
                " ! degraded: a worker was lost",
                "   in full, with advice: report.html, or --format markdown",
            ]
        );
        assert_eq!(folded[0].all.len(), 3, "nothing is lost");
        assert_eq!(folded[0].title("arm"), "not_steady: 2 arms");
        assert_eq!(lines(&[], "target", 80), Vec::<String>::new());
    }
}
