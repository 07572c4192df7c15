//! Says whether targets lost more than is accepted, compared with the first target or the first run.

use crate::record::{GateRecord, JudgedTarget, Judgement, LossOf};
use crate::text::{count, precise};

/// Returns a sentence for each target that was judged; empty without a gate.
pub(crate) fn sentences(gate: Option<&GateRecord>) -> Vec<String> {
    gate.iter().flat_map(|gate| gate.judged.iter().map(|one| judged(gate, one))).collect()
}

/// Returns the judgement of one target in a sentence.
pub(crate) fn judged(gate: &GateRecord, one: &JudgedTarget) -> String {
    let (base, limit) = (&gate.base, precise(gate.limit_percent));
    let JudgedTarget { target, why_not, .. } = one;
    let (Some(loss), Some([low, high])) = (one.loss_percent, one.confidence_percent) else {
        let why = why_not.as_deref().unwrap_or("no figure");
        return format!("{target} cannot be judged against {base}: {why}");
    };
    let (changes, what) = match one.of {
        LossOf::Rate => ([-loss, -high, -low], "requests/s"),
        LossOf::Capacity => ([-loss, -high, -low], "capacity"),
        LossOf::Latency => ([loss, low, high], "median latency"),
        LossOf::CpuTime => ([loss, low, high], "CPU time per request"),
    };
    // Adding zero turns -0 into 0.
    let [change, low, high] =
        changes.map(|percent| format!("{:+.1}", (percent * 10.0).round() / 10.0 + 0.0));
    let does = format!("{target} has {change} % {what} ({low} to {high} %) compared with {base}");
    match one.judgement {
        Judgement::Slower => format!("regression: {does}; a loss of {limit} % is accepted"),
        Judgement::NotSlower => format!("no regression: {does}; a loss of {limit} % is accepted"),
        Judgement::Open | Judgement::Unjudged => {
            let more = match one.more_rounds {
                Some(1) => "1 more round would most likely settle it".to_owned(),
                Some(n) => format!("{} more rounds would most likely settle it", count(n.into())),
                None => "more than 1,000 rounds are needed to settle it".to_owned(),
            };
            format!(
                "a regression is neither shown nor ruled out: {does}; a loss of {limit} % is \
                 accepted; {more}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(of: LossOf, judgement: Judgement, more_rounds: Option<u32>) -> String {
        let one = JudgedTarget {
            target: "new".to_owned(),
            of,
            loss_percent: Some(1.04),
            confidence_percent: Some([-0.5, 2.6]),
            judgement,
            why_not: None,
            more_rounds,
        };
        judged(&GateRecord { base: "old".to_owned(), limit_percent: 2.5, judged: Vec::new() }, &one)
    }

    #[test]
    fn a_loss_has_the_sign_of_the_figure() {
        assert_eq!(
            said(LossOf::Rate, Judgement::Slower, None),
            "regression: new has -1.0 % requests/s (-2.6 to +0.5 %) compared with old; a loss of 2.5 % \
             is accepted"
        );
        assert_eq!(
            said(LossOf::CpuTime, Judgement::NotSlower, None),
            "no regression: new has +1.0 % CPU time per request (-0.5 to +2.6 %) compared with old; a \
             loss of 2.5 % is accepted"
        );
    }

    #[test]
    fn no_change_has_no_minus() {
        let one = JudgedTarget {
            loss_percent: Some(0.04),
            ..JudgedTarget::unjudged("new", LossOf::Rate, String::new())
        };
        let one = JudgedTarget { confidence_percent: Some([-0.04, 0.0]), ..one };
        let one = JudgedTarget { judgement: Judgement::NotSlower, ..one };
        let gate = GateRecord { base: "old".to_owned(), limit_percent: 5.0, judged: Vec::new() };
        let said = judged(&gate, &one);
        assert!(said.contains("new has +0.0 % requests/s (+0.0 to +0.0 %)"), "{said}");
    }

    #[test]
    fn an_open_judgement_says_what_would_settle_it() {
        assert_eq!(
            said(LossOf::Latency, Judgement::Open, Some(1)),
            "a regression is neither shown nor ruled out: new has +1.0 % median latency (-0.5 to +2.6 \
             %) compared with old; a loss of 2.5 % is accepted; 1 more round would most likely settle \
             it"
        );
        let more = said(LossOf::Rate, Judgement::Open, None);
        assert!(more.ends_with("more than 1,000 rounds are needed to settle it"), "{more}");
    }
}
