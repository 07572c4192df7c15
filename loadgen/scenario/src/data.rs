//! Generates random-looking data that is the same for the same seed.

use std::fmt::Write;
use std::sync::Arc;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Source of the generated values in one user's templates.
///
/// Each user has a separate ChaCha stream, and each iteration of the user a separate position
/// in the stream. So the generated data depends only on the seed, the user's number and the
/// iteration: the data is the same on any number of workers, and a failed step does not
/// change the data of later iterations. Captured values and cells of rows are kept
/// separately, as the server and the file provide them.
#[derive(Debug, Clone)]
pub struct Data {
    seed: u64,
    user: u32,
    iteration: u64,
    /// Random number generator, created and moved to the current iteration only at the first draw,
    /// so that a scenario without random data costs nothing.
    stream: Option<Box<ChaCha8Rng>>,
    moved: bool,
    /// Random number generator of [`Self::pick`], and the iteration that it is in, created at the first draw.
    picks: Option<(Box<ChaCha8Rng>, u64)>,
    /// Values captured from responses and cells of rows, by name; so few that a linear search is
    /// cheapest. `None` for a value that the user has no more, although all users had it at first.
    captured: Vec<(String, Option<String>)>,
    /// Values that all users have from the start, by name, unless the user has captured its own.
    known: Arc<[(String, String)]>,
    /// Texts that are rendered once for each user, by their keys; as few as the steps of a scenario.
    rendered: Vec<(usize, String)>,
}

/// Number of the first random stream of picks. Those with lower numbers generate users' data and other choices.
const PICKS: u64 = 1 << 33;

/// Binary logarithm of the number of 32-bit words between the starts of two iterations in a user's
/// random stream. The stream has 2^68 words: enough for 2^40 iterations with 1 GiB of random bits
/// each.
const WORDS_PER_ITERATION: u32 = 28;

impl Data {
    /// Creates the data source of one user, at the user's first iteration. Users and iterations are
    /// counted from 0.
    // Not inlined: rustc 1.95 and 1.96 treat two equally made values, of which one
    // is dropped after the other, as one value where the construction of both is
    // visible (rust-lang/rust#158830; fixed in 1.97).
    #[inline(never)]
    pub fn new(seed: u64, user: u32) -> Self {
        Self {
            seed,
            user,
            iteration: 0,
            stream: None,
            moved: false,
            picks: None,
            captured: Vec::new(),
            known: Arc::default(),
            rendered: Vec::new(),
        }
    }

    /// Adds values that all users have.
    #[must_use]
    pub fn knowing(self, known: Arc<[(String, String)]>) -> Self {
        Self { known, ..self }
    }

    /// Returns the text that was kept under this key, if any.
    pub(super) fn rendered(&self, key: usize) -> Option<&str> {
        self.rendered.iter().find(|(of, _)| *of == key).map(|(_, text)| text.as_str())
    }

    /// Keeps a text for all later requests of the user.
    pub(super) fn keep_rendered(&mut self, key: usize, text: String) {
        self.rendered.push((key, text));
    }

    /// Returns the user's number, counted from 0.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Returns the number of the user's current iteration, counted from 0.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Sets the current iteration. The next draw is the first draw of this iteration.
    #[inline]
    pub fn set_iteration(&mut self, iteration: u64) {
        self.iteration = iteration;
        self.moved = true;
    }

    /// Stores a captured value and replaces the previous value of the same name.
    #[inline]
    pub fn capture(&mut self, name: &str, value: String) {
        match self.captured.iter_mut().find(|(known, _)| known == name) {
            Some((_, kept)) => *kept = Some(value),
            None => self.captured.push((name.to_owned(), Some(value))),
        }
    }

    /// Removes a captured value.
    pub fn forget(&mut self, name: &str) {
        match self.captured.iter_mut().find(|(known, _)| known == name) {
            Some((_, kept)) => *kept = None,
            None => self.captured.push((name.to_owned(), None)),
        }
    }

