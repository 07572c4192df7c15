//! Sends each step once, in order, as one user would. These requests are not counted.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::check::Check;
use super::plan::{Number, Plan};
use super::rows::Supply;
use super::transport::{Answer, Link, Transport};
use crate::scenario::{Data, Secrets, Source, Step};

/// Result of sending a step once. The values of environment variables are hidden in all fields
/// except the headers and the body of `answer`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// Method and URL of the request.
    pub request: String,
    /// Headers that the step sets, and the content type of its body.
    pub headers: Vec<(String, String)>,
    /// Body of the request, if the step has one.
    pub body: Option<String>,
    /// The answer; `None` if no whole answer came.
    pub answer: Option<TrialAnswer>,
    /// Values captured from the answer, by name.
    pub captured: Vec<(String, String)>,
    /// Values that the step's counters read from the answer, in the counters' order.
    pub counters: Vec<u64>,
    /// The expectation and what came instead, in words, if the two differ.
    pub wrong: Option<(String, String)>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialAnswer {
    /// HTTP status code.
    pub status: u16,
    /// Time from the send to the last byte of the answer.
    pub took: Duration,
    /// Length of the body, in bytes.
    pub bytes: u64,
    /// Beginning of the body as text, up to 1 KiB.
    pub beginning: String,
    /// Headers that the step captures, as received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as received: up to 1 MiB, or up to 16 MiB if the step inspects the body. Never
    /// shown, because the server may send back values of environment variables.
    pub body: Vec<u8>,
}

/// Sends each step of the plan once, in order, and passes each result to `show`, until `show`
/// returns [`ControlFlow::Break`].
///
/// # Errors
/// Returns a sentence if the HTTP client could not be created.
pub async fn try_steps(
    plan: &Plan,
    mut show: impl FnMut(&Step, Tried) -> ControlFlow<()>,
) -> Result<(), String> {
    let transport = Transport::new(plan)?;
    // The number after that of the test's last user, so that this user sends separate data.
    let user = plan.scenario.load.users;
    let mut link = transport.link(Number { local: user, global: user });
    link.keep_samples();
    let mut data = Data::new(plan.seed, user);
    Supply::new(plan.scenario.rows.clone(), user).take_for_verification(&mut data);
    let secrets = Secrets::of(&plan.scenario);
    for (index, step) in plan.scenario.steps.iter().enumerate() {
        // Shows what will be sent: rendering is repeatable.
        let mut tried = Tried::shown(step, &plan.base_url, &mut data.clone());
        tried.send(index, step, &mut link, &mut data).await;
        tried.hide(&secrets);
        if show(step, tried).is_break() {
            break;
        }
    }
    Ok(())
}

impl Tried {
    fn shown(step: &Step, base_url: &str, data: &mut Data) -> Self {
        // Rendered in the same order as in transports.
        let request = format!("{} {base_url}{}", step.method, step.path.shown(data));
        let headers = step.headers.iter().map(|(name, value)| (name.clone(), value.shown(data)));
        let mut headers: Vec<_> = headers.collect();
        let body = step.body.as_ref().map(|body| {
            headers.push(("content-type".to_owned(), body.content_type.clone()));
            body.text.shown(data)
        });
        Self { request, headers, body, ..Self::default() }
    }

    async fn send(&mut self, index: usize, step: &Step, link: &mut Link<'_>, data: &mut Data) {
        if let Err(failure) = link.render(index, data) {
            let expected = "a request that can be sent".to_owned();
            self.wrong = Some((expected, failure.message.into_owned()));
            return;
        }
        let sent = Instant::now();
        let result = tokio::time::timeout(step.timeout, link.exchange(step)).await;
        let took = sent.elapsed();
        match result {
            Err(_) => {
                let limit = humantime::format_duration(step.timeout);
                self.wrong = Some((format!("a response within {limit}"), "none".to_owned()));
            }
            Ok(Err(failure)) => {
                let got = format!("a {} error: {}", failure.kind, failure.message);
                self.wrong = Some(("a response".to_owned(), got));
            }
            Ok(Ok(answer)) => {
                let (status, beginning) = (answer.status, beginning(&answer.body));
                let taken = Check::new(step).take(&answer, &mut self.counters, data);
                self.wrong = taken.err().map(|wrong| (wrong.expected, wrong.got));
                let (headers, body) = (captured(&answer, step), answer.body.to_vec());
                self.answer =
                    Some(TrialAnswer { status, took, bytes: 0, beginning, headers, body });
            }
        }
        if let Some(answer) = &mut self.answer {
            answer.bytes = link.received();
        }
        if self.wrong.is_none() {
            let captured = step.captures.iter().filter_map(|capture| {
                Some((capture.name.clone(), data.captured(&capture.name)?.to_owned()))
            });
            self.captured = captured.collect();
        }
    }

    /// Hides the values of environment variables, which the server may
    /// have sent back, in all texts that are shown.
    fn hide(&mut self, secrets: &Secrets) {
        let texts = [&mut self.request].into_iter().chain(&mut self.body);
        let texts = texts.chain(self.headers.iter_mut().map(|(_, value)| value));
        let texts = texts.chain(self.captured.iter_mut().map(|(_, value)| value));
        let texts = texts.chain(self.answer.as_mut().map(|answer| &mut answer.beginning));
        let wrong = self.wrong.as_mut().map(|(expected, got)| [expected, got]);
        for text in texts.chain(wrong.into_iter().flatten()) {
            *text = secrets.hidden(text.as_str()).into_owned();
        }
    }
}

/// Returns the headers of `answer` that `step` captures, with their names.
fn captured(answer: &Answer<'_>, step: &Step) -> Vec<(String, Vec<u8>)> {
    let names = step.captures.iter().filter_map(|capture| match &capture.source {
        Source::Header(name) => Some(name),
        _ => None,
    });
    names.filter_map(|name| Some((name.clone(), answer.headers.first(name)?.to_vec()))).collect()
}

/// Returns the first 1 KiB of a body, as text.
fn beginning(body: &[u8]) -> String {
    const LONGEST: usize = 1 << 10;
    let text = String::from_utf8_lossy(&body[..body.len().min(LONGEST)]);
    if body.len() >= LONGEST { format!("{text}…") } else { text.into_owned() }
}
