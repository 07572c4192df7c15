//! Reads how the pods of servers under test are.

use serde_json::Value;

use super::error::KubernetesError;
use super::manifests::{AWAIT, OBSERVER, SERVER};
use super::pods::{SIGNALLED, error, is_hopeless, place, quoted, reason, status_of, trouble};

/// Restarts after which a server that does not become ready has no hope. The first one may have waited for something.
const RESTARTS: u64 = 2;

/// Servers under test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ServersNow {
    /// Number of pods that are ready.
    pub ready: usize,
    /// Number of servers that the cluster knows.
    pub deployments: usize,
    /// Number of pods that have a node.
    pub placed: usize,
    /// Number of pods that all servers should have.
    pub of: usize,
    /// Why the first one that is not ready is not, with its place, if the cluster says so.
    pub why: Option<String>,
    /// Whether that reason is none of the servers': it is of loadgen beside one, or of the connection to the cluster.
    pub is_excused: bool,
    /// Name of that pod; `None` if its reason is that of its Deployment.
    pub troubled: Option<String>,
    /// How far the first one that is not ready without a reason is, with its place.
    pub slow: Option<String>,
    /// Whether waiting does not help.
    pub is_hopeless: bool,
    /// Events of pods that were in use, each with the pod's place.
    pub troubles: Vec<(String, String)>,
}

impl ServersNow {
    /// Reads a list of Deployments and pods.
    pub fn of(list: &Value) -> Self {
        let mut all = Self::default();
        for item in list["items"].as_array().into_iter().flatten() {
            match item["kind"].as_str() {
                Some("Deployment") => all.add_deployment(item),
                Some("Pod") => all.add_pod(item),
                _ => {}
            }
        }
        all
    }

    /// Returns servers that the cluster does not tell of, for this reason.
    pub fn unknown(error: KubernetesError) -> Self {
        Self { of: 1, why: Some(error.to_string()), is_excused: true, ..Self::default() }
    }

    /// Returns whether all pods of so many servers have a node.
    pub fn are_placed(&self, servers: usize) -> bool {
        self.deployments >= servers && self.placed >= self.of
    }

    /// Returns whether pods are not ready for a reason of the servers' own.
    pub fn are_at_fault(&self) -> bool {
        self.ready < self.of && !self.is_excused
    }

    /// Returns whether all pods are ready.
    pub fn are_ready(&self) -> bool {
        self.ready >= self.of
    }

    fn add_deployment(&mut self, deployment: &Value) {
        self.deployments += 1;
        let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
        self.of += usize::try_from(replicas).unwrap_or(usize::MAX);
        let conditions = deployment["status"]["conditions"].as_array();
        let failure = conditions.into_iter().flatten().find(|condition| {
            condition["type"] == "ReplicaFailure" && condition["status"] == "True"
        });
        if let Some(why) = failure.and_then(reason) {
            let name = deployment["metadata"]["name"].as_str().unwrap_or_default();
            self.why.get_or_insert(format!("{name}: {why}"));
        }
    }

    fn add_pod(&mut self, pod: &Value) {
        let Some(name) = pod["metadata"]["name"].as_str() else { return };
        let node = pod["spec"]["nodeName"].as_str();
        self.placed += usize::from(node.is_some());
        let place = place(name, node);
        let conditions = pod["status"]["conditions"].as_array();
        let is_ready = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        self.ready += usize::from(is_ready);
        let state = &status_of(pod, SERVER)["state"];
        let restarts = restarts(pod, SERVER);
        let beside = |container: &str| {
            let told = trouble(pod, &status_of(pod, container)["state"])?;
            Some(format!("loadgen beside the server: {told}"))
        };
        // What a container beside it says before it ends may be about the data of a backend.
        let is_of_server =
            restarts > 0 || trouble(pod, state).is_some() || self::restarts(pod, OBSERVER) > 0;
        let trouble = match (restarts, self::restarts(pod, OBSERVER)) {
            (0, n) => trouble(pod, state).or_else(|| beside(AWAIT)).or_else(|| match n {
                0 => beside(OBSERVER),
                n => Some(format!("loadgen beside the server {}", restarted(pod, OBSERVER, n))),
            }),
            (n, _) => Some(format!("its server {}", restarted(pod, SERVER, n))),
        };
        if let Some(trouble) = trouble {
            if !is_ready {
                if self.why.is_none() {
                    self.why = Some(format!("{place}: {trouble}"));
                    self.troubled = Some(name.to_owned());
                    self.is_excused = !is_of_server;
                }
                self.is_hopeless |= [SERVER, OBSERVER, AWAIT].iter().any(|name| is_lost(pod, name));
            }
            self.troubles.push((place, trouble));
        } else if !is_ready {
            self.slow.get_or_insert(format!("{place}: {}", stage(pod)));
        }
    }
}

/// Returns whether waiting for a container does not help.
fn is_lost(pod: &Value, container: &str) -> bool {
    let state = &status_of(pod, container)["state"];
    let waiting = state["waiting"]["reason"].as_str().unwrap_or_default();
    is_hopeless(state) || (restarts(pod, container) >= RESTARTS && waiting == "CrashLoopBackOff")
}

/// Returns how far the start of a pod without trouble is.
fn stage(pod: &Value) -> &'static str {
    if !status_of(pod, AWAIT)["state"]["running"].is_null() {
        "waits for its backends"
    } else if !status_of(pod, SERVER)["state"]["running"].is_null() {
        "runs, but is not ready yet"
    } else {
        "is not started yet"
    }
}

fn restarts(pod: &Value, container: &str) -> u64 {
    status_of(pod, container)["restartCount"].as_u64().unwrap_or_default()
}

