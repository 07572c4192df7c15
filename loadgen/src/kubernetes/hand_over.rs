//! Hands the result over, in the manager's pod; `fetch` takes it. Nobody can ask the pod of a program that has ended for
//! anything, and the cluster cuts a log that is long. Therefore the manager waits at its end, and `kubectl exec` starts a
//! second loadgen in its pod, which writes the folder of the run to its standard output.
//!
//! That output is lines `waiting` while the run goes on, so that nothing between takes the connection for idle, then
//! `over CODE LENGTH` with the exit code, then the folder as a compressed archive of so many bytes. Its input are the lines `stop`, which
//! interrupts the run, and `taken`, which ends the manager's wait.

use std::fs;
use std::io::{self, BufRead as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::manifests::RESULT;

/// File whose text is the exit code of the run that is over.
const OVER: &str = "/tmp/over";

/// File that is there when the result was taken.
const IS_TAKEN: &str = "/tmp/taken";

/// File whose text the cluster keeps as the last words of a container.
const LAST_WORDS: &str = "/dev/termination-log";

/// Last words of a manager whose result was taken, and of one that waited in vain.
pub(super) const TAKEN: &str = "another loadgen has taken it";
pub(super) const LEFT: &str = "nobody took it while its manager waited";

/// File that is there when the run is to stop.
const STOPPED: &str = "/tmp/stop";

/// Time between two looks at these files.
const LOOK: Duration = Duration::from_millis(100);

/// Time between two signs of life.
const WAITING: Duration = Duration::from_secs(5);

/// Words of the protocol.
pub(super) const STOP: &str = "stop";
pub(super) const TAKE: &str = "taken";
pub(super) const DECLINE: &str = "declined";

/// In the manager's pod: interrupts this process as soon as somebody asks for it. A process that is the first of its
/// container gets no signal for which it has no handler, so that this waits for one.
pub fn stop_when_asked() {
    thread::spawn(|| {
        while !Path::new(STOPPED).exists() || !handles_interrupts() {
            thread::sleep(LOOK);
        }
        if !Path::new(OVER).exists() {
            let _ = kill_process(getpid(), Signal::INT);
        }
    });
}

/// Returns whether this process has a handler for SIGINT, from the mask of proc(5).
fn handles_interrupts() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (Signal::INT.as_raw() - 1)) != 0)
}

/// In the manager's pod: tells that the run is over, and waits until its result was taken, until the pod is to end, or
/// until the limit.
///
/// # Errors
/// If the files cannot be written, or signals not be received.
pub async fn await_hand_over(code: u8, limit: Duration) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let temporary = format!("{OVER}.new");
    fs::write(&temporary, code.to_string())?;
    fs::rename(temporary, OVER)?;
    let taken = async {
        loop {
            match fs::read_to_string(IS_TAKEN).as_deref() {
                Ok(TAKE) => return Some(TAKEN),
                Ok(DECLINE) => return None,
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    };
    let last = tokio::select! {
        last = taken => last,
        _ = terminated.recv() => None,
        () = tokio::time::sleep(limit) => Some(LEFT),
    };
    if let Some(last) = last {
        // For a loadgen that comes too late. Without these words, it knows only that the manager has ended.
        let _ = fs::write(LAST_WORDS, last);
    }
    Ok(())
}

/// In the manager's pod, beside the manager: hands the result over as soon as the run is over.
///
/// # Errors
/// If nobody listens any more, or the folder cannot be read.
pub fn hand_over() -> io::Result<()> {
    let asked = thread::spawn(|| {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match line.as_str() {
                STOP => fs::write(STOPPED, "")?,
                TAKE => return fs::write(IS_TAKEN, TAKE),
                DECLINE => {
                    fs::write(IS_TAKEN, DECLINE)?;
                    std::process::exit(0)
                }
                _ => {}
            }
        }
        // Whoever asked is gone.
        std::process::exit(0)
    });
    let mut out = io::stdout().lock();
    let mut told = None::<Instant>;
    let code = loop {
        if let Ok(code) = fs::read_to_string(OVER) {
            break code;
        }
        if told.is_none_or(|told| told.elapsed() > WAITING) {
            out.write_all(b"waiting\n")?;
            out.flush()?;
            told = Some(Instant::now());
        }
        thread::sleep(LOOK);
    };
    let mut packed = tempfile::tempfile()?;
    pack(Path::new(RESULT), &packed)?;
    let length = packed.seek(SeekFrom::End(0))?;
    packed.rewind()?;
    writeln!(out, "over {code} {length}")?;
    io::copy(&mut packed, &mut out)?;
    out.flush()?;
    // Whoever has the result says so, or is gone.
    asked.join().unwrap_or(Ok(()))
}

/// Writes the files of a folder as a compressed archive; an empty one if there is no folder.
pub(super) fn pack(folder: &Path, out: impl io::Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::fast()));
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // The socket by which the run was controlled is no result.
            if entry.file_type()?.is_file() {
                archive.append_path_with_name(entry.path(), entry.file_name())?;
            }
        }
    }
    archive.into_inner()?.finish()?;
    Ok(())
}
