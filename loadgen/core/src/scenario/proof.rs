//! `[[proof]]`: what a backend must hold after a round for the answers to be believed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::backend::Backend;

/// A question to a backend, asked after each round, and what its answer must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Whom to ask: one of the scenario's backends.
    pub backend: Backend,
    /// One SQL query, or a Redis command with white space between its words. Its answer is one whole
    /// number.
    pub question: String,
    /// What that number must be.
    pub claim: Claim,
}

/// What a proof's answer must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The sum that the answers gave this counter, those outside of the count too. A step reads it.
    Counter(String),
    /// This number, at most [`i64::MAX`].
    Value(u64),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A long query has several lines.
        let words: Vec<&str> = self.question.split_whitespace().collect();
        write!(f, "{}: `{}` is ", self.backend, words.join(" "))?;
        match &self.claim {
            Claim::Counter(name) => write!(f, "what {name} counted"),
            Claim::Value(value) => write!(f, "{value}"),
        }
    }
}
