//! The engine: users that send a scenario's steps, and the gate that each of them passes.
//!
//! This is the only place that names Goose. Goose runs the users: it builds and spawns them and
//! owns their tasks. Everything it can't do lives in the gate: the common start, the
//! ramp, the end, and the shared iterations. So that users obey the gate and nothing else, a
//! scenario is *one* Goose transaction that holds our own user loop, run once per user, rather
//! than a transaction for each step: Goose looks at its exit command and at its test plan only
//! between transactions, in whole seconds, and draws weights from a generator without a seed,
//! none of which can then affect a measurement.

mod alarm;
mod attack;
mod check;
mod gate;
pub mod load;
mod plan;
mod transport;
mod user;
mod verify;

pub use attack::{Attack, EngineError, Finished};
pub use plan::{Plan, Share};
#[cfg(fuzzing)]
pub use transport::{Came, Failure, Keep, read_pieces};
pub use verify::{Mismatch, VerifyError, verify};
