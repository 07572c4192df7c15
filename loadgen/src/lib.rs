//! loadgen: how much load can this Python web service carry, how does it feel to its users,
//! and is that one really better than this one?
//!
//! # The layers
//!
//! Imports flow one way, and no file imports another in a circle: `tests/library/layers.rs` and `circles.rs`
//! keep it so.
//!
//! ```text
//! commands ──> cli, report, experiment, process
//!              experiment ──> cluster, lab ──> engine ──> scenario, measure
//!              experiment, report ──> analysis ──> record ──> measure
//!              experiment, process ──> failure ──> lab
//! ```
//!
//! What a request passes, [`engine`], [`measure`] and [`scenario`] with [`text`], is the crate `loadgen_core` in
//! `core/`, compiled for speed. All else is this one, compiled for a short build: `[profile.release.package]` of
//! the workspace.
//!
//! - [`scenario`]: TOML as written, to a validated model; every error points at its line.
//! - [`measure`]: what happened: outcome, recorder, latencies and their percentiles, snapshot, series, summary.
//! - [`record`]: the documents that are saved and printed: plain data. `experiment/to_record` makes them.
//! - [`analysis`]: what measurements mean, pure: statistics, comparison, bottleneck, thresholds, verdicts, and
//!   which rate the search for a capacity tries next.
//! - [`engine`]: users, load models and transports; the only place that names Goose.
//! - [`cluster`]: a manager and its workers; `cluster/bus` is the only place that names Zenoh. `cluster/round_state`
//!   decides who is lost.
//! - [`lab`]: launches targets and backends, and watches what they use.
//! - [`experiment`]: what is measured, in which order, and what is recorded of it.
//! - [`report`]: what a person or a program reads of a record: `formats` lay it out, in `words` that they share, such as
//!   a confidence interval in `words/interval`; `html` is the page, `live` the live view, `progress` the lines where
//!   there is none.
//! - [`commands`]: one file for each subcommand, and what they share. [`cli`]: their arguments. [`failure`]: how they
//!   end.
//! - [`process`]: this process: memory, threads, signals, standard streams.
//! - [`text`]: numbers, lines and errors as people read them; it imports none of the others.
//!
//! # The life of a request
//!
//! 1. A load model ([`engine::load`]), pure, says when a user sends its next request.
//! 2. A Goose user sends the step through a *transport* and reads the whole body: `engine/transport/http1/request.rs`
//!    writes the bytes of a request, `response/` reads those of its answer.
//! 3. The [`measure::Outcome`] goes into the shard of the [`measure::Recorder`] that belongs to the
//!    thread it ran on: no channel, no contended lock.
//! 4. Each second the recorder drains into a numbered [`measure::Snapshot`].
//! 5. Snapshots are merged in the process, or travel to the manager and are merged there.
//! 6. Summary, comparison, reports: the same code for one process and for many.

pub mod analysis;
pub mod cli;
pub mod cluster;
pub mod commands;
pub mod experiment;
pub mod failure;
pub mod lab;
pub mod process;
pub mod record;
pub mod report;

pub use loadgen_core::{engine, measure, scenario, text};
