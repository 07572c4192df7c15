//! Says how the throughput of targets scales with their size.

use crate::record::ScalingRecord;

/// Returns a sentence for each curve.
pub(crate) fn curves(scaling: &[ScalingRecord]) -> Vec<String> {
    scaling.iter().map(|curve| format!("{}: {}", curve.name, curve.says)).collect()
}
