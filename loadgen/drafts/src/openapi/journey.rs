//! The steps of a flow: each operation as a request, after the requests whose responses it needs.

use super::body::{self, Drafted};
use super::captures::{self, CaptureNames};
use super::document::{Document, Operation, Parameter};
use super::example::Examples;
use super::expected::expect;
use super::fields::Fields;
use super::security::Proof;
use super::sources::{self, Source};
use super::{Options, template};
use crate::names::Names;
use crate::{Entry, Step, Value};

/// Longest chain of operations of which each needs a response to the one before.
const LONGEST_CHAIN: usize = 8;

/// Writes the steps of all flows.
pub(super) struct Journeys<'a, 'b> {
    pub(super) document: &'a Document,
    pub(super) operations: &'b [Operation<'a>],
    /// Proofs that the requests of each operation have.
    pub(super) proofs: &'b [Vec<Proof>],
    /// Path before that of each operation.
    pub(super) prefix: &'b str,
    pub(super) options: Options,
    pub(super) examples: Examples<'a>,
    /// Names of all steps and flows.
    pub(super) names: Names,
}

/// A flow that is being written.
#[derive(Default)]
struct Journey {
    steps: Vec<Step>,
    /// Numbers of the operations of the steps.
    operations: Vec<usize>,
    /// Sources with the names under which their values are captured.
    captured: Vec<(Source, String)>,
    /// These names.
    names: CaptureNames,
}

/// Parts of a step, and the reasons against sending it.
#[derive(Default)]
struct Parts {
    about: Vec<String>,
    /// Whether a value is unknown, or comes from a step that is a comment itself.
    is_blocked: bool,
    /// Whether the last value of the path is of something that the same user has created.
    is_own: bool,
    /// Places of the steps that give values, with the names of these values.
    given: Vec<(usize, String)>,
    fields: Fields,
}

impl Journeys<'_, '_> {
    /// Returns the steps for some operations.
    pub(super) fn steps(&mut self, members: &[usize]) -> Vec<Step> {
        let mut journey = Journey::default();
        for member in members {
            self.place(*member, &mut journey, 0);
        }
        journey.steps
    }

    /// Returns the place of an operation's step in a flow, which gets the step if it lacks it.
    fn place(&mut self, number: usize, journey: &mut Journey, depth: usize) -> Option<usize> {
        if let Some(place) = journey.operations.iter().position(|known| *known == number) {
            return Some(place);
        }
        if depth > LONGEST_CHAIN {
            return None;
        }
        let operation = &self.operations[number];
        let mut parts = Parts::default();
        // A shorter one mostly repeats the name, as FastAPI's do.
        let summary = operation.summary().filter(|it| it.split_whitespace().count() > 2);
        parts.about.extend(summary.map(str::to_owned));
        let path = self.path(number, &mut parts, journey, depth);
        self.parameters(operation, &mut parts);
        if let Some(why) = harm(operation, parts.is_own) {
            parts.is_blocked = true;
            parts.about.push(why);
        }
        let name = self.names.take_title(&operation.name());
        let mut step = Step::new(name, operation.method, path);
        self.prove(number, &mut step, &mut parts);
        parts.fields.write(&mut step);
        match body::draft(self.document, operation, &mut self.examples) {
            Drafted::Nothing => {}
            Drafted::Body(value, about) => {
                step.entries.push(Entry { key: "body".to_owned(), value, about })
            }
            Drafted::Unknown(why) => {
                parts.about.push(why);
                parts.is_blocked = true;
            }
        }
        if let Some(expect) = expect(self.document, operation) {
            step.push("expect", expect);
        }
        let is_wanted = operation.is_safe() || self.options.with_writes;
        step.off = parts.is_blocked || !is_wanted;
        step.about = parts.about;
        if !step.off {
            parts
                .given
                .iter()
                .for_each(|(place, name)| captures::require(&mut journey.steps[*place], name));
        }
        journey.steps.push(step);
        journey.operations.push(number);
        Some(journey.steps.len() - 1)
    }

