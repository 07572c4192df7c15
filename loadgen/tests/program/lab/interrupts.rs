//! A run that is ended at any moment of its start leaves nothing:
//! no process, no folder, no shared memory.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use super::support::{LOADGEN, Process, assert_gone, below, project};
use crate::common::processes::signal;

/// Phases of the start: the log whose creation begins the phase, the number of moments at which a
/// run is ended, and the time between two moments.
const PHASES: [(&str, u64, Duration); 3] = [
    ("postgres-initdb.log", 10, Duration::from_millis(120)),
    ("postgres.log", 6, Duration::from_millis(40)),
    ("fastapi-1.log", 3, Duration::from_millis(300)),
];

/// Runs loadgen with a separate view of shared memory, and prints what is left there at the end.
/// After `kill -9`, the script waits until nothing is left, for at most `limit` seconds.
const IN_A_NAMESPACE: &str = r#"
    mount -t tmpfs none /dev/shm || exit 99
    limit=$1; shift
    "$@" >output 2>&1 & echo $! >pid; wait $!
    left() { tail -n +2 /proc/sysvipc/shm; ls /dev/shm; }
    for second in $(seq $limit); do test -z "$(left)" && ! test -e folder/loadgen-data-* && break; sleep 1; done
    left
"#;

const RUN: [&str; 7] = [
    "--scenario=insert_one",
    "--target=fastapi",
    "--rounds=1",
    "--duration=30s",
    "--no-calibrate",
    "--out=run",
    "--no-progress",
];

struct Run {
    place: TempDir,
    shell: Child,
}

impl Run {
    async fn start(temporary: &Path, limit_s: u32) -> Self {
        let place = project().await;
        std::os::unix::fs::symlink(temporary, place.path().join("folder")).unwrap();
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        std::os::unix::fs::symlink(scenarios, place.path().join("scenarios")).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--ipc", "--mount", "sh", "-c", IN_A_NAMESPACE, "sh", &limit_s.to_string()]);
        command.arg(LOADGEN).args(RUN).current_dir(place.path()).env("TMPDIR", temporary);
        let shell = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        Self { place, shell }
    }

    /// Sends a signal to loadgen when `phase` has lasted for `after`. Returns the processes that ran
    /// then.
    fn end(&self, phase: &str, after: Duration, how: Signal) -> Vec<Process> {
        let log = self.place.path().join("run").join(phase);
        let deadline = Instant::now() + Duration::from_secs(90);
        let pid = || fs::read_to_string(self.place.path().join("pid")).ok()?.trim().parse().ok();
        // The guard starts after the log exists: after SIGKILL before that, no process is left that
        // could remove the folder (docs/explanation/limits.md).
        while !log.exists() || pid().is_none_or(|pid| below(pid).is_empty()) {
            assert!(Instant::now() < deadline, "{phase} has not begun: {}", self.output());
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(after);
        let pid = pid().unwrap();
        let running = below(pid);
        signal(pid, how);
        running
    }

    fn output(&self) -> String {
        fs::read_to_string(self.place.path().join("output")).unwrap_or_default()
    }

    /// Returns the shared memory that the run has left.
    fn left(mut self) -> String {
        let mut left = String::new();
        self.shell.stdout.take().unwrap().read_to_string(&mut left).unwrap();
        assert_eq!(self.shell.wait().unwrap().code(), Some(0));
        left
    }
}

/// Returns whether this user may create namespaces.
fn may_have_namespaces() -> bool {
    let tried = Command::new("unshare").args(["--ipc", "--mount", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Returns the names in the folder for temporary files, except for those that stay: copies of
/// PostgreSQL's programs, for the next run, and uv's locks, one for each project.
fn folders(temporary: &Path) -> Vec<String> {
    let names = fs::read_dir(temporary).unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stays = |name: &String| name.starts_with("loadgen-postgres-") || name.starts_with("uv-");
    names.filter(|name| !stays(name)).collect()
}

/// Creates a folder that PostgreSQL's user can enter as well.
fn open_folder() -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

async fn nothing_is_left(how: Signal, limit_s: u32) {
    if !may_have_namespaces() {
        eprintln!("skipped: this user may not have namespaces of its own");
        return;
    }
    let temporary = open_folder();
    let mut faults = Vec::new();
    for (phase, moments, apart) in PHASES {
        for moment in 0..moments {
            let after = apart * u32::try_from(moment).unwrap();
            let run = Run::start(temporary.path(), limit_s).await;
            let running = run.end(phase, after, how);
            let left = run.left();
            assert_gone(&running);
            let folders = folders(temporary.path());
            if !left.is_empty() || !folders.is_empty() {
                faults.push(format!("{phase} after {after:?}: {left} {folders:?}"));
            }
            for folder in folders {
                let _ = fs::remove_dir_all(temporary.path().join(folder));
            }
        }
    }
    assert!(faults.is_empty(), "left behind:\n{}", faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_interrupted_at_its_start_leaves_nothing() {
    nothing_is_left(Signal::TERM, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_at_its_start_leaves_nothing() {
    nothing_is_left(Signal::KILL, 45).await;
}
