//! Telemetry: tells Prometheus and collectors of OpenTelemetry what was measured so far.
//!
//! - `metrics`: the names of all metrics. `told`: what telemetry is told, by a `teller`. `known`: the sums of
//!   it, as values of the metrics. `durations`: folds latencies into buckets, without losing a count.
//! - `otlp`: sends the metrics to a collector. `prometheus`: answers Prometheus, which asks for them.
//! - `spans`: the requests that were traced.
//! - `server`: the thread that does both. `shared`: the state that it shares with the command.
//!
//! Beside a load, the thread is on Linux at the lowest priority, and nobody waits for it: while it lags behind, the
//! teller adds up what happens.

mod durations;
mod known;
pub mod metrics;
mod otlp;
mod prometheus;
mod server;
mod shared;
mod spans;
mod teller;
#[cfg(test)]
mod tests;
mod told;

pub use otlp::{BadSetting, OtlpSettings, is_disabled, resource_attributes};
pub use server::{CannotTell, Telemetry, TelemetrySettings};
pub use teller::TelemetryTeller;
pub use told::{Loaded, LoadedStep};
