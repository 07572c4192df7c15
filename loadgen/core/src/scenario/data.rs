//! Generated data: random to look at, and the same again for the same seed.

use std::fmt::Write;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What one user's templates are rendered from.
///
/// Each user has a ChaCha stream of its own, and each of its iterations a place of its own in that
/// stream. So what is sent follows from the seed, the user's number and the iteration alone: it is
/// the same on any number of workers, and a failed step does not change what later iterations send.
/// What was captured from answers is beside it, and is as the server has it; so are cells of rows.
#[derive(Debug, Clone)]
pub struct Data {
    seed: u64,
    user: u32,
    iteration: u64,
    /// Made and moved to the iteration only when something is drawn from it: a scenario without
    /// random data pays nothing for it.
    stream: Option<Box<ChaCha8Rng>>,
    moved: bool,
    /// Captured values and cells of rows, by name; few, so that looking through them is cheapest.
    captured: Vec<(String, String)>,
}

/// Words of 32 bits between the starts of two iterations, as a power of two. The stream has 2^68,
/// so that there is room for 2^40 iterations of a gigabyte of random bits each.
const WORDS_PER_ITERATION: u32 = 28;

impl Data {
    /// The data of one user, at its first iteration. Users and iterations are counted from 0.
    // rustc 1.95 and 1.96 take two values that are made alike, and dropped one after the other, for
    // one where they see both being made (rust-lang/rust#158830; mended in 1.97).
    #[inline(never)]
    pub fn new(seed: u64, user: u32) -> Self {
        Self { seed, user, iteration: 0, stream: None, moved: false, captured: Vec::new() }
    }

    /// The user's number.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// The number of the user's iteration.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Goes to the start of an iteration.
    pub fn set_iteration(&mut self, iteration: u64) {
        self.iteration = iteration;
        self.moved = true;
    }

    /// Keeps a value that was taken from an answer, in place of the one before it.
    pub fn capture(&mut self, name: &str, value: String) {
        match self.captured.iter_mut().find(|(known, _)| known == name) {
            Some((_, kept)) => *kept = value,
            None => self.captured.push((name.to_owned(), value)),
        }
    }

    /// Keeps the cells of a row, each in place of the one before it.
    pub fn keep<'a>(&mut self, cells: impl Iterator<Item = (&'a str, &'a str)>) {
        for (name, cell) in cells {
            match self.captured.iter_mut().find(|(known, _)| known == name) {
                Some((_, kept)) => {
                    kept.clear();
                    kept.push_str(cell);
                }
                None => self.captured.push((name.to_owned(), cell.to_owned())),
            }
        }
    }

    /// A whole number below `count`, which is not zero, drawn as the iteration's other data.
    pub fn draw(&mut self, count: usize) -> usize {
        self.stream().random_range(0..count.max(1))
    }

    /// The value of this name, if one was captured.
    pub fn captured(&self, name: &str) -> Option<&str> {
        let found = self.captured.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn stream(&mut self) -> &mut ChaCha8Rng {
        let stream = self.stream.get_or_insert_with(|| {
            let mut stream = ChaCha8Rng::seed_from_u64(self.seed);
            stream.set_stream(u64::from(self.user));
            Box::new(stream)
        });
        if self.moved {
            stream.set_word_pos(u128::from(self.iteration) << WORDS_PER_ITERATION);
            self.moved = false;
        }
        stream
    }

    pub(super) fn push_uuid(&mut self, out: &mut String) {
        let mut bytes = [0; 16];
        self.stream().fill_bytes(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40; // version 4
        bytes[8] = bytes[8] & 0x3f | 0x80; // variant of RFC 9562
        for (index, byte) in bytes.into_iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            for nibble in [byte >> 4, byte & 0x0f] {
                out.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
            }
        }
    }

    pub(super) fn push_int(&mut self, min: i64, max: i64, out: &mut String) {
        let number = self.stream().random_range(min..=max);
        push(out, format_args!("{number}"));
    }

    pub(super) fn push_name(&mut self, between: &str, out: &mut String) {
        let stream = self.stream();
        let first = FIRST_NAMES[stream.random_range(0..FIRST_NAMES.len())];
        let last = LAST_NAMES[stream.random_range(0..LAST_NAMES.len())];
        out.push_str(first);
        out.push_str(between);
        out.push_str(last);
    }

    pub(super) fn push_user(&self, out: &mut String) {
        push(out, format_args!("{}", self.user));
    }

    pub(super) fn push_iteration(&self, out: &mut String) {
        push(out, format_args!("{}", self.iteration));
    }
}

fn push(out: &mut String, number: std::fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let _ = out.write_fmt(number);
}

// ASCII letters alone, so that a name needs no escaping in JSON, in a header or in a path.
const FIRST_NAMES: [&str; 32] = [
    "Ada", "Alan", "Amina", "Barbara", "Carlos", "Chen", "Dennis", "Edsger", "Elena", "Fatima",
    "Grace", "Hiroshi", "Ingrid", "Ivan", "Joan", "Ken", "Kofi", "Lena", "Linus", "Margaret",
    "Maria", "Mei", "Niklaus", "Noor", "Olga", "Priya", "Radia", "Samuel", "Sofia", "Tariq",
    "Yuki", "Zoe",
];
const LAST_NAMES: [&str; 32] = [
    "Abe", "Adeyemi", "Bauer", "Brown", "Costa", "Diaz", "Dijkstra", "Fischer", "Garcia",
    "Hamilton", "Hansen", "Hopper", "Ivanova", "Johnson", "Khan", "Kim", "Kowalski", "Li",
    "Liskov", "Lovelace", "Martin", "Mensah", "Moreau", "Nguyen", "Novak", "Okafor", "Patel",
    "Rossi", "Sato", "Silva", "Turing", "Wirth",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_need_no_escaping() {
        for name in FIRST_NAMES.iter().chain(&LAST_NAMES) {
            assert!(name.chars().all(|c| c.is_ascii_alphabetic()), "{name}");
        }
    }

    #[test]
    fn a_uuid_is_one_of_version_4() {
        let mut out = String::new();
        Data::new(1, 2).push_uuid(&mut out);
        // The value itself is pinned: a saved run must be repeatable by a later version.
        assert_eq!(out, "36753291-7e5d-4be0-9510-71ebe71ac8ae");
    }

    #[test]
    fn an_iteration_does_not_depend_on_the_ones_before() {
        let mut whole = Data::new(7, 3);
        let mut jumped = whole.clone();
        let (mut skipped, mut one, mut other) = (String::new(), String::new(), String::new());
        for _ in 0..5 {
            whole.push_uuid(&mut skipped);
        }
        whole.set_iteration(1);
        whole.push_uuid(&mut one);
        jumped.set_iteration(1);
        jumped.push_uuid(&mut other);
        assert_eq!(one, other);
        assert!(!skipped.contains(&one));
    }

    proptest! {
        #[test]
        fn integers_stay_within_their_bounds(a: i64, b: i64, seed: u64) {
            let (min, max) = (a.min(b), a.max(b));
            let mut out = String::new();
            Data::new(seed, 0).push_int(min, max, &mut out);
            let number: i64 = out.parse().unwrap();
            prop_assert!((min..=max).contains(&number));
        }
    }

    #[test]
    fn both_ends_of_a_range_are_met() {
        let mut data = Data::new(1, 1);
        let mut out = String::new();
        for _ in 0..64 {
            data.push_int(1, 3, &mut out);
        }
        assert!(out.contains('1') && out.contains('2') && out.contains('3'));
    }
}
