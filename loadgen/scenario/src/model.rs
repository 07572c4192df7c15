//! The validated model of a scenario, after every check has passed.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::backend::Backend;
use super::body::{Attachment, Body};
use super::expect::{Condition, Expect};
use super::flow::{Assign, Flow, Given, Repeat};
use super::http::Http;
use super::load::{Load, ThinkTime};
use super::method::Method;
use super::on_disk::OnDisk;
use super::proof::Proof;
use super::protos::Protos;
use super::rows::Rows;
use super::template::Template;
use super::threshold::Threshold;

/// A validated scenario: the requests, the load and the expected answers.
///
/// Workers receive the validated scenario, so that no worker reads a scenario file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Stem of the file's name: `redis3` for `scenarios/redis3.toml`.
    pub name: String,
    /// Description for people, in one line; `None` if the file has no description.
    pub description: Option<String>,
    /// Names of the targets to compare, unless the user names others.
    pub targets: Vec<String>,
    /// Backends that must run beside the target.
    pub backends: Vec<Backend>,
    /// Content of the backends before each round.
    pub existing: Existing,
    /// HTTP version, options and transport of all requests.
    pub http: Http,
    /// Services that steps call with gRPC; `None` without such steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Protos>,
    /// Amount and duration of the load.
    pub load: Load,
    /// Rows of CSV files whose values users send.
    pub rows: Vec<Rows>,
    /// Steps that are sent once for a round, before all users begin. All users have the values that these
    /// steps capture. Not among `steps`: no user sends them, and they are in no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub once: Vec<Step>,
    /// All steps of users: those sent once at the user's start, those of each flow (at least one), and those
    /// sent once at the user's stop.
    pub steps: Vec<Step>,
    /// Steps that are sent once for a round, after all users have ended, like those of `once`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finally: Vec<Step>,
    /// Flows among which iterations are divided, at least one, in the order of their steps.
    pub flows: Vec<Flow>,
    /// Time at which a user takes a flow.
    pub assign: Assign,
    /// Reaction of a user to a failed step.
    pub on_error: OnError,
    /// Conditions that the run must meet to pass.
    pub thresholds: Vec<Threshold>,
    /// Checks of the backends' contents after each round.
    pub proofs: Vec<Proof>,
}

impl Scenario {
    /// Returns all steps, in the order of sending: also those that no user sends.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> + Clone {
        self.once.iter().chain(&self.steps).chain(&self.finally)
    }

    /// Returns the files that steps send without having them in memory.
    pub fn files_on_disk(&self) -> impl Iterator<Item = &OnDisk> {
        let bodies = self.all_steps().filter_map(|step| step.body.as_ref());
        bodies.flat_map(Body::files).filter_map(Attachment::on_disk)
    }

    /// Returns the indices of the steps that each user sends once, before its first iteration.
    #[must_use]
    pub fn start_steps(&self) -> Range<usize> {
        0..self.steps.iter().take_while(|step| step.when == When::Start).count()
    }

    /// Returns the indices of the steps that each user sends once, after its last iteration.
    #[must_use]
    pub fn stop_steps(&self) -> Range<usize> {
        let count = self.steps.iter().rev().take_while(|step| step.when == When::Stop).count();
        self.steps.len() - count..self.steps.len()
    }

    /// Returns whether a step uses a WebSocket.
    #[must_use]
    pub fn uses_websocket(&self) -> bool {
        self.steps.iter().any(|step| step.action.uses_socket())
    }

    /// Returns whether a request may follow redirects.
    #[must_use]
    pub fn follows_redirects(&self) -> bool {
        let all = self.once.iter().chain(&self.steps).chain(&self.finally);
        all.into_iter().any(|step| step.redirects > 0)
    }

    /// Returns whether a step sends an HTTP request or a gRPC call, on the user's connection for these.
    #[must_use]
    pub fn uses_http(&self) -> bool {
        self.steps.iter().any(|step| !step.action.uses_socket())
    }

    /// Returns whether users open their WebSocket before their first iteration.
    #[must_use]
    pub fn connects_at_start(&self) -> bool {
        self.steps[self.start_steps()].iter().any(|step| step.action == Action::Connect)
    }

    /// Returns the times that users wait between requests, in words; `None` if users do not wait.
    #[must_use]
    pub fn think_times(&self) -> Option<String> {
        let of_load = self.load.think_time.map(|time| time.to_string());
        let of_steps = self.steps.iter().filter_map(|step| {
            let time = step.think_time?;
            Some(format!("{time} after {}", step.name))
        });
        let all: Vec<String> = of_load.into_iter().chain(of_steps).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Content that backends have before a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Existing {
    /// Number of rows of PostgreSQL's table `items`; zero without PostgreSQL.
    pub items: u64,
    /// Number of profiles in each backend; zero without a backend.
    pub profiles: u64,
}

/// Reaction of a user to a failed step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Continues with the next iteration, because later steps often need the failed step's effect.
    #[default]
    NextIteration,
    /// Continues with the next step.
    Continue,
}

