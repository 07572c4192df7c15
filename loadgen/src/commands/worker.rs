//! `loadgen worker`: serves the rounds of a manager.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::measure::cannot_pin;
use crate::cli::WorkerArgs;
use crate::cluster::{
    Allowed, AllowedTarget, ClusterError, Join, Terms, join, serve_all, serve_managers,
};
use crate::experiment::system_limits::limits;
use crate::failure::{Exit, Failure};
use crate::lab::cpus::pin_self;
use crate::lab::{Measurement, Turn};
use crate::process::{first_lines, leave_on_signal, on_all_cpus, use_huge_pages};
use crate::scenario::read_text;
use crate::text::say;

/// Joins a manager, and serves the manager's rounds until the manager ends the worker or is gone.
/// With a join file, the worker then waits for the next run, unless `--once` is given.
///
/// # Errors
/// Fails if the worker could not join, or left before its manager told the worker to leave.
pub(super) fn run(args: &WorkerArgs) -> Result<Exit, Failure> {
    if args.once && args.join == "-" {
        let message = "--once has no effect with --join -: such a worker serves only one manager";
        let help = "leave out --once";
        return Err(Failure::message(Exit::Usage, "unused_option", message.to_owned(), help));
    }
    // The number of users is not known yet.
    use_huge_pages();
    let allowed =
        args.allow_target.iter().map(|text| allowed(text)).collect::<Result<Vec<_>, _>>()?;
    // Must precede the runtime's threads: existing threads would not be pinned.
    pin_self(&args.cpus).map_err(cannot_pin)?;
    let allowed = match args.any_socket && allowed.is_empty() {
        true => Allowed::everything(),
        false => allowed.into(),
    };
    let serving = serve(args, allowed);
    on_all_cpus()?.block_on(serving).map(|()| Exit::Done)
}

fn allowed(text: &str) -> Result<AllowedTarget, Failure> {
    text.parse().map_err(|why: String| {
        let message = format!("--allow-target {text}: {why}");
        let help = "name a host, a host and a port, or a socket as unix:/run/app.sock";
        Failure::message(Exit::Usage, "bad_address", message, help)
    })
}

async fn serve(args: &WorkerArgs, allowed: Allowed) -> Result<(), Failure> {
    // On Ctrl-C, the loadgen that started this worker decides, and ends the worker in good order.
    let is_local = args.join == "-";
    let leave = leave_on_signal(!is_local)?;
    let node = args.node.clone();
    let limits = limits();
    let terms = Terms { leave, allowed, limit: args.wait, node, limits, ..Terms::default() };
    if let Some(processes) = args.processes.filter(|_| is_local) {
        let served = serve_from_elsewhere(processes as usize, &terms.gone).await;
        return served.map_err(Failure::with(Exit::Failed));
    }
    let served = if is_local { serve_parent(terms).await } else { serve_each(args, &terms).await };
    served.map_err(Failure::with(Exit::Failed))
}

/// Serves the process that started this worker, and that sends the join document on standard input.
async fn serve_parent(terms: Terms) -> Result<(), ClusterError> {
    let lines = first_lines(1, &terms.gone).await.map_err(|e| ClusterError::Join(e.to_string()))?;
    let document = lines.first().ok_or(ClusterError::ManagerGone)?;
    join(&Join::parse(document)?, terms).await?.serve().await
}

/// Runs the workers of this host for a manager on another, which sends a join document for each on standard input.
async fn serve_from_elsewhere(
    processes: usize,
    gone: &CancellationToken,
) -> Result<(), ClusterError> {
    let lines =
        first_lines(processes, gone).await.map_err(|e| ClusterError::Join(e.to_string()))?;
    let joins = lines.iter().map(|line| Join::parse(line)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = joins.first().filter(|_| joins.len() == processes) else {
        return Err(ClusterError::ManagerGone);
    };
    // Nobody reads here that another measures, too. But that one sees this.
    let _in_rounds = Turn::anyway(Measurement::of_manager(&first.run), |_| {});
    serve_all(&joins, gone).await
}

/// Shows other loadgens on this machine that this worker measures, until the returned value is
/// dropped. A worker does not wait for its turn, because its manager and all other workers would
/// have to wait, too.
fn take_part(manager: &str) -> Option<Turn> {
    let turn = Turn::anyway(Measurement::of_manager(manager), |what| say(what));
    if let Err(error) = &turn {
        say(format!("cannot see other loadgens on this machine: {error}"));
    }
    turn.ok()
}

/// Serves one manager after another, with the same join file.
async fn serve_each(args: &WorkerArgs, terms: &Terms) -> Result<(), ClusterError> {
    let document = read_text(1 << 20, Path::new(&args.join))
        .map_err(|e| ClusterError::Join(format!("{}: {e}", args.join)))?;
    let document = Join::parse(&document)?;
    let enter = || take_part(&document.address);
    serve_managers(&document, terms, args.once, &|what| say(what), &enter).await
}
