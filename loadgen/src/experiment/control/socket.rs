//! Connects `loadgen ctl` to a run through a socket in the run's folder. A request and its
//! answer are one line of JSON each.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::Control;
use super::request::{ControlError, ControlRequest};
use crate::failure::{Exit, Failure};

/// File name of the socket in a run's folder.
const NAME: &str = "ctl.sock";
/// Maximum length of a request and of an answer, in bytes.
const LONGEST: u64 = 4096;
/// Time in which a caller must send its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length, in bytes, of a socket path that is
/// used unchanged. Systems allow 104 to 108 bytes.
const SHORT: usize = 100;

/// Listening socket for `loadgen ctl`, open until it is dropped.
pub struct ControlSocket {
    path: PathBuf,
    serving: JoinHandle<()>,
}

impl ControlSocket {
    /// Opens the socket for `loadgen ctl` in the folder of a run. Only the socket's owner can
    /// connect, because connecting requires write permission.
    pub fn open(folder: &Path, control: &Control) -> io::Result<Self> {
        // Binds in a folder that no other user can enter, until the socket has its permissions.
        let own = Permissions::from_mode(0o700);
        let hidden = tempfile::Builder::new().prefix(".ctl").permissions(own).tempdir_in(folder)?;
        let (_open, path) = reach(hidden.path())?;
        let listener = UnixListener::bind(&path)?;
        let (made, path) = (hidden.path().join(NAME), folder.join(NAME));
        fs::set_permissions(&made, Permissions::from_mode(0o600))?;
        fs::rename(&made, &path)?;
        let serving = tokio::spawn(serve(listener, control.clone()));
        Ok(Self { path, serving })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.serving.abort();
        // An error is ignored: nobody answers on a file that remains.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns a path of the socket in `folder` that is short enough for the system, even if the
/// folder's path is longer. The path is valid while the returned file is open.
fn reach(folder: &Path) -> io::Result<(File, PathBuf)> {
    let open = File::open(folder)?;
    let path = folder.join(NAME);
    let path = match path.as_os_str().len() <= SHORT {
        true => path,
        false => PathBuf::from(format!("/proc/self/fd/{}/{NAME}", open.as_raw_fd())),
    };
    Ok((open, path))
}

async fn serve(listener: UnixListener, control: Control) {
    loop {
        match listener.accept().await {
            Ok((caller, _)) => drop(tokio::spawn(answer(caller, control.clone()))),
            // For example, too many open files: a temporary error.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut caller: UnixStream, control: Control) {
    let mut line = String::new();
    let mut said = BufReader::new((&mut caller).take(LONGEST));
    let Ok(Ok(_)) = tokio::time::timeout(PATIENCE, said.read_line(&mut line)).await else { return };
    let answer = match serde_json::from_str::<ControlRequest>(&line) {
        Ok(request) => control.carry_out(request).await,
        Err(_) => Err(ControlError::new(
            Exit::Failed,
            "unknown_request",
            "the run does not know the request".to_owned(),
            Some("use the same version of loadgen as the run"),
        )),
    };
    if let Ok(text) = serde_json::to_string(&answer) {
        // A caller that does not wait for the answer gets none.
        let _ = caller.write_all(format!("{text}\n").as_bytes()).await;
    }
}

/// Returns the newest folder of a run in progress among the folders in `runs`, if any. The names of
/// folders begin with the time.
pub fn newest_in(runs: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(runs).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    // A killed run leaves its socket behind.
    let answers = |folder: &PathBuf| {
        reach(folder)
            .is_ok_and(|(_open, path)| std::os::unix::net::UnixStream::connect(path).is_ok())
    };
    folders.filter(answers).max()
}

/// Asks the run in `folder` to carry out a request, and returns what the run did.
///
/// # Errors
/// Fails if no run is in progress in `folder`, or if the run refuses the request.
pub async fn ask(folder: &Path, request: ControlRequest) -> Result<String, Failure> {
    let unheard = |error: io::Error| unheard(folder, &error);
    let (_open, path) = reach(folder).map_err(unheard)?;
    let mut run = UnixStream::connect(path).await.map_err(unheard)?;
    let text = serde_json::to_string(&request).map_err(|e| unheard(e.into()))?;
    run.write_all(format!("{text}\n").as_bytes()).await.map_err(unheard)?;
    let mut line = String::new();
    let mut said = BufReader::new(run.take(LONGEST));
    said.read_line(&mut line).await.map_err(unheard)?;
    match serde_json::from_str::<Result<String, ControlError>>(&line) {
        Ok(answer) => Ok(answer?),
        Err(_) => {
            let message = format!("the run in {} ended before it answered", folder.display());
            let help = "see the folder and the terminal of the run";
            Err(Failure::message(Exit::Failed, "run_ended", message, help))
        }
    }
}

/// Explains why a run could not be reached.
fn unheard(folder: &Path, error: &io::Error) -> Failure {
    let folder = folder.display();
    if error.kind() == io::ErrorKind::PermissionDenied {
        let message = format!("the run in {folder} belongs to another user");
        let help = "only the user who started a run may change the run";
        return Failure::message(Exit::Failed, "run_of_another_user", message, help);
    }
    let gone = [
        io::ErrorKind::NotFound,
        io::ErrorKind::NotADirectory,
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::BrokenPipe,
    ];
    let why = match gone.contains(&error.kind()) {
        true => String::new(),
        false => format!(": {error}"),
    };
    let message = format!("no run is in progress in {folder}{why}");
    let help =
        "name the folder of a run in progress: the folder of its --out, or the newest in runs/";
    Failure::message(Exit::Failed, "no_run", message, help)
}