/// Time at which a step is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Once for a round, before all users begin.
    Once,
    /// Once for each user, before the user's first iteration.
    Start,
    /// In each iteration.
    #[default]
    Iteration,
    /// Once for each user, after the user's last iteration.
    Stop,
    /// Once for a round, after all users have ended.
    Finally,
}

impl When {
    /// Returns whether users send the step. They do not send what is sent once for a round.
    #[must_use]
    pub fn is_of_users(self) -> bool {
        !matches!(self, Self::Once | Self::Finally)
    }
}

/// One request and its expected answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the step, unique within the scenario. Results are stored by this name.
    pub name: String,
    /// Time at which the step is sent.
    pub when: When,
    /// Action of the user: an HTTP request, a gRPC call, or a use of its WebSocket.
    pub action: Action,
    /// Method of the HTTP request.
    pub method: Method,
    /// Path and query: begins with `/` or `?`, or is empty. `/package.Service/Method` for a gRPC call.
    pub path: Template,
    /// Header names in lower case, and their values.
    pub headers: Vec<(String, Template)>,
    /// Body of the request, or message to send, of a gRPC call in its JSON form; `None` if there is none.
    pub body: Option<Body>,
    /// Relative frequency of this step among consecutive steps with weights, of which an iteration
    /// sends one. A step is sent as often as its share of the sum of the weights. `None` for a step
    /// that is not part of such a choice.
    pub weight: Option<u32>,
    /// Condition without which an iteration leaves the step out; `None` to send it always.
    pub given: Option<Given>,
    /// Number of times that an iteration sends the step, one after another.
    pub repeat: Repeat,
    /// Name under which the results of several steps are also added up.
    pub group: Option<String>,
    /// Longest time from the send to the last byte of the answer's body.
    pub timeout: Duration,
    /// Largest number of consecutive redirects that the request follows; 0 follows none.
    #[serde(default)]
    pub redirects: u32,
    /// Time that a user waits after this step before its next request; `None` for that of the load.
    pub think_time: Option<ThinkTime>,
    /// Whether the step is sent once before each round, to verify the target.
    pub verify: bool,
    /// Conditions that a response must meet to be an expected response.
    pub expect: Expect,
    /// Numbers to read from each expected answer and add up.
    pub counters: Vec<Counter>,
    /// Values to take from each expected answer, for later requests of the same user.
    pub captures: Vec<Capture>,
}

impl Step {
    /// Header that tells a server to which trace a request belongs (W3C Trace Context).
    pub const TRACEPARENT: &str = "traceparent";

    /// Returns whether the server can be told to which trace a request belongs: not with a message over a WebSocket, and
    /// not if the step has such a header of its own.
    #[must_use]
    pub fn can_be_traced(&self) -> bool {
        matches!(self.action, Action::Request | Action::Call)
            && !self.headers.iter().any(|(name, _)| name == Self::TRACEPARENT)
    }

    /// Returns the request's method and path, or the word for another action, such as
    /// `GRPC package.Service/Method`.
    #[must_use]
    pub fn request_line(&self) -> String {
        request_line(self.action, &self.method, &self.path)
    }

