//! Verifies and loads a target of a session.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use tokio::sync::oneshot;

use super::Session;
use super::pods;
use super::probe;
use super::refusals::Refusals;
use super::relay::Relay;
use super::round_steps::After;
use super::service_monitor::{Services, Watch, idle_memory};
use super::stopped::{Stopped, unless};
use crate::engine::{
    self, Demand, Plan, Results, RoundControl, Seen, TrialAnswer, Verified, VerifyError,
};
use crate::experiment::measured::{Measured, MeasuredRound, held};
use crate::experiment::observe::{Begun, Event};
use crate::experiment::replicas;
use crate::failure::{Exit, Failure};
use crate::lab::{LabError, LocalServer, Surroundings, Target, local_server};
use crate::measure::GrowingSeries;
use crate::text::with_code;

impl Session<'_> {
    /// Returns the number of responses of each replica so far; empty without replicas. If the
    /// balancer does not tell, passes a note to all observers: the round itself is not affected.
    async fn responses(&mut self, target: Option<&Target>) -> Vec<u64> {
        let Some(target) = target else { return Vec::new() };
        match target.responses().await {
            Ok(responses) => responses,
            Err(error) => {
                self.tell(Event::Note(&with_code(&error)));
                Vec::new()
            }
        }
    }

    /// Returns where a server listens that runs already on this machine; `None` for another server, and
    /// if the load comes from workers that may share this machine without being known here.
    async fn server(&self, plan: &Plan) -> Option<LocalServer> {
        match (&self.lab, &self.job().remote) {
            (None, None) => local_server(&plan.base_url).await,
            _ => None,
        }
    }

    /// Sends each step of the scenario, and checks the answers: before the first round whether they
    /// are those that the scenario expects, and before later rounds whether there are any. If the
    /// verification fails because a service has ended, the error is the error of the service.
    pub(super) async fn verify(
        &mut self,
        Begun { plan, name, number, .. }: Begun<'_>,
        running: Option<&mut Target>,
    ) -> Result<Verified, Stopped> {
        let is_first = number == 1 || number == self.first_round;
        let demand = if is_first { Demand::Expected } else { Demand::Answer };
        let verified = unless(&self.interrupt, engine::verify(plan, name, demand)).await?;
        Ok(verified.map_err(|error| self.explained(error, running))?)
    }

    /// Returns the failure of a step that did not go as expected. The error of a service that has ended explains more.
    pub(super) fn explained(
        &mut self,
        error: VerifyError,
        running: Option<&mut Target>,
    ) -> Failure {
        let one_request = self.job().one_request;
        let mut services = Services::of(running, &mut self.standing.targets, self.lab.as_mut());
        match services.ended() {
            Some(ended) => Failure::from(ended),
            None if one_request => Failure::new(Exit::Target, without_file(error)),
            None => Failure::with(Exit::Target)(error),
        }
    }

    /// Returns the memory of each service before the first load of a target, in bytes, by name. Empty
    /// before later loads: a search loads a target again and again, and so do slices and rounds of one start.
    async fn idle_memory(
        &mut self,
        begun: Begun<'_>,
        before: Option<&Measured>,
        running: Option<&mut Target>,
    ) -> BTreeMap<String, u64> {
        if before.is_none() || !self.job().method.begins_start(begun.number) {
            return BTreeMap::new();
        }
        let services = Services::of(running, &mut self.standing.targets, self.lab.as_mut());
        idle_memory(&services.watched(&self.generator, self.probe.as_ref())).await
    }

    /// Verifies the target, and then loads the target until the planned end or the end of a
    /// service, between the steps that are sent once for the round. Returns the results, and the error of a
    /// service that ended by itself, if any. Whether the round is whole is not known yet. `before` has the
    /// results of a run's earlier rounds; `None` in a search.
    pub async fn load(
        &mut self,
        begun: Begun<'_>,
        before: Option<&Measured>,
        mut running: Option<&mut Target>,
    ) -> Result<(MeasuredRound, Option<LabError>), Stopped> {
        self.tell(Event::RoundBegan(begun));
        let (plan, is_set_up) = self.set_up(begun, running.as_deref_mut()).await;
        let begun = Begun { plan: &plan, ..begun };
        let result = match is_set_up {
            // Boxed: the future of a round is large, and that of the whole run holds it.
            Ok(()) => Box::pin(self.load_users(begun, before, running.as_deref_mut())).await,
            Err(stopped) => Err(stopped),
        };
        // Steps after the users might delete what proofs count. The next round empties the backends.
        if !self.is_proved(&plan, before) {
            let after = if matches!(result, Ok((_, None))) { After::Load } else { After::Error };
            self.tear_down(begun, running, after).await;
        }
        result
    }

    /// Verifies the target and loads it with users. See [`Session::load`].
    async fn load_users(
        &mut self,
        begun: Begun<'_>,
        before: Option<&Measured>,
        mut running: Option<&mut Target>,
    ) -> Result<(MeasuredRound, Option<LabError>), Stopped> {
        let Begun { name, plan, .. } = begun;
        let server = self.job().running(begun.contender);
        let idle = match server.and_then(|server| self.pods.get(&server.name)) {
            Some(ready) => self.idle_pods(ready),
            None => self.idle_memory(begun, before, running.as_deref_mut()).await,
        };
        let Verified { counters: verified, answers, failed } =
            self.verify(begun, running.as_deref_mut()).await?;
        let json_keys = json_keys(&answers);
        // A calibration needs the answers to all steps.
        let answers: Vec<TrialAnswer> = answers.into_iter().flatten().collect();
        self.calibrate(&answers, &plan.known).await?;
        let surroundings =
            Surroundings { turn: self.turn.clone(), server: self.server(plan).await };
        let before_load = self.responses(running.as_deref()).await;
        let logged = running.as_deref().map(Target::logged);
        let profilers = running.as_deref().map(Target::profilers).unwrap_or_default().to_vec();
        let stop = self.interrupt.child_token();
        let mut round_control = RoundControl::from(stop.clone());
        if let (Some(control), None) = (&self.control, self.job().method.slicing()) {
            round_control.changes = control.open(name, plan);
        }
        let pods_watch = self.watch_pods(begun.contender, &stop).await?;
        let refusals = self.lab.is_none().then(Refusals::default);
        let mut services =
            Services::of(running.as_deref_mut(), &mut self.standing.targets, self.lab.as_mut());
        let watch = Watch::new(services.watched(&self.generator, self.probe.as_ref()), plan)
            .telling(self.observers.usage_teller())
            .profiling(&profilers)
            .over_pods(pods_watch)
            .within(surroundings);
        let (tell_start, start_told) = oneshot::channel();
        let mut relay = Relay {
            observers: &mut self.observers,
            before,
            watch,
            tell_start: Some(tell_start),
            refusals,
            stop: stop.clone(),
            gone: None,
        };
        let show = |seen: Seen<'_>, results: &mut GrowingSeries| relay.pass(seen, results);
        // Boxed, like the start of the probe: the futures of a cluster are large, and this one is part of
        // that of the whole run, which is on the stack.
        let round = Box::pin(self.generator.round(plan.clone(), round_control, show));
        let both = Box::pin(probe::beside(self.probe.as_mut(), plan, round, start_told, &stop));
        let (both, ended) = services.during(both, &stop).await;
        let Relay { watch, gone, .. } = relay;
        let gone = gone.map(|lasting| LabError::ServerGone { url: plan.base_url.clone(), lasting });
        let ended = ended.or(gone);
        let mut observed = watch.end().await;
        observed.add_idle(&idle);
        let fault = observed.pods_fault.take();
        // The pod that is lost says more than connections that are refused.
        let ended = fault.map(|what| pods::fault(name, what)).or(ended);
        let after = match ended {
            // A replica or the balancer may be gone.
            Some(_) => Vec::new(),
            None => self.responses(running.as_deref()).await,
        };
        let responses = replicas::since(&after, &before_load);
        let logged = running.as_deref().map(Target::logged).zip(logged);
        let (results, probe) = both?;
        let results = results?;
        self.tell(Event::LoadEnded(rate_per_s(&results)));
        let round = MeasuredRound {
            held: results.held(),
            results,
            probe,
            observed,
            verified,
            failed,
            json_keys,
            responses,
            logged: logged.map(|(after, before)| after.saturating_sub(before)),
            ended: ended.as_ref().map(ToString::to_string),
            ..begun.round()
        };
        Ok((round, ended))
    }
}

