//! Control from the terminal that a run was started in: a line, and a note of what became of it.

use std::io::{self, IsTerminal, Stdin};
use std::time::Duration;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Control, Refusal, Wish};

/// How often a run looks whether the terminal is its own again.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads lines from standard input as long as the run goes on, where that is a terminal.
pub fn listen(control: &Control) {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let control = control.clone();
        // Without a terminal there is nothing to read and nobody to tell.
        tokio::spawn(async move { drop(read(&stdin, &control).await) });
    }
}

async fn read(stdin: &Stdin, control: &Control) -> io::Result<()> {
    let mut typed = Vec::new();
    loop {
        until_readable().await?;
        if !is_ours(stdin)? {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        // At once: what is typed comes line by line.
        let mut piece = [0; 1024];
        let length = rustix::io::read(stdin, &mut piece)?;
        if length == 0 {
            return Ok(());
        }
        typed.extend_from_slice(&piece[..length]);
        while let Some(end) = typed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = typed.drain(..=end).collect();
            obey(String::from_utf8_lossy(&line).trim(), control).await;
        }
    }
}

/// Whether what is typed is for this run. The terminal stops a process of the background that reads
/// from it; and a pager that shows the result takes single keys.
fn is_ours(stdin: &Stdin) -> io::Result<bool> {
    let in_lines = tcgetattr(stdin)?.local_modes.contains(LocalModes::ICANON);
    Ok(in_lines && tcgetpgrp(stdin)? == getpgrp())
}

/// Registered anew each time: otherwise what is left after a read would not be told of.
#[expect(
    deprecated,
    reason = "the other constructors are unsafe: they ask for what standard input gives"
)]
async fn until_readable() -> io::Result<()> {
    AsyncFd::with_interest(io::stdin(), Interest::READABLE)?.readable().await.map(drop)
}

async fn obey(line: &str, control: &Control) {
    if line.is_empty() {
        return;
    }
    let done = match line.parse::<Wish>() {
        Ok(wish) => control.carry_out(wish).await,
        Err(refusal) => Err(refusal),
    };
    if let Err(Refusal { message, help, .. }) = done {
        let help = help.map(|help| format!("\n  help: {help}")).unwrap_or_default();
        control.note(&format!("{message}{help}"));
    }
}
