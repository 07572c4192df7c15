//! Loads all contenders of a start in turn, several times: slices.
//!
//! A machine that slows down for some seconds slows neighbouring slices alike, whereas rounds with a
//! start of their own are seconds apart. All slices of a start share that start of the servers: the start
//! is the unit of the statistics (see `analysis/starts/`).

use std::ops::RangeInclusive;

use super::Session;
use super::standing::ContenderIndex;
use super::stopped::Stopped;
use crate::analysis::statistics::order;
use crate::experiment::measured::Measured;
use crate::experiment::slicing::Slicing;

impl Session<'_> {
    /// Measures these starts of the job in progress. In each start all contenders are up at the same
    /// time, and are loaded in turn, once in each slice.
    pub(super) async fn slices(
        &mut self,
        starts: RangeInclusive<u32>,
        slicing: Slicing,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let contenders = 0..self.job().contenders.len();
        let turns: Vec<ContenderIndex> = contenders.map(|of| (self.current, of)).collect();
        for start in starts {
            let result = match self.start_all(&turns, start).await {
                Ok(()) => self.load_in_turn(slicing.numbers(start), measured).await,
                Err(stopped) => Err(stopped),
            };
            let stopped = self.stop_all().await;
            let is_over = result?;
            stopped?;
            if is_over {
                break;
            }
        }
        Ok(())
    }

    /// Loads the contenders in the slices of these numbers. Returns whether the run ends early.
    async fn load_in_turn(
        &mut self,
        slices: impl Iterator<Item = u32>,
        measured: &mut Measured,
    ) -> Result<bool, Stopped> {
        let (contenders, seed) = (self.job().contenders.len(), self.job().seed);
        for number in slices {
            for contender in order(contenders, seed, number) {
                let result = self.load_standing(contender, number, measured).await;
                measured.calibration = self.calibration();
                result?;
                if self.is_over(0, measured)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