/// Returns the error with the fix for a request of the command line, which has no file to change.
fn without_file(error: VerifyError) -> VerifyError {
    let VerifyError::Mismatch { who, mismatch, help } = error else { return error };
    let change = |what: &str| {
        format!(
            "if this response is right, run again with --save FILE.toml, and add `{what}` below \
             `request`: `loadgen -s FILE.toml --url URL` then loads its request"
        )
    };
    let help = match mismatch.status {
        None => help,
        Some(status @ 300..400) => format!(
            "load the URL to which the server redirects, or {}",
            change(&format!("expect.status = {status}"))
        ),
        Some(status) => format!(
            "fix the server, or correct the URL; {}",
            change(&format!("expect.status = {status}"))
        ),
    };
    VerifyError::Mismatch { who, mismatch, help }
}

/// Returns the rate while the full load was held, in successful answers per second.
pub(super) fn rate_per_s(results: &Results) -> f64 {
    answered(results) as f64 / results.held().as_secs_f64().max(1e-9)
}

/// Returns the number of successful answers while the full load was held.
pub(super) fn answered(results: &Results) -> u64 {
    held(&results.series).iter().map(|step| step.answered.len()).sum()
}

/// Returns the keys of each answer's JSON object, sorted; `None` for an answer that is no JSON
/// object.
pub(super) fn json_keys(answers: &[Option<TrialAnswer>]) -> Vec<Option<Vec<String>>> {
    let keys = |answer: &Option<TrialAnswer>| {
        let body = &answer.as_ref()?.body;
        let object: BTreeMap<String, IgnoredAny> = serde_json::from_slice(body).ok()?;
        Some(object.into_keys().collect())
    };
    answers.iter().map(keys).collect()
}
