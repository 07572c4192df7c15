//! Writes what follows from the code: tables and sections of `docs/reference/`, the JSON Schema of scenario files for
//! editors, and the options of the Python package. `make reference` runs it. With `--check`, it changes nothing, and fails if something is not as the code
//! says: `make docs`.
//!
//! A page has a table, or sections, between two comments, of which the first one names the table or the sections:
//!
//! ```text
//! <!-- table: keys [load] -->
//! | key | type | default | meaning |
//! …
//! <!-- end of table -->
//!
//! <!-- sections: verdicts Logs -->
//! …
//! <!-- end of sections -->
//! ```

#![allow(clippy::print_stderr, reason = "a fault of a page is for the person who runs this")]

mod fields;
mod keys;
mod markdown;
mod metrics;
mod options;
mod python;
mod verdicts;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn main() -> io::Result<ExitCode> {
    let checks = env::args().nth(1).is_some_and(|option| option == "--check");
    let project = Path::new(PROJECT);
    let mut code = ExitCode::SUCCESS;
    let mut update = |path: &Path, now: &dyn Fn(&str) -> Result<String, String>| {
        if let Err(fault) = write(path, now, checks) {
            eprintln!("{}: {fault}", path.strip_prefix(project).unwrap_or(path).display());
            code = ExitCode::FAILURE;
        }
    };
    update(&project.join("scenarios/loadgen.schema.json"), &|_| {
        Ok(format!("{:#}\n", loadgen::scenario::json_schema()))
    });
    update(&project.join("python/loadgen/_options.py"), &|_| Ok(python::options()));
    let mut pages: Vec<_> =
        fs::read_dir(project.join("docs/reference"))?.collect::<Result<_, _>>()?;
    pages.sort_by_key(fs::DirEntry::file_name);
    let blocks = |page: &str| with(&with(page, "table", table)?, "sections", sections);
    pages.iter().for_each(|page| update(&page.path(), &blocks));
    for (page, marker) in required() {
        if !fs::read_to_string(project.join("docs/reference").join(page))?.contains(&marker) {
            eprintln!("docs/reference/{page}: lacks {marker}");
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Returns the markers that pages must have, so that nothing that the code declares is left out.
fn required() -> Vec<(&'static str, String)> {
    let keys = loadgen::scenario::key_tables()
        .map(|name| ("scenario-file.md", format!("<!-- table: keys {name} -->")));
    let groups = verdicts::groups()
        .map(|group| ("verdicts.md", format!("<!-- sections: verdicts {group} -->")));
    let documents = fields::DOCUMENTS
        .map(|(name, _)| ("result-document.md", format!("<!-- table: fields {name}")));
    keys.chain(groups).chain(documents).collect()
}

/// Writes the text that `now` makes of a file's text, or only checks whether it differs. Fails with the reason.
fn write(
    path: &Path,
    now: &dyn Fn(&str) -> Result<String, String>,
    checks: bool,
) -> Result<(), String> {
    let reason = |error: io::Error| error.to_string();
    let old = fs::read_to_string(path).map_err(reason)?;
    let new = now(&old)?;
    match new == old {
        true => Ok(()),
        false if checks => Err("not as the code says: run make reference".to_owned()),
        false => fs::write(path, new).map_err(reason),
    }
}

/// Returns the text of a page with each `block`, such as a table, as `content` says for its name.
fn with(
    page: &str,
    block: &str,
    content: fn(&str, &str) -> Result<String, String>,
) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {block}: "), format!("<!-- end of {block} -->"));
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(&begin) {
        let (name, after) = after.split_once(" -->\n").ok_or("a comment does not end")?;
        let (_, after) = after.split_once(&end).ok_or(format!("no end of the {block} {name}"))?;
        let content = content(name, page)?;
        text.push_str(&format!("{before}{begin}{name} -->\n{content}{end}"));
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns a table of a page in Markdown. Its name begins with the kind of its rows.
fn table(name: &str, page: &str) -> Result<String, String> {
    let (kind, of) = name.split_once(' ').unwrap_or((name, ""));
    let table = match kind {
        "fields" => return fields::fields(of, page),
        "keys" => keys::table(of),
        "options" => options::options(of),
        "subcommands" => options::subcommands(of),
        "metrics" => Some(metrics::table()),
        "values" => return fields::values(of),
        "verdicts" => Some(verdicts::table()),
        _ => None,
    };
    table.ok_or_else(|| format!("there is no table {name}"))
}

/// Returns sections in Markdown. Their name begins with their kind.
fn sections(name: &str, _: &str) -> Result<String, String> {
    let sections = match name.split_once(' ') {
        Some(("verdicts", group)) => verdicts::sections(group),
        _ => None,
    };
    sections.ok_or_else(|| format!("there are no sections {name}"))
}
