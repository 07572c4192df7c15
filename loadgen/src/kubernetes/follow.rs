//! Creates a run in a cluster, follows it, fetches its result, and removes it.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::hand_over::{Fetched, fetch};
use super::kubectl::{Kubectl, KubernetesError};
use super::manifests::Manifests;
use super::pods::Pod;
use crate::text::{counted, say};

/// Time between two questions for the pods.
const POLL: Duration = Duration::from_millis(500);

/// Time for the manager's container to end when its result was taken.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Time for the view to end after the manager.
const VIEW_LIMIT: Duration = Duration::from_secs(3);

/// Broken connections in a row, after which the manager is taken for gone.
const MOST_BROKEN: u32 = 20;

/// The run to remove if the user does not want to wait.
static UNDER_WAY: Mutex<Option<(Kubectl, String)>> = Mutex::new(None);

/// A run in a cluster.
pub struct Follower<'a> {
    /// `kubectl` for the cluster.
    pub kubectl: Kubectl,
    /// What the cluster is asked for.
    pub manifests: &'a Manifests,
    /// Time for all pods to start.
    pub start_limit: Duration,
    /// Folder for the result.
    pub folder: &'a Path,
    /// Cancelled when the run must stop.
    pub interrupt: CancellationToken,
}

/// How a run in a cluster ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Exit code of loadgen in the manager's pod; `None` if the run was interrupted before it began.
    pub exit_code: Option<u8>,
    /// What happened to pods that did not end by themselves.
    pub troubles: Vec<String>,
}

/// Removes the run that is under way, without waiting for its end.
pub fn abandon() {
    let under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((kubectl, name)) = under_way {
        let words = ["delete", "job", &name, "--wait=false", "--ignore-not-found"];
        let _ = kubectl.command(&words).stdout(Stdio::null()).status();
    }
}

