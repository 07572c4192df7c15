//! Answers what users send in an iteration.

use std::ops::Range;

use super::flow::{Flow, ITERATION};
use super::model::{Scenario, Step};

impl Scenario {
    /// Checks the flows of a scenario that another process has sent. A scenario that was read from a
    /// file passes.
    ///
    /// # Errors
    /// Returns a sentence if the flows do not fit the steps.
    pub fn check_flows(&self) -> Result<(), String> {
        let weights = self.steps.iter().filter_map(|step| step.weight);
        let fits = |flow: &Flow| {
            flow.weight > 0 && !flow.steps.is_empty() && flow.steps.end <= self.steps.len()
        };
        match !self.flows.is_empty() && self.flows.iter().all(fits) && weights.min() != Some(0) {
            true => Ok(()),
            false => Err("the flows of the scenario do not fit its steps".to_owned()),
        }
    }

    /// Returns the choices of a flow in the order of sending, each as a range of step indices.
    /// Consecutive steps with weights form a choice, of which an iteration sends one step. Each step
    /// without a weight is a choice of its own.
    pub fn choices(&self, flow: &Flow) -> impl Iterator<Item = Range<usize>> + use<'_> {
        let weighted = |index: usize| self.steps[index].weight.is_some();
        let Range { start: mut begin, end } = flow.steps.clone();
        std::iter::from_fn(move || {
            let first = begin;
            if first == end {
                return None;
            }
            begin += 1;
            while weighted(first) && begin < end && weighted(begin) {
                begin += 1;
            }
            Some(first..begin)
        })
    }

    /// Returns the mean number of requests of an iteration, if the conditions of all steps hold.
    #[must_use]
    pub fn requests_per_iteration(&self) -> f64 {
        (0..self.steps.len()).map(|index| self.requests_of(index)).sum()
    }

    /// Returns the mean number of requests to a step in an iteration, if the conditions of all steps
    /// hold. Zero for steps that users send once.
    #[must_use]
    pub fn requests_of(&self, step: usize) -> f64 {
        let of_all: f64 = self.flows.iter().map(|flow| f64::from(flow.weight)).sum();
        let Some(flow) = self.flows.iter().find(|flow| flow.steps.contains(&step)) else {
            return 0.0;
        };
        let weight = |index: usize| f64::from(self.steps[index].weight.unwrap_or(1));
        let choice = self.choices(flow).find(|choice| choice.contains(&step));
        let of_choice: f64 = choice.into_iter().flatten().map(weight).sum();
        let share = f64::from(flow.weight) / of_all * weight(step) / of_choice;
        share * self.steps[step].repeat.mean()
    }

    /// Returns whether iterations are measured besides requests: whether the file has flows, or an
    /// iteration may have several requests.
    #[must_use]
    pub fn measures_iterations(&self) -> bool {
        let repeats = |flow: &Flow| self.steps[flow.steps.clone()].iter().any(|s| s.repeat.max > 1);
        let has_several = |flow: &Flow| self.choices(flow).nth(1).is_some() || repeats(flow);
        self.flows.iter().any(|flow| flow.name != ITERATION || has_several(flow))
    }

    /// Returns the index of the flow that the user with this number keeps, if users keep a flow.
    ///
    /// The multiples of the golden ratio, modulo 1, divide the range from 0 to 1 evenly for any number
    /// of users (Knuth, The Art of Computer Programming, volume 3, section 6.4, theorem S).
    #[must_use]
    pub fn flow_of_user(&self, user: u32) -> usize {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let of_all: f64 = self.flows.iter().map(|flow| f64::from(flow.weight)).sum();
        let mut left = ((f64::from(user) + 0.5) * GOLDEN).fract() * of_all;
        for (index, flow) in self.flows.iter().enumerate() {
            left -= f64::from(flow.weight);
            if left < 0.0 {
                return index;
            }
        }
        self.flows.len().saturating_sub(1)
    }
}

/// Returns the names of the groups of these steps, in the order of their first steps.
#[must_use]
pub fn groups(steps: &[Step]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in steps.iter().filter_map(|step| step.group.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl Step {
    /// Returns whether the step belongs to the group of this name.
    #[must_use]
    pub fn is_in_group(&self, name: &str) -> bool {
        self.group.as_deref() == Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn flows(weights: &[u32]) -> Scenario {
        let flow = |(i, weight): (usize, &u32)| {
            format!("[[flow]]\nname = \"f{i}\"\nweight = {weight}\n[[flow.step]]\nget = \"/{i}\"\n")
        };
        let text: String = weights.iter().enumerate().map(flow).collect();
        parse("test", "test.toml", &text).unwrap()
    }

    #[test]
    fn users_take_flows_as_evenly_as_the_weights_allow() {
        for (weights, users) in
            [(&[80, 20][..], 5), (&[80, 20], 10), (&[1, 1, 1], 9), (&[5, 3, 2], 1_000)]
        {
            let scenario = flows(weights);
            let sum: u32 = weights.iter().sum();
            let mut taken = vec![0; weights.len()];
            (0..users).for_each(|user| taken[scenario.flow_of_user(user)] += 1);
            for (weight, taken) in weights.iter().zip(&taken) {
                let fair = f64::from(weight * users) / f64::from(sum);
                assert!((f64::from(*taken) - fair).abs() <= 1.5, "{weights:?}: {users}: {taken}");
            }
        }
        assert_eq!((0..5).filter(|user| flows(&[80, 20]).flow_of_user(*user) == 1).count(), 1);
    }

    #[test]
    fn flows_from_another_process_are_checked() {
        let valid = flows(&[1, 2]);
        assert_eq!(valid.check_flows(), Ok(()));
        let refused = |change: &dyn Fn(&mut Scenario)| {
            let mut scenario = valid.clone();
            change(&mut scenario);
            scenario.check_flows().is_err()
        };
        assert!(refused(&|it| it.flows.clear()));
        assert!(refused(&|it| it.flows[1].weight = 0));
        assert!(refused(&|it| it.flows[1].steps = 1..3));
        assert!(refused(&|it| it.steps[0].weight = Some(0)));
    }

    #[test]
    fn the_mean_number_of_requests_follows_weights_and_repetitions() {
        let text = "[[step]]\nwhen = \"start\"\nget = \"/login\"\n\
                    [[flow]]\nname = \"a\"\nweight = 3\n\
                    [[flow.step]]\nget = \"/\"\nrepeat = { min = 1, max = 4 }\n\
                    [[flow.step]]\nget = \"/x\"\nweight = 1\n[[flow.step]]\nget = \"/y\"\nweight = 3\n\
                    [[flow]]\nname = \"b\"\n[[flow.step]]\nget = \"/z\"\n";
        let scenario = parse("test", "test.toml", text).unwrap();
        let each: Vec<f64> = (0..5).map(|step| scenario.requests_of(step)).collect();
        assert_eq!(each, [0.0, 1.875, 0.1875, 0.5625, 0.25]);
        assert_eq!(scenario.requests_per_iteration(), 2.875);
        assert!(scenario.measures_iterations());
    }
}
