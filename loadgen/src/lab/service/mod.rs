//! Runs one program of the lab under a [`guard`], with its output in a log file.
//!
//! Beside it is what a service needs: `programs` finds its program, `password` makes its password,
//! `listener` finds out whether it has its port, `logs` reads its output, `log_bound` keeps it small, and `removal` removes its folder.

pub mod guard;
pub mod listener;
mod log_bound;
pub(super) mod logs;
pub(super) mod password;
pub(super) mod programs;
pub(super) mod removal;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::process::{Child, ChildStdin, Command};

use super::error::{LabError, ServiceFault};
use super::machine::container::Container;
use guard::GuardOptions;
use logs::last_lines;

/// Environment variables that a service inherits from loadgen. Other variables, such as
/// `WEB_CONCURRENCY`, `GUNICORN_CMD_ARGS`, `PYTHONPATH` and `PGOPTIONS`, could change the
/// measurement.
const PASSED_ON: [&str; 9] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "LD_LIBRARY_PATH"];

/// Time that a guard has after its grace period to kill the remaining processes.
const KILL_TIME: Duration = Duration::from_secs(10);

static GUARD_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program that runs as a guard. Only for tests, whose own executable is not `loadgen`.
#[doc(hidden)]
pub fn use_guard_program(path: &Path) {
    let _ = GUARD_PROGRAM.set(path.to_owned());
}

fn guard_program() -> io::Result<PathBuf> {
    match GUARD_PROGRAM.get() {
        Some(path) => Ok(path.clone()),
        // The executable that runs now, even if a build has since put a newer file in its place.
        None if cfg!(target_os = "linux") => Ok("/proc/self/exe".into()),
        None => std::env::current_exe(),
    }
}

/// Specification of a service: what to run, and how.
#[derive(Debug, Clone)]
pub struct ServiceSpec {
    /// Name of the service, as shown to people.
    pub name: String,
    /// Options of the guard, the process that runs and ends the service. The options include the
    /// service's command line.
    pub options: GuardOptions,
    /// Environment variables of the service, in addition to the few inherited variables.
    pub env: Vec<(String, String)>,
    /// Folder that the service runs in.
    pub cwd: PathBuf,
    /// File for the service's output; an older file is replaced.
    pub log: PathBuf,
}

impl ServiceSpec {
    /// Creates the specification of a service with these defaults: SIGTERM asks the service to end,
    /// SIGKILL follows after 5 s, and the service may use any CPU.
    pub fn new<A: Into<OsString>>(
        name: impl Into<String>,
        argv: impl IntoIterator<Item = A>,
        cwd: &Path,
        log: PathBuf,
    ) -> Self {
        let options = GuardOptions {
            argv: argv.into_iter().map(Into::into).collect(),
            cpus: Vec::new(),
            run_as: None,
            quit: false,
            spare_others: false,
            grace: Duration::from_secs(5),
            remove: None,
            end_by: Vec::new(),
        };
        Self { name: name.into(), options, env: Vec::new(), cwd: cwd.to_owned(), log }
    }

    /// Returns the same service below a [launcher](crate::lab::profiler), which listens on `socket`
    /// and itself runs on these CPUs. `profiler` is the command line of the target's own profiler, or empty.
    pub(super) fn below_launcher(
        mut self,
        socket: &Path,
        cpus: &[usize],
        profiler: &[String],
    ) -> Self {
        let cpus: Vec<_> = cpus.iter().map(usize::to_string).collect();
        // Where the program has no path, the start of the guard says so.
        let program = guard_program().unwrap_or_default().into_os_string();
        let mut argv = vec![program, "launcher".into(), "--socket".into()];
        argv.push(socket.into());
        argv.extend((!cpus.is_empty()).then(|| format!("--cpus={}", cpus.join(",")).into()));
        argv.extend(profiler.iter().map(|word| format!("--profiler={word}").into()));
        argv.push("--".into());
        argv.append(&mut self.options.argv);
        self.options.argv = argv;
        self
    }

