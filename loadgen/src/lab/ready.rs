//! From a command line to a service that answers: ports, probes, and the wait in between.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::LabError;
use super::listener::listens;
use super::podman::Project;
use super::postgres_client::Client;
use super::service::{Service, ServiceSpec, ending};
use super::{listener, redis_client};

const PROBE_EVERY: Duration = Duration::from_millis(25);

/// Longer than a target itself waits for its backends before it says that it is not healthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a service may take to see that its port belongs to another.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// How to tell that a service is ready.
#[derive(Debug, Clone)]
pub enum Probe {
    /// `GET /health` is answered with 200.
    Health(reqwest::Client),
    /// `PING` is answered, by a Redis that takes the password.
    Redis(redis_client::Client),
    /// A connection is accepted: the least of all.
    Listens,
    /// A query is answered.
    Postgres(Client),
}

impl Probe {
    /// A probe for targets.
    pub fn health() -> Result<Self, LabError> {
        health_client().map(Self::Health)
    }

    /// Asks once; an answer that is not the right one comes back as a phrase after "it".
    pub async fn ask(&self, port: u16) -> Result<(), String> {
        let answer = async {
            match self {
                Self::Health(client) => healthy(client, port).await,
                Self::Redis(client) => {
                    client.ping(port).await.map_err(|error| format!("said: {error}"))
                }
                Self::Listens => listens(port).await,
                Self::Postgres(client) => client.on_port(port).ping().await,
            }
        };
        tokio::time::timeout(PROBE_TIMEOUT, answer)
            .await
            .unwrap_or_else(|_| Err(format!("did not answer within {PROBE_TIMEOUT:?}")))
    }
}

/// What asks targets for their health. Proxies are for the world outside, not for loopback.
pub(super) fn health_client() -> Result<reqwest::Client, LabError> {
    // No connection stays open: servers wait for those when they are stopped.
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build();
    client.map_err(|error| LabError::Io {
        what: "make an HTTP client".to_owned(),
        source: std::io::Error::other(error),
    })
}

async fn healthy(client: &reqwest::Client, port: u16) -> Result<(), String> {
    let answer = client.get(format!("http://127.0.0.1:{port}/health")).send().await;
    match answer {
        Ok(answer) if answer.status() == reqwest::StatusCode::OK => Ok(()),
        Ok(answer) => Err(format!("answered GET /health with {}", answer.status())),
        Err(error) if error.is_connect() => Err("did not accept a connection".to_owned()),
        Err(_) => Err("did not answer GET /health as HTTP".to_owned()),
    }
}

/// A service that has been started on a port, and the means to see it become ready.
#[derive(Debug)]
pub struct Starting<S> {
    spec: S,
    fixed: bool,
    probe: Probe,
    limit: Duration,
    /// The project of its container, where it runs in one.
    project: Option<Arc<Project>>,
    port: u16,
    service: Service,
    /// Who listens on its port in its place.
    stranger: Option<String>,
}

impl<S: Fn(u16) -> ServiceSpec> Starting<S> {
    /// Starts what `spec` says for a port: the one that is asked for, else a free one.
    pub fn on(port: Option<u16>, spec: S, probe: Probe, limit: Duration) -> Result<Self, LabError> {
        let (fixed, port) = match port {
            Some(port) if is_free(port) => (true, port),
            Some(port) => {
                return Err(LabError::PortInUse { service: spec(port).name, port });
            }
            None => (false, free_port()?),
        };
        let service = Service::start(&spec(port))?;
        let (project, stranger) = (None, None);
        Ok(Self { spec, fixed, probe, limit, project, port, service, stranger })
    }

    /// The same, for a service in a container of this project, if that is one.
    #[must_use]
    pub(super) fn within(self, project: Option<Arc<Project>>) -> Self {
        Self { project, ..self }
    }

    /// Waits until the service answers. One that lost its port to another gets a second one, once.
    pub async fn ready(mut self) -> Result<(u16, Service), LabError> {
        let Err(error) = self.wait().await else {
            return Ok((self.port, self.service));
        };
        if self.stranger.is_some() {
            // It is about to find that out, and to end.
            let _ = tokio::time::timeout(ENDS_WITHIN, self.service.wait()).await;
        }
        let (lost, service) = (self.lost_its_port(), self.service.name().to_owned());
        if lost && !self.fixed {
            self.service.leave_folder();
        }
        let _ = self.service.stop().await;
        if !lost {
            return Err(error);
        }
        if self.fixed {
            return Err(LabError::PortInUse { service, port: self.port });
        }
        (self.port, self.stranger) = (free_port()?, None);
        self.service = Service::start(&(self.spec)(self.port))?;
        self.wait().await?;
        Ok((self.port, self.service))
    }

    async fn wait(&mut self) -> Result<(), LabError> {
        let deadline = Instant::now() + self.limit;
        loop {
            let answer = tokio::select! {
                answer = self.probe.ask(self.port) => answer,
                // An end is told at once, whatever a probe still waits for.
                _ = self.service.wait() => Err(String::new()),
            };
            // Somebody else may have answered, on a port that our service did not get.
            if let Some(status) = self.service.exited() {
                return Err(self.service.fault(format!("{} before it was ready", ending(status))));
            }
            match answer {
                Ok(()) if self.is_up().await? => return Ok(()),
                Ok(()) => tokio::time::sleep(PROBE_EVERY).await,
                Err(what) if Instant::now() >= deadline => {
                    let limit = humantime::format_duration(self.limit);
                    return Err(self
                        .service
                        .fault(format!("was not ready within {limit}: it {what}")));
                }
                Err(_) => tokio::time::sleep(PROBE_EVERY).await,
            }
        }
    }

    /// Whether the service is what answered: its container runs, or a process of its own listens there. Else
    /// it is still on its way, or a stranger has its port, which is an error.
    async fn is_up(&mut self) -> Result<bool, LabError> {
        if let Some(project) = &self.project {
            let container = project.container(self.service.name()).await;
            return Ok(container.is_ok_and(|container| container.pid > 0));
        }
        self.stranger = listener::stranger(self.port, self.service.guard_pid());
        match &self.stranger {
            None => Ok(true),
            Some(other) => Err(self
                .service
                .fault(format!("did not get port {}, on which {other} listens", self.port))),
        }
    }

    fn lost_its_port(&mut self) -> bool {
        const SAYINGS: [&str; 4] = [
            "address already in use",
            "address in use",
            "connection in use",
            "port is already in use",
        ];
        let says = |line: &String| SAYINGS.iter().any(|words| line.to_lowercase().contains(words));
        if self.stranger.is_some() {
            return true;
        }
        self.service.exited().is_some() && self.service.last_log_lines(50).iter().any(says)
    }
}

/// A port of this machine that nobody listens on at the moment.
fn free_port() -> Result<u16, LabError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    Ok(address.map_err(LabError::io("find a free port"))?.port())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
