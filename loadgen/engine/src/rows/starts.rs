//! Chooses the row at which each user begins, in a file whose rows are used in a cycle.
//!
//! Each user goes through the whole file, row by row, from a separate start position. The start
//! positions of the planned users are as far apart as possible. Equally fast users therefore
//! together use each row once before any row comes again. The golden ratio decides which user has
//! which start position. The first *n* users, for every *n*, are thus spread over the whole file as
//! well, when a load rises in stages.

/// Fractional part of the golden ratio. Its multiples are spread over the unit interval more evenly
/// than those of any other number, for any number of multiples (Knuth, "The Art of Computer
/// Programming", volume 3, chapter 6.4).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Start positions of a test's users in a file.
#[derive(Debug, Clone)]
pub(super) struct Starts {
    /// Rank of each user's start position in the order of the file, by the user's number.
    ranks: Box<[u32]>,
}

impl Starts {
    /// Computes the start positions of the `users` users of the whole test.
    #[must_use]
    pub(super) fn new(users: u32) -> Self {
        let mut by_place: Vec<u32> = (0..users).collect();
        by_place.sort_by(|a, b| place(*a).total_cmp(&place(*b)));
        let mut ranks = vec![0; by_place.len()].into_boxed_slice();
        for (rank, user) in (0..).zip(by_place) {
            ranks[user as usize] = rank;
        }
        Self { ranks }
    }

    /// Returns the index of the row that `user` takes in its iteration `number`, in a file of
    /// `rows` rows. Iterations count from 0 in the warm-up, and again from 0 after the warm-up. The
    /// warm-up goes backwards, so that it uses the rows that otherwise come last.
    #[must_use]
    pub(super) fn row(&self, user: u32, number: u64, counted: bool, rows: u64) -> u64 {
        let rows = rows.max(1);
        let start = match self.ranks.get(user as usize) {
            Some(rank) => u64::from(*rank) * rows / self.ranks.len() as u64,
            // A load change brought this user, who was not planned.
            None => (place(user) * rows as f64) as u64,
        };
        let gone = number % rows;
        (if counted { start + gone } else { start + rows - 1 - gone }) % rows
    }
}

/// Returns a user's start position as a fraction of the file, from 0 to below 1.
fn place(user: u32) -> f64 {
    (f64::from(user) * GOLDEN).fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Counts how often each of `rows` rows is used. Of `users` planned users, the first `active`
    /// run `iterations` iterations each.
    fn uses(users: u32, active: u32, iterations: u64, rows: u64) -> Vec<u32> {
        let starts = Starts::new(users);
        let mut uses = vec![0; rows as usize];
        for (user, number) in (0..active).flat_map(|u| (0..iterations).map(move |i| (u, i))) {
            uses[starts.row(user, number, true, rows) as usize] += 1;
        }
        uses
    }

    fn used(uses: &[u32]) -> usize {
        uses.iter().filter(|uses| **uses > 0).count()
    }

    #[test]
    fn users_of_equal_speed_use_each_row_before_any_repeats() {
        assert_eq!(used(&uses(100, 100, 30, 10_000)), 3_000);
        assert_eq!(uses(100, 100, 100, 10_000), vec![1; 10_000]);
    }

    #[test]
    fn any_number_of_users_is_spread_over_the_file() {
        for (users, active, iterations, least) in [
            (1_000, 3, 2_000, 6_000),
            (1_000, 10, 500, 5_000),
            (1_000, 50, 100, 4_900),
            (100, 200, 20, 3_200),
            (100, 1_000, 10, 6_500),
        ] {
            let used = used(&uses(users, active, iterations, 10_000));
            assert!(used >= least, "{active} of {users} users: {used}");
        }
    }

    #[test]
    fn the_warm_up_uses_the_rows_that_come_last() {
        let starts = Starts::new(4);
        let rows = |counted| (0..25).flat_map(move |i| (0..4).map(move |user| (user, i, counted)));
        let of = |counted| -> BTreeSet<u64> {
            rows(counted).map(|(user, i, counted)| starts.row(user, i, counted, 200)).collect()
        };
        assert_eq!((of(true).len(), of(false).len()), (100, 100));
        assert!(of(true).is_disjoint(&of(false)));
    }

    proptest! {
        #[test]
        fn rows_are_used_equally_often_to_within_one(
            users in 1u32..60, rows in 1u64..80, iterations in 0u64..200,
        ) {
            let uses = uses(users, users, iterations, rows);
            let (least, most) = (uses.iter().min().unwrap(), uses.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{uses:?}");
        }

        #[test]
        fn each_user_goes_through_the_whole_file(
            users in 0u32..60, user in 0u32..99, rows in 1u64..80, counted: bool,
        ) {
            let starts = Starts::new(users);
            let all: BTreeSet<u64> = (0..rows).map(|i| starts.row(user, i, counted, rows)).collect();
            prop_assert_eq!(all, (0..rows).collect::<BTreeSet<_>>());
        }
    }
}
