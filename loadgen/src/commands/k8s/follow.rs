//! `loadgen k8s follow`: takes up a run that is in a cluster.

use super::delivery::{Delivery, failure};
use crate::cli::K8sFollowArgs;
use crate::failure::{Exit, Failure};
use crate::kubernetes::{ClusterRun, Follower, Kubectl, View, abandon};
use crate::process::{is_interactive, on_all_cpus, on_signal};
use crate::report::Format;

pub(super) fn run(args: &K8sFollowArgs) -> Result<Exit, Failure> {
    let K8sFollowArgs { name, namespace, context, no_progress, out, junit, format, json } = args;
    let kubectl = Kubectl { context: context.clone(), namespace: namespace.clone() };
    let runtime = on_all_cpus()?;
    let run = runtime.block_on(ClusterRun::find(&kubectl, name)).map_err(failure)?;
    let format = if *json { Format::Json } else { *format };
    let delivery = Delivery::prepare(out.as_deref(), name, format, junit.as_deref())?;
    let follower = Follower {
        kubectl: &kubectl,
        run: &run,
        view: match (run.has_terminal, !no_progress && is_interactive()) {
            (true, true) => View::Live,
            (true, false) => View::Nothing,
            (false, _) => View::Lines,
        },
        start_limit: run.wait,
        folder: delivery.folder(),
        interrupt: on_signal(abandon)?,
    };
    let followed = runtime.block_on(follower.take_up()).map_err(failure)?;
    // Only the loadgen that planned the run knows the job that the noise floor of this machine is kept for.
    delivery.conclude(followed, |_| {})
}
