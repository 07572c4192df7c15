//! Assigns the rows of data files to users.

mod starts;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use self::starts::Starts;
use loadgen_measure::{RowsUsed, Used};
use loadgen_scenario::{Data, Order, Rows};

/// Data rows of this process, with a record of the used rows.
pub(super) struct Supply {
    stocks: Vec<Stock>,
    starts: Starts,
}

/// Data rows of one file.
struct Stock {
    rows: Rows,
    /// Index of the next row, if each row is used at most once ([`Order::Once`]).
    next: AtomicUsize,
    ran_out: AtomicBool,
    used: Marks,
}

/// Record of the rows that were used by users' starts and by iterations after the warm-up.
enum Marks {
    /// Number of used rows, if each row is used at most once ([`Order::Once`]).
    Number(AtomicU64),
    /// One bit for each row, set if the row was used, in the other orders.
    Bits(Box<[AtomicU64]>),
}

/// Number of the iteration for which a user takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// In the closed model, the number of the user's iteration: from 0 in the
    /// warm-up, and again from 0 after the warm-up.
    Iteration(u64),
    /// In the open model, the number of the arrival in the whole test.
    Arrival(u64),
}

impl Supply {
    /// Creates the supply from the rows of `files`, of which none is
    /// used yet. The whole test has `users` users.
    #[must_use]
    pub(super) fn new(files: Vec<Rows>, users: u32) -> Self {
        // Computed only if a file needs the starts, because they take memory for each user.
        let cycles = files.iter().any(|rows| rows.order == Order::Cycle && rows.in_iterations);
        let starts = Starts::new(if cycles { users } else { 0 });
        Self { stocks: files.into_iter().map(Stock::new).collect(), starts }
    }

    /// Takes the rows that a user keeps from its start on, and adds these rows
    /// to `data`. Returns `false` if no row is left.
    pub(super) fn take_at_start(&self, data: &mut Data) -> bool {
        self.stocks.iter().filter(|stock| stock.rows.at_start).all(|stock| {
            let cycled = u64::from(data.user());
            stock.take(|rows| (cycled % rows) as usize, true, data)
        })
    }

    /// Takes the rows of an iteration, and adds these rows to `data`, which is already set to the
    /// iteration. `counted` is false in the warm-up. Returns `false` if no row is left.
    pub(super) fn take(&self, turn: Turn, counted: bool, data: &mut Data) -> bool {
        let user = data.user();
        let cycled = |rows| match turn {
            Turn::Arrival(number) => (number % rows) as usize,
            Turn::Iteration(number) => self.starts.row(user, number, counted, rows) as usize,
        };
        let mut stocks = self.stocks.iter().filter(|stock| stock.rows.in_iterations);
        stocks.all(|stock| stock.take(cycled, counted, data))
    }

    /// Takes the rows for a verification, which sends each step once before the measurement.
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

    /// Returns the names of the data files that had too few rows.
    #[must_use]
    pub(super) fn ran_out(&self) -> Vec<String> {
        let out = self.stocks.iter().filter(|stock| stock.ran_out.load(Ordering::Relaxed));
        out.map(|stock| stock.rows.name.clone()).collect()
    }

    /// Returns the rows that were used by users' starts and by iterations after the warm-up.
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

    /// Takes a row, and adds it to `data`. In the order [`Order::Cycle`], `cycled` computes the
    /// row's index from the number of rows. Returns `false` if no row is left.
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
