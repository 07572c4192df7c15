//! A browser that shows the page, and what it is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::response::sse::Event;
use tokio::sync::watch;

use super::shared::{Shared, Stage};

/// A browser that shows the page.
pub(super) struct Viewer {
    shared: Arc<Shared>,
    now: watch::Receiver<Arc<str>>,
    /// Number of the entry of the past that the viewer is told next.
    next: usize,
    /// Whether the viewer was told that the command has ended.
    is_over: bool,
}

impl Viewer {
    pub(super) fn new(shared: Arc<Shared>, next: usize) -> Self {
        shared.viewers.fetch_add(1, Ordering::Relaxed);
        let mut now = shared.now.subscribe();
        now.mark_changed();
        Self { shared, now, next, is_over: false }
    }

    /// Waits for something new, and returns it; `None` after the end of the command.
    pub(super) async fn next_event(&mut self) -> Option<Event> {
        if self.is_over {
            // The connection stays until the browser ends it, which then has the report.
            self.shared.closed.cancelled().await;
            return None;
        }
        self.now.changed().await.ok()?;
        let ended = match &*self.shared.stage.borrow() {
            Stage::GoesOn => None,
            Stage::Ended(report) => Some(report.is_some()),
        };
        self.is_over = ended.is_some();
        let (past, next) = self.shared.past().since(self.next);
        self.next = next;
        let (id, now) = (&self.shared.id, self.now.borrow_and_update().clone());
        let ended = match ended {
            None => "null",
            Some(true) => "\"report\"",
            Some(false) => "\"nothing\"",
        };
        let data = format!("{{\"id\":\"{id}\",\"now\":{now},\"past\":{past},\"ended\":{ended}}}");
        Some(Event::default().id(format!("{id} {next}")).data(data))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.shared.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}
