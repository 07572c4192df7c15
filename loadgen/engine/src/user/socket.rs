//! Runs a user that has a WebSocket.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use super::super::transport::Slot;

/// Longest time for which a user waits for its server to close the user's WebSocket, after the user's last request.
const GOODBYE: Duration = Duration::from_millis(500);

/// Runs a user and its WebSocket, and closes the WebSocket after the user's last request.
pub(super) async fn run(user: impl Future<Output = ()>, socket: &Slot) {
    beside(user, socket).await;
    // A server that does not answer is not waited for.
    let away = poll_fn(|context| socket.poll_away(context));
    let _ = tokio::time::timeout(GOODBYE, away).await;
}

/// Runs a user, and its WebSocket while the user waits for something else.
async fn beside(user: impl Future<Output = ()>, socket: &Slot) {
    let mut user = pin!(user);
    poll_fn(|context| {
        let polled = user.as_mut().poll(context);
        if polled.is_pending() {
            socket.poll_idle(context);
        }
        polled
    })
    .await;
}
