//! How the result leaves the manager's pod. The pod of a program that has ended can be asked for nothing any more, and a
//! log is cut when it is long. So the manager waits at its end, and `kubectl exec` starts a second loadgen in its pod,
//! which hands the folder of the run over on its standard output.
//!
//! That output is lines `waiting` while the run goes on, so that nothing between takes the connection for idle, then
//! `over CODE LENGTH` with the exit code, then the folder as a compressed archive of so many bytes. Its input are the lines `stop`, which
//! interrupts the run, and `taken`, which ends the manager's wait.

use std::fs;
use std::io::{self, BufRead as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::kubectl::{Kubectl, said};
use super::manifests::RESULT;

/// File whose text is the exit code of the run that is over.
const OVER: &str = "/tmp/over";

/// File that is there when the result was taken.
const TAKEN: &str = "/tmp/taken";

/// Time between two looks at these files.
const LOOK: Duration = Duration::from_millis(100);

/// Time between two signs of life.
const WAITING: Duration = Duration::from_secs(5);

/// Time without a sign of life after which a connection is taken for dead.
const SILENCE: Duration = Duration::from_secs(30);

/// Most bytes of a compressed result.
const LARGEST: u64 = 1 << 30;

/// Said of a connection without a sign of life.
const SILENT: &str = "the connection is silent";

/// Words of the protocol.
const STOP: &str = "stop";
const TAKE: &str = "taken";

/// In the manager's pod: tells that the run is over, and waits until its result was taken, until the pod is to end, or
/// until the limit.
///
/// # Errors
/// If the files cannot be written, or signals not be received.
pub async fn await_hand_over(code: u8, limit: Duration) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let temporary = format!("{OVER}.new");
    fs::write(&temporary, code.to_string())?;
    fs::rename(temporary, OVER)?;
    let taken = async {
        while !Path::new(TAKEN).exists() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = taken => {}
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
        () = tokio::time::sleep(limit) => {}
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
                // The manager is the first process of its container.
                STOP => kill_process(Pid::INIT, Signal::INT)?,
                TAKE => return fs::write(TAKEN, ""),
                _ => {}
            }
        }
        Ok(())
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
fn pack(folder: &Path, out: impl io::Write) -> io::Result<()> {
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

/// Writes the files of such an archive into a folder.
fn unpack(packed: &[u8], folder: &Path) -> io::Result<()> {
    let mut decoder = GzDecoder::new(packed);
    let mut archive = tar::Archive::new(&mut decoder);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.file_name().map(Path::new).map(Path::to_owned);
        if let Some(name) = name.filter(|_| entry.header().entry_type().is_file()) {
            io::copy(&mut entry, &mut fs::File::create(folder.join(name))?)?;
        }
    }
    // The end has the checksum of all.
    io::copy(&mut decoder, &mut io::sink()).map(drop)
}

/// Reads the line before a result: its exit code and its length.
fn over(line: &str) -> Option<(u8, u64)> {
    let (code, length) = line.strip_prefix("over ")?.split_once(' ')?;
    code.parse().ok().zip(length.parse().ok())
}

/// What happened to a request for the result.
pub(super) enum Fetched {
    /// The result is in the folder, and the run ended with this code. Nobody has told the pod yet: [`Fetch::done`].
    All(Fetch, u8),
    /// The connection broke, for this reason.
    Broken(String),
    /// The result cannot be saved, for this reason.
    Unsaved(String),
}

/// A connection over which the result has come.
pub(super) struct Fetch {
    child: tokio::process::Child,
    stdin: tokio::process::ChildStdin,
}

impl Fetch {
    /// Tells the manager's pod that it need not wait any more.
    pub async fn done(mut self) {
        // If this fails, the pod is gone already.
        let _ = self.stdin.write_all(format!("{TAKE}\n").as_bytes()).await;
        drop(self.stdin);
        let _ = tokio::time::timeout(SILENCE, self.child.wait()).await;
    }
}

