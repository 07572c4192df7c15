//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second is one.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};
use crate::report;

/// Signals within this time are one request to end: a terminal that closes sends several.
const ONE_PRESS: Duration = Duration::from_secs(1);

/// A token that SIGINT, SIGTERM or SIGHUP cancels. A second one exits at once: the guards end
/// the services, and the workers end themselves.
///
/// It must be called before the first attack, since Goose sets a handler of its own where there
/// is none.
pub fn on_signal() -> Result<CancellationToken, Failure> {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let first = OnceLock::new();
    ctrlc::set_handler(move || {
        if first.get_or_init(Instant::now).elapsed() > ONE_PRESS {
            report::leave_terminal();
            std::process::exit(Exit::Interrupted as i32);
        }
        cancel.cancel();
    })
    .map_err(|e| {
        let message = format!("cannot watch for signals: {e}");
        Failure::message(Exit::Failed, message, "this is a fault of loadgen's: please report it")
    })?;
    Ok(token)
}
