//! "Did you mean …?": the known name that is nearest to one that is not known.

/// The candidate nearest to `name`, if it is near enough to have been meant.
///
/// Near is one edit for every three letters, so that `reddis` finds `redis` and nothing finds
/// `flask`; a difference in case alone is always near. Of equals the first wins.
///
/// ```
/// use loadgen_core::scenario::nearest;
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
        // A name of one or two letters is one edit away from much that it does not mean.
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean `users`?", or else the list of all there is.
pub(super) fn suggestion<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(name, candidates.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known here: {}", list(candidates)),
    }
}

/// `a`, `b`, `c`
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 4] = ["users", "ramp_up", "duration", "iterations"];

    #[test]
    fn a_slip_finds_its_key() {
        assert_eq!(nearest("usres", KEYS), Some("users"));
        assert_eq!(nearest("rampup", KEYS), Some("ramp_up"));
        assert_eq!(nearest("DURATION", KEYS), Some("duration"));
        assert_eq!(nearest("iteration", KEYS), Some("iterations"));
    }

    #[test]
    fn a_stranger_finds_nothing() {
        assert_eq!(nearest("pacing", KEYS), None);
        assert_eq!(nearest("", KEYS), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
