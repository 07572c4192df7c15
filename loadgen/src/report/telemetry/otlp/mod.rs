//! Exports metrics and spans by OTLP, OpenTelemetry's protocol, over HTTP.
//!
//! The libraries of OpenTelemetry measure by themselves, and take no histogram that exists already; so the messages
//! of the protocol are filled here (`metrics_message`, `spans_message`, with `parts` that both have), and sent
//! (`metrics_exporter`, `spans_exporter`, both by a `sender` and with the same `patience`), as the user set them up
//! (`settings`, with a `destination` for each signal, from `variables`).

mod destination;
mod metrics_exporter;
mod metrics_message;
mod parts;
mod patience;
mod sender;
mod settings;
mod spans_exporter;
mod spans_message;
mod variables;

use std::sync::Arc;

use self::metrics_exporter::MetricsExporter;
use self::spans_exporter::SpansExporter;
use super::shared::Shared;
pub use settings::{OtlpSettings, is_disabled, resource_attributes};
pub use variables::BadSetting;

/// Sends what is known to collectors.
pub(super) struct Exporter {
    metrics: MetricsExporter,
    /// `None` if no request is traced.
    spans: Option<SpansExporter>,
}

impl Exporter {
    /// Prepares to send what is known. Reads the files that the settings name.
    ///
    /// # Errors
    /// If a file cannot be read, or holds no certificate or key.
    pub(super) fn new(settings: OtlpSettings, shared: Arc<Shared>) -> Result<Self, BadSetting> {
        shared.exports_to(&settings.metrics.shown_url());
        let spans = settings.traces.clone().map(|to| {
            shared.spans().go_to(&to.shown_url());
            SpansExporter::new(to, shared.clone())
        });
        let spans = spans.transpose()?;
        Ok(Self { metrics: MetricsExporter::new(settings, shared)?, spans })
    }

    /// Sends until the end of the measurement, and then what is left.
    pub(super) async fn run(self) {
        let spans = async {
            if let Some(spans) = self.spans {
                spans.run().await;
            }
        };
        tokio::join!(self.metrics.run(), spans);
    }
}
