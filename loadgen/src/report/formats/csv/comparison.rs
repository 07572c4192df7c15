//! Writes a comparison of saved runs as comma-separated values.

use super::{known, table};
use crate::record::{Bound, Capacity, RunsRecord};
use crate::report::words::comparison::{placing, to_first};

/// Returns CSV with a row for each target in each run. The rows of later runs compare the target
/// with the same target in the first run.
#[must_use]
pub(crate) fn comparison(record: &RunsRecord) -> String {
    table(|rows| {
        rows.write([
            "target",
            "run",
            "requests",
            "errors",
            "rate_per_s",
            "rate_95_low_per_s",
            "rate_95_high_per_s",
            "p50_us",
            "p95_us",
            "p99_us",
            "cpu_us_per_request",
            "to_first",
            "to_first_95_low",
            "to_first_95_high",
            "shown",
            "bound",
        ])?;
        for one in &record.targets {
            let (per_s, interval) = match (&one.capacity, placing(record, one)) {
                (Some(capacity), _) => (capacity.rate_per_s, capacity.confidence_95_per_s),
                (None, Some(placing)) => (Some(placing.rate_per_s), placing.confidence_95_per_s),
                (None, None) => (None, None),
            };
            let pair = Some(one).filter(|one| record.is_later(one));
            let pair = pair.and_then(|one| record.against_first(one));
            let [ratio, low, high] = pair.map(|pair| to_first(pair, one)).unwrap_or_default();
            rows.write([
                one.target.clone(),
                one.run.clone(),
                one.requests.to_string(),
                one.errors.to_string(),
                known(per_s),
                known(interval.map(|[low, _]| low)),
                known(interval.map(|[_, high]| high)),
                known(one.latency_us.p50),
                known(one.latency_us.p95),
                known(one.latency_us.p99),
                known(one.cpu_us_per_request),
                known(ratio),
                known(low),
                known(high),
                known(pair.map(|pair| pair.shown)),
                one.capacity.map_or("", |capacity| bound(&capacity)).to_owned(),
            ])?;
        }
        Ok(())
    })
}

/// Returns the kind of a capacity's result, spelled as in the JSON record.
fn bound(capacity: &Capacity) -> &'static str {
    match capacity.bound {
        Bound::Found => "found",
        Bound::AtLeast => "at_least",
        Bound::Below => "below",
        Bound::Unknown => "unknown",
    }
}
