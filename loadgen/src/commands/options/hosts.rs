//! Reads `--hosts`: the hosts on which loadgen starts workers.

use std::fs;

use crate::cli::{CommonArgs, RequestArgs};
use crate::cluster::{HostWorkers, WorkerHost};
use crate::experiment::job::Remote;
use crate::experiment::subject::Subject;
use crate::failure::{Exit, Failure};

/// Beginning of messages about a run in a cluster.
pub const K8S: &str = "k8s: ";

/// Greatest number of workers of a run.
const MOST: u32 = 1_000;

/// Returns the workers to start on the hosts that the command line names; `None` if it names none.
pub fn remote(common: &CommonArgs, request: &RequestArgs) -> Result<Option<Remote>, Failure> {
    if common.hosts.is_empty() {
        return Ok(None);
    }
    let hosts = hosts("--hosts: ", &common.hosts)?;
    refuse_own_servers("--hosts: ", common, request)?;
    let workers = HostWorkers::new(hosts).map_err(Failure::with(Exit::Failed))?;
    Ok(Some(Remote::Started(workers)))
}

/// Returns the hosts that these words name, each once. An error begins with `what`.
pub fn hosts(what: &str, words: &[String]) -> Result<Vec<WorkerHost>, Failure> {
    let wrong = |message: String| {
        let help =
            "name each host once, as ssh knows it, with its number of workers: load-1:4,load-2";
        Failure::message(Exit::Usage, "bad_hosts", format!("{what}{message}"), help)
    };
    let mut hosts: Vec<WorkerHost> = Vec::new();
    for word in words {
        let words = match word.strip_prefix('@') {
            Some(path) => of_file(path).map_err(|error| wrong(format!("{path}: {error}")))?,
            None => vec![word.trim().to_owned()],
        };
        for word in words {
            let host: WorkerHost = word.parse().map_err(wrong)?;
            if let Some(other) = hosts.iter().find(|other| other.machine() == host.machine()) {
                let which = if other.name == host.name { "" } else { ", for two users" };
                return Err(wrong(format!("{} is given twice{which}", host.machine())));
            }
            hosts.push(host);
        }
    }
    match hosts.iter().map(|host| host.workers).fold(0, u32::saturating_add) {
        0 => Err(wrong("the file names no host".to_owned())),
        count if count > MOST => Err(wrong(format!("{count} workers are more than {MOST}"))),
        _ => Ok(hosts),
    }
}

/// Returns the hosts of a file: one in a line, with comments after `#`.
fn of_file(path: &str) -> std::io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    // Editors may begin a file with a mark of its encoding.
    let lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Returns an error, which begins with `what`, if the load would go to servers that loadgen starts.
pub fn refuse_own_servers(
    what: &str,
    common: &CommonArgs,
    request: &RequestArgs,
) -> Result<(), Failure> {
    let has_urls = request.urls.iter().any(|word| !word.starts_with('/'));
    if has_urls || !common.measuring.url.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{what}servers that loadgen starts listen only on this host, where workers cannot reach them"
    );
    let help = match what {
        K8S => {
            "name the server: --url http://HOST:PORT, or a target that the cluster runs: --target NAME"
        }
        _ => "name the server: --url http://HOST:PORT, or load a URL",
    };
    Err(Failure::message(Exit::Usage, "manager_needs_url", message, help))
}

/// Returns an error, which begins with `what`, if a server listens on a socket: each host would load another server, its
/// own.
pub fn refuse_sockets(what: &str, subject: &Subject) -> Result<(), Failure> {
    let Subject::Running(servers) = subject else { return Ok(()) };
    let Some(socket) = servers.iter().find(|server| server.url.starts_with("unix:")) else {
        return Ok(());
    };
    let message = format!("{what}{} is a socket, which other hosts do not reach", socket.url);
    Err(Failure::message(
        Exit::Usage,
        "bad_hosts",
        message,
        "name a URL with a host that all workers reach",
    ))
}
