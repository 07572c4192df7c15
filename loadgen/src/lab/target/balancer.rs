//! Runs HAProxy as the load balancer before the replicas of a target.
//!
//! Each request goes to the next replica in turn (round robin), also within one connection of a
//! client. The balancer retries nothing and checks no health, so that each request of a client is one
//! request to one replica. HAProxy counts the responses of each replica, which shows whether the
//! replicas had equal shares and whether all requests arrived.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use crate::lab::error::LabError;
use crate::lab::podman::{Project, container_ulimits};
use crate::lab::ready::{HealthCheck, Starting};
use crate::lab::runner::place;
use crate::lab::service::password::random_password;
use crate::lab::service::programs::on_path;
use crate::lab::service::{Service, ServiceSpec};
use crate::measure::BALANCER;

/// Name of the settings file, the only file in a separate folder.
const SETTINGS: &str = "haproxy.cfg";

/// Maximum time from the start of the balancer until a replica answers through it.
const LIMIT: Duration = Duration::from_secs(20);

/// Time from the request to end until the balancer is killed. HAProxy ends at once.
const GRACE: Duration = Duration::from_secs(2);

/// Timeout for reading the counts of the replicas.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Files that HAProxy has open besides two for each connection of a client.
const OTHER_FILES: u64 = 384;

/// Columns of HAProxy's statistics that count the responses of a server, by class of status. An
/// interim response (1xx) comes before the response of its request.
const RESPONSES: [&str; 5] = ["hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other"];

/// A balancer that is up.
#[derive(Debug)]
pub(super) struct Balancer {
    pub(super) service: Service,
    pub(super) url: String,
    /// Path and query of HAProxy's statistics. The path contains a random word, so that no request
    /// of a scenario has the path.
    statistics: String,
    client: reqwest::Client,
}

/// Settings with which a balancer starts, besides the addresses of the replicas.
pub(super) struct Setup {
    /// CPUs that the balancer may use; empty for all.
    pub cpus: Vec<usize>,
    /// File for the balancer's output.
    pub log: PathBuf,
    /// Port of the balancer; `None` for a free port.
    pub port: Option<u16>,
    /// podman-compose project in which the balancer runs; `None` for a process.
    pub project: Option<Arc<Project>>,
    /// Client for statistics.
    pub client: reqwest::Client,
    /// Check whether a replica answers through the balancer.
    pub probe: HealthCheck,
}

impl Balancer {
    /// Starts a balancer before the replicas at these addresses, each a host and a port. Waits until
    /// a replica answers through the balancer.
    pub(super) async fn start(setup: Setup, replicas: &[String]) -> Result<Self, LabError> {
        let Setup { cpus, log, port, project, client, probe } = setup;
        let word = random_password().map_err(LabError::io("generate a random word"))?;
        let connections = most_connections(project.is_some());
        let settings =
            |listen: &str| settings(listen, cpus.len().max(1), connections, &word, replicas);
        let (port, service) = match &project {
            None => {
                let program = program()?;
                let text = settings("127.0.0.1:${PORT}");
                let folder =
                    write(&text).map_err(LabError::io("write the settings of the balancer"))?;
                let path = folder.path().to_owned();
                let spec = |port| process(&program, &path, port, &log, &cpus);
                let starting = Starting::on(port, spec, probe, LIMIT)?;
                // From now on, the guard of the service removes the folder.
                let _ = folder.keep();
                starting.ready().await?
            }
            Some(project) => {
                let text = settings("0.0.0.0:8000");
                let variables =
                    |port: u16| [("BALANCER_PORT", port.to_string()), ("SETTINGS", text.clone())];
                let spec = |port| project.spec(BALANCER, &variables(port), log.clone());
                let starting = Starting::on(port, spec, probe, LIMIT)?;
                starting.within(Some(Arc::clone(project))).ready().await?
            }
        };
        let service = place(project.as_ref(), service).await?;
        let url = format!("http://127.0.0.1:{port}");
        Ok(Self { service, url, statistics: format!("/{word};csv"), client })
    }

    /// Returns the number of responses of each replica since the start of the balancer, in the order
    /// of the replicas.
    pub(super) async fn responses(&self) -> Result<Vec<u64>, LabError> {
        let fault = |what: String| LabError::Backend {
            service: BALANCER.to_owned(),
            what,
            log: self.service.log().to_owned(),
        };
        let request = self.client.get(format!("{}{}", self.url, self.statistics));
        let read = async { request.send().await?.error_for_status()?.text().await };
        let text = match tokio::time::timeout(READ_TIMEOUT, read).await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return Err(fault(format!("its statistics are missing: {error}"))),
            Err(_) => return Err(fault(format!("no statistics within {READ_TIMEOUT:?}"))),
        };
        parse(&text).ok_or_else(|| fault("its statistics have an unknown form".to_owned()))
    }
}

/// Returns the largest number of connections of clients that a balancer serves at a time, as a
/// process or, if `contained` is true, in a container. The limit on open files sets the number.
pub(super) fn most_connections(contained: bool) -> u64 {
    let files = if contained { container_ulimits()[0] } else { open_files() };
    files.saturating_sub(OTHER_FILES) / 2
}

