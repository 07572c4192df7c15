//! One request for each step before anything is measured: does the server answer as expected?

use std::ops::ControlFlow;

use miette::Diagnostic;
use thiserror::Error;

use super::plan::Plan;
use super::trial::{TrialAnswer, Tried, try_steps};
use crate::scenario::Step;

/// What a server answered in place of what a step expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The step's name.
    pub step: String,
    /// Method and URL of the request.
    pub request: String,
    /// What the step expects.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// A server is not what the scenario takes it for.
#[derive(Debug, Error, Diagnostic)]
pub enum VerifyError {
    /// It answered otherwise than expected, or not at all.
    #[error(
        "{who} does not answer as the scenario expects\n  step      {}\n  request   {}\n  expected  {}\n  got       {}",
        mismatch.step, mismatch.request, mismatch.expected, mismatch.got
    )]
    #[diagnostic(help("nothing was measured: mend the server, or the step's `expect`"))]
    Mismatch {
        /// The target, or the URL.
        who: String,
        /// What was wrong.
        mismatch: Box<Mismatch>,
    },
    /// The client could not be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

/// What a server answered that is what the scenario takes it for.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// The counters that were read, by step.
    pub counters: Vec<Vec<u64>>,
    /// The answers, by step.
    pub answers: Vec<TrialAnswer>,
}

/// Sends each step of the plan once, in order, to `who`. Nothing of this is in any count.
pub async fn verify(plan: &Plan, who: &str) -> Result<Verified, VerifyError> {
    let mut verified = Verified::default();
    let mut wrong = None;
    let judge = |step: &Step, tried: Tried| match tried.wrong {
        None => {
            verified.counters.push(tried.counters);
            verified.answers.extend(tried.answer);
            ControlFlow::Continue(())
        }
        Some((expected, got)) => {
            let (step, request) = (step.name.clone(), tried.request);
            wrong = Some(Box::new(Mismatch { step, request, expected, got }));
            ControlFlow::Break(())
        }
    };
    try_steps(plan, judge).await.map_err(VerifyError::Client)?;
    match wrong {
        None => Ok(verified),
        Some(mismatch) => Err(VerifyError::Mismatch { who: who.to_owned(), mismatch }),
    }
}
