//! Remembers the redirects that a client has followed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::redirect::Policy;
use url::Url;

/// The redirects of the request in flight.
#[derive(Clone, Default)]
pub(super) struct Hops(Arc<Mutex<Followed>>);

#[derive(Default)]
struct Followed {
    /// Most redirects to follow.
    most: u32,
    /// URL of the last one; `None` if none was followed.
    last: Option<Url>,
}

impl Hops {
    /// Begins another request, which follows at most `most` consecutive redirects.
    pub(super) fn begin(&self, most: u32) {
        *self.followed() = Followed { most, last: None };
    }

    /// Whether a redirect was followed.
    pub(super) fn has_moved(&self) -> bool {
        self.followed().last.is_some()
    }

    /// Returns the URL of the last redirect.
    pub(super) fn last(&self) -> Option<Url> {
        self.followed().last.clone()
    }

    /// Returns the policy that follows the redirects, and remembers them.
    pub(super) fn policy(self) -> Policy {
        Policy::custom(move |attempt| {
            let mut followed = self.followed();
            match attempt.previous().len() as u64 {
                _ if followed.most == 0 => attempt.stop(),
                // The first of the URLs before is that of the request.
                before if before > followed.most.into() => attempt.error("too many redirects"),
                _ => {
                    followed.last = Some(attempt.url().clone());
                    attempt.follow()
                }
            }
        })
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
