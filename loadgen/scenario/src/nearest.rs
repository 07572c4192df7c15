//! Finds the known name nearest to an unknown name, for "did you mean …?".

/// Returns the candidate nearest to `name`, if the candidate is near enough to be meant.
///
/// A near candidate differs by at most one edit per three letters of `name`; names of fewer than
/// six letters allow one edit. So `redis` is near `reddis`, but not near `mysql`. Case does not
/// count as a difference. Among equally near candidates, the first wins.
///
/// ```
/// use loadgen_scenario::nearest;
///
/// assert_eq!(nearest("reddis", ["postgres", "redis"]), Some("redis"));
/// assert_eq!(nearest("mysql", ["postgres", "redis"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&name, &candidate.to_lowercase());
            (distance, candidate)
        })
        // A name of one or two letters is one edit away from many unrelated names.
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Formats "did you mean `users`?" or, without a near candidate, the list of all candidates.
pub(super) fn suggestion<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(name, candidates.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("expected one of: {}", list(candidates)),
    }
}

/// Formats names as `a`, `b`, `c`.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 4] = ["users", "ramp_up", "duration", "iterations"];

    #[test]
    fn a_typing_error_finds_its_key() {
        assert_eq!(nearest("usres", KEYS), Some("users"));
        assert_eq!(nearest("rampup", KEYS), Some("ramp_up"));
        assert_eq!(nearest("DURATION", KEYS), Some("duration"));
        assert_eq!(nearest("iteration", KEYS), Some("iterations"));
    }

    #[test]
    fn an_unrelated_word_finds_no_key() {
        assert_eq!(nearest("pacing", KEYS), None);
        assert_eq!(nearest("", KEYS), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
