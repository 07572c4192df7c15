//! What a cluster says of the pods of a run.

use serde_json::Value;

use crate::text::{in_one_line, shorten};

/// Longest message of a cluster that is quoted, in characters.
const LONGEST: usize = 300;

/// Least exit code of a program that a signal ended.
pub(super) const SIGNALLED: i64 = 128;

/// Beginning of an error of loadgen.
const MARK: char = '×';

/// A pod of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    /// Name of the pod: that of the Job, the pod's number and random letters.
    pub name: String,
    /// Number of the pod: 0 is the manager.
    pub index: u32,
    /// Node on which it runs; `None` before it has one.
    pub node: Option<String>,
    /// Whether the program runs.
    pub is_running: bool,
    /// Exit code of the program, if it has ended.
    pub exit_code: Option<i64>,
    /// Why the pod does not run, or how it ended, unless it does what it should.
    pub trouble: Option<String>,
    /// Whether waiting does not help.
    pub is_hopeless: bool,
    /// Termination message of the container, if it has one.
    pub last_words: Option<String>,
}

impl Pod {
    /// Reads the pods of a list, in the order of their numbers. Of a number that has several, the newest counts.
    pub fn all(list: &Value) -> Vec<Self> {
        let mut pods: Vec<(&str, Self)> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|pod| {
                let created = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
                Some((created, Self::of(pod)?))
            })
            .collect();
        pods.sort_by(|(created, pod), (other, than)| {
            (pod.index, *other).cmp(&(than.index, *created))
        });
        pods.dedup_by_key(|(_, pod)| pod.index);
        pods.into_iter().map(|(_, pod)| pod).collect()
    }

    fn of(pod: &Value) -> Option<Self> {
        let index = &pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
        let state = &status_of(pod, "loadgen")["state"];
        let exit_code = state["terminated"]["exitCode"].as_i64();
        Some(Self {
            name: pod["metadata"]["name"].as_str()?.to_owned(),
            index: index.as_str()?.parse().ok()?,
            node: pod["spec"]["nodeName"].as_str().map(str::to_owned),
            is_running: state["running"].is_object(),
            exit_code,
            trouble: trouble(pod, state),
            is_hopeless: is_hopeless(state),
            last_words: state["terminated"]["message"].as_str().map(str::to_owned),
        })
    }

    /// Returns whether this is the manager, and its program runs or has ended.
    pub fn is_begun_manager(&self) -> bool {
        self.index == 0 && (self.is_running || self.exit_code.is_some())
    }

    /// Returns the pod and its node, for messages.
    pub fn place(&self) -> String {
        place(&self.name, self.node.as_deref())
    }
}

/// Returns a pod and its node, for messages.
pub(super) fn place(name: &str, node: Option<&str>) -> String {
    match node {
        Some(node) => format!("{name} on {node}"),
        None => name.to_owned(),
    }
}

/// Returns the status of the pod's container of this name.
pub(super) fn status_of<'a>(pod: &'a Value, container: &str) -> &'a Value {
    let kinds = ["containerStatuses", "initContainerStatuses"];
    let statuses = kinds.iter().filter_map(|kind| pod["status"][*kind].as_array());
    let mut of_name = statuses.flatten().filter(|it| it["name"] == container);
    of_name.next().unwrap_or(&Value::Null)
}

/// Returns what is wrong with a pod whose container is in this state.
pub(super) fn trouble(pod: &Value, state: &Value) -> Option<String> {
    let conditions = pod["status"]["conditions"].as_array();
    let condition = |kind: &str, status: &str| {
        let all = conditions.into_iter().flatten();
        all.clone().find(|it| it["type"] == kind && it["status"] == status).and_then(reason)
    };
    let ended = &state["terminated"];
    // A pod that was taken away ends in some way after that.
    let disrupted = condition("DisruptionTarget", "True").or_else(|| reason(&pod["status"]));
    let is_deleted = pod["metadata"]["deletionTimestamp"].is_string();
    disrupted
        .or_else(|| is_deleted.then(|| "it was deleted".to_owned()))
        .or_else(|| match ended["exitCode"].as_i64() {
            Some(0) => None,
            Some(code) => {
                let reason = ended["reason"].as_str().filter(|reason| *reason != "Error");
                // What a program said last does not tell why a signal ended it.
                let message =
                    ended["message"].as_str().filter(|_| code < SIGNALLED).and_then(error);
                let said: Vec<&str> = reason.into_iter().chain(message).collect();
                Some(match said.as_slice() {
                    [] => format!("exit code {code}"),
                    said => format!("exit code {code}: {}", quoted(&said.join(": "))),
                })
            }
            None => None,
        })
        .or_else(|| {
            let why = reason(&state["waiting"])?;
            (!why.starts_with("ContainerCreating") && !why.starts_with("PodInitializing"))
                .then_some(why)
        })
        .or_else(|| condition("PodScheduled", "False"))
}

/// Returns the line of a log's end that says why a program failed: loadgen's own error, or the last one of an error, or else
/// the last one.
pub(super) fn error(log: &str) -> Option<&str> {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let failed = lines().find_map(|line| line.strip_prefix(MARK)).map(str::trim);
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("error:") || line.contains("fatal:")
    };
    failed.or_else(|| lines().rfind(is_error)).or_else(|| lines().next_back())
}

