//! Creates a run in a cluster, follows it, fetches its result, and removes it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::hand_over::{Fetched, fetch};
use super::kubectl::{Kubectl, KubernetesError};
use super::manifests::Manifests;
use super::pods::{Pod, quoted};
use crate::text::{counted, say};

/// Time between two questions for the pods: until they run, and later.
const POLL: Duration = Duration::from_millis(500);
const LATER: Duration = Duration::from_secs(3);

/// Time without a connection to the manager after which loadgen gives up: as long as the manager waits for somebody who
/// takes its result.
const LOST: Duration = Duration::from_secs(600);

/// Time for a run to stop.
const STOP_LIMIT: Duration = Duration::from_secs(90);

/// Time for the view to end after the manager.
const VIEW_LIMIT: Duration = Duration::from_secs(3);

/// Time for the cluster to take the order to remove a run that the user does not want to wait for.
const ABANDON_LIMIT: Duration = Duration::from_secs(6);

/// The run to remove if the user does not want to wait: `kubectl`, and the words that select what belongs to it.
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

/// What happened to pods during the run, each by its place.
type Troubles = Mutex<BTreeMap<String, String>>;

/// Removes the run that is under way, without waiting for its end.
pub fn abandon() {
    let Some((kubectl, selector)) = locked(&UNDER_WAY).take() else { return };
    let words = ["delete", OWNED, &selector, "--wait=false", "--request-timeout=5s"];
    let mut command = kubectl.command(&words);
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() else { return };
    let begun = Instant::now();
    while child.try_wait().is_ok_and(|status| status.is_none()) {
        if begun.elapsed() > ABANDON_LIMIT {
            let _ = child.kill();
            return say(format!("the run may be left in the cluster: kubectl get jobs {selector}"));
        }
        thread::sleep(POLL / 10);
    }
}

/// Kinds of what belongs to a run.
const OWNED: &str = "jobs,services,secrets";

