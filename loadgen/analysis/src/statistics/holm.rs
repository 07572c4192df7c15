//! Applies Holm's correction, which keeps the chance of any false claim among many comparisons at
//! one in twenty.

use super::LEVEL;

/// Comparisons that share a part of the significance level.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Share of the significance level, relative to that of other families. Greater than 0.
    pub weight: f64,
    /// p-values in sequences. The comparisons of a sequence are tested in its order: one counts only
    /// if all before it are shown, so that a sequence costs the others no more than its first
    /// comparison (Maurer, Hothorn and Lehmacher, "Multiple Comparisons in Drug Clinical Trials and
    /// Preclinical Assays: A-Priori Ordered Hypotheses", 1995).
    pub sequences: Vec<Vec<f64>>,
}

impl Family {
    /// Returns a family of comparisons of which none waits for another.
    #[must_use]
    pub fn of(p_values: impl IntoIterator<Item = f64>) -> Self {
        Self { weight: 1.0, sequences: p_values.into_iter().map(|p| vec![p]).collect() }
    }

    fn is_empty(&self) -> bool {
        self.sequences.iter().all(Vec::is_empty)
    }
}

/// Returns the p-values of each sequence of each family, adjusted for the number of comparisons by
/// Holm's method (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979). No adjusted
/// value is smaller than the one before or greater than 1.
///
/// In one family of single comparisons, the smallest of m p-values is multiplied by m, the next value
/// by m − 1, and so on. Several families divide the significance level by weight. The part of a
/// sequence passes to its next comparison with each one that is shown, then to the other sequences of
/// its family, and last to the other families.
///
/// The chance of any false claim is at most [`LEVEL`], however the comparisons depend on each other,
/// as comparisons of the same targets do. Reason: the method is one of the graphical procedures of
/// Bretz, Maurer, Brannath and Posch, "A Graphical Approach to Sequentially Rejective Multiple Test
/// Procedures" (2009).
#[must_use]
pub fn holm(families: &[Family]) -> Vec<Vec<Vec<f64>>> {
    let none = |family: &Family| vec![Vec::new(); family.sequences.len()];
    let mut adjusted: Vec<Vec<Vec<f64>>> = families.iter().map(none).collect();
    let mut before = 0.0_f64;
    loop {
        // The first comparison of each sequence that is not yet adjusted.
        let open: Vec<(f64, Vec<(usize, f64)>)> = families
            .iter()
            .zip(&adjusted)
            .map(|(family, adjusted)| {
                let next = |i: usize| family.sequences[i].get(adjusted[i].len()).copied();
                let open = (0..adjusted.len()).filter_map(|i| Some((i, next(i)?)));
                (family.weight, open.collect())
            })
            .collect();
        let all: f64 =
            open.iter().filter(|(_, firsts)| !firsts.is_empty()).map(|(weight, _)| weight).sum();
        let raised = open.iter().enumerate().flat_map(|(family, (weight, firsts))| {
            let factor = firsts.len() as f64 * all / weight;
            firsts.iter().map(move |(i, p)| (family, *i, p * factor))
        });
        let Some((family, i, raised)) = raised.min_by(|a, b| a.2.total_cmp(&b.2)) else {
            return adjusted;
        };
        before = before.max(raised.min(1.0));
        adjusted[family][i].push(before);
    }
}

