//! Selects the pairs to compare where contenders were loaded two at a time.

use crate::record::{Comparison, Pair};

impl Comparison {
    /// Keeps only the pairs of `base` with each other contender, and pairs by rate only with the
    /// contenders in `by_rate`. Rates rank contenders only if there are two, whose rates are compared.
    #[must_use]
    pub fn of_duets(mut self, base: &str, by_rate: &[&str]) -> Self {
        let other = |pair: &Pair| match [pair.better.as_str(), pair.worse.as_str()] {
            [one, other] if one == base => Some(other.to_owned()),
            [one, other] if other == base => Some(one.to_owned()),
            _ => None,
        };
        self.pairs.retain(|pair| other(pair).is_some_and(|name| by_rate.contains(&name.as_str())));
        self.cpu_pairs.retain(|pair| other(pair).is_some());
        if self.ranking.len() != 2 || self.pairs.is_empty() {
            self.unranked.extend(self.ranking.drain(..).map(|placing| placing.target));
        }
        self.corrected()
    }
}
