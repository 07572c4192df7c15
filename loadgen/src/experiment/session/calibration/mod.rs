//! Measures the maximum rate of the generator on this machine, with the scenario's own steps
//! against a server that repeats the answers of the verification. Each combination of
//! machine, build, load and requests is measured once. A run's rate near this maximum is then
//! known to be limited by the generator.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::generator::Generator;
use crate::analysis::verdicts::is_disturbed;
use crate::engine::{NullAnswer, NullServer, Plan, Share, TrialAnswer, WHICH};
use crate::experiment::cache;
use crate::experiment::job::Job;
use crate::experiment::measured::held;
use crate::experiment::sent::{sent, transport};
use crate::experiment::subject::Subject;
use crate::failure::Failure;
use crate::lab::cpus::pin_self;
use crate::lab::{LabError, Layout, Observed, Watched, Window};
use crate::measure::Counts;
use crate::record::Calibration;
use crate::scenario::{HttpVersion, Model, Order, Scenario, Step, Template, Until};

const FILE: &str = "calibration.json";

const WARMUP: Duration = Duration::from_millis(200);
const HELD: Duration = Duration::from_secs(1);

/// Maximum number of users in a calibration if the scenario's load is a closed model: enough
/// connections to keep a CPU busy, and few enough to open at once.
const MOST_USERS: u32 = 1_000;

/// Maximum number of users in a calibration if the scenario's load is an open model (a request
/// rate): as many senders as a rate usually keeps busy.
const SENDERS: u32 = 100;

/// Mean CPU utilization, in percent, from which a group of CPUs counts as saturated.
const LIMIT_PERCENT: f64 = 90.0;

/// Returns the load generator's maximum request rate, from an earlier run's cache or from a new
/// measurement. `None` if the measurement was disturbed by other programs, was interrupted, lost a
/// worker, had a failed request, or was limited by the calibration's server.
pub(super) async fn calibration(
    job: &Job,
    layout: &Layout,
    generator: &mut Generator,
    answers: &[TrialAnswer],
    known_values: &[(String, String)],
    interrupt: &CancellationToken,
) -> Result<Option<Calibration>, Failure> {
    let key = key(&job.scenario, job.workers, layout, answers);
    if let Some(known) = known(key.as_deref()) {
        return Ok(Some(known));
    }
    let found = find(job, layout, generator, answers, known_values, interrupt).await?;
    if let (Some(rate_per_s), Some(key)) = (found, key) {
        // If the cache cannot be written, the next run measures again.
        let _ = keep(key, rate_per_s);
    }
    Ok(found.map(|rate_per_s| Calibration { rate_per_s, own_steps: true, earlier: false }))
}

/// Returns whether the generator's maximum rate is requested and can
/// be measured. The target must be started by loadgen, share no CPUs
/// with the generator, and be replaceable by the calibration's server.
pub(super) fn can_be_told(job: &Job, layout: &Layout, answers: &[TrialAnswer]) -> bool {
    job.calibrate
        && matches!(job.subject, Subject::Lab { .. })
        && are_apart(layout)
        && can_be_answered(&job.scenario, answers)
}

/// Returns whether target and generator are pinned to separate CPUs.
fn are_apart(layout: &Layout) -> bool {
    !layout.target.is_empty()
        && !layout.generator.is_empty()
        && !layout.target.iter().any(|cpu| layout.generator.contains(cpu))
}

/// Returns whether the calibration's server can replace the target. The server supports neither
/// HTTP/2 nor redirects nor WebSockets. Proxies are excluded because a proxy is not part of
/// loadgen. Long answers are excluded because the verification does not keep their whole bodies.
fn can_be_answered(scenario: &Scenario, answers: &[TrialAnswer]) -> bool {
    scenario.http.version == HttpVersion::Http11
        && !scenario.follows_redirects()
        && scenario.http.proxy.is_none()
        && !scenario.uses_websocket()
        && answers.len() == scenario.steps.len()
        && answers.iter().all(|answer| answer.body.len() as u64 == answer.bytes)
}

async fn find(
    job: &Job,
    layout: &Layout,
    generator: &mut Generator,
    answers: &[TrialAnswer],
    known_values: &[(String, String)],
    interrupt: &CancellationToken,
) -> Result<Option<f64>, Failure> {
    let answers: Vec<NullAnswer> =
        job.scenario.steps.iter().zip(answers).map(|(step, answer)| again(step, answer)).collect();
    let cpus = layout.target.clone();
    let threads = cpus.len();
    // If pinning fails, the server still serves: the measured rate is then a lower bound.
    let server = NullServer::start(threads, &answers, move || drop(pin_self(&cpus)))
        .map_err(LabError::io("start the server of the calibration"))?;
    let plan =
        Plan { known: known_values.to_vec(), ..plan(&job.scenario, job.seed, server.url.clone()) };
    let pids = generator.pids();
    let window =
        Window::open(pids.into_iter().map(|pid| Watched::process("generator", pid)).collect());
    let results = generator.round(plan, interrupt.clone(), |_, _| {}).await?;
    let observed = window.map(Window::close).unwrap_or_default();
    let steps = held(&results.series);
    let answered: u64 = steps.iter().map(|step| step.answered.len()).sum();
    // An answer that fails its check costs the generator more than the answers of the run.
    let failed = steps.iter().any(|step: &Counts| step.failures() > 0);
    let is_whole = results.is_whole() && !interrupt.is_cancelled() && answered > 0 && !failed;
    let told =
        is_whole && !was_disturbed(&observed, layout) && !server_was_limit(&observed, layout);
    Ok(told.then(|| answered as f64 / results.held().as_secs_f64()))
}

