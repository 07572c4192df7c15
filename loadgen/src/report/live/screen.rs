//! Takes over the real terminal while the view is shown, and always restores its previous state.
//!
//! Keys arrive at once and without an echo. Ctrl-C remains a signal, so that there is one way to
//! end a run. A separate thread draws the latest state, so that a terminal that accepts no output
//! (Ctrl-S, a slow line) blocks nothing else.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, panic, thread};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use rustix::process::{Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::draw::draw;
use super::look::Look;
use crate::report::view::View;

/// Time between two frames of the live view. The figures of each worker change once a second.
const FRAME: Duration = Duration::from_millis(200);
/// Age at which a frame is redrawn even without new figures, because the frame shows times that
/// advance.
const SECOND: Duration = Duration::from_secs(1);
/// Longest wait for a terminal that accepts no output, when the process is about to end.
const PATIENCE: Duration = Duration::from_millis(300);

/// Value that disables a special key of the terminal (`_POSIX_VDISABLE`).
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// State of the terminal to restore; `None` while the terminal is not taken over. A static, because
/// a process has only one terminal, and the handlers of signals and panics must find the state.
static TAKEN: Mutex<Option<Before>> = Mutex::new(None);

/// State of the terminal before it was taken over.
#[derive(Debug)]
struct Before {
    modes: Termios,
    /// Whether restoring the terminal has begun.
    is_leaving: bool,
}

/// The live view on the terminal. Dropping the screen restores the terminal.
#[derive(Debug)]
pub struct Screen {
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Shows the latest `known` view until the returned screen is dropped. Returns `None` if there
    /// is no terminal, if the terminal cannot show the view, or if this process is not in the
    /// terminal's foreground.
    pub fn open(known: watch::Receiver<View>) -> Option<Self> {
        if !can_show() {
            return None;
        }
        take().ok()?;
        RESTS.store(false, Ordering::Relaxed);
        heed_signals();
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
        // The panic hook has already reported a panic of the thread.
        drop(self.thread.take().map(JoinHandle::join));
        give_back();
    }
}

/// Returns whether the live view has taken over the terminal at the moment.
pub fn is_open() -> bool {
    taken().as_ref().is_some_and(|before| !before.is_leaving)
}

/// Returns whether this process receives what is typed on the terminal, rather than another process
/// in the foreground.
pub fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Restores the terminal from any thread before the process ends, even if Ctrl-S has stopped the
/// terminal's output. Waits at most `PATIENCE` for the terminal.
pub fn leave() {
    let Some(before) = taken().as_ref().map(|before| before.modes.clone()) else { return };
    // Without `IXON`, which makes Ctrl-S and Ctrl-Q stop and resume output, the terminal resumes.
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

/// Switches the terminal to single keys without an echo, and makes a panic restore the terminal
/// before the panic is reported. Disables the key that dumps core, because a core dump does not
/// restore the terminal.
fn take() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            leave();
            tell(panic);
        }));
    });
    let mut taken = taken();
    let before = tcgetattr(io::stdin())?;
    tcsetattr(io::stdin(), OptionalActions::Now, &with_single_keys(&before))?;
    *taken = Some(Before { modes: before, is_leaving: false });
    Ok(())
}

/// Returns the modes of a terminal whose keys arrive at once and without an echo.
fn with_single_keys(before: &Termios) -> Termios {
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.special_codes[SpecialCodeIndex::VQUIT] = NO_KEY;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

/// Whether this process is to be suspended as soon as the terminal is as it was before.
static RESTS: AtomicBool = AtomicBool::new(false);

/// Whether the size of the terminal has changed since the last frame.
static RESIZED: AtomicBool = AtomicBool::new(false);

/// Heeds the signals that concern the live view: SIGTSTP (Ctrl-Z) suspends this process, once the view has left the
/// terminal, and SIGWINCH has everything drawn again. Without a Tokio runtime, SIGTSTP suspends the process at once.
fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Ok(runtime) = Handle::try_current() else { return };
        let _inside = runtime.enter();
        if let Ok(mut stops) = signal(SignalKind::from_raw(Signal::TSTP.as_raw())) {
            runtime.spawn(async move {
                while stops.recv().await.is_some() {
                    match is_open() {
                        true => RESTS.store(true, Ordering::Relaxed),
                        false => suspend(),
                    }
                }
            });
        }
        if let Ok(mut sizes) = signal(SignalKind::window_change()) {
            runtime.spawn(async move {
                while sizes.recv().await.is_some() {
                    RESIZED.store(true, Ordering::Relaxed);
                }
            });
        }
    });
}

/// Suspends this process until a signal (SIGCONT) resumes it. Does nothing without a shell that could resume it: as the
/// system does with SIGTSTP, which this process handles.
fn suspend() {
    if !can_be_resumed() {
        return;
    }
    let _ = kill_process(getpid(), Signal::STOP);
    // The signal may reach another thread first, and stop this one a moment later.
    thread::sleep(FRAME / 4);
}

/// Whether the parent of this process is a shell with job control: in the same session, and in another process group.
fn can_be_resumed() -> bool {
    let Some(parent) = getppid() else { return false };
    let is_of_session = getsid(Some(parent)).is_ok_and(|session| Ok(session) == getsid(None));
    is_of_session && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
}

