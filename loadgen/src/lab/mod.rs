//! Launches targets and backends, and measures the resources that they use.
//!
//! Services run as plain processes on loopback, from one locked Python environment: the targets,
//! and also real backends, whose programs come in wheels. Or each service runs in a container, with
//! limits: see [`podman`]. Every service runs under a [guard], so that no service outlives loadgen,
//! however loadgen ends.
//!
//! # The parts
//!
//! Commands use [`Lab`]. The parts of the lab import each other in one direction, from top to bottom:
//!
//! | part | purpose |
//! |---|---|
//! | [`up`] | runs a lab for development |
//! | `downloads` | says what would be installed |
//! | `target` | builds and starts targets, with a balancer before replicas |
//! | [`backends`] | runs Redis and PostgreSQL, and gives each round the same data |
//! | [`ready`] | waits until a service answers |
//! | `runner` | is the interface of both runtimes |
//! | [`podman`] | runs services in containers |
//! | `refs` | runs targets as they are at refs of Git |
//! | `options` | says where and how services run |
//! | [`manifest`] | knows the targets |
//! | `install` | installs and builds what targets and backends need |
//! | [`home`] | finds the project, or unpacks the lab that the program contains |
//! | `git` | reads the repository of a project |
//! | `profiler` | samples the stacks of a target's processes |
//! | `observer` | measures the resources of servers in the pods of a cluster |
//! | [`resources`] | measures the resources that services use |
//! | [`service`] | runs one program under its guard |
//! | [`machine`] | divides the CPUs, and reads the machine's counters |
//! | [`error`](mod@error) | defines the errors of all parts |
//!
//! `tests/library/circles.rs` checks that no parts import each other in a circle.

pub mod backends;
mod downloads;
pub mod error;
mod git;
pub mod home;
mod install;
pub mod machine;
pub mod manifest;
mod observer;
mod options;
pub mod podman;
mod profiler;
pub mod ready;
mod refs;
pub mod resources;
mod runner;
pub mod service;
mod target;
pub mod up;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

pub use backends::postgres::Filesystem;
use backends::postgres::Postgres;
use backends::redis::Redis;
pub use backends::{Alone, Image as BackendImage, fill_redis, url_at};
pub use downloads::{Download, Needs, downloads};
pub use error::LabError;
pub use git::commit_of;
pub use git::git_ref::GitRef;
pub use home::Home;
pub use home::user_cache::user_cache;
use install::build::Built;
pub use install::python::Python;
use install::tools::Version;
pub use machine::cpus::{self, Layout};
pub use machine::turn::{Measurement, Other, Turn};
pub use manifest::{Manifest, Ready, TargetSpec};
pub use observer::{
    Observers, Place as PodPlace, Pods, Window as PodsWindow, serve as observe_beside,
};
pub use options::{Options, Progress, Runtime};
pub use podman::Containers;
pub use profiler::{Profiler, Sampling, launcher};
use ready::HealthClients;
use refs::Refs;
pub use refs::at_ref;
pub use resources::{
    LocalServer, Observed, Surroundings, UsageTeller, Watched, Window, local_server, memory_now,
};
use runner::Runner;
pub use service::guard;
pub use service::logs::file_name;
pub use service::password::random_password;
use target::BalancerProgram;
pub use target::{
    CONTAINER_FOLDER, Lacks, Size, StartingTarget, Target, balancer_to_use, start_limit,
};

/// Launcher of targets and backends. Dropping the lab ends the backends; dropping a [`Target`] ends
/// the target.
pub struct Lab {
    home: Home,
    options: Options,
    progress: Progress,
    runner: Runner,
    manifest: Manifest,
    /// Clients for the targets' health checks.
    health: HealthClients,
    redis: Option<Redis>,
    postgres: Option<Postgres>,
    containers: Option<Containers>,
    /// Targets that were built, by name.
    built: BTreeMap<String, Built>,
    /// Files of the targets at refs.
    refs: Refs,
    /// Versions of the programs that targets require, by target and program.
    tools: BTreeMap<String, BTreeMap<String, Version>>,
    /// Programs from wheels, by target and program.
    from_wheels: BTreeMap<(String, String), PathBuf>,
    /// Program that balances; `None` before it is prepared, and in containers.
    balancer: Option<BalancerProgram>,
    /// Images of the containers of all targets, by name: see [`Containers`].
    images: BTreeMap<String, String>,
}

impl Lab {
    /// Reads the targets' manifest, and prepares the Python environment or the containers' project
    /// in which targets run. Starts no target and no backend.
    pub async fn prepare(
        home: Home,
        options: Options,
        progress: Progress,
    ) -> Result<Self, LabError> {
        let manifest = Manifest::of(&home)?;
        let logs = &options.logs;
        fs::create_dir_all(logs).map_err(LabError::file("create the folder", logs))?;
        if home.is_own() {
            refs::remove_left_over();
        }
        let runner = Runner::prepare(&home, &options, &progress).await?;
        let health = HealthClients::new(None)?;
        Ok(Self {
            home,
            options,
            progress,
            runner,
            manifest,
            health,
            redis: None,
            postgres: None,
            containers: None,
            built: BTreeMap::new(),
            refs: Refs::default(),
            tools: BTreeMap::new(),
            from_wheels: BTreeMap::new(),
            balancer: None,
            images: BTreeMap::new(),
        })
    }

    /// Folders of the targets that were built, by name.
    pub fn builds(&self) -> BTreeMap<String, PathBuf> {
        self.built.iter().map(|(name, built)| (name.clone(), built.folder.clone())).collect()
    }

    /// Images of the targets' containers, by name: `target` for all Python targets, else the
    /// target's name.
    pub fn images(&self) -> &BTreeMap<String, String> {
        &self.images
    }

    /// Manifest that lists all targets.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Runtime of targets and backends, with the limits of containers.
    pub fn runtime(&self) -> Runtime {
        self.options.runtime
    }

    /// Description of podman and the images; `None` before the backends have been started, and
    /// without containers.
    pub fn containers(&self) -> Option<&Containers> {
        self.containers.as_ref()
    }

    /// Ends the backends, and returns when no process of them is left.
    pub async fn stop(self) -> Result<(), LabError> {
        let redis = async {
            if let Some(redis) = self.redis { redis.service.stop().await } else { Ok(()) }
        };
        let postgres = async {
            if let Some(postgres) = self.postgres { postgres.service.stop().await } else { Ok(()) }
        };
        let (redis, postgres) = tokio::join!(redis, postgres);
        let containers = match self.runner {
            Runner::Process(_) => Ok(()),
            Runner::Podman { podman, .. } => podman.stop().await,
        };
        // Waits for services that were dropped when the run was interrupted during their start.
        service::dropped_have_ended().await;
        let refs = self.refs.remove().await;
        redis.and(postgres).and(containers).and(refs)
    }
}
