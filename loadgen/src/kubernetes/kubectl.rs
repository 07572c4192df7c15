//! Runs `kubectl`, with the user's own configuration.

use std::process::Stdio;
use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::error::KubernetesError;
use crate::text::in_one_line;

/// Time limit for one request to the cluster.
const LIMIT: Duration = Duration::from_secs(60);

/// The words of [`said`] for a program that prints nothing and has the exit code 1.
const NO: &str = "exit status: 1";

/// A right of a user: a verb, a resource, and a subresource or an empty text.
pub(super) type Right = (&'static str, &'static str, &'static str);

/// Rights for following a run, and for removing it.
pub(super) const FOLLOW: [Right; 9] = [
    ("create", "pods", "exec"),
    ("list", "pods", ""),
    ("get", "jobs.batch", ""),
    ("list", "jobs.batch", ""),
    ("delete", "jobs.batch", ""),
    ("list", "services", ""),
    ("delete", "services", ""),
    ("list", "secrets", ""),
    ("delete", "secrets", ""),
];

/// Right for lines about the run.
pub(super) const LOG: Right = ("get", "pods", "log");

/// Right for the begin of workers.
pub(super) const PATCH: Right = ("patch", "jobs.batch", "");

/// Right for the live view.
pub(super) const ATTACH: Right = ("create", "pods", "attach");

/// Further rights for a new run.
pub(super) const CREATE: [Right; 4] =
    [("create", "jobs.batch", ""), PATCH, ("create", "secrets", ""), ("create", "services", "")];

/// Further right for a new run with servers.
pub(super) const CREATE_SERVERS: [Right; 1] = [("create", "deployments.apps", "")];

/// Further rights for following a run with servers.
pub(super) const FOLLOW_SERVERS: [Right; 2] =
    [("list", "deployments.apps", ""), ("delete", "deployments.apps", "")];

/// `kubectl`, for one namespace of one cluster.
#[derive(Debug, Clone, Default)]
pub struct Kubectl {
    /// Context of the user's configuration; `None` for the current one.
    pub context: Option<String>,
    /// Namespace; `None` for that of the context.
    pub namespace: Option<String>,
}

impl Kubectl {
    /// Returns the command that takes up a run of this cluster, for messages.
    pub(super) fn follow(&self, name: &str) -> String {
        let namespace = self.namespace.iter().map(|name| format!(" --namespace {name}"));
        let context = self.context.iter().map(|context| format!(" --context {context}"));
        let options: String = namespace.chain(context).collect();
        format!("loadgen k8s follow {name}{options}")
    }

    /// Returns where a run is looked for, for messages.
    pub(super) fn place(&self) -> String {
        let context = match &self.context {
            Some(context) => format!("the context {context}"),
            None => "the current context".to_owned(),
        };
        match &self.namespace {
            Some(namespace) => format!("in the namespace {namespace} of {context}"),
            None => format!("in the namespace of {context}"),
        }
    }

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

    /// Checks that the cluster knows what a Job needs, and that the user has these rights.
    ///
    /// # Errors
    /// If the cluster cannot be reached, is too old, or does not allow it.
    pub(super) async fn check(
        &self,
        needed: impl Iterator<Item = Right>,
    ) -> Result<(), KubernetesError> {
        self.check_version().await?;
        // Together, because each starts a kubectl.
        try_join_all(needed.map(|right| self.may(right))).await.map(drop)
    }

    async fn may(&self, (verb, resource, below): Right) -> Result<(), KubernetesError> {
        let below_it = format!("--subresource={below}");
        let words = ["auth", "can-i", "--quiet", verb, resource, &below_it];
        match self.run(&words, "").await {
            // It says nothing else where the answer is no.
            Err(KubernetesError::Refused { why, .. }) if why == NO => {
                let slash = if below.is_empty() { "" } else { "/" };
                Err(KubernetesError::NoRights(format!("{verb} {resource}{slash}{below}")))
            }
            answered => answered.map(drop),
        }
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
    fn the_way_back_to_a_run_names_its_cluster() {
        let current = Kubectl::default();
        assert_eq!(current.follow("lg"), "loadgen k8s follow lg");
        assert_eq!(current.place(), "in the namespace of the current context");
        let other =
            Kubectl { context: Some("kind-a".to_owned()), namespace: Some("load".to_owned()) };
        assert_eq!(other.follow("lg"), "loadgen k8s follow lg --namespace load --context kind-a");
        assert_eq!(other.place(), "in the namespace load of the context kind-a");
    }

    #[test]
    fn commands_are_named_without_their_options() {
        assert_eq!(what(&["create", "--validate=strict", "--filename=-"]), "create");
        assert_eq!(what(&["get", "pods", "--selector=a"]), "get pods");
    }
}
