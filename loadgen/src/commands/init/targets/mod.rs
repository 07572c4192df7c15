//! `loadgen init --targets`: finds the servers in a folder, tries them, and writes `loadgen.toml`.
//!
//! A command that the project states itself (`said`, `node`) comes before one that follows from its files
//! (`python`, `go`). Each file of this folder is a kind of place in which servers are found, except `folder` and
//! `environment`, which read the project, `found`, which describes a server, `trial`, which starts what was found,
//! `outcome`, which describes what became of it, and `file`, which writes the result.

mod environment;
mod file;
mod folder;
mod found;
mod go;
mod node;
mod outcome;
mod python;
mod said;
mod trial;

use std::path::{Path, PathBuf};

use self::environment::Environment;
use self::folder::Folder;
use self::found::Found;
use self::outcome::Outcome;
use super::files::{self, refuse_existing};
use crate::failure::{Exit, Failure};
use crate::lab::LabError;
use crate::lab::manifest::RESERVED;
use crate::lab::service::dropped_have_ended;
use crate::process::{on_all_cpus, on_signal};
use crate::text::say;

/// Name of the file that is written.
const FILE: &str = "loadgen.toml";

/// A server that was found, and what became of its trial.
#[derive(Debug, Clone)]
struct Server {
    found: Found,
    outcome: Outcome,
}

/// Writes `loadgen.toml` in the current folder, with the servers that its files contain. With `tries`, starts each of
/// them once.
pub(super) fn run(force: bool, tries: bool) -> Result<Exit, Failure> {
    let path = Path::new(FILE);
    let folder = Folder::read(&std::path::absolute(".").unwrap_or_else(|_| PathBuf::from(".")));
    let found = find(&folder, &Environment::of(&folder));
    let untried =
        |(found, _): &(Found, _)| Server { found: found.clone(), outcome: Outcome::Untried };
    let mut servers: Vec<Server> = found.iter().map(untried).collect();
    // The trial reads the file as a run does. An interrupted trial leaves it as it is here.
    refuse_existing(path, force)?;
    let write = |servers: &[Server]| files::write(&[(path.to_owned(), file::text(servers))]);
    write(&servers)?;
    let exit = match tries && !servers.is_empty() {
        true => try_all(folder.root(), &mut servers, &found)?,
        false => Exit::Done,
    };
    write(&servers)?;
    say(format_args!(
        "wrote loadgen.toml\n{}next, after a look at the commands:\n  \
           loadgen list      the targets\n  \
           loadgen /         start each of them, and compare their responses to GET /, or to another path",
        listed(&servers)
    ));
    Ok(exit)
}

/// Tries each server. If a command that the project states fails, tries the command that follows from its files.
fn try_all(
    folder: &Path,
    servers: &mut [Server],
    found: &[(Found, Option<Found>)],
) -> Result<Exit, Failure> {
    let stop = on_signal(|| ())?;
    let trial = async {
        try_some(folder, servers, |_| true).await?;
        let stated = servers.to_vec();
        for (server, (_, other)) in servers.iter_mut().zip(found) {
            if let (Outcome::Failed(failed), Some(other)) = (&server.outcome, other) {
                let mut other = other.clone();
                let stated = &server.found;
                other.name.clone_from(&stated.name);
                let kind = &failed.kind;
                other.notes.push(format!("the command in {} failed here: {kind}", stated.place));
                *server = Server { found: other, outcome: Outcome::Untried };
            }
        }
        // Another process may have removed the file.
        files::write(&[(folder.join(FILE), file::text(servers))])?;
        try_some(folder, servers, |server| server.outcome == Outcome::Untried).await?;
        for (server, stated) in servers.iter_mut().zip(stated) {
            if !matches!(server.outcome, Outcome::Answered(_)) {
                *server = stated;
            }
        }
        Ok::<_, Failure>(())
    };
    let runtime = on_all_cpus()?;
    runtime.block_on(async {
        let ended = tokio::select! {
            tried = trial => tried.map(|()| Exit::Done),
            () = stop.cancelled() => Ok(Exit::Interrupted),
        };
        dropped_have_ended().await;
        ended
    })
}

