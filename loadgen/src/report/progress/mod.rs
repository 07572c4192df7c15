//! Shows the current activity and the time left: in a live view on a terminal, in plain lines
//! elsewhere. All of it goes to stderr, so that stdout holds only the result. A live page shows it in
//! browsers besides.

mod lines;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::lines::Pace;
use super::listen::ServeAddress;
use super::live::{self, Screen};
use super::view::{Forecast, PlannedLoad, Round, Second, Seconds, View};
use super::web::{Controls, Entry, LivePage};
use crate::measure::{GrowingSeries, PresentUsage, Snapshot, Timeline};
use crate::text::{duration, say};

/// Function that shows a message to the user, from any thread.
pub(in crate::report) type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// Function that receives what each service and the generator use at the moment, by name.
type UsageTeller = Arc<dyn Fn(BTreeMap<String, PresentUsage>) + Send + Sync>;

/// Shows the progress of a command, in plain lines or in a live view.
pub struct Progress {
    shared: Arc<Shared>,
    screen: Option<Screen>,
    page: Option<LivePage>,
    /// Load that was planned for each second of the round of which the live page was not told.
    planned: BTreeMap<u32, PlannedLoad>,
    seconds: Seconds,
    pace: Pace,
}

/// State that threads share: the state that is shown, and the notes to print after the live view
/// has closed.
struct Shared {
    known: watch::Sender<View>,
    kept: Mutex<Vec<String>>,
}

impl Progress {
    /// Prepares to show the progress of `rounds` rounds of a scenario with this title. `kind` says what is measured,
    /// and `expected` is the expected duration of each round, if known. Shows plain lines until [`Self::show_live`].
    #[must_use]
    pub fn new(kind: &'static str, title: &str, rounds: u32, expected: Option<Duration>) -> Self {
        let forecast = Forecast::new(rounds, expected);
        let view = View { kind, scenario: title.to_owned(), forecast, ..View::default() };
        let shared = Shared { known: watch::Sender::new(view), kept: Mutex::default() };
        let (seconds, pace) = (Seconds::default(), Pace::default());
        Self {
            shared: Arc::new(shared),
            screen: None,
            page: None,
            planned: BTreeMap::new(),
            seconds,
            pace,
        }
    }

    /// Opens the live view if a terminal can show the view. `can_change` adds the keys that change
    /// the load.
    pub fn show_live(&mut self, can_change: bool) {
        self.shared.learn(|view| view.can_change = can_change);
        self.screen = Screen::open(self.shared.known.subscribe());
    }

