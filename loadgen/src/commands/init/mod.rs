//! `loadgen init`: writes a first scenario, with comments, and the schema with which
//! editors complete the scenario, or `loadgen.toml`, which names the user's own targets. The
//! scenario is an example, or is drafted from what the user has: see [`sources`].
//!
//! An editor finds the schema by the scenario's first line, which names a file
//! beside the scenario. A web address would not work: no address exists for
//! exactly this version, and a machine for load tests may have no access to
//! the web. The schema is loadgen's own file, and is overwritten each time.

mod documents;
mod sources;
mod targets;

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::schema;
use crate::cli::InitArgs;
use crate::drafts::Draft;
use crate::failure::{Exit, Failure};
use crate::text::{say, wrap};

/// File name of the JSON Schema, as in the first line
/// of [`SCENARIO`] and of each file in `scenarios/`.
const SCHEMA: &str = "loadgen.schema.json";

const SCENARIO: &str = include_str!("scenario.toml");

/// Writes a first scenario and the JSON Schema of scenarios, or the user's targets, and prints the next
/// steps.
pub(super) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    if args.targets {
        return targets::run(args.force, !args.no_try);
    }
    let path = scenario_path(&args.path)?;
    refuse_existing(&path, args.force)?;
    let draft = sources::draft(args, &path)?;
    let text = draft.as_ref().map_or_else(|| SCENARIO.to_owned(), Draft::text);
    let draft = draft.unwrap_or_default();
    let rows: Vec<(PathBuf, String)> =
        draft.rows.iter().map(|it| (path.with_file_name(&it.file_name), it.csv())).collect();
    // Before any of them is written.
    rows.iter().try_for_each(|(path, _)| refuse_existing(path, args.force))?;
    let beside = path.with_file_name(SCHEMA);
    let scenario = (path.clone(), text);
    let schema = (beside.clone(), schema::text());
    // Whole files, or none: a full disk costs no earlier file.
    let written = rows.iter().chain([&scenario, &schema]).map(|(path, text)| {
        temporary(path, text).map(|file| (file, path)).map_err(|error| unwritten(path, &error))
    });
    for (file, path) in written.collect::<Result<Vec<_>, _>>()? {
        file.persist(path).map_err(|error| unwritten(path, &error.error))?;
    }
    let (scenario, schema) = (path.display(), beside.display());
    let rows: Vec<String> = rows.iter().map(|(path, _)| format!("{}, ", path.display())).collect();
    let notes: Vec<String> = draft.notes.iter().map(|note| wrap("", note)).collect();
    let (next, url) = match &draft.url {
        Some(url) => ("next:", url.as_str()),
        None => ("next, with the URL of your server:", "http://127.0.0.1:8000"),
    };
    let word = shell_word(&path.to_string_lossy());
    let (check, run) = (
        format!("loadgen check --try {url} {word}"),
        format!("loadgen --scenario {word} --url {url}"),
    );
    let width = check.len().max(run.len());
    let rows = rows.concat();
    say(format_args!(
        "wrote {scenario}, {rows}and {schema}, with which editors complete and check the scenario\n\
         {}{next}\n  \
           {check:width$}  send each step once\n  \
           {run:width$}  send the load",
        notes.concat()
    ));
    Ok(Exit::Done)
}

/// Returns the requested path, with `.toml` added if the path has no extension. By this extension,
/// `--scenario` recognizes a path.
fn scenario_path(asked: &Path) -> Result<PathBuf, Failure> {
    let wrong = |what: &str| {
        let message = format!("{} {what}", asked.display());
        let help = "name a file, such as my-scenario.toml";
        Err(Failure::message(Exit::Usage, "bad_path", message, help))
    };
    match asked.extension() {
        _ if asked.is_dir() => wrong("is a folder"),
        Some(end) if end == "toml" => Ok(asked.to_owned()),
        Some(_) => wrong("does not end in .toml"),
        None if asked.file_name().is_none() => wrong("names no file"),
        None => Ok(asked.with_extension("toml")),
    }
}

/// Returns a path as a shell reads it back, also one that begins with a hyphen.
fn shell_word(path: &str) -> String {
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "./_-+,:@".contains(c));
    if is_plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    match path.exists() && !force {
        true => Err(unwritten(path, &io::ErrorKind::AlreadyExists.into())),
        false => Ok(()),
    }
}

/// Writes a text beside the place to which it will be moved, readable by whom the user lets read files.
fn temporary(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file() && !it.is_symlink()) {
        return Err(io::Error::other("it is no regular file"));
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".loadgen-").permissions(Permissions::from_mode(0o666));
    // Without the name of the temporary file, which tells nothing.
    let mut file = builder.tempfile_in(folder).map_err(|error| {
        let inner = error.get_ref().and_then(std::error::Error::source);
        inner.map_or_else(|| error.kind().into(), |it| io::Error::new(error.kind(), it.to_string()))
    })?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn write(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.write(true).open(path)?.write_all(text.as_bytes())
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    if error.kind() == io::ErrorKind::AlreadyExists {
        let message = format!("{path} already exists");
        let help = "choose another name, or overwrite the file with --force";
        return Failure::message(Exit::Usage, "file_exists", message, help);
    }
    let message = format!("cannot write {path}: {error}");
    let help =
        "the folder must exist and have room, and you must be allowed to write to the folder";
    Failure::message(Exit::Failed, "unwritable_file", message, help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn check(text: &str) {
        parse("scenario", "scenario.toml", text)
            .unwrap_or_else(|error| panic!("{text}\n{:?}", miette::Report::new(error)));
    }

    fn is_option(line: &str) -> bool {
        line.starts_with('#') && !line.starts_with("# ") && !line.starts_with("#:") && line != "#"
    }

    /// Returns the scenario without the comment signs before
    /// the options in lines whose number is `wanted`.
    fn with_options(wanted: impl Fn(usize) -> bool) -> String {
        let lines = SCENARIO.lines().enumerate().map(|(number, line)| {
            let used = if is_option(line) && wanted(number) { &line[1..] } else { line };
            format!("{used}\n")
        });
        lines.collect()
    }

    #[test]
    fn each_option_can_be_used_alone_and_with_all_others() {
        check(SCENARIO);
        check(&with_options(|_| true));
        let lines: Vec<&str> = SCENARIO.lines().collect();
        let mut blocks = 0;
        let mut number = 0;
        while number < lines.len() {
            let length = lines[number..].iter().take_while(|line| is_option(line)).count();
            if length > 0 {
                check(&with_options(|other| (number..number + length).contains(&other)));
                blocks += 1;
            }
            number += length.max(1);
        }
        assert!(blocks >= 6, "{blocks}");
    }

    #[test]
    fn the_first_line_names_the_schema() {
        assert_eq!(SCENARIO.lines().next(), Some("#:schema ./loadgen.schema.json"));
        assert!(SCENARIO.contains(SCHEMA));
    }
}