impl Follower<'_> {
    /// Carries the run out. Nothing of it is left in the cluster, unless the connection to it is lost.
    ///
    /// # Errors
    /// If the cluster refuses it, does not start all pods in time, or loses the manager.
    pub async fn run(&self) -> Result<Followed, KubernetesError> {
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Ok(Followed::default()),
            checked = self.kubectl.check(self.manifests.terminal.is_some()) => checked?,
        }
        let selector = format!("--selector={}", self.manifests.selector());
        *locked(&UNDER_WAY) = Some((self.kubectl.clone(), selector.clone()));
        let created = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => Ok(false),
            created = self.create() => created.map(|()| true),
        };
        let followed = match created {
            Ok(true) => self.follow().await,
            Ok(false) => Ok(Followed::default()),
            Err(error) => Err(error),
        };
        if !matches!(followed, Err(KubernetesError::Lost { .. })) {
            let words = ["delete", OWNED, &selector, "--cascade=foreground", "--timeout=45s"];
            if let Err(error) = self.kubectl.run(&words, "").await {
                let name = &self.manifests.pods.name;
                say(format!("job/{name} may be left in the cluster: {error}"));
            }
        }
        locked(&UNDER_WAY).take();
        followed
    }

    /// Creates the Job, suspended, then all that it needs as its own, so that nothing outlives it, and begins.
    async fn create(&self) -> Result<(), KubernetesError> {
        let Manifests { pods, .. } = self.manifests;
        let secret = self
            .manifests
            .secret()
            .map_err(|why| KubernetesError::Refused { what: "create secret".to_owned(), why })?;
        let words = ["create", "--validate=strict", "--filename=-"];
        let job = self.kubectl.json(&words, &self.manifests.job(true).to_string()).await;
        let job = job.map_err(|error| match error {
            KubernetesError::Refused { why, .. } if why.contains("AlreadyExists") => {
                KubernetesError::NameTaken(pods.name.clone())
            }
            error => error,
        })?;
        let owner = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": pods.name, "uid": job["metadata"]["uid"],
        }]);
        let mut all = [secret, self.manifests.service()];
        for manifest in &mut all {
            manifest["metadata"]["ownerReferences"] = owner.clone();
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string();
        self.kubectl.run(&words, &list).await?;
        let begin = json!({"spec": {"suspend": false}}).to_string();
        self.kubectl.run(&["patch", "job", &pods.name, "--patch", &begin], "").await.map(drop)
    }

    async fn follow(&self) -> Result<Followed, KubernetesError> {
        let begun = Instant::now();
        let is_manager = |pod: &Pod| pod.index == 0 && (pod.is_running || pod.exit_code.is_some());
        let started = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Ok(Followed::default()),
            started = self.until(begun, true, |pods| pods.iter().any(is_manager)) => started?,
        };
        let Some(manager) = started.into_iter().find(is_manager) else {
            return Err(KubernetesError::ManagerGone("it was never there".to_owned()));
        };
        let (over, troubles) = (CancellationToken::new(), Troubles::default());
        let followed = async {
            let followed = tokio::select! {
                biased;
                fetched = self.fetch(&manager, &troubles) => fetched,
                error = self.watch(begun, &troubles) => Err(error),
                () = self.stopped() => {
                    let limit = humantime::format_duration(STOP_LIMIT);
                    let why = format!("{}: it did not stop within {limit}", manager.place());
                    Err(KubernetesError::ManagerGone(why))
                }
            };
            over.cancel();
            followed
        };
        let (followed, ()) = tokio::join!(followed, self.show(&manager.name, &over));
        followed
    }

    /// Ends when a run that the user has stopped takes too long to stop.
    async fn stopped(&self) {
        self.interrupt.cancelled().await;
        if self.manifests.terminal.is_none() {
            say("stopping the run, to fetch what was measured");
        }
        sleep(STOP_LIMIT).await;
    }

    /// Waits until the pods are as `is_ready` wants them; says what they wait for, if `is_loud`.
    async fn until(
        &self,
        begun: Instant,
        is_loud: bool,
        is_ready: impl Fn(&[Pod]) -> bool,
    ) -> Result<Vec<Pod>, KubernetesError> {
        let of = self.manifests.workers as usize + 1;
        let mut told = String::new();
        loop {
            let asked = self.pods().await;
            let pods = asked.as_deref().unwrap_or_default();
            if is_ready(pods) {
                return asked;
            }
            let running = pods.iter().filter(|pod| pod.is_running).count();
            let troubled = pods.iter().find_map(|pod| Some((pod, pod.trouble.as_ref()?)));
            let why = match &asked {
                Ok(_) => troubled.map(|(pod, why)| format!("{}: {why}", pod.place())),
                // A connection that breaks may come back.
                Err(error) => Some(error.to_string()),
            };
            // A worker that has ended before it had anything to do does not come back.
            let has_failed = |pod: &Pod| pod.exit_code.is_some() && pod.trouble.is_some();
            let is_hopeless = pods.iter().any(|pod| pod.is_hopeless || has_failed(pod));
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
            if is_loud && now != told {
                say(&now);
                told = now;
            }
            sleep(POLL).await;
        }
    }

    /// Waits until all workers run, and then keeps what happens to them. Ends only if some do not start: they would be
    /// awaited for ever.
    async fn watch(&self, begun: Instant, troubles: &Troubles) -> KubernetesError {
        let all = self.manifests.workers as usize + 1;
        let are_all = |pods: &[Pod]| {
            let has_run =
                |pod: &&Pod| pod.is_running || (pod.exit_code.is_some() && pod.trouble.is_none());
            pods.iter().filter(has_run).count() == all
        };
        // Lines would disturb the terminal, which is the manager's.
        let is_loud = self.manifests.terminal.is_none();
        let mut known = match self.until(begun, is_loud, are_all).await {
            Ok(pods) => pods,
            Err(error) => return error,
        };
        loop {
            sleep(LATER).await;
            let Ok(pods) = self.pods().await else { continue };
            note(troubles, &known, &pods);
            known = pods;
        }
    }

    async fn pods(&self) -> Result<Vec<Pod>, KubernetesError> {
        let selector = format!("--selector={}", self.manifests.selector());
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
        message.map_or_else(|| "the cluster does not say why".to_owned(), quoted)
    }

    /// Shows what the manager shows until it is over: on its terminal, which is then this one, or as lines. A view that
    /// breaks begins again.
    async fn show(&self, pod: &str, over: &CancellationToken) {
        let mut is_first = true;
        while let Ok(mut view) = self.view(pod, is_first) {
            let begun = Instant::now();
            tokio::select! {
                () = over.cancelled() => return end(&mut view).await,
                _ = view.wait() => {}
            }
            // It is not allowed, or the manager has ended.
            if begun.elapsed() < LATER {
                return;
            }
            is_first = false;
        }
    }

    fn view(&self, pod: &str, is_first: bool) -> io::Result<Child> {
        let is_live = self.manifests.terminal.is_some();
        let words: &[&str] = match (is_live, is_first) {
            (true, _) => &["attach", "--quiet", "--stdin", "--tty", pod, "--container=loadgen"],
            (false, true) => &["logs", "--follow", pod, "--container=loadgen"],
            (false, false) => &["logs", "--follow", "--tail=0", pod, "--container=loadgen"],
        };
        let mut command = Command::from(self.kubectl.command(words));
        if !is_live {
            command.process_group(0).stdin(Stdio::null());
        }
        // Standard output is for the result.
        command.stdout(rustix::io::dup(io::stderr())?).kill_on_drop(true).spawn()
    }

    /// Waits for the end of the run, and fetches its result. A broken connection is made again.
    async fn fetch(&self, manager: &Pod, troubles: &Troubles) -> Result<Followed, KubernetesError> {
        let mut lost = None::<Instant>;
        loop {
            let (why, was_alive) =
                match fetch(&self.kubectl, &manager.name, self.folder, &self.interrupt).await {
                    Fetched::Unsaved(why) => return Err(KubernetesError::Unsaved(why)),
                    Fetched::All(fetch, code) => {
                        // Before the end of the manager, with which the cluster ends the workers.
                        note(troubles, &[], &self.pods().await.unwrap_or_default());
                        fetch.done().await;
                        return Ok(Followed { exit_code: Some(code), troubles: lines(troubles) });
                    }
                    Fetched::Broken { why, was_alive } => (why, was_alive),
                };
            if let Ok(pods) = self.pods().await {
                note(troubles, &[], &pods);
                let pod = pods.into_iter().find(|pod| pod.name == manager.name);
                match pod {
                    Some(pod) if pod.exit_code.is_none() => {}
                    pod => return gone(manager, pod, troubles),
                }
            }
            if was_alive || lost.is_none() {
                lost = Some(Instant::now());
                if self.manifests.terminal.is_none() {
                    say(format!("the connection to the manager is lost; trying again: {why}"));
                }
            }
            if lost.is_some_and(|since| since.elapsed() > LOST) {
                let name = self.manifests.pods.name.clone();
                return Err(KubernetesError::Lost { name, why });
            }
            sleep(Duration::from_secs(1)).await;
        }
    }
}

