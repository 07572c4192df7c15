//! Runs commands on other hosts, with the system's `ssh`.

use std::io;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::host_fault::HostFault;
use loadgen_text::in_one_line;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// Exit status of `ssh` if it failed itself, instead of the command on the host.
const OF_SSH: i32 = 255;

/// Most lines of what `ssh` said that an error quotes.
const LINES: usize = 3;

/// Program that starts another in a session of its own, where there is one.
const SETSID: &str = "/usr/bin/setsid";

/// Settings of each connection. Nobody answers questions, because several connections would ask at the same time. What
/// a user's configuration runs is not for this connection, and what it forwards ends no connection. A host that is gone
/// is noticed.
const SETTINGS: [&str; 16] = [
    // Those before OpenSSH 8.7 do not know them.
    "IgnoreUnknown=SessionType,StdinNull,ForkAfterAuthentication",
    "SessionType=default",
    "StdinNull=no",
    "ForkAfterAuthentication=no",
    "PermitLocalCommand=no",
    "Tunnel=no",
    "ExitOnForwardFailure=no",
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "RemoteCommand=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    // A connection that another program shares would outlive this one, with the forwarded port.
    "ControlPath=none",
    // Says which port was forwarded.
    "LogLevel=INFO",
];

/// Options of a connection that forwards nothing.
pub(super) const CLEARED: [&str; 2] = ["-o", "ClearAllForwardings=yes"];

/// Returns `ssh` with these further options, which runs this script of a POSIX shell on a host. The script has no single
/// quote.
pub(super) fn command(host: &str, options: &[&str], script: &str) -> Command {
    // Without a terminal, no ssh to a jump host can ask a question either. A terminal's Ctrl-C reaches loadgen alone.
    let mut command = match Path::new(SETSID).is_file() {
        true => {
            let mut command = Command::new(SETSID);
            command.arg("ssh");
            command
        }
        false => {
            let mut command = Command::new("ssh");
            command.process_group(0);
            command
        }
    };
    command
        .env("SSH_ASKPASS_REQUIRE", "never")
        .arg("-T")
        .args(SETTINGS.iter().flat_map(|setting| ["-o", setting]))
        .args(options)
        .args(["--", host])
        // Whatever the user's shell is there.
        .arg(format!("exec sh -c '{script}'"))
        .kill_on_drop(true)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a script on a host with this input, and returns what it printed. Fails with a reason, at the latest after
/// `limit`.
pub(super) async fn run(
    host: &str,
    options: &[&str],
    script: &str,
    input: &[u8],
    limit: Duration,
) -> Result<String, HostFault> {
    let run = async {
        let options = [options, &CLEARED].concat();
        let mut child =
            command(host, &options, script).spawn().map_err(|error| not_started(&error))?;
        let mut stdin = child.stdin.take();
        let write = async {
            if let Some(pipe) = &mut stdin {
                // If this fails, the command has ended, and says why.
                let _ = pipe.write_all(input).await;
            }
            drop(stdin.take());
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), write);
        let Output { status, stdout, stderr } = output.map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
            // A shell that accepts nobody says so on standard output.
            false => Err(HostFault {
                why: said(
                    &String::from_utf8_lossy(&stderr),
                    &said(&String::from_utf8_lossy(&stdout), &status.to_string()),
                ),
                is_of_ssh: status.code() == Some(OF_SSH),
            }),
        }
    };
    timeout(limit, run).await.unwrap_or_else(|_| {
        Err(format!("it did not answer within {}", humantime::format_duration(limit)).into())
    })
}

/// Says why `ssh` could not be started.
pub(super) fn not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no program ssh on this host".to_owned(),
        _ => format!("ssh cannot be started: {error}"),
    }
}

/// Words of `ssh` for a host whose key is not the known one, between others that say how to remove that.
const OTHER_KEY: &str = "REMOTE HOST IDENTIFICATION HAS CHANGED";

/// Beginning of the line in which `ssh` says that it has learned a key.
const NEW_KEY: &str = "Warning: Permanently added";

/// Words of [`SETSID`] on a machine without `ssh`.
const NO_SSH: &str = "failed to execute ssh";

/// Returns the last lines of an output of errors, or else the status.
pub(super) fn said(stderr: &str, status: &str) -> String {
    if stderr.contains(OTHER_KEY) && stderr.contains("Host key verification failed") {
        return "a key is not the one that ssh knows, its own or that of a jump host: another machine may answer. Find \
                out why it has changed before you replace it (ssh-keygen -R)"
            .to_owned();
    }
    if stderr.contains(NO_SSH) {
        return not_started(&io::ErrorKind::NotFound.into());
    }
    let lines = stderr.lines().map(str::trim);
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with(NEW_KEY)).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| in_one_line(line));
    let last: Vec<_> = last.collect();
    if last.is_empty() { status.to_owned() } else { last.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_says_is_told_in_few_words() {
        let said = |text: &str| said(text, "exit status: 255");
        let banner = "@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@\nremove with: ssh-keygen -R\n";
        assert!(
            said(&format!("{banner}Host key verification failed.\n")).starts_with("a key is not")
        );
        assert!(
            said(&format!("{banner}a\nb\nPermission denied\n")).ends_with("; Permission denied")
        );
        let learned = "Warning: Permanently added 'one' (ED25519) to the list of known hosts.\r\n";
        assert_eq!(said(learned), "exit status: 255");
        assert_eq!(said(&format!("{learned}not available\n")), "not available");
        let absent = "setsid: failed to execute ssh: No such file or directory\n";
        assert_eq!(said(absent), "there is no program ssh on this host");
    }
}
