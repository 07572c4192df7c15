//! Starts a target, and waits until it answers. Replicas of a target run behind a `balancer`.
//!
//! A server of a target starts in one of three ways: from its command line (`of_process`), in a container
//! that compose.yaml defines (`of_compose`), or in a container of the user's image (`of_image`).

mod balancer;
mod instance;
mod lacks;
mod of_compose;
mod of_image;
mod of_process;
mod preparation;
mod size;
mod versions;

use std::os::unix::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;

pub(in crate::lab) use self::balancer::Program as BalancerProgram;
pub use self::balancer::to_use as balancer_to_use;
use self::balancer::{Address, Balancer, Setup};
use self::instance::Instance;
pub use self::lacks::Lacks;
pub use self::of_image::FOLDER as CONTAINER_FOLDER;
use self::of_process::{own_folder, profiler};
pub use self::size::Size;
use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::manifest::TargetSpec;
use crate::lab::podman::Project;
use crate::lab::profiler::Profiler;
use crate::lab::ready::{HealthCheck, HealthClients, Starting};
use crate::lab::runner::{Runner, place};
use crate::lab::service::{Service, ServiceSpec};
use crate::scenario::{Backend, Limits, ServerUrl};

/// Maximum time from the start of a target until the target answers a health check.
const LIMIT: Duration = Duration::from_secs(30);

/// Additional time for each further replica, because replicas start at the same time.
const LIMIT_OF_REPLICA: Duration = Duration::from_secs(5);

/// Time from the request to end until a target is killed: one second for in-flight requests, as
/// configured for each target, and one second to spare. Killing is necessary because Sanic's
/// manager never ends if the signal to end arrives at the moment in which the manager becomes
/// ready.
const GRACE: Duration = Duration::from_secs(2);

/// Returns the time in which a target with so many replicas must become ready.
pub fn start_limit(target: &TargetSpec, replicas: u32) -> Duration {
    let own = target.entry.start_timeout.unwrap_or(LIMIT);
    own + LIMIT_OF_REPLICA * replicas.saturating_sub(1)
}

/// A server under test that is up.
#[derive(Debug)]
pub struct Target {
    /// Name of the target in the manifest.
    pub name: String,
    /// Base URL of the target or of its balancer, without a slash at the end.
    pub url: String,
    services: Vec<Service>,
    profilers: Vec<Profiler>,
    balancer: Option<Balancer>,
    /// Targets that this target sends requests to.
    upstreams: Vec<Target>,
}

impl Target {
    /// Services that run the target: one, or one for each replica. They give access to logs and
    /// resource usage.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// Profilers of the servers, one for each; empty unless the target is profiled.
    pub fn profilers(&self) -> &[Profiler] {
        &self.profilers
    }

    /// Number of bytes that the services of the target have written to their logs.
    pub fn logged(&self) -> u64 {
        self.services.iter().map(Service::logged).sum()
    }

    /// Service that runs the balancer before the replicas; `None` without a balancer.
    pub fn balancer(&self) -> Option<&Service> {
        self.balancer.as_ref().map(|balancer| &balancer.service)
    }

    /// Returns the number of responses of each replica since the start, in the order of
    /// [`Target::services`]; empty without a balancer.
    pub async fn responses(&self) -> Result<Vec<u64>, LabError> {
        match &self.balancer {
            Some(balancer) => balancer.responses().await,
            None => Ok(Vec::new()),
        }
    }

    /// Targets that this target sends requests to.
    pub fn upstreams(&self) -> &[Self] {
        &self.upstreams
    }

    /// Returns an error that shows the log, if a service of the target or of an upstream has ended
    /// by itself.
    pub fn lost(&mut self) -> Option<LabError> {
        let balancer = self.balancer.iter_mut().map(|balancer| &mut balancer.service);
        let upstreams = self.upstreams.iter_mut().flat_map(|upstream| &mut upstream.services);
        self.services.iter_mut().chain(balancer).chain(upstreams).find_map(Service::lost)
    }

    /// Ends the balancer, then the target and then its upstreams, and returns when no process of
    /// them is left.
    pub async fn stop(self) -> Result<(), LabError> {
        let mut stopped = Ok(());
        if let Some(balancer) = self.balancer {
            stopped = balancer.service.stop().await;
        }
        let mut stopping: JoinSet<_> = self.services.into_iter().map(Service::stop).collect();
        while let Some(result) = stopping.join_next().await {
            stopped = stopped.and(result.unwrap_or(Ok(())));
        }
        for upstream in self.upstreams.into_iter().flat_map(|upstream| upstream.services) {
            stopped = stopped.and(upstream.stop().await);
        }
        stopped
    }
}

