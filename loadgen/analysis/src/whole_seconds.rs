//! Finds the whole seconds of a hold, the measured period of a round.

use std::ops::Range;

/// Returns the numbers of the whole seconds of a hold that begins `ramp_up_s` after the warm-up and
/// lasts `held_s`, counted from the end of the warm-up.
pub(super) fn whole_seconds(ramp_up_s: f64, held_s: f64) -> Range<usize> {
    // A second that a clock measures slightly short still counts as whole.
    const CLOCK: f64 = 1e-3;
    let from = (ramp_up_s - CLOCK).ceil().max(0.0) as usize;
    from..(ramp_up_s + held_s + CLOCK).floor() as usize
}
