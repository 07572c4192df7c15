//! `loadgen check --try`: shows what is sent, and what comes back.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::cli::TlsArgs;
use crate::commands::options::servers::base_url;
use crate::commands::options::{tls, unused};
use crate::engine::{Plan, Share, Tried, try_steps};
use crate::experiment::job::random_seed;
use crate::experiment::scenarios;
use crate::failure::{Exit, Failure};
use crate::process::on_all_cpus;
use crate::process::print;
use crate::scenario::explain::shortened;
use crate::scenario::{Action, Step, When, step_line};
use crate::text::{count, counted};

/// Sends each step of a scenario once to `url`, even if earlier steps have failed.
pub(super) fn run(file_name: &str, url: &str, tls: &TlsArgs) -> Result<Exit, Failure> {
    let base_url = base_url("--try", url)?;
    let mut scenario = scenarios::find_to_run(file_name)?;
    unused::refuse_tls(tls::given(tls), &[base_url.as_str()], &scenario)?;
    tls::apply(tls, &mut scenario.http.tls)?;
    let name = scenario.name.clone();
    let plan = Plan {
        scenario,
        base_url,
        warmup: Duration::ZERO,
        seed: random_seed()?,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    };
    let file = scenarios::text(file_name);
    let (mut failed, mut printed) = (0, print(&format!("{name}:\n")));
    let show = |step: &Step, tried: Tried| {
        failed += u32::from(tried.wrong.is_some());
        let mut text = shown(step, &tried);
        if tried.wrong.is_some()
            && let Some((path, file)) = &file
            && let Some(line) = step_line(file, &step.name)
        {
            let _ = writeln!(text, "  the step: {}:{line}", path.display());
        }
        printed = print(&text);
        if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    on_all_cpus()?.block_on(try_steps(&plan, show)).map_err(|e| {
        let message = format!("cannot create an HTTP client: {e}");
        let help = "check [http] in the scenario";
        Failure::message(Exit::Failed, "no_http_client", message, help)
    })?;
    printed?;
    let of = counted(plan.scenario.all_steps().count() as u64, "step");
    match failed {
        0 => print("\nall steps went as expected\n")?,
        n => print(&format!("\n{n} of {of} did not go as expected\n"))?,
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

fn shown(step: &Step, tried: &Tried) -> String {
    let when = match step.when {
        When::Once => ", once, before all users",
        When::Start => ", at the start",
        When::Iteration => "",
        When::Stop => ", at the stop",
        When::Finally => ", finally, after all users",
    };
    let mut out = format!("\n{}{when}\n  > {}\n", step.name, tried.request);
    for (name, value) in &tried.headers {
        let _ = writeln!(out, "  > {name}: {value}");
    }
    if let Some(given) = &tried.left_out {
        let _ = writeln!(out, "  left out: not {given}");
        return out;
    }
    if let Some(body) = &tried.body {
        let _ = writeln!(out, "  > {}", shortened(body));
    }
    for redirect in &tried.redirects {
        let _ = writeln!(out, "  < {}", shortened(redirect));
    }
    if let Some(answer) = &tried.answer {
        let took = answer.took.as_secs_f64() * 1e3;
        let bytes = count(answer.bytes);
        let _ = match step.action {
            Action::Request | Action::Connect => {
                writeln!(out, "  < {} after {took:.1} ms, {bytes} bytes", answer.status)
            }
            Action::Call => {
                // Without a status of gRPC, the response is not one to a call.
                let status = match answer.grpc_status {
                    Some(status) => format!("grpc-status {status}"),
                    None => answer.status.to_string(),
                };
                writeln!(out, "  < {status} after {took:.1} ms, {bytes} bytes")
            }
            Action::Send { reply: true } | Action::Receive => {
                writeln!(out, "  < a message after {took:.1} ms, {bytes} bytes")
            }
            Action::Send { reply: false } => writeln!(out, "  sent after {took:.1} ms"),
            Action::Close => writeln!(out, "  < a close frame after {took:.1} ms"),
        };
        for (name, value) in &tried.answered_headers {
            let _ = writeln!(out, "  < {name}: {}", shortened(value));
        }
        if !answer.beginning.is_empty() {
            let _ = writeln!(out, "  < {}", shortened(&answer.beginning));
        }
    }
    if !tried.cookies.is_empty() {
        let _ = writeln!(out, "  keeps the cookies {}", shortened(&tried.cookies.join(", ")));
    }
    for (name, value) in &tried.captured {
        let _ = writeln!(out, "  captured {name}: {}", shortened(value));
    }
    for (counter, value) in step.counters.iter().zip(&tried.counters) {
        let _ = writeln!(out, "  counted {}: {value}", counter.name);
    }
    let _ = match &tried.wrong {
        None => writeln!(out, "  as expected"),
        Some((expected, got)) => writeln!(out, "  NOT as expected: expected {expected}, got {got}"),
    };
    out
}
