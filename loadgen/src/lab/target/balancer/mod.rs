//! Runs the load balancer before the replicas of a target: HAProxy, or Caddy where HAProxy is not installed.
//!
//! Each request goes to the next replica in turn (round robin), also within one connection of a
//! client. The balancer retries nothing and checks no health, so that each request of a client is one
//! request to one replica. The balancer counts the responses of each replica, which shows whether the
//! replicas had equal shares and whether all requests arrived.
//!
//! `haproxy` and `caddy` write the settings of the two programs, and read their counts. `program` finds or
//! installs them.

mod caddy;
mod haproxy;
mod program;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

pub(in crate::lab) use self::program::Program;
pub use self::program::{Kind, to_use};
use crate::lab::error::LabError;
use crate::lab::podman::{Project, container_ulimits};
use crate::lab::ready::{HealthCheck, Starting};
use crate::lab::runner::place;
use crate::lab::service::password::random_password;
use crate::lab::service::{Service, ServiceSpec};
use crate::measure::BALANCER;

/// Maximum time from the start of the balancer until a replica answers through it.
const LIMIT: Duration = Duration::from_secs(20);

/// Time from the request to end until the balancer is killed. HAProxy ends at once, and Caddy after
/// [`caddy::GRACE`].
const GRACE: Duration = Duration::from_secs(2);

/// Timeout for reading the counts of the replicas.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Files that a balancer has open besides those for connections.
const OTHER_FILES: u64 = 384;

/// Address at which the balancer reaches a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Host and port.
    Port(String),
    /// Path of a Unix domain socket.
    Socket(PathBuf),
}

/// A balancer that is up.
#[derive(Debug)]
pub(super) struct Balancer {
    pub(super) service: Service,
    pub(super) url: String,
    kind: Kind,
    replicas: Vec<Address>,
    /// Path and query of the statistics. The path contains a random word, so that no request of a scenario
    /// has the path.
    statistics: String,
    client: reqwest::Client,
}

/// Settings with which a balancer starts, besides the addresses of the replicas.
pub(super) struct Setup {
    /// Program that balances, as a process; `None` for the HAProxy of a container.
    pub program: Option<Program>,
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

/// Conditions under which the settings of a balancer are written.
struct Conditions<'a> {
    /// Address at which clients reach the balancer.
    listen: &'a str,
    /// Number of threads that pass on requests.
    threads: usize,
    /// Largest number of connections of clients.
    connections: u64,
    /// Path of the statistics, without the slash.
    word: &'a str,
    /// Addresses of the replicas.
    replicas: &'a [Address],
}

impl Balancer {
    /// Starts a balancer before the replicas at these addresses. Waits until a replica answers through
    /// the balancer.
    pub(super) async fn start(setup: Setup, replicas: Vec<Address>) -> Result<Self, LabError> {
        let Setup { program, cpus, log, port, project, client, probe } = setup;
        let word = random_password().map_err(LabError::io("generate a random word"))?;
        let kind = program.as_ref().map_or(Kind::Haproxy, |program| program.kind);
        let conditions = |listen| Conditions {
            listen,
            threads: cpus.len().max(1),
            connections: most_connections(kind, project.is_some()),
            word: &word,
            replicas: &replicas,
        };
        let (port, service) = match (&project, &program) {
            (Some(project), _) => {
                let text = haproxy::settings(&conditions("0.0.0.0:8000"));
                let variables =
                    |port: u16| [("BALANCER_PORT", port.to_string()), ("SETTINGS", text.clone())];
                let spec = |port| project.spec(BALANCER, &variables(port), log.clone());
                let starting = Starting::on(port, spec, probe, LIMIT)?;
                starting.within(Some(Arc::clone(project))).ready().await?
            }
            (None, None) => return Err(program::missing("it was not prepared".to_owned())),
            (None, Some(program)) => {
                let (listen, file) = kind.listen_and_file();
                let text = kind.settings(&conditions(listen));
                let folder = write(file, &text)
                    .map_err(LabError::io("write the settings of the balancer"))?;
                let path = folder.path().to_owned();
                let threads = cpus.len().max(1);
                let spec = |port| process(program, threads, &path, port, &log, &cpus);
                let starting = Starting::on(port, spec, probe, LIMIT)?;
                // From now on, the guard of the service removes the folder.
                let _ = folder.keep();
                starting.ready().await?
            }
        };
        let service = place(project.as_ref(), service).await?;
        let url = format!("http://127.0.0.1:{port}");
        let statistics = kind.statistics(&word);
        Ok(Self { service, url, kind, replicas, statistics, client })
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
        let responses = match self.kind {
            Kind::Haproxy => haproxy::parse(&text),
            Kind::Caddy => caddy::parse(&text, &self.replicas),
        };
        responses.ok_or_else(|| fault("its statistics have an unknown form".to_owned()))
    }
}

