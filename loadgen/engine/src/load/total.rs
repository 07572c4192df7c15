//! The number of requests that a round is planned to send.

use super::Open;
use crate::load_change::LoadChange;
use crate::plan::{Plan, Share};
use loadgen_scenario::{Flow, LoadLevel, Repeat, Until};

/// Most arrivals that are counted, one by one: about a second.
const MOST_ARRIVALS: usize = 20_000_000;

/// Returns the number of requests that all processes together are planned to send, with these changes of the load: from
/// the start of the warm-up on if time ends the round, and after the warm-up if iterations do.
///
/// `None` if no such number exists or if it is not counted: in the closed model for a time, where a slower server gets
/// fewer requests; if an iteration may have another number of requests than one; for iterations after start steps, whose
/// failures end a user; and for more than 20 million arrivals.
#[must_use]
pub fn planned_requests(plan: &Plan, changes: &[LoadChange]) -> Option<u64> {
    let scenario = &plan.scenario;
    let is_one = |flow: &Flow| match &scenario.steps[flow.steps.clone()] {
        [step] => step.given.is_none() && step.repeat == Repeat::default(),
        _ => false,
    };
    if !scenario.flows.iter().all(is_one) {
        return None;
    }
    let by_time = matches!(scenario.load.until, Until::Duration(_) | Until::Stages(_));
    // A user whose start steps fail again and again gives up, and its iterations never begin.
    if !by_time && !scenario.start_steps().is_empty() {
        return None;
    }
    match scenario.load.until {
        Until::Iterations(iterations) => return Some(iterations),
        Until::IterationsPerUser(each) => return each.checked_mul(scenario.load.users.into()),
        Until::Duration(_) | Until::Stages(_) => {}
    }
    let mut open = Open::new(&Plan { share: Share::WHOLE, ..plan.clone() })?;
    for change in changes {
        if let LoadLevel::Rate(rate) = change.to {
            open.change(change.at, rate);
        }
    }
    let arrivals = open.take(MOST_ARRIVALS + 1).count();
    (arrivals <= MOST_ARRIVALS).then_some(arrivals as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::takeover::Takeover;
    use loadgen_scenario as scenario;
    use proptest::prelude::*;

    fn plan(text: &str, share: Share) -> Plan {
        Plan {
            scenario: scenario::parse("test", "test.toml", text).unwrap(),
            base_url: String::new(),
            warmup: Duration::from_millis(100),
            known: Vec::new(),
            seed: 1,
            first_user: 0,
            trace_one_in: None,
            share,
        }
    }

    fn planned(load: &str, steps: &str) -> Option<u64> {
        planned_requests(&plan(&format!("[load]\n{load}\n{steps}"), Share::WHOLE), &[])
    }

    #[test]
    fn the_number_is_known_unless_the_server_decides_on_it() {
        let step = "[[step]]\nget = \"/\"\n";
        let open = "model = \"open\"\nrate = 10\nduration = \"2s\"";
        assert_eq!(planned(open, step), Some(21), "with one of the warm-up");
        let stages = "model = \"open\"\nstages = [{ rate = 10, over = \"0s\" }, { rate = 10, over = \"1s\" }]";
        assert_eq!(planned(stages, step), Some(11));
        assert_eq!(planned("users = 3\niterations = 50", step), Some(50));
        assert_eq!(planned("users = 3\niterations_per_user = 5", step), Some(15));
        let start = format!("[[step]]\nget = \"/login\"\nwhen = \"start\"\n{step}");
        assert_eq!(planned("users = 3\niterations = 50", &start), None);
        assert_eq!(planned(open, &start), Some(21));
        assert_eq!(planned("users = 3\nduration = \"2s\"", step), None);
        assert_eq!(planned(open, &format!("{step}[[step]]\nget = \"/b\"\n")), None);
        assert_eq!(planned(open, &format!("{step}repeat = 3\n")), None);
        let many = "model = \"open\"\nrate = 1_000_000\nduration = \"1h\"";
        assert_eq!(planned(many, step), None);
    }

    #[test]
    fn changes_of_the_load_count() {
        let text =
            "[load]\nmodel = \"open\"\nrate = 10\nduration = \"2s\"\n[[step]]\nget = \"/\"\n";
        let change =
            |ms, rate| LoadChange { at: Duration::from_millis(ms), to: LoadLevel::Rate(rate) };
        let changes = [change(1_000, 100.0), change(2_000, 10.0)];
        // A second at each rate, and the rest of 0.1 s.
        assert_eq!(planned_requests(&plan(text, Share::WHOLE), &changes), Some(111));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Processes are lost in any order. Each had reported until some time before; its own arrivals from then on are lost
        /// until others take over, and no others are.
        #[test]
        fn what_is_neither_counted_nor_lost_was_not_planned(
            rate in 1u32..2_000, of in 2u32..9, poisson: bool,
            order in prop::collection::vec(any::<prop::sample::Index>(), 1..8),
            gaps in prop::collection::vec(0u64..100, 9),
        ) {
            let kind = if poisson { "poisson" } else { "even" };
            let text = format!(
                "[load]\nmodel = \"open\"\nusers = 9\nrate = {rate}\narrivals = \"{kind}\"\nduration = \"900ms\"\n\
                 [[step]]\nget = \"/\"\n"
            );
            let takeovers = crate::takeover::tests::takeovers(of, &order);
            let takeovers: Vec<Takeover> =
                takeovers.into_iter().map(|one| Takeover { at: one.at / 9, ..one }).collect();
            let whole = plan(&text, Share::WHOLE);
            let planned = planned_requests(&whole, &[]).unwrap();
            let (mut counted, mut lost, mut numbers) = (0, 0, std::collections::BTreeSet::new());
            for index in 0..of {
                let mut open = Open::new(&plan(&text, Share { index, of })).unwrap();
                open.take_over(&takeovers);
                let ends = takeovers.iter().find(|takeover| takeover.lost == index).map(|it| it.at);
                let gap = Duration::from_millis(gaps[index as usize]);
                for arrival in open.filter(|arrival| ends.is_none_or(|ends| arrival.due < ends)) {
                    prop_assert!(numbers.insert(arrival.number), "one owner at a time");
                    match ends.is_some_and(|ends| arrival.due + gap >= ends) {
                        true => lost += 1,
                        false => counted += 1,
                    }
                }
            }
            prop_assert_eq!(planned - counted, lost);
            prop_assert_eq!(numbers.len() as u64, planned);
        }
    }
}
