//! Shows the current activity and the time left: in a live view on a terminal, in plain lines
//! elsewhere. All of it goes to stderr, so that stdout holds only the result.

mod lines;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::lines::Pace;
use super::live::{self, Forecast, Screen, Seconds, View};
use crate::measure::{GrowingSeries, Snapshot, Timeline};
use crate::text::{duration, say};

/// Tells the user something, from any thread.
type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// Takes the CPU time that each service and the generator use at the moment: 100 is one core.
type CpuTeller = Arc<dyn Fn(BTreeMap<String, f64>) + Send + Sync>;

/// Shows the progress of a command, in plain lines or in a live view.
pub struct Progress {
    shared: Arc<Shared>,
    screen: Option<Screen>,
    seconds: Seconds,
    pace: Pace,
}

/// State that is shown, and notes to print after the live view has closed.
struct Shared {
    known: watch::Sender<View>,
    kept: Mutex<Vec<String>>,
}

impl Progress {
    /// Makes the progress of `rounds` rounds of a scenario, each of which takes `expected`, if
    /// known. Shows plain lines until [`Self::show_live`].
    #[must_use]
    pub fn new(scenario: &str, rounds: u32, expected: Option<Duration>) -> Self {
        let forecast = Forecast::new(rounds, expected);
        let view = View { scenario: scenario.to_owned(), forecast, ..View::default() };
        let shared = Shared { known: watch::Sender::new(view), kept: Mutex::default() };
        let (seconds, pace) = (Seconds::default(), Pace::default());
        Self { shared: Arc::new(shared), screen: None, seconds, pace }
    }

    /// Opens the live view if there is a terminal that can show it. `can_change` adds the keys that
    /// change the load.
    pub fn show_live(&mut self, can_change: bool) {
        self.shared.learn(|view| view.can_change = can_change);
        self.screen = Screen::open(self.shared.known.subscribe());
    }

    /// Sets the number of rounds still to come, where their number is not known from the start.
    pub fn expect(&mut self, rounds: u32) {
        self.shared.learn(|view| view.forecast.expect(rounds));
    }

    /// Says what the command is doing, such as `starting redis`.
    pub fn phase(&self, what: &str) {
        self.shared.learn(|view| view.doing = what.to_owned());
        if !live::is_open() {
            say(what);
        }
    }

    /// Returns a function that says from elsewhere what the command is doing. In plain lines the
    /// function falls silent when the rounds begin, which have their own lines.
    #[must_use]
    pub fn teller(&self) -> Teller {
        let shared = self.shared.clone();
        Arc::new(move |what| {
            shared.learn(|view| view.doing = what.to_owned());
            if !live::is_open() && !shared.known.borrow().is_measuring {
                say(what);
            }
        })
    }

    /// Says which part of a round has begun, such as the start of a target: in the live view only.
    pub fn step(&self, what: &str) {
        self.shared.learn(|view| {
            view.is_measuring = true;
            view.doing = what.to_owned();
        });
    }

    /// Takes the numbers of the workers that share the load, with the name of their host if it is
    /// another one.
    pub fn joined(&self, roster: Vec<(u32, Option<String>)>) {
        self.shared.learn(|view| view.workers.joined(roster));
    }

    /// Begins a round over `target`, which starts with its verification.
    pub fn round_started(&mut self, target: &str) {
        let now = Instant::now();
        (self.seconds, self.pace) = (Seconds::default(), Pace::default());
        self.step(&format!("verifying {target}"));
        self.shared.learn(|view| view.begin(target, now));
    }

    /// Takes the times at which the round's load begins and is to end.
    pub fn load_started(&self, timeline: Timeline) {
        self.shared.learn(|view| {
            if let Some(round) = &mut view.round {
                round.timeline = Some(timeline);
            }
        });
    }

    /// Takes a worker's new `snapshot`, and all `results` of the round so far.
    pub fn snapshot(&mut self, worker: u32, snapshot: &Snapshot, results: &GrowingSeries) {
        let now = Instant::now();
        let seconds = self.seconds.new_in(results, None);
        self.shared.learn(|view| {
            view.workers.reported(worker, snapshot, now);
            if let Some(round) = &mut view.round {
                round.reported(snapshot);
                round.add(seconds);
            }
        });
    }

    /// Updates the view as time passes. `load` is the load planned for now, such as `100 users`.
    pub fn tick(&mut self, load: &str, results: &GrowingSeries) {
        let now = Instant::now();
        let Some(second) = self.shared.known.borrow().second(now) else { return };
        let seconds = self.seconds.new_in(results, Some(second));
        self.shared.known.send_if_modified(|view| {
            let Some(round) = &mut view.round else { return false };
            let is_new = !seconds.is_empty() || round.load != load;
            round.add(seconds);
            load.clone_into(&mut round.load);
            is_new
        });
        if !live::is_open() && self.pace.is_due(&self.shared.known.borrow(), now) {
            say(lines::under_way(&self.shared.known.borrow(), now));
        }
    }

    /// Marks a worker as no longer part of the run.
    pub fn lost(&self, worker: u32) {
        self.shared.learn(|view| view.workers.lost(worker));
    }

    /// Returns a function that takes the CPU time of each service and the generator; `None` unless
    /// the live view is open.
    #[must_use]
    pub fn cpu_teller(&self) -> Option<CpuTeller> {
        let shared = self.shared.clone();
        live::is_open()
            .then(|| -> CpuTeller { Arc::new(move |cpu| shared.learn(|view| view.cpu = cpu)) })
    }

    /// Ends the round, which had `rate_per_s` expected answers per second.
    pub fn round_finished(&mut self, rate_per_s: f64) {
        let now = Instant::now();
        let mut told = String::new();
        self.shared.learn(|view| {
            told = view.finish(rate_per_s, now);
            let left = view.forecast.left(now).map(duration);
            if let Some(left) = left.filter(|_| !live::is_open()) {
                told += &format!(", about {left} left");
            }
            view.note(&told);
        });
        if !live::is_open() {
            say(&told);
        }
    }

    /// Adds a note that stays on the screen.
    pub fn note(&self, text: &str) {
        self.shared.note(text);
    }

    /// Returns a function that adds such notes from elsewhere.
    #[must_use]
    pub fn noter(&self) -> Teller {
        let shared = self.shared.clone();
        Arc::new(move |text| shared.note(text))
    }

    /// Closes the live view, and prints the notes that were added while it was open.
    pub fn finish(&mut self) {
        drop(self.screen.take());
        let mut kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drain(..).for_each(|note| say(&note));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Shared {
    fn learn(&self, what: impl FnOnce(&mut View)) {
        self.known.send_modify(what);
    }

    fn note(&self, text: &str) {
        self.learn(|view| view.note(text));
        if live::is_open() {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        } else {
            say(text);
        }
    }
}
