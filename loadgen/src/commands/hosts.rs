//! `loadgen hosts check`: looks at hosts before they send load. `loadgen host-report` (hidden) answers it there.

use miette::Diagnostic as _;
use serde_json::{Value, json};

use super::options::hosts::hosts;
use crate::analysis::verdicts::is_disturbed;
use crate::cli::{HostsCheckArgs, HostsCommand, ListFormat};
use crate::cluster::{CheckedHost, ClusterError, HostFault, HostShares, WorkerHost, check_hosts};
use crate::engine::Share;
use crate::experiment::host_limits::{HostLimits, Lack};
use crate::failure::{Exit, Failure};
use crate::process::{on_all_cpus, print};
use crate::text::{count, lay_out, paragraphs, rate, say};

const LEGEND: &str = "files: open files of a worker; ports: for connections to one server; clock: ahead of this \
    host's, which changes nothing; requests/s: of all workers of the host, to a server on its own loopback \
    interface, which shares its CPUs: alone, they send more. A network, TLS, or a scenario with more to do allow fewer";

/// Runs a subcommand of `hosts`.
pub(super) fn run(command: &HostsCommand) -> Result<Exit, Failure> {
    let HostsCommand::Check(args) = command;
    on_all_cpus()?.block_on(check(args))
}

async fn check(args: &HostsCheckArgs) -> Result<Exit, Failure> {
    let asked = hosts("", &args.hosts)?;
    let checked = check_hosts(&asked, say).await;
    let checked = judge(checked.map_err(Failure::with(Exit::Failed))?, args.users);
    match args.format {
        ListFormat::Table => print(&table(&checked, args.users))?,
        ListFormat::Json => {
            print(&format!("{}\n", Value::from_iter(checked.iter().map(document))))?
        }
    }
    let is_usable = checked.iter().all(|of| of.said.is_ok() && of.lack.is_none());
    Ok(if is_usable { Exit::Done } else { Exit::Failed })
}

/// A host that was checked.
struct Checked {
    host: WorkerHost,
    /// Its answer, or why it cannot be used.
    said: Result<CheckedHost, HostFault>,
    /// Its share of the users; `None` if their number is unknown.
    users: Option<u32>,
    /// The limit that is too low for the share.
    lack: Option<Lack>,
}

/// Compares the limits of each host with its share of `users`.
fn judge(
    checked: Vec<(WorkerHost, Result<CheckedHost, HostFault>)>,
    users: Option<u32>,
) -> Vec<Checked> {
    let of = checked.iter().map(|(host, _)| host.workers).sum();
    let mut next = 0;
    let judge = |(host, said): (WorkerHost, Result<CheckedHost, HostFault>)| {
        let first = next;
        next += host.workers;
        let shares: Vec<Share> = (first..next).map(|index| Share { index, of }).collect();
        let share = users.map(|users| shares.iter().map(|share| share.users(users)).sum());
        let limits = said.as_ref().map(|it| it.report.limits).unwrap_or_default();
        let shares = HostShares { host: host.name.clone(), shares, limits };
        let lacking = users.and_then(|users| HostLimits::of_users(vec![shares]).allow(users).err());
        let lack = lacking.and_then(|error| Some(error.lacking.first()?.1));
        Checked { host, said, users: share, lack }
    };
    checked.into_iter().map(judge).collect()
}

fn document(Checked { host, said, users, lack }: &Checked) -> Value {
    let (name, workers) = (&host.name, host.workers);
    match said {
        Ok(CheckedHost { report, round_trip, clock_ahead_ms }) => json!({
            "host": name, "workers": workers, "error": null, "report": report,
            "round_trip_ms": round_trip.as_secs_f64() * 1e3, "clock_ahead_ms": clock_ahead_ms,
            "users": users, "lack": lack.map(|lack| lack.to_string()),
        }),
        Err(why) => {
            json!({ "host": name, "workers": workers, "error": why.to_string(), "users": users })
        }
    }
}

