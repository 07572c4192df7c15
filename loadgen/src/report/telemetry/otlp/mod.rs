//! Exports metrics by OTLP, OpenTelemetry's protocol, over HTTP.
//!
//! The libraries of OpenTelemetry measure by themselves, and take no histogram that exists already; so the messages
//! of the protocol are filled here (`message`) and sent (`exporter`), as the user set them up (`settings`).

mod exporter;
mod message;
mod settings;

pub(super) use exporter::Exporter;
pub use settings::{BadSetting, OtlpSettings, resource_attributes};