/// A server that has been started.
struct Started {
    starting: Starting<Spec, HealthCheck>,
    /// Socket on which it listens; `None` if it listens on its port.
    socket: Option<PathBuf>,
    profiler: Option<Profiler>,
}

type Spec = Box<dyn Fn(u16) -> ServiceSpec + Send + Sync>;

/// A target whose processes have been started. [`StartingTarget::ready`] waits until the target
/// answers.
pub struct StartingTarget {
    name: String,
    /// Port on which the server listens in its container.
    inner_port: u16,
    project: Option<Arc<Project>>,
    /// The target, or each of its replicas.
    starting: Vec<Started>,
    /// Settings of the balancer, which starts when the replicas answer; `None` without a balancer.
    balancer: Option<Setup>,
    upstreams: Vec<Target>,
}

impl StartingTarget {
    /// Waits until the target and its backends answer. Starts the balancer once all replicas answer.
    pub async fn ready(self) -> Result<Target, LabError> {
        let Self { name, inner_port, project, starting, balancer, upstreams } = self;
        let (mut services, mut addresses, mut url) = (Vec::new(), Vec::new(), String::new());
        let mut profilers = Vec::new();
        let mut address;
        for Started { starting, socket, profiler } in starting {
            let (port, service) = starting.ready().await?;
            profilers.extend(profiler);
            services.push(place(project.as_ref(), service).await?);
            (url, address) = match socket {
                None => {
                    (format!("http://127.0.0.1:{port}"), Address::Port(format!("127.0.0.1:{port}")))
                }
                Some(socket) => (ServerUrl::of_socket(&socket), Address::Socket(socket)),
            };
            addresses.push(address);
        }
        let Some(setup) = balancer else {
            return Ok(Target { name, url, services, profilers, balancer: None, upstreams });
        };
        if let Some(project) = &project {
            addresses.clear();
            for service in &services {
                let address = project.address(service.name(), inner_port).await?;
                addresses.push(Address::Port(address));
            }
        }
        let balancer = Balancer::start(setup, addresses).await?;
        let url = balancer.url.clone();
        Ok(Target { name, url, services, profilers, balancer: Some(balancer), upstreams })
    }
}

impl Lab {
    /// Starts a target of this size on a free port, and waits until the target and its backends
    /// answer. `log` names the file for the target's output.
    pub async fn start_target(
        &self,
        name: &str,
        log: &str,
        size: Size<'_>,
    ) -> Result<Target, LabError> {
        (self.progress)(&format!("starting {name}"));
        self.launch_target(name, log, None, size).await?.ready().await
    }

    /// Starts the upstreams of a target, and waits until they answer. Then starts the target's
    /// processes, on this port or a free one, without waiting until the target answers. With
    /// replicas, the port is that of the balancer. Each upstream has as many worker processes as the
    /// target, but no replicas, and not the limits of its size.
    pub async fn launch_target(
        &self,
        name: &str,
        log: &str,
        port: Option<u16>,
        size: Size<'_>,
    ) -> Result<StartingTarget, LabError> {
        let mut target = self.manifest.target(name)?.clone();
        let mut upstreams = Vec::new();
        for (variable, upstream) in &target.entry.upstreams {
            let log = log.replace(".log", &format!("-{upstream}.log"));
            let size = Size { backends: size.backends, ..Size::of_workers(size.workers) };
            let started = self.launch_alone(self.manifest.target(upstream)?, &log, None, size)?;
            upstreams.push((variable.clone(), started.ready().await?));
        }
        for (variable, upstream) in &upstreams {
            let url = match self.runner.project() {
                None => upstream.url.clone(),
                Some(project) => {
                    let port = self.manifest.target(&upstream.name)?.entry.port;
                    format!("http://{}", project.address(&upstream.name, port).await?)
                }
            };
            target.entry.env.insert(variable.clone(), url);
        }
        let upstreams = upstreams.into_iter().map(|(_, upstream)| upstream).collect();
        let Some(replicas) = size.replicas else {
            let started = self.launch_alone(&target, log, port, size)?;
            return Ok(StartingTarget { upstreams, ..started });
        };
        let setup = Setup {
            program: self.balancer.clone(),
            cpus: self.options.cpus.backends.clone(),
            log: self.options.logs.join(log.replace(".log", "-balancer.log")),
            port,
            project: self.runner.project().cloned(),
            client: self.health.http1.clone(),
            probe: HealthCheck::of(&self.health, &target.entry.ready),
        };
        let (name, project) = (target.name.clone(), setup.project.clone());
        let inner_port = target.entry.port;
        let start = |number: u32| {
            let log = log.replace(".log", &format!("-replica-{number}.log"));
            let log = self.options.logs.join(log);
            self.start(&Instance { target: &target, size, replica: Some(number), log }, None)
        };
        let starting = (1..=replicas).map(start).collect::<Result<_, _>>()?;
        Ok(StartingTarget { name, inner_port, project, starting, balancer: Some(setup), upstreams })
    }

