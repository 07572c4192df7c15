//! `loadgen site`: shows the history of saved results, as pages that need no server.
//!
//! - `found`: the folders of results. `known`: what an earlier site keeps of them. `checks`: what speaks against a
//!   result.

mod checks;
mod found;
mod known;

use std::collections::BTreeSet;

use self::checks::objections;
use self::found::{Found, found};
use self::known::{Known, KnownResult, write};
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
    let mut known = Known::read(&args.out, args.keep)?;
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
    if args.keep {
        let is_new = |known: &KnownResult| !new.iter().any(|(new, _)| new.is_same(known));
        results.extend(known.take_rest().into_iter().filter(is_new));
    }
    // Of two folders with the same result, the first is shown.
    let mut pages = Vec::new();
    let mut taken = results.iter().map(|result| result.entry.name.clone()).collect();
    let read = new.len();
    for (mut result, page) in new {
        if results.iter().any(|known| known.is_same(&result)) {
            say(format!("left out: {} is another copy of a result", result.path.display()));
            continue;
        }
        result.entry.name = address_part(&result.entry.name, &mut taken);
        pages.push((report_path(&result.entry.name), page));
        results.push(result);
    }
    if results.is_empty() {
        let message = "none of the results can be read".to_owned();
        let help = "see above what is wrong with each";
        return Err(Failure::message(Exit::Usage, "no_results", message, help));
    }
    let settings = settings(args, &results)?;
    let entries: Vec<Entry> = results.iter().map(|result| result.entry.clone()).collect();
    pages.extend(site(&entries, &settings));
    for (path, page) in &pages {
        write(&args.out.join(path), page)?;
    }
    let count = counted(results.len() as u64, "result");
    let reports = results.iter().map(|result| report_path(&result.entry.name));
    let written = pages.into_iter().map(|(path, _)| path).chain(reports).collect();
    known.write(results, written)?;
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
    if humantime::parse_rfc3339(&entry.started).is_err() {
        let started = &entry.started;
        return Err(format!("{}: its start, {started}, is no time in UTC", found.file.display()));
    }
    Ok((KnownResult { path: found.path.clone(), version: found.version.clone(), entry }, page))
}

/// Returns the settings of the pages.
///
/// # Errors
/// If the baseline is no result, or several.
fn settings(args: &SiteArgs, results: &[KnownResult]) -> Result<SiteSettings, Failure> {
    let unknown = |message: String| {
        let help = "name the folder of one of the results";
        Failure::message(Exit::Usage, "unknown_baseline", message, help)
    };
    let named = |name: &String| {
        let is_it = |of: &&KnownResult| of.path.file_name().is_some_and(|it| *it == **name);
        match results.iter().filter(is_it).collect::<Vec<_>>()[..] {
            [one] => Ok(one.entry.name.clone()),
            [] => Err(unknown(format!("--baseline: there is no result \"{name}\""))),
            _ => Err(unknown(format!("--baseline: several results are called \"{name}\""))),
        }
    };
    let baseline = args.baseline.as_ref().map(named).transpose()?;
    let url = args.url.as_ref().map(|url| format!("{}/", url.trim_end_matches('/')));
    Ok(SiteSettings { title: args.title.clone(), url, baseline })
}

/// Says what speaks against each result.
fn check(all: &[Found]) -> Exit {
    let mut refused = 0;
    for found in all {
        let why: BTreeSet<String> = match Saved::read(&found.file) {
            Ok(saved) => objections(&saved.record),
            Err(failure) => [failure.report.to_string()].into(),
        };
        refused += usize::from(!why.is_empty());
        why.iter().for_each(|why| say(format!("{}: {why}", found.path.display())));
    }
    say(format!("{} checked, {refused} refused", counted(all.len() as u64, "result")));
    if refused == 0 { Exit::Done } else { Exit::Failed }
}
