//! Runs targets and backends in containers with limits, as compose/compose.yaml defines them.
//!
//! Each run is a separate project of podman-compose with its own name, so that concurrent runs do
//! not collide. podman-compose creates a container, and `podman start --attach` runs it like any
//! other [service]: under a guard, with its output in a log. The containers' processes belong to
//! podman, not to loadgen, so a guard ends them by `podman rm`. One more guard, the project's,
//! removes everything that is left, including network and volumes.
//!
//! [service]: super::service

mod compose;
mod container;
pub mod doctor;
mod images;
mod info;
mod project;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compose::Compose;
use container::Packages;
pub use images::Images;
use info::Info;
pub(super) use info::container_ulimits;
pub use project::{Containers, Project};
use rand::TryRng as _;
use rand::rngs::SysRng;

use super::error::LabError;
use super::home::Home;
use super::options::Options;
use super::service::Service;
use super::service::programs::user_variables;
use crate::lab::install::run;
use crate::lab::manifest::TargetSpec;
use crate::scenario::{Backend, Limits};

/// A project of podman-compose that is up. Dropping this value removes the project's containers,
/// networks and volumes.
#[derive(Debug)]
pub struct Podman {
    project: Arc<Project>,
    /// Service that does nothing itself, but whose guard removes the whole project at the end.
    holder: Service,
    is_own: bool,
}

/// Compose file for a user's own targets: backends and load balancer.
const OWN: &str = include_str!("own.yaml");

/// Writes the compose file for a user's own targets to this folder. Returns its path.
fn own_file(folder: &Path) -> Result<PathBuf, LabError> {
    let file = folder.join("compose.yaml");
    fs::write(&file, OWN).map_err(LabError::file("write", &file))?;
    std::path::absolute(&file).map_err(LabError::file("find", &file))
}

