//! The core of loadgen: a scenario, the users that follow it, and the
//! measurement of their requests.
//!
//! Everything that a request passes through is in this crate, which is compiled for speed.
//! Everything around it is in the crate `loadgen`, which is compiled for a short build.

pub mod engine;
pub mod measure;
pub mod scenario;
pub mod text;
