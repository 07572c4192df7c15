//! Who sends the next request of the open model.
//!
//! Leader and followers (Schmidt et al. 2000): of the users that have nothing to do, one waits for
//! the next arrival's time. When it comes, it wakes another to lead and sends. The one that came
//! last leads first, so that no more users send, and hold connections, than the rate needs. Where
//! all are busy, the first to be free finds arrivals whose time is past, and sends at once.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

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
    /// How often the rate was changed.
    changes: AtomicU32,
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

/// What there is for who leads.
enum Taken {
    /// The next arrival.
    Arrival(Arrival),
    /// None, as the rate is now.
    None,
    /// None, for the round has ended.
    Over,
}

/// A request whose time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When it should be sent.
    pub planned: Instant,
    /// Whether it counts; those of the warm-up don't.
    pub counted: bool,
    /// Its number among the arrivals of the whole test, from 0.
    pub number: u64,
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
            changes: AtomicU32::new(0),
            bells: (0..users).map(|_| Notify::new()).collect(),
        }
    }

    /// Waits until there is a request for the user number `local` of this process; `None` when
    /// there is none any more.
    pub async fn next(&self, local: u32, alarm: &mut Alarm<'_>) -> Option<Due> {
        if !self.leads_at_once(local)? {
            alarm.unless_halted(self.bells[local as usize].notified()).await?;
        }
        loop {
            let changes = self.changes.load(Ordering::Acquire);
            let (arrival, then) = match (self.take(), self.end) {
                (Taken::Arrival(arrival), _) => (Some(arrival), self.start + arrival.due),
                // Until then the rate may be changed.
                (Taken::None, Some(end)) if Instant::now() < end => (None, end),
                _ => {
                    self.finish();
                    return None;
                }
            };
            match (alarm.unless_halted(self.unless_changed(then, changes)).await, arrival) {
                (Some(true), Some(Arrival { counted, number, .. })) => {
                    self.pass_on();
                    return Some(Due { planned: then, counted, number });
                }
                (Some(true), None) => {}
                (Some(false), _) => self.state().arrivals.take_back(),
                (None, arrival) => {
                    // Nobody leads from here on: the others are halted as well.
                    self.state().unsent.extend(arrival);
                    return None;
                }
            }
        }
    }

    /// Waits until `then`; `false` when the rate was changed first, which was done so many times
    /// before.
    async fn unless_changed(&self, then: Instant, changes: u32) -> bool {
        let mut timer = pin!(self.timer.sleep_until(then));
        poll_fn(|context| {
            if self.changes.load(Ordering::Acquire) != changes {
                return Poll::Ready(false);
            }
            timer.as_mut().poll(context).map(|()| true)
        })
        .await
    }

    /// From `at` on requests arrive at `rate` a second, whatever was planned. Who leads is to be woken
    /// after this.
    pub fn change(&self, at: Duration, rate: f64) {
        self.state().arrivals.change(at, rate);
        self.changes.fetch_add(1, Ordering::AcqRel);
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
    fn take(&self) -> Taken {
        let mut state = self.state();
        if state.is_over {
            return Taken::Over;
        }
        let Some(arrival) = state.arrivals.next() else { return Taken::None };
        if self.end.is_some_and(|end| Instant::now() >= end) {
            state.unsent.push(arrival);
            return Taken::Over;
        }
        Taken::Arrival(arrival)
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
            number: due.number,
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
            |Arrival { due, counted, number }| Due { planned: self.start + due, counted, number };
        let taken = std::mem::take(&mut state.unsent);
        let all = taken.into_iter().chain(state.arrivals.by_ref()).map(due);
        all.take_while(|due| due.planned <= now).collect()
    }

    /// Each change of it is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
