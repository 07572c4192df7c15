//! Writes what follows from the code: the tables of `docs/reference/`, and the JSON Schema of scenario files for editors.
//! `make reference` runs it. With `--check`, it changes nothing, and fails if something is not as the code says: `make docs`.
//!
//! A page has a table between two comments, of which the first one names the table:
//!
//! ```text
//! <!-- table: keys [load] -->
//! | key | type | default | meaning |
//! …
//! <!-- end of table -->
//! ```

#![allow(clippy::print_stderr, reason = "a fault of a page is for the person who runs this")]

mod keys;
mod markdown;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end of table -->";

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
    let mut pages: Vec<_> =
        fs::read_dir(project.join("docs/reference"))?.collect::<Result<_, _>>()?;
    pages.sort_by_key(fs::DirEntry::file_name);
    pages.iter().for_each(|page| update(&page.path(), &with_tables));
    Ok(code)
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

/// Returns the text of a page with each table as the code says.
fn with_tables(page: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(" -->\n").ok_or("a comment does not end")?;
        let (_, after) = after.split_once(END).ok_or(format!("no end of the table {name}"))?;
        let table = table(name).ok_or(format!("there is no table {name}"))?;
        text.push_str(&format!("{before}{BEGIN}{name} -->\n{table}{END}"));
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns a table in Markdown. Its name begins with the kind of its rows.
fn table(name: &str) -> Option<String> {
    let (kind, of) = name.split_once(' ').unwrap_or((name, ""));
    match kind {
        "keys" => keys::table(of),
        _ => None,
    }
}
