//! `loadgen guard` ends everything that its service has started.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::support::{LOADGEN, Process, assert_gone};
use crate::common::processes::signal;

/// A guard over a shell script that first prints the ids of the
/// processes to watch, one on each line.
struct Guarded {
    guard: Child,
    output: BufReader<ChildStdout>,
    processes: Vec<Process>,
}

fn guarded(options: &[&str], script: &str, processes: usize) -> Guarded {
    let mut command = Command::new(LOADGEN);
    command.arg("guard").args(options).args(["--", "sh", "-c", script]);
    let mut guard = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(guard.stdout.take().unwrap());
    let read = |_| {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        Process::find(line.trim().parse().unwrap()).unwrap()
    };
    let processes = (0..processes).map(read).collect();
    Guarded { guard, output, processes }
}

impl Guarded {
    /// Closes the guard's standard input, waits for the guard, and returns the exit code.
    fn close(&mut self) -> Option<i32> {
        drop(self.guard.stdin.take());
        self.guard.wait().unwrap().code()
    }
}

const TREE: &str = r#"
    setsid sleep 1000 & echo $!
    (setsid sh -c 'trap "" TERM HUP INT; echo $$; while :; do sleep 0.1; done' &)
    sh -c 'trap "" TERM; echo $$; sleep 1000; sleep 1000' &
    echo $$
    wait
"#;

#[test]
fn a_closed_pipe_ends_sessions_orphans_and_stubborn_processes() {
    let mut tree = guarded(&["--grace=0.5"], TREE, 4);
    let began = Instant::now();
    assert_eq!(tree.close(), Some(128 + 15));
    assert!(began.elapsed() >= Duration::from_millis(500), "the grace was not given");
    assert!(began.elapsed() < Duration::from_secs(5));
    // The processes are gone already: the guard ends last.
    assert!(tree.processes.iter().all(|process| !process.is_alive()));
}

#[test]
fn processes_left_by_an_ended_service_are_ended() {
    // The service runs for a second, so that the test finds the
    // process left behind before it is gone.
    let mut tree = guarded(&[], "setsid sleep 1000 & echo $!; sleep 1; exit 7", 1);
    // The guard's standard input stays open.
    let pipe = tree.guard.stdin.take();
    assert_eq!(tree.guard.wait().unwrap().code(), Some(7));
    assert_gone(&tree.processes);
    drop(pipe);
}

#[test]
fn a_service_that_missed_sigquit_is_asked_again() {
    // A shell cannot trap a signal that is ignored when the shell
    // starts, as in the background of another shell.
    let script = "exec env --default-signal=QUIT sh -c \
        'trap \"trap exit\\ 3 QUIT\" QUIT; echo $$; while :; do sleep 0.05; done'";
    let mut tree = guarded(&["--quit", "--grace=20"], script, 1);
    assert_eq!(tree.close(), Some(3));
}

#[test]
fn children_of_a_spared_service_end_by_themselves() {
    let ended = tempfile::tempdir().unwrap();
    let mark = ended.path().join("ended");
    let script = format!(
        "sh -c 'trap \"exit 1\" TERM; echo $$; sleep 0.3; touch {}' & echo $$; exec sleep 1000",
        mark.display()
    );
    let mut tree = guarded(&["--spare-others", "--grace=20"], &script, 2);
    assert_eq!(tree.close(), Some(128 + 15));
    assert!(mark.exists(), "it had no signal");
    assert_gone(&tree.processes);
}

#[test]
fn signals_to_the_guard_do_not_reach_a_service() {
    let mut tree = guarded(&[], "echo $$; exec sleep 1000", 1);
    for one in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal(tree.guard.id(), one);
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(tree.processes[0].is_alive() && tree.guard.try_wait().unwrap().is_none());
    assert_eq!(tree.close(), Some(128 + 15));
}

#[test]
fn the_folder_of_an_ended_service_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let option = format!("--remove={}", folder.path().display());
    let mut ends = guarded(&[&option], "exit 0", 0);
    let pipe = ends.guard.stdin.take();
    assert_eq!(ends.guard.wait().unwrap().code(), Some(0));
    drop(pipe);
    assert!(folder.path().exists());
    guarded(&[&option], "echo $$; exec sleep 1000", 1).close();
    assert!(!folder.path().exists());
}

#[test]
fn a_guard_without_a_service_removes_its_folder_when_loadgen_has_ended() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("refs");
    std::fs::create_dir_all(folder.join("1/shop")).unwrap();
    let mut command = Command::new(LOADGEN);
    command.arg("guard").arg("--remove").arg(&folder).args(["--grace=5", "--"]);
    let mut guard = command.stdin(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(folder.exists() && guard.try_wait().unwrap().is_none());
    drop(guard.stdin.take());
    assert_eq!(guard.wait().unwrap().code(), Some(0));
    assert!(!folder.exists());
}

/// As with podman: the processes are no children of the service, and a separate command ends them.
#[test]
fn a_service_ended_by_a_command_keeps_its_children() {
    let end_by = ["--end-by=sh", "--end-by=-c", "--end-by=echo ended"];
    let ended = |script: &str, code: i32| {
        let mut tree = guarded(&end_by, script, 1);
        if code != 7 {
            drop(tree.guard.stdin.take());
        }
        let mut said = String::new();
        tree.output.read_line(&mut said).unwrap();
        assert_eq!((said.as_str(), tree.guard.wait().unwrap().code()), ("ended\n", Some(code)));
        let other = &tree.processes[0];
        assert!(other.is_alive());
        signal(other.pid.cast_unsigned(), Signal::KILL);
    };
    ended("setsid sleep 1000 >&2 & echo $!; exec sleep 1000", 128 + 15);
    ended("setsid sleep 1000 >&2 & echo $!; sleep 0.3; exit 7", 7);
}

/// As with podman, which creates a container while loadgen ends.
#[test]
fn what_a_service_makes_after_its_request_to_end_is_ended_too() {
    let folder = tempfile::tempdir().unwrap();
    let (container, was_made) = (folder.path().join("container"), folder.path().join("was made"));
    let script = format!(
        "trap told=1 TERM; echo; until [ \"$told\" ]; do sleep 0.01; done; touch '{}' '{}'",
        container.display(),
        was_made.display()
    );
    let end_by = [
        "--end-by=rm".to_owned(),
        "--end-by=-f".to_owned(),
        format!("--end-by={}", container.display()),
    ];
    let mut tree = guarded(&end_by.each_ref().map(String::as_str), &script, 0);
    tree.output.read_line(&mut String::new()).unwrap();
    drop(tree.guard.stdin.take());
    assert_eq!(tree.guard.wait().unwrap().code(), Some(0));
    assert!(was_made.exists() && !container.exists());
}

#[test]
fn a_service_runs_on_its_cpus() {
    let cpu = loadgen::lab::cpus::available()[0];
    let mut tree =
        guarded(&[&format!("--cpus={cpu}")], "grep Cpus_allowed_list /proc/self/status", 0);
    let mut said = String::new();
    tree.output.read_to_string(&mut said).unwrap();
    assert_eq!(said.trim(), format!("Cpus_allowed_list:\t{cpu}"));
    assert_eq!(tree.close(), Some(0));
}

#[test]
fn a_missing_program_is_named() {
    let output = Command::new(LOADGEN).args(["guard", "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("loadgen guard: cannot start no-such-program: No such file"),
        "{said}"
    );
}
