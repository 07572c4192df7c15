//! What can be wished for of a run.

use std::str::FromStr;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};

use crate::engine::Refused;
use crate::failure::{Exit, Failure};
use crate::scenario::Amount;

/// What a run is to do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// End in good order, as after Ctrl-C.
    Stop,
    /// Go on with so many users.
    Users(u32),
    /// Go on with so many requests per second.
    Rate(f64),
}

impl From<Amount> for Wish {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Users(users) => Self::Users(users),
            Amount::Rate(rate) => Self::Rate(rate),
        }
    }
}

impl FromStr for Wish {
    type Err = Refusal;

    /// As it is typed: `users 200`, `rate 500` or `stop`.
    fn from_str(line: &str) -> Result<Self, Refusal> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wish = match words.as_slice() {
            ["stop"] => Some(Self::Stop),
            ["users", users] => users.parse().ok().map(Self::Users),
            ["rate", rate] => rate.parse().ok().map(Self::Rate),
            _ => None,
        };
        wish.ok_or_else(|| Refusal {
            message: format!("\"{}\" is nothing that a run can do", words.join(" ")),
            help: Some("say `users N`, `rate R` or `stop`".to_owned()),
            exit: Exit::Usage,
        })
    }
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// In a sentence.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
    /// What `loadgen ctl` exits with.
    pub exit: Exit,
}

impl Refusal {
    /// That of an error.
    pub fn of(error: &dyn Diagnostic, exit: Exit) -> Self {
        let help = error.help().map(|help| help.to_string());
        Self { message: error.to_string(), help, exit }
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let exit = match refused {
            Refused::Change(_) => Exit::Usage,
            Refused::TooLate => Exit::Failed,
        };
        Self::of(&refused, exit)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::message(refusal.exit, refusal.message, refusal.help.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_understood_or_told_what_can_be_said() {
        let said = |line: &str| line.parse::<Wish>().map_err(|refusal| refusal.message);
        assert_eq!(said("users 200"), Ok(Wish::Users(200)));
        assert_eq!(said("  rate   0.5 "), Ok(Wish::Rate(0.5)));
        assert_eq!(said("stop"), Ok(Wish::Stop));
        for line in ["users", "users -1", "users 1.5", "rate fast", "stop now", "quit"] {
            assert_eq!(said(line), Err(format!("\"{line}\" is nothing that a run can do")));
        }
    }

    #[test]
    fn what_is_sent_is_json_of_one_line() {
        let text = |wish: Wish| serde_json::to_string(&wish).unwrap();
        let wishes = [Wish::Stop, Wish::Users(200), Wish::Rate(500.0)];
        assert_eq!(wishes.map(text), ["\"stop\"", "{\"users\":200}", "{\"rate\":500.0}"]);
    }
}
