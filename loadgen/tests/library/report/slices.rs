//! Tests the terminal's report of slices, made from records built by hand.

use super::records::{record, target};
use super::run::{assert_within_80_columns, shown};
use loadgen::analysis::{compare, rates, variation};
use loadgen::record::{RunRecord, SliceRecord, TargetRecord};

/// Returns a target with five starts of four slices.
fn sliced(name: &str, rates: [[f64; 4]; 5]) -> TargetRecord {
    let mut target = target(name, rates.as_flattened());
    for (index, round) in (0..).zip(&mut target.rounds) {
        round.held_s = 0.5;
        round.slice = Some(SliceRecord { start: index / 4 + 1, number: index % 4 + 1, of: 4 });
    }
    target
}

/// Returns a run over two targets: the second is 6 % slower. Starts differ by `start` of a rate.
fn run(start: f64) -> RunRecord {
    let slices = [[1_204.0, 1_150.0, 1_301.0, 1_198.0]; 5];
    let mut others = slices;
    let mut noise = [0.99, 1.02, 1.0, 0.98, 1.01];
    for (own, others) in [1.0, -2.0, 0.0, 2.0, -1.0].into_iter().zip(&mut others) {
        let own = 1.0 + start * own;
        others.iter_mut().zip(noise).for_each(|(rate, noise)| *rate *= own * noise / 1.06);
        noise.rotate_left(1);
    }
    let targets = vec![sliced("old", slices), sliced("new", others)];
    let figures: Vec<_> = targets.iter().map(|it| (it.name.clone(), rates(&it.rounds))).collect();
    let mut record = record(targets);
    (record.load.slices, record.load.slice_warmup_s) = (Some(4), Some(0.25));
    (record.load.rounds, record.load.duration_s, record.load.ramp_up_s) = (5, Some(0.5), 0.0);
    let comparison = compare(&figures);
    record.slices = variation(&record.targets, &record.load, &comparison);
    record.comparison = Some(comparison);
    record
}

#[test]
fn slices_are_reported_with_the_level_that_varies() {
    let report = shown(&run(0.0));
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn starts_that_vary_need_more_starts() {
    let report = shown(&run(0.02)).replace("\n   ", " ");
    assert!(report.contains("more starts (--rounds) would help, longer ones hardly"), "{report}");
    let mut cut = run(0.02);
    cut.targets[1].rounds.truncate(18);
    let report = shown(&cut);
    assert!(report.contains("not all rounds were measured: new 18 of 20"), "{report}");
}
