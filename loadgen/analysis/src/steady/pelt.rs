//! Finds the moments at which the level of a series changes.

/// Least number of values between two changes.
const SHORTEST: usize = 2;

/// Returns the indices at which new levels of `series` begin, in ascending order; empty if its level
/// never changes. The result has the least sum of squared distances from the levels, plus `penalty`
/// for each change (PELT: Killick, Fearnhead and Eckley, "Optimal Detection of Changepoints With a
/// Linear Computational Cost", 2012).
pub(super) fn changes(series: &[f64], penalty: f64) -> Vec<usize> {
    let n = series.len();
    if n < 2 * SHORTEST {
        return Vec::new();
    }
    // Sums of the values, and of their squares, before each index.
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (i, value) in series.iter().enumerate() {
        sums[i + 1] = sums[i] + value;
        squares[i + 1] = squares[i] + value * value;
    }
    let cost = |from: usize, to: usize| {
        let sum = sums[to] - sums[from];
        (squares[to] - squares[from] - sum * sum / (to - from) as f64).max(0.0)
    };
    // The least cost of the values before each index, and the beginning of their last level.
    let mut least = vec![f64::INFINITY; n + 1];
    let mut begins = vec![0; n + 1];
    least[0] = -penalty;
    // Beginnings of a last level, each with the last end for which it may be the best.
    let mut candidates = vec![(0, n)];
    for end in SHORTEST..=n {
        for &(from, _) in &candidates {
            let total = least[from] + cost(from, end) + penalty;
            if total < least[end] {
                (least[end], begins[end]) = (total, from);
            }
        }
        for (from, until) in &mut candidates {
            if least[*from] + cost(*from, end) > least[end] {
                // A level that begins at `end` is better, as soon as it is long enough.
                *until = (*until).min(end + SHORTEST - 1);
            }
        }
        candidates.retain(|(_, until)| *until > end);
        candidates.push((end + 1 - SHORTEST, n));
    }
    let mut found = Vec::new();
    let mut end = n;
    while begins[end] > 0 {
        end = begins[end];
        found.push(end);
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the least cost of any division of `series`.
    fn by_trial(series: &[f64], penalty: f64) -> f64 {
        let n = series.len();
        (0_u32..1 << (n - 1))
            .filter_map(|set| {
                let begins = (1..n).filter(|i| set >> (i - 1) & 1 == 1);
                let places: Vec<usize> = [0].into_iter().chain(begins).chain([n]).collect();
                let is_long = places.windows(2).all(|two| two[1] - two[0] >= SHORTEST);
                is_long.then(|| of(series, &places[1..places.len() - 1], penalty))
            })
            .fold(f64::INFINITY, f64::min)
    }

    /// Returns the cost of a division.
    fn of(series: &[f64], changes: &[usize], penalty: f64) -> f64 {
        let places: Vec<usize> =
            [0].into_iter().chain(changes.iter().copied()).chain([series.len()]).collect();
        let squares = |two: &[usize]| {
            let level = &series[two[0]..two[1]];
            let mean = level.iter().sum::<f64>() / level.len() as f64;
            level.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        places.windows(2).map(squares).sum::<f64>() + penalty * changes.len() as f64
    }

    #[test]
    fn levels_are_found_where_they_begin() {
        let series = [1.0, 1.1, 0.9, 1.0, 3.0, 3.1, 2.9, 3.0, 3.0, 2.0, 2.1, 1.9];
        assert_eq!(changes(&series, 0.5), [4, 9]);
        assert_eq!(changes(&series, 100.0), [0; 0]);
        assert_eq!(changes(&series[..3], 0.0), [0; 0]);
        assert_eq!(changes(&[], 1.0), [0; 0]);
    }

    proptest! {
        #[test]
        fn no_division_costs_less(
            series in prop::collection::vec(-5.0..5.0, 4..11),
            penalty in 0.0..40.0,
        ) {
            let found = of(&series, &changes(&series, penalty), penalty);
            prop_assert!(found <= by_trial(&series, penalty) + 1e-9, "{}", found);
        }
    }
}
