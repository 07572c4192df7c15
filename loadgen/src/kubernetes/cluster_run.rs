//! A run in a cluster, as its Job tells of it: what its follower must know.

use std::time::Duration;

use serde_json::Value;

use super::error::KubernetesError;
use super::kubectl::Kubectl;
use super::manifests::{RUN, SERVER_OF, SERVERS};
use super::pods::reason;

/// Conditions of a Job that has ended, or is about to.
const OVER: [&str; 4] = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"];

/// A run in a cluster whose result is handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRun {
    /// Name of its Job.
    pub name: String,
    /// Option of `kubectl` that selects what belongs to the run.
    pub selector: String,
    /// Option of `kubectl` that selects the servers of the run; `None` if it has none of its own.
    pub servers: Option<String>,
    /// Number of these servers.
    pub server_count: usize,
    /// Number of workers.
    pub workers: u32,
    /// Whether the workers wait until the servers have their nodes.
    pub is_held: bool,
    /// Whether the manager has a terminal, on which it shows the live view.
    pub has_terminal: bool,
    /// Time for which pods that run wait for the others.
    pub wait: Duration,
    /// Why the Job has ended; `None` if it goes on.
    pub over: Option<String>,
}

impl ClusterRun {
    /// Finds the run whose Job has this name.
    ///
    /// # Errors
    /// If there is none that can be followed.
    pub async fn find(kubectl: &Kubectl, name: &str) -> Result<Self, KubernetesError> {
        let job = kubectl.json(&["get", "job", name], "").await.map_err(|error| match error {
            KubernetesError::Refused { why, .. } if why.contains("NotFound") => {
                KubernetesError::NoRun { name: name.to_owned(), place: kubectl.place() }
            }
            error => error,
        })?;
        let run = Self::of(&job)?;
        if job["metadata"]["deletionTimestamp"].is_string() {
            return Err(KubernetesError::Removed(run.name));
        }
        match job["spec"]["suspend"].as_bool() {
            Some(true) => Err(KubernetesError::Suspended(run.name)),
            _ => Ok(run),
        }
    }

    /// Returns the kinds of what belongs to the run. Users may have no rights on those that it does not need.
    pub(super) fn owned(&self) -> &'static str {
        match self.servers {
            Some(_) => "jobs,services,secrets,deployments.apps",
            None => "jobs,services,secrets",
        }
    }

    /// Reads a Job.
    ///
    /// # Errors
    /// If it is not of loadgen, or hands no result over.
    pub fn of(job: &Value) -> Result<Self, KubernetesError> {
        let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let read = || {
            let id = job["metadata"]["labels"][RUN].as_str()?;
            let pods = job["spec"]["completions"].as_u64()?;
            let containers = job["spec"]["template"]["spec"]["containers"].as_array()?;
            let container = containers.iter().find(|container| container["name"] == "loadgen")?;
            Some((id, u32::try_from(pods.checked_sub(1)?).ok()?, container))
        };
        let Some((id, workers, container)) = read() else {
            return Err(KubernetesError::NotARun(name));
        };
        // Words after `--` are the manager's.
        let words = container["args"].as_array().into_iter().flatten().map_while(Value::as_str);
        let words: Vec<&str> = words.take_while(|word| *word != "--").collect();
        let time = |option: &str| {
            let value = words.iter().find_map(|word| word.strip_prefix(option))?;
            humantime::parse_duration(value).ok()
        };
        if time("--hand-over=").is_none() {
            return Err(KubernetesError::NoHandOver(name));
        }
        let conditions = job["status"]["conditions"].as_array();
        let is_over = |condition: &&Value| {
            condition["status"] == "True" && OVER.iter().any(|kind| condition["type"] == *kind)
        };
        let over = conditions.and_then(|all| all.iter().find(is_over));
        Ok(Self {
            selector: format!("--selector={RUN}={id}"),
            servers: job["metadata"]["labels"][SERVERS]
                .is_string()
                .then(|| format!("--selector={SERVER_OF}={id}")),
            server_count: job["metadata"]["labels"][SERVERS]
                .as_str()
                .and_then(|count| count.parse().ok())
                .unwrap_or(0),
            workers,
            is_held: job["spec"]["parallelism"]
                .as_u64()
                .is_some_and(|pods| pods <= u64::from(workers)),
            has_terminal: container["tty"] == true,
            wait: time("--wait=").unwrap_or_default(),
            over: over.map(|of| reason(of).unwrap_or_else(|| "the job has ended".to_owned())),
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job() -> Value {
        json!({
            "metadata": {"name": "lg", "labels": {"loadgen/run": "1a2b"}},
            "spec": {"completions": 3, "parallelism": 3, "template": {"spec": {"containers": [
                {"name": "proxy", "args": ["--hand-over=1s"]},
                {
                    "name": "loadgen", "tty": true,
                    "args": ["pod", "--wait=6m", "--hand-over=1h", "--", "--wait=9m"],
                },
            ]}}},
            "status": {"conditions": [
                {"type": "Suspended", "status": "False", "reason": "JobResumed"},
            ]},
        })
    }

    #[test]
    fn what_a_follower_must_know_is_in_the_job() {
        let mut run = ClusterRun {
            name: "lg".to_owned(),
            selector: "--selector=loadgen/run=1a2b".to_owned(),
            servers: None,
            server_count: 0,
            workers: 2,
            is_held: false,
            has_terminal: true,
            wait: Duration::from_secs(360),
            over: None,
        };
        assert_eq!(ClusterRun::of(&job()).unwrap(), run);
        let mut other = job();
        other["spec"]["template"]["spec"]["containers"][1]["tty"] = Value::Null;
        other["status"]["conditions"][0] = json!({
            "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long",
        });
        run.has_terminal = false;
        other["spec"]["parallelism"] = json!(1);
        run.is_held = true;
        other["metadata"]["labels"]["loadgen/servers"] = json!("2");
        run.servers = Some("--selector=loadgen/server-of=1a2b".to_owned());
        run.server_count = 2;
        run.over = Some("DeadlineExceeded: too long".to_owned());
        assert_eq!(ClusterRun::of(&other).unwrap(), run);
    }

    #[test]
    fn jobs_that_are_no_runs_are_refused() {
        for path in ["/metadata/labels", "/spec/completions", "/spec/template/spec/containers/1"] {
            let mut foreign = job();
            *foreign.pointer_mut(path).unwrap() = Value::Null;
            let refused = ClusterRun::of(&foreign).unwrap_err();
            assert!(matches!(refused, KubernetesError::NotARun(name) if name == "lg"), "{path}");
        }
    }

    #[test]
    fn a_job_without_hand_over_is_refused() {
        let mut rendered = job();
        rendered["spec"]["template"]["spec"]["containers"][1]["args"] =
            json!(["pod", "--wait=6m", "--", "--hand-over=1h"]);
        let refused = ClusterRun::of(&rendered).unwrap_err();
        assert!(matches!(refused, KubernetesError::NoHandOver(name) if name == "lg"));
    }
}
