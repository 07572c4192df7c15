//! Sends spans to a collector, each once.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use tokio::time::{MissedTickBehavior, interval};

use super::destination::Destination;
use super::patience::{Waits, in_time};
use super::sender::{Sender, shortened};
use super::spans_message::message;
use super::variables::BadSetting;
use crate::report::telemetry::shared::Shared;
use crate::report::telemetry::spans::Span;

/// Time between two messages, if there are few spans.
const EVERY: Duration = Duration::from_secs(1);

/// Most spans in a message: the default of OpenTelemetry's libraries.
const MOST: usize = 512;

/// Sends spans to a collector.
pub(super) struct SpansExporter {
    sender: Sender,
    shared: Arc<Shared>,
}

impl SpansExporter {
    /// Prepares to send spans. Reads the files that the settings name.
    ///
    /// # Errors
    /// If a file cannot be read, or holds no certificate or key.
    pub(super) fn new(to: Destination, shared: Arc<Shared>) -> Result<Self, BadSetting> {
        Ok(Self { sender: Sender::new(to)?, shared })
    }

    /// Sends spans until the end of the measurement, and then those that are left.
    pub(super) async fn run(self) {
        if !in_time(&self.shared, self.export_all()).await {
            self.shared.spans().overdue();
        }
    }

    async fn export_all(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.shared.unless_all_told(ticks.tick()).await;
            let is_all = self.shared.all_told.is_cancelled();
            loop {
                let spans = self.shared.spans().take(MOST);
                if spans.is_empty() {
                    break;
                }
                self.deliver(&spans).await;
            }
            if is_all {
                return;
            }
        }
    }

    /// Sends these spans, again if they have not arrived and may be sent again.
    async fn deliver(&self, spans: &[Span]) {
        let body = message(&self.shared.resource, spans).encode_to_vec();
        let mut waits = Waits::new();
        loop {
            match self.sender.send(body.clone()).await {
                Ok(answer) => {
                    return self.shared.spans().delivered(spans.len(), rejected(&answer));
                }
                Err(refused) => {
                    self.shared.failed_spans(&refused.why);
                    if !refused.may_be_repeated {
                        return;
                    }
                    waits.wait(&self.shared, refused.retry_after).await;
                }
            }
        }
    }
}

/// Returns the number of spans that the collector rejected, with its reason, by its answer.
fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let answer = ExportTraceServiceResponse::decode(answer).unwrap_or_default();
    let partial = answer.partial_success.filter(|partial| partial.rejected_spans > 0)?;
    let spans = u64::try_from(partial.rejected_spans).unwrap_or(0);
    Some((spans, shortened(&partial.error_message)))
}
