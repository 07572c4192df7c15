//! Drafts of scenarios from what the user has.

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::documents::{self, Document};
use crate::cli::InitArgs;
use crate::drafts::{Draft, DraftError, access_log, curl, har, openapi};
use crate::failure::{Exit, Failure};
use crate::scenario::{parse, read_text};

/// Largest recording, in bytes.
const LARGEST_RECORDING: u64 = 512 << 20;

/// Largest text with curl commands, in bytes.
const LARGEST_COMMAND: u64 = 16 << 20;

/// Drafts a scenario from the source that the command line names, if it names one. It will be written to `path`.
pub(super) fn draft(args: &InitArgs, path: &Path) -> Result<Option<Draft>, Failure> {
    let mut draft = if !args.har.is_empty() {
        of_recordings(&args.har, args.with_static)?
    } else if let Some(command) = &args.curl {
        of_command(command)?
    } else if let Some(place) = &args.openapi {
        of_api(place, args.with_writes)?
    } else if let Some(path) = &args.access_log {
        of_log(path, &access_log::Options { speed: args.speed, duration: args.duration })?
    } else {
        return Ok(None);
    };
    // A source must not choose a name that the user may have given to a file of their own.
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    draft.rows.iter_mut().for_each(|file| file.file_name = format!("{stem}-{}", file.file_name));
    let variables = variables(&draft, path)?;
    match variables.as_slice() {
        [] => {}
        [only] => draft.notes.push(format!("set the environment variable {only}")),
        several => {
            draft.notes.push(format!("set the environment variables {}", several.join(", ")));
        }
    }
    Ok(Some(draft))
}

/// Returns the environment variables that a draft needs. What is written passes `loadgen check`, whatever a
/// source has in it: the draft is read as the scenario that it becomes.
fn variables(draft: &Draft, path: &Path) -> Result<Vec<String>, Failure> {
    let text = draft.text();
    let scenario = if draft.rows.is_empty() {
        // With the files that it names, relative to its own place.
        parse("draft", &path.to_string_lossy(), &text)
    } else {
        let folder = beside(draft).map_err(|error| unchecked(&error))?;
        parse("draft", &folder.path().join("draft.toml").to_string_lossy(), &text)
    };
    let scenario = scenario.map_err(Failure::with(Exit::Usage))?;
    Ok(scenario.variables().into_iter().map(str::to_owned).collect())
}

/// Returns a folder with the files of rows of a draft.
fn beside(draft: &Draft) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for file in &draft.rows {
        fs::write(folder.path().join(&file.file_name), file.csv())?;
    }
    Ok(folder)
}

fn unchecked(error: &io::Error) -> Failure {
    let message = format!("cannot write a temporary file: {error}");
    let help = "make room in the folder for temporary files, or name another one with TMPDIR";
    Failure::message(Exit::Failed, "unwritable_file", message, help)
}

fn of_recordings(paths: &[PathBuf], with_static: bool) -> Result<Draft, Failure> {
    let read = |path: &PathBuf| {
        let place = path.display().to_string();
        match read_text(LARGEST_RECORDING, path) {
            Ok(text) => Ok((place, text)),
            Err(error) => {
                let message = format!("cannot read the recording {place}: {error}");
                let help = "name a HAR file, which the developer tools of a browser save in their \
                            network tab";
                Err(Failure::message(Exit::Usage, "bad_source", message, help))
            }
        }
    };
    let recordings = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    har::draft(&recordings, har::Options { with_static }).map_err(|error| {
        Failure::message(Exit::Usage, "bad_source", error.to_string(), &error.help)
    })
}

fn of_command(command: &str) -> Result<Draft, Failure> {
    let text = match command {
        "-" => io::read_to_string(io::stdin().take(LARGEST_COMMAND)).map_err(|error| {
            let message = format!("cannot read the command from standard input: {error}");
            Failure::message(Exit::Usage, "bad_source", message, "pipe a curl command to loadgen")
        })?,
        command => command.to_owned(),
    };
    curl::draft(&text).map_err(|error| undrafted("the curl command", &error))
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
