//! Which row of a file a user has.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::scenario::{Data, Order, Rows};

/// The rows of this process, and which of them were taken.
pub struct Supply(Vec<Stock>);

/// One file's.
struct Stock {
    rows: Rows,
    /// The next one, where each is used once.
    next: AtomicUsize,
    ran_out: AtomicBool,
}

impl Supply {
    /// Of these files, of which nothing was taken.
    #[must_use]
    pub fn new(files: Vec<Rows>) -> Self {
        let stock =
            |rows: Rows| Stock { rows, next: AtomicUsize::new(0), ran_out: AtomicBool::new(false) };
        Self(files.into_iter().map(stock).collect())
    }

    /// Takes the rows that a user keeps from its start on; `false` where there is none left.
    pub fn take_at_start(&self, data: &mut Data) -> bool {
        self.0.iter().filter(|stock| stock.rows.at_start).all(|stock| stock.take(0, data))
    }

    /// Takes the rows of the user's iteration `number`, which its `data` has gone to; `false` where
    /// there is none left.
    pub fn take(&self, number: u64, data: &mut Data) -> bool {
        self.0.iter().filter(|stock| stock.rows.in_iterations).all(|stock| stock.take(number, data))
    }

    /// Takes the rows of the verification.
    pub fn take_for_verification(&self, data: &mut Data) {
        for Stock { rows, .. } in &self.0 {
            let index = match rows.order {
                // Users have the others.
                Order::Once => rows.len().saturating_sub(1),
                Order::Cycle => cycled(rows, 0, data),
                Order::Random => data.draw(rows.len()),
            };
            data.keep(rows.row(index));
        }
    }

    /// The files of which there were too few rows.
    #[must_use]
    pub fn ran_out(&self) -> Vec<String> {
        let out = self.0.iter().filter(|stock| stock.ran_out.load(Ordering::Relaxed));
        out.map(|stock| stock.rows.name.clone()).collect()
    }
}

impl Stock {
    fn take(&self, number: u64, data: &mut Data) -> bool {
        let Self { rows, next, ran_out } = self;
        let index = match rows.order {
            Order::Once => next.fetch_add(1, Ordering::Relaxed),
            Order::Cycle => cycled(rows, number, data),
            Order::Random => data.draw(rows.len()),
        };
        if index >= rows.len() {
            ran_out.store(true, Ordering::Relaxed);
            return false;
        }
        data.keep(rows.row(index));
        true
    }
}

/// Each user begins at the row of its number.
fn cycled(rows: &Rows, number: u64, data: &Data) -> usize {
    let row = (u64::from(data.user()) + number) % rows.len().max(1) as u64;
    // Less than a length.
    row as usize
}