/// Returns how a container was restarted so many times.
fn restarted(pod: &Value, container: &str, times: u64) -> String {
    let last = &status_of(pod, container)["lastState"]["terminated"];
    let code = last["exitCode"].as_i64();
    let reason = last["reason"].as_str().filter(|reason| *reason != "Error");
    // The last words before a signal say nothing of it.
    let by_itself = code.is_none_or(|code| code <= SIGNALLED);
    let said = last["message"].as_str().filter(|_| by_itself).and_then(error);
    // The cluster itself ends a container that is not ready in time, with a signal that some servers handle.
    let killed = match code {
        Some(0) => Some("it ended by itself, or because it was not ready in time"),
        Some(code) if code > SIGNALLED && reason.is_none() => {
            Some("ended by a signal, such as for not being ready in time")
        }
        _ => None,
    };
    let reason = reason.filter(|reason| *reason != "Completed");
    let all = [code.map(|code| format!("exit code {code}")), reason.map(str::to_owned)];
    let more = [killed.map(str::to_owned), said.map(str::to_owned)];
    let how: Vec<String> = all.into_iter().chain(more).flatten().collect();
    let times = if times == 1 { String::new() } else { format!(" {times} times") };
    format!("was restarted{times}: {}", quoted(&how.join(": ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, ready: &str, status: &Value) -> Value {
        let mut pod = json!({
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"nodeName": "node-a"},
            "status": {
                "conditions": [{"type": "Ready", "status": ready}],
                "containerStatuses": [{"name": "observer", "state": {"running": {}}}],
            },
        });
        pod["status"]["containerStatuses"].as_array_mut().unwrap().push(status.clone());
        pod
    }

    fn deployment(replicas: u32) -> Value {
        json!({"kind": "Deployment", "metadata": {"name": "lg-shop-1"}, "spec": {"replicas": replicas}})
    }

    #[test]
    fn pods_that_are_ready_have_no_trouble() {
        let up = json!({"name": "server", "restartCount": 0, "state": {"running": {}}});
        let all = json!({"items": [deployment(2), pod("a", "True", &up), pod("b", "False", &up)]});
        let now = ServersNow::of(&all);
        let slow = Some("b on node-a: runs, but is not ready yet".to_owned());
        assert_eq!(
            now,
            ServersNow {
                ready: 1,
                deployments: 1,
                placed: 2,
                of: 2,
                slow,
                ..ServersNow::default()
            }
        );
        assert!(now.are_placed(1) && !now.are_placed(2) && !now.are_ready());
    }

    #[test]
    fn a_server_that_crashes_again_and_again_has_no_hope_and_says_why() {
        let crash = |restarts: u32| {
            json!({
                "name": "server", "restartCount": restarts,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "message": "a\nno database\n"}},
            })
        };
        let of = |restarts| {
            ServersNow::of(&json!({"items": [deployment(1), pod("a", "False", &crash(restarts))]}))
        };
        assert!(!of(1).is_hopeless);
        let now = of(2);
        let why = "a on node-a: its server was restarted 2 times: exit code 3: no database";
        assert_eq!((now.why.as_deref(), now.is_hopeless), (Some(why), true));
    }

    #[test]
    fn loadgen_beside_a_server_that_cannot_go_on_is_quoted() {
        let mut waiting = pod(
            "a",
            "False",
            &json!({"name": "server", "state": {"waiting": {"reason": "PodInitializing"}}}),
        );
        let of = |pod: &Value| ServersNow::of(&json!({"items": [deployment(1), pod]}));
        waiting["status"]["initContainerStatuses"] =
            json!([{"name": "await", "state": {"running": {}}}]);
        assert_eq!(of(&waiting).slow.as_deref(), Some("a on node-a: waits for its backends"));
        waiting["status"]["initContainerStatuses"][0]["state"] =
            json!({"waiting": {"reason": "ErrImageNeverPull", "message": "no image"}});
        let now = of(&waiting);
        let why = "a on node-a: loadgen beside the server: ErrImageNeverPull: no image";
        assert_eq!((now.why.as_deref(), now.is_hopeless), (Some(why), true));
        assert!(!now.are_at_fault(), "loadgen has another image than the server");
        let up = json!({"name": "server", "restartCount": 0, "state": {"running": {}}});
        let mut unfilled = pod("a", "False", &up);
        unfilled["status"]["containerStatuses"][0] = json!({
            "name": "observer", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "message": "pod_failed\n  × cannot fill redis: ERR\n  help: x\n"}},
        });
        let now = of(&unfilled);
        let why = "a on node-a: loadgen beside the server was restarted 2 times: exit code 1: cannot fill redis: ERR";
        assert_eq!((now.why.as_deref(), now.is_hopeless), (Some(why), true));
    }

    #[test]
    fn the_line_with_the_error_is_quoted() {
        let log = "psql:loadgen.sql:1: ERROR:  syntax error\nLINE 1: CREATE TABEL\n    ^\n";
        assert_eq!(error(log), Some("psql:loadgen.sql:1: ERROR:  syntax error"));
        assert_eq!((error("a\n b \n"), error("")), (Some("b"), None));
    }

    #[test]
    fn pods_that_may_not_be_created_are_told_by_their_deployment() {
        let mut refused = deployment(1);
        refused["status"]["conditions"] = json!([{
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
            "message": "pods \"x\" is forbidden: violates PodSecurity",
        }]);
        let now = ServersNow::of(&json!({"items": [refused]}));
        let why = "lg-shop-1: FailedCreate: pods \"x\" is forbidden: violates PodSecurity";
        assert!(!now.are_placed(1) && now.are_at_fault());
        assert_eq!((now.ready, now.of, now.why.as_deref()), (0, 1, Some(why)));
    }
}
