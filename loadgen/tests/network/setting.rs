//! A manager, its workers and a server, each on the host that the test chooses.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::Signal;
use serde_json::Value;

use super::host::Host;
use super::server::{SCENARIO, Server};
use crate::common::processes::{Started, signal};
use crate::common::program::Project;
use crate::common::proxy::Proxy;

/// A server, a project and addresses for runs on `workers` workers.
pub struct Setting {
    pub server: Server,
    pub project: Project,
    /// Address that the manager listens at.
    pub address: String,
    /// Address at which workers find the manager, if different.
    pub advertised: Option<String>,
    manager: Host,
    workers: u32,
    /// Folder for temporary files, if not the usual one.
    pub temp: Option<PathBuf>,
}

impl Setting {
    /// Puts everything on this host.
    pub fn here(workers: u32) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::on(&Host::Here, &Host::Here, port, workers)
    }

    /// Puts the manager and the server on these hosts.
    pub fn on(manager: &Host, server: &Host, port: u16, workers: u32) -> Self {
        Self {
            server: Server::start(server),
            project: Project::real().file("mine.toml", SCENARIO),
            address: format!("{}:{port}", manager.address()),
            advertised: None,
            manager: manager.clone(),
            workers,
            temp: None,
        }
    }

    /// Returns a command that runs loadgen with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(arguments);
        command.envs(self.temp.iter().map(|temp| ("TMPDIR", temp)));
        command
    }

    /// Starts the manager of a run of so many seconds, with two users for each worker.
    pub fn manager(&self, seconds: u32, more: &[&str]) -> Manager {
        let (expected, users) = (self.workers.to_string(), (2 * self.workers).to_string());
        let duration = format!("{seconds}s");
        let what = ["manager", "--scenario=mine.toml", "--url", &self.server.url, "--listen"];
        let how = [&self.address, "--expect-workers", &expected, "--users", &users];
        let advertise = self.advertised.as_deref().map_or(vec![], |at| vec!["--advertise", at]);
        let long = ["--duration", &duration, "--warmup=0s", "--format=json", "--out=run"];
        let command = self.command(&[&what[..], &how, &advertise, &long, more].concat());
        let mut running = Running::start(self.manager.command(command));
        let stdout = running.child.stdout.take().unwrap();
        Manager { stdout, running }
    }

    /// Starts a worker with its join file, after the manager has written the file.
    pub fn worker(&self, number: u32) -> Running {
        self.worker_on(&Host::Here, number)
    }

    /// Like `worker`, but on another host.
    pub fn worker_on(&self, host: &Host, number: u32) -> Running {
        self.join(number);
        let file = format!("join/{number}");
        Running::start(host.command(self.command(&["worker", "--join", &file])))
    }

    /// Starts a worker whose join file names the proxy instead of the manager.
    pub fn worker_behind(&self, proxy: &Proxy, number: u32) -> Running {
        let mut join = self.join(number);
        join["address"] = proxy.address.to_string().into();
        let file = format!("join/{number}-aside");
        fs::write(self.project.path(&file), join.to_string()).unwrap();
        Running::start(self.command(&["worker", "--join", &file]))
    }

    /// Waits for a worker's join document.
    pub fn join(&self, number: u32) -> Value {
        let path = self.project.path(&format!("join/{number}"));
        let deadline = Instant::now() + Duration::from_secs(10);
        while !path.is_file() {
            assert!(Instant::now() < deadline, "there is no {}", path.display());
            thread::sleep(Duration::from_millis(20));
        }
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }
}

/// A process that does not outlive its test, and the lines of its stderr with their times.
pub struct Running {
    child: Started,
    lines: Receiver<(Instant, String)>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let (line, lines) = mpsc::channel();
        thread::spawn(move || {
            for text in stderr.map_while(Result::ok) {
                let _ = line.send((Instant::now(), text));
            }
        });
        Self { child, lines }
    }

    /// Waits for a line on stderr that contains `text`, and returns its time. Panics if none comes.
    pub fn says(&self, text: &str, limit: Duration) -> Instant {
        self.may_say(text, limit)
            .unwrap_or_else(|said| panic!("it did not say {text:?}, but {said:#?}"))
    }

    /// Like `says`, but returns the other lines if the process ends or
    /// `limit` passes before such a line comes.
    pub fn may_say(&self, text: &str, limit: Duration) -> Result<Instant, Vec<String>> {
        let deadline = Instant::now() + limit;
        let mut said = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match tokio::task::block_in_place(|| self.lines.recv_timeout(left)) {
                Ok((when, line)) if line.contains(text) => return Ok(when),
                Ok((_, line)) => said.push(line),
                Err(_) => return Err(said),
            }
        }
    }

    /// Returns the lines of stderr that have not been read yet.
    pub fn said(&self) -> Vec<String> {
        self.lines.try_iter().map(|(_, line)| line).collect()
    }

    /// Returns the peak resident memory of the process so far, in MB.
    pub fn peak_memory_mb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_000
    }

    /// Sends SIGTERM, waits for the end, and returns the exit code.
    pub fn leave(mut self) -> Option<i32> {
        signal(self.child.id(), Signal::TERM);
        tokio::task::block_in_place(|| self.child.wait().unwrap().code())
    }
}

/// A running manager.
pub struct Manager {
    stdout: ChildStdout,
    pub running: Running,
}

/// Outcome of a manager that has ended.
pub struct Ended {
    pub code: Option<i32>,
    pub document: Value,
    pub said: Vec<String>,
}

impl Manager {
    /// Waits until the manager ends, and reads its document.
    pub fn end(mut self) -> Ended {
        let mut text = String::new();
        let code = tokio::task::block_in_place(|| {
            self.stdout.read_to_string(&mut text).unwrap();
            self.running.child.wait().unwrap().code()
        });
        let said = self.running.said();
        let document =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text:?}\n{said:#?}"));
        Ended { code, document, said }
    }
}

impl Ended {
    /// Returns the number of requests that finished or that the end of the
    /// run cancelled. Panics if there were errors.
    pub fn counted(&self) -> u64 {
        let total = &self.document["targets"][0]["total"];
        assert_eq!(total["errors"], 0, "{total}");
        total["requests"].as_u64().unwrap() + total["cancelled"].as_u64().unwrap()
    }

    /// Returns the document's entry for one worker.
    pub fn of_worker(&self, worker: usize) -> &Value {
        &self.document["targets"][0]["workers"][worker]
    }

    /// Asserts that nothing was lost: the document counts all requests that the server saw,
    /// except for the manager's own verification.
    #[track_caller]
    pub fn assert_whole(&self, server: &Server) {
        assert_eq!(self.code, Some(0), "{:#?}", self.said);
        assert!(self.document["degraded"].is_null(), "{}", self.document["degraded"]);
        assert_eq!(self.counted(), server.requests() - 1);
    }
}
