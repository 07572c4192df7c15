//! `loadgen lab up|build|down|status|doctor`: runs the targets and backends alone, for development.

mod build;
mod doctor;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use comfy_table::{Table, presets};

use super::options::runtime;
use crate::cli::{LabCommand, LabUpArgs, ListFormat};
use crate::failure::{Exit, Failure};
use crate::lab::service::dropped_have_ended;
use crate::lab::up::{self, State, Urls, Wanted};
use crate::lab::{Home, LabError, Manifest, Progress, Runtime};
use crate::process::{on_all_cpus, write_result};
use crate::scenario::Backend;
use crate::text::say;

/// Runs a subcommand of `loadgen lab`.
pub(super) fn run(command: LabCommand) -> Result<Exit, Failure> {
    let runtime = on_all_cpus()?;
    let result = runtime.block_on(async {
        let done = dispatch(command).await;
        dropped_have_ended().await;
        done
    });
    // Does not wait for a thread that still reads standard input.
    runtime.shutdown_background();
    result
}

async fn dispatch(command: LabCommand) -> Result<Exit, Failure> {
    let home = Home::find()?;
    match command {
        LabCommand::Up(args) if args.detach => {
            let same = std::env::args_os().skip(1).filter(|word| word != "--detach");
            up::detach(&home, same, |urls| print(urls, args.format)).await?;
        }
        LabCommand::Up(args) => {
            let (format, wanted) = (args.format, wanted(args, &home)?);
            let progress: Progress = Arc::new(|what| say(what));
            up::up(home, wanted, progress, |urls| print(urls, format)).await?;
        }
        LabCommand::Build(args) => build::run(home, &args).await?,
        LabCommand::Down => match up::down(&home).await? {
            true => say("the lab is down"),
            false => say("no lab is up"),
        },
        LabCommand::Status => status(&home).await?,
        LabCommand::Doctor => return Ok(doctor::run(&home).await),
    }
    Ok(Exit::Done)
}

fn wanted(args: LabUpArgs, home: &Home) -> Result<Wanted, Failure> {
    let backends = match args.backends.as_slice() {
        [] if home.is_own() => {
            let manifest = Manifest::of(home)?;
            let names = match args.targets.as_slice() {
                [] => manifest.default_targets(),
                named => named.to_vec(),
            };
            let asks = |backend: &Backend| {
                let targets = names.iter().filter_map(|name| manifest.target(name).ok());
                targets.into_iter().any(|target| target.backends().contains(backend))
            };
            Backend::ALL.into_iter().filter(asks).collect()
        }
        [] => vec![Backend::Redis, Backend::Postgres],
        named => named.iter().copied().map(Backend::from).collect(),
    };
    let LabUpArgs { targets, port, server_workers, runtime, .. } = args;
    let runtime = runtime::runtime(runtime, runtime::K8S_RUN)?;
    if runtime != Runtime::Process {
        each_once(&Manifest::of(home)?, &targets)?;
    }
    Ok(Wanted { targets, backends, port, server_workers, runtime })
}

/// Checks that no two targets need the same upstream and that no target is also an upstream: a
/// project of podman-compose has one container of each target.
fn each_once(manifest: &Manifest, names: &[String]) -> Result<(), Failure> {
    let mut users: BTreeMap<&str, &str> = BTreeMap::new();
    for name in names {
        for target in manifest.with_upstreams(name)? {
            let Some(other) = users.insert(&target.name, name) else { continue };
            let message = match other == name {
                true => format!("target \"{name}\" is given twice"),
                false => format!("{other} and {name} both need a container of {}", target.name),
            };
            let help = "start only one of them, or leave out --runtime podman";
            return Err(Failure::message(Exit::Usage, "named_twice", message, help));
        }
    }
    Ok(())
}

async fn status(home: &Home) -> Result<(), LabError> {
    let urls = match up::find(home)? {
        None => {
            say("no lab is up");
            return Ok(());
        }
        Some(State { urls: None, .. }) => {
            say("the lab is starting");
            return Ok(());
        }
        Some(State { urls: Some(urls), .. }) => urls,
    };
    let mut table = table(&["service", "url", "health"]);
    for (name, url, found) in up::health(&urls, &Manifest::of(home)?).await? {
        let found = found.err().unwrap_or_else(|| "ok".to_owned());
        table.add_row([name, &without_password(url), &found]);
    }
    show(&table.to_string());
    Ok(())
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        _ => url.to_owned(),
    }
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// Prints the URLs of the lab's services. Ignores errors:
/// the lab stays up even if standard output is closed.
fn print(urls: &Urls, format: ListFormat) {
    let text = match format {
        ListFormat::Json => serde_json::to_string(urls).unwrap_or_default(),
        ListFormat::Table => {
            let mut table = table(&["service", "url"]);
            for (name, url) in urls.targets.iter().chain(&urls.backends) {
                table.add_row([name, url]);
            }
            table.to_string()
        }
    };
    show(&text);
}

/// Prints a text. Ignores errors: without a reader, the text is not needed.
fn show(text: &str) {
    let _ = write_result(&mut io::stdout(), &format!("{text}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_container_of_a_lab_is_needed_once() {
        let manifest = Manifest::of(&Home::find().unwrap()).unwrap();
        let said = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            each_once(&manifest, &names).map_err(|failure| failure.report.to_string())
        };
        assert_eq!(said(&["caddy", "echo", "sanic"]), Ok(()));
        let both = said(&["caddy", "nginx"]).unwrap_err();
        assert_eq!(both, "caddy and nginx both need a container of auth");
        let upstream = said(&["caddy", "flask"]).unwrap_err();
        assert_eq!(upstream, "caddy and flask both need a container of flask");
        assert_eq!(said(&["flask", "flask"]).unwrap_err(), "target \"flask\" is given twice");
    }
}