/// Keeps what is wrong with these pods, and which of those known before are not there any more.
fn note(troubles: &Troubles, known: &[Pod], pods: &[Pod]) {
    let mut troubles = locked(troubles);
    for pod in known.iter().filter(|pod| pods.iter().all(|other| other.name != pod.name)) {
        troubles.entry(pod.place()).or_insert_with(|| "it was deleted".to_owned());
    }
    for (pod, trouble) in pods.iter().filter_map(|pod| Some((pod, pod.trouble.clone()?))) {
        troubles.insert(pod.place(), trouble);
    }
}

fn lines(troubles: &Troubles) -> Vec<String> {
    locked(troubles).iter().map(|(place, trouble)| format!("pod {place}: {trouble}")).collect()
}

/// Returns how a run ended whose manager has ended without handing its result over.
fn gone(manager: &Pod, pod: Option<Pod>, troubles: &Troubles) -> Result<Followed, KubernetesError> {
    let place = pod.as_ref().unwrap_or(manager).place();
    let code = pod.as_ref().and_then(|pod| pod.exit_code);
    if code == Some(130) {
        // A second Ctrl-C on its terminal.
        locked(troubles).insert(place, "it was interrupted, and has no result".to_owned());
        return Ok(Followed { exit_code: Some(130), troubles: lines(troubles) });
    }
    let how = match (code, pod.and_then(|pod| pod.trouble)) {
        (Some(0), _) => "it ended, and nobody had taken its result in time".to_owned(),
        (_, Some(trouble)) => trouble,
        _ => "it was deleted".to_owned(),
    };
    Err(KubernetesError::ManagerGone(format!("{place}: {how}")))
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

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
