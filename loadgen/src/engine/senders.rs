//! Who sends the next request of the open model.
//!
//! Leader and followers (Schmidt et al. 2000): of the users that have nothing to do, one waits for
//! the next arrival's time. When it comes, it wakes another to lead and sends. The one that came
//! last leads first, so that no more users send, and hold connections, than the rate needs. Where
//! all are busy, the first to be free finds arrivals whose time is past, and sends at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::alarm::Alarm;
use super::load::{Arrival, Open};
use super::timer::Timer;

/// The users of one process, and the arrivals that they send.
pub struct Senders {
    start: Instant,
    end: Option<Instant>,
    timer: Timer,
    state: Mutex<State>,
    /// By the user's number within the process; rung to let it lead, or to tell that all is over.
    bells: Box<[Notify]>,
}

struct State {
    /// What is still to come. Only who leads takes from it.
    arrivals: Open,
    idle: Vec<u32>,
    is_led: bool,
    /// Nothing is left to come, or the round has ended.
    is_over: bool,
    /// Arrivals that nobody could send before the end.
    unsent: Vec<Arrival>,
}

/// A request whose time has come.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// When it should be sent.
    pub planned: Instant,
    /// Whether it counts; those of the warm-up don't.
    pub counted: bool,
}

impl Senders {
    /// For `users` users and a round from `start` to `end`; within a Tokio runtime.
    pub fn new(arrivals: Open, users: u32, start: Instant, end: Option<Instant>) -> Self {
        let state = State {
            arrivals,
            idle: Vec::with_capacity(users as usize),
            is_led: false,
            is_over: false,
            unsent: Vec::new(),
        };
        Self {
            start,
            end,
            timer: Timer::new(),
            state: Mutex::new(state),
            bells: (0..users).map(|_| Notify::new()).collect(),
        }
    }

    /// Waits until there is a request for the user number `local` of this process; `None` when
    /// there is none any more.
    pub async fn next(&self, local: u32, alarm: &mut Alarm<'_>) -> Option<Due> {
        if !self.leads_at_once(local)? {
            alarm.unless_halted(self.bells[local as usize].notified()).await?;
        }
        let Some(arrival) = self.take() else {
            self.finish();
            return None;
        };
        let planned = self.start + arrival.due;
        if alarm.unless_halted(self.timer.sleep_until(planned)).await.is_none() {
            // Nobody leads from here on: the others are halted as well.
            self.state().unsent.push(arrival);
            return None;
        }
        self.pass_on();
        Some(Due { planned, counted: arrival.counted })
    }

    /// Whether nobody leads, so that this user does from now on; if not, it is noted as idle. `None`
    /// when all is over.
    fn leads_at_once(&self, local: u32) -> Option<bool> {
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        if state.is_led {
            state.idle.push(local);
            return Some(false);
        }
        state.is_led = true;
        Some(true)
    }

    /// The next arrival, unless the round has ended; what is left then will not be sent.
    fn take(&self) -> Option<Arrival> {
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        let arrival = state.arrivals.next()?;
        if self.end.is_some_and(|end| Instant::now() >= end) {
            state.unsent.push(arrival);
            return None;
        }
        Some(arrival)
    }

    /// Lets another user lead, if one is idle.
    fn pass_on(&self) {
        let mut state = self.state();
        match state.idle.pop() {
            Some(next) => self.bells[next as usize].notify_one(),
            None => state.is_led = false,
        }
    }

    /// Takes back an arrival that will not be sent, and ends the round.
    pub fn give_back(&self, due: Due) {
        let arrival = Arrival {
            due: due.planned.saturating_duration_since(self.start),
            counted: due.counted,
        };
        self.state().unsent.push(arrival);
        self.finish();
    }

    /// Tells all who wait that nothing is left to send.
    fn finish(&self) {
        let mut state = self.state();
        state.is_over = true;
        for idle in std::mem::take(&mut state.idle) {
            self.bells[idle as usize].notify_one();
        }
    }

    /// The arrivals whose time came before `now`, and which nobody was free to send. Ends the round.
    pub fn unsent(&self, now: Instant) -> Vec<Due> {
        self.finish();
        let mut state = self.state();
        let due =
            |arrival: Arrival| Due { planned: self.start + arrival.due, counted: arrival.counted };
        let taken = std::mem::take(&mut state.unsent);
        let all = taken.into_iter().chain(state.arrivals.by_ref()).map(due);
        all.take_while(|due| due.planned <= now).collect()
    }

    /// Each change of it is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
