//! Which row of a file a user has.

mod starts;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use self::starts::Starts;
use crate::measure::{RowsUsed, Used};
use crate::scenario::{Data, Order, Rows};

/// The rows of this process, and which of them were taken.
pub struct Supply {
    stocks: Vec<Stock>,
    starts: Starts,
}

/// One file's.
struct Stock {
    rows: Rows,
    /// The next one, where each is used once.
    next: AtomicUsize,
    ran_out: AtomicBool,
    used: Marks,
}

/// Marks the rows that what counts has used.
enum Marks {
    /// Where each is used once: how many.
    Number(AtomicU64),
    /// A bit for each row.
    Bits(Box<[AtomicU64]>),
}

/// Which of its iterations a user begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Its iteration of this number, in the closed model: counted in the warm-up, and anew after it.
    Iteration(u64),
    /// The arrival of this number of the whole test, in the open model.
    Arrival(u64),
}

impl Supply {
    /// Of these files, of which nothing was taken, for `users` users of the whole test.
    #[must_use]
    pub fn new(files: Vec<Rows>, users: u32) -> Self {
        // Only for those that need it: it takes memory for each user.
        let cycles = files.iter().any(|rows| rows.order == Order::Cycle && rows.in_iterations);
        let starts = Starts::new(if cycles { users } else { 0 });
        Self { stocks: files.into_iter().map(Stock::new).collect(), starts }
    }

    /// Takes the rows that a user keeps from its start on; `false` where there is none left.
    pub fn take_at_start(&self, data: &mut Data) -> bool {
        self.stocks.iter().filter(|stock| stock.rows.at_start).all(|stock| {
            let cycled = u64::from(data.user());
            stock.take(|rows| (cycled % rows) as usize, true, data)
        })
    }

    /// Takes the rows of an iteration, which the user's `data` has gone to, and which counts or is one
    /// of the warm-up; `false` where there is none left.
    pub fn take(&self, turn: Turn, counted: bool, data: &mut Data) -> bool {
        let user = data.user();
        let cycled = |rows| match turn {
            Turn::Arrival(number) => (number % rows) as usize,
            Turn::Iteration(number) => self.starts.row(user, number, counted, rows) as usize,
        };
        let mut stocks = self.stocks.iter().filter(|stock| stock.rows.in_iterations);
        stocks.all(|stock| stock.take(cycled, counted, data))
    }

    /// Takes the rows of the verification.
    pub fn take_for_verification(&self, data: &mut Data) {
        for Stock { rows, .. } in &self.stocks {
            let index = match rows.order {
                // Users have the others.
                Order::Once | Order::Cycle => rows.len().saturating_sub(1),
                Order::Random => data.draw(rows.len()),
            };
            data.keep(rows.row(index));
        }
    }

    /// The files of which there were too few rows.
    #[must_use]
    pub fn ran_out(&self) -> Vec<String> {
        let out = self.stocks.iter().filter(|stock| stock.ran_out.load(Ordering::Relaxed));
        out.map(|stock| stock.rows.name.clone()).collect()
    }

    /// The rows that what counts has used.
    #[must_use]
    pub fn used(&self) -> RowsUsed {
        self.stocks.iter().map(|stock| (stock.rows.name.clone(), stock.used.told())).collect()
    }
}

impl Stock {
    fn new(rows: Rows) -> Self {
        let used = match rows.order {
            Order::Once => Marks::Number(AtomicU64::new(0)),
            Order::Cycle | Order::Random => {
                Marks::Bits((0..rows.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
            }
        };
        Self { rows, next: AtomicUsize::new(0), ran_out: AtomicBool::new(false), used }
    }

    /// Takes a row: the one that `cycled` says of a file with so many, where users go round and round.
    fn take(&self, cycled: impl Fn(u64) -> usize, counted: bool, data: &mut Data) -> bool {
        let Self { rows, next, ran_out, used } = self;
        let index = match rows.order {
            Order::Once => next.fetch_add(1, Ordering::Relaxed),
            Order::Cycle => cycled(rows.len().max(1) as u64),
            Order::Random => data.draw(rows.len()),
        };
        if index >= rows.len() {
            ran_out.store(true, Ordering::Relaxed);
            return false;
        }
        if counted {
            used.mark(index);
        }
        data.keep(rows.row(index));
        true
    }
}

impl Marks {
    fn mark(&self, row: usize) {
        match self {
            Self::Number(number) => drop(number.fetch_add(1, Ordering::Relaxed)),
            Self::Bits(words) => {
                let Some(word) = words.get(row / 64) else { return };
                let bit = 1 << (row % 64);
                // Read first: most rows of a small file are marked already, and a write takes the cache
                // line from all other threads.
                if word.load(Ordering::Relaxed) & bit == 0 {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        }
    }

    fn told(&self) -> Used {
        match self {
            Self::Number(number) => Used::Number(number.load(Ordering::Relaxed)),
            Self::Bits(words) => {
                Used::Bits(words.iter().map(|word| word.load(Ordering::Relaxed)).collect())
            }
        }
    }
}
