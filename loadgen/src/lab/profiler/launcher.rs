//! Starts a server, and samples its stacks when asked. See the parent module.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::node::Node;
#[cfg(target_os = "linux")]
use super::sampler::sample;
use super::{Answer, command};
use crate::lab::machine::cpus::pin_self;

/// Options of a launcher.
#[derive(Debug, Clone)]
pub struct LauncherOptions {
    /// Socket on which the launcher listens.
    pub socket: PathBuf,
    /// CPUs on which the launcher itself may run; empty for those of the server.
    pub cpus: Vec<usize>,
    /// Command line of the target's own profiler; empty for those of loadgen.
    pub profiler: Vec<String>,
    /// Command line of the server. Not empty.
    pub argv: Vec<OsString>,
}

/// Runs the server until it ends. Passes on the signals that ask it to end.
///
/// Returns the exit code of the server, or 128 plus the number of the signal that ended it.
pub fn run(options: &LauncherOptions) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(launch(options))
}

async fn launch(options: &LauncherOptions) -> io::Result<u8> {
    let listener = UnixListener::bind(&options.socket)?;
    let mut ends =
        [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()].map(signal);
    let (program, arguments) = options.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let node = Node::listen(options.socket.parent().unwrap_or(Path::new(".")))?;
    let mut command = Command::new(program);
    let mut server =
        command.args(arguments).envs(node.environment()).stdin(Stdio::null()).spawn()?;
    let pid = server.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let pid = pid.ok_or(io::ErrorKind::NotFound)?;
    pin_self(&options.cpus)?;
    let [terminate, interrupt, quit] = &mut ends;
    let (terminate, interrupt, quit) = (terminate.as_mut(), interrupt.as_mut(), quit.as_mut());
    let (Ok(terminate), Ok(interrupt), Ok(quit)) = (terminate, interrupt, quit) else {
        return Err(io::Error::other("the signals that ask for the end cannot be handled"));
    };
    loop {
        let asked = tokio::select! {
            status = server.wait() => return Ok(exit_code(status?)),
            _ = terminate.recv() => Signal::TERM,
            _ = interrupt.recv() => Signal::INT,
            _ = quit.recv() => Signal::QUIT,
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let of = Samplers { server: pid, node: node.clone(), own: options.profiler.clone() };
                    tokio::spawn(serve(stream, of));
                }
                continue;
            }
        };
        // The server may have ended by itself.
        let _ = kill_process(pid, asked);
    }
}

/// Samplers of a server.
struct Samplers {
    server: Pid,
    node: Node,
    /// Command line of the target's own profiler, which is then the only one.
    own: Vec<String>,
}

/// Samples until the other side closes its half of the connection, and answers with what was seen.
async fn serve(mut stream: UnixStream, of: Samplers) -> io::Result<()> {
    let answer = match of.own.as_slice() {
        [] => of.sampled(&mut stream).await?,
        own => match command::Sampler::begin(own, of.server) {
            Ok(sampler) => {
                ended(&mut stream).await;
                sampler.end().await
            }
            Err(why) => Err(why),
        },
    };
    stream.write_all(&serde_json::to_vec(&answer)?).await?;
    stream.shutdown().await
}

/// Waits until the other side closes its half of the connection.
async fn ended(stream: &mut UnixStream) {
    let mut nothing = [0; 1];
    while matches!(stream.read(&mut nothing).await, Ok(1..)) {}
}

impl Samplers {
    /// Samples the processes of Python and of Node.js.
    async fn sampled(&self, stream: &mut UnixStream) -> io::Result<Answer> {
        let over = Arc::new(AtomicBool::new(false));
        let (server, until) = (self.server, over.clone());
        // A thread of its own: for the kernel, a thread is the one that looks into another process.
        let sampling = std::thread::spawn(move || sample(server, &until));
        let of_node = self.node.begin().await;
        ended(stream).await;
        over.store(true, Ordering::Relaxed);
        let is_node = !of_node.is_empty();
        let of_node = Node::end(of_node).await;
        let joined = tokio::task::spawn_blocking(move || sampling.join()).await?;
        let of_python = joined.unwrap_or_else(|_| Err("the sampler failed".to_owned()));
        Ok(match (of_python, of_node) {
            (Ok(mut stacks), Ok(of_node)) => {
                stacks.merge(of_node);
                Ok(stacks)
            }
            (Err(_), of_node) if is_node => of_node,
            (Err(why), _) | (_, Err(why)) => Err(why),
        })
    }
}

#[cfg(not(target_os = "linux"))]
fn sample(_server: Pid, _over: &AtomicBool) -> Answer {
    Err("loadgen samples stacks on Linux only".to_owned())
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
