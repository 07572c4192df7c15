//! Measures how much load a Python web service can carry, how its users experience that load, and
//! whether one service is really better than another.
//!
//! # The layers
//!
//! Imports flow one way, and no files import each other in a circle.
//!
//! ```text
//! commands ──> cli, report, experiment, process, kubernetes
//!              experiment ──> cluster, lab ──> engine ──> scenario, measure
//!              experiment, report ──> analysis ──> record ──> measure
//!              experiment, process ──> failure ──> lab
//! ```
//!
//! [`engine`], [`measure`], [`scenario`], [`cluster`], [`analysis`] with [`record`], and [`text`] are
//! crates of their own, each in a folder of its name beside `src/`: each can import only what its
//! `Cargo.toml` names. The other layers are modules of this crate; `tests/library/layers.rs` checks
//! their imports, and `circles.rs` all files.
//!
//! Each crate is compiled as it needs (`[profile.release.package]` of the workspace): a request
//! passes through `engine`, `measure` and `scenario`, which are compiled for speed. `cluster` is
//! compiled for size, and `analysis` and this crate for a short build.
//!
//! - [`scenario`]: parses TOML into a validated model; every error points at its line.
//! - [`drafts`]: first scenarios from what people have, such as the document of an API; knows of
//!   [`scenario`] only the words of the format.
//! - [`measure`]: what happened: outcome, recorder, latencies and their percentiles, snapshot,
//!   series, summary.
//! - [`record`]: the documents that are saved and printed: plain data. Their JSON Schemas and the
//!   tables of their fields in `docs/reference/` follow from the types. `experiment/to_record` makes
//!   the records.
//! - [`analysis`]: interprets measurements by pure functions: statistics, comparison, bottleneck,
//!   thresholds, verdicts, and the rate that the search for a capacity tries next.
//! - [`engine`]: users, load models and transports; the only place that names Goose.
//! - [`cluster`]: a manager and its workers; `cluster/src/bus` is the only place that names Zenoh.
//!   `cluster/src/round_state` decides which workers are lost.
//! - [`lab`]: launches targets and backends, and measures the resources that they use.
//! - [`experiment`]: decides what to measure, in which order, and what to record.
//! - [`report`]: presents a record to a person or a program. `formats` lay the record out, in
//!   `words` that they share, such as a confidence interval in `words/interval`. `html` is the
//!   page, `live` the live view, `progress` the lines that replace the live view, `web` the live page,
//!   `telemetry` what Prometheus and collectors of OpenTelemetry are told.
//! - [`commands`]: one file for each subcommand, and the code that subcommands share. [`cli`]: the
//!   arguments of the subcommands. [`failure`]: how subcommands end.
//! - [`kubernetes`]: runs loadgen as pods of a cluster, with `kubectl`; knows of the rest only what to put into a pod.
//! - [`process`]: this process: memory, threads, signals, standard streams.
//! - [`text`]: formats numbers, lines and errors for people; imports no other layer.
//!
//! # The life of a request
//!
//! 1. A pure load model ([`engine::load`]) says when a user sends its next request.
//! 2. A Goose user sends the step through a *transport* and reads the whole body:
//!    `engine/src/transport/http1/request.rs` writes the bytes of the request, `response/` reads the
//!    bytes of its response.
//! 3. The [`measure::Outcome`] goes into the shard of the [`measure::Recorder`] that belongs to the
//!    current thread: no channel, no contended lock.
//! 4. Each second the recorder drains into a numbered [`measure::Snapshot`].
//! 5. Snapshots are merged in the process, or travel to the manager and are merged there.
//! 6. Summary, comparison and reports use the same code for one process and for many.

pub mod cli;
pub mod commands;
pub mod experiment;
pub mod failure;
pub mod kubernetes;
pub mod lab;
pub mod process;
pub mod report;

pub use loadgen_analysis::{self as analysis, record};
pub use {
    loadgen_cluster as cluster, loadgen_drafts as drafts, loadgen_engine as engine,
    loadgen_measure as measure, loadgen_scenario as scenario, loadgen_text as text,
};
