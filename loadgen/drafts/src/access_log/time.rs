//! Times of access logs, in seconds since 1970 (UTC). A time without a zone counts as UTC: only
//! differences between times matter.

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Reads the time that begins with the text: `28/Nov/2026:06:59:35 +0000`, as servers write it, or
/// `28/Nov/2026 06:59:35`, as Python's development servers do.
pub(super) fn of_server(text: &[u8]) -> Option<i64> {
    let month = text.get(3..6)?;
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as i64 + 1;
    let marks = [text.get(2)?, text.get(6)?, text.get(11)?];
    if !matches!(marks, [b'/', b'/', b':' | b' ']) {
        return None;
    }
    let (day, year) = (number(text, 0, 2)?, number(text, 7, 4)?);
    seconds([year, month, day], text.get(12..20)?, text.get(20..)?)
}

/// Reads the time that begins with the text, by ISO 8601 or as Python's `logging` writes it:
/// `2026-11-28T06:59:35.349+01:00`, `2026-11-28 06:59:35,349`, `2026-11-28 06:59:35 +0000`.
pub(super) fn of_iso(text: &[u8]) -> Option<i64> {
    let marks = [text.get(4)?, text.get(7)?, text.get(10)?];
    if !matches!(marks, [b'-', b'-', b'T' | b't' | b' '] | [b'/', b'/', b' ']) {
        return None;
    }
    let date = [number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?];
    let rest = text.get(19..)?;
    let fraction = match rest.first() {
        Some(b'.' | b',') => 1 + rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    seconds(date, text.get(11..19)?, &rest[fraction..])
}

/// Finds the first time by ISO 8601 in the text.
pub(super) fn find_iso(text: &[u8]) -> Option<i64> {
    memchr::memchr_iter(b'-', text).find_map(|dash| of_iso(text.get(dash.checked_sub(4)?..)?))
}

/// Returns a time that is a number: seconds, or milli-, micro- or nanoseconds if it is too large for
/// seconds.
pub(super) fn of_number(number: f64) -> Option<i64> {
    let per_second = match number {
        n if n < 1e8 => return None,
        n if n < 1e11 => 1.0,
        n if n < 1e14 => 1e3,
        n if n < 1e17 => 1e6,
        n if n < 1e20 => 1e9,
        _ => return None,
    };
    Some((number / per_second).floor() as i64)
}

/// Returns the seconds of a date, a time such as `06:59:35`, and the zone with which `zone` may begin.
fn seconds([year, month, day]: [i64; 3], clock: &[u8], zone: &[u8]) -> Option<i64> {
    let [hour, minute, second] = [number(clock, 0, 2)?, number(clock, 3, 2)?, number(clock, 6, 2)?];
    let fits = clock.get(2) == Some(&b':')
        && clock.get(5) == Some(&b':')
        && (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        // A leap second.
        && second <= 60;
    let local = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    fits.then(|| local - offset(zone))
}

/// Returns the seconds by which a zone is ahead of UTC: `+0100`, `+01:00`, perhaps after a space.
fn offset(zone: &[u8]) -> i64 {
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let sign = match zone.first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return 0,
    };
    let minutes = if zone.get(3) == Some(&b':') { 4 } else { 3 };
    match (number(zone, 1, 2), number(zone, minutes, 2)) {
        (Some(hours), Some(minutes)) => sign * (hours * 3_600 + minutes * 60),
        _ => 0,
    }
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn number(text: &[u8], at: usize, length: usize) -> Option<i64> {
    text.get(at..at + length)?.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_servers_are_read() {
        let time = 1_795_849_175;
        for text in
            ["28/Nov/2026:06:59:35 +0000", "28/Nov/2026 06:59:35]", "28/nov/2026:07:59:35 +0100"]
        {
            assert_eq!(of_server(text.as_bytes()), Some(time), "{text}");
        }
        for text in [
            "2026-11-28T06:59:35+00:00",
            "2026-11-28T06:59:35.123456Z",
            "2026-11-28 06:59:35,123 INFO",
            "2026-11-28 06:59:35 +0000] x",
            "2026-11-28T01:29:35-05:30",
            "2026/11/28 06:59:35.349\tINFO",
        ] {
            assert_eq!(of_iso(text.as_bytes()), Some(time), "{text}");
        }
        assert_eq!(find_iso("web-1  | 2026-11-28 06:59:35,1 - é".as_bytes()), Some(time));
        for number in [1_795_849_175.349, 1_795_849_175_349.0, 1_795_849_175_349e6] {
            assert_eq!(of_number(number), Some(time), "{number}");
        }
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in
            ["", "28/Nov/2026", "28/Nob/2026:06:59:35", "28/Nov/2026:24:59:35", "éééééééééééé"]
        {
            assert_eq!(of_server(text.as_bytes()), None, "{text}");
        }
        for text in ["2026-13-28T06:59:35", "2026-11-28T06-59-35", "2026-11-28", "-----------"] {
            assert_eq!(find_iso(text.as_bytes()), None, "{text}");
        }
        assert_eq!([f64::NAN, -1.0, 12.5, 1e300].map(of_number), [None; 4]);
    }

    #[test]
    fn days_follow_the_calendar() {
        for (date, expected) in [
            ((1970, 1, 1), 0),
            ((1972, 2, 29), 789),
            ((2000, 3, 1), 11_017),
            ((2100, 3, 1), 47_541),
        ] {
            assert_eq!(days(date.0, date.1, date.2), expected, "{date:?}");
        }
    }
}