/// Gives the terminal back, suspends this process, and takes the terminal again when the process is resumed in the
/// foreground. Returns whether the view goes on: not if `ended` reports its end.
fn rest(out: &mut impl Write, ended: &mpsc::Receiver<()>) -> io::Result<bool> {
    if !can_be_resumed() {
        return Ok(true);
    }
    let Some(before) = taken().as_ref().map(|before| before.modes.clone()) else {
        return Ok(false);
    };
    set_modes(&before);
    execute!(out, LeaveAlternateScreen, Show)?;
    suspend();
    while !is_in_front() {
        if ended.recv_timeout(FRAME) != Err(mpsc::RecvTimeoutError::Timeout) {
            return Ok(false);
        }
    }
    if is_open() {
        set_modes(&with_single_keys(&before));
        execute!(out, EnterAlternateScreen, Hide)?;
    }
    Ok(true)
}

/// Restores the terminal. Does nothing if the terminal is restored already, or is being restored.
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

/// Sets the modes of the terminal at once, without waiting for pending output. Does nothing if this
/// process is in the background, because the terminal would stop the process.
fn set_modes(modes: &Termios) {
    if is_in_front() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
    }
}

/// Returns a separate handle of the terminal. With [`io::stderr`], the drawing thread would hold
/// the lock of standard error while the terminal accepts no output.
fn terminal() -> io::Result<File> {
    Ok(rustix::io::dup(io::stderr())?.into())
}

/// Draws the latest known view until `ended` reports the end or the terminal is restored.
fn show(mut known: watch::Receiver<View>, ended: &mpsc::Receiver<()>) -> io::Result<()> {
    execute!(Taken(terminal()?), EnterAlternateScreen, Hide)?;
    let mut terminal = on_terminal()?;
    let look = Look::of_environment();
    let mut drawn = None;
    while is_open() {
        if RESIZED.swap(false, Ordering::Relaxed) {
            // It may be another terminal, which has seen nothing yet: `kubectl attach` changes the size for that.
            execute!(terminal.backend_mut(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
            terminal = on_terminal()?;
            drawn = None;
        }
        let (now, size) = (Instant::now(), terminal.size()?);
        let is_old = |(then, before): (Instant, _)| before != size || now - then >= SECOND;
        if RESTS.swap(false, Ordering::Relaxed) {
            if !rest(terminal.backend_mut(), ended)? {
                break;
            }
            // One that has drawn nothing draws everything.
            terminal = on_terminal()?;
            drawn = None;
            continue;
        }
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

fn on_terminal() -> io::Result<Terminal<CrosstermBackend<BufWriter<Taken>>>> {
    Terminal::new(CrosstermBackend::new(BufWriter::new(Taken(terminal()?))))
}

/// Writer to the terminal. Drops all output as soon as restoring the terminal has begun.
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
    use std::io::Read as _;
    use std::panic::catch_unwind;
    use std::process::Command;

    use rexpect::session::{PtySession, spawn_command};
    use rustix::termios::{Winsize, tcsetwinsize};
    use tokio::runtime::Builder;

    use super::*;

    fn resize(columns: u16) {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(io::stderr(), size).unwrap();
    }

    /// Returns a terminal in which an ignored test runs.
    fn in_terminal(test: &str) -> PtySession {
        let mut command = Command::new(env::current_exe().unwrap());
        let test = format!("report::live::screen::tests::{test}");
        command.args(["--exact", "--ignored", "--nocapture", &test]).env("TERM", "xterm");
        spawn_command(command, Some(30_000)).unwrap()
    }

    /// Changes the size of its terminal when it gets a key.
    #[test]
    #[ignore = "it needs a terminal of its own, which the test below gives it"]
    fn a_process_whose_terminal_changes() {
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        resize(80);
        let known = watch::Sender::new(View { doing: "waiting".to_owned(), ..View::default() });
        let screen = Screen::open(known.subscribe()).unwrap();
        let mut key = [0];
        io::stdin().read_exact(&mut key).unwrap();
        resize(90);
        io::stdin().read_exact(&mut key).unwrap();
        drop(screen);
    }

    #[test]
    fn a_terminal_that_changes_gets_the_whole_view_again() {
        let mut terminal = in_terminal("a_process_whose_terminal_changes");
        for _ in 0..2 {
            terminal.exp_string("\x1b[?1049h").unwrap();
            terminal.exp_string("waiting").unwrap();
            terminal.send("x").unwrap();
            terminal.flush().unwrap();
        }
        assert!(terminal.exp_eof().unwrap().contains("1 passed"));
    }

    /// Panics while the live view is open. Needs a separate terminal, which the test below
    /// provides.
    #[test]
    #[ignore = "it needs a terminal of its own, which the test below gives it"]
    fn a_process_that_panics() {
        resize(80);
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
    fn a_panic_restores_the_terminal_and_is_reported() {
        let mut terminal = in_terminal("a_process_that_panics");
        for expected in ["\x1b[?1049h", "waiting", "\x1b[?1049l", "a fault of ours", "as it was"] {
            terminal.exp_string(expected).unwrap();
        }
        let rest = terminal.exp_eof().unwrap();
        assert!(rest.contains("1 passed") && !rest.contains("\x1b[?1049l"), "{rest}");
    }
}