/// Waits for the end of the run in this pod, and writes its result into the folder. Stops the run when `stop` is
/// cancelled.
pub(super) async fn fetch(
    kubectl: &Kubectl,
    pod: &str,
    folder: &Path,
    stop: &CancellationToken,
) -> Fetched {
    let words = ["exec", "--stdin", pod, "--container=loadgen", "--", "loadgen", "hand-over"];
    let mut command = Command::from(kubectl.command(&words));
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let broken = |error: io::Error| Fetched::Broken(error.to_string());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return broken(error),
    };
    let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Fetched::Broken("kubectl has no output".to_owned());
    };
    let mut lines = BufReader::new(stdout).lines();
    let mut is_told = false;
    let (code, length) = loop {
        tokio::select! {
            () = stop.cancelled(), if !is_told => {
                is_told = true;
                if let Err(error) = stdin.write_all(format!("{STOP}\n").as_bytes()).await {
                    return broken(error);
                }
            }
            line = tokio::time::timeout(SILENCE, lines.next_line()) => match line {
                Err(_) => return Fetched::Broken(SILENT.to_owned()),
                Ok(Err(error)) => return broken(error),
                Ok(Ok(None)) => {
                    let mut text = Vec::new();
                    let _ = stderr.read_to_end(&mut text).await;
                    return match child.wait().await {
                        Ok(status) => Fetched::Broken(said(&text, status)),
                        Err(error) => broken(error),
                    };
                }
                Ok(Ok(Some(line))) => if let Some(over) = over(&line) {
                    break over;
                },
            },
        }
    };
    if length > LARGEST {
        return Fetched::Unsaved(format!("it has {length} bytes"));
    }
    let mut packed = Vec::new();
    // The other end keeps the connection open until it is told.
    let mut rest = lines.into_inner().take(length);
    loop {
        match tokio::time::timeout(SILENCE, rest.read_buf(&mut packed)).await {
            Ok(Ok(0)) => break,
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return broken(error),
            Err(_) => return Fetched::Broken(SILENT.to_owned()),
        }
    }
    if packed.len() as u64 != length {
        return Fetched::Broken("the connection ended too early".to_owned());
    }
    let unpacked = tokio::task::block_in_place(|| unpack(&packed, folder));
    match unpacked {
        Ok(()) => Fetched::All(Fetch { child, stdin }, code),
        Err(error) => Fetched::Unsaved(format!("{}: {error}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_arrives_as_it_was() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("run.json"), "{}").unwrap();
        fs::write(from.path().join("report.html"), vec![7; 100_000]).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.path().join("link")).unwrap();
        let mut packed = Vec::new();
        pack(from.path(), &mut packed).unwrap();
        unpack(&packed, to.path()).unwrap();
        assert_eq!(fs::read_to_string(to.path().join("run.json")).unwrap(), "{}");
        assert_eq!(fs::read(to.path().join("report.html")).unwrap(), vec![7; 100_000]);
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 2);
        assert!(unpack(&packed[..packed.len() - 4], to.path()).is_err(), "a part is noticed");
    }

    #[test]
    fn a_run_that_left_nothing_has_an_empty_result() {
        let to = tempfile::tempdir().unwrap();
        let mut packed = Vec::new();
        pack(Path::new("/nowhere"), &mut packed).unwrap();
        unpack(&packed, to.path()).unwrap();
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_hostile_archive_writes_only_into_the_folder() {
        let to = tempfile::tempdir().unwrap();
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_mode(0o644);
        // The library refuses to write such a name.
        header.as_mut_bytes()[..10].copy_from_slice(b"../outside");
        header.set_cksum();
        archive.append(&header, &b"x"[..]).unwrap();
        let packed = archive.into_inner().unwrap().finish().unwrap();
        let folder = to.path().join("inside");
        fs::create_dir(&folder).unwrap();
        unpack(&packed, &folder).unwrap();
        assert!(folder.join("outside").exists() && !to.path().join("outside").exists());
    }

    #[test]
    fn the_line_before_a_result_is_read() {
        assert_eq!(over("over 3 1024"), Some((3, 1_024)));
        for line in ["waiting", "over", "over 3", "over 999 1", "over x 1"] {
            assert_eq!(over(line), None, "{line}");
        }
    }
}
