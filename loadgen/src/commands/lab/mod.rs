//! `loadgen lab up|down|status|doctor`: the targets and backends alone, for development.

mod doctor;

use std::io;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};
use tokio::signal::unix::{SignalKind, signal};

use super::output::{say, write_result};
use super::runtime;
use crate::cli::{LabCommand, LabFormat, LabUpArgs};
use crate::failure::{Exit, Failure};
use crate::lab::guard::pipe_closed;
use crate::lab::logs::last_lines;
use crate::lab::ready::Probe;
use crate::lab::service::dropped_have_ended;
use crate::lab::state::{self, Claim, State, Urls};
use crate::lab::{Home, Lab, LabError, Layout, Options, Progress, Runtime, Target, redis_client};
use crate::scenario::Backend;

/// How often `up` looks whether a service has ended, and `down` and `--detach` whether it is time.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a lab may take to end: its services have five seconds until they are killed.
const DOWN_LIMIT: Duration = Duration::from_secs(15);

/// Does what the command line says.
pub fn run(command: LabCommand) -> Result<Exit, Failure> {
    let runtime = super::threads::on_all_cpus()?;
    let result = runtime.block_on(async {
        let done = dispatch(command).await;
        dropped_have_ended().await;
        done
    });
    // A thread may still be reading standard input.
    runtime.shutdown_background();
    result
}

async fn dispatch(command: LabCommand) -> Result<Exit, Failure> {
    let home = Home::find()?;
    match command {
        LabCommand::Up(args) if args.detach => detach(&home, &args).await?,
        LabCommand::Up(args) => up(home, &args, runtime::runtime(args.runtime)?).await?,
        LabCommand::Down => down(&home).await?,
        LabCommand::Status => status(&home).await?,
        LabCommand::Doctor => return Ok(doctor::run(&home).await),
    }
    Ok(Exit::Done)
}

/// Starts everything and keeps it up until somebody asks for its end.
async fn up(home: Home, args: &LabUpArgs, runtime: Runtime) -> Result<(), LabError> {
    let claim = Claim::take(&home).await?;
    let mut lab = None;
    let mut targets = Vec::new();
    let mut end = pin!(asked_to_end());
    let started = tokio::select! {
        started = start(home, args, runtime, &mut lab, &mut targets) => started.map(Some),
        ended = &mut end => ended.map(|()| None),
    };
    let ended = match (started, &mut lab) {
        (Ok(Some(urls)), Some(lab)) => {
            claim.ready(&urls)?;
            print(&urls, args.format);
            tokio::select! {
                ended = end => ended,
                () = tell_what_ends(lab, &mut targets) => Ok(()),
            }
        }
        (started, _) => started.map(drop),
    };
    stop(lab, targets).await.and(ended)
}

