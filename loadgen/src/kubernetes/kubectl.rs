//! Runs `kubectl`, with the user's own configuration.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use miette::Diagnostic;
use serde_json::Value;
use thiserror::Error;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::text::in_one_line;

/// Time limit for one request to the cluster.
const LIMIT: Duration = Duration::from_secs(60);

/// What a program that says nothing has said when its exit code is 1.
const NO: &str = "exit status: 1";

/// Error of a run in a cluster.
#[derive(Debug, Error, Diagnostic)]
pub enum KubernetesError {
    /// `kubectl` could not be started.
    #[error("cannot run kubectl: {0}")]
    #[diagnostic(
        code(no_kubectl),
        help("install kubectl, and set it up for the cluster: `kubectl get nodes` must work")
    )]
    NoKubectl(io::Error),
    /// The cluster, or `kubectl`, refused a request.
    #[error("kubectl {what}: {why}")]
    #[diagnostic(
        code(kubectl_failed),
        help("check the cluster, the namespace and your rights: `kubectl auth can-i create jobs`")
    )]
    Refused {
        /// The first words of the command.
        what: String,
        /// What `kubectl` said.
        why: String,
    },
    /// The user may not do what a run needs.
    #[error("you may not {0} in this namespace")]
    #[diagnostic(
        code(no_rights),
        help("ask for a Role as in docs/how-to/use-kubernetes.md, or use another --namespace")
    )]
    NoRights(String),
    /// There is a Job of this name.
    #[error("there is a job {0} already")]
    #[diagnostic(
        code(name_taken),
        help("choose another --name, or remove that one: `kubectl delete job {0}`")
    )]
    NameTaken(String),
    /// The connection to the cluster is lost, where the run goes on.
    #[error("the connection to the cluster is lost, and the run goes on there: {why}")]
    #[diagnostic(
        code(connection_lost),
        help(
            "it ends by itself, and an hour later the cluster removes it; `kubectl delete job {name}` does so at once"
        )
    )]
    Lost {
        /// Name of the Job.
        name: String,
        /// What `kubectl` said.
        why: String,
    },
    /// The cluster is too old.
    #[error("the cluster runs Kubernetes {0}, but loadgen needs 1.33 or later")]
    #[diagnostic(
        code(old_cluster),
        help(
            "start the workers by hand there: see \"Run workers in containers\" in docs/how-to/use-many-hosts.md"
        )
    )]
    TooOld(String),
    /// Not all pods run in time.
    #[error("{running} of {of} pods run after {}: {why}", humantime::format_duration(*limit))]
    #[diagnostic(
        code(pods_not_started),
        help("make room or correct what the cluster names, or wait longer: --start-timeout TIME")
    )]
    NotStarted {
        /// Number of pods that run.
        running: usize,
        /// Number of pods.
        of: usize,
        /// Time for which they were awaited.
        limit: Duration,
        /// What the cluster says of the others.
        why: String,
    },
    /// The manager's pod ended without a result.
    #[error("the pod of the manager is gone: {0}")]
    #[diagnostic(
        code(manager_pod_gone),
        help(
            "see what the cluster did with it: more memory (--requests, --limits), or another node, may help"
        )
    )]
    ManagerGone(String),
    /// The result could not be saved in its folder.
    #[error("cannot save the result of the run in {0}")]
    #[diagnostic(
        code(unwritable_folder),
        help("free disk space, or choose another folder with --out DIR")
    )]
    Unsaved(String),
}

/// `kubectl`, for one namespace of one cluster.
#[derive(Debug, Clone, Default)]
pub struct Kubectl {
    /// Context of the user's configuration; `None` for the current one.
    pub context: Option<String>,
    /// Namespace; `None` for that of the context.
    pub namespace: Option<String>,
}