/// Returns the significance level that the first comparison of a sequence has to pass as long as
/// nothing is shown, by family.
#[must_use]
pub fn levels(families: &[Family]) -> Vec<f64> {
    let all: f64 = families.iter().filter(|it| !it.is_empty()).map(|family| family.weight).sum();
    let of = |family: &Family| {
        let sequences = family.sequences.iter().filter(|sequence| !sequence.is_empty()).count();
        LEVEL * family.weight / all / sequences.max(1) as f64
    };
    families.iter().map(of).collect()
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
            let adjusted = holm(&[Family::of(p.iter().copied())]).concat().concat();
            assert!(
                adjusted.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-12),
                "{adjusted:?}"
            );
        }
        assert!(holm(&[]).is_empty());
    }

    fn tails(p_values: &[f64]) -> Family {
        Family { weight: 1.0, sequences: vec![p_values.to_vec()] }
    }

    #[test]
    fn a_sequence_takes_its_level_once() {
        let rate = Family { weight: 9.0, ..Family::of([0.3]) };
        let adjusted = holm(&[rate.clone(), tails(&[0.001, 0.004, 0.002, 0.01])]);
        let expected = [&[0.3][..], &[0.01, 0.04, 0.04, 0.1]];
        for (adjusted, expected) in adjusted.concat().concat().into_iter().zip(expected.concat()) {
            assert!((adjusted - expected).abs() < 1e-12, "{adjusted} is not {expected}");
        }
        assert_eq!(levels(&[rate.clone(), tails(&[0.001])]), [0.045, 0.005]);
        assert_eq!(levels(&[rate, tails(&[])])[0], 0.05, "nothing to test costs nothing");
    }

    #[test]
    fn a_family_keeps_its_level_until_all_of_it_is_shown() {
        let rates = |p_values: [f64; 2]| Family { weight: 9.0, ..Family::of(p_values) };
        let adjusted = |rates| holm(&[rates, tails(&[0.03])]).concat().concat();
        let [one, other, tail] = adjusted(rates([0.001, 0.045])).try_into().unwrap();
        assert!((one - 0.002 / 0.9).abs() < 1e-12 && (other - 0.05).abs() < 1e-12, "{other}");
        assert_eq!(tail, other, "the tail alone has the whole level");
        let of_shown: [f64; 3] = adjusted(rates([0.001, 0.04])).try_into().unwrap();
        assert!(of_shown[1] < LEVEL && of_shown[2] < LEVEL, "{of_shown:?}");
    }

    /// Adjusts by the closed test, of which the method is a shortcut: a comparison is shown at a
    /// level where each set of comparisons that contains it is. A set is tested by the first of each
    /// sequence in it, with a weighted Bonferroni correction.
    fn closed(families: &[Family]) -> Vec<Vec<Vec<f64>>> {
        let mut places = Vec::new();
        for (f, family) in families.iter().enumerate() {
            for (i, sequence) in family.sequences.iter().enumerate() {
                places.extend((0..sequence.len()).map(|j| (f, i, j)));
            }
        }
        let mut adjusted: Vec<Vec<Vec<f64>>> = families
            .iter()
            .map(|family| family.sequences.iter().map(|it| vec![0.0; it.len()]).collect())
            .collect();
        for set in 1_u32..1 << places.len() {
            let members = || (0..places.len()).filter(|n| set >> n & 1 == 1).map(|n| places[n]);
            // Of each sequence, the first member comes first.
            let mut firsts: Vec<(usize, usize, usize)> = members().collect();
            firsts.dedup_by_key(|(f, i, _)| (*f, *i));
            let of_family = |f: usize| firsts.iter().filter(|it| it.0 == f).count() as f64;
            let with_members = (0..families.len()).filter(|f| of_family(*f) > 0.0);
            let all: f64 = with_members.map(|f| families[f].weight).sum();
            let p = firsts
                .iter()
                .map(|&(f, i, j)| {
                    families[f].sequences[i][j] * of_family(f) * all / families[f].weight
                })
                .fold(1.0, f64::min);
            members().for_each(|(f, i, j)| adjusted[f][i][j] = adjusted[f][i][j].max(p));
        }
        adjusted
    }

    fn families() -> impl Strategy<Value = Vec<Family>> {
        let sequences = prop::collection::vec(prop::collection::vec(0.0..0.2, 0..4), 0..3);
        let family =
            (0.1..10.0, sequences).prop_map(|(weight, sequences)| Family { weight, sequences });
        prop::collection::vec(family, 1..3)
    }

    proptest! {
        #[test]
        fn adjusting_never_lowers_values_and_keeps_their_order(
            p in prop::collection::vec(0.0..=1.0, 1..20),
        ) {
            let adjusted = holm(&[Family::of(p.clone())]).concat().concat();
            for i in 0..p.len() {
                prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }

        #[test]
        fn adjusted_values_equal_those_of_the_closed_test(families in families()) {
            let both = [holm(&families), closed(&families)].map(|all| all.concat().concat());
            for (adjusted, expected) in both[0].iter().zip(&both[1]) {
                prop_assert!((adjusted - expected).abs() < 1e-9, "{} {}", adjusted, expected);
            }
        }
    }
}
