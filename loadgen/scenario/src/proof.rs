//! `[[proof]]`: checks of a backend's contents after a round, which confirm the answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::backend::Backend;

/// A question to a backend after each round, and the expected answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Backend to ask; one of the scenario's backends.
    pub backend: Backend,
    /// One SQL query, or a Redis command with white space
    /// between its words. The answer is a single integer.
    pub question: String,
    /// Content that the backend must have.
    pub expected: ExpectedContent,
}

/// Content that a backend must have, as a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedContent {
    /// The answer must equal the sum of the counter of this name over all responses. The sum
    /// includes responses that are not counted in the results, such as those of the warm-up. At
    /// least one step reads the counter.
    Counter(String),
    /// The answer must equal this number, which is at most [`i64::MAX`].
    Value(u64),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A long query has several lines.
        let words: Vec<&str> = self.question.split_whitespace().collect();
        write!(f, "{}: `{}` equals ", self.backend, words.join(" "))?;
        match &self.expected {
            ExpectedContent::Counter(name) => write!(f, "the counter {name}"),
            ExpectedContent::Value(value) => write!(f, "{value}"),
        }
    }
}