impl Kubectl {
    /// Returns `kubectl` with these words.
    pub(super) fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new("kubectl");
        let context = self.context.iter().map(|context| format!("--context={context}"));
        let namespace = self.namespace.iter().map(|name| format!("--namespace={name}"));
        // Words after `--` are for the pod.
        command.args(context.chain(namespace)).args(words);
        command
    }

    /// Runs `kubectl` with these words and this input, and returns what it printed.
    ///
    /// # Errors
    /// If it cannot be started, fails, or does not end within a minute.
    pub async fn run(&self, words: &[&str], input: &str) -> Result<String, KubernetesError> {
        let what = || what(words);
        let refused = |why: String| KubernetesError::Refused { what: what(), why };
        let run = async {
            let mut command = Command::from(self.command(words));
            // A terminal's Ctrl-C is for loadgen alone.
            command.process_group(0).kill_on_drop(true);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().map_err(KubernetesError::NoKubectl)?;
            let mut stdin = child.stdin.take();
            let write = async {
                if let Some(pipe) = &mut stdin {
                    // If this fails, kubectl has ended, and says why.
                    let _ = pipe.write_all(input.as_bytes()).await;
                }
                drop(stdin.take());
            };
            let (output, ()) = tokio::join!(child.wait_with_output(), write);
            let output = output.map_err(|error| refused(error.to_string()))?;
            match output.status.success() {
                true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
                false => Err(refused(said(&output.stderr, output.status))),
            }
        };
        timeout(LIMIT, run).await.unwrap_or_else(|_| {
            Err(refused(format!("no answer within {}", humantime::format_duration(LIMIT))))
        })
    }

    /// Like [`Self::run`], and reads what it printed as JSON.
    ///
    /// # Errors
    /// See [`Self::run`].
    pub async fn json(&self, words: &[&str], input: &str) -> Result<Value, KubernetesError> {
        let text = self.run(&[words, &["--output=json"]].concat(), input).await?;
        serde_json::from_str(&text).map_err(|error| KubernetesError::Refused {
            what: what(words),
            why: format!("its answer is not JSON: {error}"),
        })
    }

    /// Checks that the cluster knows what a Job needs, and that the user may do what a run needs.
    ///
    /// # Errors
    /// If the cluster cannot be reached, is too old, or does not allow it.
    pub async fn check(&self, has_terminal: bool) -> Result<(), KubernetesError> {
        self.check_version().await?;
        let attach = has_terminal.then_some(("create", "pods", "attach"));
        let needed = [
            ("create", "jobs.batch", ""),
            ("patch", "jobs.batch", ""),
            ("create", "secrets", ""),
            ("create", "pods", "exec"),
        ];
        for (verb, resource, below) in needed.into_iter().chain(attach) {
            let below_it = format!("--subresource={below}");
            let words = ["auth", "can-i", "--quiet", verb, resource, &below_it];
            match self.run(&words, "").await {
                // It says nothing else where the answer is no.
                Err(KubernetesError::Refused { why, .. }) if why == NO => {
                    let slash = if below.is_empty() { "" } else { "/" };
                    let what = format!("{verb} {resource}{slash}{below}");
                    return Err(KubernetesError::NoRights(what));
                }
                answered => drop(answered?),
            }
        }
        Ok(())
    }

    async fn check_version(&self) -> Result<(), KubernetesError> {
        let version = self.json(&["version"], "").await?;
        let of = &version["serverVersion"];
        let number = |key: &str| {
            let text = of[key].as_str().unwrap_or_default();
            text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().ok()
        };
        match number("major").zip(number("minor")) {
            Some(version) if version < (1, 33) => {
                let shown = of["gitVersion"].as_str().unwrap_or_default();
                Err(KubernetesError::TooOld(in_one_line(shown).into_owned()))
            }
            // Who does not tell its version will say what it does not know.
            _ => Ok(()),
        }
    }
}

/// Returns the first words of a command, without its options.
fn what(words: &[&str]) -> String {
    let words = words.iter().copied().filter(|word| !word.starts_with('-'));
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// Returns what `kubectl` said, or else how it ended. Of its own log, only the last line counts, and only if it said
/// nothing else.
pub(super) fn said(stderr: &[u8], status: std::process::ExitStatus) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (logged, said): (Vec<&str>, Vec<&str>) = lines.partition(|line| is_logged(line));
    let last = said[said.len().saturating_sub(3)..].join("; ");
    let logged = logged.last().and_then(|line| line.split_once("] "));
    match (last.is_empty(), logged) {
        (false, _) => in_one_line(&last).into_owned(),
        (true, Some((_, message))) => in_one_line(message).into_owned(),
        (true, None) => status.to_string(),
    }
}

/// Returns whether this is a line of a log, such as `E1129 20:08:17.615542 15321 v2.go:150] "Unhandled Error"`.
fn is_logged(line: &str) -> bool {
    let date = line.strip_prefix(['E', 'W', 'I', 'F']).and_then(|rest| rest.get(..4));
    date.is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit())) && line.contains("] ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn what_kubectl_says_is_told_from_its_log() {
        let said = |text: &str| said(text.as_bytes(), ExitStatus::from_raw(1 << 8));
        let log = "E1129 20:08:17.615542   15321 v2.go:150] \"Unhandled Error\" err=\"closed\"\n";
        assert_eq!(said(&format!("{log}error: no\u{1b}\n\nmore\n")), "error: no\\u{1b}; more");
        assert_eq!(said(&log.repeat(2)), "\"Unhandled Error\" err=\"closed\"");
        assert_eq!(said("Error from server"), "Error from server");
        assert_eq!(said(""), NO);
    }

    #[test]
    fn commands_are_named_without_their_options() {
        assert_eq!(what(&["create", "--validate=strict", "--filename=-"]), "create");
        assert_eq!(what(&["get", "pods", "--selector=a"]), "get pods");
    }
}
