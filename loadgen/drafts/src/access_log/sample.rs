//! A random sample of the requests of a log, so that a log of any size fits into memory.

/// Most requests in the sample.
const MOST: usize = 400_000;

/// Most bytes of their targets.
const MOST_BYTES: usize = 128 << 20;

/// Requests, of which each one of the log has the same chance.
#[derive(Debug)]
pub(super) struct Sample {
    /// Requests with their random keys, all below `limit`.
    taken: Vec<(u64, Request)>,
    /// Requests whose keys are not below are not taken. It is halved when the sample is full.
    limit: u64,
    bytes: usize,
    random: SplitMix,
}

/// A request that may be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// `HEAD` instead of `GET`.
    pub head: bool,
    /// Status of its response.
    pub status: u16,
    /// Path and query.
    pub target: Box<str>,
}

impl Default for Sample {
    /// A sample of nothing. Two samples of the same requests are equal.
    fn default() -> Self {
        Self { taken: Vec::new(), limit: u64::MAX, bytes: 0, random: SplitMix(1) }
    }
}

impl Sample {
    /// Adds a request, which is made only if the sample takes it.
    pub(super) fn add(&mut self, request: impl FnOnce() -> Request) {
        let key = self.random.next();
        if key >= self.limit {
            return;
        }
        let request = request();
        self.bytes += request.target.len();
        self.taken.push((key, request));
        while self.taken.len() > MOST || self.bytes > MOST_BYTES {
            self.limit /= 2;
            self.taken.retain(|(key, _)| *key < self.limit);
            self.bytes = self.taken.iter().map(|(_, request)| request.target.len()).sum();
        }
    }

    /// Whether the sample has all requests.
    pub(super) fn is_whole(&self) -> bool {
        self.limit == u64::MAX
    }

    /// Returns the requests in a random order.
    pub(super) fn shuffled(mut self) -> Vec<Request> {
        self.taken.sort_unstable_by_key(|(key, _)| *key);
        self.taken.into_iter().map(|(_, request)| request).collect()
    }
}

/// Random numbers from a fixed seed, so that a log gives the same draft each time (Sebastiano Vigna,
/// "splitmix64.c").
#[derive(Debug)]
pub(super) struct SplitMix(pub u64);

impl SplitMix {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: usize, length: usize) -> Sample {
        let mut sample = Sample::default();
        for index in 0..count {
            sample.add(|| Request {
                head: false,
                status: if index < count / 4 { 200 } else { 301 },
                target: "x".repeat(length).into(),
            });
        }
        sample
    }

    #[test]
    fn a_large_log_has_a_fair_sample() {
        let sample = of(1_500_000, 1);
        assert!(!sample.is_whole());
        let taken = sample.shuffled();
        assert!((MOST / 2 - 10_000..=MOST).contains(&taken.len()), "{}", taken.len());
        let first = taken.iter().filter(|request| request.status == 200).count();
        let share = first as f64 / taken.len() as f64;
        assert!((0.24..0.26).contains(&share), "{share}");
    }

    #[test]
    fn a_small_log_is_taken_as_a_whole() {
        let sample = of(1_000, 1);
        assert!(sample.is_whole());
        let taken = sample.shuffled();
        assert_eq!(taken.len(), 1_000);
        assert!(taken[..500].iter().any(|request| request.status == 200), "they are shuffled");
    }

    #[test]
    fn long_targets_take_no_more_memory() {
        let sample = of(100_000, 2_000);
        assert!(sample.bytes <= MOST_BYTES && sample.taken.len() > 20_000);
    }
}
