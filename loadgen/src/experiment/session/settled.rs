//! Waits until the memory of services no longer grows.

use std::time::Duration;

/// Time between two readings.
const EVERY: Duration = Duration::from_millis(100);

/// Greatest number of readings.
const READINGS: usize = 30;

/// Greatest growth from one reading to the next that counts as none, as a share.
const NONE: f64 = 0.01;

/// Returns the first reading that is hardly more than the one before: when one process of a server answers, others may
/// still start. `bytes` returns the whole memory of a reading.
///
/// # Errors
/// The error of a reading.
pub(super) async fn settled<T, E>(
    mut read: impl AsyncFnMut() -> Result<T, E>,
    bytes: impl Fn(&T) -> u64,
) -> Result<T, E> {
    let mut before = read().await?;
    for _ in 1..READINGS {
        tokio::time::sleep(EVERY).await;
        let now = read().await?;
        let has_settled = bytes(&now) as f64 <= bytes(&before) as f64 * (1.0 + NONE);
        before = now;
        if has_settled {
            break;
        }
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_that_grows_is_read_again() {
        let mut readings = [100, 200, 300, 302, 400].into_iter();
        let read = async || readings.next().ok_or("none");
        assert_eq!(settled(read, |bytes| *bytes).await, Ok(302));
        let failed = settled(async || Err::<u64, _>("gone"), |bytes| *bytes).await;
        assert_eq!(failed, Err("gone"));
    }
}
