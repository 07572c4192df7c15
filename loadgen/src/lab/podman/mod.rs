//! Runs targets and backends in containers with limits, as compose/compose.yaml defines them.
//!
//! Each run is a separate project of podman-compose with its own name, so that concurrent runs do
//! not collide. podman-compose creates a container, and `podman start --attach` runs it like any
//! other [service]: under a guard, with its output in a log. The containers' processes belong to
//! podman, not to loadgen, so a guard ends them by `podman rm`. One more guard, the project's,
//! removes everything that is left, including network and volumes.
//!
//! [service]: super::service

mod cgroup;
mod compose;
mod container;
pub mod doctor;
mod images;
mod info;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

pub use cgroup::{Cgroup, Usage};
use compose::Compose;
pub use container::Container;
use container::Packages;
pub use images::Images;
use info::Info;
pub(super) use info::container_ulimits;
use rand::TryRng as _;
use rand::rngs::SysRng;

use super::Options;
use super::error::LabError;
use super::home::Home;
use super::service::{Service, ServiceSpec};
use crate::lab::install::run;
use crate::lab::manifest::TargetSpec;
use crate::scenario::{Backend, Limits};

/// Time that a container has to end after a request to end, in seconds.
const STOP_S: &str = "2";

/// Maximum times that podman may take on a busy machine: `END` to end a container, and `DOWN` to
/// take down a whole project.
const END: Duration = Duration::from_secs(20);
const DOWN: Duration = Duration::from_secs(40);

/// Shell script that removes all containers, networks and volumes with a project's label.
/// `podman-compose down` would ask for each service of the file in turn, and would leave volumes
/// without a name.
const TAKE_DOWN: &str = "\
    label=label=io.podman.compose.project=$0
    podman ps --all --quiet --filter \"$label\" | xargs -r podman rm --force --volumes --time 2
    podman network ls --quiet --filter \"$label\" | xargs -r podman network rm --force
    podman volume ls --quiet --filter \"$label\" | xargs -r podman volume rm --force";

/// A project of podman-compose that is up. Dropping this value removes the project's containers,
/// networks and volumes.
#[derive(Debug)]
pub struct Podman {
    project: Arc<Project>,
    /// Service that does nothing itself, but whose guard removes the whole project at the end.
    holder: Service,
}

