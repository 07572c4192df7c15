//! Drafts of scenarios from what the user has.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use super::documents::{self, Document};
use crate::cli::InitArgs;
use crate::drafts::{Draft, DraftError, access_log, openapi};
use crate::failure::{Exit, Failure};
use crate::scenario::load;

/// Drafts a scenario from the source that the command line names, if it names one.
pub(super) fn draft(args: &InitArgs) -> Result<Option<Draft>, Failure> {
    let mut draft = if let Some(place) = &args.openapi {
        of_api(place, args.with_writes)?
    } else if let Some(path) = &args.access_log {
        of_log(path, &access_log::Options { speed: args.speed, duration: args.duration })?
    } else {
        return Ok(None);
    };
    let variables = variables(&draft)?;
    if !variables.is_empty() {
        let which = if variables.len() == 1 { "variable" } else { "variables" };
        draft.notes.push(format!("set the environment {which} {}", variables.join(", ")));
    }
    Ok(Some(draft))
}

/// Returns the environment variables that a draft needs. What is written passes `loadgen check`, whatever a
/// source has in it: the draft is read as the scenario that it becomes.
fn variables(draft: &Draft) -> Result<Vec<String>, Failure> {
    let failed = |why: String| {
        let message = format!("the draft is no valid scenario: {why}");
        let help = "this is a fault of loadgen: please report it with the source";
        Failure::message(Exit::Failed, "bad_draft", message, help)
    };
    let written = || -> io::Result<(tempfile::TempDir, std::path::PathBuf)> {
        let folder = tempfile::tempdir()?;
        for file in &draft.rows {
            fs::write(folder.path().join(&file.file_name), file.csv())?;
        }
        let path = folder.path().join("scenario.toml");
        fs::write(&path, draft.text())?;
        Ok((folder, path))
    };
    let (_folder, path) = written().map_err(|error| failed(error.to_string()))?;
    let scenario = load(&path).map_err(|error| failed(error.to_string()))?;
    Ok(scenario.variables().into_iter().map(str::to_owned).collect())
}

fn of_log(path: &Path, options: &access_log::Options) -> Result<Draft, Failure> {
    let (place, draft) = if path == Path::new("-") {
        ("standard input".to_owned(), access_log::draft(io::stdin().lock(), options))
    } else {
        let place = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            let message = format!("cannot read the access log {place}: {error}");
            Failure::message(Exit::Usage, "bad_source", message, "name a file that you may read")
        })?;
        (place, access_log::draft(BufReader::new(file), options))
    };
    draft.map_err(|error| undrafted(&place, &error))
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
