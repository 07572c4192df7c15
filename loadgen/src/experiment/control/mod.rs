//! Controls a run in progress: by `loadgen ctl` through a socket in the run's
//! folder, and from the run's terminal.
//!
//! - `request`: the requests, their syntax, and their refusals.
//! - `socket`: both ends of the socket.
//! - `terminal`: input from the terminal, by lines, or by `keys` while the live view is shown.

mod keys;
mod request;
mod socket;
pub mod terminal;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use self::request::{ControlError, ControlRequest};
pub use self::socket::{ControlSocket, ask, newest_in};
use crate::engine::load::Planned;
use crate::engine::{LoadChange, LoadChangeRequest, Plan};
use crate::experiment::host_limits::HostLimits;
use crate::experiment::system_limits::Processes;
use crate::experiment::to_record::changed;
use crate::failure::Exit;
use crate::scenario::LoadLevel;

/// Function that shows a message which stays on the screen.
type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// Carries out users' requests to a run in progress, such
/// as a change of the load. All clones share one state.
#[derive(Clone)]
pub struct Control {
    /// Whether requests cannot change the load, because the command sets the load itself.
    is_fixed: bool,
    interrupt: CancellationToken,
    processes: Processes,
    /// Limits of the hosts of workers, once these have joined.
    hosts: Arc<OnceLock<HostLimits>>,
    note: Note,
    round: Arc<Mutex<Option<Round>>>,
}

/// The round that began last. After the end of the round, the receiver of `changes` is closed.
#[derive(Clone)]
struct Round {
    /// Name of the contender under load.
    target: String,
    warmup: Duration,
    changes: mpsc::UnboundedSender<LoadChangeRequest>,
    planned: Planned,
    /// Time since the start of the load, as last reported.
    elapsed: Duration,
    /// Latest change of the load in this round, if any.
    change: Option<LoadChange>,
}

impl Round {
    /// Returns the present load level: the latest change
    /// if its time has come, otherwise the planned level.
    fn present(&self) -> LoadLevel {
        let change = self.change.filter(|change| change.at <= self.elapsed);
        change.map_or_else(|| self.planned.at(self.elapsed), |change| change.to)
    }
}

impl Control {
    /// Creates the control of a run. The run ends when `interrupt` is cancelled, `processes` limits
    /// the number of users, and `note` shows what each request did.
    pub fn new(interrupt: CancellationToken, processes: Processes, note: Note) -> Self {
        Self {
            is_fixed: false,
            interrupt,
            processes,
            hosts: Arc::default(),
            note,
            round: Arc::default(),
        }
    }

    /// Returns a control for a command that sets the load itself: requests can
    /// end the run, and do nothing else.
    #[must_use]
    pub fn with_fixed_load(self) -> Self {
        Self { is_fixed: true, ..self }
    }

    /// Lets the limits of the hosts of workers, too, limit the number of users. Later calls have no effect: a run that can be
    /// controlled has one job.
    pub fn limit(&self, hosts: HostLimits) {
        let _ = self.hosts.set(hosts);
    }

    /// Begins a round over `target`, and returns the
    /// receiver of requests to change the round's load.
    pub fn open(&self, target: &str, plan: &Plan) -> mpsc::UnboundedReceiver<LoadChangeRequest> {
        let (changes, asked) = mpsc::unbounded_channel();
        *self.round() = Some(Round {
            target: target.to_owned(),
            warmup: plan.warmup,
            changes,
            planned: Planned::of(plan),
            elapsed: Duration::ZERO,
            change: None,
        });
        asked
    }

    /// Records the time since the start of the load, and returns the present load level;
    /// `None` before the first round.
    pub fn reached(&self, elapsed: Duration) -> Option<LoadLevel> {
        let mut round = self.round();
        let round = round.as_mut()?;
        round.elapsed = elapsed;
        Some(round.present())
    }

    fn round(&self) -> MutexGuard<'_, Option<Round>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a request, shows a sentence about what the run did, and returns this sentence.
    ///
    /// # Errors
    /// Fails if the run refuses the request, for example because no round is in progress.
    pub async fn carry_out(&self, request: ControlRequest) -> Result<String, ControlError> {
        let done = match request {
            ControlRequest::Stop => {
                self.interrupt.cancel();
                "the run ends; loadgen reports and saves the results so far".to_owned()
            }
            ControlRequest::Users(users) => self.change(LoadLevel::Users(users)).await?,
            ControlRequest::Rate(rate) => self.change(LoadLevel::Rate(rate)).await?,
        };
        self.note(&format!("  {done}"));
        Ok(done)
    }

    fn note(&self, text: &str) {
        (self.note)(text);
    }

    async fn change(&self, to: LoadLevel) -> Result<String, ControlError> {
        to.check().map_err(|wrong| ControlError::of(&wrong, Exit::Usage))?;
        if let LoadLevel::Users(users) = to {
            self.processes.allow(users).map_err(|limit| ControlError::of(&limit, Exit::Usage))?;
            let hosts = self.hosts.get().map_or(Ok(()), |hosts| hosts.allow(users));
            hosts.map_err(|limit| ControlError::of(&limit, Exit::Usage))?;
        }
        let round = self.round().clone().ok_or_else(|| self.no_round())?;
        let (answer, answered) = oneshot::channel();
        round.changes.send(LoadChangeRequest { to, answer }).map_err(|_| self.no_round())?;
        let change = answered.await.map_err(|_| self.no_round())??;
        if let Some(round) = self.round().as_mut() {
            round.change = Some(change);
        }
        let changed = changed(&change, round.warmup);
        Ok(format!("{changed} of the round over {}", round.target))
    }

    /// Returns the load level after all accepted changes; `None` if no round is in progress.
    fn aimed_at(&self) -> Option<LoadLevel> {
        let round = self.round();
        let round = round.as_ref().filter(|round| !round.changes.is_closed())?;
        Some(round.change.map_or_else(|| round.present(), |change| change.to))
    }

    fn no_round(&self) -> ControlError {
        if self.is_fixed {
            let message = "the load of this run is fixed; nothing was changed";
            return ControlError::new(Exit::Failed, "fixed_load", message.to_owned(), None);
        }
        let message = "the run has no round in progress; nothing was changed";
        let help = "try again after the start of the next round: a change applies to one round";
        ControlError::new(Exit::Failed, "no_round", message.to_owned(), Some(help))
    }
}
