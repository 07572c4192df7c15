//! Sends queries to a PostgreSQL server.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use crate::lab::podman::Project;
use crate::lab::ready::Probe;
use crate::lab::service::listener::listens;
use crate::lab::service::logs::{MESSAGE_LINES, tail_of};

/// Name of the PostgreSQL user and of the database that targets use.
pub(in crate::lab::backends) const NAME: &str = "loadgen";

/// Timeout of a statement. A statement that takes longer is not expected to end.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Session settings for read-only access. The settings also restrict the role, because a read-only
/// transaction may still run a program (`COPY … TO PROGRAM`).
const ONLY_READING: &str =
    "-c default_transaction_read_only=on -c role=pg_read_all_data -c statement_timeout=60s";

/// Location of `psql`, PostgreSQL's command-line client.
#[derive(Debug, Clone)]
pub(super) enum Psql {
    /// Path of `psql` on this machine.
    Program(PathBuf),
    /// `psql` in PostgreSQL's own container.
    Container { project: Arc<Project> },
}

/// Client for a PostgreSQL that loadgen started. The client runs `psql`.
#[derive(Debug, Clone)]
pub struct Client {
    pub(super) psql: Psql,
    pub(super) password: String,
    pub(super) port: u16,
    /// Settings of the client's sessions, in the form of `PGOPTIONS`.
    pub(super) settings: &'static str,
}

impl Client {
    /// Returns the same client for a server on this port.
    pub(super) fn on_port(&self, port: u16) -> Self {
        Self { port, ..self.clone() }
    }

    /// Returns the same client with sessions that may read everything and write nothing.
    pub(super) fn only_reading(&self) -> Self {
        Self { settings: ONLY_READING, ..self.clone() }
    }

    /// Builds the psql command with its environment and, for a program on this machine, the port.
    fn command(&self) -> Command {
        let environment =
            [("PGPASSWORD", self.password.as_str()), ("LC_ALL", "C"), ("PGOPTIONS", self.settings)];
        match &self.psql {
            Psql::Program(program) => {
                let mut command = Command::new(program);
                // With SCRAM the server, too, proves that it knows the password. psql supports this
                // variable from version 16.
                command.env_clear().env("PGREQUIREAUTH", "scram-sha-256").envs(environment);
                command.arg(format!("--port={}", self.port));
                command
            }
            Psql::Container { project } => {
                let mut command = Command::new("podman");
                command.envs(environment).arg("exec");
                // podman takes the values from its own environment, which other users cannot see.
                command.args(environment.map(|(name, _)| format!("--env={name}")));
                command.arg(project.container_name("postgres")).arg("psql");
                command
            }
        }
    }

    /// Runs `psql` with the arguments `what`. Returns the output, or the error as a phrase that
    /// follows "it" or a name.
    pub(super) async fn psql(&self, database: &str, what: &[&str]) -> Result<String, String> {
        self.psql_within(STATEMENT_TIMEOUT, database, what).await
    }

    /// Runs `psql` like [`Self::psql`], with this time limit.
    pub(super) async fn psql_within(
        &self,
        limit: Duration,
        database: &str,
        what: &[&str],
    ) -> Result<String, String> {
        let mut command = self.command();
        command.args(["--host=127.0.0.1", "--no-psqlrc", "--no-password", "--quiet", "--no-align"]);
        command.args(["--tuples-only", "--set=ON_ERROR_STOP=1"]);
        command.arg(format!("--username={NAME}"));
        command.arg(format!("--dbname={database}")).args(what);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = match tokio::time::timeout(limit, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(format!("psql did not start: {error}")),
            Err(_) => {
                return Err(format!("did not answer {what:?} within {limit:?}"));
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

impl Probe for Client {
    /// Checks that the server on this port answers queries.
    async fn check(&self, port: u16) -> Result<(), String> {
        // Cheaper than running psql each time while no process listens yet.
        listens(port).await?;
        self.on_port(port).psql("postgres", &["-c", "SELECT 1"]).await.map(drop)
    }
}
