//! Holds the content of a backend after a round, and the content that the backend had to have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of one proof after one round: compares the content of a backend with the content that the
/// scenario expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofRecord {
    /// Number of the round, from 1; with slices, of the slice among those of all starts.
    pub round: u32,
    /// Name of the backend.
    pub backend: String,
    /// Query, as written in the scenario.
    pub question: String,
    /// Expected content, flattened into the fields `counter`, `counted` and `uncounted`, or into
    /// the field `value`.
    #[serde(flatten)]
    pub expected: ExpectedContentRecord,
    /// Answer of the backend.
    pub held: i64,
    /// Requests with an unknown effect: failed, or cut off without a response.
    pub unknown: u64,
    /// Whether `held` equals `counted` plus `uncounted`, or `value`.
    pub agrees: bool,
}

/// Content that a backend is expected to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExpectedContentRecord {
    /// The sum of a counter, which is a number read from the target's answers.
    Answers {
        /// Counter with the expected sum; missing for a `value`.
        counter: String,
        /// Sum of the counter over the measured requests; missing for a `value`.
        counted: u64,
        /// Sum of the counter over the other requests: verification, warm-up, ramp-up, stop steps,
        /// and requests answered after the end, and all requests of a probe; missing for a `value`.
        uncounted: u64,
    },
    /// The number that the scenario states.
    Scenario {
        /// Expected number, as written in the scenario; missing for a `counter`.
        value: u64,
    },
}

impl ProofRecord {
    /// Returns the query in one line, cut after 60 characters.
    #[must_use]
    pub fn in_short(&self) -> String {
        const LONGEST: usize = 60;
        let line = self.question.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
            None => line,
        }
    }

    /// Returns whether both records are of the same proof of the scenario, regardless of the round.
    #[must_use]
    pub fn is_again(&self, other: &Self) -> bool {
        let expected = |of: &Self| match &of.expected {
            ExpectedContentRecord::Answers { counter, .. } => (Some(counter.clone()), None),
            ExpectedContentRecord::Scenario { value } => (None, Some(*value)),
        };
        (&self.backend, &self.question) == (&other.backend, &other.question)
            && expected(self) == expected(other)
    }
}

impl ExpectedContentRecord {
    /// Returns the counter that the expected number comes from; `None` for a number that the
    /// scenario states.
    #[must_use]
    pub fn counter(&self) -> Option<&String> {
        match self {
            Self::Answers { counter, .. } => Some(counter),
            Self::Scenario { .. } => None,
        }
    }

    /// Returns the number that the backend must hold.
    #[must_use]
    pub fn number(&self) -> u64 {
        match self {
            Self::Answers { counted, uncounted, .. } => counted.saturating_add(*uncounted),
            Self::Scenario { value } => *value,
        }
    }

    /// Returns whether `held` is the expected number.
    #[must_use]
    pub fn is(&self, held: i64) -> bool {
        u64::try_from(held) == Ok(self.number())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(expected: ExpectedContentRecord, held: i64) -> ProofRecord {
        let (backend, question) = ("redis".to_owned(), "LLEN queue".to_owned());
        let agrees = expected.is(held);
        ProofRecord { round: 2, backend, question, expected, held, unknown: 1, agrees }
    }

    #[test]
    fn expected_content_is_the_sum_of_the_answers_or_a_value() {
        let answers = ExpectedContentRecord::Answers {
            counter: "queued".to_owned(),
            counted: 7,
            uncounted: 3,
        };
        assert!(answers.is(10) && !answers.is(7));
        let none = ExpectedContentRecord::Scenario { value: 0 };
        assert!(none.is(0) && !none.is(-1) && !none.is(1));
    }

    #[test]
    fn the_document_has_the_expected_and_the_actual_content() {
        let answers = ExpectedContentRecord::Answers {
            counter: "queued".to_owned(),
            counted: 7,
            uncounted: 3,
        };
        let (of_answers, of_value) =
            (record(answers, 10), record(ExpectedContentRecord::Scenario { value: 0 }, -1));
        let documents = [&of_answers, &of_value].map(|r| serde_json::to_value(r).unwrap());
        let mut document = json!({
            "round": 2, "backend": "redis", "question": "LLEN queue", "counter": "queued",
            "counted": 7, "uncounted": 3, "held": 10, "unknown": 1, "agrees": true,
        });
        assert_eq!(documents[0], document);
        for key in ["counter", "counted", "uncounted"] {
            document.as_object_mut().unwrap().remove(key);
        }
        document["value"] = json!(0);
        (document["held"], document["agrees"]) = (json!(-1), json!(false));
        assert_eq!(documents[1], document);
        for (record, document) in [of_answers, of_value].into_iter().zip(documents) {
            assert_eq!(serde_json::from_value::<ProofRecord>(document).unwrap(), record);
        }
    }
}
