//! Runs one service under a guard, and ends all of the service when
//! loadgen ends or requests the end.
//!
//! loadgen can be killed in a way to which it cannot react (`kill -9`), and services start
//! processes, some of them in separate sessions. Each service therefore runs under a guard: a small
//! process that holds the read end of a pipe to loadgen. When the pipe closes, for any reason,
//! the guard ends the service and everything that the service has started. On Linux the guard is
//! the reaper of its descendants, so orphans become children of the guard and do not escape. On
//! other systems the guard ends the process group, which a process in a separate session leaves.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::oneshot;

use super::log_bound::LogBound;
use super::removal::remove_all;
use crate::lab::machine::cpus::pin_self;

/// Maximum time between two checks whether a service has ended, while the guard ends the service.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Interval at which the guard looks how long the log of its service is.
const LOOK_AT_LOG: Duration = Duration::from_millis(500);

/// Interval at which the guard repeats its request until the service ends. A shell starts background
/// programs with SIGQUIT ignored, so a service that a shell has just started misses the signal
/// until the service installs its own handler. A shell that starts a container misses SIGTERM right
/// before it becomes podman.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Time after the grace period until the command must have ended that ends a service, when it runs once more
/// after the service.
const COMMAND_AGAIN: Duration = Duration::from_secs(8);

/// Options of a guard, a process that runs one service and ends the service when loadgen ends.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// Command line of the service. Empty for a guard that runs no service, and only removes a folder
    /// when loadgen ends.
    pub argv: Vec<OsString>,
    /// CPUs that the service may use; empty allows all.
    pub cpus: Vec<usize>,
    /// User ID and group ID of the service; `None` keeps loadgen's IDs.
    pub run_as: Option<(u32, u32)>,
    /// Whether SIGQUIT, instead of SIGTERM, asks the service to end.
    pub quit: bool,
    /// Whether processes that the service has started may end by themselves after the service.
    /// Processes that exceed the grace period are killed.
    pub spare_others: bool,
    /// Time from the request to end until the service is killed.
    pub grace: Duration,
    /// Folder that the guard removes after the guard has ended the service. If the service ends by
    /// itself, the folder stays. Without a service, the guard tries to remove the folder for the grace
    /// period, because other programs may still write there.
    pub remove: Option<PathBuf>,
    /// Command that ends a service whose processes belong to another program, such as a container's
    /// processes to podman; empty for other services. The guard runs the command even if the
    /// service ended by itself, and does not adopt processes that the service leaves behind.
    pub end_by: Vec<OsString>,
}

/// Runs the service until it ends or standard input closes, then ends what is left of the service.
///
/// Returns the exit code of the service, or 128 plus the number of the signal that ended it.
pub fn run(options: &GuardOptions) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(guard(options))
}

async fn guard(options: &GuardOptions) -> io::Result<u8> {
    // Only loadgen decides when to end: a signal sent to every process called loadgen must not end
    // a service during a measurement. The signals are handled, not ignored, because the service
    // would inherit ignored signals.
    let _handled =
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    if options.argv.is_empty() {
        let _ = pipe_closed().await;
        return options
            .remove
            .as_ref()
            .map_or(Ok(0), |folder| remove_all(folder, options.grace).map(|()| 0));
    }
    let mut children = signal(SignalKind::child())?;
    if options.end_by.is_empty() {
        adopt_orphans()?;
    }
    pin_self(&options.cpus)?;
    let mut closed = pipe_closed();
    let mut service = Tree { main: start(&options.argv, options)?, ended: None, ending: None };

    let mut told = false;
    let mut look = tokio::time::interval(LOOK_AT_LOG);
    let mut log = rustix::io::dup(io::stdout()).map(|log| LogBound::new(log.into())).ok();
    while !told && service.reap()? && service.ended.is_none() {
        tokio::select! {
            _ = children.recv() => {}
            _ = &mut closed => told = true,
            _ = look.tick() => {
                // A log that cannot be bounded is left as it is.
                let _ = log.as_mut().map(LogBound::look);
            }
        }
    }
    service.end(options, &mut children).await?;
    // What could not be joined stays as it is.
    let _ = log.map_or(Ok(()), LogBound::close);
    told |= closed.try_recv().is_ok();
    if let (true, Some(folder)) = (told, &options.remove) {
        // Ignores errors: loadgen may have removed the folder first.
        let _ = std::fs::remove_dir_all(folder);
    }
    Ok(service.ended.map_or(1, exit_code))
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Returns a receiver that resolves when standard input closes. A separate thread waits for the end
/// of the input, because a blocking read cannot be cancelled.
pub fn pipe_closed() -> oneshot::Receiver<()> {
    let (tell, closed) = oneshot::channel();
    std::thread::spawn(move || {
        let mut ignored = [0; 64];
        while matches!(io::stdin().read(&mut ignored), Ok(1..)) {}
        let _ = tell.send(());
    });
    closed
}

fn start(argv: &[OsString], options: &GuardOptions) -> io::Result<Pid> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    if let Some((user, group)) = options.run_as {
        command.uid(user).gid(group);
    }
    let child = command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start {}: {error}", program.display()))
    })?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Process tree of a service, as the guard sees it.
