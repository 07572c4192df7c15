//! Plans and carries out measurements, and turns their results into records.
//!
//! A [`Job`](job::Job) names the contenders and the load on each. A
//! [`Session`](session::Session) starts what the job needs: backends, workers, and one target
//! at a time. Three kinds of [`Experiment`](kind::Experiment) use a session: a [`run`], whose
//! rounds are all alike, a [`search`], in which each trial holds another rate, and a
//! [`published`] experiment, which has groups of both.
//! [`to_record`] turns the results into a record.

pub mod autosave;
mod backend_alone;
mod cache;
mod calibration;
mod command_line;
pub mod container_limits;
pub mod contender;
pub mod control;
mod duet;
pub mod environment;
pub mod experiments;
pub mod fail_fast;
pub mod folder;
mod generator;
pub mod job;
pub mod kind;
pub mod limits;
mod load;
pub mod measured;
pub mod noise_floor;
pub mod observe;
mod preparation;
mod probe;
mod proof;
pub mod published;
mod refusals;
pub mod replicas;
pub mod run;
pub mod saved;
pub mod scenarios;
pub mod search;
mod sent;
mod service_monitor;
pub mod session;
pub mod sharing;
pub mod site;
mod slices;
pub mod slicing;
mod stopped;
pub mod subject;
pub mod system;
pub mod to_record;
mod worker_losses;
mod workers;
