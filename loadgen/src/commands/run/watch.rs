//! Watching what everybody uses while the load is held.

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::generator::Generator;
use crate::engine::Plan;
use crate::lab::{Lab, Observed, Target, Watched, Window};

/// The generator with its workers here, the target that runs, and the backends.
pub fn everybody(
    generator: &Generator,
    running: Option<&Target>,
    lab: Option<&Lab>,
) -> Vec<Watched> {
    let mut watched = vec![Watched::process("generator", std::process::id())];
    watched.extend(generator.pids().iter().map(|pid| Watched::process("generator", *pid)));
    watched.extend(running.map(|t| Watched::below("target", t.service().guard_pid())));
    watched.extend(lab.into_iter().flat_map(Lab::backend_services).map(Watched::from));
    watched
}

/// Watches from the end of the ramp-up of `plan`, which begins now, to its end, or until it is
/// `over`.
pub fn watch(watched: Vec<Watched>, plan: &Plan, over: CancellationToken) -> JoinHandle<Observed> {
    let begin = Instant::now() + plan.warmup + plan.ramp_up();
    let end = plan.length().map(|length| Instant::now() + length);
    tokio::spawn(async move {
        if tokio::time::timeout_at(begin, over.cancelled()).await.is_ok() {
            return Observed::default();
        }
        let Ok(window) = Window::open(watched) else { return Observed::default() };
        match end {
            Some(end) => drop(tokio::time::timeout_at(end, over.cancelled()).await),
            None => over.cancelled().await,
        }
        window.close()
    })
}
