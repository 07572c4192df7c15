//! Refuses options that have no effect in combination with other options: a user who
//! gives an option expects an effect.

use super::runtime;
use crate::cli::{MeasuringArgs, OnWorkerLoss, RuntimeName};
use crate::experiment::contender::Numbers;
use crate::failure::{Exit, Failure};
use crate::scenario::{Scenario, Step};

/// An option that was given, the reason why it has no effect, and advice.
type Unused = (&'static str, &'static str, &'static str);

/// Returns an error for the first option that has no effect. `is_running` tells whether the servers
/// run already. `numbers` are those of the command line that are not in `measuring`; `has_backends`
/// tells whether a scenario needs backends.
pub fn refuse(
    measuring: &MeasuringArgs,
    is_running: bool,
    numbers: &Numbers,
    has_backends: bool,
) -> Result<(), Failure> {
    let unused = if is_running { beside_url(measuring, numbers) } else { None };
    refused(unused.or_else(|| limits(measuring, has_backends)))
}

/// Returns an error if `--on-worker-loss` has no effect:
/// without workers, or with `continue` and only one worker.
pub fn refuse_losses(
    on_worker_loss: Option<OnWorkerLoss>,
    workers: Option<u32>,
) -> Result<(), Failure> {
    refused(losses(on_worker_loss, workers))
}

/// Returns an error for a TLS option if neither a server nor a proxy has an `https://` URL. `urls` are
/// those of the servers; none for targets of the lab.
pub fn refuse_tls(
    option: Option<&'static str>,
    urls: &[&str],
    scenario: &Scenario,
) -> Result<(), Failure> {
    let is_https = |url: &str| url.to_lowercase().starts_with("https:");
    // A redirect may lead to such a URL.
    let is_elsewhere =
        scenario.http.proxy.as_deref().is_some_and(is_https) || scenario.follows_redirects();
    let is_tls = urls.iter().any(|url| is_elsewhere || is_https(url));
    let why = "applies to https:// URLs, but neither a server nor a proxy has one";
    refused(option.filter(|_| !is_tls).map(|option| (option, why, "leave out the option")))
}

/// Returns an error for `--trace-one-in` if no request of the scenarios can be traced.
pub fn refuse_traces<'a>(
    measuring: &MeasuringArgs,
    mut scenarios: impl Iterator<Item = &'a Scenario>,
) -> Result<(), Failure> {
    let is_unused = measuring.telemetry.trace_one_in.is_some()
        && !scenarios.any(|scenario| scenario.steps.iter().any(Step::can_be_traced));
    let why = "has no effect: all steps send messages, or have a header `traceparent` of their own";
    refused(is_unused.then_some(("--trace-one-in", why, "leave out the option")))
}

fn refused(unused: Option<Unused>) -> Result<(), Failure> {
    match unused {
        None => Ok(()),
        Some((option, why, help)) => {
            let message = format!("{option} {why}");
            Err(Failure::message(Exit::Usage, "unused_option", message, help))
        }
    }
}

fn beside_url(measuring: &MeasuringArgs, numbers: &Numbers) -> Option<Unused> {
    let lab = "applies to servers that loadgen starts, but the server at this URL runs already";
    let numbers = [
        (!numbers.server_workers.is_empty()).then_some("--server-workers"),
        (!numbers.replicas.is_empty()).then_some("--replicas"),
    ];
    let option = runtime::given(measuring.runtime).chain(numbers.into_iter().flatten()).next()?;
    Some((option, lab, "leave out one of the two options"))
}

fn limits(measuring: &MeasuringArgs, has_backends: bool) -> Option<Unused> {
    let mut given = runtime::given(measuring.runtime);
    // Without containers there is nothing to limit: `runtime` refuses these options.
    let is_idle = measuring.runtime.runtime == Some(RuntimeName::Podman) && !has_backends;
    let option = given.find(|option| is_idle && option.starts_with("--backend-"))?;
    Some((option, "limits backends, but the scenario has none", "leave out the option"))
}

fn losses(on_worker_loss: Option<OnWorkerLoss>, workers: Option<u32>) -> Option<Unused> {
    let option = "--on-worker-loss";
    match (on_worker_loss?, workers) {
        (_, None) => {
            let why = "applies to workers, but the load comes from this process";
            Some((option, why, "add --workers N, or leave out the option"))
        }
        (OnWorkerLoss::Continue | OnWorkerLoss::Redistribute, Some(1)) => {
            let why = "continue and redistribute need at least two workers: a run cannot go on without its only worker";
            Some((option, why, "use more workers, or leave out the option"))
        }
        _ => None,
    }
}
