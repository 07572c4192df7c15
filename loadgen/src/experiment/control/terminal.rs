//! Controls a run from the terminal that the run was started in: by a line, or by a key while the
//! live view is shown. A note shows what each request did.

use std::io::{self, IsTerminal, Stdin};
use std::time::Duration;

use rustix::termios::{LocalModes, tcgetattr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Control;
use super::keys::Key;
use super::request::ControlRequest;

/// Interval at which a run checks whether it may read from the terminal again.
const PAUSE: Duration = Duration::from_secs(1);

/// Functions that report the state of the terminal, which only other modules know.
#[derive(Clone, Copy)]
pub struct Screen {
    /// Whether this process may read from the terminal.
    /// The system stops a background process that reads.
    pub is_in_front: fn() -> bool,
    /// Whether the live view is shown.
    pub is_live: fn() -> bool,
}

/// Reads requests from standard input while the run goes on, if standard input is a terminal.
pub fn listen(control: &Control, screen: Screen) {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let control = control.clone();
        // An error is ignored: without a terminal, there is no input, and no reader of a message.
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
        // Does not wait: the terminal passes on input line by line, or key by key.
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

/// Mode in which the terminal passes on input: whole lines, or single keys in the live view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Lines,
    Keys,
}

impl Manner {
    /// Returns the terminal's present input mode, or `None` if the input is for another program. A
    /// pager that shows the result, for example, takes single keys as the live view does.
    fn of(stdin: &Stdin, screen: Screen) -> io::Result<Option<Self>> {
        let in_lines = tcgetattr(stdin)?.local_modes.contains(LocalModes::ICANON);
        Ok(match in_lines {
            _ if !(screen.is_in_front)() => None,
            true => Some(Self::Lines),
            false => (screen.is_live)().then_some(Self::Keys),
        })
    }
}

/// Waits until standard input is readable. Each call registers standard input anew, because an
/// older registration does not report input that an earlier read left unread.
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
