//! What the tests share: a project with a server that the pods reach, and what is left in the cluster.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::task::block_in_place;

use crate::common::Counting;
use crate::common::program::{Finished, Project};

/// Address of this machine that pods reach.
const BRIDGE: &str = "10.201.7.1";

/// Generous, because a busy machine takes its time to start pods.
pub const WITHIN: Duration = Duration::from_secs(90);

/// Namespace that admits only pods of the Pod Security Standard `restricted`.
pub const NAMESPACE: &str = "restricted";

/// Words for all pods. This machine has fewer CPUs than pods.
pub const PODS: [&str; 7] = [
    "--image=localhost/loadgen:test",
    "--image-pull-policy=Never",
    "--namespace=restricted",
    "--requests=cpu=50m,memory=64Mi",
    "--limits=memory=512Mi",
    "--warmup=0s",
    "--no-progress",
];

/// A run in the cluster.
pub struct Run {
    pub project: Project,
    pub server: Counting,
    name: &'static str,
}

impl Run {
    /// Prepares a run with this name.
    pub async fn new(name: &'static str) -> Self {
        assert_eq!(left(name), Vec::<String>::new(), "an earlier test");
        Self { project: Project::bare(), server: Counting::start_at(BRIDGE).await, name }
    }

    /// Returns `loadgen k8s COMMAND` with these words.
    pub fn command(&self, command: &str, words: &[&str]) -> Command {
        let mut all = vec!["k8s", command, "--name", self.name];
        // Manifests show no progress.
        all.extend(PODS.iter().filter(|word| command != "render" || **word != "--no-progress"));
        all.extend(words);
        let mut command = self.project.command(&all);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns `loadgen k8s follow` for this run, with these words.
    pub fn follow(&self, words: &[&str]) -> Command {
        let own = ["k8s", "follow", self.name, "--namespace=restricted"];
        let mut command = self.project.command(&[&own[..], words].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Begins `loadgen k8s run` with these words, and kills it as soon as there is load.
    pub fn begin_and_kill(&self, words: &[&str]) {
        let mut child = self.command("run", words).spawn().unwrap();
        self.until_loaded();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits for the end of a command of this run.
    pub fn end(&self, mut command: Command) -> Finished {
        self.end_of(command.spawn().unwrap())
    }

    /// Waits for the end of a process of this run.
    pub fn end_of(&self, child: Child) -> Finished {
        let output = block_in_place(|| child.wait_with_output().unwrap());
        Finished::of(output, &self.project.path(""))
    }

    /// Carries out `loadgen k8s run` with these words, and checks that nothing is left in the cluster.
    pub fn run(&self, words: &[&str]) -> Finished {
        let output = block_in_place(|| self.command("run", words).output().unwrap());
        let finished = Finished::of(output, &self.project.path(""));
        assert_eq!(left(self.name), Vec::<String>::new(), "{}", finished.stderr);
        finished
    }

    /// Returns the URL of the server with this path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// Waits until the server was sent so many requests.
    pub fn until_loaded(&self) {
        let begun = Instant::now();
        while self.server.requests() < 100 {
            assert!(begun.elapsed() < WITHIN, "no load");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the saved record.
    pub fn record(&self, folder: &str) -> Value {
        let path = self.project.path(folder).join("run.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Returns the name of the pod with this number.
    pub fn pod(&self, index: u32) -> String {
        let selector = format!(
            "--selector=batch.kubernetes.io/job-name={},batch.kubernetes.io/job-completion-index={index}",
            self.name
        );
        let pods = kubectl(&["get", "pods", &selector, "--output=name"]);
        pods.lines().next().unwrap().trim_start_matches("pod/").to_owned()
    }
}

/// Runs kubectl in the namespace of the tests, and returns what it printed.
#[track_caller]
pub fn kubectl(words: &[&str]) -> String {
    let output = block_in_place(|| {
        Command::new("kubectl").arg("--namespace").arg(NAMESPACE).args(words).output().unwrap()
    });
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what is in the cluster of the run with this name.
pub fn left(name: &str) -> Vec<String> {
    let selector = format!("--selector=app.kubernetes.io/instance={name}");
    let words = ["get", "jobs,pods,services,secrets,deployments", "--output=name", &selector];
    kubectl(&words).lines().map(str::to_owned).collect()
}

/// Sends what Ctrl-C sends.
pub fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WITHIN, "{what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A change of the cluster, which is taken back when it is dropped.
pub struct Changed(&'static [&'static str]);

impl Changed {
    /// Lets the node start no pods.
    pub fn cordoned() -> Self {
        kubectl(&["cordon", "node-a"]);
        Self(&["uncordon", "node-a"])
    }

    /// Gives the second node a label.
    pub fn labelled() -> Self {
        kubectl(&["label", "node", "node-b", "test=held"]);
        Self(&["label", "node", "node-b", "test-"])
    }

    /// Lets the namespace have no pods.
    pub fn quota() -> Self {
        kubectl(&["create", "quota", "none", "--hard=pods=0"]);
        Self(&["delete", "quota", "none"])
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        let _ = Command::new("kubectl").arg("--namespace").arg(NAMESPACE).args(self.0).status();
    }
}
