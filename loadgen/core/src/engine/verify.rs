//! Verifies, before anything is measured, that the server answers as expected: with
//! one request for each step.

use std::ops::ControlFlow;

use miette::Diagnostic;
use thiserror::Error;

use super::plan::Plan;
use super::trial::{TrialAnswer, Tried, try_steps};
use crate::scenario::Step;

/// Difference between a server's answer and a step's expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the step.
    pub step: String,
    /// Method and URL of the request.
    pub request: String,
    /// The step's expectation, in words.
    pub expected: String,
    /// The answer that came instead, or the error, in words.
    pub got: String,
}

/// Reason why a verification failed.
#[derive(Debug, Error, Diagnostic)]
pub enum VerifyError {
    /// The server answered otherwise than expected, or not at all.
    #[error(
        "{who} does not respond as the scenario expects\n  step      {}\n  request   {}\n  expected  {}\n  got       {}",
        mismatch.step, mismatch.request, mismatch.expected, mismatch.got
    )]
    #[diagnostic(
        code(unexpected_response),
        help("nothing was measured: fix the server, or the `expect` of the step")
    )]
    Mismatch {
        /// Name of the target, or its URL.
        who: String,
        /// The first difference that was found.
        mismatch: Box<Mismatch>,
    },
    /// The HTTP client could not be created.
    #[error("cannot create an HTTP client: {0}")]
    #[diagnostic(code(no_http_client), help("check [http] in the scenario"))]
    Client(String),
}

/// Answers of a server that passed the verification.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// Values of each step's counters, in the order of the steps.
    pub counters: Vec<Vec<u64>>,
    /// Answer to each step, in the order of the steps.
    pub answers: Vec<TrialAnswer>,
}

/// Sends each step of the plan once, in order, and compares the answers with the steps'
/// expectations. `who` names the server in an error. These requests are not counted.
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