/// A project of podman-compose: settings that are the same for all containers of a run.
#[derive(Debug)]
pub struct Project {
    name: String,
    podman: PathBuf,
    compose: Compose,
    file: PathBuf,
    root: PathBuf,
    /// Environment of podman and podman-compose: loadgen's own environment, and the variables of
    /// compose.yaml.
    env: Vec<(String, String)>,
    info: Info,
    images: Images,
    /// Packages that are installed in the image of the Python targets.
    packages: Packages,
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
        let file = home.compose();
        if !podman_has(&podman, &images.targets).await {
            progress("building the image of the Python targets");
            let argv = compose.command(&name, &[&file], &["build", "sanic"]);
            get(home, argv, "cannot build the image of the Python targets").await?;
        }
        let packages = Packages::of(&podman, &images.targets).await?;
        let mut env = inherited();
        env.extend(variables(options, backends, password));
        let root = home.root().to_owned();
        let project = Project { name, podman, compose, file, root, env, info, images, packages };
        let holder = Service::start(&project.holder(&options.logs))?;
        project.create_network().await?;
        Ok(Self { project: Arc::new(project), holder })
    }

    /// Builds the image of a target if it is missing. Returns the image, under `target` if all
    /// Python targets share the image, and otherwise under the target's name.
    pub async fn target(
        &self,
        home: &Home,
        target: &TargetSpec,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(String, String), LabError> {
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

impl Project {
    /// Builds the specification that runs a service of compose.yaml in a container under a guard.
    /// `variables` are additional variables of compose.yaml, and `log` is the file for the
    /// container's output.
    pub fn spec(&self, service: &str, variables: &[(&str, String)], log: PathBuf) -> ServiceSpec {
        self.spec_with(None, service, variables, log)
    }

    /// Writes a compose file to `file` that adds the service `copy`, which is like `service` of
    /// compose.yaml. Returns the path of the file.
    pub(super) fn copy_of(
        &self,
        service: &str,
        copy: &str,
        file: &Path,
    ) -> Result<PathBuf, LabError> {
        let text = format!("services:\n  {copy}:\n    extends:\n      service: {service}\n");
        fs::write(file, text).map_err(LabError::file("write", file))?;
        std::path::absolute(file).map_err(LabError::file("find", file))
    }

    /// Builds the specification like [`Project::spec`], for a service that the compose file `more`
    /// may add to those of compose.yaml.
    pub(super) fn spec_with(
        &self,
        more: Option<&Path>,
        service: &str,
        variables: &[(&str, String)],
        log: PathBuf,
    ) -> ServiceSpec {
        let container = self.container_name(service);
        // Runs podman-compose, then replaces the shell by `podman start`, whose output and exit
        // code are those of the service.
        let script = format!("\"$@\" && exec podman start --attach {container}");
        let create = ["up", "--no-start", "--no-deps", "--no-build", "--no-recreate", service];
        let argv = ["sh", "-c", &script, "podman-compose"].map(OsString::from).into_iter();
        let files = [Some(self.file.as_path()), more];
        let files: Vec<&Path> = files.into_iter().flatten().collect();
        let argv = argv.chain(self.compose.command(&self.name, &files, &create));
        let mut spec = self.service_spec(service, argv.collect(), log);
        let own = variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        spec.env.extend(own);
        let end = ["rm", "--force", "--volumes", "--time", STOP_S, &container];
        spec.options.end_by = self.podman_command(&end);
        spec.options.grace = END;
        spec
    }

    /// Builds the specification of a service that only sleeps, and whose guard removes the whole
    /// project at the end.
    fn holder(&self, logs: &Path) -> ServiceSpec {
        let argv = ["sleep", "infinity"].map(OsString::from).to_vec();
        let mut spec = self.service_spec("containers", argv, logs.join("podman.log"));
        spec.options.end_by = ["sh", "-c", TAKE_DOWN, &self.name].map(OsString::from).to_vec();
        spec.options.grace = DOWN;
        spec
    }

    /// Creates the network of the project, as podman-compose would with the first container.
    /// Containers that start at the same time would each create the network, and all but one would
    /// fail.
    async fn create_network(&self) -> Result<(), LabError> {
        let labels = ["io.podman.compose.project", "com.docker.compose.project"];
        let [podman_label, docker_label] = labels.map(|label| format!("{label}={}", self.name));
        let network = format!("{}_default", self.name);
        let words = ["--label", &podman_label, "--label", &docker_label, &network];
        let words = [&["network", "create"][..], &words].concat();
        let created = info::podman(&self.podman, &words).await;
        created.map(drop).map_err(|output| LabError::Podman {
            what: format!("podman cannot create the network {network}"),
            output,
            help: "run `loadgen lab doctor` to find the reason".to_owned(),
        })
    }

    fn service_spec(&self, name: &str, argv: Vec<OsString>, log: PathBuf) -> ServiceSpec {
        let mut spec = ServiceSpec::new(name, argv, &self.root, log);
        spec.env.clone_from(&self.env);
        spec
    }

    /// Finds the container of a service that has been started.
    pub async fn container(&self, service: &str) -> Result<Container, LabError> {
        Container::find(&self.podman, &self.container_name(service)).await
    }

    /// Returns the address, as host and port, at which other containers reach a target that has been
    /// started. The host is the container's address: aardvark-dns loses queries, and a proxy that
    /// looks up a name for each connection would wait for answers.
    pub async fn address(&self, service: &str) -> Result<String, LabError> {
        let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
        let name = self.container_name(service);
        let said = info::podman(&self.podman, &["inspect", "--format", format, &name]).await;
        let address =
            said.map(|said| said.trim().to_owned()).map_err(|output| LabError::Podman {
                what: format!("the address of the container {name} is unknown"),
                output,
                help: "another program may have removed the container".to_owned(),
            })?;
        Ok(format!("{address}:8000"))
    }

    /// Folder of this machine that is mounted at `place` in a service's container; `None` if the
    /// folder is not accessible.
    pub async fn volume(&self, service: &str, place: &str) -> Option<PathBuf> {
        let format = format!(
            "{{{{range .Mounts}}}}{{{{if eq .Destination \"{place}\"}}}}{{{{.Source}}}}{{{{end}}}}{{{{end}}}}"
        );
        let words = ["inspect", "--format", &format, &self.container_name(service)];
        let folder = PathBuf::from(info::podman(&self.podman, &words).await.ok()?.trim());
        folder.is_dir().then_some(folder)
    }

    /// Name that podman-compose gives the first container of a service.
    pub fn container_name(&self, service: &str) -> String {
        format!("{}_{service}_1", self.name)
    }

    /// Builds a command line that runs podman with the arguments `words`.
    pub fn podman_command(&self, words: &[&str]) -> Vec<OsString> {
        [self.podman.clone().into_os_string()]
            .into_iter()
            .chain(words.iter().map(OsString::from))
            .collect()
    }

    /// Packages that are installed in the image of the Python targets.
    pub fn packages(&self) -> &Packages {
        &self.packages
    }

    /// Describes podman, and the images of these backends and targets.
    pub async fn describe(
        &self,
        backends: &[Backend],
        targets: &BTreeMap<String, String>,
    ) -> Containers {
        let backends = backends.iter().map(|one| (one.to_string(), self.images.backend(*one)));
        let targets = targets.iter().map(|(name, image)| (name.clone(), image.as_str()));
        let mut images = BTreeMap::new();
        for (name, image) in backends.chain(targets) {
            let words = ["image", "inspect", "--format", "{{.Digest}}", image];
            if let Ok(digest) = info::podman(&self.podman, &words).await {
                images.insert(name, format!("{image}@{digest}"));
            }
        }
        Containers { podman: self.info.line(), images }
    }
}

/// Description of podman and the images, for the saved result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Containers {
    /// podman's version, its container runtime and its version of control groups.
    pub podman: String,
    /// Images with their digests, by name: `target` for the image of the Python targets, else the
    /// name of the target or backend.
    pub images: BTreeMap<String, String>,
}

/// Creates a project's name with six random hexadecimal digits, which distinguish the runs on a
/// machine.
fn project_name() -> Result<String, LabError> {
    let random = SysRng.try_next_u32().map_err(|error| LabError::Io {
        what: "generate a random number".to_owned(),
        source: std::io::Error::other(error.to_string()),
    })?;
    Ok(format!("loadgen-{:06x}", random >> 8))
}

/// Returns loadgen's environment for podman, which needs the user's settings: podman's
/// configuration, a proxy, the session of systemd. Adds the folders of iptables to the PATH,
/// because podman's network program searches the PATH for iptables and not every user's PATH has
/// these folders.
fn inherited() -> Vec<(String, String)> {
    let own = env::vars_os();
    own.filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
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