    /// Stores the cells of a row and replaces the previous cells of the same names.
    #[inline]
    pub fn keep<'a>(&mut self, cells: impl Iterator<Item = (&'a str, &'a str)>) {
        for (name, cell) in cells {
            match self.captured.iter_mut().find(|(known, _)| known == name) {
                Some((_, kept)) => {
                    let kept = kept.get_or_insert_default();
                    kept.clear();
                    kept.push_str(cell);
                }
                None => self.captured.push((name.to_owned(), Some(cell.to_owned()))),
            }
        }
    }

    /// Draws a random integer below `count` for the current iteration. `count` must not be zero.
    #[inline]
    pub fn draw(&mut self, count: usize) -> usize {
        self.stream().random_range(0..count.max(1))
    }

    /// Draws the index of one of `count` values of a response, all equally likely. The draws have a stream of their
    /// own, so that what a server answers does not change the user's generated data. `count` must not be zero.
    pub fn pick(&mut self, count: usize) -> usize {
        let (stream, iteration) = self.picks.get_or_insert_with(|| {
            let mut stream = ChaCha8Rng::seed_from_u64(self.seed);
            stream.set_stream(PICKS | u64::from(self.user));
            // No iteration has this number.
            (Box::new(stream), u64::MAX)
        });
        if *iteration != self.iteration {
            stream.set_word_pos(u128::from(self.iteration) << WORDS_PER_ITERATION);
            *iteration = self.iteration;
        }
        stream.random_range(0..count.max(1))
    }

    /// Returns the captured value or cell of this name, if one exists.
    #[inline]
    pub fn captured(&self, name: &str) -> Option<&str> {
        match self.captured.iter().find(|(known, _)| known == name) {
            Some((_, value)) => value.as_deref(),
            None => {
                let found = self.known.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.as_str())
            }
        }
    }

    #[inline]
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

    #[inline]
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

    #[inline]
    pub(super) fn push_int(&mut self, min: i64, max: i64, out: &mut String) {
        let number = self.stream().random_range(min..=max);
        push(out, format_args!("{number}"));
    }

    #[inline]
    pub(super) fn push_name(&mut self, between: &str, out: &mut String) {
        let stream = self.stream();
        let first = FIRST_NAMES[stream.random_range(0..FIRST_NAMES.len())];
        let last = LAST_NAMES[stream.random_range(0..LAST_NAMES.len())];
        out.push_str(first);
        out.push_str(between);
        out.push_str(last);
    }

    #[inline]
    pub(super) fn push_user(&self, out: &mut String) {
        push(out, format_args!("{}", self.user));
    }

    #[inline]
    pub(super) fn push_iteration(&self, out: &mut String) {
        push(out, format_args!("{}", self.iteration));
    }
}

fn push(out: &mut String, number: std::fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let _ = out.write_fmt(number);
}

// Only ASCII letters, so that a name needs no escaping in JSON, in a header or in a path.
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
    fn a_uuid_has_version_4() {
        let mut out = String::new();
        Data::new(1, 2).push_uuid(&mut out);
        // Pinned: a later version must be able to repeat a saved run.
        assert_eq!(out, "36753291-7e5d-4be0-9510-71ebe71ac8ae");
    }

    #[test]
    fn an_iteration_does_not_depend_on_earlier_ones() {
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

    #[test]
    fn a_user_may_replace_or_lose_what_all_users_have() {
        let all: Arc<[(String, String)]> = Arc::new([("token".to_owned(), "of all".to_owned())]);
        let mut data = Data::new(1, 1).knowing(all);
        assert_eq!(data.captured("token"), Some("of all"));
        data.capture("token", "own".to_owned());
        assert_eq!(data.captured("token"), Some("own"));
        data.forget("token");
        assert_eq!(data.captured("token"), None);
        data.keep([("token", "cell")].into_iter());
        assert_eq!((data.captured("token"), data.captured("other")), (Some("cell"), None));
    }

    #[test]
    fn picks_do_not_change_the_data_and_follow_from_the_iteration() {
        let (mut with, mut without) = (Data::new(7, 3), Data::new(7, 3));
        let picked: Vec<usize> = (0..5).map(|_| with.pick(1_000)).collect();
        let uuid = |data: &mut Data| {
            let mut out = String::new();
            data.push_uuid(&mut out);
            out
        };
        assert_eq!(uuid(&mut with), uuid(&mut without));
        with.set_iteration(1);
        assert_ne!((0..5).map(|_| with.pick(1_000)).collect::<Vec<_>>(), picked);
        with.set_iteration(0);
        assert_eq!((0..5).map(|_| with.pick(1_000)).collect::<Vec<_>>(), picked);
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
    fn both_ends_of_a_range_occur() {
        let mut data = Data::new(1, 1);
        let mut out = String::new();
        for _ in 0..64 {
            data.push_int(1, 3, &mut out);
        }
        assert!(out.contains('1') && out.contains('2') && out.contains('3'));
    }
}
