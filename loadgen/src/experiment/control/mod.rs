//! Control of a run while it goes: by `loadgen ctl` through a socket in its folder, and from its
//! terminal.
//!
//! - `request`: what can be asked for, how it is written, and what becomes of it.
//! - `socket`: the socket, both ends of it. `terminal`: the other way in, by lines, or by `keys` where the live
//!   view is shown.

mod keys;
mod request;
mod socket;
pub mod terminal;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use self::request::{ControlError, ControlRequest};
pub use self::socket::{ControlSocket, ask};
use crate::engine::load::Planned;
use crate::engine::{LoadChange, LoadChangeRequest, Plan};
use crate::experiment::limits::Processes;
use crate::experiment::to_record::changed;
use crate::failure::Exit;
use crate::scenario::LoadLevel;

/// Says something that stays on the screen.
type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// What carries out requests; all copies are one.
#[derive(Clone)]
pub struct Control {
    /// Whether the load is what the command sets it to, and nobody else.
    is_fixed: bool,
    interrupt: CancellationToken,
    processes: Processes,
    note: Note,
    round: Arc<Mutex<Option<Round>>>,
}

/// The round that was begun last. When it is over nobody takes changes any more.
#[derive(Clone)]
struct Round {
    /// What it is over.
    target: String,
    warmup: Duration,
    changes: mpsc::UnboundedSender<LoadChangeRequest>,
    planned: Planned,
    /// How far it is.
    elapsed: Duration,
    /// How it was changed last.
    change: Option<LoadChange>,
}

impl Round {
    /// How much load there is to be: as it was changed, or else as planned.
    fn present(&self) -> LoadLevel {
        let change = self.change.filter(|change| change.at <= self.elapsed);
        change.map_or_else(|| self.planned.at(self.elapsed), |change| change.to)
    }
}

impl Control {
    /// Of a run that `interrupt` ends, with users in these processes; it says what it does.
    pub fn new(interrupt: CancellationToken, processes: Processes, note: Note) -> Self {
        Self { is_fixed: false, interrupt, processes, note, round: Arc::default() }
    }

    /// The same for a command that sets the load itself: it can be ended, and nothing else.
    #[must_use]
    pub fn with_fixed_load(self) -> Self {
        Self { is_fixed: true, ..self }
    }

    /// Begins a round over `target`; what it is given are the changes that it is asked for.
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

    /// The round has come so far; how much load there is to be now.
    pub fn reached(&self, elapsed: Duration) -> Option<LoadLevel> {
        let mut round = self.round();
        let round = round.as_mut()?;
        round.elapsed = elapsed;
        Some(round.present())
    }

    fn round(&self) -> MutexGuard<'_, Option<Round>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is asked for, notes it, and tells what that was.
    ///
    /// # Errors
    /// Where it is not done.
    pub async fn carry_out(&self, request: ControlRequest) -> Result<String, ControlError> {
        let done = match request {
            ControlRequest::Stop => {
                self.interrupt.cancel();
                "the run ends; what was measured is reported and saved".to_owned()
            }
            ControlRequest::Users(users) => self.change(LoadLevel::Users(users)).await?,
            ControlRequest::Rate(rate) => self.change(LoadLevel::Rate(rate)).await?,
        };
        self.note(&format!("  {done}"));
        Ok(done)
    }

    /// Says something that stays on the screen.
    fn note(&self, text: &str) {
        (self.note)(text);
    }

    async fn change(&self, to: LoadLevel) -> Result<String, ControlError> {
        to.check().map_err(|wrong| ControlError::of(&wrong, Exit::Usage))?;
        if let LoadLevel::Users(users) = to {
            self.processes.allow(users).map_err(|limit| ControlError::of(&limit, Exit::Usage))?;
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

    /// What the load will be when all is done that was asked for; `None` where no round is under way.
    fn aimed_at(&self) -> Option<LoadLevel> {
        let round = self.round();
        let round = round.as_ref().filter(|round| !round.changes.is_closed())?;
        Some(round.change.map_or_else(|| round.present(), |change| change.to))
    }

    fn no_round(&self) -> ControlError {
        let (message, help) = match self.is_fixed {
            true => ("a search sets its rates itself; nothing was changed", None),
            false => (
                "the run has no round under way at the moment; nothing was changed",
                Some("try again when its next one has begun: a change is one of a round"),
            ),
        };
        ControlError {
            message: message.to_owned(),
            help: help.map(str::to_owned),
            exit: Exit::Failed,
        }
    }
}
