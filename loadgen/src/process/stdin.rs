//! Standard input, as one process leads another by it.

use std::io::{self, BufRead, Read};
use std::thread;

use tokio_util::sync::CancellationToken;

/// The first line of standard input; `gone` is cancelled when the input ends.
///
/// In a thread of its own and not in Tokio's, which would wait for it at the end of the process.
pub async fn first_line(gone: &CancellationToken) -> io::Result<Option<String>> {
    let (line, first) = tokio::sync::oneshot::channel();
    let gone = gone.clone();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut text = String::new();
        if stdin.read_line(&mut text).is_ok_and(|bytes| bytes > 0) {
            let _ = line.send(text);
            // Nothing more is said; the end of it is what matters.
            let mut ignored = [0; 64];
            while stdin.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
        }
        gone.cancel();
    })?;
    Ok(first.await.ok())
}
