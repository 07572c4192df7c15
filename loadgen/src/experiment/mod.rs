//! Plans and carries out measurements, and turns their results into records.
//!
//! A [`Job`](job::Job) names the contenders and the load on each. A
//! [`Session`](session::Session) starts what the job needs: backends, workers, and one target
//! at a time. Three kinds of [`Experiment`](kind::Experiment) use a session: a [`run`], whose
//! rounds are all alike, a [`search`], in which each trial holds another rate, and a
//! [`published`] experiment, which has groups of both.
//! [`to_record`] turns the results into a record.

mod cache;
pub mod command_line;
pub mod container_limits;
pub mod contender;
pub mod control;
pub mod environment;
pub mod experiments;
pub mod folder;
pub mod host_limits;
pub mod host_rate;
pub mod job;
pub mod kind;
pub mod measured;
pub mod observe;
mod probe_users;
mod profiles;
pub mod published;
pub mod replicas;
pub mod run;
pub mod saved;
pub mod scenarios;
pub mod search;
mod sent;
pub mod session;
pub mod sharing;
pub mod site;
pub mod slicing;
pub mod subject;
pub mod system;
pub mod system_limits;
pub mod to_record;
