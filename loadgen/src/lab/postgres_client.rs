//! Asking a PostgreSQL server.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use super::listener::listens;
use super::logs::{MESSAGE_LINES, tail_of};
use super::podman::Project;

/// The user and the database that targets get.
pub const NAME: &str = "loadgen";

/// A statement that takes longer does not end any more.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A transaction that only reads may still run a program (`COPY … TO PROGRAM`); the role may not.
pub const ONLY_READING: &str =
    "-c default_transaction_read_only=on -c role=pg_read_all_data -c statement_timeout=60s";

/// Where `psql` is.
#[derive(Debug, Clone)]
pub enum Psql {
    /// Here.
    Program(PathBuf),
    /// In PostgreSQL's own container.
    Container { project: Arc<Project> },
}

/// How to ask a PostgreSQL of ours something: through its `psql`.
#[derive(Debug, Clone)]
pub struct Client {
    pub(super) psql: Psql,
    pub(super) password: String,
    pub(super) port: u16,
    /// Settings of its sessions, as `PGOPTIONS` has them.
    pub(super) settings: &'static str,
}

impl Client {
    /// The same, for a server on this port.
    pub(super) fn on_port(&self, port: u16) -> Self {
        Self { port, ..self.clone() }
    }

    /// The same, as one who may read everything and write nothing.
    pub(super) fn only_reading(&self) -> Self {
        Self { settings: ONLY_READING, ..self.clone() }
    }

    /// Whether queries are answered.
    pub(super) async fn ping(&self) -> Result<(), String> {
        // Cheaper than a psql for each time that nobody listens yet.
        listens(self.port).await?;
        self.psql("postgres", &["-c", "SELECT 1"]).await.map(drop)
    }

    /// psql with its environment and its port.
    fn command(&self) -> Command {
        let environment =
            [("PGPASSWORD", self.password.as_str()), ("LC_ALL", "C"), ("PGOPTIONS", self.settings)];
        match &self.psql {
            Psql::Program(program) => {
                let mut command = Command::new(program);
                // By SCRAM the server shows, too, that it knows the password. From psql 16 on.
                command.env_clear().env("PGREQUIREAUTH", "scram-sha-256").envs(environment);
                command.arg(format!("--port={}", self.port));
                command
            }
            Psql::Container { project } => {
                let mut command = Command::new("podman");
                command.envs(environment).arg("exec");
                // From podman's own environment: others can't see them there.
                command.args(environment.map(|(name, _)| format!("--env={name}")));
                command.arg(project.container_name("postgres")).arg("psql");
                command
            }
        }
    }

    /// Runs psql: its output, or what it said instead, as it reads after "it" or a name.
    pub(super) async fn psql(&self, database: &str, what: &[&str]) -> Result<String, String> {
        let mut command = self.command();
        command.args(["--host=127.0.0.1", "--no-psqlrc", "--no-password", "--quiet", "--no-align"]);
        command.args(["--tuples-only", "--set=ON_ERROR_STOP=1"]);
        command.arg(format!("--username={NAME}"));
        command.arg(format!("--dbname={database}")).args(what);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = match tokio::time::timeout(STATEMENT_TIMEOUT, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(format!("psql did not start: {error}")),
            Err(_) => {
                return Err(format!("did not answer {what:?} within {STATEMENT_TIMEOUT:?}"));
            }
        };
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let said = tail_of(&String::from_utf8_lossy(&output.stderr), MESSAGE_LINES).join("\n");
            Err(said)
        }
    }
}
