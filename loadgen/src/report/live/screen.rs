//! The real terminal: taken over while the view is shown, and given back as it was, whatever happens.
//!
//! Keys come at once and are not echoed; Ctrl-C stays a signal, so that there is one way to end a run. The
//! screen is written by a thread of its own, from the latest that is known: a terminal that takes nothing
//! (Ctrl-S, a slow line) holds up nobody else.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, panic, thread};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};
use tokio::sync::watch;

use super::draw::draw;
use super::look::Look;
use super::view::View;

/// Between two pictures: what is shown changes once a second, from each worker.
const FRAME: Duration = Duration::from_millis(200);
/// What tells of time is drawn anew this often, whatever else happens.
const SECOND: Duration = Duration::from_secs(1);
/// How long a terminal that takes nothing is waited for where the process is about to end.
const PATIENCE: Duration = Duration::from_millis(300);

/// No key: what switches one off (`_POSIX_VDISABLE`).
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// The terminal, while it is not as it was. A process has one, and signals and panics must find it.
static TAKEN: Mutex<Option<Before>> = Mutex::new(None);

/// What a terminal is given back as.
#[derive(Debug)]
struct Before {
    modes: Termios,
    /// Whether that is under way.
    is_leaving: bool,
}

/// The terminal, while it shows a view.
#[derive(Debug)]
pub struct Screen {
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Shows what `known` says until it is dropped, where there is a terminal that can, and that is
    /// this process's to use.
    pub fn open(known: watch::Receiver<View>) -> Option<Self> {
        if !can_show() {
            return None;
        }
        take().ok()?;
        let (end, ended) = mpsc::channel();
        let show = move || drop(show(known, &ended));
        match thread::Builder::new().name("live view".to_owned()).spawn(show) {
            Ok(thread) => Some(Self { end: Some(end), thread: Some(thread) }),
            Err(_) => {
                give_back();
                None
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.end.take());
        // A panic there has been told of already.
        drop(self.thread.take().map(JoinHandle::join));
        give_back();
    }
}

/// Whether the terminal is taken over at the moment.
pub fn is_open() -> bool {
    taken().as_ref().is_some_and(|before| !before.is_leaving)
}

/// Whether what is typed on the terminal is for this process, rather than for one in front of it.
pub fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Gives the terminal back from anywhere, before the process ends; also one that Ctrl-S has stopped. It is not
/// waited for for long.
pub fn leave() {
    let Some(before) = taken().as_ref().map(|before| before.modes.clone()) else { return };
    // Without the keys that stop it and have it go on, it goes on.
    let mut going = before.clone();
    going.input_modes.remove(InputModes::IXON);
    set_modes(&going);
    thread::spawn(give_back);
    let begin = Instant::now();
    while taken().is_some() && begin.elapsed() < PATIENCE {
        thread::sleep(PATIENCE / 20);
    }
    set_modes(&before);
}

fn can_show() -> bool {
    let is_able = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    let has_size =
        || tcgetwinsize(io::stderr()).is_ok_and(|size| size.ws_col > 0 && size.ws_row > 0);
    io::stdin().is_terminal()
        && io::stderr().is_terminal()
        && is_able
        && is_in_front()
        && has_size()
}

fn taken() -> MutexGuard<'static, Option<Before>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has keys come one by one, and a panic give the terminal back before it is told of. A suspended run
/// would measure nothing, and a core dump leaves the terminal as it is: keys for both are off.
fn take() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            give_back();
            tell(panic);
        }));
    });
    let mut taken = taken();
    let before = tcgetattr(io::stdin())?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    for key in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
        modes.special_codes[key] = NO_KEY;
    }
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    *taken = Some(Before { modes: before, is_leaving: false });
    Ok(())
}

/// Puts the terminal back as it was, once.
fn give_back() {
    let modes = match &mut *taken() {
        Some(before) if !before.is_leaving => {
            before.is_leaving = true;
            before.modes.clone()
        }
        _ => return,
    };
    set_modes(&modes);
    if let Ok(mut terminal) = terminal() {
        let _ = execute!(terminal, LeaveAlternateScreen, Show);
    }
    *taken() = None;
}

/// At once: what is still to be written may take its time. The terminal stops a process of the background
/// that does this.
fn set_modes(modes: &Termios) {
    if is_in_front() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
    }
}

/// Not [`io::stderr`], whose lock the thread would hold that waits for a terminal to take something.
fn terminal() -> io::Result<File> {
    Ok(rustix::io::dup(io::stderr())?.into())
}

/// Draws what is known, until it is told to end or the terminal is given back.
fn show(mut known: watch::Receiver<View>, ended: &mpsc::Receiver<()>) -> io::Result<()> {
    let mut out = Taken(terminal()?);
    execute!(out, EnterAlternateScreen, Hide)?;
    let mut terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(out)))?;
    let look = Look::of_environment();
    let mut drawn = None;
    while is_open() {
        let (now, size) = (Instant::now(), terminal.size()?);
        let is_old = |(then, before): (Instant, _)| before != size || now - then >= SECOND;
        if known.has_changed().unwrap_or(false) || drawn.is_none_or(is_old) {
            let view = known.borrow_and_update().clone();
            terminal.draw(|frame| draw(&view, now, look, frame.buffer_mut()))?;
            drawn = Some((now, size));
        }
        if ended.recv_timeout(FRAME) != Err(mpsc::RecvTimeoutError::Timeout) {
            break;
        }
    }
    Ok(())
}

/// The terminal while it is taken over; afterwards what is left to write is dropped.
#[derive(Debug)]
struct Taken(File);

impl Write for Taken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if is_open() { self.0.write(bytes) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::process::Command;

    use rexpect::session::spawn_command;
    use rustix::termios::{Winsize, tcsetwinsize};

    use super::*;

    /// On a terminal of its own: see below.
    #[test]
    #[ignore = "it needs a terminal of its own, which the test below gives it"]
    fn a_process_that_panics() {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(io::stderr(), size).unwrap();
        let modes = || tcgetattr(io::stdin()).unwrap().local_modes;
        let before = modes();
        let known = watch::Sender::new(View { doing: "waiting".to_owned(), ..View::default() });
        let screen = Screen::open(known.subscribe()).unwrap();
        assert!(is_open() && !modes().intersects(LocalModes::ICANON | LocalModes::ECHO));
        thread::sleep(3 * FRAME);
        catch_unwind(|| panic!("a fault of ours")).unwrap_err();
        assert!(!is_open() && modes() == before && before.contains(LocalModes::ICANON));
        drop(screen);
        writeln!(io::stderr(), "and it is as it was").unwrap();
    }

    #[test]
    fn a_panic_is_told_of_on_a_terminal_that_is_as_it_was() {
        let mut command = Command::new(env::current_exe().unwrap());
        let test = "report::live::screen::tests::a_process_that_panics";
        command.args(["--exact", "--ignored", "--nocapture", test]).env("TERM", "xterm");
        let mut terminal = spawn_command(command, Some(30_000)).unwrap();
        for expected in ["\x1b[?1049h", "waiting", "\x1b[?1049l", "a fault of ours", "as it was"] {
            terminal.exp_string(expected).unwrap();
        }
        let rest = terminal.exp_eof().unwrap();
        assert!(rest.contains("1 passed") && !rest.contains("\x1b[?1049l"), "{rest}");
    }
}
