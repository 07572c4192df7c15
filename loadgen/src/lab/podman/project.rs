//! A project of podman-compose, in which the containers of a run are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::compose::Compose;
use super::container::{self, Packages};
use super::images::Images;
use super::info::{self, Info};
use crate::lab::error::LabError;
use crate::lab::machine::container::Container;
use crate::lab::service::ServiceSpec;
use crate::scenario::Backend;

/// Time that a container has to end after a request to end, in seconds.
const STOP_S: &str = "2";

/// Maximum time that podman may take on a busy machine to create and end a container, or to take down a
/// whole project.
const END: Duration = Duration::from_secs(60);

/// Shell script that removes all containers, networks and volumes with a project's label.
/// `podman-compose down` would ask for each service of the file in turn, and would leave volumes
/// without a name.
const TAKE_DOWN: &str = "\
    label=label=io.podman.compose.project=$0
    podman ps --all --quiet --filter \"$label\" | xargs -r podman rm --force --volumes --time 2
    podman network ls --quiet --filter \"$label\" | xargs -r podman network rm --force
    podman volume ls --quiet --filter \"$label\" | xargs -r podman volume rm --force";

/// A project of podman-compose: settings that are the same for all containers of a run.
#[derive(Debug)]
pub struct Project {
    pub(super) name: String,
    pub(super) podman: PathBuf,
    pub(super) compose: Compose,
    pub(super) file: PathBuf,
    pub(super) root: PathBuf,
    /// Environment of podman and podman-compose: loadgen's own environment, and the variables of
    /// compose.yaml.
    pub(super) env: Vec<(String, String)>,
    pub(super) info: Info,
    pub(super) images: Images,
    /// Packages that are installed in the image of the lab's Python targets; `None` for a user's own
    /// targets.
    pub(super) packages: Option<Packages>,
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
    pub(in crate::lab) fn copy_of(
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
    pub(in crate::lab) fn spec_with(
        &self,
        more: Option<&Path>,
        service: &str,
        variables: &[(&str, String)],
        log: PathBuf,
    ) -> ServiceSpec {
        let container = self.container_name(service);
        // Runs podman-compose, then replaces the shell by `podman start`, whose output and exit
        // code are those of the service. A shell that is asked to end waits for podman-compose, which
        // would otherwise create the container after the guard had removed it.
        let script = format!(
            "told=; trap told=1 TERM; \"$@\" && [ -z \"$told\" ] && exec podman start --attach {container}"
        );
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
    pub(super) fn holder(&self, logs: &Path) -> ServiceSpec {
        let argv = ["sleep", "infinity"].map(OsString::from).to_vec();
        let mut spec = self.service_spec("containers", argv, logs.join("podman.log"));
        spec.options.end_by = ["sh", "-c", TAKE_DOWN, &self.name].map(OsString::from).to_vec();
        spec.options.grace = END;
        spec
    }

    /// Creates the network of the project, as podman-compose would with the first container.
    /// Containers that start at the same time would each create the network, and all but one would
    /// fail.
    pub(super) async fn create_network(&self) -> Result<(), LabError> {
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
        container::find(&self.podman, &self.container_name(service)).await
    }

    /// Returns how long a service's container has run, in whole seconds; `None` if it has not started.
    pub(in crate::lab) async fn has_run(&self, service: &str) -> Option<Duration> {
        let words =
            ["inspect", "--format", "{{.State.StartedAt.Unix}}", &self.container_name(service)];
        // A container that has not started has the date of the year 1, which is negative.
        let started: u64 = info::podman(&self.podman, &words).await.ok()?.parse().ok()?;
        (UNIX_EPOCH + Duration::from_secs(started)).elapsed().ok()
    }

    /// Returns the address, as host and port, at which other containers reach a target that has been
    /// started, and listens on `port` of its container. The host is the container's address: aardvark-dns loses queries, and a proxy that
    /// looks up a name for each connection would wait for answers.
    pub async fn address(&self, service: &str, port: u16) -> Result<String, LabError> {
        let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
        let name = self.container_name(service);
        let said = info::podman(&self.podman, &["inspect", "--format", format, &name]).await;
        let address =
            said.map(|said| said.trim().to_owned()).map_err(|output| LabError::Podman {
                what: format!("the address of the container {name} is unknown"),
                output,
                help: "another program may have removed the container".to_owned(),
            })?;
        Ok(format!("{address}:{port}"))
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

    /// Packages that are installed in the image of the lab's Python targets; `None` for a user's own
    /// targets.
    pub fn packages(&self) -> Option<&Packages> {
        self.packages.as_ref()
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