impl Kind {
    /// Returns the address at which a process listens, as its settings write it, and the name of its settings
    /// file, the only file in a separate folder.
    fn listen_and_file(self) -> (&'static str, &'static str) {
        match self {
            Self::Haproxy => ("127.0.0.1:${PORT}", "haproxy.cfg"),
            Self::Caddy => ("127.0.0.1:{env.PORT}", "caddy.json"),
        }
    }

    fn settings(self, conditions: &Conditions<'_>) -> String {
        match self {
            Self::Haproxy => haproxy::settings(conditions),
            Self::Caddy => caddy::settings(conditions),
        }
    }

    /// Returns the path and query of the statistics whose path is `word`.
    fn statistics(self, word: &str) -> String {
        match self {
            Self::Haproxy => format!("/{word};csv"),
            Self::Caddy => format!("/{word}"),
        }
    }

    /// Returns the headers of requests that do not reach the replicas.
    pub(super) fn removed_headers(self) -> &'static [&'static str] {
        match self {
            Self::Haproxy => &[],
            Self::Caddy => &caddy::ADDED,
        }
    }

    /// Returns the most files that are open for one connection of a client. Caddy keeps idle connections to
    /// replicas while others wait for responses.
    fn files_for_each(self) -> u64 {
        match self {
            Self::Haproxy => 2,
            Self::Caddy => 3,
        }
    }
}

/// Returns the largest number of connections of clients that a balancer serves at a time, as a
/// process or, if `contained` is true, in a container. The limit on open files sets the number.
pub(super) fn most_connections(kind: Kind, contained: bool) -> u64 {
    let files = if contained { container_ulimits()[0] } else { open_files() };
    files.saturating_sub(OTHER_FILES) / kind.files_for_each()
}

/// Returns the number of files that a process on this machine may have open, but no more than any
/// measurement needs.
fn open_files() -> u64 {
    const MOST: u64 = 65_536;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    limit.unwrap_or(MOST).min(MOST)
}

fn write(file: &str, settings: &str) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("loadgen-balancer-").tempdir()?;
    fs::write(folder.path().join(file), settings)?;
    Ok(folder)
}

fn process(
    program: &Program,
    threads: usize,
    folder: &Path,
    port: u16,
    log: &Path,
    cpus: &[usize],
) -> ServiceSpec {
    let (_, file) = program.kind.listen_and_file();
    let words: &[&str] = match program.kind {
        Kind::Haproxy => &["-db", "-f"],
        Kind::Caddy => &["run", "--config"],
    };
    let argv = [program.path.clone().into_os_string()].into_iter();
    let argv = argv.chain(words.iter().map(Into::into));
    let argv = argv.chain([folder.join(file).into_os_string()]);
    let mut spec = ServiceSpec::new(BALANCER, argv, folder, log.to_owned());
    spec.env = vec![("PORT".to_owned(), port.to_string())];
    if program.kind == Kind::Caddy {
        spec.env.extend(caddy::variables(folder, threads));
    }
    spec.options.cpus = cpus.to_vec();
    spec.options.grace = GRACE;
    spec.options.remove = Some(folder.to_owned());
    spec
}
