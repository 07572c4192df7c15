//! Each step once, in order, as one user would send it; nothing of this is in any count.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::check::Check;
use super::plan::{Number, Plan};
use super::rows::Supply;
use super::transport::{Answer, Link, Transport};
use crate::scenario::{Data, Secrets, Source, Step};

/// A step that was sent once. Nowhere in it is a value of the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// Method and URL.
    pub request: String,
    /// The headers that the step sets, and the type of its body.
    pub headers: Vec<(String, String)>,
    /// The body, if it has one.
    pub body: Option<String>,
    /// What came back; `None` where no whole answer did.
    pub answer: Option<TrialAnswer>,
    /// What was captured from it, by name.
    pub captured: Vec<(String, String)>,
    /// What the step's counters read from it, in their order.
    pub counters: Vec<u64>,
    /// What was expected and what came instead, where that is not the same.
    pub wrong: Option<(String, String)>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialAnswer {
    /// Its status.
    pub status: u16,
    /// From the send to its last byte.
    pub took: Duration,
    /// Bytes of its body.
    pub bytes: u64,
    /// The first of them as text, up to a KiB.
    pub beginning: String,
    /// The headers that the step captures, as they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as it came, up to a MiB. Values of the environment that the server sends back are in
    /// it: it is shown to nobody.
    pub body: Vec<u8>,
}

/// Sends each step of the plan once, in order, and shows what came of it, unless that breaks off.
///
/// # Errors
/// A sentence, where the client could not be made.
pub async fn try_steps(
    plan: &Plan,
    mut show: impl FnMut(&Step, Tried) -> ControlFlow<()>,
) -> Result<(), String> {
    let transport = Transport::new(plan)?;
    // One past the last user of the test, so that it sends data of its own.
    let user = plan.scenario.load.users;
    let mut link = transport.link(Number { local: user, global: user });
    link.keep_samples();
    let mut data = Data::new(plan.seed, user);
    Supply::new(plan.scenario.rows.clone(), user).take_for_verification(&mut data);
    let secrets = Secrets::of(&plan.scenario);
    for (index, step) in plan.scenario.steps.iter().enumerate() {
        // What will be sent: rendering is repeatable.
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
        // In the order in which transports render them.
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
                self.wrong = Some((format!("an answer within {limit}"), "none".to_owned()));
            }
            Ok(Err(failure)) => {
                let got = format!("a {} error: {}", failure.kind, failure.message);
                self.wrong = Some(("an answer".to_owned(), got));
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

    /// Whatever a server has sent back of the environment's values is hidden.
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

/// The headers of an answer that the step captures.
fn captured(answer: &Answer<'_>, step: &Step) -> Vec<(String, Vec<u8>)> {
    let names = step.captures.iter().filter_map(|capture| match &capture.source {
        Source::Header(name) => Some(name),
        _ => None,
    });
    names.filter_map(|name| Some((name.clone(), answer.headers.first(name)?.to_vec()))).collect()
}

/// The beginning of a body, as text.
fn beginning(body: &[u8]) -> String {
    const LONGEST: usize = 1 << 10;
    let text = String::from_utf8_lossy(&body[..body.len().min(LONGEST)]);
    if body.len() >= LONGEST { format!("{text}…") } else { text.into_owned() }
}
