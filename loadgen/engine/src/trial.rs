//! Sends each step once, in order, as one user would. These requests are not counted.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::check::Check;
use super::grpc::Reply;
use super::plan::{Number, Plan};
use super::rows::Supply;
use super::transport::{Link, Transport};
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Data, GrpcStatus, Scenario, Secrets, ServerUrl, Step};

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
    /// Headers of the answer as text, without the values of cookies, in the order in which they came.
    pub answered_headers: Vec<(String, String)>,
    /// Each redirect that was followed, such as `302 to http://host/`; none with the transport `reqwest`.
    pub redirects: Vec<String>,
    /// Names of the cookies that the user keeps afterwards; none with the transport `reqwest`.
    pub cookies: Vec<String>,
    /// Kind of the failure; `None` if anything of an answer came, or nothing was sent.
    pub kind: Option<ErrorKind>,
    /// Values captured from the answer, by name.
    pub captured: Vec<(String, String)>,
    /// Values that the step's counters read from the answer, in the counters' order.
    pub counters: Vec<u64>,
    /// The expectation and what came instead, in words, if the two differ.
    pub wrong: Option<(String, String)>,
    /// Whether the request was sent; `false` if it could not be made from captured values, or if the
    /// step's condition does not hold.
    pub is_sent: bool,
    /// The condition of the step, in words, if it does not hold.
    pub left_out: Option<String>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialAnswer {
    /// HTTP status code.
    pub status: u16,
    /// Status of a gRPC call; `None` for any other answer.
    pub grpc_status: Option<GrpcStatus>,
    /// Time from the send to the last byte of the answer.
    pub took: Duration,
    /// Length of the body, in bytes.
    pub bytes: u64,
    /// Beginning of the decompressed body as text, or of the JSON form of a gRPC message, up to 1 KiB.
    pub beginning: String,
    /// All headers, as received. Never shown: [`Tried::answered_headers`] hides secrets.
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
    let Scenario { once, steps, finally, .. } = &plan.scenario;
    let mut plan = plan.clone();
    for (iteration, steps) in (0..).zip([once, steps, finally]) {
        let trial = Trial::of(&plan, steps)?;
        let mut user = trial.user(iteration);
        for (index, step) in steps.iter().enumerate() {
            if show(step, user.send(index).await).is_break() {
                return Ok(());
            }
        }
        // What users capture is theirs alone.
        let known = if iteration == 0 { user.captured(steps) } else { continue };
        drop(trial);
        plan.known = known;
    }
    Ok(())
}

/// A plan whose steps are sent one by one.
pub(super) struct Trial<'a> {
    plan: Cow<'a, Plan>,
    transport: Transport,
    secrets: Secrets,
}

/// The only user of a trial.
pub(super) struct TrialUser<'a> {
    plan: &'a Plan,
    secrets: &'a Secrets,
    link: Link,
    data: Data,
}

impl<'a> Trial<'a> {
    /// Prepares the trial of a plan. Returns a sentence if the HTTP client could not be created.
    pub(super) fn new(plan: &'a Plan) -> Result<Self, String> {
        let secrets = Secrets::of(&plan.scenario);
        Ok(Self { transport: Transport::new(plan)?, plan: Cow::Borrowed(plan), secrets })
    }

    /// Prepares the trial of these steps, in place of those that users of the plan send.
    pub(super) fn of(plan: &Plan, steps: &[Step]) -> Result<Self, String> {
        let scenario = Scenario { steps: steps.to_vec(), ..plan.scenario.clone() };
        let secrets = Secrets::of(&plan.scenario);
        let plan = Plan { scenario, ..plan.clone() };
        Ok(Self { transport: Transport::new(&plan)?, plan: Cow::Owned(plan), secrets })
    }

    /// Creates the user. The user has the number after that of the test's last user, and so sends
    /// separate data: that of this iteration.
    pub(super) fn user(&self, iteration: u64) -> TrialUser<'_> {
        let number = self.plan.scenario.load.users;
        let mut link = self.transport.link(Number { local: number, global: number });
        link.keep_samples();
        let mut data = Data::new(self.plan.seed, number).knowing(self.plan.known.clone().into());
        data.set_iteration(iteration);
        Supply::new(self.plan.scenario.rows.clone(), number).take_for_verification(&mut data);
        TrialUser { plan: &self.plan, secrets: &self.secrets, link, data }
    }
}

impl TrialUser<'_> {
    /// Sends the step of this index, and compares the answer with the step's expectation. Leaves the
    /// step out if its condition does not hold.
    pub(super) async fn send(&mut self, index: usize) -> Tried {
        let plan = self.plan;
        let step = &plan.scenario.steps[index];
        // Shows what will be sent: rendering is repeatable.
        let mut tried = Tried::shown(step, &plan.base_url, &mut self.data.clone());
        match &step.given {
            Some(given) if !given.holds(&self.data) => tried.left_out = Some(given.to_string()),
            _ => tried.send(plan, index, &mut self.link, &mut self.data).await,
        }
        tried.hide(self.secrets);
        tried
    }

    /// Returns the values that these steps have captured so far, by name.
    pub(super) fn captured(&self, steps: &[Step]) -> Vec<(String, String)> {
        let captures = steps.iter().flat_map(|step| &step.captures);
        let values = captures.filter_map(|capture| {
            Some((capture.name.clone(), self.data.captured(&capture.name)?.to_owned()))
        });
        values.collect()
    }
}