    fn guard_command(&self) -> io::Result<Command> {
        let mut command = Command::new(guard_program()?);
        command.arg0("loadgen").arg("guard");
        let options = &self.options;
        if !options.cpus.is_empty() {
            let cpus: Vec<_> = options.cpus.iter().map(usize::to_string).collect();
            command.arg(format!("--cpus={}", cpus.join(",")));
        }
        if let Some((user, group)) = options.run_as {
            command.arg(format!("--uid={user}")).arg(format!("--gid={group}"));
        }
        if options.quit {
            command.arg("--quit");
        }
        if options.spare_others {
            command.arg("--spare-others");
        }
        if let Some(folder) = &options.remove {
            command.arg("--remove").arg(folder);
        }
        for word in &options.end_by {
            command.arg("--end-by").arg(word);
        }
        command.arg(format!("--grace={}", options.grace.as_secs_f64()));
        command.arg("--").args(&options.argv);
        Ok(command)
    }
}

/// A running service. Dropping a `Service` ends the service too, without waiting for the end.
#[derive(Debug)]
pub struct Service {
    name: String,
    guard: Child,
    pid: u32,
    /// Pipe to the guard, which ends the service when the pipe closes.
    pipe: Option<ChildStdin>,
    grace: Duration,
    log: PathBuf,
    /// Folder that is removed after the service's end: by the guard, or by loadgen if the guard has
    /// already ended.
    remove: Option<PathBuf>,
    /// Whether the service runs in a container, even while `container` is still unknown.
    is_contained: bool,
    container: Option<Container>,
}

impl Service {
    /// Starts the service. A readiness probe must tell whether the service is usable.
    pub fn start(spec: &ServiceSpec) -> Result<Self, LabError> {
        // The guard also reads the log, which it keeps small.
        let log =
            File::options().read(true).write(true).create(true).truncate(true).open(&spec.log);
        let log = log.map_err(LabError::file("write", &spec.log))?;
        let start = || -> io::Result<(Child, u32)> {
            let mut command = spec.guard_command()?;
            let passed_on =
                PASSED_ON.iter().filter_map(|&name| Some((name, std::env::var_os(name)?)));
            command.env_clear().envs(passed_on);
            command.envs(spec.env.iter().map(|(name, value)| (name, value)));
            command.current_dir(&spec.cwd).stdin(Stdio::piped());
            command.stdout(log.try_clone()?).stderr(log);
            // A terminal's Ctrl-C must reach only loadgen, which then ends the service in order.
            let child = command.process_group(0).spawn()?;
            let pid = child.id().ok_or(io::ErrorKind::NotFound)?;
            Ok((child, pid))
        };
        let (mut guard, pid) = start().map_err(LabError::io(format!("start {}", spec.name)))?;
        Ok(Self {
            name: spec.name.clone(),
            pipe: guard.stdin.take(),
            guard,
            pid,
            grace: spec.options.grace,
            log: spec.log.clone(),
            remove: spec.options.remove.clone(),
            is_contained: !spec.options.end_by.is_empty(),
            container: None,
        })
    }

    /// Name of the service, as shown to people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// ID of the guard's process. The service's processes are descendants of the guard.
    pub fn guard_pid(&self) -> u32 {
        self.pid
    }

    /// Container of the service; `None` for a process, or before the service is up.
    pub fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    /// Sets the container in which the service runs.
    pub(super) fn within(mut self, container: Option<Container>) -> Self {
        self.container = container;
        self
    }

    /// Keeps the folder that would be removed with the service; the caller then owns the folder.
    /// Only for a service that has ended by itself.
    pub(super) fn leave_folder(&mut self) {
        self.remove = None;
    }

