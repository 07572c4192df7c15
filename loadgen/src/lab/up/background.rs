//! Starts and ends a lab in the background.

use std::ffi::OsString;
use std::io;
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::LOOK_EVERY;
use super::end::asked_to_end;
use super::state::{self, State, Urls};
use crate::lab::service::logs::last_lines;
use crate::lab::{Home, LabError};

/// Time that `lab down` waits for a lab to end. Longer than the longest grace period of a service,
/// which is 60 s for the containers of a project, and the time to kill what is left then.
const DOWN_LIMIT: Duration = Duration::from_secs(80);

/// Starts a loadgen process in the background that keeps a lab up, with `arguments` as its command
/// line. Calls `is_up` and returns when all services of the lab are ready.
///
/// # Errors
/// Returns an error if a lab of this project is already up, or if the background process ends
/// before all services are ready.
pub async fn detach(
    home: &Home,
    arguments: impl Iterator<Item = OsString>,
    is_up: impl FnOnce(&Urls),
) -> Result<(), LabError> {
    if let Some(State { pid, .. }) = state::find(home)? {
        return Err(LabError::AlreadyUp { pid: Some(pid) });
    }
    let log = home.cache()?.join("lab.log");
    let start = || -> io::Result<_> {
        let output = std::fs::File::create(&log)?;
        let mut command = tokio::process::Command::new(std::env::current_exe()?);
        command.args(arguments);
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
            is_up(&urls);
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

/// Ends the lab of this project that is up. Returns false if no lab is up.
///
/// # Errors
/// Returns an error if the lab is still up after a minute.
pub async fn down(home: &Home) -> Result<bool, LabError> {
    let Some(State { pid, .. }) = state::find(home)? else {
        return Ok(false);
    };
    send_end(Some(pid));
    let deadline = Instant::now() + DOWN_LIMIT;
    while state::find(home)?.is_some_and(|state| state.pid == pid) {
        if Instant::now() >= deadline {
            return Err(LabError::StillUp { pid, limit: DOWN_LIMIT });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(true)
}

fn send_end(pid: Option<u32>) {
    if let Some(pid) = pid.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}
