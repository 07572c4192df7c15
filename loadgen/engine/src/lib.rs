//! Holds the engine: users that send a scenario's steps, and the gate that each user passes.
//!
//! This module is the only place that names Goose. Goose runs the users: it builds them, spawns
//! them and waits for them. The gate does everything that Goose cannot: the common start, the ramp,
//! the end, the shared iterations, and load changes. Users that a load change brings are our own
//! tasks. So that users obey the gate and nothing else, a scenario is *one* Goose transaction that
//! starts our own user loop, run once, rather than a transaction for each step. Goose checks its
//! exit command and its test plan only between transactions, in whole seconds, and draws weights
//! from a generator without a seed. With a single transaction, the exit command, the test plan and
//! the weights cannot affect a measurement. A Goose user carries several of our users, because each
//! Goose user holds a copy of the whole configuration, statistics and a client: thousands of Goose
//! users take more memory than everything else, and a second to start.
//!
//! A request costs the generator little more than its two system calls, one to send and
//! one to read: no allocation, no contended lock, no timer, and two reads of the clock,
//! which are the measurement.

mod alarm;
mod chance;
mod check;
mod content_encoding;
pub mod control_group;
mod countdown;
pub mod cpu_ticks;
mod error;
mod gate;
mod goose_round;
mod grpc;
mod happy_eyeballs;
mod latest_value;
pub mod load;
mod load_change;
pub mod local_ports;
mod null_server;
mod plan;
mod pressure;
mod reading_lag;
mod results;
mod round_end;
mod round_steps;
mod rows;
mod scaling;
pub mod schedstat;
mod senders;
mod single_process;
mod strain_monitor;
mod stream;
mod takeover;
mod timer;
mod tracing;
mod transport;
mod trial;
mod user;
mod verify;

#[cfg(any(test, fuzzing))]
pub use content_encoding::fuzzing::decompress_foreign;
pub use error::EngineError;
pub use goose_round::{Finished, GooseRound};
#[cfg(any(test, fuzzing))]
pub use grpc::fuzzing::reply_foreign;
pub use happy_eyeballs::dial;
pub use load_change::{Change, LoadChange, LoadChangeError, LoadChangeRequest, RoundControl};
pub use null_server::{NullAnswer, NullServer, WHICH};
pub use plan::{Plan, Share};
pub use results::{Host, LostWorker, Results, Seen, StartSkew, WorkerResults};
pub use round_steps::{set_up, tear_down};
pub use single_process::{run_alone, run_both};
pub use strain_monitor::StrainMonitor;
#[cfg(any(test, fuzzing))]
pub use stream::fuzzing::stream_foreign;
pub use takeover::{Deal, Takeover};
#[cfg(any(test, fuzzing))]
pub use transport::{http2_foreign, journey_foreign, read_foreign};
pub use trial::{TrialAnswer, Tried, try_steps};
pub use verify::{Demand, Mismatch, Verified, VerifyError, verify};

/// Parts of the engine that each request passes through, public so that benchmarks can time each
/// part. This module is no stable interface: it changes when the parts change.
#[doc(hidden)]
pub mod parts {
    pub use super::check::Check;
    pub use super::transport::{
        Answer, Body, Form, Headers, Keep, Link, Progress, Reader, Transport,
    };
}