/// Headers that follow from how the calibration's server sends its answers.
const OF_THE_CONNECTION: [&str; 4] =
    ["connection", "content-length", "keep-alive", "transfer-encoding"];

/// Converts a target's answer to a request of the verification into an answer of the calibration's
/// server, with all parts of the answer that the generator reads.
fn again(step: &Step, answer: &TrialAnswer) -> NullAnswer {
    let TrialAnswer { status, headers, body, bytes, .. } = answer.clone();
    let is_read = |(name, _): &(String, Vec<u8>)| {
        let name = name.to_ascii_lowercase();
        !OF_THE_CONNECTION.contains(&name.as_str()) && step.headers_read().any(|it| it == name)
    };
    let mut headers: Vec<_> = headers.into_iter().filter(is_read).collect();
    if step.expect.stream.as_ref().is_some_and(|stream| stream.closes) {
        // The stream costs a connection there, too.
        headers.push(("connection".to_owned(), b"close".to_vec()));
    }
    NullAnswer { status, headers, length: bytes, body }
}

fn was_disturbed(observed: &Observed, layout: &Layout) -> bool {
    let cpus = layout.all();
    is_disturbed(observed.others_percent(&cpus), cpus.len())
}

/// Returns whether the server's CPUs were saturated while the generator's CPUs were not: the
/// measured rate is then the maximum of the server, not of the generator.
fn server_was_limit(observed: &Observed, layout: &Layout) -> bool {
    let busy = |cpus: &[usize]| {
        let each = cpus.iter().filter_map(|cpu| observed.machine.busy_percent.get(cpu));
        each.sum::<f64>() / cpus.len().max(1) as f64
    };
    busy(&layout.target) >= LIMIT_PERCENT && busy(&layout.generator) < LIMIT_PERCENT
}

/// Returns the load of the calibration: the scenario's users, up to a maximum, send the scenario's
/// steps as fast as the answers allow (closed model).
fn plan(scenario: &Scenario, seed: u64, base_url: String) -> Plan {
    let mut scenario = scenario.clone();
    let users = users(&scenario);
    let load = &mut scenario.load;
    load.users = users;
    (load.model, load.until) = (Model::Closed, Until::Duration(HELD));
    (load.ramp_up, load.think_time) = (Duration::ZERO, None);
    for rows in scenario.rows.iter_mut().filter(|rows| rows.order == Order::Once) {
        // Rows may repeat, so that they cannot run out.
        rows.order = Order::Cycle;
    }
    for (index, step) in scenario.steps.iter_mut().enumerate() {
        step.think_time = None;
        step.headers.push((WHICH.to_owned(), Template::literal(index.to_string())));
    }
    let (known, share) = (Vec::new(), Share::WHOLE);
    Plan {
        scenario,
        base_url,
        warmup: WARMUP,
        known,
        seed,
        first_user: 0,
        trace_one_in: None,
        share,
    }
}

fn users(scenario: &Scenario) -> u32 {
    let load = &scenario.load;
    let most = if load.model == Model::Closed { MOST_USERS } else { SENDERS };
    load.users.min(most)
}

/// Returns the cache key of a calibration, from machine, build, load, requests and sizes of
/// answers; `None` if the system does not report enough about the build.
fn key(
    scenario: &Scenario,
    workers: Option<u32>,
    layout: &Layout,
    answers: &[TrialAnswer],
) -> Option<String> {
    let sizes: Vec<(u16, u64)> = answers.iter().map(|it| (it.status, roughly(it.bytes))).collect();
    let what = (sent(scenario), transport(scenario, "http://"), sizes);
    let what = format!("{:.16x}", Sha256::digest(serde_json::to_vec(&what).ok()?));
    let conditions =
        format!("{} users, {} workers, {layout:?}", users(scenario), workers.unwrap_or(0));
    Some(format!("{}, {}, {conditions}, sent {what}", cache::build()?, cache::machine()))
}

/// Rounds a size in bytes down to two significant digits:
/// numbers and dates make equal answers differ by a few bytes.
fn roughly(bytes: u64) -> u64 {
    let unit = 10_u64.pow(bytes.checked_ilog10().unwrap_or(0).saturating_sub(1));
    bytes / unit * unit
}

/// Returns the maximum rate that an earlier run saved in the cache under `key`, if any.
fn known(key: Option<&str>) -> Option<Calibration> {
    let all: BTreeMap<String, f64> = cache::read(&cache::path(FILE)?);
    let rate_per_s = *all.get(key?)?;
    Some(Calibration { rate_per_s, own_steps: true, earlier: true })
}

/// Adds a maximum rate, in requests/s, to the cache, and removes rates that other builds measured.
fn keep(key: String, rate_per_s: f64) -> io::Result<()> {
    let (Some(path), Some(build)) = (cache::path(FILE), cache::build()) else { return Ok(()) };
    let mut all: BTreeMap<String, f64> = cache::read(&path);
    all.retain(|key, _| key.starts_with(&build));
    all.insert(key, rate_per_s);
    cache::write(&path, &all)
}

#[cfg(test)]
mod tests;
