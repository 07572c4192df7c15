//! Records the measurement of a backend alone.

use crate::lab::Alone;
use crate::record::BackendAloneRecord;
use crate::scenario::Backend;

/// Returns the record of a measurement, or of the reason why there is none.
pub(super) fn record(backend: Backend, measured: Result<Alone, String>) -> BackendAloneRecord {
    let (alone, why_not) = match measured {
        Ok(alone) => (Some(alone), None),
        Err(why) => (None, Some(why)),
    };
    BackendAloneRecord {
        backend: backend.to_string(),
        program: alone.as_ref().map(|alone| alone.program.to_owned()),
        operations: alone.as_ref().map(|alone| alone.operations.to_owned()),
        clients: alone.as_ref().map(|alone| alone.clients),
        rate_per_s: alone.as_ref().map(|alone| alone.rate_per_s),
        why_not,
    }
}