/// Returns HAProxy's version; `None` if it does not tell.
pub(super) async fn version() -> Option<String> {
    let mut command = tokio::process::Command::new(program().ok()?);
    command.arg("-v").stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(READ_TIMEOUT, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next()?.split_whitespace().nth(2).map(str::to_owned)
}

/// Checks that the program is on this machine.
pub(super) fn program() -> Result<PathBuf, LabError> {
    // Debian's folder is not on every user's PATH.
    let elsewhere = Some(PathBuf::from("/usr/sbin/haproxy")).filter(|path| path.is_file());
    on_path("haproxy").or(elsewhere).ok_or_else(|| LabError::Missing {
        service: "the load balancer of the replicas".to_owned(),
        what: "haproxy is not on the PATH".to_owned(),
        help: "install HAProxy: `apt install haproxy`, or leave out the replicas".to_owned(),
    })
}

/// Returns the number of files that a process on this machine may have open, but no more than any
/// measurement needs.
fn open_files() -> u64 {
    const MOST: u64 = 65_536;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    limit.unwrap_or(MOST).min(MOST)
}

/// Returns HAProxy's settings, for this address and this number of connections of clients. `word` is
/// the path of the statistics.
fn settings(
    listen: &str,
    threads: usize,
    connections: u64,
    word: &str,
    replicas: &[String],
) -> String {
    // The times are longer than any measurement. Only a client or a replica ends a connection: by
    // default, HAProxy closes idle connections to replicas after seconds, or if many files are open.
    let mut text = format!(
        "global\n    nbthread {threads}\n    maxconn {connections}\n    tune.pool-low-fd-ratio 100\n    \
         tune.pool-high-fd-ratio 100\n\
         defaults\n    mode http\n    maxconn {connections}\n    retries 0\n    timeout connect 24h\n    \
         timeout client 24h\n    timeout server 24h\n    default-server pool-purge-delay 24h\n\
         frontend clients\n    bind \"{listen}\" backlog 2048\n    stats enable\n    \
         stats uri /{word}\n    default_backend replicas\n\
         backend replicas\n    balance roundrobin\n"
    );
    for (index, address) in replicas.iter().enumerate() {
        let _ = writeln!(text, "    server {} {address}", index + 1);
    }
    text
}

fn write(settings: &str) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("loadgen-balancer-").tempdir()?;
    fs::write(folder.path().join(SETTINGS), settings)?;
    Ok(folder)
}

fn process(program: &Path, folder: &Path, port: u16, log: &Path, cpus: &[usize]) -> ServiceSpec {
    let argv = [program.as_os_str(), "-db".as_ref(), "-f".as_ref()];
    let argv = argv.into_iter().map(ToOwned::to_owned);
    let argv = argv.chain([folder.join(SETTINGS).into_os_string()]);
    let mut spec = ServiceSpec::new(BALANCER, argv, folder, log.to_owned());
    spec.env = vec![("PORT".to_owned(), port.to_string())];
    spec.options.cpus = cpus.to_vec();
    spec.options.grace = GRACE;
    spec.options.remove = Some(folder.to_owned());
    spec
}

/// Reads the responses of each server from HAProxy's statistics, in CSV; `None` for a text of another
/// form. (*HAProxy Management Guide*, Statistics and monitoring.)
fn parse(text: &str) -> Option<Vec<u64>> {
    let mut reader = csv::Reader::from_reader(text.trim_start_matches("# ").as_bytes());
    let headers = reader.headers().ok()?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let (proxy, server) = (column("pxname")?, column("svname")?);
    let columns: Vec<usize> = RESPONSES.into_iter().map(column).collect::<Option<_>>()?;
    let mut all = Vec::new();
    for row in reader.records() {
        let row = row.ok()?;
        if row.get(proxy)? != "replicas" || row.get(server)? == "BACKEND" {
            continue;
        }
        let counts = columns.iter().map(|column| row.get(*column)?.parse::<u64>().ok());
        all.push(counts.sum::<Option<u64>>()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_responses_of_each_replica_are_read_from_the_statistics() {
        let text = "# pxname,svname,stot,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,\n\
                    clients,FRONTEND,9,0,8,0,0,0,1,\n\
                    replicas,1,4,7,4,0,0,0,0,\n\
                    replicas,2,4,0,1,0,2,1,0,\n\
                    replicas,BACKEND,8,0,5,0,2,1,0,\n";
        assert_eq!(parse(text), Some(vec![4, 4]));
        assert_eq!(parse("<html>"), None);
        assert_eq!(parse(&text.replace("hrsp_other", "other")), None);
        assert_eq!(parse(&text.replace("replicas,2,4,0,1", "replicas,2,4,0,x")), None);
    }

    #[test]
    fn the_settings_name_each_replica() {
        let replicas = ["127.0.0.1:7001".to_owned(), "127.0.0.1:7002".to_owned()];
        let text = settings("127.0.0.1:${PORT}", 1, 8_000, "secret", &replicas);
        assert!(text.contains("    stats uri /secret\n"), "{text}");
        assert!(text.ends_with("    server 1 127.0.0.1:7001\n    server 2 127.0.0.1:7002\n"));
    }
}
