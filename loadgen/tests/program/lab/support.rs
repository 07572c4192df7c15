//! Projects for tests of the lab, and a look at processes from the outside.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use loadgen::lab::{Home, Python, service};
use tempfile::TempDir;
use tokio::sync::OnceCell;

pub const LOADGEN: &str = env!("CARGO_BIN_EXE_loadgen");

/// Creates a separate project with the real targets, so that tests do not meet each other's labs.
pub async fn project() -> TempDir {
    let (project, real) = bare_project().await;
    symlink(real.root().join("targets"), project.path().join("targets")).unwrap();
    project
}

/// Creates a project with other targets.
pub async fn project_with(manifest: &str) -> TempDir {
    let (project, real) = bare_project().await;
    let targets = project.path().join("targets");
    fs::create_dir(&targets).unwrap();
    symlink(real.schema(), targets.join("schema.sql")).unwrap();
    fs::write(targets.join("targets.toml"), manifest).unwrap();
    project
}

/// Runs services under guards of the real binary.
pub fn guards() {
    service::use_guard_program(Path::new(LOADGEN));
}

/// Creates a project without targets. The Python environment is
/// created once, in the real project, and shared.
async fn bare_project() -> (TempDir, Home) {
    static MADE: OnceCell<()> = OnceCell::const_new();
    guards();
    let real = Home::find().unwrap();
    let make = async {
        Python::prepare(&real, &|what| eprintln!("{what}")).await.unwrap();
    };
    MADE.get_or_init(|| make).await;
    let project = tempfile::tempdir().unwrap();
    for name in ["pyproject.toml", "uv.lock", ".venv"] {
        symlink(real.root().join(name), project.path().join(name)).unwrap();
    }
    let uv = real.cache().unwrap().join("uv");
    if uv.exists() {
        fs::create_dir(project.path().join(".loadgen")).unwrap();
        symlink(uv, project.path().join(".loadgen/uv")).unwrap();
    }
    (project, real)
}

/// Returns a command that runs `loadgen` in a project.
pub fn loadgen(project: &Path) -> Command {
    let mut command = Command::new(LOADGEN);
    command.current_dir(project).env_remove("LOADGEN_HOME");
    command
}

/// A process of a test. The start time tells it from a later process with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    parent: i32,
    start: String,
}

impl Process {
    pub fn find(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After "pid (name) " follow the state, the parent, and as the 20th field the start time.
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let alive = fields[0] != "Z";
        alive.then(|| Self {
            pid,
            parent: fields[1].parse().unwrap(),
            start: fields[19].to_owned(),
        })
    }

    pub fn is_alive(&self) -> bool {
        Self::find(self.pid).is_some_and(|found| found.start == self.start)
    }

    pub fn command_line(&self) -> String {
        fs::read_to_string(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default()
    }

    pub fn name(&self) -> String {
        fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default().trim().to_owned()
    }
}

/// Returns all processes below `root`.
pub fn below(root: u32) -> Vec<Process> {
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let all: Vec<_> =
        names.filter_map(|name| Process::find(name.to_str()?.parse().ok()?)).collect();
    let mut parents = vec![root.cast_signed()];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        for child in children {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// Waits until all of these processes are gone. Panics after 10 s.
pub fn assert_gone(processes: &[Process]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left: Vec<_> = processes.iter().filter(|process| process.is_alive()).collect();
        if left.is_empty() {
            return;
        }
        let names: Vec<_> = left.iter().map(|process| process.name()).collect();
        assert!(Instant::now() < deadline, "still there: {names:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a request, and returns the status and the body of the answer.
pub fn http(url: &str, request: &str, body: &str) -> (u16, String) {
    let address = url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let length = body.len();
    write!(
        connection,
        "{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