impl Follower<'_> {
    /// Carries the run out. Nothing of it is left in the cluster.
    ///
    /// # Errors
    /// If the cluster refuses it, does not start all pods in time, or loses the manager.
    pub async fn run(&self) -> Result<Followed, KubernetesError> {
        self.kubectl.check_version().await?;
        let name = &self.manifests.pods.name;
        let created = self.create().await;
        let followed = match created {
            Ok(()) => self.follow().await,
            Err(error) => Err(error),
        };
        let is_created = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_created {
            let words = [
                "delete",
                "job",
                name,
                "--cascade=foreground",
                "--wait=true",
                "--timeout=45s",
                "--ignore-not-found",
            ];
            match self.kubectl.run(&words, "").await {
                Ok(_) => drop(UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).take()),
                Err(error) => say(format!("job/{name} may be left in the cluster: {error}")),
            }
        }
        followed
    }

    /// Creates the Job, suspended, then all that it needs as its own, so that nothing outlives it, and begins.
    async fn create(&self) -> Result<(), KubernetesError> {
        let Manifests { pods, .. } = self.manifests;
        let secret = self
            .manifests
            .secret()
            .map_err(|why| KubernetesError::Refused { what: "create".to_owned(), why })?;
        let job = self.manifests.job(true).to_string();
        let job = self.kubectl.json(&["create", "--validate=strict", "--filename=-"], &job).await?;
        let under_way = (self.kubectl.clone(), pods.name.clone());
        *UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(under_way);
        let owner = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": pods.name, "uid": job["metadata"]["uid"],
            "blockOwnerDeletion": true,
        }]);
        let mut all = [secret, self.manifests.service()];
        for manifest in &mut all {
            manifest["metadata"]["ownerReferences"] = owner.clone();
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string();
        self.kubectl.run(&["create", "--validate=strict", "--filename=-"], &list).await?;
        let begin = json!({"spec": {"suspend": false}}).to_string();
        self.kubectl.run(&["patch", "job", &pods.name, "--patch", &begin], "").await.map(drop)
    }

    async fn follow(&self) -> Result<Followed, KubernetesError> {
        let begun = Instant::now();
        let is_manager = |pod: &Pod| pod.index == 0 && (pod.is_running || pod.exit_code.is_some());
        let started = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Ok(Followed::default()),
            started = self.until(begun, |pods| pods.iter().any(is_manager)) => started?,
        };
        let Some(manager) = started.into_iter().find(is_manager) else {
            return Err(KubernetesError::ManagerGone("it was never there".to_owned()));
        };
        let mut view = self.view(&manager.name).ok();
        let all = self.manifests.workers as usize + 1;
        // A worker that does not start would be awaited for ever.
        let others = async {
            let are_all = |pods: &[Pod]| {
                let has_run = |pod: &&Pod| pod.is_running || pod.exit_code.is_some();
                pods.iter().filter(has_run).count() == all
            };
            match self.until(begun, are_all).await {
                Ok(_) => std::future::pending().await,
                Err(error) => error,
            }
        };
        let fetched = tokio::select! {
            biased;
            fetched = self.fetch(&manager) => fetched,
            error = others => Err(error),
        };
        if let Some(view) = &mut view {
            end(view).await;
        }
        fetched
    }

    /// Waits until the pods are as `is_ready` wants them, and says what they wait for.
    async fn until(
        &self,
        begun: Instant,
        is_ready: impl Fn(&[Pod]) -> bool,
    ) -> Result<Vec<Pod>, KubernetesError> {
        let of = self.manifests.workers as usize + 1;
        let mut told = String::new();
        loop {
            let pods = self.pods().await?;
            if is_ready(&pods) {
                return Ok(pods);
            }
            let running = pods.iter().filter(|pod| pod.is_running).count();
            let troubled = pods.iter().find_map(|pod| Some((pod, pod.trouble.as_ref()?)));
            let why = troubled.map(|(pod, why)| format!("{}: {why}", pod.place()));
            let is_hopeless = pods.iter().any(|pod| pod.is_hopeless);
            if begun.elapsed() > self.start_limit || is_hopeless {
                let why = match why {
                    Some(why) => why,
                    None => self.events().await,
                };
                let limit = Duration::from_secs(begun.elapsed().as_secs());
                return Err(KubernetesError::NotStarted { running, of, limit, why });
            }
            let mut now = format!("{running} of {} run", counted(of as u64, "pod"));
            if let Some(why) = why {
                now += &format!("; {why}");
            }
            if now != told {
                say(&now);
                told = now;
            }
            sleep(POLL).await;
        }
    }

    async fn pods(&self) -> Result<Vec<Pod>, KubernetesError> {
        let selector =
            format!("--selector=batch.kubernetes.io/job-name={}", self.manifests.pods.name);
        Ok(Pod::all(&self.kubectl.json(&["get", "pods", &selector], "").await?))
    }

    /// Returns what the cluster says of the Job, for one without pods.
    async fn events(&self) -> String {
        let selector = format!("--field-selector=involvedObject.name={}", self.manifests.pods.name);
        let events = self.kubectl.json(&["get", "events", &selector], "").await.unwrap_or_default();
        let last = events["items"].as_array().and_then(|all| {
            let warnings = all.iter().filter(|event| event["type"] == "Warning");
            warnings.max_by_key(|event| event["metadata"]["creationTimestamp"].as_str()).cloned()
        });
        let message = last.as_ref().and_then(|event: &Value| event["message"].as_str());
        message.unwrap_or("the cluster does not say why").to_owned()
    }

    /// Shows what the manager shows: on its terminal, which is then this one, or as lines.
    fn view(&self, pod: &str) -> io::Result<Child> {
        let mut command = if self.manifests.terminal.is_some() {
            let words = ["attach", "--quiet", "--stdin", "--tty", pod, "--container=loadgen"];
            let mut command = Command::from(self.kubectl.command(&words));
            // Of both streams: standard output is for the result.
            command.stdout(rustix::io::dup(io::stderr())?);
            command
        } else {
            let words = ["logs", "--follow", pod, "--container=loadgen"];
            let mut command = Command::from(self.kubectl.command(&words));
            command.process_group(0).stdin(Stdio::null());
            command.stdout(rustix::io::dup(io::stderr())?);
            command
        };
        command.kill_on_drop(true).spawn()
    }

    /// Waits for the end of the run, and fetches its result. A broken connection is made again.
    async fn fetch(&self, manager: &Pod) -> Result<Followed, KubernetesError> {
        let mut broken = 0;
        loop {
            let begun = Instant::now();
            let why = match fetch(&self.kubectl, &manager.name, self.folder, &self.interrupt).await
            {
                Fetched::Unsaved(why) => return Err(KubernetesError::Unsaved(why)),
                Fetched::All(fetch, code) => {
                    // Before the end of the manager, with which the cluster ends the workers.
                    let pods = self.pods().await.unwrap_or_default();
                    let troubles = pods.iter().filter_map(|pod| {
                        let trouble = pod.trouble.as_ref()?;
                        Some(format!("pod {}: {trouble}", pod.place()))
                    });
                    let troubles = troubles.collect();
                    fetch.done().await;
                    let ended = timeout(END_LIMIT, self.until_ended()).await.ok().flatten();
                    let exit_code = Some(ended.unwrap_or(code));
                    return Ok(Followed { exit_code, troubles });
                }
                Fetched::Broken(why) => why,
            };
            let pods = self.pods().await?;
            let pod = pods.iter().find(|pod| pod.name == manager.name);
            match pod {
                Some(pod) if pod.exit_code.is_none() => {}
                other => {
                    let how = other.and_then(|pod| pod.trouble.clone());
                    let how = how.unwrap_or_else(|| "it was deleted".to_owned());
                    let place = other.map_or_else(|| manager.place(), Pod::place);
                    return Err(KubernetesError::ManagerGone(format!("{place}: {how}")));
                }
            }
            broken = if begun.elapsed() > END_LIMIT { 0 } else { broken + 1 };
            if broken > MOST_BROKEN {
                return Err(KubernetesError::ManagerGone(format!("{}: {why}", manager.place())));
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// Waits for the end of the manager's container, and returns its exit code.
    async fn until_ended(&self) -> Option<u8> {
        loop {
            let pods = self.pods().await.ok()?;
            let manager = pods.iter().find(|pod| pod.index == 0)?;
            if let Some(code) = manager.exit_code {
                return u8::try_from(code).ok();
            }
            sleep(POLL).await;
        }
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
