//! Sends the metrics that are known to a collector, again and again.

use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message as _;
use tokio::time::{MissedTickBehavior, interval};

use super::metrics_message::{Counting, Gauges, ended, gauges, message};
use super::patience::{Waits, in_time};
use super::sender::{Refused, Sender, shortened};
use super::settings::{OtlpSettings, Temporality};
use super::variables::BadSetting;
use crate::report::telemetry::known::Known;
use crate::report::telemetry::shared::Shared;

/// Sends what is known to a collector.
pub(super) struct MetricsExporter {
    sender: Sender,
    settings: OtlpSettings,
    shared: Arc<Shared>,
    /// Sums that the collector knows, and since when; only for differences.
    delivered: (Known, SystemTime),
    /// Gauges that have a value there.
    gauges: Gauges,
}

impl MetricsExporter {
    /// Prepares to send what is known to a collector. Reads the files that the settings name.
    ///
    /// # Errors
    /// If a file cannot be read, or holds no certificate or key.
    pub(super) fn new(settings: OtlpSettings, shared: Arc<Shared>) -> Result<Self, BadSetting> {
        let sender = Sender::new(settings.metrics.clone())?;
        let delivered = (Known::default(), shared.start);
        Ok(Self { sender, settings, shared, delivered, gauges: Gauges::new() })
    }

    /// Sends what is known until the end of the measurement, and then all of it.
    pub(super) async fn run(mut self) {
        let shared = self.shared.clone();
        if !in_time(&shared, self.export_all()).await {
            shared.overdue();
        }
    }

    /// Sends what is known, again and again, until a message has arrived that has all of it.
    async fn export_all(&mut self) {
        let shared = self.shared.clone();
        let mut ticks = interval(self.settings.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut waits = Waits::new();
        loop {
            shared.unless_all_told(ticks.tick()).await;
            let is_all = shared.all_told.is_cancelled();
            match self.export(is_all).await {
                Ok(()) if is_all => return,
                Ok(()) => waits = Waits::new(),
                // The same message again would be refused again.
                Err(refused) if is_all && !refused.may_be_repeated => return,
                Err(refused) => {
                    waits.wait(&shared, refused.retry_after).await;
                    ticks.reset_immediately();
                }
            }
        }
    }

    /// Sends what is known. `is_all` tells whether that is all that was measured. Fails if it has not arrived.
    async fn export(&mut self, is_all: bool) -> Result<(), Refused> {
        let end = SystemTime::now();
        let known = self.shared.known().clone();
        let temporality = self.settings.temporality;
        let since;
        let (of, start) = match temporality {
            Temporality::Cumulative => (&known, self.shared.start),
            Temporality::Delta => {
                since = known.since(&self.delivered.0);
                (&since, self.delivered.1)
            }
        };
        let points = of.points();
        let present = gauges(&points);
        let ended = ended(&self.gauges, &present);
        if points.is_empty() && ended.is_empty() && !is_all {
            return Ok(());
        }
        let counting = Counting { start, end, temporality };
        let body = message(&self.shared.resource, &points, &ended, counting).encode_to_vec();
        match self.sender.send(body).await {
            Ok(answer) => {
                self.shared.delivered(rejected(&answer), is_all);
                self.gauges = present;
                self.keep(known, end);
                Ok(())
            }
            Err(refused) => {
                // What the collector does not want must not be sent again. Sums are not: they have grown.
                let is_lost = temporality == Temporality::Delta && !refused.may_be_repeated;
                self.shared.failed(&refused.why, is_lost);
                if is_lost {
                    self.keep(known, end);
                }
                Err(refused)
            }
        }
    }

    /// Keeps what the collector knows, from which the next difference begins.
    fn keep(&mut self, known: Known, end: SystemTime) {
        if self.settings.temporality == Temporality::Delta {
            self.delivered = (known, end);
        }
    }
}

/// Returns the number of values that the collector rejected, with its reason, by its answer.
fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let answer = ExportMetricsServiceResponse::decode(answer).unwrap_or_default();
    let partial = answer.partial_success.filter(|partial| partial.rejected_data_points > 0)?;
    let values = u64::try_from(partial.rejected_data_points).unwrap_or(0);
    Some((values, shortened(&partial.error_message)))
}
