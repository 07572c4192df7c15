//! Runs loadgen in a Kubernetes cluster, with the user's own `kubectl`. No operator, no definition of a resource, and
//! no rights for the pods are needed.
//!
//! - `manifests`: what the cluster is asked for: an Indexed Job, whose pod 0 is the manager and whose others are
//!   workers, a headless Service, by which they find the manager, and a Secret with what each of them needs.
//! - `kubectl`: runs `kubectl`. `error`: errors. `pods`: what the cluster says of the pods, and `server_pods` of those
//!   of servers under test. `troubles`: what happens to them. `nodes`: the CPUs for servers under test.
//! - `hand_over`: hands the result over in the manager's pod. `fetch`: fetches it, and stops the run, through
//!   `kubectl exec`.
//! - `cluster_run`: what the Job of a run tells of it. `lifetime`: creates all that belongs to a run, and removes it.
//! - `follow`: follows a run, new or found, fetches its result, and has all removed. `start`: waits for its pods to
//!   start. `view`: shows it.

mod cluster_run;
mod error;
mod fetch;
mod follow;
mod hand_over;
mod kubectl;
mod lifetime;
mod manifests;
mod nodes;
mod pods;
mod server_pods;
mod start;
mod troubles;
mod view;

pub use self::cluster_run::ClusterRun;
pub use self::error::KubernetesError;
pub use self::follow::{Followed, Follower};
pub use self::hand_over::{await_hand_over, hand_over, stop_when_asked};
pub use self::kubectl::Kubectl;
pub use self::lifetime::abandon;
pub use self::manifests::{
    Files, Fill, INDEX, JOIN, MANAGER_PORT, Manifests, OBSERVER_PORT, Placing, Pods, RESULT, Ready,
    Role, SCENARIO, ServerPods, Servers, Toleration, WORKER_FAILED, checked_name, yaml,
};
pub use self::nodes::cpus_of_nodes;
pub use self::view::View;
