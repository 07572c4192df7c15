//! Checks whether loadgen read streams as soon as their events had arrived.

use super::verdict;
use crate::record::{RoundRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_measure::LatencySummary;
use loadgen_text::{counted, milliseconds};

/// Delay of a read, in µs, from which the times of events are not the server's alone: the times are
/// promised within 5 ms.
const LATE_US: u64 = 5_000;

/// Returns a verdict if loadgen read late in a round with streams. A reader that is late makes a server
/// look as if it sent in bursts.
pub(super) fn slow_reader(target: &TargetRecord) -> Option<Verdict> {
    let gap = &target.total.stream.as_ref()?.gap_us;
    let rounds = target.rounds.iter().filter_map(|round| Some((round, Late::of(round)?)));
    let rounds: Vec<(&RoundRecord, Late)> = rounds.collect();
    let often = rounds.iter().filter(|(_, late)| late.often_us >= LATE_US).count();
    let (worst, late) = rounds.iter().max_by_key(|(_, late)| (late.often_us, late.most_us))?;
    let advice = "look for other programs on loadgen's CPUs; give loadgen more CPUs or hosts, or use \
                  fewer users";
    if often > 0 {
        let message = format!(
            "loadgen read streams late, in {often} of {}: {} ms or more at one moment in {}, and up to \
             {} ms (round {}), so times to the first event and gaps include loadgen's own delays",
            counted(target.rounds.len() as u64, "round"),
            milliseconds(Some(late.often_us)),
            late.moments,
            milliseconds(Some(late.most_us)),
            worst.round
        );
        return Some(verdict(target, VerdictKind::SlowReader, message, advice));
    }
    let most_us = rounds.iter().map(|(_, late)| late.most_us).max()?;
    let (longest_us, median_us) = (gap.max?, gap.p50?);
    let excess_us = longest_us.saturating_sub(median_us);
    // A gap that is hardly longer than the others blames nobody.
    let stands_out = 2 * excess_us >= median_us;
    if most_us < LATE_US || 2 * most_us < excess_us || !stands_out {
        return None;
    }
    let message = format!(
        "loadgen read up to {} ms late, so the longest gap between events, {} ms, may be loadgen's own \
         delay",
        milliseconds(Some(most_us)),
        milliseconds(Some(longest_us))
    );
    Some(verdict(target, VerdictKind::SlowReader, message, advice))
}

/// Delays of loadgen's reads in a round.
struct Late {
    /// Delay that one moment in `moments` had, or more, in µs.
    often_us: u64,
    moments: u32,
    /// Longest delay, in µs.
    most_us: u64,
}

impl Late {
    /// Takes the highest percentile of at most the 99th that has enough samples.
    fn of(round: &RoundRecord) -> Option<Self> {
        let LatencySummary { p50, p90, p95, p99, max, .. } = *round.reading_lag_us.as_ref()?;
        let percentiles = [(p99, 100), (p95, 20), (p90, 10), (p50, 2)];
        let (often_us, moments) =
            percentiles.into_iter().find_map(|(us, moments)| Some((us?, moments)))?;
        Some(Self { often_us, moments, most_us: max? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::{StreamSummary, Summary};

    /// Returns what is said of rounds with these delays (99th percentile and maximum) if the gaps of
    /// the streams have this median and maximum; all in ms.
    fn said(lags: &[(u64, u64)], (median, longest): (u64, u64)) -> Option<String> {
        let ms = |ms: u64| Some(1_000 * ms);
        let round = |(number, (p99, max)): (u32, &(u64, u64))| RoundRecord {
            round: number,
            reading_lag_us: Some(LatencySummary {
                p50: Some(50),
                p99: ms(*p99),
                max: ms(*max),
                ..LatencySummary::default()
            }),
            ..RoundRecord::default()
        };
        let gap_us = LatencySummary { p50: ms(median), max: ms(longest), ..Default::default() };
        let stream = Some(StreamSummary { gap_us, ..StreamSummary::default() });
        let target = TargetRecord {
            total: Summary { stream, ..Summary::default() },
            rounds: (1..).zip(lags).map(round).collect(),
            ..TargetRecord::default()
        };
        slow_reader(&target).map(|verdict| verdict.message)
    }

    #[test]
    fn a_reader_that_is_often_late_is_blamed() {
        assert_eq!(
            said(&[(0, 2), (7, 90), (45, 80)], (50, 130)).unwrap(),
            "loadgen read streams late, in 2 of 3 rounds: 45.0 ms or more at one moment in 100, and up \
             to 80.0 ms (round 3), so times to the first event and gaps include loadgen's own delays"
        );
        assert_eq!(said(&[(4, 4)], (50, 900)), None);
    }

    #[test]
    fn a_long_gap_is_not_the_servers_if_loadgen_was_late_as_long() {
        assert_eq!(said(&[(0, 20)], (50, 550)), None, "500 ms of 550 are the server's");
        assert_eq!(said(&[(0, 20)], (50, 74)), None, "no gap stands out");
        assert_eq!(
            said(&[(0, 20), (0, 30)], (50, 85)).unwrap(),
            "loadgen read up to 30.0 ms late, so the longest gap between events, 85.0 ms, may be \
             loadgen's own delay"
        );
    }

    #[test]
    fn without_streams_no_reader_is_late() {
        let round = RoundRecord {
            reading_lag_us: Some(LatencySummary { p99: Some(90_000), ..Default::default() }),
            ..RoundRecord::default()
        };
        let target = TargetRecord { rounds: vec![round], ..TargetRecord::default() };
        assert_eq!(slow_reader(&target), None);
    }
}
