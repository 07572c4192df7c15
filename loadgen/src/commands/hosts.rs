//! `loadgen hosts check`: looks at hosts before they send load. `loadgen host-report` (hidden) answers it there.

use std::io::{self, BufRead as _};
use std::time::Duration;

use serde_json::{Value, json};

use super::options::hosts::hosts;
use crate::cli::{HostsCheckArgs, HostsCommand, ListFormat};
use crate::cluster::{CheckedHost, HostReport, WorkerHost, check_hosts, clock_line};
use crate::engine::{NullAnswer, NullServer, Plan, RoundControl, Share, run_alone};
use crate::experiment::system_limits::raise_open_files;
use crate::failure::{Exit, Failure};
use crate::lab::local_ports;
use crate::measure::{Counts, Phase};
use crate::process::{on_all_cpus, print};
use crate::scenario::{Scenario, parse_to_run, process_environment};
use crate::text::{count, lay_out, paragraphs, rate, say};

/// Load with which one worker finds its highest rate: one request from many users, to a server that does nothing else.
const REQUEST: &str = "[load]\nusers = 50\nduration = \"1s\"\n[[step]]\nget = \"/\"\n";

const LEGEND: &str = "files: open files of a worker; ports: for connections to one server; clock: ahead of this \
    host's, which changes nothing; requests/s: of one worker, to a server in its own process";

const WARMUP: Duration = Duration::from_millis(200);

/// Runs a subcommand of `hosts`.
pub(super) fn run(command: &HostsCommand) -> Result<Exit, Failure> {
    let HostsCommand::Check(args) = command;
    on_all_cpus()?.block_on(check(args))
}

async fn check(args: &HostsCheckArgs) -> Result<Exit, Failure> {
    let asked = hosts("", &args.hosts)?;
    let checked = check_hosts(&asked, say).await;
    let checked = checked.map_err(Failure::with(Exit::Failed))?;
    match args.format {
        ListFormat::Table => print(&table(&checked))?,
        ListFormat::Json => {
            print(&format!("{}\n", Value::from_iter(checked.iter().map(document))))?
        }
    }
    let is_usable = checked.iter().all(|(_, said)| said.is_ok());
    Ok(if is_usable { Exit::Done } else { Exit::Failed })
}

/// A host, with what it said, or why it cannot be used.
type Checked = (WorkerHost, Result<CheckedHost, String>);

fn document((host, said): &Checked) -> Value {
    let (name, workers) = (&host.name, host.workers);
    match said {
        Ok(CheckedHost { report, round_trip, clock_ahead_ms }) => json!({
            "host": name, "workers": workers, "error": null, "report": report,
            "round_trip_ms": round_trip.as_secs_f64() * 1e3, "clock_ahead_ms": clock_ahead_ms,
        }),
        Err(why) => json!({ "host": name, "workers": workers, "error": why }),
    }
}

fn table(checked: &[Checked]) -> String {
    let header =
        ["host", "CPUs", "workers", "files", "ports", "RTT, ms", "clock, ms", "requests/s"];
    let row = |(host, said): &Checked| {
        let CheckedHost { report, round_trip, clock_ahead_ms } = said.as_ref().ok()?;
        Some(vec![
            host.name.clone(),
            report.cpus.to_string(),
            host.workers.to_string(),
            count(report.open_files),
            report.local_ports.map_or("–".to_owned(), |ports| count(ports.into())),
            format!("{:.1}", round_trip.as_secs_f64() * 1e3),
            format!("{clock_ahead_ms:+.1}"),
            report.rate_per_s.map_or("–".to_owned(), rate),
        ])
    };
    let rows: Vec<_> = checked.iter().filter_map(row).collect();
    let notes = checked.iter().filter_map(|(host, said)| match said {
        Err(why) => Some(format!("{host}: cannot be used: {why}")),
        Ok(CheckedHost { report, .. }) => (host.workers as usize > report.cpus)
            .then(|| format!("{host}: {} workers share {} CPUs", host.workers, report.cpus)),
    });
    let legend = (!rows.is_empty()).then(|| LEGEND.to_owned());
    let sentences: Vec<String> = legend.into_iter().chain(notes).collect();
    let table = if rows.is_empty() { String::new() } else { lay_out(&header, &rows) + "\n" };
    table + &paragraphs(&sentences)
}

/// Says what this host has: a line with its clock for each line of standard input, and a report at the end.
pub(super) fn report() -> Result<Exit, Failure> {
    // Fails if nobody listens any more.
    let tell = |line: String| print(&format!("{line}\n"));
    for _asked in io::stdin().lock().lines().map_while(Result::ok) {
        tell(clock_line())?;
    }
    let ports = local_ports().map(|ports| ports.end.saturating_sub(ports.start));
    let report = HostReport {
        name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        open_files: raise_open_files(),
        local_ports: ports,
        rate_per_s: on_all_cpus()?.block_on(most()),
    };
    tell(report.line())?;
    Ok(Exit::Done)
}

/// Returns the requests/s that one worker sends at most; `None` if that could not be measured.
async fn most() -> Option<f64> {
    let answer = NullAnswer { status: 200, ..NullAnswer::default() };
    let server = NullServer::start(1, &[answer], || {}).ok()?;
    let scenario: Scenario =
        parse_to_run("check", "the check", REQUEST, &process_environment).ok()?;
    let plan = Plan {
        scenario,
        base_url: server.url.clone(),
        warmup: WARMUP,
        seed: 1,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    };
    let stop = tokio_util::sync::CancellationToken::new();
    let results = run_alone(plan, RoundControl::from(stop), |_, _| {}).await.ok()?;
    let hold = results.series.phase(Phase::Hold);
    let answered: u64 = hold.iter().map(|counts: &Counts| counts.answered.len()).sum();
    (answered > 0).then(|| answered as f64 / results.held().as_secs_f64())
}
