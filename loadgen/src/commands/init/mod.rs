//! `loadgen init`: writes a first scenario, with comments, and the schema with which
//! editors complete the scenario, or `loadgen.toml`, which names the user's own targets. The
//! scenario is an example, or is drafted from what the user has: see [`sources`].
//!
//! An editor finds the schema by the scenario's first line, which names a file
//! beside the scenario. A web address would not work: no address exists for
//! exactly this version, and a machine for load tests may have no access to
//! the web. The schema is loadgen's own file, and is overwritten each time.

mod documents;
mod files;
mod sources;
mod targets;

use std::path::{Path, PathBuf};

use self::files::refuse_existing;
use super::schema;
use crate::cli::InitArgs;
use crate::drafts::{Draft, RowsFile};
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
    let rows: Vec<PathBuf> =
        draft.rows.iter().map(|it| path.with_file_name(&it.file_name)).collect();
    rows.iter().try_for_each(|path| refuse_existing(path, args.force))?;
    let beside = path.with_file_name(SCHEMA);
    let mut all = vec![(path.clone(), text), (beside.clone(), schema::text())];
    all.extend(rows.iter().cloned().zip(draft.rows.iter().map(RowsFile::csv)));
    files::write(&all)?;
    let (scenario, schema) = (path.display(), beside.display());
    let rows: Vec<String> = rows.iter().map(|path| format!("{}, ", path.display())).collect();
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
