//! What is measured, in which order, and what comes of it.
//!
//! A [`Job`](job::Job) names contenders and the load on each. A [`Session`](session::Session) brings up what
//! that needs: backends, workers, and one target at a time. Two kinds of [`Experiment`](kind::Experiment) go
//! over it: a [`run`], whose rounds are all alike, and a [`search`], each of whose trials holds another rate.
//! What they measure becomes a record: see [`to_record`].

pub mod autosave;
mod cache;
mod calibration;
pub mod contender;
pub mod control;
pub mod environment;
pub mod fail_fast;
pub mod folder;
mod generator;
pub mod job;
pub mod kind;
pub mod limits;
pub mod measured;
pub mod noise_floor;
pub mod observe;
mod order;
mod proof;
pub mod run;
pub mod saved;
pub mod scenarios;
pub mod search;
mod sent;
mod service_monitor;
pub mod session;
pub mod site;
pub mod subject;
pub mod to_record;
mod worker_losses;
mod workers;
