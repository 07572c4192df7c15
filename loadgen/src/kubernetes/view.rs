//! Shows a run in a cluster until the run is over.

use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::kubectl::Kubectl;
use crate::text::say;

/// Time for the view to end after the manager.
const VIEW_LIMIT: Duration = Duration::from_secs(3);

/// Time of a view that ended too soon to begin again.
const BRIEF: Duration = Duration::from_secs(3);

/// The view of a run until the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The live view of the manager, on this terminal.
    Live,
    /// The manager's lines.
    Lines,
    /// Nothing, because the manager has a terminal and this process has none.
    Nothing,
}

impl View {
    /// Shows what the manager shows until it is over: on its terminal, which is then this one, or as lines. A view that
    /// breaks begins again.
    pub(super) async fn show(self, kubectl: &Kubectl, pod: &str, over: &CancellationToken) {
        if self == Self::Nothing {
            say(
                "the run shows its progress only on a terminal: nothing is shown here until its result",
            );
            return;
        }
        let mut is_first = true;
        while let Ok(mut view) = self.start(kubectl, pod, is_first) {
            let begun = Instant::now();
            tokio::select! {
                () = over.cancelled() => return end(&mut view).await,
                _ = view.wait() => {}
            }
            // It is not allowed, or the manager has ended.
            if begun.elapsed() < BRIEF {
                return;
            }
            is_first = false;
        }
    }

    fn start(self, kubectl: &Kubectl, pod: &str, is_first: bool) -> io::Result<Child> {
        let is_live = self == Self::Live;
        let words: &[&str] = match (is_live, is_first) {
            (true, _) => &["attach", "--quiet", "--stdin", "--tty", pod, "--container=loadgen"],
            (false, true) => &["logs", "--follow", pod, "--container=loadgen"],
            (false, false) => &["logs", "--follow", "--tail=0", pod, "--container=loadgen"],
        };
        let mut command = Command::from(kubectl.command(words));
        if !is_live {
            command.process_group(0).stdin(Stdio::null());
        }
        // Standard output is for the result.
        command.stdout(rustix::io::dup(io::stderr())?).kill_on_drop(true).spawn()
    }
}

/// Waits for the end of a view, and ends it otherwise, so that it restores the terminal.
async fn end(view: &mut Child) {
    if timeout(VIEW_LIMIT, view.wait()).await.is_ok() {
        return;
    }
    if let Some(pid) = view.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let _ = timeout(VIEW_LIMIT, view.wait()).await;
}
