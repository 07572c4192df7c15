//! One request for each step before anything is measured: does the server answer as expected?

use miette::Diagnostic;
use thiserror::Error;

use super::check::Check;
use super::plan::Plan;
use super::supply::Supply;
use super::transport::{Link, Transport};
use crate::scenario::{Data, Secrets, Step};

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

/// Sends each step of the plan once, in order, to `who`, and gives the counters that were read,
/// by step. Nothing of this is in any count.
pub async fn verify(plan: &Plan, who: &str) -> Result<Vec<Vec<u64>>, VerifyError> {
    let transport = Transport::new(plan).map_err(VerifyError::Client)?;
    let mut link = transport.link();
    // One past the last user of the test, so that it sends data of its own.
    let mut data = Data::new(plan.seed, plan.scenario.load.users);
    Supply::new(&plan.scenario.rows).take_for_verification(&mut data);
    let secrets = Secrets::of(&plan.scenario);
    let mut counters = Vec::new();
    for (index, step) in plan.scenario.steps.iter().enumerate() {
        // What the path will be: rendering is repeatable.
        let path = step.path.shown(&mut data.clone());
        let request = format!("{} {}{path}", step.method, plan.base_url);
        let read = verify_step(index, step, request, &mut link, &mut data).await;
        counters.push(read.map_err(|mut mismatch| {
            for text in [&mut mismatch.request, &mut mismatch.expected, &mut mismatch.got] {
                *text = secrets.hidden(text.as_str()).into_owned();
            }
            VerifyError::Mismatch { who: who.to_owned(), mismatch: Box::new(mismatch) }
        })?);
    }
    Ok(counters)
}

async fn verify_step(
    index: usize,
    step: &Step,
    request: String,
    link: &mut Link<'_>,
    data: &mut Data,
) -> Result<Vec<u64>, Mismatch> {
    let mismatch = |expected: String, got: String| Mismatch {
        step: step.name.clone(),
        request,
        expected,
        got,
    };
    if let Err(failure) = link.render(index, data) {
        return Err(mismatch(
            "a request that can be sent".to_owned(),
            failure.message.into_owned(),
        ));
    }
    let mut counters = Vec::new();
    match tokio::time::timeout(step.timeout, link.exchange(step)).await {
        Err(_) => Err(mismatch(
            format!("an answer within {}", humantime::format_duration(step.timeout)),
            "none".to_owned(),
        )),
        Ok(Err(failure)) => Err(mismatch(
            "an answer".to_owned(),
            format!("a {} error: {}", failure.kind, failure.message),
        )),
        Ok(Ok(answer)) => match Check::new(step).take(&answer, &mut counters, data) {
            Ok(()) => Ok(counters),
            Err(wrong) => Err(mismatch(wrong.expected, wrong.got)),
        },
    }
}
