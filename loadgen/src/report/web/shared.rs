//! State of the page, which the command and the page's thread share.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::access::Controls;
use super::past::Past;

/// State of the page, which its thread and the command share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Random name of this page. A viewer who still shows another command begins anew.
    pub(super) id: String,
    /// What is measured, in a word or two.
    pub(super) kind: &'static str,
    pub(super) title: String,
    /// Names of this host, besides its addresses, by which browsers may ask for the page.
    pub(super) names: Vec<String>,
    pub(super) controls: Option<Controls>,
    /// Only the page's thread uses it, so that nobody waits.
    pub(super) past: Mutex<Past>,
    /// Text of what is known, in JSON, which changes once a second.
    pub(super) now: watch::Sender<Arc<str>>,
    pub(super) stage: watch::Sender<Stage>,
    /// Cancelled when the page is served no more.
    pub(super) closed: CancellationToken,
    /// Number of viewers who are told what happens. A browser that has the report is none any more.
    pub(super) viewers: AtomicUsize,
}

/// Whether the command still measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    GoesOn,
    /// It has ended. Holds the path of the report, if there is one.
    Ended(Option<PathBuf>),
}

impl Shared {
    pub(super) fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
