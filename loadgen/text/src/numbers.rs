//! Formats numbers for people.

use std::time::Duration;

/// Formats a count with thousands separators: `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with the noun that is counted, whose plural ends in `s`: `1 user`, `1,234 users`.
#[must_use]
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Formats a rate per second: as a whole number from 100 on, with one decimal below 100.
#[must_use]
pub fn rate(per_s: f64) -> String {
    if per_s >= 100.0 { count(per_s.round() as u64) } else { format!("{per_s:.1}") }
}

/// Formats microseconds as milliseconds, to about three digits; a dash for `None`.
#[must_use]
pub fn milliseconds(us: Option<u64>) -> String {
    match us {
        None => "–".to_owned(),
        Some(us) if us < 10_000 => format!("{:.2}", us as f64 / 1e3),
        Some(us) if us < 100_000 => format!("{:.1}", us as f64 / 1e3),
        Some(us) => count((us as f64 / 1e3).round() as u64),
    }
}

/// Formats bytes as megabytes (10⁶), rounded up.
#[must_use]
pub fn megabytes(n: u64) -> String {
    count(n.div_ceil(1_000_000))
}

/// Formats the limits of a container, such as `0.5 CPUs, 256 MiB`: CPU seconds per second, and
/// bytes. `None` means unlimited.
#[must_use]
pub fn limits(cpus: Option<f64>, memory: Option<u64>) -> String {
    let cpus = cpus.map(|cpus| match cpus {
        1.0 => "1 CPU".to_owned(),
        _ => format!("{cpus} CPUs"),
    });
    // The user gives the limit in units of 1,024.
    let memory = memory.map(|bytes| match bytes {
        bytes if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
        bytes => format!("{} MiB", bytes >> 20),
    });
    match (cpus, memory) {
        (None, None) => "no limit".to_owned(),
        (cpus, memory) => cpus.into_iter().chain(memory).collect::<Vec<_>>().join(", "),
    }
}

/// Formats a value that is compared with a bound: to four significant digits, with at most four
/// decimals. Values of 1,000 and more are rounded to whole numbers.
#[must_use]
pub fn precise(value: f64) -> String {
    if value >= 1_000.0 {
        return count(value.round() as u64);
    }
    let decimals = match value {
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a number with up to one decimal.
#[must_use]
pub fn tenths(value: f64) -> String {
    // Not a negative zero.
    precise((value * 10.0).round() / 10.0 + 0.0)
}

/// Formats a duration without false precision: `900ms`, `12s`, `1m 30s`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return format!("{}ms", duration.as_millis());
    }
    let seconds = duration.as_secs_f64();
    if seconds < 60.0 {
        let tenths = (seconds * 10.0).round() / 10.0;
        return format!("{tenths}s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    [(hours, "h"), (minutes, "m"), (seconds, "s")]
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
    }

    #[test]
    fn one_has_no_plural() {
        let shown = [0, 1, 2, 1_234].map(|n| counted(n, "user"));
        assert_eq!(shown, ["0 users", "1 user", "2 users", "1,234 users"]);
    }

    #[test]
    fn latencies_keep_three_digits() {
        let shown = [Some(7), Some(1_234), Some(12_345), Some(123_456), Some(9_999_999), None];
        assert_eq!(shown.map(milliseconds), ["0.01", "1.23", "12.3", "123", "10,000", "–"]);
    }

    #[test]
    fn a_value_shown_with_its_bound_keeps_four_digits() {
        let shown = [0.0, 0.0012, 1.0, 1.23456, 99.97, 100.4, 12_345.6].map(precise);
        assert_eq!(shown, ["0", "0.0012", "1", "1.235", "99.97", "100.4", "12,346"]);
    }

    #[test]
    fn tenths_have_one_decimal_at_most() {
        let shown = [12.34, 3.0, -0.04, 1_234.5].map(tenths);
        assert_eq!(shown, ["12.3", "3", "0", "1,235"]);
    }

    #[test]
    fn durations_are_shown_briefly() {
        let ms = Duration::from_millis;
        let shown = [ms(200), ms(3_000), ms(1_500), ms(59_960), ms(90_000), ms(3_600_000)];
        assert_eq!(shown.map(duration), ["200ms", "3s", "1.5s", "60s", "1m 30s", "1h"]);
    }
}
