//! What the generator can send here at most: measured against a server that does nothing, once for
//! each machine, build and load, so that a rate near it is known for the generator's own.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, UNIX_EPOCH};
use std::{env, fs};

use tokio_util::sync::CancellationToken;

use super::cache;
use super::generator::Generator;
use super::job::Job;
use super::measured::held;
use super::verdicts::is_disturbed;
use crate::commands::{Exit, Failure};
use crate::engine::{Plan, Share};
use crate::lab::{Layout, NullServer, Watched, Window};
use crate::measure::Calibration;
use crate::scenario::{self, Model};

const FILE: &str = "calibration.json";

const WARMUP: Duration = Duration::from_millis(200);

/// Connections enough to keep a CPU busy, and so few that they are there at once.
const MOST_USERS: u32 = 1_000;

/// The senders that a rate usually keeps busy.
const SENDERS: u32 = 100;

/// What an earlier run found of the same machine, build and load.
pub fn known(job: &Job, layout: &Layout) -> Option<Calibration> {
    let all: BTreeMap<String, f64> = cache::read(&cache::path(FILE)?);
    let rate_per_s = *all.get(&key(job, layout)?)?;
    Some(Calibration { rate_per_s, earlier: true })
}

/// Finds it out, which takes little more than a second, and keeps it; `None` where it was
/// interrupted, lost a worker, or something else used the CPUs meanwhile.
pub async fn calibrate(
    job: &Job,
    layout: &Layout,
    generator: &mut Generator,
    interrupt: &CancellationToken,
) -> Result<Option<Calibration>, Failure> {
    let server = NullServer::start(&layout.target)?;
    let plan = plan(job, server.url.clone())?;
    let pids = generator.pids().into_iter().chain([std::process::id()]);
    let window = Window::open(pids.map(|pid| Watched::process("generator", pid)).collect());
    let yielded = generator.round(plan, interrupt.clone(), |_, _| {}).await?;
    let answered: u64 = held(&yielded.series).iter().map(|step| step.answered.len()).sum();
    if interrupt.is_cancelled() || answered == 0 || !yielded.is_whole() {
        return Ok(None);
    }
    let rate_per_s = answered as f64 / yielded.held.as_secs_f64();
    let cpus = layout.all();
    let others = window.map_or(0.0, |window| window.close().others_percent(&cpus));
    if is_disturbed(others, cpus.len()) {
        return Ok(None);
    }
    // Where it can't be kept the next run finds it out again.
    let _ = keep(job, layout, rate_per_s);
    Ok(Some(Calibration { rate_per_s, earlier: false }))
}

/// As many users as in the job, that ask for next to nothing.
fn plan(job: &Job, base_url: String) -> Result<Plan, Failure> {
    let text =
        format!("load = {{ users = {}, duration = \"1s\" }}\n[[step]]\nget = \"/\"", users(job));
    let scenario = scenario::parse("calibration", "calibration", &text)
        .map_err(Failure::with(Exit::Failed))?;
    Ok(Plan { scenario, base_url, warmup: WARMUP, seed: job.seed, share: Share::WHOLE })
}

fn users(job: &Job) -> u32 {
    let load = &job.scenario.load;
    let most = if load.model == Model::Closed { MOST_USERS } else { SENDERS };
    load.users.min(most)
}

/// Tells one machine, build and load from another; `None` where the machine does not say enough.
fn key(job: &Job, layout: &Layout) -> Option<String> {
    let conditions =
        format!("{} users, {} workers, {layout:?}", users(job), job.workers.unwrap_or(0));
    Some(format!("{}, {}, {conditions}", build()?, cache::machine()))
}

/// The binary by its size and age: its version alone would not tell two builds apart.
fn build() -> Option<String> {
    let file = fs::metadata(env::current_exe().ok()?).ok()?;
    let age = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(format!("loadgen {} of {} bytes at {age}", env!("CARGO_PKG_VERSION"), file.len()))
}

/// Keeps it beside the others of this build; what other builds found is dropped.
fn keep(job: &Job, layout: &Layout, rate_per_s: f64) -> io::Result<()> {
    let (Some(path), Some(key), Some(build)) = (cache::path(FILE), key(job, layout), build())
    else {
        return Ok(());
    };
    let mut all: BTreeMap<String, f64> = cache::read(&path);
    all.retain(|key, _| key.starts_with(&build));
    all.insert(key, rate_per_s);
    cache::write(&path, &all)
}
