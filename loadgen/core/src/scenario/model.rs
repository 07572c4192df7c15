//! The validated model: what a scenario means once every check has passed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::backend::Backend;
use super::http::Http;
use super::load::Load;
use super::proof::Proof;
use super::rows::Rows;
use super::template::Template;
use super::threshold::Threshold;

/// A scenario that has been validated: what is sent, how much of it, and what counts as right.
///
/// It travels to workers as it is, so that no worker reads a file of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// The file's stem: `redis3` for `scenarios/redis3.toml`.
    pub name: String,
    /// One line for people, if the file has one.
    pub description: Option<String>,
    /// The names of the targets that are compared unless others are asked for.
    pub targets: Vec<String>,
    /// What must run beside the target.
    pub backends: Vec<Backend>,
    /// How requests travel.
    pub http: Http,
    /// How much load, and for how long.
    pub load: Load,
    /// Files whose rows users send.
    pub rows: Vec<Rows>,
    /// What each user does, in this order: first what it sends once at its start, then what it sends
    /// in each iteration, of which there is at least one, last what it sends once when it stops. Of
    /// those with weights that stand one after another, an iteration has one.
    pub steps: Vec<Step>,
    /// What a user does after a failed step.
    pub on_error: OnError,
    /// What must hold for the run to pass.
    pub thresholds: Vec<Threshold>,
    /// What backends must hold after each round.
    pub proofs: Vec<Proof>,
}

impl Scenario {
    /// The places of the steps that each user sends once, before its first iteration.
    #[must_use]
    pub fn start_steps(&self) -> Range<usize> {
        0..self.steps.iter().take_while(|step| step.when == When::Start).count()
    }

    /// The places of the steps that each user sends once, after its last iteration.
    #[must_use]
    pub fn stop_steps(&self) -> Range<usize> {
        let count = self.steps.iter().rev().take_while(|step| step.when == When::Stop).count();
        self.steps.len() - count..self.steps.len()
    }

    /// The steps of an iteration by their places, in groups: it takes one of each group. A step
    /// without a weight is a group of its own.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let weighted = |index: usize| self.steps[index].weight.is_some();
        let mut begin = self.start_steps().end;
        let end = self.stop_steps().start;
        std::iter::from_fn(move || {
            let first = begin;
            if first == end {
                return None;
            }
            begin += 1;
            while weighted(first) && begin < end && weighted(begin) {
                begin += 1;
            }
            Some(first..begin)
        })
    }
}

/// What a user does after a failed step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Goes on with the next iteration: later steps often need what the failed one did.
    #[default]
    NextIteration,
    /// Goes on with the next step.
    Continue,
}

/// When a user sends a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Once, before its first iteration.
    Start,
    /// In each iteration.
    #[default]
    Iteration,
    /// Once, after its last iteration.
    Stop,
}

/// One request, and what its answer must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Unique within the scenario; what results are filed under.
    pub name: String,
    /// In each iteration, or once at the user's start or stop.
    pub when: When,
    /// The request's method.
    pub method: Method,
    /// Path and query, beginning with `/`.
    pub path: Template,
    /// Header names in lower case, and their values.
    pub headers: Vec<(String, Template)>,
    /// The request's body, if it has one.
    pub body: Option<Body>,
    /// Where steps that stand one after another have weights, an iteration takes one of them: this
    /// one as often as its share of the sum.
    pub weight: Option<u32>,
    /// From the send to the last byte of the answer's body.
    pub timeout: Duration,
    /// What the answer must be.
    pub expect: Expect,
    /// Numbers that are read from each right answer and added up.
    pub counters: Vec<Counter>,
    /// Values that are taken from each right answer, for later requests of the same user.
    pub captures: Vec<Capture>,
}

impl Step {
    /// Whether its request is the same each time.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.templates().all(|template| template.as_constant().is_some())
    }

    /// All of its request that may have generated parts.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self.headers.iter().map(|(_, value)| value);
        headers.chain(self.body.as_ref().map(|body| &body.text)).chain([&self.path])
    }
}

/// An HTTP request method (RFC 9110, section 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names are the methods'")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
        })
    }
}

/// A request's body and its media type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The value of `content-type`.
    pub content_type: String,
    /// The text, made anew for each request where it has generated parts.
    pub text: Template,
}

/// What the answer must be for a request to count as answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Expect {
    /// The status; any 2xx or 3xx where `None`.
    pub status: Option<u16>,
    /// JSON pointers (RFC 6901) into the body, and the value each must find.
    pub json: Vec<(String, serde_json::Value)>,
    /// A text that the body must contain.
    pub body: Option<String>,
}

/// A number read from each right answer and added up over the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// What the sum is called in the results.
    pub name: String,
    /// A JSON pointer (RFC 6901) to an unsigned integer in the body.
    pub pointer: String,
}

/// A value that a user takes from an answer and keeps until it takes it anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// What placeholders call it.
    pub name: String,
    /// Where it is taken from.
    pub source: Source,
}

/// Where in an answer a value is taken from. An answer without it is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// What a JSON pointer (RFC 6901) finds in the body: the content of a string, the JSON text of
    /// anything else but `null`.
    Json(String),
    /// The first header of this name, which is in lower case.
    Header(String),
    /// The first match in the body's text: its first group, or all of it where there is none.
    Regex(String),
}