/// What is up already when it is cut short stays in `lab` and `targets`, to be stopped in good order.
async fn start(
    home: Home,
    args: &LabUpArgs,
    runtime: Runtime,
    lab: &mut Option<Lab>,
    targets: &mut Vec<Target>,
) -> Result<Urls, LabError> {
    let options = Options { logs: home.cache()?.join("logs"), cpus: Layout::unpinned(), runtime };
    let progress: Progress = Arc::new(|what: &str| say(format_args!("{what} …")));
    let lab = lab.insert(Lab::prepare(home, options, Arc::clone(&progress)).await?);
    let defaults = || lab.manifest().default_targets();
    let names = if args.targets.is_empty() { defaults() } else { args.targets.clone() };
    for name in &names {
        lab.manifest().target(name)?;
    }
    lab.start_backends(&backends(args)).await?;
    lab.fill().await?;

    // All at once: it is the loading of their modules that takes time.
    let ports = (0..).map(|nth: u16| args.port.map(|first| first.saturating_add(nth)));
    let mut starting = Vec::new();
    for (name, port) in names.iter().zip(ports) {
        progress(&format!("starting {name}"));
        starting.push(lab.launch_target(
            name,
            &format!("{name}.log"),
            port,
            args.server_workers,
        )?);
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

fn backends(args: &LabUpArgs) -> Vec<Backend> {
    match args.backends.as_slice() {
        [] => vec![Backend::Redis, Backend::Postgres],
        named => named.iter().copied().map(Backend::from).collect(),
    }
}

/// Looks for services that end by themselves, and goes on without them.
async fn tell_what_ends(lab: &mut Lab, targets: &mut Vec<Target>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        for error in lab.lost_backends() {
            say(error);
        }
        targets.retain_mut(|target| match target.lost() {
            Some(error) => {
                say(error);
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

/// Returns at Ctrl-C, at a request to end, or when the pipe that standard input is closes.
async fn asked_to_end() -> Result<(), LabError> {
    let handle = |kind| signal(kind).map_err(LabError::io("handle signals"));
    let (mut interrupt, mut terminate) =
        (handle(SignalKind::interrupt())?, handle(SignalKind::terminate())?);
    let mut hangup = handle(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
        () = input_closed() => {}
    }
    Ok(())
}

/// Never, unless standard input is a pipe: whoever holds its other end wants the lab as long as that.
async fn input_closed() {
    let is_pipe = rustix::fs::fstat(io::stdin()).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
    });
    if !is_pipe {
        return std::future::pending().await;
    }
    let _ = pipe_closed().await;
}

/// Starts the same command in the background, and returns when all is ready there.
async fn detach(home: &Home, args: &LabUpArgs) -> Result<(), LabError> {
    if let Some(State { pid, .. }) = state::find(home)? {
        return Err(LabError::AlreadyUp { pid: Some(pid) });
    }
    let log = home.cache()?.join("lab.log");
    let start = || -> io::Result<_> {
        let output = std::fs::File::create(&log)?;
        let mut command = tokio::process::Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1).filter(|word| word != "--detach"));
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        command.process_group(0).spawn()
    };
    let mut background = start().map_err(LabError::io("start the lab in the background"))?;
    let pid = background.id();
    let mut asked = pin!(asked_to_end());
    loop {
        if let Some(State { pid: found, urls: Some(urls) }) = state::find(home)?
            && Some(found) == pid
        {
            print(&urls, args.format);
            return Ok(());
        }
        tokio::select! {
            _ = background.wait() => {
                return Err(LabError::Detached { output: last_lines(&log, 20), log });
            }
            ended = &mut asked => {
                send_end(pid);
                let _ = background.wait().await;
                return ended;
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

fn send_end(pid: Option<u32>) {
    if let Some(pid) = pid.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

async fn down(home: &Home) -> Result<(), LabError> {
    let Some(State { pid, .. }) = state::find(home)? else {
        say("no lab is up");
        return Ok(());
    };
    send_end(Some(pid));
    let deadline = Instant::now() + DOWN_LIMIT;
    while state::find(home)?.is_some_and(|state| state.pid == pid) {
        if Instant::now() >= deadline {
            return Err(LabError::StillUp { pid, limit: DOWN_LIMIT });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    say("the lab is down");
    Ok(())
}

async fn status(home: &Home) -> Result<(), LabError> {
    let urls = match state::find(home)? {
        None => {
            say("no lab is up");
            return Ok(());
        }
        Some(State { urls: None, .. }) => {
            say("the lab is starting");
            return Ok(());
        }
        Some(State { urls: Some(urls), .. }) => urls,
    };
    let mut table = table(&["service", "url", "health"]);
    let health = Probe::health()?;
    for (name, url) in urls.targets.iter().chain(&urls.backends) {
        let probe = match name.as_str() {
            "redis" => Probe::Redis(redis_client::Client::new(port_of(url), password_of(url))),
            "postgres" => Probe::Listens,
            _ => health.clone(),
        };
        let said = match probe.ask(port_of(url)).await {
            Ok(()) => "ok".to_owned(),
            Err(what) => what,
        };
        table.add_row([name.as_str(), &without_password(url), &said]);
    }
    show(&table.to_string());
    Ok(())
}

/// The port of a URL of ours: what follows the last colon, up to a path.
fn port_of(url: &str) -> u16 {
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next());
    port.and_then(|port| port.parse().ok()).unwrap_or(0)
}

/// The password of a URL of ours; it is hexadecimal.
fn password_of(url: &str) -> &str {
    let user = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    user.and_then(|(user, _)| user.split_once(':')).map_or("", |(_, password)| password)
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        _ => url.to_owned(),
    }
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// A closed standard output is no reason to take the lab down.
fn print(urls: &Urls, format: LabFormat) {
    let text = match format {
        LabFormat::Json => serde_json::to_string(urls).unwrap_or_default(),
        LabFormat::Table => {
            let mut table = table(&["service", "url"]);
            for (name, url) in urls.targets.iter().chain(&urls.backends) {
                table.add_row([name, url]);
            }
            table.to_string()
        }
    };
    show(&text);
}

/// Where nobody reads it, it need not be shown.
fn show(text: &str) {
    let _ = write_result(&mut io::stdout(), &format!("{text}\n"));
}