    /// Returns the path of an operation with a value for each parameter.
    fn path(
        &mut self,
        number: usize,
        parts: &mut Parts,
        journey: &mut Journey,
        depth: usize,
    ) -> String {
        let operation = &self.operations[number];
        let mut path = template::constant(self.prefix);
        let mut rest = operation.path;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            path += &template::constant(before);
            let value = self.captured(number, name, parts, journey, depth);
            path += &value.unwrap_or_else(|| self.known(operation, name, parts));
            rest = after;
        }
        path + &template::constant(rest)
    }

    /// Returns the placeholder of a value that another operation gives, if one does.
    fn captured(
        &mut self,
        number: usize,
        parameter: &str,
        parts: &mut Parts,
        journey: &mut Journey,
        depth: usize,
    ) -> Option<String> {
        let operation = &self.operations[number];
        let source = sources::of(
            self.document,
            self.operations,
            operation,
            parameter,
            self.options.with_writes,
        )?;
        parts.is_own = !self.operations[source.operation].is_safe() && !source.is_one_of_many();
        let place = self.place(source.operation, journey, depth + 1)?;
        parts.is_blocked |= journey.steps[place].off;
        let known = journey.captured.iter().find(|(known, _)| {
            known.operation == source.operation && known.pointer == source.pointer
        });
        let name = match known {
            Some((_, name)) => name.clone(),
            None => {
                let name = journey.names.take(parameter);
                captures::capture(&mut journey.steps[place], &name, &source);
                journey.captured.push((source, name.clone()));
                name
            }
        };
        parts.given.push((place, name.clone()));
        Some(format!("{{{{ {name} }}}}"))
    }

    /// Returns a value that the document itself gives for a part of the path. Without one, the step becomes a
    /// comment: an invented key would load only the server's 404.
    fn known(&mut self, operation: &Operation<'_>, name: &str, parts: &mut Parts) -> String {
        parts.is_own = false;
        let parameter =
            operation.parameters.iter().find(|it| it.place == "path" && it.name == name);
        let said = parameter
            .and_then(|it| self.examples.said(name, it.json))
            .as_ref()
            .and_then(template::segment);
        said.unwrap_or_else(|| {
            parts.is_blocked = true;
            parts.about.push(format!(
                "Decide: a value of {name} that exists: no response of the API gives one."
            ));
            let invented = parameter.and_then(|it| self.examples.of(name, it.json));
            invented.as_ref().and_then(template::segment).unwrap_or_else(|| "example".to_owned())
        })
    }

    /// Adds what the query, the headers and the cookies of an operation must have, and what the document has an
    /// example for.
    fn parameters(&mut self, operation: &Operation<'_>, parts: &mut Parts) {
        let mut optional = Vec::new();
        for parameter in &operation.parameters {
            if !parameter.required && !has_example(parameter) {
                if parameter.place == "query" {
                    optional.push(parameter.name);
                }
                continue;
            }
            let said = self.examples.said(parameter.name, parameter.json);
            let is_key = ["_id", "Id", "_uuid"].iter().any(|end| parameter.name.ends_with(end));
            if said.is_none() && is_key && parameter.place != "path" {
                parts.is_blocked = true;
                parts.about.push(format!("Decide: a value of {} that exists.", parameter.name));
            }
            let value = said.or_else(|| self.examples.of(parameter.name, parameter.json));
            let value = value.unwrap_or_else(|| Value::from("example"));
            let can_be_sent = match (parameter.place, template::text(&value)) {
                ("query", _) => {
                    parts.fields.set_query(parameter.name, value);
                    true
                }
                ("header", Some(text)) => parts.fields.set_header(parameter.name, &text),
                ("cookie", Some(text)) => parts.fields.set_cookie(parameter.name, &text),
                ("path", _) => true,
                _ => false,
            };
            if !can_be_sent && parameter.required {
                parts.is_blocked = true;
                parts.about.push(format!(
                    "Decide: how to send the {} {}.",
                    parameter.place, parameter.name
                ));
            }
        }
        if !optional.is_empty() {
            parts.about.push(format!("Optional in the query: {}.", optional.join(", ")));
        }
    }

    /// Adds the proofs that an operation asks for.
    fn prove(&self, number: usize, step: &mut Step, parts: &mut Parts) {
        for proof in &self.proofs[number] {
            let can_be_sent = match proof {
                Proof::Basic(auth) => {
                    step.push("auth", auth.clone());
                    true
                }
                Proof::Query(name, value) => {
                    parts.fields.set_query(name, value.as_str().into());
                    true
                }
                Proof::Header(name, value) => parts.fields.set_proof(name, value),
                Proof::Cookie(name, value) => parts.fields.set_cookie(name, value),
            };
            if !can_be_sent {
                parts.is_blocked = true;
                parts.about.push("Decide: how the request proves who sends it.".to_owned());
            }
        }
    }
}

/// Returns why a step must not be sent until a person decides so, besides that it writes.
fn harm(operation: &Operation<'_>, is_own: bool) -> Option<String> {
    let last = operation.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_account =
        ["me", "self", "account", "profile"].contains(&last) && operation.method != "post";
    let has_word =
        |words: &[&str]| words.iter().any(|it| operation.path.to_lowercase().contains(it));
    // Some APIs do it by GET.
    let is_end = has_word(&["logout", "log-out", "signout", "sign-out"]);
    let may_change = is_account || has_word(&["password", "deactivate"]);
    if is_end || (may_change && !operation.is_safe()) {
        Some("Decide: it may change or end the account or the session of the users.".to_owned())
    } else if operation.method == "delete" && !is_own {
        Some("Decide: it may delete what others have made.".to_owned())
    } else {
        None
    }
}

/// Whether the document has an example for a parameter, besides a default or an enumeration: a request
/// without these is as good.
fn has_example(parameter: &Parameter<'_>) -> bool {
    let has =
        |json: &serde_json::Value| json.get("example").is_some() || json.get("examples").is_some();
    has(parameter.json) || has(&parameter.json["schema"])
}
