//! What the generator can send here at most: measured with the scenario's own steps against a server
//! that gives the answers of the verification again, once for each machine, build, load and what is sent,
//! so that a rate near it is known for the generator's own.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};
use std::{env, fs, io};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::cache;
use super::generator::Generator;
use super::job::Job;
use super::measured::held;
use super::sent::{sent, transport};
use super::subject::Subject;
use crate::analysis::verdicts::is_disturbed;
use crate::engine::{NullAnswer, NullServer, Plan, Share, TrialAnswer, WHICH};
use crate::failure::Failure;
use crate::lab::cpus::pin_self;
use crate::lab::{LabError, Layout, Observed, Watched, Window};
use crate::measure::Counts;
use crate::record::Calibration;
use crate::scenario::{Model, Order, Scenario, Template, Until};

const FILE: &str = "calibration.json";

const WARMUP: Duration = Duration::from_millis(200);
const HELD: Duration = Duration::from_secs(1);

/// Connections enough to keep a CPU busy, and so few that they are there at once.
const MOST_USERS: u32 = 1_000;

/// The senders that a rate usually keeps busy.
const SENDERS: u32 = 100;

/// From this share of the time on, in %, CPUs are at their limit.
const LIMIT_PERCENT: f64 = 90.0;

/// What the generator can send, found out or from an earlier run; `None` where it was disturbed, or lost
/// a worker.
pub async fn calibration(
    job: &Job,
    layout: &Layout,
    generator: &mut Generator,
    answers: &[TrialAnswer],
    interrupt: &CancellationToken,
) -> Result<Option<Calibration>, Failure> {
    let key = key(&job.scenario, job.workers, layout, answers);
    if let Some(known) = known(key.as_deref()) {
        return Ok(Some(known));
    }
    let found = find(job, layout, generator, answers, interrupt).await?;
    if let (Some(rate_per_s), Some(key)) = (found, key) {
        // Where it can't be kept the next run finds it out again.
        let _ = keep(key, rate_per_s);
    }
    Ok(found.map(|rate_per_s| Calibration { rate_per_s, own_steps: true, earlier: false }))
}

/// Whether it can be told: not where the server is none of the lab's, shares CPUs with the generator, or
/// is spoken to in a way that the server of the calibration can't.
pub fn can_be_told(job: &Job, layout: &Layout, answers: &[TrialAnswer]) -> bool {
    job.calibrate
        && matches!(job.subject, Subject::Lab { .. })
        && are_apart(layout)
        && can_be_answered(&job.scenario, answers)
}

/// Whether target and generator have CPUs of their own.
fn are_apart(layout: &Layout) -> bool {
    !layout.target.is_empty()
        && !layout.generator.is_empty()
        && !layout.target.iter().any(|cpu| layout.generator.contains(cpu))
}

/// The server knows neither HTTP/2 nor redirects nor cookies, a proxy is no part of loadgen, and long
/// answers are not kept whole.
fn can_be_answered(scenario: &Scenario, answers: &[TrialAnswer]) -> bool {
    scenario.http.beyond_http1().is_empty()
        && answers.len() == scenario.steps.len()
        && answers.iter().all(|answer| answer.body.len() as u64 == answer.bytes)
}

async fn find(
    job: &Job,
    layout: &Layout,
    generator: &mut Generator,
    answers: &[TrialAnswer],
    interrupt: &CancellationToken,
) -> Result<Option<f64>, Failure> {
    let answers: Vec<NullAnswer> = answers.iter().map(again).collect();
    let cpus = layout.target.clone();
    let threads = cpus.len();
    // Where it can't be kept to them it still serves: what it shows is a lower bound.
    let server = NullServer::start(threads, &answers, move || drop(pin_self(&cpus)))
        .map_err(LabError::io("start a server that does nothing"))?;
    let plan = plan(&job.scenario, job.seed, server.url.clone());
    let pids = generator.pids().into_iter().chain([std::process::id()]);
    let window = Window::open(pids.map(|pid| Watched::process("generator", pid)).collect());
    let results = generator.round(plan, interrupt.clone(), |_, _| {}).await?;
    let observed = window.map(Window::close).unwrap_or_default();
    let steps = held(&results.series);
    let answered: u64 = steps.iter().map(|step| step.answered.len()).sum();
    // An answer that is not taken for the right one costs more than those of the run.
    let failed = steps.iter().any(|step: &Counts| step.failures() > 0);
    let is_whole = results.is_whole() && !interrupt.is_cancelled() && answered > 0 && !failed;
    let told =
        is_whole && !was_disturbed(&observed, layout) && !server_was_limit(&observed, layout);
    Ok(told.then(|| answered as f64 / results.held().as_secs_f64()))
}

