//! Opens the live page of `--web`.

use std::path::PathBuf;
use std::sync::Arc;

use rand::TryRng as _;
use rand::rngs::SysRng;
use tokio_util::sync::CancellationToken;

use crate::cli::WebArgs;
use crate::experiment::control::{Control, ControlRequest};
use crate::failure::{Exit, Failure};
use crate::report::{Answer, Controls, LivePage, Progress};
use crate::text::{counted, say};

/// Opens the page, if it is asked for, and says where it is. `can_change` tells
/// whether `control` can change the load, or only end the command.
///
/// # Errors
/// If the address cannot be used.
pub(super) fn open(
    args: &WebArgs,
    progress: &mut Progress,
    control: &Control,
    can_change: bool,
) -> Result<(), Failure> {
    let Some(address) = &args.web else { return Ok(()) };
    let controls = args.web_control.then(secret).transpose()?.map(|token| {
        let control = control.clone();
        let carry_out = move |text: String| {
            let control = control.clone();
            Box::pin(async move { answer(&control, &text).await }) as _
        };
        Controls { token, can_change, carry_out: Arc::new(carry_out) }
    });
    let token = controls.as_ref().map(|controls| controls.token.clone());
    let url = progress.serve_page(address, secret()?, controls).map_err(|error| {
        let message = format!("cannot serve the live page at {address}: {error}");
        let help = "name an address of this host with a free port: --web=HOST:PORT";
        Failure::message(Exit::Failed, "cannot_serve_page", message, help)
    })?;
    progress.pin(&format!("live page: {url}"));
    if let Some(token) = token {
        progress.pin(&format!("  with controls: {url}#control={token}"));
    }
    Ok(())
}

/// Shows the report at this path, or that there is none, to the viewers of the page, and waits until they have it.
/// Ctrl-C ends the wait; if the command was `interrupted` already, a second one ends loadgen.
pub(super) fn end(
    page: LivePage,
    report: Option<PathBuf>,
    interrupted: bool,
    interrupt: &CancellationToken,
) {
    if report.is_some() && page.viewers() > 0 {
        let viewers = counted(page.viewers() as u64, "browser");
        say(format!("waiting for {viewers} to load the report"));
    }
    page.end(report, || !interrupted && interrupt.is_cancelled());
}

/// Carries out a request from the page.
async fn answer(control: &Control, text: &str) -> Answer {
    let Ok(request) = serde_json::from_str::<ControlRequest>(text) else {
        return Err("unknown request: write {\"users\": N}, {\"rate\": R} or \"stop\"".to_owned());
    };
    control.carry_out(request).await.map_err(|refusal| match refusal.help {
        Some(help) => format!("{}; {help}", refusal.message),
        None => refusal.message,
    })
}

/// Returns a random text of 32 hexadecimal digits.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
        let message = format!("the system provides no random numbers: {error}");
        Failure::message(Exit::Failed, "no_random_numbers", message, "leave out --web")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
