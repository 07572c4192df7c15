//! The pauses of people between their requests, where the log names them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Longest pause within a session, in seconds; a longer one ends it. Analysers of logs use half an hour, too.
const LONGEST: i64 = 1_800;

/// Most people whose last request is remembered.
const MOST: usize = 500_000;

/// Fewest people and pauses, and least share of the requests with a name, that tell how people behave.
const FEWEST: (usize, u64, f64) = (5, 100, 0.5);

/// Sums over the sessions of a log. Names are not kept.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Time of the last request of each person, in seconds, by a hash of the name.
    last: HashMap<u64, i64>,
    /// Requests of people.
    requests: u64,
    pauses: u64,
    /// Sum of the pauses, in seconds.
    seconds: i64,
}

/// How the people of a log behave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct People {
    /// Number of people.
    pub number: usize,
    /// Mean pause between two requests of a session, in seconds.
    pub pause_s: f64,
    /// Mean number of sessions at a time.
    pub at_once: f64,
    /// Share of the requests that have a name.
    pub named: f64,
}

impl Sessions {
    /// Adds a request of a person.
    pub(super) fn add(&mut self, name: &[u8], second: i64) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let person = hasher.finish();
        self.requests += 1;
        if self.last.len() >= MOST && !self.last.contains_key(&person) {
            return;
        }
        let Some(last) = self.last.get_mut(&person) else {
            self.last.insert(person, second);
            return;
        };
        // Lines of several processes may be out of order.
        let pause = (second - *last).max(0);
        *last = second.max(*last);
        if pause <= LONGEST {
            self.pauses += 1;
            self.seconds += pause;
        }
    }

    /// Returns how the people of a log behave that has this number of requests and of seconds; `None` if it names too
    /// few.
    pub(super) fn people(&self, requests: u64, span: i64) -> Option<People> {
        let (people, pauses, share) = FEWEST;
        let is_enough = self.last.len() >= people
            && self.pauses >= pauses
            && self.requests as f64 >= share * requests as f64;
        (is_enough && self.seconds > 0 && span > 0).then(|| People {
            number: self.last.len(),
            pause_s: self.seconds as f64 / self.pauses as f64,
            at_once: self.seconds as f64 / span as f64,
            named: self.requests as f64 / requests.max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_end_with_a_session() {
        let mut sessions = Sessions::default();
        // Four people with a request each 10 s, in two sessions two hours apart; Bob with one each 30 s.
        for session in [0, 7_200] {
            for number in 0..100 {
                for name in ["ann", "eve", "joe", "zoe"] {
                    sessions.add(name.as_bytes(), session + number * 10);
                }
            }
        }
        // Two lines of Bob are out of order.
        (0..100).for_each(|number| sessions.add(b"bob", (number ^ 1) * 30));
        let people = sessions.people(900, 9_900).unwrap();
        assert_eq!(people.number, 5);
        let (seconds, pauses) = (8.0 * 990.0 + 2_970.0 - 30.0, 8.0 * 99.0 + 99.0);
        assert!((people.pause_s - seconds / pauses).abs() < 1e-9, "{people:?}");
        assert!((people.at_once - seconds / 9_900.0).abs() < 1e-9, "{people:?}");
        assert_eq!(
            sessions.people(1_801, 9_900),
            None,
            "less than half of the requests have a name"
        );
    }

    #[test]
    fn a_few_people_tell_nothing() {
        let mut sessions = Sessions::default();
        (0..500).for_each(|second| sessions.add(b"monitor", second));
        assert_eq!(sessions.people(500, 500), None);
    }
}