    /// File for the service's output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Number of bytes that the service has written to its log; 0 if unknown.
    pub fn logged(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |log| log.len())
    }

    /// Returns how the service ended, or `None` while it runs.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.guard.try_wait().ok().flatten()
    }

    /// Returns an error that shows the log, if the service has ended by itself.
    pub fn lost(&mut self) -> Option<LabError> {
        let status = self.exited()?;
        self.end_group_of_lost_guard(Some(&status));
        Some(self.fault(ending(status)))
    }

    /// Waits until the service has ended by itself.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.guard.wait().await;
        self.end_group_of_lost_guard(status.as_ref().ok());
        status
    }

    /// Runs a program that ends by itself. If the program fails, the inner error contains the last
    /// `lines` lines of its output.
    pub async fn carry_out(
        spec: &ServiceSpec,
        lines: usize,
    ) -> Result<Result<(), Vec<String>>, LabError> {
        let mut program = Self::start(spec)?;
        let status = program.wait().await;
        let status = status.map_err(LabError::io(format!("wait for {}", spec.name)))?;
        Ok(if status.success() { Ok(()) } else { Err(program.last_log_lines(lines)) })
    }

    /// Ends the service, and returns when no process of it is left.
    pub async fn stop(mut self) -> Result<(), LabError> {
        self.pipe = None;
        let fault = |what: String| LabError::Io {
            what: format!("stop {}", self.name),
            source: io::Error::other(what),
        };
        match tokio::time::timeout(self.grace + KILL_TIME, self.guard.wait()).await {
            Ok(Ok(status)) => {
                self.end_group_of_lost_guard(Some(&status));
                Ok(())
            }
            Ok(Err(error)) => Err(fault(error.to_string())),
            Err(_) => Err(fault(format!("process {} and its descendants still run", self.pid))),
        }
    }

    /// Kills the process group of a guard that was itself killed. A killed guard cannot end its
    /// service, which is in the same process group.
    fn end_group_of_lost_guard(&self, status: Option<&ExitStatus>) {
        let killed = status.is_some_and(|status| status.code().is_none());
        let group = rustix::process::Pid::from_raw(self.pid.cast_signed());
        if let (true, Some(group)) = (killed, group) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    /// Returns the last non-empty lines of the service's output.
    pub fn last_log_lines(&self, count: usize) -> Vec<String> {
        last_lines(&self.log, count)
    }

    /// Returns an error about this service that shows the end of its log.
    pub fn fault(&self, what: impl Into<String>) -> LabError {
        LabError::Service(Box::new(ServiceFault {
            service: self.name.clone(),
            what: what.into(),
            tail: self.last_log_lines(15),
            help: match self.container {
                // If no container ever ran, podman may be the reason.
                None if self.is_contained => format!(
                    "see the whole log in {}; `loadgen lab doctor` checks the requirements of containers",
                    self.log.display()
                ),
                _ => format!("see the whole log in {}", self.log.display()),
            },
        }))
    }
}

/// A service that was dropped, whose guard may still be ending the service's processes.
#[derive(Debug)]
struct Dropped {
    guard: u32,
    until: Instant,
    folder: Option<PathBuf>,
}

static DROPPED: Mutex<Vec<Dropped>> = Mutex::new(Vec::new());

impl Drop for Service {
    fn drop(&mut self) {
        self.pipe = None;
        let until = Instant::now() + self.grace + KILL_TIME;
        let dropped = Dropped { guard: self.pid, until, folder: self.remove.take() };
        // A guard that was waited for has no process any more.
        if self.guard.id().is_some() {
            DROPPED.lock().unwrap_or_else(PoisonError::into_inner).push(dropped);
        } else {
            dropped.remove_folder();
        }
    }
}

impl Dropped {
    fn has_ended(&self) -> bool {
        let guard = rustix::process::Pid::from_raw(self.guard.cast_signed());
        let runs = guard.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
        !runs || Instant::now() >= self.until
    }

    /// Removes the folder if the guard has not removed it yet.
    fn remove_folder(&self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Waits until the guards of dropped services have ended, but gives up on a guard 10 s after its
/// grace period. With this wait, a run that is interrupted during the start of services ends after
/// these services.
pub async fn dropped_have_ended() {
    loop {
        {
            let mut dropped = DROPPED.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.retain(|service| {
                let ended = service.has_ended();
                if ended {
                    service.remove_folder();
                }
                !ended
            });
            if dropped.is_empty() {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Describes how a process ended, as a phrase that follows a service's name.
pub(super) fn ending(status: ExitStatus) -> String {
    match status.code() {
        // A guard reports a signal in its exit code, as a shell does.
        Some(code @ 129..=192) => format!("was ended by signal {}", code - 128),
        Some(code) => format!("exited with code {code}"),
        None => "lost its guard".to_owned(),
    }
}
