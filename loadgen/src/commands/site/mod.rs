//! `loadgen site`: shows the history of saved results, as pages that need no server.
//!
//! - `found`: the folders of results. `known`: what an earlier site keeps of them. `checks`: what speaks against a
//!   result.

mod checks;
mod found;
mod known;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use self::checks::objections;
use self::found::{Found, found};
use self::known::{Known, KnownResult};
use crate::analysis::history::Entry;
use crate::cli::SiteArgs;
use crate::experiment::saved::{Record, Saved};
use crate::failure::{Exit, Failure};
use crate::report::Reported;
use crate::report::site::{SiteSettings, address_part, report_path, site};
use crate::text::{counted, say};

/// Writes the pages, or checks the results.
pub(super) fn run(args: &SiteArgs) -> Result<Exit, Failure> {
    let all = found(&args.folders)?;
    if args.check {
        return Ok(check(&all));
    }
    let mut known = Known::read(&args.out)?;
    let (mut results, mut new) = (Vec::new(), Vec::new());
    for found in &all {
        match known.take(found) {
            Some(result) => results.push(result),
            None => match read(found) {
                Ok(both) => new.push(both),
                Err(why) => say(format!("left out: {why}")),
            },
        }
    }
    match args.keep {
        true => results.extend(known.take_rest()),
        false => known.remove_rest(),
    }
    let read = new.len();
    let mut taken = results.iter().map(|result| result.entry.name.clone()).collect();
    for (mut result, page) in new {
        result.entry.name = address_part(&result.entry.name, &mut taken);
        write(&args.out.join(report_path(&result.entry.name)), &page)?;
        results.push(result);
    }
    let entries: Vec<Entry> = results.iter().map(|result| result.entry.clone()).collect();
    let settings = settings(args, &entries)?;
    for (path, page) in site(&entries, &settings) {
        write(&args.out.join(path), &page)?;
    }
    let count = counted(results.len() as u64, "result");
    Known::write(&args.out, results)?;
    say(format!("{count}, {read} of them new, in {}", args.out.join("index.html").display()));
    Ok(Exit::Done)
}

/// Reads a result, and returns what is kept of it, and its report.
fn read(found: &Found) -> Result<(KnownResult, String), String> {
    let saved = Saved::read(&found.file).map_err(|failure| failure.report.to_string())?;
    let name = found.name();
    let (entry, page) = match &saved.record {
        Record::Run(record) => (Entry::run(&name, record), record.page()),
        Record::Capacity(record) => (Entry::search(&name, record), record.page()),
        Record::Experiment(record) => (Entry::experiment(&name, record), record.page()),
    };
    Ok((KnownResult { path: found.path.clone(), version: found.version.clone(), entry }, page))
}

fn settings(args: &SiteArgs, entries: &[Entry]) -> Result<SiteSettings, Failure> {
    let baseline = args.baseline.as_ref().map(|name| address_part(name, &mut BTreeSet::new()));
    if let Some(name) = &baseline
        && !entries.iter().any(|entry| entry.name == *name)
    {
        let message = format!("--baseline: there is no result \"{name}\"");
        let help = "name the folder of one of the results";
        return Err(Failure::message(Exit::Usage, "unknown_baseline", message, help));
    }
    let url = args.url.as_ref().map(|url| format!("{}/", url.trim_end_matches('/')));
    Ok(SiteSettings { title: args.title.clone(), url, baseline })
}

/// Says what speaks against each result.
fn check(all: &[Found]) -> Exit {
    let mut refused = 0;
    for found in all {
        let why = match Saved::read(&found.file) {
            Ok(saved) => objections(&saved.record),
            Err(failure) => vec![failure.report.to_string()],
        };
        refused += usize::from(!why.is_empty());
        why.iter().for_each(|why| say(format!("{}: {why}", found.path.display())));
    }
    say(format!("{} checked, {refused} refused", counted(all.len() as u64, "result")));
    if refused == 0 { Exit::Done } else { Exit::Failed }
}

/// Writes a file, unless it has this text already.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    let help = "name another folder for --out";
    Failure::message(Exit::Failed, "unwritable_site", message, help)
}
