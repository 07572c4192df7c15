//! The engine: users that send a scenario's steps, and the gate that each of them passes.
//!
//! This is the only place that names Goose. Goose runs the users: it builds them, spawns them and
//! waits for them. Everything it can't do lives in the gate: the common start, the ramp, the end,
//! the shared iterations, and changes of the load; the users that such a change brings are tasks of
//! our own. So that users obey the gate and nothing else, a scenario is *one* Goose transaction
//! that starts our own user loop, run once, rather than a transaction for each step: Goose looks at
//! its exit command and at its test plan only between transactions, in whole seconds, and draws
//! weights from a generator without a seed, none of which can then affect a measurement. A Goose
//! user carries some of our users, since each of its own holds a copy of the whole configuration,
//! statistics and a client: thousands of them take more memory than all else, and a second to
//! start.
//!
//! A request costs the generator little more than its two system calls, one to send and one to
//! read: no allocation, no lock that anyone else wants, no timer, and two reads of the clock, which
//! are the measurement.

mod alarm;
mod chance;
mod check;
mod countdown;
mod error;
mod gate;
mod goose_round;
mod happy_eyeballs;
mod latest_value;
pub mod load;
mod load_change;
mod null_server;
mod plan;
mod results;
mod round_end;
mod rows;
mod scaling;
mod senders;
mod single_process;
mod timer;
mod transport;
mod trial;
mod user;
mod verify;

pub use error::EngineError;
pub use goose_round::{Finished, GooseRound};
pub use happy_eyeballs::dial;
pub use load_change::{LoadChange, LoadChangeError, LoadChangeRequest, RoundControl};
pub use null_server::{NullAnswer, NullServer, WHICH};
pub use plan::{Plan, Share};
pub use results::{Host, LostWorker, Results, Seen, StartSkew, WorkerResults};
pub use single_process::run_alone;
#[cfg(any(test, fuzzing))]
pub use transport::read_foreign;
pub use trial::{TrialAnswer, Tried, try_steps};
pub use verify::{Mismatch, Verified, VerifyError, verify};

/// What a request passes through, for the benches, which time it part by part. No interface of the
/// crate's: it changes as these parts do.
#[doc(hidden)]
pub mod parts {
    pub use super::check::Check;
    pub use super::transport::{Answer, Body, Headers, Keep, Link, Progress, Reader, Transport};
}
