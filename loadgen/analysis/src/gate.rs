//! Judges whether the targets of a run are slower than the first of them, by more than a limit.

use super::figures::requests_per_cpu_s;
use super::loss::{Limit, doubt};
use super::runs::limited;
use super::statistics::Sample;
use crate::record::{
    Bottleneck, FEWEST_ROUNDS, GateRecord, LoadRecord, LossOf, RankedBy, RunRecord, TargetRecord,
};

impl GateRecord {
    /// Judges each target of a run against the first, which may lose `limit_percent` % at most. The
    /// record must be complete, except for the gate.
    #[must_use]
    pub fn of(record: &RunRecord, limit_percent: f64) -> Self {
        let [base, others @ ..] = record.load.targets.as_slice() else {
            return Self { base: String::new(), limit_percent, judged: Vec::new() };
        };
        let of = match &record.duet {
            Some(_) => LossOf::CpuTime,
            None => LossOf::from(RankedBy::under(&record.load)),
        };
        let limit = Limit::of(limit_percent, others.len());
        let judge = |target: &String| {
            let mut of_both = record.targets.iter().filter(|it| [base, target].contains(&&it.name));
            let doubt = of_both
                .find_map(|it| Some(format!("{} {}", it.name, doubt(it, &record.load, of)?)));
            limit.judge(target, of, sample(record, base, target), doubt)
        };
        Self { limit_percent, judged: others.iter().map(judge).collect(), base: base.clone() }
    }
}

/// Returns the logarithms of the ratios of a target's figures to those of the first target, where more
/// is better.
///
/// # Errors
/// The reason why the target cannot be judged.
fn sample(record: &RunRecord, base: &str, target: &str) -> Result<Sample, String> {
    let comparison = record.comparison.as_ref().ok_or("no target has a round of full length")?;
    let measured = |name: &str| {
        let found = record.targets.iter().find(|it| it.name == name);
        found.ok_or_else(|| format!("{name} was not measured"))
    };
    let both = [measured(base)?, measured(target)?];
    if let Some((who, lack)) = comparison.lack([base, target]) {
        return Err(format!("{who} {lack}"));
    }
    let pair = match &record.duet {
        Some(_) => {
            both.into_iter().try_for_each(|it| has_cpu_times(it, &record.load))?;
            both.into_iter().try_for_each(is_bound_by_cpu)?;
            comparison.cpu_pair(base, target)
        }
        None => {
            let limited = both.into_iter().find_map(|it| Some((&it.name, limited(it, record)?)));
            if let Some((name, lack)) = limited {
                return Err(format!("{name} {lack}"));
            }
            comparison.pair(base, target)
        }
    };
    pair.and_then(|pair| pair.gain_of(target)).ok_or_else(|| {
        let unit = if record.load.slices.is_some() { "starts" } else { "rounds" };
        match pair.map_or(0, |pair| pair.rounds) {
            n if n < FEWEST_ROUNDS => {
                format!("{FEWEST_ROUNDS} whole {unit} are needed, and {n} ran")
            }
            _ => "a round has no expected response".to_owned(),
        }
    })
}

/// Checks that a target of a duet has a CPU time per request in each whole round.
fn has_cpu_times(target: &TargetRecord, load: &LoadRecord) -> Result<(), String> {
    let figures = requests_per_cpu_s(&target.rounds, load);
    figures.map(|_| ()).map_err(|lack| format!("{} {lack}", target.name))
}

