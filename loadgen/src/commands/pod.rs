//! `loadgen pod`, `loadgen observe`, `loadgen await-backends` and `loadgen hand-over` (hidden), which the manifests of
//! `loadgen k8s` start in their pods.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::experiment::group;
use super::k8s::packed::{Load, unpack};
use super::run::Loaded;
use super::{manager, worker};
use crate::cli::{AwaitArgs, Cli, Command, ObserveArgs, PodArgs, WorkerArgs};
use crate::failure::{Exit, Failure};
use crate::kubernetes;
use crate::lab::{PodPlace, fill_redis, observe_beside};
use crate::process::{self, Stdout, on_all_cpus, say_failure};
use crate::text::say;

/// Time for `kubectl attach` to connect a terminal to the pod that has one.
const ATTACHED: Duration = Duration::from_secs(10);

/// Time between two attempts to reach a backend.
const LOOK: Duration = Duration::from_millis(500);

/// Time for an attempt, in which a name is looked up, too.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// Is the manager in the pod of number 0, and a worker in the others.
pub(super) fn run(args: PodArgs) -> Result<Exit, Failure> {
    if args.index > 0 {
        let served = worker::run(&WorkerArgs {
            join: args.join.display().to_string(),
            once: true,
            wait: Some(args.wait),
            allow_target: Vec::new(),
            any_socket: false,
            processes: None,
            node: args.node,
            cpus: Vec::new(),
        });
        return served.inspect_err(|failure| {
            say_failure(failure);
            // No code of a manager's, because the cluster would end the manager for it.
            std::process::exit(i32::from(kubernetes::WORKER_FAILED));
        });
    }
    kubernetes::stop_when_asked();
    let Some(limit) = args.hand_over else { return manage(args) };
    process::await_terminal(ATTACHED);
    // Who takes the result prints it.
    let _quiet = Stdout::reserve().map_err(failed("take the output of this pod"))?;
    let exit = manage(args).unwrap_or_else(|failure| say_failure(&failure));
    let handed = on_all_cpus()?.block_on(kubernetes::await_hand_over(exit as u8, limit));
    handed.map_err(failed("hand the result over"))?;
    Ok(exit)
}

/// Carries out the run, with the words that are those of `loadgen manager`.
fn manage(args: PodArgs) -> Result<Exit, Failure> {
    let words = ["loadgen", "manager"].map(str::to_owned).into_iter().chain(args.manager);
    let parsed = Cli::try_parse_from(words);
    let wrong = |what: String| {
        let help = "write the manifests with the loadgen of the image: `loadgen k8s render`";
        Failure::message(Exit::Usage, "bad_manifest", what, help)
    };
    let Ok(Cli { command: Some(Command::Manager(words)), .. }) = parsed else {
        let why = parsed.err().map(|error| error.to_string()).unwrap_or_default();
        return Err(wrong(format!("the words of this pod are not those of a manager: {why}")));
    };
    let loaded = read(&args.packed)
        .map_err(|why| wrong(format!("{} cannot be loaded: {why}", args.packed.display())))?;
    match loaded {
        Load::Run { scenario, servers: running, one_request } => {
            let scenario = *scenario;
            manager::run_loaded(words, Loaded { scenario, running, one_request }, None)
        }
        Load::Group(group) => group::run(&words.run, *group, manager::remote(&words)?),
    }
}

fn read(path: &Path) -> Result<Load, String> {
    unpack(&fs::read(path).map_err(|error| error.to_string())?)
}

/// Fills a Redis in this pod, and then tells the manager of a run what the server or backend in this pod uses, until the
/// cluster ends this process.
pub(super) fn observe(args: &ObserveArgs) -> Result<Exit, Failure> {
    let ObserveArgs { port, key, pod, node, cpu, fill, fill_password } = args;
    let place = PodPlace { pod: pod.clone(), node: node.clone(), cpus: f64::from(*cpu) / 1_000.0 };
    let runtime = on_all_cpus()?;
    if let Some((fill, password)) = fill.as_ref().zip(fill_password.as_ref()) {
        let filled = runtime.block_on(fill_redis(fill, password)).map_err(std::io::Error::other);
        filled.map_err(failed("fill redis"))?;
    }
    let served = runtime.block_on(observe_beside(*port, key, place));
    served.map_err(failed("observe the server"))?;
    Ok(Exit::Done)
}

/// Waits until each of these addresses accepts connections: a Service accepts none before its pods are ready.
pub(super) fn await_backends(args: &AwaitArgs) -> Result<Exit, Failure> {
    on_all_cpus()?.block_on(async {
        for address in &args.addresses {
            let mut said = String::new();
            while let Err(why) = connect(address).await {
                if why != said {
                    say(format!("waiting for {address}: {why}"));
                    said = why;
                }
                sleep(LOOK).await;
            }
        }
    });
    Ok(Exit::Done)
}

async fn connect(address: &str) -> Result<(), String> {
    match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", CONNECT_LIMIT.as_secs())),
    }
}

/// Hands the result of the manager in this pod over.
pub(super) fn hand_over() -> Result<Exit, Failure> {
    kubernetes::hand_over().map_err(failed("hand the result over"))?;
    Ok(Exit::Done)
}

/// Returns a function for `map_err`: this pod cannot do what it should.
fn failed(what: &'static str) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| {
        let help = "run `loadgen k8s run` again";
        Failure::message(Exit::Failed, "pod_failed", format!("cannot {what}: {error}"), help)
    }
}
