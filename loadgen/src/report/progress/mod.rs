//! What is happening now, and how long it will still take: a live view on a terminal, plain lines
//! elsewhere. All of it goes to stderr, so that stdout holds the result alone.

mod lines;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::lines::Pace;
use super::live::{self, Forecast, Screen, Seconds, View};
use crate::measure::{GrowingSeries, Snapshot, Timeline};
use crate::text::{duration, say};

/// Says something, from wherever.
type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// Takes what everybody uses of the CPU at the moment: 100 is one core.
type CpuTeller = Arc<dyn Fn(BTreeMap<String, f64>) + Send + Sync>;

/// Shows progress.
pub struct Progress {
    shared: Arc<Shared>,
    screen: Option<Screen>,
    seconds: Seconds,
    pace: Pace,
}

/// What is known, and what is to be said when the live view has closed.
struct Shared {
    known: watch::Sender<View>,
    kept: Mutex<Vec<String>>,
}

impl Progress {
    /// For `rounds` rounds of a scenario in all, each of which is expected to take `expected`, if that is
    /// known. In plain lines, until it is shown live.
    #[must_use]
    pub fn new(scenario: &str, rounds: u32, expected: Option<Duration>) -> Self {
        let forecast = Forecast::new(rounds, expected);
        let view = View { scenario: scenario.to_owned(), forecast, ..View::default() };
        let shared = Shared { known: watch::Sender::new(view), kept: Mutex::default() };
        let (seconds, pace) = (Seconds::default(), Pace::default());
        Self { shared: Arc::new(shared), screen: None, seconds, pace }
    }

    /// Shows it live from here on, where there is a terminal that can; whether keys change the load is
    /// said there.
    pub fn show_live(&mut self, can_change: bool) {
        self.shared.learn(|view| view.can_change = can_change);
        self.screen = Screen::open(self.shared.known.subscribe());
    }

    /// So many rounds are still to come, where their number is not known from the start.
    pub fn expect(&mut self, rounds: u32) {
        self.shared.learn(|view| view.forecast.expect(rounds));
    }

    /// Says what is being done, such as `starting redis`.
    pub fn phase(&self, what: &str) {
        self.shared.learn(|view| view.doing = what.to_owned());
        if !live::is_open() {
            say(what);
        }
    }

    /// A way to say what is being done from elsewhere. In plain lines it falls silent when the
    /// rounds begin: these have lines of their own.
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

    /// A step inside of a round, such as the start of a target: in the live view only.
    pub fn step(&self, what: &str) {
        self.shared.learn(|view| {
            view.is_measuring = true;
            view.doing = what.to_owned();
        });
    }

    /// These workers share the load, on other hosts where one is named.
    pub fn joined(&self, roster: Vec<(u32, Option<String>)>) {
        self.shared.learn(|view| view.workers.joined(roster));
    }

    /// A round over `target` begins: it is verified first.
    pub fn round_started(&mut self, target: &str) {
        let now = Instant::now();
        (self.seconds, self.pace) = (Seconds::default(), Pace::default());
        self.step(&format!("verifying {target}"));
        self.shared.learn(|view| view.begin(target, now));
    }

    /// Its load begins, and is to end, then.
    pub fn load_started(&self, timeline: Timeline) {
        self.shared.learn(|view| {
            if let Some(round) = &mut view.round {
                round.timeline = Some(timeline);
            }
        });
    }

    /// Takes in what a worker measured in the meantime, and with it all `results` of the round so far.
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

    /// Time has passed, and there is to be so much `load` now, such as `100 users`.
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

    /// A worker is out of the run.
    pub fn lost(&self, worker: u32) {
        self.shared.learn(|view| view.workers.lost(worker));
    }

    /// A way to tell what everybody uses of the CPU; none where nobody would see it.
    #[must_use]
    pub fn cpu_teller(&self) -> Option<CpuTeller> {
        let shared = self.shared.clone();
        live::is_open()
            .then(|| -> CpuTeller { Arc::new(move |cpu| shared.learn(|view| view.cpu = cpu)) })
    }

    /// The round is over.
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

    /// Something that stays on the screen.
    pub fn note(&self, text: &str) {
        self.shared.note(text);
    }

    /// A way to say such things from elsewhere.
    #[must_use]
    pub fn noter(&self) -> Teller {
        let shared = self.shared.clone();
        Arc::new(move |text| shared.note(text))
    }

    /// Closes the live view, and says what was noted meanwhile.
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