/// Checks that the CPU limited a target of a duet in most of its rounds: the CPU time of a request says
/// nothing of the time that a request waits for something else.
fn is_bound_by_cpu(target: &TargetRecord) -> Result<(), String> {
    match target.bottleneck {
        Some(Bottleneck::Target) => Ok(()),
        _ => Err(format!(
            "the CPU did not limit {} in most rounds, so that its CPU time does not say how fast it is: \
             measure without --duet",
            target.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::record::{
        DuetRecord, HeldUpRecord, JudgedTarget, Judgement, LoadRecord, RoundRecord,
    };
    use loadgen_measure::{ResourceRecord, Summary};

    /// Returns the run of two targets, of which the second loses these % in each round.
    fn run(losses: &[f64]) -> RunRecord {
        let all = [("old", vec![0.0; losses.len()]), ("new", losses.to_vec())];
        let comparison = compare(&all.clone().map(|(name, losses)| {
            let rates = losses.into_iter().map(|loss| 1_000.0 - 10.0 * loss);
            (name.to_owned(), (1..).zip(rates).collect())
        }));
        let used = ResourceRecord { requests_per_cpu_s: Some(1.0), ..ResourceRecord::default() };
        let round = |round| RoundRecord {
            round,
            whole: true,
            resources: [("target".to_owned(), used.clone())].into(),
            ..RoundRecord::default()
        };
        let target = |name: &str| TargetRecord {
            name: name.to_owned(),
            bottleneck: Some(Bottleneck::Target),
            rounds: (1..).take(losses.len()).map(round).collect(),
            ..TargetRecord::default()
        };
        RunRecord {
            load: LoadRecord {
                targets: all.iter().map(|(name, _)| (*name).to_owned()).collect(),
                ..LoadRecord::default()
            },
            targets: all.iter().map(|(name, _)| target(name)).collect(),
            comparison: Some(comparison),
            ..RunRecord::default()
        }
    }

    fn judged(record: &RunRecord, limit: f64) -> JudgedTarget {
        let gate = GateRecord::of(record, limit);
        assert_eq!((gate.base.as_str(), gate.judged.len()), ("old", 1));
        gate.judged[0].clone()
    }

    #[test]
    fn a_lower_rate_is_a_loss() {
        let of = judged(&run(&[4.0, 5.0, 6.0, 5.0, 5.0]), 4.0);
        assert_eq!((of.judgement, of.of, of.why_not), (Judgement::Slower, LossOf::Rate, None));
        assert!((of.loss_percent.unwrap() - 5.00211).abs() < 1e-3);
    }

    #[test]
    fn a_gain_is_no_loss() {
        let of = judged(&run(&[-4.0, -5.0, -6.0, -5.0, -5.0]), 0.0);
        assert_eq!(of.judgement, Judgement::NotSlower);
        assert!((of.loss_percent.unwrap() + 5.0).abs() < 0.1, "{of:?}");
    }

    #[test]
    fn what_cannot_be_judged_has_a_reason() {
        let why = |record: &RunRecord| {
            let of = judged(record, 5.0);
            assert_eq!((of.judgement, of.loss_percent), (Judgement::Unjudged, None));
            of.why_not.unwrap()
        };
        assert_eq!(why(&run(&[5.0; 4])), "5 whole rounds are needed, and 4 ran");
        let mut limited = run(&[5.0, 6.0, 5.0, 6.0, 5.0]);
        limited.targets[1].bottleneck = Some(Bottleneck::Generator);
        assert_eq!(why(&limited), "new has a rate that loadgen itself limited");
        limited.targets.pop();
        assert_eq!(why(&limited), "new was not measured");
        let nothing = RunRecord { comparison: None, ..run(&[]) };
        assert_eq!(why(&nothing), "no target has a round of full length");
    }

    #[test]
    fn failures_and_think_time_pass_no_gate() {
        let why = |record: &RunRecord| {
            assert_eq!(judged(record, 2.0).judgement, Judgement::Slower, "a loss is a loss");
            judged(record, 9.0).why_not
        };
        let mut record = run(&[5.0, 4.9, 5.1, 5.0, 5.0]);
        assert_eq!(why(&record), None);
        record.load.think_time = Some("1s".to_owned());
        assert_eq!(why(&record), None, "the CPU is the limit all the same");
        record.targets[1].bottleneck = Some(Bottleneck::Nobody);
        assert!(why(&record).unwrap().starts_with("new has a rate that think time sets"));
        record.load.think_time = None;
        assert_eq!(why(&record), None);
        record.targets[0].rounds[2].total =
            Summary { requests: 100, errors: 2, ..Summary::default() };
        assert_eq!(
            why(&record).unwrap(),
            "old has a round in which more than 1 % of the requests failed or had no response"
        );
    }

    #[test]
    fn rounds_that_hide_a_loss_pass_no_gate() {
        let why = |change: &dyn Fn(&mut TargetRecord)| {
            let mut record = run(&[5.0, 4.9, 5.1, 5.0, 5.0]);
            change(&mut record.targets[1]);
            assert_eq!(judged(&record, 2.0).judgement, Judgement::Slower, "a loss is a loss");
            judged(&record, 9.0).why_not
        };
        let cut = why(&|target| target.rounds[4].whole = false);
        assert_eq!(cut.unwrap(), "new has a round that was cut short or had another load");
        let held_up = |round: &mut RoundRecord| {
            round.whole = false;
            round.held_up = vec![HeldUpRecord { worker: None, total_s: 0.4, longest_s: 0.4 }];
        };
        let one_of_five = why(&|target| held_up(&mut target.rounds[0]));
        assert_eq!(one_of_five.unwrap(), "new has 1 round in which loadgen was held up");
        let one_of_ten = why(&|target| {
            target.rounds.extend(target.rounds.clone());
            held_up(&mut target.rounds[0]);
        });
        assert_eq!(one_of_ten, None);
        let limited = |round: &mut RoundRecord| round.bottleneck = Some(Bottleneck::Generator);
        let one_of_five = why(&|target| limited(&mut target.rounds[0]));
        assert_eq!(
            one_of_five.unwrap(),
            "new has 1 round in which something other than the target limited the rate"
        );
        let one_of_ten = why(&|target| {
            target.rounds.extend(target.rounds.clone());
            limited(&mut target.rounds[0]);
        });
        assert_eq!(one_of_ten, None);
    }

    #[test]
    fn think_time_is_no_fact_where_the_bottleneck_is_unknown() {
        let mut record = run(&[5.0, 4.9, 5.1, 5.0, 5.0]);
        record.load.think_time = Some("1s".to_owned());
        record.targets[1].bottleneck = None;
        let why = judged(&record, 9.0).why_not.unwrap();
        assert!(why.starts_with("new has a rate that think time may set"), "{why}");
    }

    #[test]
    fn a_duet_is_judged_by_cpu_time_if_the_cpu_limits_both() {
        let mut record = run(&[5.0, 4.9, 5.1, 5.0, 5.0]);
        record.duet = Some(DuetRecord { base: "old".to_owned(), pairs: Vec::new() });
        if let Some(comparison) = &mut record.comparison {
            comparison.cpu_pairs = std::mem::take(&mut comparison.pairs);
        }
        let of = judged(&record, 4.0);
        assert_eq!((of.judgement, of.of), (Judgement::Slower, LossOf::CpuTime));
        // 5 % fewer requests per CPU time are 1 / 0.95 - 1 more CPU time per request.
        assert!((of.loss_percent.unwrap() - 5.263).abs() < 1e-2, "{of:?}");
        let why = |record: &RunRecord| {
            let of = judged(record, 4.0);
            assert_eq!(of.judgement, Judgement::Unjudged);
            of.why_not.unwrap()
        };
        record.targets[0].bottleneck = Some(Bottleneck::Nobody);
        assert!(why(&record).ends_with("measure without --duet"));
        record.targets[1].rounds[2].resources.clear();
        assert_eq!(why(&record), "new has a round without a known CPU time");
    }
}
