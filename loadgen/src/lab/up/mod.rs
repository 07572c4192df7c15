//! Runs a standalone lab for development, until a request to end.

mod background;
mod end;
mod health;
mod state;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

pub use self::background::{detach, down};
use self::end::asked_to_end;
pub use self::health::health;
use self::state::Claim;
pub use self::state::{State, Urls, find};
use super::{Home, Lab, LabError, Layout, Options, Progress, Runtime, Size, Target};
use crate::scenario::{Backend, Existing};
use crate::text::with_code;

/// Interval of checks whether a service has ended, or whether a lab in
/// the background is up or down.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Services that the lab keeps up.
pub struct Wanted {
    /// Names of the targets; if empty, the targets of the manifest that are measured by default.
    pub targets: Vec<String>,
    /// Backends of the lab.
    pub backends: Vec<Backend>,
    /// Port of the first target; each further target gets the next port. With `None`, each target
    /// gets a free port.
    pub port: Option<u16>,
    /// Number of worker processes of each target.
    pub server_workers: u32,
    /// Runtime of targets and backends: processes or containers.
    pub runtime: Runtime,
}

/// Starts all services and keeps the services up until a request to end. Calls `is_up` once, when
/// all services answer.
///
/// # Errors
/// Returns an error if another lab of this project is up, or if a service cannot be started.
pub async fn up(
    home: Home,
    wanted: Wanted,
    progress: Progress,
    is_up: impl FnOnce(&Urls),
) -> Result<(), LabError> {
    let claim = Claim::take(&home).await?;
    let mut lab = None;
    let mut targets = Vec::new();
    let mut end = pin!(asked_to_end());
    let started = tokio::select! {
        started = start(home, wanted, &progress, &mut lab, &mut targets) => started.map(Some),
        ended = &mut end => ended.map(|()| None),
    };
    let ended = match (started, &mut lab) {
        (Ok(Some(urls)), Some(lab)) => {
            claim.ready(&urls)?;
            is_up(&urls);
            tokio::select! {
                ended = end => ended,
                () = tell_what_ends(lab, &mut targets, &progress) => Ok(()),
            }
        }
        (started, _) => started.map(drop),
    };
    stop(lab, targets).await.and(ended)
}

/// Starts all services. If the call is cancelled, services that are already up stay in `lab` and
/// `targets`, so that they can be stopped in order.
async fn start(
    home: Home,
    wanted: Wanted,
    progress: &Progress,
    lab: &mut Option<Lab>,
    targets: &mut Vec<Target>,
) -> Result<Urls, LabError> {
    let Wanted { targets: names, backends, port, server_workers, runtime } = wanted;
    let options = Options {
        logs: home.cache()?.join("logs"),
        cpus: Layout::unpinned(),
        runtime,
        connections: 0,
    };
    let starting = Arc::clone(progress);
    let doing: Progress = Arc::new(move |what| starting(&format!("{what} …")));
    let lab = lab.insert(Lab::prepare(home, options, Arc::clone(&doing)).await?);
    let names = if names.is_empty() { lab.manifest().default_targets() } else { names };
    for name in &names {
        lab.manifest().target(name)?;
    }
    lab.build(&names).await?;
    lab.start_backends(&backends).await?;
    lab.fill(Existing::default()).await?;

    // Starts all targets at the same time, because the targets need most of the time to load their
    // modules.
    let ports = (0..).map(|nth: u16| port.map(|first| first.saturating_add(nth)));
    let mut starting = Vec::new();
    for (name, port) in names.iter().zip(ports) {
        doing(&format!("starting {name}"));
        let log = format!("{name}.log");
        starting.push(lab.launch_target(name, &log, port, Size::of_workers(server_workers)).await?);
    }
    for target in starting {
        targets.push(target.ready().await?);
    }
    Ok(Urls {
        targets: targets.iter().map(|target| (target.name.clone(), target.url.clone())).collect(),
        backends: lab
            .backends()
            .into_iter()
            .map(|(backend, url)| (backend.to_string(), url))
            .collect(),
    })
}

/// Reports services that end by themselves, and continues without them.
async fn tell_what_ends(lab: &mut Lab, targets: &mut Vec<Target>, progress: &Progress) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        for error in lab.lost_backends() {
            progress(&with_code(&error));
        }
        targets.retain_mut(|target| match target.lost() {
            Some(error) => {
                progress(&with_code(&error));
                false
            }
            None => true,
        });
    }
}

async fn stop(lab: Option<Lab>, targets: Vec<Target>) -> Result<(), LabError> {
    let mut stopping = tokio::task::JoinSet::new();
    for target in targets {
        stopping.spawn(target.stop());
    }
    let mut result = Ok(());
    while let Some(stopped) = stopping.join_next().await {
        result = result.and(stopped.unwrap_or(Ok(())));
    }
    match lab {
        Some(lab) => lab.stop().await.and(result),
        None => result,
    }
}
