//! The two laws as functions of their coefficients.

pub use crate::record::Law;

/// The coefficients that give a curve its shape: σ and κ. Amdahl's law has a κ of 0.
pub(super) type Shape = [f64; 2];

impl Law {
    /// Returns the greatest value of each coefficient; the least is 0. A coefficient that is at most
    /// 0 does not belong to the law.
    pub(super) const fn greatest(self) -> Shape {
        match self {
            Self::Amdahl => [1.0, 0.0],
            Self::Usl => [1.0, f64::INFINITY],
        }
    }

    /// Returns which coefficients of a shape the law has.
    pub(super) fn has(self) -> [bool; 2] {
        self.greatest().map(|greatest| greatest > 0.0)
    }
}

/// Returns 1 + σ(N − 1) + κN(N − 1), by which the throughput of N falls short of N times that of 1.
pub(super) fn shortfall([contention, crosstalk]: Shape, size: u32) -> f64 {
    let [others, pairs] = factors(size);
    1.0 + contention * others + crosstalk * pairs
}

/// Returns the factors of σ and κ: N − 1 and N(N − 1).
pub(super) fn factors(size: u32) -> [f64; 2] {
    let n = f64::from(size);
    [n - 1.0, n * (n - 1.0)]
}

/// Returns the throughput of a size relative to that of size 1; 0 for size 0.
pub(super) fn relative(shape: Shape, size: u32) -> f64 {
    if size == 0 { 0.0 } else { f64::from(size) / shortfall(shape, size) }
}
