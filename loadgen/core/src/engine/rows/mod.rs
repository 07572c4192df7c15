//! Assigns the rows of a file to users.

mod starts;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use self::starts::Starts;
use crate::measure::{RowsUsed, Used};
use crate::scenario::{Data, Order, Rows};

/// Rows of this process, with a record of the used ones.
pub(super) struct Supply {
    stocks: Vec<Stock>,
    starts: Starts,
}

/// Rows of one file.
struct Stock {
    rows: Rows,
    /// Index of the next row, in the order `Once`.
    next: AtomicUsize,
    ran_out: AtomicBool,
    used: Marks,
}

/// Record of the rows that counted iterations and users' starts have used.
enum Marks {
    /// Number of used rows, in the order `Once`.
    Number(AtomicU64),
    /// One bit for each row.
    Bits(Box<[AtomicU64]>),
}

/// Iteration that a user begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Number of the user's iteration, in the closed model. The warm-up and the time
    /// after it each count from 0.
    Iteration(u64),
    /// Number of the arrival in the whole test, in the open model.
    Arrival(u64),
}

impl Supply {
    /// Creates the supply of these files, with no row taken yet, for
    /// `users` users of the whole test.
    #[must_use]
    pub(super) fn new(files: Vec<Rows>, users: u32) -> Self {
        // Computed only if a file needs the starts, because they take memory for each user.
        let cycles = files.iter().any(|rows| rows.order == Order::Cycle && rows.in_iterations);
        let starts = Starts::new(if cycles { users } else { 0 });
        Self { stocks: files.into_iter().map(Stock::new).collect(), starts }
    }

    /// Takes the rows that a user keeps from its start on. Returns `false` if no row is left.
    pub(super) fn take_at_start(&self, data: &mut Data) -> bool {
        self.stocks.iter().filter(|stock| stock.rows.at_start).all(|stock| {
            let cycled = u64::from(data.user());
            stock.take(|rows| (cycled % rows) as usize, true, data)
        })
    }

    /// Takes the rows of an iteration, to which `data` is already set. `counted` is false in the
    /// warm-up. Returns `false` if no row is left.
    pub(super) fn take(&self, turn: Turn, counted: bool, data: &mut Data) -> bool {
        let user = data.user();
        let cycled = |rows| match turn {
            Turn::Arrival(number) => (number % rows) as usize,
            Turn::Iteration(number) => self.starts.row(user, number, counted, rows) as usize,
        };
        let mut stocks = self.stocks.iter().filter(|stock| stock.rows.in_iterations);
        stocks.all(|stock| stock.take(cycled, counted, data))
    }

    /// Takes the rows of the verification.
    pub(super) fn take_for_verification(&self, data: &mut Data) {
        for Stock { rows, .. } in &self.stocks {
            let index = match rows.order {
                // In the order `Once`, the users have the other rows: see `Plan::part`.
                Order::Once | Order::Cycle => rows.len().saturating_sub(1),
                Order::Random => data.draw(rows.len()),
            };
            data.keep(rows.row(index));
        }
    }

    /// Returns the names of the files that had too few rows.
    #[must_use]
    pub(super) fn ran_out(&self) -> Vec<String> {
        let out = self.stocks.iter().filter(|stock| stock.ran_out.load(Ordering::Relaxed));
        out.map(|stock| stock.rows.name.clone()).collect()
    }

    /// Returns the rows that counted iterations and users' starts have used.
    #[must_use]
    pub(super) fn used(&self) -> RowsUsed {
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

    /// Takes a row. In the order `Cycle`, `cycled` gives its index, from the number of rows.
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
                // Reads first: most rows of a small file are already marked, and a write takes the
                // cache line from all other threads.
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
