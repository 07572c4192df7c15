//! The core of loadgen: a scenario, the users who follow it, and what happens to their requests.
//!
//! All that a request passes is here, in a crate of its own: it is compiled for speed, and all around it,
//! in the crate `loadgen`, for a short build.

pub mod engine;
pub mod measure;
pub mod scenario;
pub mod text;
