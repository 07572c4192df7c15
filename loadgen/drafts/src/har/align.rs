//! Finds the requests of one recording in another one of the same journey.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::journey::Visit;
use crate::recorded::Place;
use crate::secrets::{is_token_like, is_uuid};

/// Longest search, after which the rest of two recordings counts as different.
const LONGEST: Duration = Duration::from_secs(5);

/// Method and path of a request, without what may differ in the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    method: String,
    segments: Vec<String>,
}

impl Key {
    /// Returns the key of a visit.
    pub(super) fn of(visit: &Visit) -> Self {
        let slots = visit.request.slots.iter();
        let segments = slots.filter(|slot| matches!(slot.place, Place::Path(_)));
        let plain = |value: &str| if is_id(value) { String::from("{}") } else { value.to_owned() };
        Self {
            method: visit.request.method.clone(),
            segments: segments.map(|slot| plain(&slot.value)).collect(),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let same =
            self.segments.iter().zip(&other.segments).filter(|(one, other)| one == other).count();
        self.method == other.method
            && self.segments.len() == other.segments.len()
            && same + 1 >= self.segments.len()
    }
}

fn is_id(value: &str) -> bool {
    is_uuid(value)
        || is_token_like(value)
        || !value.is_empty() && value.chars().all(|c| c.is_ascii_digit())
}

/// Returns for each key the index of its equal in the other recording. Both keep their order.
pub(super) fn pairs(one: &[Key], other: &[Key]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; one.len()];
    let deadline = Some(Instant::now() + LONGEST);
    for change in capture_diff_slices_deadline(Algorithm::Myers, one, other, deadline) {
        match change {
            DiffOp::Equal { old_index, new_index, len } => {
                (0..len).for_each(|step| pairs[old_index + step] = Some(new_index + step));
            }
            // Words may differ in a path, such as the name of a product.
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                let mut next = new_index;
                for index in old_index..old_index + old_len {
                    let found =
                        (next..new_index + new_len).find(|at| one[index].is_like(&other[*at]));
                    if let Some(found) = found {
                        pairs[index] = Some(found);
                        next = found + 1;
                    }
                }
            }
            DiffOp::Insert { .. } | DiffOp::Delete { .. } => {}
        }
    }
    pairs
}
