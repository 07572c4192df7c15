//! Fetches the result of a run from the manager's pod, as `hand_over` sends it, and stops the run if the user wants so.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use flate2::read::GzDecoder;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use super::hand_over::{DECLINE, STOP, TAKE};
use super::kubectl::{Kubectl, said};

/// Time without a sign of life after which a connection is taken for dead.
const SILENCE: Duration = Duration::from_secs(30);

/// Most bytes of a compressed result.
const LARGEST: u64 = 1 << 30;

/// Most bytes before a result: those of ten days.
const LONGEST: u64 = 2 << 20;

/// Said of a connection without a sign of life.
const SILENT: &str = "the connection is silent";

/// Outcome of a request for the result.
pub(super) enum Fetched {
    /// The result is in the folder, and the run ended with this code. Nobody has told the pod yet: [`Fetch::done`].
    All(Fetch, u8),
    /// The connection broke.
    Broken {
        /// Why it broke.
        why: String,
        /// Whether the manager gave a sign of life on it.
        was_alive: bool,
    },
    /// The result cannot be saved in its folder.
    Unsaved(Unsaved),
}

/// Where a result is that cannot be saved in its folder, and why.
#[derive(Debug)]
pub(super) enum Unsaved {
    /// In another folder, which the reason names.
    Elsewhere(String),
    /// Only where the manager has it.
    Nowhere(String),
}

/// A connection over which the result has come.
pub(super) struct Fetch {
    child: Child,
    stdin: ChildStdin,
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

/// Tells the manager in this pod that nobody will take its result.
pub(super) async fn decline(kubectl: &Kubectl, pod: &str) {
    // If this fails, the manager waits until the cluster ends it.
    let _ = kubectl.run(&hand_over(pod), &format!("{DECLINE}\n")).await;
}

/// Returns the words of `kubectl` for a program in the manager's pod that hands the result over.
fn hand_over(pod: &str) -> [&str; 7] {
    ["exec", "--stdin", pod, "--container=loadgen", "--", "loadgen", "hand-over"]
}

/// Waits for the end of the run in this pod, and writes its result into the folder. Stops the run when `stop` is
/// cancelled.
pub(super) async fn fetch(
    kubectl: &Kubectl,
    pod: &str,
    folder: &Path,
    stop: &CancellationToken,
) -> Fetched {
    let mut command = Command::from(kubectl.command(&hand_over(pod)));
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let dead = |why: String| Fetched::Broken { why, was_alive: false };
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return dead(error.to_string()),
    };
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return dead("kubectl has no output".to_owned());
    };
    let heard = tokio::spawn(last_words(stderr));
    let mut was_alive = false;
    let packed = receive(&mut stdin, BufReader::new(stdout), stop, &mut was_alive).await;
    let (code, packed) = match packed {
        Ok(Some(packed)) => packed,
        Err(why) => return Fetched::Broken { why, was_alive },
        // It has ended, and says why.
        Ok(None) => {
            let ended = tokio::time::timeout(SILENCE, child.wait()).await;
            let why = match ended {
                Ok(Ok(status)) => said(&heard.await.unwrap_or_default(), status),
                _ => SILENT.to_owned(),
            };
            return Fetched::Broken { why, was_alive };
        }
    };
    match tokio::task::block_in_place(|| save(&packed, folder)) {
        Ok(()) => Fetched::All(Fetch { child, stdin }, code),
        Err(unsaved) => Fetched::Unsaved(unsaved),
    }
}

/// Receives the exit code of the run and its packed result; `None` if the other end has ended.
async fn receive(
    stdin: &mut ChildStdin,
    stdout: BufReader<ChildStdout>,
    stop: &CancellationToken,
    was_alive: &mut bool,
) -> Result<Option<(u8, Vec<u8>)>, String> {
    // Nobody sends so much before a result.
    let mut lines = stdout.take(LONGEST).lines();
    let mut is_told = false;
    let (code, length) = loop {
        tokio::select! {
            () = stop.cancelled(), if !is_told => {
                is_told = true;
                let line = format!("{STOP}\n");
                stdin.write_all(line.as_bytes()).await.map_err(|error| error.to_string())?;
            }
            line = tokio::time::timeout(SILENCE, lines.next_line()) => {
                let line = line.map_err(|_| SILENT.to_owned())?;
                let Some(line) = line.map_err(|error| error.to_string())? else { return Ok(None) };
                *was_alive = true;
                if let Some(over) = over(&line) {
                    break over;
                }
            }
        }
    };
    if length > LARGEST {
        return Err(format!("the result has {length} bytes"));
    }
    let mut packed = Vec::new();
    // The other end keeps the connection open until it is told.
    let mut rest = lines.into_inner().into_inner().take(length);
    loop {
        match tokio::time::timeout(SILENCE, rest.read_buf(&mut packed)).await {
            Ok(Ok(0)) => break,
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err(SILENT.to_owned()),
        }
    }
    match packed.len() as u64 == length {
        true => Ok(Some((code, packed))),
        false => Err("the connection ended too early".to_owned()),
    }
}

/// Reads an output of errors to its end, and returns the last part.
async fn last_words(mut stderr: ChildStderr) -> Vec<u8> {
    let mut last = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(bytes @ 1..) = stderr.read(&mut buffer).await {
        last.extend_from_slice(&buffer[..bytes]);
        let more = last.len().saturating_sub(buffer.len());
        last.drain(..more);
    }
    last
}

/// Saves a result in the folder, or else in a new folder for temporary files.
///
/// # Errors
/// Returns where it is, if not in the folder.
fn save(packed: &[u8], folder: &Path) -> Result<(), Unsaved> {
    let Err(error) = unpack(packed, folder) else { return Ok(()) };
    let why = format!("{}: {error}", folder.display());
    let elsewhere = tempfile::Builder::new().prefix("loadgen-").tempdir();
    let saved = elsewhere.and_then(|other| unpack(packed, other.path()).map(|()| other.keep()));
    Err(match saved {
        Ok(path) => Unsaved::Elsewhere(format!("{why}; it is in {}", path.display())),
        Err(other) => Unsaved::Nowhere(format!("{why}; nor elsewhere: {other}")),
    })
}

/// Writes the files of a compressed archive into a folder.
fn unpack(packed: &[u8], folder: &Path) -> io::Result<()> {
    let mut decoder = GzDecoder::new(packed).take(LARGEST);
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

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::super::hand_over::pack;
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
    fn a_result_that_does_not_fit_is_saved_elsewhere() {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("run.json"), "{}").unwrap();
        let mut packed = Vec::new();
        pack(from.path(), &mut packed).unwrap();
        let Err(Unsaved::Elsewhere(why)) = save(&packed, Path::new("/nowhere")) else {
            panic!("it is not elsewhere")
        };
        let (_, elsewhere) = why.split_once("; it is in ").unwrap();
        assert_eq!(fs::read_to_string(Path::new(elsewhere).join("run.json")).unwrap(), "{}");
        fs::remove_dir_all(elsewhere).unwrap();
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
    fn a_result_that_fits_nowhere_is_known_to_be_left() {
        // As on a disk that is full, no folder holds it whole.
        let saved = save(b"no archive", Path::new("/nowhere"));
        assert!(matches!(saved, Err(Unsaved::Nowhere(why)) if why.contains("; nor elsewhere: ")));
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
