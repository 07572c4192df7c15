//! Numbers as people read them.

/// Formats a number as `1,000,000`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<String> =
        groups.map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    groups.join(",")
}
