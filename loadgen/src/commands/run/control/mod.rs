//! Control of a run while it goes: by `loadgen ctl` through a socket in its folder, and from its
//! terminal.
//!
//! - `wish`: what can be wished for, how it is written, and what becomes of it.
//! - `door`: the socket, both ends of it. `terminal`: the other way in.

mod door;
pub mod terminal;
mod wish;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use self::door::{Door, ask};
pub use self::wish::{Refusal, Wish};
use super::limits::Processes;
use crate::commands::Exit;
use crate::engine::{Asked, Change};
use crate::measure::ChangeRecord;
use crate::report;
use crate::scenario::Amount;

/// Says something that stays on the screen.
type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// What carries out wishes; all copies are one.
#[derive(Clone)]
pub struct Control {
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
    changes: mpsc::UnboundedSender<Asked>,
}

impl Control {
    /// Of a run that `interrupt` ends, with users in these processes; it says what it does.
    pub fn new(interrupt: CancellationToken, processes: Processes, note: Note) -> Self {
        Self { interrupt, processes, note, round: Arc::default() }
    }

    /// Begins a round over `target`; what it is given are the changes that it is asked for.
    pub fn open(&self, target: &str, warmup: Duration) -> mpsc::UnboundedReceiver<Asked> {
        let (changes, asked) = mpsc::unbounded_channel();
        *self.round.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Round { target: target.to_owned(), warmup, changes });
        asked
    }

    /// Does what is wished for, notes it, and tells what that was.
    ///
    /// # Errors
    /// Where it is not done.
    pub async fn carry_out(&self, wish: Wish) -> Result<String, Refusal> {
        let done = match wish {
            Wish::Stop => {
                self.interrupt.cancel();
                "the run ends; what was measured is reported and saved".to_owned()
            }
            Wish::Users(users) => self.change(Amount::Users(users)).await?,
            Wish::Rate(rate) => self.change(Amount::Rate(rate)).await?,
        };
        self.note(&format!("  {done}"));
        Ok(done)
    }

    /// Says something that stays on the screen.
    fn note(&self, text: &str) {
        (self.note)(text);
    }

    async fn change(&self, to: Amount) -> Result<String, Refusal> {
        to.check().map_err(|wrong| Refusal::of(&wrong, Exit::Usage))?;
        if let Amount::Users(users) = to {
            self.processes.allow(users).map_err(|limit| Refusal::of(&limit, Exit::Usage))?;
        }
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let round = round.ok_or_else(no_round)?;
        let (answer, answered) = oneshot::channel();
        round.changes.send(Asked { to, answer }).map_err(|_| no_round())?;
        let change = answered.await.map_err(|_| no_round())??;
        let changed = report::changed(&recorded(&change, round.warmup));
        Ok(format!("{changed} of the round over {}", round.target))
    }
}

fn no_round() -> Refusal {
    Refusal {
        message: "the run has no round under way at the moment; nothing was changed".to_owned(),
        help: Some("try again when its next one has begun: a change is one of a round".to_owned()),
        exit: Exit::Failed,
    }
}

/// A change as the record has it.
pub fn recorded(change: &Change, warmup: Duration) -> ChangeRecord {
    let (users, rate_per_s) = match change.to {
        Amount::Users(users) => (Some(users), None),
        Amount::Rate(rate) => (None, Some(rate)),
    };
    ChangeRecord { second: change.second(warmup), users, rate_per_s }
}
