//! Runs loadgen in a Kubernetes cluster, with the user's own `kubectl`. No operator, no definition of a resource, and
//! no rights for the pods are needed.
//!
//! - `manifests`: what the cluster is asked for: an Indexed Job, whose pod 0 is the manager and whose others are
//!   workers, a headless Service, by which they find the manager, and a Secret with what each of them needs.
//! - `kubectl`: runs `kubectl`. `pods`: what the cluster says of the pods.
//! - `hand_over`: how the result leaves the manager's pod, and how the run is stopped, through `kubectl exec`.
//! - `follow`: creates all, follows the run, fetches its result, and removes all.

mod follow;
mod hand_over;
mod kubectl;
mod manifests;
mod pods;

pub use self::follow::{Followed, Follower, abandon};
pub use self::hand_over::{await_hand_over, hand_over, stop_when_asked};
pub use self::kubectl::{Kubectl, KubernetesError};
pub use self::manifests::{
    INDEX, JOIN, MANAGER_PORT, Manifests, Pods, RESULT, SCENARIO, Toleration, WORKER_FAILED,
    checked_name, yaml,
};