impl Tried {
    fn shown(step: &Step, base_url: &str, data: &mut Data) -> Self {
        // Rendered in the same order as in transports.
        let request = match step.action.name() {
            Some(name) if step.action.needs_socket() => name.to_owned(),
            name => {
                let verb = name.unwrap_or(step.method.name());
                let path = step.path.shown(data);
                let url =
                    ServerUrl::parse(base_url).map_or(path.clone(), |url| url.with_path(&path));
                format!("{verb} {url}")
            }
        };
        let headers = step.headers.iter().map(|(name, value)| (name.clone(), value.shown(data)));
        let mut headers: Vec<_> = headers.collect();
        let body = step.body.as_ref().map(|body| {
            if !step.action.needs_socket() {
                headers.push(("content-type".to_owned(), body.content_type.clone()));
            }
            body.shown(data)
        });
        Self { request, headers, body, ..Self::default() }
    }

    async fn send(&mut self, plan: &Plan, index: usize, link: &mut Link, data: &mut Data) {
        let step = &plan.scenario.steps[index];
        if let Err(failure) = link.render(index, data) {
            let expected = "a request that can be sent".to_owned();
            self.wrong = Some((expected, failure.message.into_owned()));
            return;
        }
        self.is_sent = true;
        let sent = Instant::now();
        let check = Check::new(step);
        let deadline = tokio::time::Instant::from_std(sent + step.timeout);
        let result = loop {
            let result = tokio::time::timeout_at(deadline, link.exchange(step)).await;
            match &result {
                Ok(Ok(answer)) if check.passes_over(answer) => {
                    let shown = answer.shown();
                    drop(result);
                    link.pass_over(shown);
                }
                _ => break result,
            }
        };
        let took = sent.elapsed();
        match result {
            Err(_) => {
                let limit = humantime::format_duration(step.timeout);
                let (expected, got) = match link.stream_times(step) {
                    _ if step.action.ends_with_message() => {
                        ("the expected message", link.give_up(step))
                    }
                    Some(times) if times.events > 0 => {
                        ("the end of the stream", link.give_up(step))
                    }
                    _ => ("a response", "none".to_owned()),
                };
                // A message or an event may have come, but not the one that ends the step.
                self.kind = (got == "none").then_some(ErrorKind::Timeout);
                self.wrong = Some((format!("{expected} within {limit}"), got));
            }
            Ok(Err(failure)) => {
                let article = if failure.kind == ErrorKind::Expectation { "an" } else { "a" };
                let got = format!("{article} {} error: {}", failure.kind, failure.message);
                self.kind = Some(failure.kind);
                self.wrong = Some(("a response".to_owned(), got));
            }
            Ok(Ok(answer)) => {
                let (status, beginning) = (answer.status, beginning(&answer.beginning()));
                let grpc_status = answer.reply().map(Reply::status);
                // The first request of a server may take longer than those that are measured.
                let taken = check.take(&answer, None, &mut self.counters, data);
                self.wrong = taken.err().map(|wrong| (wrong.expected, wrong.got));
                let (headers, body) = (answer.headers.all(), answer.body.to_vec());
                self.answer = Some(TrialAnswer {
                    status,
                    grpc_status,
                    took,
                    bytes: 0,
                    beginning,
                    headers,
                    body,
                });
            }
        }
        if let Some(answer) = &mut self.answer {
            answer.bytes = link.received(step);
            let headers =
                answer.headers.iter().map(|(name, value)| (name.clone(), shown(name, value)));
            self.answered_headers = headers.collect();
        }
        self.redirects =
            link.hops().iter().map(|hop| format!("{} to {}", hop.status, hop.url)).collect();
        self.cookies = link.cookies();
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
        let texts = texts.chain(self.answered_headers.iter_mut().map(|(_, value)| value));
        let texts = texts.chain(self.captured.iter_mut().map(|(_, value)| value));
        let texts = texts.chain(&mut self.redirects).chain(&mut self.cookies);
        let texts = texts.chain(self.answer.as_mut().map(|answer| &mut answer.beginning));
        let wrong = self.wrong.as_mut().map(|(expected, got)| [expected, got]);
        for text in texts.chain(wrong.into_iter().flatten()) {
            *text = secrets.hidden(text.as_str()).into_owned();
        }
    }
}

/// Returns the value of a header as text. The value of a cookie is a secret of its user.
fn shown(name: &str, value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if !name.eq_ignore_ascii_case("set-cookie") {
        return text.into_owned();
    }
    let (pair, attributes) = text.split_at(text.find(';').unwrap_or(text.len()));
    let cookie = pair.split_once('=').map_or(String::new(), |(name, _)| format!("{name}="));
    format!("{cookie}…{attributes}")
}

/// Returns the first 1 KiB of a body, as text.
fn beginning(body: &[u8]) -> String {
    const LONGEST: usize = 1 << 10;
    let text = String::from_utf8_lossy(&body[..body.len().min(LONGEST)]);
    if body.len() >= LONGEST { format!("{text}…") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn the_value_of_a_cookie_is_not_shown() {
        assert_eq!(
            shown("Set-Cookie", b"sid=se=cret; Path=/; HttpOnly"),
            "sid=\u{2026}; Path=/; HttpOnly"
        );
        assert_eq!(shown("set-cookie", b"sid=secret"), "sid=\u{2026}");
        assert_eq!(shown("set-cookie", b"secret; Path=/"), "\u{2026}; Path=/");
        assert_eq!(shown("x-cookie", b"a=b; c"), "a=b; c");
    }
}
