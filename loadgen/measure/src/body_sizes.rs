//! Tracks the smallest and the largest body of HTTP responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes of the smallest and the largest body in a set of responses, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodySizes {
    /// Smallest size.
    pub smallest: u64,
    /// Largest size.
    pub largest: u64,
}

impl BodySizes {
    /// Extends `sizes` by one more body of `bytes` bytes; `None` stands for no bodies so far.
    #[must_use]
    pub fn with(sizes: Option<Self>, bytes: u64) -> Self {
        Self::both(sizes, Self { smallest: bytes, largest: bytes })
    }

    /// Combines the sizes of two sets of bodies; `None` stands for a set without bodies.
    #[must_use]
    pub fn both(one: Option<Self>, other: Self) -> Self {
        one.map_or(other, |one| Self {
            smallest: one.smallest.min(other.smallest),
            largest: one.largest.max(other.largest),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_and_the_largest_are_kept() {
        let sizes = [20, 7, 12].into_iter().fold(None, |sizes, n| Some(BodySizes::with(sizes, n)));
        assert_eq!(sizes, Some(BodySizes { smallest: 7, largest: 20 }));
        let more = BodySizes { smallest: 0, largest: 9 };
        assert_eq!(BodySizes::both(sizes, more), BodySizes { smallest: 0, largest: 20 });
    }
}
