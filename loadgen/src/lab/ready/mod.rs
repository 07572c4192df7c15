//! Starts a service on a port and waits until it answers a [`Probe`].

mod grpc_health;
mod health_check;
mod probe;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::LabError;
use super::machine::ports::{free_port, is_free};
use super::podman::Project;
use super::service::{Service, ServiceSpec, ending, listener};
pub use health_check::HealthCheck;
pub(super) use health_check::HealthClients;
pub use probe::Probe;

const PROBE_EVERY: Duration = Duration::from_millis(25);

/// Time that loadgen waits for a service to end by itself after another process has taken the
/// service's port. nginx tries for two and a half seconds.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Maximum time that podman may take on a busy machine to create and start a container.
const CONTAINER: Duration = Duration::from_secs(120);

/// A service that has been started on a port, but may not be ready yet.
#[derive(Debug)]
pub struct Starting<S, P> {
    spec: S,
    fixed: bool,
    probe: P,
    limit: Duration,
    /// podman-compose project of the service's container; `None` if the service runs as a process.
    project: Option<Arc<Project>>,
    port: u16,
    service: Service,
    /// Description of another process that listens on the service's port; `None` if no such process
    /// is known.
    stranger: Option<String>,
}

impl<S: Fn(u16) -> ServiceSpec, P: Probe> Starting<S, P> {
    /// Starts a service on `port`, or on a free port if `port` is `None`. `spec` returns the
    /// service's specification for a port, and `limit` is the time until the service must be ready,
    /// which begins with the container's process if the service runs in one.
    pub fn on(port: Option<u16>, spec: S, probe: P, limit: Duration) -> Result<Self, LabError> {
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

    /// Sets the podman-compose project of the service's container; `None` for a process.
    #[must_use]
    pub(in crate::lab) fn within(self, project: Option<Arc<Project>>) -> Self {
        Self { project, ..self }
    }

    /// Waits until the service answers. If another process takes a port that loadgen chose, the
    /// service is started once more, on another port.
    pub async fn ready(mut self) -> Result<(u16, Service), LabError> {
        let Err(error) = self.wait().await else {
            return Ok((self.port, self.service));
        };
        if self.stranger.is_some() {
            // The service is about to notice that its port is taken, and to end.
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
        let begun = Instant::now();
        let mut deadline = begun + self.limit;
        loop {
            let answer = tokio::select! {
                answer = self.probe.ask(self.port) => answer,
                // Returns as soon as the service ends, even if a probe still waits.
                _ = self.service.wait() => Err(String::new()),
            };
            // The answer may be from another process, on a port that the service did not get.
            if let Some(status) = self.service.exited() {
                let what = format!("{} before it was ready", ending(status));
                return Err(self.service.fault(match status.success() {
                    true => {
                        format!("{what}: it must stay in the foreground, and not become a daemon")
                    }
                    false => what,
                }));
            }
            match answer {
                Ok(()) if self.is_up().await? => return Ok(()),
                Ok(()) => tokio::time::sleep(PROBE_EVERY).await,
                Err(what) if Instant::now() >= deadline => {
                    let Some(left) = self.left_in_container(begun).await else {
                        let waited = Duration::from_secs(begun.elapsed().as_secs()).max(self.limit);
                        let waited = humantime::format_duration(waited);
                        return Err(self
                            .service
                            .fault(format!("was not ready within {waited}: it {what}")));
                    };
                    deadline = Instant::now() + left;
                }
                Err(_) => tokio::time::sleep(PROBE_EVERY).await,
            }
        }
    }

    /// Time that a service in a container still has after its limit: it has the limit from the start of
    /// its container. `None` if no time is left, and for a process.
    async fn left_in_container(&self, begun: Instant) -> Option<Duration> {
        let left = match self.project.as_ref()?.has_run(self.service.name()).await {
            Some(ran) => self.limit.checked_sub(ran)?,
            None => self.limit.min(CONTAINER.checked_sub(begun.elapsed())?),
        };
        (!left.is_zero()).then_some(left)
    }

    /// Returns whether the service itself answered a probe, rather than another process on the same
    /// port.
    ///
    /// Returns false while the service's container has no process yet. Returns an error if another
    /// process is known to listen on the service's port.
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
