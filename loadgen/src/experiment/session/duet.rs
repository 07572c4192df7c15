//! Loads two contenders at the same time, on the same CPUs: a duet.
//!
//! A neighbour that slows the machine slows both alike: the ratio of the two varies far less than the
//! figures of each (Bulej et al., *Duet Benchmarking: Improving Measurement Accuracy in the
//! Cloud*, ICPE 2020). What each start of a server brings with it, such as its place in memory, stays
//! in the ratio: both start afresh in each round.

use std::cell::RefCell;
use std::iter::zip;
use std::ops::RangeInclusive;

use super::Session;
use super::load::{answered, json_keys, rate_per_s};
use super::round_steps::After;
use super::service_monitor::{Services, Watch, idle_memory};
use super::stopped::Stopped;
use crate::analysis::statistics::order;
use crate::engine::{Plan, Results, RoundControl, Seen, Verified, run_both};
use crate::experiment::measured::{Measured, MeasuredRound, Partner};
use crate::experiment::observe::{Begun, Event};
use crate::failure::{Exit, Failure};
use crate::lab::{LabError, Surroundings, Target};
use crate::measure::{GrowingSeries, PARTNER};

/// Message to the user if the scenario has thresholds.
const NO_THRESHOLDS: &str =
    "thresholds are not judged: in a duet, latencies and rates are not those of a server alone";

/// Returns the two contenders of each duet of a round, the one that starts first first, and the
/// number of the duet among all duets of the run, from 1. The first of `contenders` contenders is
/// measured with each other one. Which of two starts first alternates.
fn duets(contenders: usize, seed: u64, round: u32) -> impl Iterator<Item = (u32, [usize; 2])> {
    let each = u32::try_from(contenders.saturating_sub(1)).unwrap_or(u32::MAX);
    let before = round.saturating_sub(1).saturating_mul(each);
    (1..contenders).zip(before + 1..).map(move |(other, number)| {
        // A seed for each pair, so that chance decides for each which of them begins.
        let begins = order(2, seed.wrapping_add(other as u64), round);
        let pair = if begins[0] == 0 { [0, other] } else { [other, 0] };
        (number, pair)
    })
}

