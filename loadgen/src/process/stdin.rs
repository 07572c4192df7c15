//! Reads standard input, through which one process controls another.

use std::io::{self, BufRead, Read};
use std::thread;

use tokio_util::sync::CancellationToken;

/// Returns the first line of standard input, or `None` if there is no line. Cancels `gone` when the
/// input ends.
///
/// Reads on a separate thread, because Tokio would wait for its own threads at the end of the
/// process.
pub async fn first_line(gone: &CancellationToken) -> io::Result<Option<String>> {
    let (line, first) = tokio::sync::oneshot::channel();
    let gone = gone.clone();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut text = String::new();
        if stdin.read_line(&mut text).is_ok_and(|bytes| bytes > 0) {
            let _ = line.send(text);
            // The rest of the input is ignored: only the end of the input matters.
            let mut ignored = [0; 64];
            while stdin.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
        }
        gone.cancel();
    })?;
    Ok(first.await.ok())
}