fn table(checked: &[Checked], users: Option<u32>) -> String {
    let header = [
        "host",
        "CPUs",
        "workers",
        "files",
        "ports",
        "RTT, ms",
        "clock, ms",
        "requests/s",
        "users",
    ];
    let row = |of: &Checked| {
        let CheckedHost { report, round_trip, clock_ahead_ms } = of.said.as_ref().ok()?;
        let or_unknown = |limit: Option<u64>| limit.map_or("–".to_owned(), count);
        let mut cells = vec![
            of.host.name.clone(),
            report.cpus.to_string(),
            of.host.workers.to_string(),
            or_unknown(report.limits.open_files),
            or_unknown(report.limits.local_ports.map(u64::from)),
            format!("{:.1}", round_trip.as_secs_f64() * 1e3),
            format!("{clock_ahead_ms:+.1}"),
            report.rate_per_s.map_or("–".to_owned(), rate),
        ];
        cells.extend(of.users.map(|users| count(users.into())));
        Some(cells)
    };
    let rows: Vec<_> = checked.iter().filter_map(row).collect();
    let legend = (!rows.is_empty()).then(|| LEGEND.to_owned());
    let carried = users.filter(|_| checked.iter().all(|of| of.said.is_ok() && of.lack.is_none()));
    let carried = carried.map(|users| {
        format!("the limits of all hosts carry their shares of {} users", count(users.into()))
    });
    let notes = checked.iter().flat_map(notes);
    let failed = checked.iter().filter_map(|of| {
        let fault = of.said.as_ref().err().filter(|fault| fault.is_of_ssh)?;
        Some((of.host.name.clone(), fault.clone()))
    });
    let failed: Vec<_> = failed.collect();
    // As a run would say.
    let help = (!failed.is_empty()).then(|| Some(ClusterError::Hosts(failed).help()?.to_string()));
    let sentences: Vec<String> = legend
        .into_iter()
        .chain(together(checked))
        .chain(carried)
        .chain(notes)
        .chain(help.flatten())
        .collect();
    let table = if rows.is_empty() { String::new() } else { lay_out(&header, &rows) + "\n" };
    table + &paragraphs(&sentences)
}

/// Returns the sentences on a host that a user must know of.
fn notes(Checked { host, said, lack, .. }: &Checked) -> Vec<String> {
    let report = match said {
        Err(why) => return vec![format!("{host}: cannot be used: {why}")],
        Ok(CheckedHost { report, .. }) => report,
    };
    let shared = (host.workers as usize > report.cpus)
        .then(|| format!("{host}: {} workers share {} CPUs", host.workers, report.cpus));
    let others = report.others_percent.filter(|percent| is_disturbed(*percent, report.cpus));
    let others = others.map(|percent| {
        format!(
            "{host}: other programs used {percent:.0} % of a CPU while its rate was measured: it can send more \
             without them"
        )
    });
    let unknown = report.rate_error.as_ref();
    let unknown = unknown.map(|why| format!("{host}: its rate could not be measured: {why}"));
    let lack = lack.map(|lack| format!("{host}: {lack}: {}", lack.remedy()));
    shared.into_iter().chain(others).chain(unknown).chain(lack).collect()
}

/// Says what the workers of several hosts send together: equal shares, so that the slowest worker limits all.
fn together(checked: &[Checked]) -> Option<String> {
    let each =
        |of: &Checked| Some(of.said.as_ref().ok()?.report.rate_per_s? / f64::from(of.host.workers));
    let rates: Vec<(f64, &WorkerHost)> =
        checked.iter().map(|of| Some((each(of)?, &of.host))).collect::<Option<_>>()?;
    let (slowest, host) = rates.iter().copied().min_by(|one, other| one.0.total_cmp(&other.0))?;
    let workers: u32 = checked.iter().map(|of| of.host.workers).sum();
    (checked.len() > 1).then(|| {
        format!(
            "all {workers} workers have equal shares: together, they send about {} requests/s, {workers} times the \
             {} of a worker on {host}",
            rate(slowest * f64::from(workers)),
            rate(slowest)
        )
    })
}