/// Tries the servers that `is_next` chooses, and notes what became of them.
async fn try_some(
    folder: &Path,
    servers: &mut [Server],
    is_next: impl Fn(&Server) -> bool,
) -> Result<(), LabError> {
    let (mut places, mut names) = (Vec::new(), Vec::new());
    for (place, server) in servers.iter().enumerate().filter(|(_, server)| is_next(server)) {
        places.push(place);
        names.push(server.found.name.clone());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(first) = names.first() {
        say(format_args!("starting {first} …"));
    }
    trial::try_each(folder, &names, |number, outcome| {
        servers[places[number]].outcome = outcome;
        if let Some(next) = names.get(number + 1) {
            say(format_args!("starting {next} …"));
        }
    })
    .await
}

/// Returns a line for each server, in columns.
fn listed(servers: &[Server]) -> String {
    if servers.is_empty() {
        return "found no server: replace the example\n".to_owned();
    }
    let longest = |of: fn(&Server) -> usize| servers.iter().map(of).max().unwrap_or_default();
    let names = longest(|server| server.found.name.chars().count());
    let abouts = longest(|server| server.found.about().chars().count());
    let lines = servers.iter().map(|Server { found, outcome }| {
        let outcome = match outcome {
            Outcome::Answered(status) => format!("started, GET / answered {status}"),
            Outcome::Failed(failed) => format!("a guess: {}", failed.detail),
            Outcome::Untried => "a guess: not tried".to_owned(),
        };
        format!("  {:names$}  {:abouts$}  {outcome}\n", found.name, found.about())
    });
    format!("found\n{}", lines.collect::<String>())
}

/// Finds servers. One whose command the project states has beside it the command that follows from its files, if any.
fn find(folder: &Folder, environment: &Environment) -> Vec<(Found, Option<Found>)> {
    let mut inferred = python::find(folder, environment);
    inferred.extend(go::find(folder));
    let node = node::find(folder, environment);
    let mut stated = said::find(folder, environment);
    if node.is_some() {
        // The script is in package.json.
        stated.retain(|found| !starts_script(&found.command));
    }
    stated.extend(node);
    let mut all: Vec<(Found, Option<Found>)> = Vec::new();
    for mut found in stated {
        if all.iter().any(|(other, _)| other.serves_same(&found)) {
            continue;
        }
        // A folder with one application starts that one.
        let is_only = inferred.len() == 1 && found.app.is_none();
        let same = inferred.iter().position(|other| is_only || other.serves_same(&found));
        let same = same.map(|place| inferred.remove(place));
        if let Some(same) = &same {
            found.name.clone_from(&same.name);
            found.title.clone_from(&same.title);
            found.app.clone_from(&same.app);
        }
        all.push((found, same));
    }
    inferred.retain(|found| !all.iter().any(|(other, _)| other.serves_same(found)));
    all.extend(inferred.into_iter().map(|found| (found, None)));
    give_names(&mut all);
    all
}

fn starts_script(command: &[String]) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    matches!(
        words[..],
        ["npm" | "yarn" | "pnpm" | "bun", "start", ..]
            | ["npm" | "yarn" | "pnpm" | "bun", "run", "start", ..]
    )
}

/// Makes all names valid and unique: a later server of the same name gets a number.
fn give_names(all: &mut [(Found, Option<Found>)]) {
    for place in 0..all.len() {
        let name = &all[place].0.name;
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = name.chars().map(plain).collect::<String>().trim_matches('-').to_owned();
        let name = match name.as_str() {
            "" => "web".to_owned(),
            name if RESERVED.contains(&name) => format!("my-{name}"),
            name => name.to_owned(),
        };
        let is_taken = |name: &str| all[..place].iter().any(|(other, _)| other.name == name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let unique = [name.clone()].into_iter().chain(numbered).find(|name| !is_taken(name));
        all[place].0.name = unique.unwrap_or(name);
    }
}

#[cfg(test)]
mod tests;
