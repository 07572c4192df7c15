//! Which target was better, and how sure that is.

use serde::{Deserialize, Serialize};

/// What the comparison of all targets concludes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the targets were ranked by.
    pub ranked_by: String,
    /// The targets, best first.
    pub ranking: Vec<Placing>,
}

/// One target's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placing {
    /// The target.
    pub target: String,
    /// Expected answers per second: the mean of its rounds.
    pub rate_per_s: f64,
    /// The 95 % confidence interval of that mean; `None` with fewer than two rounds.
    pub confidence_95_per_s: Option<[f64; 2]>,
    /// This rate over that of the best target.
    pub relative_to_best: f64,
    /// Whether its interval overlaps that of the target before it: these two are not told apart.
    pub tied_with_previous: bool,
}

/// Ranks targets by the mean of their rounds' rates of expected answers.
///
/// The interval is Student's: mean ± t · s / √n over the n rounds, which takes the rounds for
/// independent and about normally distributed. Overlap of two intervals is a cautious test: it
/// may call two targets tied that differ, and seldom the other way round.
#[must_use]
pub fn compare(rates: &[(String, Vec<f64>)]) -> Comparison {
    let mut ranking: Vec<Placing> = rates.iter().map(|(target, r)| placing(target, r)).collect();
    ranking.sort_by(|a, b| b.rate_per_s.total_cmp(&a.rate_per_s));
    let best = ranking.first().map_or(0.0, |p| p.rate_per_s);
    for i in 0..ranking.len() {
        ranking[i].relative_to_best = if best > 0.0 { ranking[i].rate_per_s / best } else { 0.0 };
        ranking[i].tied_with_previous = i > 0 && overlap(&ranking[i - 1], &ranking[i]);
    }
    Comparison { ranked_by: "expected answers per second".to_owned(), ranking }
}

fn placing(target: &str, rates: &[f64]) -> Placing {
    let n = rates.len() as f64;
    let mean = if rates.is_empty() { 0.0 } else { rates.iter().sum::<f64>() / n };
    let half_width = (rates.len() > 1).then(|| {
        let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
        t_quantile(rates.len() - 1) * (variance / n).sqrt()
    });
    Placing {
        target: target.to_owned(),
        rate_per_s: mean,
        confidence_95_per_s: half_width.map(|h| [(mean - h).max(0.0), mean + h]),
        relative_to_best: 0.0,
        tied_with_previous: false,
    }
}

fn overlap(better: &Placing, worse: &Placing) -> bool {
    match (better.confidence_95_per_s, worse.confidence_95_per_s) {
        (Some([low, _]), Some([_, high])) => high >= low,
        _ => false,
    }
}

/// The 97.5th percentile of Student's t distribution, for 1 to 30 degrees of freedom; beyond
/// that the normal distribution's (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
fn t_quantile(degrees: usize) -> f64 {
    const T: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    T.get(degrees.wrapping_sub(1)).copied().unwrap_or(1.96)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(rates: &[(&str, &[f64])]) -> Vec<Placing> {
        let rates: Vec<_> = rates.iter().map(|(n, r)| ((*n).to_owned(), r.to_vec())).collect();
        compare(&rates).ranking
    }

    #[test]
    fn best_first_with_students_interval() {
        let ranking = ranked(&[("slow", &[50.0, 50.0]), ("fast", &[98.0, 100.0, 102.0])]);
        assert_eq!(ranking[0].target, "fast");
        // s = 2, n = 3: 4.303 × 2 / √3 = 4.969
        let [low, high] = ranking[0].confidence_95_per_s.unwrap();
        assert!((low - 95.031).abs() < 0.01 && (high - 104.969).abs() < 0.01, "{low} {high}");
        assert_eq!(ranking[1].relative_to_best, 0.5);
        assert!(!ranking[1].tied_with_previous);
    }

    #[test]
    fn overlapping_intervals_are_a_tie() {
        let ranking = ranked(&[("a", &[100.0, 110.0, 90.0]), ("b", &[99.0, 108.0, 88.0])]);
        assert!(ranking[1].tied_with_previous);
    }

    #[test]
    fn one_round_has_no_interval_and_nothing_divides_by_zero() {
        let ranking = ranked(&[("a", &[0.0]), ("b", &[])]);
        assert_eq!(ranking[0].confidence_95_per_s, None);
        assert_eq!(ranking[0].relative_to_best, 0.0);
    }
}
