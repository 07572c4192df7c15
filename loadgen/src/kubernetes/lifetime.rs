//! Creates what belongs to a run in a cluster, and removes it.

use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cluster_run::ClusterRun;
use super::error::KubernetesError;
use super::kubectl::Kubectl;
use super::manifests::Manifests;
use crate::text::say;

/// Time for the cluster to take the order to remove a run that the user does not want to wait for.
const ABANDON_LIMIT: Duration = Duration::from_secs(6);

/// Time between two looks whether it has.
const LOOK: Duration = Duration::from_millis(50);

/// The run to remove if the user does not want to wait.
static UNDER_WAY: Mutex<Option<(Kubectl, ClusterRun)>> = Mutex::new(None);

/// Time in which [`abandon`] removes a run.
pub(super) struct UnderWay;

impl UnderWay {
    /// Begins the time of this run.
    pub fn begin(kubectl: &Kubectl, run: &ClusterRun) -> Self {
        *under_way() = Some((kubectl.clone(), run.clone()));
        Self
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        under_way().take();
    }
}

fn under_way() -> MutexGuard<'static, Option<(Kubectl, ClusterRun)>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the run that is under way, without waiting for its end.
pub fn abandon() {
    let Some((kubectl, run)) = under_way().take() else { return };
    let selector = &run.selector;
    let words = ["delete", run.owned(), selector, "--wait=false", "--request-timeout=5s"];
    let mut command = kubectl.command(&words);
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() else { return };
    let begun = Instant::now();
    while child.try_wait().is_ok_and(|status| status.is_none()) {
        if begun.elapsed() > ABANDON_LIMIT {
            let _ = child.kill();
            return say(format!("the run may be left in the cluster: kubectl get jobs {selector}"));
        }
        thread::sleep(LOOK);
    }
}

/// Creates the Job, suspended, then all that it needs as its own, so that nothing outlives it, begins, and creates its
/// servers, for which the workers wait: see [`begin_workers`].
pub(super) async fn create(
    kubectl: &Kubectl,
    manifests: &Manifests,
) -> Result<(), KubernetesError> {
    let name = &manifests.pods.name;
    let secret = manifests
        .secret()
        .map_err(|why| KubernetesError::Refused { what: "create secret".to_owned(), why })?;
    let words = ["create", "--validate=strict", "--filename=-"];
    let job = kubectl.json(&words, &manifests.job(true).to_string()).await;
    let job = job.map_err(|error| match error {
        KubernetesError::Refused { why, .. } if why.contains("AlreadyExists") => {
            KubernetesError::NameTaken(name.clone())
        }
        error => error,
    })?;
    let owner = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"],
    }]);
    let owned = |mut all: Vec<Value>| {
        for manifest in &mut all {
            manifest["metadata"]["ownerReferences"] = owner.clone();
        }
        json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string()
    };
    kubectl.run(&words, &owned(vec![secret, manifests.service()])).await?;
    let begin = json!({"spec": {"suspend": false}}).to_string();
    kubectl.run(&["patch", "job", name, "--patch", &begin], "").await?;
    // A Job that goes on ends some day, and its servers with it; a suspended one does not.
    match manifests.servers() {
        none if none.is_empty() => Ok(()),
        servers => kubectl.run(&words, &owned(servers)).await.map(drop),
    }
}

/// Lets the workers of a run begin that was created with the manager alone.
pub(super) async fn begin_workers(
    kubectl: &Kubectl,
    run: &ClusterRun,
) -> Result<(), KubernetesError> {
    let all = json!({"spec": {"parallelism": run.workers + 1}}).to_string();
    kubectl.run(&["patch", "job", &run.name, "--patch", &all], "").await.map(drop)
}

/// Removes all that belongs to a run, and waits until it is gone. Returns whether it is.
pub(super) async fn remove(kubectl: &Kubectl, run: &ClusterRun) -> bool {
    let words = ["delete", run.owned(), &run.selector, "--cascade=foreground", "--timeout=45s"];
    let removed = kubectl.run(&words, "").await;
    if let Err(error) = &removed {
        say(format!("job/{} may be left in the cluster: {error}", run.name));
    }
    removed.is_ok()
}
