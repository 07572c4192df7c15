//! Creates the threads that a command runs on.

use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

use crate::failure::{Exit, Failure};

/// Number of I/O events that the runtime handles before it asks the system for more.
///
/// With 5,000 users, a small number keeps the data of the events in the CPU caches. A small number
/// also keeps the tasks that the events wake in the thread's own queue, which holds 256 tasks.
/// Further tasks go through a queue of all threads, which needs a lock.
const EVENTS_AT_ONCE: usize = 128;

/// Creates a runtime with one thread for each CPU that this process may use.
pub fn on_all_cpus() -> Result<Runtime, Failure> {
    started(Builder::new_multi_thread())
}

/// Like [`on_all_cpus`], but uses the single-threaded scheduler if the process may use only one CPU
/// and has no workers.
///
/// With 5,000 users, a request takes a tenth less CPU with the single-threaded scheduler, because
/// threads need no synchronization. Zenoh, which connects to workers, does not support the
/// single-threaded scheduler.
pub fn for_load(has_workers: bool) -> Result<Runtime, Failure> {
    let is_alone = available_parallelism().is_ok_and(|cpus| cpus == NonZero::<usize>::MIN);
    match is_alone && !has_workers {
        true => started(Builder::new_current_thread()),
        false => on_all_cpus(),
    }
}

fn started(mut builder: Builder) -> Result<Runtime, Failure> {
    builder.enable_all().max_io_events_per_tick(EVENTS_AT_ONCE).build().map_err(|e| {
        let message = format!("cannot start the threads of loadgen: {e}");
        Failure::message(Exit::Failed, "no_threads", message, "check the limit `ulimit -u`")
    })
}
