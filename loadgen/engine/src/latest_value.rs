//! Publishes versions of a value to many readers, without a lock.

use std::sync::OnceLock;

/// One version of a value, with a link to the next version.
///
/// A reader holds one version, and checks whether a newer version exists.
/// Readers take no lock and write to no shared memory.
pub(super) struct LatestValue<T> {
    value: T,
    next: OnceLock<Box<Self>>,
}

impl<T> LatestValue<T> {
    /// Creates the first version.
    #[must_use]
    pub(super) fn new(value: T) -> Self {
        Self { value, next: OnceLock::new() }
    }

    /// Returns the value of this version.
    #[must_use]
    pub(super) fn value(&self) -> &T {
        &self.value
    }

    /// Whether a newer version exists.
    #[must_use]
    pub(super) fn is_old(&self) -> bool {
        self.next.get().is_some()
    }

    /// Returns the newest version.
    #[must_use]
    pub(super) fn newest(&self) -> &Self {
        let mut newest = self;
        while let Some(next) = newest.next.get() {
            newest = next;
        }
        newest
    }

    /// Appends a version that `make` creates from the newest version. Calls `make` again if another
    /// caller has appended a version first.
    pub(super) fn update(&self, make: impl Fn(&T) -> T) {
        loop {
            let newest = self.newest();
            if newest.next.set(Box::new(Self::new(make(&newest.value)))).is_ok() {
                return;
            }
        }
    }
}

impl<T> Drop for LatestValue<T> {
    /// Drops the versions in a loop, because recursive drops of
    /// many versions would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut version) = next {
            next = version.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_made_from_the_previous_one() {
        let first = LatestValue::new(0);
        let mut place = &first;
        for _ in 0..200_000 {
            place.update(|n| n + 1);
            place = place.newest();
        }
        assert!(first.is_old() && !first.newest().is_old());
        assert_eq!((*first.value(), *place.newest().value()), (0, 200_000));
    }

    #[test]
    fn concurrent_updates_are_not_lost() {
        let first = LatestValue::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).for_each(|_| first.update(|n| n + 1)));
            }
        });
        assert_eq!(*first.newest().value(), 2_000);
    }
}
