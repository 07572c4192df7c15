//! Chooses the user that sends the next request of the open model.
//!
//! Leader and followers (Schmidt et al. 2000): of the idle users, one leads and waits for the
//! time of the next arrival. At that time, the leader wakes another idle user to lead, and sends.
//! The user that became idle last leads first, so that no more users send, and hold connections,
//! than the rate needs. If all users are busy, the first that becomes free finds arrivals whose
//! time is past, and sends at once.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::alarm::Alarm;
use super::load::{Arrival, Open};
use super::takeover::Takeover;
use super::timer::Timer;
use loadgen_measure::{SendGaps, SendGapsMeter};

/// Assigns the arrivals of one process, the planned requests of the open model, to its users.
pub(super) struct Senders {
    start: Instant,
    end: Option<Instant>,
    timer: Timer,
    state: Mutex<State>,
    /// Gaps between sends. Has a lock of its own, which the leader need not wait for.
    gaps: Mutex<SendGapsMeter>,
    /// Number of changes of the rate so far.
    changes: AtomicU32,
    /// One wake-up signal for each user, by the user's number within the process. An idle user is
    /// woken when it must wait for the next arrival, or when nothing is left to send.
    bells: Box<[Notify]>,
}

struct State {
    /// Arrivals that are still to come. Only the leader, the user that
    /// waits for the next arrival, takes arrivals.
    arrivals: Open,
    idle: Vec<u32>,
    is_led: bool,
    /// Whether nothing is left to send, or the round has ended.
    is_over: bool,
    /// Arrivals that no user could send before the end.
    unsent: Vec<Arrival>,
}

/// Result of the leader's attempt to take an arrival.
enum Taken {
    Arrival(Arrival),
    /// No arrival is left, unless the rate changes.
    None,
    /// The round has ended.
    Over,
}

/// A request whose time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// Moment at which the request should be sent.
    pub planned: Instant,
    /// Whether the request counts; requests of the warm-up do not.
    pub counted: bool,
    /// Number among the arrivals of the whole test, from 0.
    pub number: u64,
}

impl Senders {
    /// Creates the senders for at most `users` users and a round from `start` to `end`; `end` is `None` if
    /// iterations end the round. Must be called within a Tokio runtime.
    pub(super) fn new(arrivals: Open, users: u32, start: Instant, end: Option<Instant>) -> Self {
        let state =
            State { arrivals, idle: Vec::new(), is_led: false, is_over: false, unsent: Vec::new() };
        Self {
            start,
            end,
            timer: Timer::new(),
            state: Mutex::new(state),
            gaps: Mutex::default(),
            changes: AtomicU32::new(0),
            bells: (0..users).map(|_| Notify::new()).collect(),
        }
    }

    /// Waits until the user with the number `local` in this process has a request to send. Returns
    /// `None` if no request is left.
    pub(super) async fn next(&self, local: u32, alarm: &mut Alarm<'_>) -> Option<Due> {
        if !self.leads_at_once(local)? {
            alarm.unless_halted(self.bells[local as usize].notified()).await?;
        }
        loop {
            let changes = self.changes.load(Ordering::Acquire);
            let (arrival, then) = match (self.take(), self.end) {
                (Taken::Arrival(arrival), _) => (Some(arrival), self.start + arrival.due),
                // The rate may be changed before the end.
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
                    // No user leads from here on: all others are halted as well.
                    self.state().unsent.extend(arrival);
                    return None;
                }
            }
        }
    }

    /// Waits until `then`. Returns `false` if the rate changes first. `changes` is the number of
    /// changes that the caller knows of.
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

    /// Replaces the planned rate by `rate` requests per second from `at` on. The caller must wake
    /// the leader, the user that waits for the next arrival, afterwards.
    pub(super) fn change(&self, at: Duration, rate: f64) {
        self.state().arrivals.change(at, rate);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// From the time of each takeover on, sends also arrivals of the lost process. The caller must wake the leader
    /// afterwards.
    pub(super) fn take_over(&self, takeovers: &[Takeover]) {
        self.state().arrivals.take_over(takeovers);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Makes the user the leader, which waits for the next arrival, or registers the user as idle
    /// if another user leads. Returns whether the user leads, or `None` if nothing is left to send.
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

    /// Takes the next arrival, unless the round has ended. Arrivals left at the end are not sent.
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

    /// Passes the wait for the next arrival on to the user that
    /// became idle last, if a user is idle.
    fn pass_on(&self) {
        let mut state = self.state();
        match state.idle.pop() {
            Some(next) => self.bells[next as usize].notify_one(),
            None => state.is_led = false,
        }
    }

    /// Records that a request of the hold was sent.
    pub(super) fn record_send(&self, planned: Instant, sent: Instant) {
        self.gaps().add(planned, sent);
    }

    /// Returns the gaps between the sends of the hold so far, and forgets them.
    pub(super) fn take_gaps(&self) -> SendGaps {
        self.gaps().take()
    }

    /// Records an arrival that no user will send, and ends the round.
    pub(super) fn give_back(&self, due: Due) {
        let arrival = Arrival {
            due: due.planned.saturating_duration_since(self.start),
            counted: due.counted,
            number: due.number,
        };
        self.state().unsent.push(arrival);
        self.finish();
    }

    /// Tells all idle users that nothing is left to send.
    fn finish(&self) {
        let mut state = self.state();
        state.is_over = true;
        for idle in std::mem::take(&mut state.idle) {
            self.bells[idle as usize].notify_one();
        }
    }

    /// Ends the round, and returns the arrivals that were due by
    /// `now` but that no user was free to send.
    pub(super) fn unsent(&self, now: Instant) -> Vec<Due> {
        self.finish();
        let mut state = self.state();
        let due =
            |Arrival { due, counted, number }| Due { planned: self.start + due, counted, number };
        let taken = std::mem::take(&mut state.unsent);
        let all = taken.into_iter().chain(state.arrivals.by_ref()).map(due);
        all.take_while(|due| due.planned <= now).collect()
    }

    /// Locks the gaps, which a panic leaves complete but for one request.
    fn gaps(&self) -> MutexGuard<'_, SendGapsMeter> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state. Ignores a poisoned lock, because no panic
    /// leaves a change of the state half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
