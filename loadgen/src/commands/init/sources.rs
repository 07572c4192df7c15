//! Drafts of scenarios from what the user has.

use super::documents::{self, Document};
use crate::cli::InitArgs;
use crate::drafts::{Draft, DraftError, openapi};
use crate::failure::{Exit, Failure};
use crate::scenario::parse;

/// Drafts a scenario from the source that the command line names, if it names one.
pub(super) fn draft(args: &InitArgs) -> Result<Option<Draft>, Failure> {
    let mut draft = if let Some(place) = &args.openapi {
        of_api(place, args.with_writes)?
    } else {
        return Ok(None);
    };
    // What is written passes `loadgen check`, whatever a source has in it.
    let text = draft.text();
    let scenario = parse("scenario", "scenario.toml", &text).map_err(|error| {
        let message = format!("the draft is no valid scenario: {error}");
        let help = "this is a fault of loadgen: please report it with the source";
        Failure::message(Exit::Failed, "bad_draft", message, help)
    })?;
    let variables: Vec<&str> = scenario.variables().into_iter().collect();
    if !variables.is_empty() {
        let which = if variables.len() == 1 { "variable" } else { "variables" };
        draft.notes.push(format!("set the environment {which} {}", variables.join(", ")));
    }
    Ok(Some(draft))
}

fn of_api(place: &str, with_writes: bool) -> Result<Draft, Failure> {
    let Document { text, place, server } = documents::read(place)?;
    let options = openapi::Options { with_writes };
    let mut draft = openapi::draft(&text, options).map_err(|error| undrafted(&place, &error))?;
    draft.notes.insert(0, format!("read {place}"));
    draft.url = server;
    Ok(draft)
}

fn undrafted(place: &str, error: &DraftError) -> Failure {
    Failure::message(Exit::Usage, "bad_source", format!("{place}: {error}"), &error.help)
}
