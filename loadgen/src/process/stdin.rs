//! Reads standard input, through which one process controls another.

use std::io::{self, BufRead, Read};
use std::thread;

use tokio_util::sync::CancellationToken;

/// Returns the first lines of standard input, or fewer if it ends before. Cancels `gone` when the input ends.
///
/// Reads on a separate thread, because Tokio would wait for its own threads at the end of the
/// process.
pub async fn first_lines(count: usize, gone: &CancellationToken) -> io::Result<Vec<String>> {
    let (lines, first) = tokio::sync::oneshot::channel();
    let gone = gone.clone();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut stdin = io::stdin().lock();
        let read: Vec<String> = stdin.by_ref().lines().map_while(Result::ok).take(count).collect();
        let _ = lines.send(read);
        // The rest of the input is ignored: only the end of the input matters.
        let mut ignored = [0; 64];
        while stdin.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
        gone.cancel();
    })?;
    Ok(first.await.unwrap_or_default())
}
