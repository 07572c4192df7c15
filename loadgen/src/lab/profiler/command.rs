//! Samples a server by a profiler that its target names: a command that runs until SIGINT asks it to end, and then prints
//! collapsed stacks, as `py-spy record`, `rbspy record` and a script around `perf record` do.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::measure::{Doing, Process, Stacks};

/// Word in the command that stands for the ID of the server's first process.
const PID: &str = "{pid}";

/// Longest time from SIGINT to the end.
const LIMIT: Duration = Duration::from_secs(15);

/// Most bytes of stacks that are read.
const MOST: u64 = 256 << 20;

/// A profiler that runs.
pub(super) struct Sampler {
    child: Child,
    group: Pid,
    printed: JoinHandle<io::Result<Vec<u8>>>,
}

impl Sampler {
    /// Starts the profiler, with all that it starts in a process group of its own.
    ///
    /// # Errors
    /// If it does not start: says why, as a phrase.
    pub(super) fn begin(command: &[String], server: Pid) -> Result<Self, String> {
        let name = command.first().map_or("", String::as_str);
        let failed = |error: io::Error| format!("its profiler `{name}` does not start: {error}");
        let pid = server.as_raw_nonzero().to_string();
        let mut words = command.iter().map(|word| word.replace(PID, &pid));
        let mut profiler = Command::new(words.next().unwrap_or_default());
        profiler.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = profiler.process_group(0).kill_on_drop(true).spawn().map_err(failed)?;
        let group = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let (Some(stdout), Some(group)) = (child.stdout.take(), group) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let printed = tokio::spawn(async move {
            let mut text = Vec::new();
            stdout.take(MOST).read_to_end(&mut text).await.map(|_| text)
        });
        Ok(Self { child, group, printed })
    }

    /// Asks the profiler to end, and returns what it printed.
    ///
    /// # Errors
    /// If it fails, does not end in time, or prints something else: says so, as a phrase.
    pub(super) async fn end(mut self) -> Result<Stacks, String> {
        // It may have ended by itself.
        let _ = kill_process_group(self.group, Signal::INT);
        let ended = tokio::time::timeout(LIMIT, async {
            let printed = (&mut self.printed).await.map_err(io::Error::other)??;
            Ok::<_, io::Error>((self.child.wait().await?, printed))
        });
        let ended = ended.await;
        // What it has started ends with it.
        let _ = kill_process_group(self.group, Signal::KILL);
        let (status, printed) = match ended {
            Ok(ended) => ended.map_err(|error| format!("its profiler cannot be read: {error}"))?,
            Err(_) => return Err("its profiler did not end within 15 s after SIGINT".to_owned()),
        };
        let stacks = read(&String::from_utf8_lossy(&printed))?;
        match stacks.on_cpu() == 0 {
            true => Err(format!("its profiler printed no stacks ({status})")),
            false => Ok(stacks),
        }
    }
}

/// Reads collapsed stacks: lines of frames between `;`, a space, and a number of samples.
fn read(text: &str) -> Result<Stacks, String> {
    let mut process = Process::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let parsed = line.trim_end().rsplit_once(' ').and_then(|(stack, samples)| {
            let samples = samples.parse().ok().filter(|samples| *samples <= u64::from(u32::MAX))?;
            Some((stack.trim(), samples))
        });
        let Some((stack, samples)) = parsed.filter(|(stack, _)| !stack.is_empty()) else {
            let line: String = line.chars().take(80).collect();
            return Err(format!(
                "its profiler printed a line that is no collapsed stack: {line:?}"
            ));
        };
        process.add(stack.to_owned(), Doing::OnCpu, samples);
    }
    Ok(process.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str]) -> Vec<String> {
        command.iter().map(ToString::to_string).collect()
    }

    fn pid() -> Pid {
        Pid::from_raw(std::process::id().cast_signed()).unwrap()
    }

    /// Runs a script as a profiler, which creates the file `$0` when it is ready for the signal.
    async fn sampled(script: &str) -> Result<Stacks, String> {
        let folder = tempfile::tempdir().unwrap();
        let is_ready = folder.path().join("ready");
        let sampling =
            Sampler::begin(&words(&["sh", "-c", script, is_ready.to_str().unwrap()]), pid())?;
        while !is_ready.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sampling.end().await
    }

    #[tokio::test]
    async fn stacks_are_printed_after_the_signal() {
        let script = "trap done=1 INT; touch \"$0\"; until [ \"$done\" ]; do sleep 0.01; done
            echo \"main;process {pid} 3\"; echo 'main 2'";
        let stacks = sampled(script).await.unwrap();
        let process = format!("main;process {}", std::process::id());
        assert_eq!(stacks.ran()[&*process], 3);
        assert_eq!(stacks.on_cpu(), 5);
    }

    #[tokio::test]
    async fn a_profiler_that_fails_says_so() {
        for (script, said) in [
            ("exit 3", "its profiler printed no stacks (exit status: 3)"),
            (
                "echo perf: no permission",
                "a line that is no collapsed stack: \"perf: no permission\"",
            ),
        ] {
            let script = format!("trap '' INT; touch \"$0\"; {script}");
            let error = sampled(&script).await.unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let error = Sampler::begin(&words(&["/no/such/profiler"]), pid()).err().unwrap();
        assert!(error.contains("its profiler `/no/such/profiler` does not start: "), "{error}");
    }

    #[test]
    fn lines_have_a_number_at_their_end() {
        let stacks =
            read("main (a.py);work (a b.py) 7\n\nmain (a.py) 1\r\nmain (a.py) 2\n").unwrap();
        assert_eq!(stacks.ran(), [("main (a.py)", 3), ("main (a.py);work (a b.py)", 7)].into());
        for line in ["main", "main -1", " 3", "main 99999999999999999999", "main 1.5"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