    /// Serves a live page at this address, and returns its URL. `id` is a random text.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn serve_page(
        &mut self,
        address: &ServeAddress,
        id: String,
        controls: Option<Controls>,
    ) -> io::Result<String> {
        let page = LivePage::open(address, id, self.shared.known.subscribe(), controls)?;
        Ok(self.page.insert(page).url().to_owned())
    }

    /// Returns the live page, if any, which is then told of no further round.
    pub fn take_page(&mut self) -> Option<LivePage> {
        self.page.take()
    }

    /// Sets the number of remaining rounds and the duration of each, where the number of all rounds
    /// is not known from the start.
    pub fn expect(&mut self, rounds: u32, each: Duration) {
        self.shared.learn(|view| view.forecast.expect(rounds, each));
    }

    /// Says what the command is doing, such as `starting redis`.
    pub fn phase(&self, what: &str) {
        self.shared.learn(|view| view.doing = what.to_owned());
        if !live::is_open() {
            say(what);
        }
    }

    /// Returns a function with which any thread says what the command is doing. In plain lines the
    /// function falls silent when the rounds begin, because rounds have separate lines.
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

    /// Says, in the live view only, which part of a round has begun, such as the start of a target.
    pub fn step(&self, what: &str) {
        self.shared.learn(|view| {
            view.is_measuring = true;
            view.doing = what.to_owned();
        });
    }

    /// Adds the workers that send the load: the number of each worker, and the name of the worker's
    /// host if the worker runs on another host.
    pub fn joined(&self, roster: Vec<(u32, Option<String>)>) {
        self.shared.learn(|view| view.workers.joined(roster));
    }

    /// Begins a round that measures `target` with these steps and flows. The round begins with a verification
    /// of the target.
    pub fn round_started(&mut self, target: &str, steps: &[String]) {
        let now = Instant::now();
        (self.seconds, self.pace) = (Seconds::default(), Pace::default());
        self.planned.clear();
        self.step(&format!("verifying {target}"));
        self.shared.learn(|view| view.begin(target, steps, now));
        if let Some(page) = &self.page {
            let number = self.shared.known.borrow().round.as_ref().map_or(0, |round| round.number);
            page.tell(Entry::Round { number, target: target.to_owned() });
        }
    }

    /// Records the times at which the warm-up, the ramp-up and the round are planned to end.
    pub fn load_started(&self, timeline: Timeline) {
        self.shared.learn(|view| {
            if let Some(round) = &mut view.round {
                round.timeline = Some(timeline);
            }
        });
    }

    /// Updates the view with a worker's new `snapshot` and with all `results` of the round so far.
    pub fn snapshot(&mut self, worker: u32, snapshot: &Snapshot, results: &GrowingSeries) {
        let now = Instant::now();
        let first = self.seconds.done();
        let seconds = self.seconds.new_in(results, None);
        self.tell_page(first, &seconds);
        self.shared.learn(|view| {
            view.workers.reported(worker, snapshot, now);
            if let Some(round) = &mut view.round {
                round.reported(snapshot);
                round.add(seconds);
                round.set_steps(&self.seconds.steps());
            }
        });
    }

    /// Updates the view as time passes. `load` is the load planned for now.
    pub fn tick(&mut self, load: PlannedLoad, results: &GrowingSeries) {
        let now = Instant::now();
        let Some(second) = self.shared.known.borrow().second(now) else { return };
        self.planned.insert(second, load);
        let first = self.seconds.done();
        let seconds = self.seconds.new_in(results, Some(second));
        self.tell_page(first, &seconds);
        self.shared.known.send_if_modified(|view| {
            let Some(round) = &mut view.round else { return false };
            let is_new = !seconds.is_empty() || round.load != Some(load);
            round.add(seconds);
            round.set_steps(&self.seconds.steps());
            round.load = Some(load);
            is_new
        });
        if !live::is_open() && self.pace.is_due(&self.shared.known.borrow(), now) {
            say(lines::under_way(&self.shared.known.borrow(), now));
        }
    }

    /// Updates the view with the last seconds of the round, when all its results have arrived.
    pub fn complete(&mut self, results: &GrowingSeries) {
        let Some(whole) = self.shared.known.borrow().second(Instant::now()) else { return };
        let first = self.seconds.done();
        let seconds = self.seconds.rest_of(results, whole);
        self.tell_page(first, &seconds);
        self.shared.learn(|view| {
            if let Some(round) = &mut view.round {
                round.add(seconds);
                round.set_steps(&self.seconds.steps());
            }
        });
    }

    /// Marks a worker as no longer part of the run.
    pub fn lost(&self, worker: u32) {
        self.shared.learn(|view| view.workers.lost(worker));
    }

    /// Returns a function that shows what each service and the generator use. Returns `None` unless
    /// the live view is open, or there is a live page.
    #[must_use]
    pub fn usage_teller(&self) -> Option<UsageTeller> {
        let shared = self.shared.clone();
        let is_shown = live::is_open() || self.page.is_some();
        is_shown.then(|| -> UsageTeller {
            Arc::new(move |usage| shared.learn(|view| view.usage = usage))
        })
    }

    /// Tells the live page, if any, of seconds that are over, of which the first has this number.
    fn tell_page(&mut self, first: u32, seconds: &[Second]) {
        for (number, second) in (first..).zip(seconds) {
            let load = self.planned.range(..=number).next_back().map(|(_, load)| *load);
            self.planned = self.planned.split_off(&number);
            if let Some(page) = &self.page {
                page.tell(Entry::Second(*second, load));
            }
        }
    }

    /// Ends the round, and shows the result: `rate_per_s` expected answers per second.
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
        if let Some(page) = &self.page {
            let failed = self.shared.known.borrow().round.as_ref().map_or(0, Round::failed);
            page.tell(Entry::Over { rate_per_s, failed });
        }
        if !live::is_open() {
            say(&told);
        }
    }

    /// Shows a note, which stays on the screen after the live view has closed.
    pub fn note(&self, text: &str) {
        self.shared.note(text);
    }

    /// Shows a line that stays where the user can read it, and that no live page shows.
    pub fn pin(&self, text: &str) {
        self.shared.learn(|view| view.pinned.push(text.to_owned()));
        self.shared.keep(text);
    }

    /// Returns a function with which any thread shows notes, as [`Self::note`] does.
    #[must_use]
    pub fn noter(&self) -> Teller {
        let shared = self.shared.clone();
        Arc::new(move |text| shared.note(text))
    }

    /// Closes the live view, and prints the notes that were added while the view was open.
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
        self.keep(text);
    }

    /// Prints a note, or keeps it until the live view has closed.
    fn keep(&self, text: &str) {
        if live::is_open() {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        } else {
            say(text);
        }
    }
}