/// An answer as it answer, as far as the generator looks at it.
fn again(answer: &TrialAnswer) -> NullAnswer {
    let TrialAnswer { status, headers, body, bytes, .. } = answer.clone();
    NullAnswer { status, headers, length: bytes, body }
}

fn was_disturbed(observed: &Observed, layout: &Layout) -> bool {
    let cpus = layout.all();
    is_disturbed(observed.others_percent(&cpus), cpus.len())
}

/// Whether the server had no time left while the generator had: what was measured is then its own.
fn server_was_limit(observed: &Observed, layout: &Layout) -> bool {
    let busy = |cpus: &[usize]| {
        let each = cpus.iter().filter_map(|cpu| observed.machine.busy_percent.get(cpu));
        each.sum::<f64>() / cpus.len().max(1) as f64
    };
    busy(&layout.target) >= LIMIT_PERCENT && busy(&layout.generator) < LIMIT_PERCENT
}

/// As many users as in the job, that send what it sends, as fast as they can.
fn plan(scenario: &Scenario, seed: u64, base_url: String) -> Plan {
    let mut scenario = scenario.clone();
    let users = users(&scenario);
    let load = &mut scenario.load;
    load.users = users;
    (load.model, load.until) = (Model::Closed, Until::Duration(HELD));
    (load.ramp_up, load.think_time) = (Duration::ZERO, None);
    for rows in scenario.rows.iter_mut().filter(|rows| rows.order == Order::Once) {
        // They need not last.
        rows.order = Order::Cycle;
    }
    for (index, step) in scenario.steps.iter_mut().enumerate() {
        step.headers.push((WHICH.to_owned(), Template::literal(index.to_string())));
    }
    Plan { scenario, base_url, warmup: WARMUP, seed, share: Share::WHOLE }
}

fn users(scenario: &Scenario) -> u32 {
    let load = &scenario.load;
    let most = if load.model == Model::Closed { MOST_USERS } else { SENDERS };
    load.users.min(most)
}

/// Tells one machine, build, load and what is sent and answered from another; `None` where the machine
/// does not say enough.
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
    Some(format!("{}, {}, {conditions}, sent {what}", build()?, cache::machine()))
}

/// A size to two digits: numbers and dates in an answer make it some bytes longer or shorter.
fn roughly(bytes: u64) -> u64 {
    let unit = 10_u64.pow(bytes.checked_ilog10().unwrap_or(0).saturating_sub(1));
    bytes / unit * unit
}

/// The binary by its size and age: its version alone would not tell two builds apart.
fn build() -> Option<String> {
    let file = fs::metadata(env::current_exe().ok()?).ok()?;
    let age = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(format!("loadgen {} of {} bytes at {age}", env!("CARGO_PKG_VERSION"), file.len()))
}

/// What an earlier run found.
fn known(key: Option<&str>) -> Option<Calibration> {
    let all: BTreeMap<String, f64> = cache::read(&cache::path(FILE)?);
    let rate_per_s = *all.get(key?)?;
    Some(Calibration { rate_per_s, own_steps: true, earlier: true })
}

/// Keeps it beside the others of this build; what other builds found is dropped.
fn keep(key: String, rate_per_s: f64) -> io::Result<()> {
    let (Some(path), Some(build)) = (cache::path(FILE), build()) else { return Ok(()) };
    let mut all: BTreeMap<String, f64> = cache::read(&path);
    all.retain(|key, _| key.starts_with(&build));
    all.insert(key, rate_per_s);
    cache::write(&path, &all)
}

#[cfg(test)]
mod tests;
