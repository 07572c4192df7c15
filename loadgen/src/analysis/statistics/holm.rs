//! Applies Holm's correction, which keeps the chance of any false claim among many comparisons at
//! one in twenty.

/// Returns p-values adjusted for the number of comparisons (Holm, "A Simple Sequentially Rejective
/// Multiple Test Procedure", 1979). The smallest of m p-values is multiplied by m, the next value
/// by m − 1, and so on; no adjusted value is smaller than the one before or greater than 1. The
/// method also holds for comparisons that depend on each other, as comparisons of the same targets
/// do.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut before = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        before = before.max((p_values[i] * left).min(1.0));
        adjusted[i] = before;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // statsmodels.stats.multitest.multipletests(p, method="holm")[1], statsmodels 0.15.0
    #[test]
    fn adjusted_values_equal_those_of_statsmodels() {
        for (p, expected) in [
            (&[0.01, 0.04, 0.03, 0.005][..], &[0.03, 0.06, 0.06, 0.02][..]),
            (&[0.02, 0.02, 0.9], &[0.06, 0.06, 0.9]),
            (&[0.013, 0.026, 0.2, 0.0004, 0.03, 0.03], &[0.065, 0.104, 0.2, 0.0024, 0.104, 0.104]),
        ] {
            let adjusted = holm(p);
            assert!(
                adjusted.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-12),
                "{adjusted:?}"
            );
        }
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusting_never_lowers_values_and_keeps_their_order(
            p in prop::collection::vec(0.0..=1.0, 1..20),
        ) {
            let adjusted = holm(&p);
            for i in 0..p.len() {
                prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