impl Session<'_> {
    /// Measures rounds of the job in progress, whose contenders are loaded two at a time.
    pub(super) async fn duets(
        &mut self,
        rounds: RangeInclusive<u32>,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let job = self.job();
        if *rounds.start() == 1 && !job.scenario.thresholds.is_empty() {
            self.tell(Event::Note(NO_THRESHOLDS));
        }
        for round in rounds {
            for (number, pair) in duets(job.contenders.len(), job.seed, round) {
                let result = self.duet(pair, number, measured).await;
                measured.calibration = self.calibration();
                result?;
                self.round_of_run_over(0, measured);
                if self.interrupt.is_cancelled() {
                    return Err(Stopped::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Fills the backends with data, starts both contenders, verifies and loads them, and stops them.
    /// The results are in `measured` even if something fails after the load.
    async fn duet(
        &mut self,
        pair: [usize; 2],
        number: u32,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let job = self.job();
        let of = pair.map(|contender| &job.contenders[contender]);
        self.fill(&format!("{} and {}", of[0].name, of[1].name)).await?;
        let mut first = self.start_target(pair[0], &of[0].log(number, false)).await?;
        let mut second = self.start_target(pair[1], &of[1].log(number, false)).await?;
        let plan = |contender, target: &Target| job.plan(contender, target.url.clone(), number);
        let plans = [plan(pair[0], &first), plan(pair[1], &second)];
        let begun = [0, 1].map(|at| Begun {
            contender: pair[at],
            number,
            name: &of[at].name,
            group: job.group.as_deref(),
            plan: &plans[at],
        });
        let result = self.load_both(begun, measured, [&mut first, &mut second]).await;
        let (first, second) = tokio::join!(first.stop(), second.stop());
        let (mut rounds, ended) = result?;
        let counts = [0, 1].map(|at: usize| answered(&rounds[1 - at].results));
        // A contender whose partner was missing had the CPUs to itself.
        let whole = zip(&plans, &rounds).all(|(plan, round)| self.is_whole(plan, round));
        for (at, round) in rounds.iter_mut().enumerate() {
            let (contender, answered) = (pair[1 - at], counts[at]);
            round.partner = Some(Partner { contender, answered, is_first: at == 1 });
            round.whole = whole;
        }
        measured.rounds.extend(rounds);
        if let Some(error) = ended {
            return Err(Failure::from(error).into());
        }
        first.and(second).map_err(|error| Failure::from(error).into())
    }

    /// Verifies both contenders, and then loads both from the same moment until the planned end or
    /// the end of a service. Returns the results of both, and the error of a service that ended by
    /// itself, if any. `before` has the results of earlier rounds.
    async fn load_both(
        &mut self,
        begun: [Begun<'_>; 2],
        before: &Measured,
        [first, second]: [&mut Target; 2],
    ) -> Result<([MeasuredRound; 2], Option<LabError>), Stopped> {
        let name = format!("{} beside {}", begun[0].name, begun[1].name);
        self.tell(Event::RoundBegan(Begun { name: &name, ..begun[0] }));
        let (one, mut is_set_up) = self.set_up(begun[0], Some(&mut *first)).await;
        let mut other = begun[1].plan.clone();
        if is_set_up.is_ok() {
            (other, is_set_up) = self.set_up(begun[1], Some(&mut *second)).await;
        }
        let plans = [one, other];
        let begun = [0, 1].map(|at| Begun { plan: &plans[at], ..begun[at] });
        let result = match is_set_up {
            Ok(()) => {
                let both = [&mut *first, &mut *second];
                Box::pin(self.load_users_of_both(begun, before, both)).await
            }
            Err(stopped) => Err(stopped),
        };
        let after = if matches!(result, Ok((_, None))) { After::Load } else { After::Error };
        for (begun, running) in begun.into_iter().zip([first, second]) {
            self.tear_down(begun, Some(running), after).await;
        }
        result
    }

    /// Verifies both contenders and loads them with users. See [`Session::load_both`].
    async fn load_users_of_both(
        &mut self,
        begun: [Begun<'_>; 2],
        before: &Measured,
        [first, second]: [&mut Target; 2],
    ) -> Result<([MeasuredRound; 2], Option<LabError>), Stopped> {
        let plans: [Plan; 2] = begun.map(|it| it.plan.clone());
        let targets = vec![&mut *first, &mut *second];
        let services = Services { targets, idle: Vec::new(), lab: self.lab.as_mut() };
        let idle = idle_memory(&services.watched(&self.generator, None)).await;
        let verified =
            [self.verify(begun[0], Some(first)).await?, self.verify(begun[1], Some(second)).await?];
        let answers: Vec<_> = verified[0].answers.iter().flatten().cloned().collect();
        self.calibrate(&answers, &plans[0].known).await?;
        let targets = vec![first, second];
        let mut services = Services { targets, idle: Vec::new(), lab: self.lab.as_mut() };
        let surroundings = Surroundings { turn: self.turn.clone(), server: None };
        let watch = Watch::new(services.watched(&self.generator, None), &plans[0]);
        let mut watch = watch.telling(self.observers.usage_teller()).within(surroundings);
        let stop = self.interrupt.child_token();
        // Both rounds report to the same observers, which see the results of both together.
        let seen = RefCell::new((&mut self.observers, GrowingSeries::default()));
        let tell = |seen_of_one: Seen<'_>| {
            let (observers, together) = &mut *seen.borrow_mut();
            match seen_of_one {
                Seen::Started(start) => observers.tell(Event::LoadStarted(start)),
                Seen::Snapshot(worker, snapshot) => {
                    together.add(snapshot);
                    observers.tell(Event::Snapshot(worker, snapshot, together));
                }
                Seen::Lost(lost) => observers.tell(Event::Lost(lost)),
                Seen::Tick => observers.tell(Event::Tick(together, Some(before))),
                // The other one may still have results to come.
                Seen::Complete => {}
            }
            if observers.stopped().is_some() {
                stop.cancel();
            }
        };
        let of_first = |seen: Seen<'_>, _: &mut GrowingSeries| {
            if let Seen::Started(start) = seen {
                watch.begin(start.into());
            }
            tell(seen);
        };
        let of_second = |seen: Seen<'_>, _: &mut GrowingSeries| {
            // Start and ticks are those of the first.
            if matches!(seen, Seen::Snapshot(..) | Seen::Lost(_)) {
                tell(seen);
            }
        };
        let [one, other] = plans;
        let both = run_both(
            (one, RoundControl::from(stop.clone()), of_first),
            (other, RoundControl::from(stop.clone()), of_second),
        );
        let (results, ended) = services.during(both, &stop).await;
        let (observers, mut together) = seen.into_inner();
        observers.tell(Event::Complete(&mut together));
        let mut observed = watch.end().await;
        observed.add_idle(&idle);
        let results = results.map_err(Failure::with(Exit::Failed))?;
        self.tell(Event::LoadEnded(results.iter().map(rate_per_s).sum()));
        let of_partner = observed.clone().swapped("target", PARTNER);
        let [first, second] = verified;
        let [of_first, of_second] = results;
        let round = |at: usize, verified: Verified, results: Results, observed| MeasuredRound {
            held: results.held(),
            results,
            observed,
            json_keys: json_keys(&verified.answers),
            verified: verified.counters,
            failed: verified.failed,
            ended: ended.as_ref().map(ToString::to_string),
            ..begun[at].round()
        };
        let rounds = [round(0, first, of_first, observed), round(1, second, of_second, of_partner)];
        Ok((rounds, ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_contender_meets_each_other_and_starts_first_in_half_of_the_rounds() {
        for seed in 0..20 {
            let all: Vec<(u32, [usize; 2])> =
                (1..=4).flat_map(|round| duets(3, seed, round)).collect();
            let numbers: Vec<u32> = all.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
            for other in [1, 2] {
                let of_pair = all.iter().filter(|(_, pair)| pair.contains(&other));
                let firsts: Vec<usize> = of_pair.map(|(_, pair)| pair[0]).collect();
                assert_eq!(firsts.iter().filter(|it| **it == 0).count(), 2, "{firsts:?}");
                assert!(firsts.windows(2).all(|two| two[0] != two[1]), "{firsts:?}");
            }
        }
    }
}
