//! Remembers the redirects that a client has followed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::redirect::Policy;
use url::Url;

/// The URL of the last redirect of the request in flight, if one was followed.
#[derive(Clone, Default)]
pub(super) struct Hops(Arc<Mutex<Option<Url>>>);

impl Hops {
    /// Begins another request.
    pub(super) fn clear(&self) {
        *self.url() = None;
    }

    /// Whether a redirect was followed.
    pub(super) fn has_moved(&self) -> bool {
        self.url().is_some()
    }

    /// Returns the URL of the last redirect.
    pub(super) fn last(&self) -> Option<Url> {
        self.url().clone()
    }

    /// Returns the policy that follows at most `most` consecutive redirects, and remembers them.
    pub(super) fn policy(self, most: u32) -> Policy {
        Policy::custom(move |attempt| {
            // The first of the URLs before is that of the request.
            if attempt.previous().len() > most as usize {
                return attempt.error("too many redirects");
            }
            *self.url() = Some(attempt.url().clone());
            attempt.follow()
        })
    }

    fn url(&self) -> MutexGuard<'_, Option<Url>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
