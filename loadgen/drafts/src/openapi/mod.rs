//! A scenario from the description of an API (OpenAPI 3.0 and 3.1).
//!
//! Each operation becomes a step, and the operations of a tag a flow. Values come from the examples,
//! defaults and schemas of the document, and keys from the responses of other operations. What may change
//! data, and what needs a value that nothing in the document gives, is written as a comment.

mod body;
mod captures;
mod document;
mod example;
mod expected;
mod fields;
mod journey;
mod pattern;
mod security;
mod sources;
mod template;

use loadgen_scenario::ITERATION;
use loadgen_text::counted;
use url::Url;

use self::document::{Document, Operation};
use self::example::Examples;
use self::journey::Journeys;
use self::security::{Proof, Security};
use crate::draft::usual_load;
use crate::names::Names;
use crate::{Draft, DraftError, Flow, Step};

/// Options of a draft from the description of an API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether steps that may change data are sent, or left as comments.
    pub with_writes: bool,
}

/// Most operations of a draft.
const MOST: usize = 2_000;

/// Drafts a scenario from a document in JSON or YAML.
///
/// # Errors
/// If the text is no document of OpenAPI 3, or none of its operations can be sent without a decision.
pub fn draft(document: &str, options: Options) -> Result<Draft, DraftError> {
    let document = Document::read(document)?;
    let mut operations = document.operations();
    let described = operations.len();
    operations.truncate(MOST);
    if operations.is_empty() {
        let help =
            "the document must have `paths` with at least one operation that is not deprecated";
        return Err(DraftError::new("the document describes no operation", help));
    }
    let prefix = prefix(&document);
    let mut examples = Examples::new(&document);
    let mut security = Security::new(&document, &operations, &prefix);
    let proofs: Vec<Vec<Proof>> =
        operations.iter().map(|it| security.of(it, &mut examples)).collect();
    let logins = security.logins;
    let is_login = |it: &Operation<'_>| {
        let path = format!("{prefix}{}", it.path);
        it.method == "post"
            && logins.iter().any(|step| step.get("post") == Some(&path.as_str().into()))
    };
    let groups = groups(&operations, is_login);
    let mut journeys = Journeys {
        document: &document,
        operations: &operations,
        proofs: &proofs,
        prefix: &prefix,
        options,
        examples,
        names: Names::default(),
    };
    // Results name all flows together so.
    journeys.names.take_title(ITERATION);
    logins.iter().for_each(|step| drop(journeys.names.take_title(&step.name)));
    let mut flows: Vec<Flow> = Vec::new();
    for (group, members) in groups {
        let name = journeys.names.take_title(&group);
        let steps = journeys.steps(&members);
        flows.push(Flow { name, weight: 1, about: Vec::new(), steps });
    }
    let steps = || flows.iter().flat_map(|flow| &flow.steps);
    let (all, sent) = (steps().count(), steps().filter(|step| !step.off).count());
    if sent == 0 {
        let help = if options.with_writes {
            "give an example in the document for each value that no response has"
        } else {
            "keep the steps that may change data with --with-writes, and give an example in the document for \
             each value that no response has"
        };
        let message = format!(
            "none of the {all} operations can be sent as it is: they may change data, or need a value that \
             the document does not give"
        );
        return Err(DraftError::new(message, help));
    }
    let is_safe = |step: &&Step| ["get", "head", "options"].iter().any(|it| step.get(it).is_some());
    let writes =
        options.with_writes.then(|| sent - steps().filter(|it| !it.off).filter(is_safe).count());
    let in_flows = flows.iter().filter(|it| it.steps.iter().any(|step| !step.off)).count();
    let mut all_notes = vec![notes(all, sent, in_flows)];
    if described > MOST {
        all_notes.push(format!("only the first {MOST} of {described} operations are in the draft"));
    }
    let foreign = document.foreign_references();
    if foreign > 0 {
        all_notes.push(format!(
            "{foreign} references to other files were not followed: bundle the document first, such as with \
             `npx @redocly/cli bundle`"
        ));
    }
    Ok(Draft {
        about: about(document.title(), writes, flows.len()),
        description: format!("Requests of {}", document.title()),
        load: usual_load(),
        notes: all_notes,
        start: logins,
        flows,
        ..Draft::default()
    })
}

/// Returns the operations by their groups, in the order of their paths. What deletes comes last, the deepest
/// path first: the steps before still need what it deletes.
fn groups(
    operations: &[Operation<'_>],
    is_login: impl Fn(&Operation<'_>) -> bool,
) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (number, operation) in operations.iter().enumerate().filter(|(_, it)| !is_login(it)) {
        let name = operation.group();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(number),
            None => groups.push((name, vec![number])),
        }
    }
    for (_, members) in &mut groups {
        let (mut deleting, other): (Vec<usize>, Vec<usize>) =
            members.iter().partition(|number| operations[**number].method == "delete");
        deleting.reverse();
        *members = other.into_iter().chain(deleting).collect();
    }
    groups
}

/// Returns the path of the first server, without a slash at its end: paths of operations follow it.
fn prefix(document: &Document) -> String {
    let server = document.server().unwrap_or_default();
    let base = Url::parse("http://host/").ok();
    let url = base.and_then(|base| base.join(&server).ok());
    url.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default()
}

/// Returns the comments at the top. `writes` is the number of steps that write, if these are sent.
fn about(title: &str, writes: Option<usize>, flows: usize) -> Vec<String> {
    let mut about = vec![format!("Written from the OpenAPI document of {title}.")];
    match writes {
        Some(0) => {}
        Some(_) => about.push(
            "Some steps change data: send them to a server that may be filled and emptied.".to_owned(),
        ),
        None => about.push(
            "Steps that may change data are comments: remove the # before each of their lines to send them, \
             or write the file with --with-writes."
                .to_owned(),
        ),
    }
    if flows > 1 {
        about.push(
            "Each iteration takes one flow, each as often as any other: give flows a `weight` as your users \
             take them, and users a `think_time` in [load]."
                .to_owned(),
        );
    }
    about
}

fn notes(all: usize, sent: usize, flows: usize) -> String {
    let in_flows = if flows > 1 { format!(" in {flows} flows") } else { String::new() };
    let comments = match all - sent {
        0 => String::new(),
        rest => format!("; {rest} more as comments, with what to decide"),
    };
    format!("{}{in_flows}{comments}", counted(sent as u64, "step"))
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