struct Tree {
    main: Pid,
    ended: Option<WaitStatus>,
    /// Process of the command that ends the service; `None` while no such command runs.
    ending: Option<Pid>,
}

impl Tree {
    /// Reaps processes that have ended. Returns false if no process is left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.ended = Some(status),
                Ok(Some((pid, _))) if Some(pid) == self.ending => self.ending = None,
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return Ok(true),
                Err(rustix::io::Errno::CHILD) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends the service: runs the command `end_by`, if any, asks the first process to end, and then
    /// the processes that outlive the first process. Kills processes that exceed the grace period.
    async fn end(&mut self, options: &GuardOptions, children: &mut Signals) -> io::Result<()> {
        let deadline = Instant::now() + options.grace;
        self.end_by_command(options, deadline, children).await?;
        let outlives_command = self.ended.is_none();
        let ask = if options.quit { Signal::QUIT } else { Signal::TERM };
        if outlives_command {
            let _ = kill_process(self.main, ask);
        }
        let mut orphans_asked = false;
        let mut ask_again = Instant::now() + ASK_AGAIN;
        while self.reap()? {
            if Instant::now() >= deadline {
                self.kill(children).await?;
                break;
            }
            let may_miss = options.quit || !options.end_by.is_empty();
            if may_miss && self.ended.is_none() && Instant::now() >= ask_again {
                let _ = kill_process(self.main, ask);
                ask_again += ASK_AGAIN;
            }
            if self.ended.is_some() && !orphans_asked && !options.spare_others {
                orphans_asked = true;
                send_all(Signal::TERM);
            }
            look_again(children).await;
        }
        if outlives_command {
            // The service may have made what the command ends after the command had run.
            self.end_by_command(options, deadline + COMMAND_AGAIN, children).await?;
            self.kill(children).await?;
        }
        Ok(())
    }

    /// Runs the command `end_by`, if any, and waits for its end, until `deadline`.
    async fn end_by_command(
        &mut self,
        options: &GuardOptions,
        deadline: Instant,
        children: &mut Signals,
    ) -> io::Result<()> {
        if !options.end_by.is_empty() {
            self.ending = Some(start(&options.end_by, options)?);
            while self.reap()? && self.ending.is_some() && Instant::now() < deadline {
                look_again(children).await;
            }
        }
        Ok(())
    }

    async fn kill(&mut self, children: &mut Signals) -> io::Result<()> {
        if !self.reap()? {
            return Ok(());
        }
        // A full disk under the log must not stop a guard: `eprintln` would panic.
        let _ =
            writeln!(io::stderr(), "loadgen guard: killed the processes that did not end in time");
        while self.reap()? {
            // Repeats the signal: a process may have started another one since.
            send_all(Signal::KILL);
            look_again(children).await;
        }
        Ok(())
    }
}

async fn look_again(children: &mut Signals) {
    let _ = tokio::time::timeout(LOOK_AGAIN, children.recv()).await;
}

#[cfg(target_os = "linux")]
fn send_all(what: Signal) {
    for pid in descendants(rustix::process::getpid()) {
        let _ = kill_process(pid, what);
    }
}

/// Sends a signal to the guard's own process group. The guard survives SIGTERM, but SIGKILL also
/// ends the guard.
#[cfg(not(target_os = "linux"))]
fn send_all(what: Signal) {
    let _ = rustix::process::kill_process_group(rustix::process::getpgrp(), what);
}

/// Returns all processes below `root`, by the parents that `/proc` reports.
#[cfg(target_os = "linux")]
pub(in crate::lab) fn descendants(root: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes: Vec<(Pid, Pid)> = entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // "pid (name) state parent …": the name may contain anything, brackets included.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((Pid::from_raw(pid)?, Pid::from_raw(parent)?))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(processes.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(not(target_os = "linux"))]
pub(in crate::lab) fn descendants(_root: Pid) -> Vec<Pid> {
    Vec::new()
}

fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|n| 128 + n));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