impl Podman {
    /// Checks the requirements of containers, installs podman-compose and builds the image of the
    /// Python targets if missing, and creates a project.
    ///
    /// Starts no target and no backend. One short-lived container lists the packages of the image.
    pub async fn prepare(
        home: &Home,
        options: &Options,
        backends: Limits,
        password: &str,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, LabError> {
        let podman = info::find()?;
        let info = Info::ask(&podman).await?;
        for (_, found) in info.checks() {
            found?;
        }
        let compose = Compose::find_or_install(home, progress).await?;
        let images = Images::of(home);
        let name = project_name()?;
        let file = match home.is_own() {
            true => own_file(&options.logs)?,
            false => home.compose(),
        };
        if !home.is_own() && !podman_has(&podman, &images.targets).await {
            progress("building the image of the Python targets");
            let argv = compose.command(&name, &[&file], &["build", "sanic"]);
            get(home, argv, "cannot build the image of the Python targets").await?;
        }
        let packages = match home.is_own() {
            true => None,
            false => Some(Packages::of(&podman, &images.targets).await?),
        };
        let mut env = inherited();
        env.extend(variables(options, backends, password));
        let root = home.root().to_owned();
        env.push(("PROJECT_FOLDER".to_owned(), root.to_string_lossy().into_owned()));
        let project = Project { name, podman, compose, file, root, env, info, images, packages };
        let holder = Service::start(&project.holder(&options.logs))?;
        project.create_network().await?;
        Ok(Self { project: Arc::new(project), holder, is_own: home.is_own() })
    }

    /// Folder of the user's own project; `None` for the lab's project.
    pub(super) fn own_root(&self) -> Option<&Path> {
        self.is_own.then_some(self.project.root.as_path())
    }

    /// Builds the image of a target if it is missing. Returns the image, under `target` if all
    /// Python targets share the image, and otherwise under the target's name.
    pub async fn target(
        &self,
        home: &Home,
        target: &TargetSpec,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(String, String), LabError> {
        if let Some(image) = &target.entry.image {
            let name = &target.name;
            return match podman_has(&self.project.podman, image).await {
                true => Ok((name.clone(), image.clone())),
                false => Err(LabError::Podman {
                    what: format!("{name}: the image {image} is not on this machine"),
                    output: Vec::new(),
                    help: format!(
                        "build it, such as with `podman build -t {image} .`, or get it with `podman pull {image}`"
                    ),
                }),
            };
        }
        // `prepare` has built the shared image.
        if target.shares_image() {
            return Ok(("target".to_owned(), self.project.images.targets.clone()));
        }
        let image = self.built(home, &target.name, progress).await?;
        Ok((target.name.clone(), image))
    }

    /// Builds the image of a service that has its own image, if the image is missing. Returns the
    /// image.
    pub(super) async fn built(
        &self,
        home: &Home,
        service: &str,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<String, LabError> {
        let Project { podman, images, compose, name: project, file, .. } = &*self.project;
        let image = images.of_service(service);
        if self.is_own && !podman_has(podman, &image).await {
            return Err(LabError::Podman {
                what: format!("the image {image} of the {service} is not on this machine"),
                output: Vec::new(),
                help: format!(
                    "build it in a checkout of loadgen: `podman build -t {image} -f compose/{service}.Containerfile .`"
                ),
            });
        }
        if !podman_has(podman, &image).await {
            progress(&format!("building the image of {service}"));
            // podman-compose ignores services whose profile is not chosen.
            let words = ["--profile", "servers", "--profile", "replicas", "build", service];
            let argv = compose.command(project, &[file], &words);
            get(home, argv, &format!("cannot build the image of {service}")).await?;
        }
        Ok(image)
    }

    /// Pulls a backend's image if it is missing.
    pub async fn image(
        &self,
        home: &Home,
        backend: Backend,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), LabError> {
        let Project { podman, images, .. } = &*self.project;
        let image = images.backend(backend);
        if podman_has(podman, image).await {
            return Ok(());
        }
        progress(&format!("pulling {image}"));
        let argv = ["podman", "pull", "--quiet", image].map(OsString::from).to_vec();
        get(home, argv, &format!("cannot pull the image {image}")).await
    }

    /// Project in which to start containers.
    pub fn project(&self) -> &Arc<Project> {
        &self.project
    }

    /// Removes all containers, networks and volumes of the project, and returns when none is left.
    pub async fn stop(self) -> Result<(), LabError> {
        self.holder.stop().await
    }
}

/// Creates a project's name from the number of this process, which shows whose the containers are,
/// and six random hexadecimal digits: processes in different containers may have the same number.
fn project_name() -> Result<String, LabError> {
    let random = SysRng.try_next_u32().map_err(|error| LabError::Io {
        what: "generate a random number".to_owned(),
        source: std::io::Error::other(error.to_string()),
    })?;
    Ok(format!("loadgen-{}-{:06x}", std::process::id(), random >> 8))
}

/// Returns loadgen's environment for podman, which needs the user's settings: podman's
/// configuration, a proxy, the session of systemd. Adds the folders of iptables to the PATH,
/// because podman's network program searches the PATH for iptables and not every user's PATH has
/// these folders.
fn inherited() -> Vec<(String, String)> {
    user_variables()
        .map(|(key, value)| match key.as_str() {
            "PATH" => (key, format!("{value}:/usr/sbin:/sbin")),
            _ => (key, value),
        })
        .collect()
}

/// Variables of compose.yaml that are the same for all containers.
fn variables(options: &Options, backends: Limits, password: &str) -> Vec<(String, String)> {
    let [files, processes] = container_ulimits().map(|limit| limit.to_string());
    let list = |cpus: &[usize]| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let pairs = [
        ("COMPOSE_PROFILES", "servers,replicas".to_owned()),
        ("NOFILE", files),
        ("NPROC", processes),
        ("HEALTH_INTERVAL", "disable".to_owned()),
        ("TARGET_CPUSET", list(&options.cpus.target)),
        ("BACKEND_CPUSET", list(&options.cpus.backends)),
        ("BACKEND_CPUS", backends.cpus.map(|cpus| cpus.to_string()).unwrap_or_default()),
        ("BACKEND_MEMORY", backends.memory.map(|memory| memory.to_string()).unwrap_or_default()),
        ("POSTGRES_PASSWORD", password.to_owned()),
        ("REDIS_PASSWORD", password.to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Returns the name of the variable in compose.yaml that sets a property of a target, such as
/// `GO_PROXY_PORT`.
pub fn variable(target: &str, property: &str) -> String {
    format!("{}_{property}", target.to_uppercase().replace('-', "_"))
}

async fn podman_has(podman: &Path, image: &str) -> bool {
    info::podman(podman, &["image", "exists", image]).await.is_ok()
}

/// Runs the command `argv`, which pulls or builds an image. `failed` is the error message if the
/// command fails.
async fn get(home: &Home, argv: Vec<OsString>, failed: &str) -> Result<(), LabError> {
    let log = home.cache()?.join("images.log");
    let name = "podman";
    match run(home, name, argv, &log).await? {
        Ok(()) => Ok(()),
        Err(output) => Err(LabError::Podman {
            what: failed.to_owned(),
            output,
            help: format!(
                "see the whole log in {}; without access to a registry, `make images-offline` creates the images",
                log.display()
            ),
        }),
    }
}
