//! loadgen: how much load can this Python web service carry, how does it feel to its users,
//! and is that one really better than this one?
//!
//! # The layers
//!
//! Imports flow one way; `tests/library/layers.rs` keeps it so.
//!
//! ```text
//! commands ──> cluster, lab, report ──> engine ──> scenario, measure
//! ```
//!
//! - [`scenario`]: TOML as written, to a validated model; every error points at its line.
//! - [`measure`]: outcome, recorder, snapshot, summary, and the run record.
//! - [`engine`]: users, load models and transports; the only place that names Goose.
//! - [`cluster`]: a manager and its workers; `bus.rs` is the only file that names Zenoh.
//! - [`lab`]: launches targets and backends, and watches what they use.
//! - [`report`]: what a person or a program reads; reads `measure` only.
//! - [`commands`]: one file for each subcommand.
//!
//! # The life of a request
//!
//! 1. A *pacer* ([`engine::load`]), pure, says when a user sends its next request.
//! 2. A Goose user sends the step through a *transport* and reads the whole body.
//! 3. The [`measure::Outcome`] goes into the shard of the [`measure::Recorder`] that belongs to the
//!    thread it ran on: no channel, no contended lock.
//! 4. Each second the recorder drains into a numbered [`measure::Snapshot`].
//! 5. Snapshots are merged in the process, or travel to the manager and are merged there.
//! 6. Summary, comparison, reports: the same code for one process and for many.

pub mod cli;
pub mod cluster;
pub mod commands;
pub mod engine;
pub mod lab;
pub mod measure;
pub mod report;
pub mod scenario;