    /// Starts a target's processes, on this port or a free one, without its upstreams and without
    /// replicas.
    fn launch_alone(
        &self,
        target: &TargetSpec,
        log: &str,
        port: Option<u16>,
        size: Size<'_>,
    ) -> Result<StartingTarget, LabError> {
        let (name, project) = (target.name.clone(), self.runner.project().cloned());
        let log = self.options.logs.join(log);
        let starting = vec![self.start(&Instance { target, size, replica: None, log }, port)?];
        let inner_port = target.entry.port;
        let upstreams = Vec::new();
        Ok(StartingTarget { name, inner_port, project, starting, balancer: None, upstreams })
    }

    /// Starts the processes of a server, on this port or a free one, unless it listens on a socket.
    fn start(&self, server: &Instance<'_>, port: Option<u16>) -> Result<Started, LabError> {
        let Instance { target, size, .. } = server;
        let folder = match &self.runner {
            Runner::Process(_) => Some(own_folder(target)?),
            Runner::Podman { .. } => None,
        };
        let path = folder.as_ref().map(|folder| folder.path().to_owned());
        let spec = match &self.runner {
            Runner::Process(python) => self.process_spec(python, server, path.clone())?,
            Runner::Podman { podman, .. } => {
                let project = Arc::clone(podman.project());
                match self.home.is_own() {
                    true => self.image_spec(project, server)?,
                    false => self.compose_spec(project, server)?,
                }
            }
        };
        let socket = path.as_ref().and_then(|folder| target.socket_in(folder));
        if let Some(socket) = &socket {
            if port.is_some() {
                return Err(LabError::Missing {
                    service: target.name.clone(),
                    what: "it listens on a socket, and on no port".to_owned(),
                    help: "leave out the port".to_owned(),
                });
            }
            SocketAddr::from_pathname(socket).map_err(|_| LabError::Missing {
                service: target.name.clone(),
                what: format!(
                    "the system allows no socket at a path as long as {}",
                    socket.display()
                ),
                help: "set TMPDIR to a folder with a shorter path".to_owned(),
            })?;
        }
        let clients = match &socket {
            None => self.health.clone(),
            Some(_) => HealthClients::new(socket.clone())?,
        };
        let probe = HealthCheck::of(&clients, &target.entry.ready);
        let limit = start_limit(target, size.replicas.unwrap_or(1));
        let starting = Starting::on(port, spec, probe, limit)?;
        // From now on, the guard of the service removes the folder.
        folder.map(TempDir::keep);
        let profiler = profiler(*size, path.as_deref());
        let starting = starting.within(self.runner.project().cloned());
        Ok(Started { starting, socket, profiler })
    }

    /// Checks that all backends run for whose URL a target's command and environment ask.
    fn check_backends(&self, target: &TargetSpec, size: Size<'_>) -> Result<(), LabError> {
        let running = self.backends();
        let runs = |backend: &Backend| {
            size.backends.contains(backend) && running.iter().any(|(one, _)| one == backend)
        };
        let missing = target.backends().into_iter().find(|backend| !runs(backend));
        missing.map_or(Ok(()), |backend| {
            Err(LabError::Missing {
                service: target.name.clone(),
                what: format!("its `env` has {{{backend}}}, but {backend} does not run"),
                help: format!("add \"{backend}\" to `backends` of the scenario"),
            })
        })
    }

    /// CPU and memory limits of a target's container. `own` are the limits of the target's size.
    pub fn target_limits(&self, target: &TargetSpec, own: Limits) -> Limits {
        self.options.runtime.target_limits(own, target.entry.limits())
    }
}

#[cfg(test)]
mod tests;