/// Returns whether the container will never run in this state.
pub(super) fn is_hopeless(state: &Value) -> bool {
    let reason = state["waiting"]["reason"].as_str().unwrap_or_default();
    ["ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"].contains(&reason)
}

/// Returns the reason and the message of a state or a condition; `None` without a reason.
pub(super) fn reason(of: &Value) -> Option<String> {
    let reason = of["reason"].as_str().filter(|reason| !reason.is_empty())?;
    let message = of["message"].as_str().map(str::trim).filter(|message| !message.is_empty());
    Some(quoted(&message.map_or_else(|| reason.to_owned(), |said| format!("{reason}: {said}"))))
}

/// Returns what a cluster says, in one line that is not too long.
pub(super) fn quoted(text: &str) -> String {
    in_one_line(&shorten(text, LONGEST)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(index: &str, status: Value) -> Value {
        json!({
            "metadata": {
                "name": format!("lg-{index}-x"), "creationTimestamp": "2026-11-29T10:00:00Z",
                "annotations": {"batch.kubernetes.io/job-completion-index": index},
            },
            "spec": {"nodeName": "node-a"},
            "status": status,
        })
    }

    fn in_state(state: Value) -> Value {
        json!({"containerStatuses": [
            {"name": "proxy", "state": {"running": {}}}, {"name": "loadgen", "state": state},
        ]})
    }

    fn only(status: Value) -> Pod {
        Pod::all(&json!({"items": [pod("1", status)]})).remove(0)
    }

    #[test]
    fn states_of_pods_are_told_apart() {
        let running = only(in_state(json!({"running": {"startedAt": "x"}})));
        assert!(running.is_running && running.trouble.is_none());
        assert_eq!(running.place(), "lg-1-x on node-a");
        let starting = only(in_state(json!({"waiting": {"reason": "ContainerCreating"}})));
        assert!(!starting.is_running && starting.trouble.is_none());
        let done = only(in_state(json!({"terminated": {"exitCode": 0, "reason": "Completed"}})));
        assert_eq!((done.exit_code, done.trouble, done.last_words), (Some(0), None, None));
        let told = json!({"terminated": {"exitCode": 0, "message": "taken"}});
        let told = only(in_state(told));
        assert_eq!((told.trouble, told.last_words.as_deref()), (None, Some("taken")));
        for (status, said, hopeless) in [
            (
                in_state(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
                "exit code 137: OOMKilled",
                false,
            ),
            (
                in_state(
                    json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "a\nb\n"}}),
                ),
                "exit code 1: b",
                false,
            ),
            (
                in_state(json!({"terminated": {
                    "exitCode": 1, "reason": "Error", "message": "said\n\n  × the cause\n  help: x\n",
                }})),
                "exit code 1: the cause",
                false,
            ),
            (
                in_state(
                    json!({"terminated": {"exitCode": 137, "reason": "Error", "message": "said"}}),
                ),
                "exit code 137",
                false,
            ),
            (
                in_state(
                    json!({"waiting": {"reason": "ErrImageNeverPull", "message": "no image"}}),
                ),
                "ErrImageNeverPull: no image",
                true,
            ),
            (
                json!({"conditions": [{
                    "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": "0/1 nodes are available",
                }]}),
                "Unschedulable: 0/1 nodes are available",
                false,
            ),
            (
                json!({
                    "conditions": [{
                        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                        "message": "evicted\u{1b}[2J",
                    }],
                    "containerStatuses": [{"name": "loadgen", "state": {"terminated": {"exitCode": 143}}}],
                }),
                "EvictionByEvictionAPI: evicted\\u{1b}[2J",
                false,
            ),
        ] {
            let pod = only(status);
            assert_eq!((pod.trouble.as_deref(), pod.is_hopeless), (Some(said), hopeless));
        }
    }

    #[test]
    fn a_manager_has_begun_when_its_program_has() {
        let of =
            |index, state| Pod::all(&json!({"items": [pod(index, in_state(state))]})).remove(0);
        assert!(of("0", json!({"running": {}})).is_begun_manager());
        assert!(of("0", json!({"terminated": {"exitCode": 1}})).is_begun_manager());
        assert!(!of("0", json!({"waiting": {}})).is_begun_manager());
        assert!(!of("1", json!({"running": {}})).is_begun_manager());
    }

    #[test]
    fn the_newest_pod_of_a_number_counts() {
        let mut newer = pod("0", in_state(json!({"running": {}})));
        newer["metadata"]["name"] = json!("newer");
        newer["metadata"]["creationTimestamp"] = json!("2026-11-29T11:00:00Z");
        let foreign = json!({"metadata": {"name": "of-another"}});
        let list = json!({"items": [pod("1", json!({})), pod("0", json!({})), newer, foreign]});
        let names: Vec<_> = Pod::all(&list).into_iter().map(|pod| pod.name).collect();
        assert_eq!(names, ["newer", "lg-1-x"]);
        assert_eq!(Pod::all(&Value::Null), []);
        let mut deleted = pod("0", in_state(json!({"running": {}})));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:00:00Z");
        let deleted = Pod::all(&json!({"items": [deleted]})).remove(0);
        assert_eq!(deleted.trouble.as_deref(), Some("it was deleted"));
    }
}