    /// Returns whether all requests of this step are the same, because no part is generated.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.templates().all(Template::is_constant)
    }

    /// Returns the names of the response's headers that captures, conditions and the reading of a
    /// stream need, in lower case.
    pub fn headers_read(&self) -> impl Iterator<Item = &str> {
        let captured = self.captures.iter().filter_map(|capture| match &capture.source {
            Source::Header(name) | Source::HeaderMatch(name, _) => Some(name.as_str()),
            _ => None,
        });
        let expected = self.expect.conditions().filter_map(|condition| match condition {
            Condition::Header(name, _) => Some(name.as_str()),
            _ => None,
        });
        // A stream's format follows from its media type, and a compressed stream cannot be read.
        let of_stream: &[&str] = match self.expect.stream {
            Some(_) => &["content-type", "content-encoding"],
            None => &[],
        };
        captured.chain(expected).chain(of_stream.iter().copied())
    }

    /// Returns all parts of the request that may contain generated text.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self.headers.iter().map(|(_, value)| value);
        headers.chain(self.body.iter().flat_map(Body::texts)).chain([&self.path])
    }
}

/// See [`Step::request_line`].
pub(super) fn request_line(action: Action, method: &Method, path: &Template) -> String {
    let (verb, path) = (action.name().unwrap_or(method.name()), path.to_string());
    let path = match action {
        Action::Call => path.trim_start_matches('/'),
        _ => &path,
    };
    format!("{verb} {path}").trim_end().to_owned()
}

/// A number that is read from each expected answer and added up over the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Name of the sum in the results.
    pub name: String,
    /// JSON pointer (RFC 6901) to an unsigned integer in the body.
    pub pointer: String,
}

/// A value that a user takes from a response and keeps until the next capture of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Name of the value in placeholders.
    pub name: String,
    /// Part of the response that the value is taken from.
    pub source: Source,
    /// Which of several values counts.
    #[serde(default, skip_serializing_if = "Pick::is_first")]
    pub pick: Pick,
    /// Whether a response may lack the value. The user then has no value of this name.
    pub optional: bool,
}

/// Choice of one among the values that a [`Source`] finds in a response, in the order of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The first value.
    #[default]
    First,
    /// The value of this number, counted from 1.
    Number(u32),
    /// The last value.
    Last,
    /// Any value, all equally likely, drawn from the user's random data.
    Random,
}

impl Pick {
    /// Returns whether the first value counts, as it does unless the file says otherwise.
    #[must_use]
    pub fn is_first(&self) -> bool {
        *self == Self::First
    }
}

impl std::fmt::Display for Pick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::First => f.write_str("the first match"),
            Self::Number(number) => write!(f, "match {number}"),
            Self::Last => f.write_str("the last match"),
            Self::Random => f.write_str("a random match"),
        }
    }
}

/// Part of a response that a captured value is taken from. A response without the value is not an
/// expected response, unless the capture is optional.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// JSON pointer (RFC 6901) into the body, in which a part [`EACH`] stands for each element of an array
    /// and each member of an object. The value is a string's content, or the JSON text of any other type
    /// except `null`, which counts as missing.
    Json(String),
    /// Name of a header, in lower case. The first header of this name counts.
    Header(String),
    /// Name of a header, in lower case, and a regular expression for its value. The first header of this name
    /// counts. The value is that of [`Self::Regex`].
    HeaderMatch(String, String),
    /// Regular expression for the body's text. The value is the first group of a match, or the whole match
    /// if the expression has no group.
    Regex(String),
}

/// Part of a captured JSON pointer that stands for each element of an array and each member of an object.
pub const EACH: &str = "*";

impl Source {
    /// Returns whether the value is in the body, and not in a header.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        !matches!(self, Self::Header(_) | Self::HeaderMatch(..))
    }

    /// Returns whether a response may have several of these values, of which a capture picks one.
    #[must_use]
    pub fn has_several(&self) -> bool {
        match self {
            Self::Json(pointer) => pointer.split('/').skip(1).any(|part| part == EACH),
            Self::Header(_) => false,
            Self::HeaderMatch(..) | Self::Regex(_) => true,
        }
    }
}
