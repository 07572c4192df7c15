//! Looks at hosts before they send load.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::ChildStdin;
use tokio::time::timeout;

use super::program::{FOLDER, Program};
use super::session::{Unforwarded, forwarded, last_words};
use super::{LOOPBACK, Starting, WorkerHost, each, provide, ssh};
use crate::error::ClusterError;
use crate::host_fault::HostFault;
use crate::limits::SystemLimits;

/// Number of times that a host is asked for its clock. The shortest way there and back counts.
const ASKED: usize = 8;

/// Beginnings of the lines with the clock of a host and with its report. Its shell, and what it starts, may print others.
const CLOCK: &str = "loadgen-clock ";
const REPORT: &str = "loadgen-report ";

/// Port of this host to which a host that is checked forwards one. Nobody connects to it.
const NOBODY: u16 = 1;

/// Time limit for each answer of a host.
const LIMIT: Duration = Duration::from_secs(30);

/// A host's report on itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// Its own name.
    pub name: String,
    /// Number of CPUs that its workers may use.
    pub cpus: usize,
    /// Its limits on each worker.
    #[serde(flatten)]
    pub limits: SystemLimits,
    /// Requests/s that its workers sent together, to a server on its loopback interface that shares its CPUs;
    /// `None` if it could not be measured.
    pub rate_per_s: Option<f64>,
    /// Why the rate could not be measured; `None` if it was.
    pub rate_error: Option<String>,
    /// CPU time of other programs there while the rate was measured, in % of one CPU; `None` if unknown.
    pub others_percent: Option<f64>,
}

/// A host that could be used.
#[derive(Debug, Clone)]
pub struct CheckedHost {
    /// The host's report on itself.
    pub report: HostReport,
    /// Shortest time of a message there and back.
    pub round_trip: Duration,
    /// Time in ms by which the clock of the host is ahead of that of this one, exact to half of the round trip.
    pub clock_ahead_ms: f64,
}

/// Copies the program to hosts that lack it, and asks all for their reports. Returns for each host what it said, or
/// why it cannot be used. Calls `tell` with what is done next.
///
/// # Errors
/// If this program cannot be read.
pub async fn check_hosts(
    hosts: &[WorkerHost],
    mut tell: impl FnMut(Starting),
) -> Result<Vec<(WorkerHost, Result<CheckedHost, HostFault>)>, ClusterError> {
    let program = Program::own().await?;
    let provided = provide(&program, hosts, &mut tell).await?;
    let usable: Vec<WorkerHost> =
        provided.iter().filter(|(_, is)| is.is_ok()).map(|(host, _)| host.clone()).collect();
    if !usable.is_empty() {
        tell(Starting::Measuring(usable.len()));
    }
    let asked = each(&usable, |host| {
        let name = program.name.clone();
        async move { Ok(ask(&host, &name).await?) }
    });
    let mut asked = asked.await.into_iter();
    let result = |(host, is): (WorkerHost, Result<(), HostFault>)| {
        let said = is.and_then(|()| {
            asked.next().map_or(Err("not asked".to_owned().into()), |(_, said)| said)
        });
        (host, said)
    };
    Ok(provided.into_iter().map(result).collect())
}

/// Asks a host for its report.
async fn ask(host: &WorkerHost, program: &str) -> Result<CheckedHost, String> {
    let script = format!("exec {FOLDER}/{program} host-report --workers {}", host.workers);
    // As for a run.
    let forward = format!("{LOOPBACK}:0:{LOOPBACK}:{NOBODY}");
    let mut ssh = ssh::command(&host.name, &["-R", &forward], &script)
        .spawn()
        .map_err(|error| ssh::not_started(&error))?;
    let (Some(mut stdin), Some(stdout)) = (ssh.stdin.take(), ssh.stdout.take()) else {
        return Err("ssh has no standard streams".to_owned());
    };
    let mut lines = BufReader::new(stdout).lines();
    let (said, forwarded) = forwarded(&mut ssh, NOBODY).await;
    if let Err(Unforwarded::Refused(why)) = forwarded {
        return Err(why);
    }
    let asked = async {
        let mut shortest = clock(&mut stdin, &mut lines).await?;
        for _ in 1..ASKED {
            shortest = shortest.min(clock(&mut stdin, &mut lines).await?);
        }
        // The end of the questions.
        drop(stdin);
        let text = next(REPORT, &mut lines).await?;
        let report = serde_json::from_str(&text).map_err(|error| format!("its report: {error}"))?;
        let Clock { round_trip, ahead_us } = shortest;
        Ok(CheckedHost { report, round_trip, clock_ahead_ms: ahead_us as f64 / 1e3 })
    };
    match asked.await {
        Ok(checked) => Ok(checked),
        Err(NoAnswer(why)) => {
            let _ = ssh.start_kill();
            let _ = ssh.wait().await;
            Err(last_words(&said).await.unwrap_or(why))
        }
    }
}

/// Why a host has not answered.
struct NoAnswer(String);

impl From<String> for NoAnswer {
    fn from(why: String) -> Self {
        Self(why)
    }
}

/// An answer of a host's clock. The one with the shortest round trip is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Clock {
    round_trip: Duration,
    ahead_us: i64,
}

async fn clock(
    stdin: &mut ChildStdin,
    lines: &mut Lines<impl AsyncBufRead + Unpin>,
) -> Result<Clock, NoAnswer> {
    let (sent, here) = (Instant::now(), unix_us());
    stdin.write_all(b"\n").await.map_err(|error| NoAnswer(error.to_string()))?;
    let there = next(CLOCK, lines).await?;
    let there = there.parse::<i64>().map_err(|error| format!("its clock: {error}"))?;
    let round_trip = sent.elapsed();
    let half = i64::try_from(round_trip.as_micros() / 2).unwrap_or(i64::MAX);
    Ok(Clock { round_trip, ahead_us: there.saturating_sub(here).saturating_sub(half) })
}

/// Returns the rest of the next line that begins so.
async fn next(
    beginning: &str,
    lines: &mut Lines<impl AsyncBufRead + Unpin>,
) -> Result<String, NoAnswer> {
    let find = async {
        while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
            if let Some(rest) = line.strip_prefix(beginning) {
                return Ok(rest.to_owned());
            }
        }
        Err(NoAnswer("it ended without an answer".to_owned()))
    };
    let late = |_| Err(NoAnswer("it did not answer in time".to_owned()));
    timeout(LIMIT, find).await.unwrap_or_else(late)
}

impl HostReport {
    /// Returns the line with which a host answers the end of standard input.
    #[must_use]
    pub fn line(&self) -> String {
        // Serialization cannot fail: there are only numbers and a text.
        format!("{REPORT}{}", serde_json::to_string(self).unwrap_or_default())
    }
}

/// Returns the line with which a host answers each line of standard input.
#[must_use]
pub fn clock_line() -> String {
    format!("{CLOCK}{}", unix_us())
}

fn unix_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
