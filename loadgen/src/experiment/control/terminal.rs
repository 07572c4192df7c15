//! Control from the terminal that a run was started in: a line, or a key where the live view is shown, and a
//! note of what became of it.

use std::io::{self, IsTerminal, Stdin};
use std::time::Duration;

use rustix::termios::{LocalModes, tcgetattr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Control;
use super::keys::Key;
use super::request::ControlRequest;

/// How often a run looks whether the terminal is its own again.
const PAUSE: Duration = Duration::from_secs(1);

/// What is known of the terminal elsewhere.
#[derive(Clone, Copy)]
pub struct Screen {
    /// Whether this process may read from it: the terminal stops a process of the background that does.
    pub is_in_front: fn() -> bool,
    /// Whether the live view is shown.
    pub is_live: fn() -> bool,
}

/// Reads from standard input as long as the run goes on, where that is a terminal.
pub fn listen(control: &Control, screen: Screen) {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let control = control.clone();
        // Without a terminal there is nothing to read and nobody to tell.
        tokio::spawn(async move { drop(read(&stdin, &control, screen).await) });
    }
}

async fn read(stdin: &Stdin, control: &Control, screen: Screen) -> io::Result<()> {
    let mut typed = Vec::new();
    loop {
        until_readable().await?;
        let Some(manner) = Manner::of(stdin, screen)? else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // At once: what is typed comes line by line, or key by key.
        let mut piece = [0; 1024];
        let length = rustix::io::read(stdin, &mut piece)?;
        if length == 0 {
            return Ok(());
        }
        if manner == Manner::Keys {
            for key in Key::all(&piece[..length]) {
                control.press(key).await;
            }
            continue;
        }
        typed.extend_from_slice(&piece[..length]);
        while let Some(end) = typed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = typed.drain(..=end).collect();
            obey(String::from_utf8_lossy(&line).trim(), control).await;
        }
    }
}

/// How the terminal gives what is typed for this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Lines,
    Keys,
}

impl Manner {
    /// `None` where it is for another: a pager that shows the result takes single keys, as the live view
    /// does.
    fn of(stdin: &Stdin, screen: Screen) -> io::Result<Option<Self>> {
        let in_lines = tcgetattr(stdin)?.local_modes.contains(LocalModes::ICANON);
        Ok(match in_lines {
            _ if !(screen.is_in_front)() => None,
            true => Some(Self::Lines),
            false => (screen.is_live)().then_some(Self::Keys),
        })
    }
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
    let done = match line.parse::<ControlRequest>() {
        Ok(request) => control.carry_out(request).await,
        Err(refusal) => Err(refusal),
    };
    if let Err(refusal) = done {
        control.refuse(&refusal);
    }
}
