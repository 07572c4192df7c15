//! The socket in a run's folder: one line with a request, one with the answer, both JSON.

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

/// The socket's name in the folder.
const NAME: &str = "ctl.sock";
/// No request and no answer is longer, in bytes.
const LONGEST: u64 = 4096;
/// How long a caller may take to say what it asks for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The system allows for 104 to 108 bytes in the path of a socket.
const SHORT: usize = 100;

/// The way in for `loadgen ctl`: open until it is dropped.
pub struct ControlSocket {
    path: PathBuf,
    serving: JoinHandle<()>,
}

impl ControlSocket {
    /// Opens it in the folder of a run. Only who may write to the socket, its owner, can come in.
    pub fn open(folder: &Path, control: &Control) -> io::Result<Self> {
        // In a folder that nobody else can enter, until it is theirs no more.
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
        // Where it can't be removed nobody answers any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// A path of the socket in a folder that is short enough for the system, however long that of the
/// folder is; it leads there as long as the file is open.
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
            // Too many open files, say: that passes.
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
        Err(_) => Err(ControlError {
            message: "the run did not understand what it was told".to_owned(),
            help: Some("use the same version of loadgen as the run does".to_owned()),
            exit: Exit::Failed,
        }),
    };
    if let Ok(text) = serde_json::to_string(&answer) {
        // Who does not wait for the answer gets none.
        let _ = caller.write_all(format!("{text}\n").as_bytes()).await;
    }
}

/// Has the run whose folder this is carry out a request, and tells what it did.
///
/// # Errors
/// Where no run goes on there, or it refused.
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
            Err(Failure::message(Exit::Failed, message, "its folder and its terminal tell more"))
        }
    }
}

/// Why a run could not be told.
fn unheard(folder: &Path, error: &io::Error) -> Failure {
    let folder = folder.display();
    if error.kind() == io::ErrorKind::PermissionDenied {
        let message = format!("the run in {folder} is another user's");
        return Failure::message(Exit::Failed, message, "only who started a run may change it");
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
    let message = format!("no run goes on in {folder}{why}");
    let help = "name the folder of one that does: what its --out says, or the newest in runs/";
    Failure::message(Exit::Failed, message, help)
}
