//! The threads that a command runs on.

use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

use crate::failure::{Exit, Failure};

/// Of all connections that something has come over, so many are looked at before the system is asked
/// again: with 5,000 users that keeps what is touched together in the caches, and the tasks that it
/// wakes in the queue of their thread, which holds 256; others go through a queue of all threads, with
/// a lock.
const EVENTS_AT_ONCE: usize = 128;

/// A thread for each CPU that this process may use.
pub fn on_all_cpus() -> Result<Runtime, Failure> {
    started(Builder::new_multi_thread())
}

/// The same; but where that is one CPU, the scheduler of a single thread, which does without what keeps
/// threads apart: with 5,000 users a request takes a tenth less CPU. Not with workers: Zenoh, which
/// leads to them, takes no such scheduler.
pub fn for_load(has_workers: bool) -> Result<Runtime, Failure> {
    let is_alone = available_parallelism().is_ok_and(|cpus| cpus == NonZero::<usize>::MIN);
    match is_alone && !has_workers {
        true => started(Builder::new_current_thread()),
        false => on_all_cpus(),
    }
}

fn started(mut builder: Builder) -> Result<Runtime, Failure> {
    builder.enable_all().max_io_events_per_tick(EVENTS_AT_ONCE).build().map_err(|e| {
        let message = format!("loadgen cannot start its threads: {e}");
        Failure::message(Exit::Failed, message, "see `ulimit -u`")
    })
}
