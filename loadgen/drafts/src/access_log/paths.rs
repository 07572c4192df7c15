//! Folds the paths of a sample into templates: which paths differ only in their values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::sample::Request;
use super::segment::{decoded, decoded_query, holds_secret, is_value, precedes_secret};
use crate::secrets::looks_secret;

/// Most segments of a path that is folded. Longer ones come from faulty crawlers.
const DEEPEST: usize = 64;

/// Most names under one prefix that are kept apart, if most of them are rare.
const MOST_NAMES: usize = 50;

/// Part of the requests below which a template is not kept, so that logs of random paths take neither
/// time nor memory: a small part of what a step needs.
const LEAST_SHARE: usize = 20_000;

/// Templates that the paths of a sample have in common.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// Requests whose paths can be sent again.
    pub usable: usize,
    /// The most frequent template first. Very rare ones are missing.
    pub templates: Vec<Template>,
    /// Requests whose path cannot be sent again: it is not UTF-8 or not normal.
    pub unusable: usize,
    /// Requests whose path may hold a secret.
    pub private: usize,
}

/// Requests with the same method, the same fixed segments, and the same names in the query.
#[derive(Debug)]
pub(super) struct Template {
    pub head: bool,
    pub segments: Vec<Segment>,
    /// Names of the query, in alphabetical order, decoded.
    pub query: Vec<Parameter>,
    /// Its requests, by their places in the sample: never none.
    pub requests: Vec<usize>,
}

/// A piece of the path between two slashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment {
    /// The same for all requests, decoded.
    Fixed(String),
    /// A value, and what to call it.
    Value(&'static str),
}

/// A name of the query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Parameter {
    pub name: String,
    /// Whether an equals sign follows it.
    pub has_value: bool,
}

/// Requests with the same prefix of a path.
struct Branch {
    prefix: Vec<Segment>,
    requests: Vec<usize>,
}

/// Folds the paths of a sample.
pub(super) fn fold(sample: &[Request]) -> Folded {
    let mut folded = Folded::default();
    let mut requests = Vec::new();
    for (place, request) in sample.iter().enumerate() {
        match fault(&request.target) {
            None => requests.push(place),
            Some(Fault::Unusable) => folded.unusable += 1,
            Some(Fault::Private) => folded.private += 1,
        }
    }
    folded.usable = requests.len();
    let is_kept = |requests: &[usize]| requests.len() * LEAST_SHARE >= folded.usable;
    let mut branches = vec![Branch { prefix: Vec::new(), requests }];
    while let Some(branch) = branches.pop() {
        let (ended, deeper) = split(sample, branch, is_kept);
        branches.extend(deeper);
        let ended = ended.into_iter().flat_map(|branch| by_query(sample, branch, is_kept));
        folded.templates.extend(ended);
    }
    folded.templates.sort_by(|one, other| {
        let name = |it: &Template| (it.head, it.segments.clone(), it.query.clone());
        let by_number = other.requests.len().cmp(&one.requests.len());
        by_number.then_with(|| name(one).cmp(&name(other)))
    });
    folded
}

enum Fault {
    Unusable,
    Private,
}

/// Returns why a target cannot be sent again, or must not.
fn fault(target: &str) -> Option<Fault> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if !path.starts_with('/') || path.starts_with("//") || path.split('/').count() > DEEPEST {
        return Some(Fault::Unusable);
    }
    let mut before = Cow::Borrowed("");
    for segment in path.split('/') {
        let segment = match decoded(segment) {
            Some(segment) if segment != "." && segment != ".." => segment,
            _ => return Some(Fault::Unusable),
        };
        let is_number = segment.bytes().all(|byte| byte.is_ascii_digit());
        if holds_secret("", &segment)
            || (precedes_secret(&before) && is_value(&segment) && !is_number)
        {
            return Some(Fault::Private);
        }
        before = segment;
    }
    let is_text = |piece: &str| decoded_query(piece).is_some();
    (!query.split('&').all(is_text)).then_some(Fault::Unusable)
}

/// Splits requests by the next segment. Returns those whose path ends with it, and those that go on.
fn split(
    sample: &[Request],
    branch: Branch,
    is_kept: impl Fn(&[usize]) -> bool,
) -> (Vec<Branch>, Vec<Branch>) {
    let depth = branch.prefix.len();
    let total = branch.requests.len();
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut values = Vec::new();
    for place in branch.requests {
        let Some(segment) = segment(&sample[place].target, depth) else { continue };
        if is_value(&segment) {
            values.push(place);
        } else if let Some(known) = names.get_mut(segment.as_ref()) {
            known.push(place);
        } else {
            names.insert(segment.into_owned(), vec![place]);
        }
    }
    let label = if values.is_empty() { "slug" } else { "id" };
    for name in rare(&names, total, depth) {
        values.extend(names.remove(&name).unwrap_or_default());
    }
    // Again in their random order.
    values.sort_unstable();
    let fixed = names.into_iter().map(|(name, requests)| (Segment::Fixed(name), requests));
    let all = fixed.chain(std::iter::once((Segment::Value(label), values)));
    let mut parts = (Vec::new(), Vec::new());
    for (segment, requests) in all.filter(|(_, requests)| is_kept(requests)) {
        let (ended, deeper): (Vec<usize>, Vec<usize>) = requests
            .into_iter()
            .partition(|place| path(&sample[*place].target).split('/').count() == depth + 2);
        let prefix: Vec<Segment> = branch.prefix.iter().cloned().chain([segment]).collect();
        if !ended.is_empty() {
            parts.0.push(Branch { prefix: prefix.clone(), requests: ended });
        }
        if !deeper.is_empty() {
            parts.1.push(Branch { prefix, requests: deeper });
        }
    }
    parts
}

/// Returns the names that are values, as they are many and most of them rare.
fn rare(names: &BTreeMap<String, Vec<usize>>, total: usize, depth: usize) -> Vec<String> {
    // At the root, names are mostly those of different pages; below, of different things.
    let share = if depth == 0 { 100 } else { 25 };
    let most = (total / share).max(2);
    let is_rare = |(name, of): &(&String, &Vec<usize>)| of.len() <= most && !name.is_empty();
    let rare: Vec<String> = names.iter().filter(is_rare).map(|(name, _)| name.clone()).collect();
    if names.len() > MOST_NAMES && rare.len() * 2 > names.len() { rare } else { Vec::new() }
}

/// Returns the templates of requests that have the same path.
fn by_query(
    sample: &[Request],
    branch: Branch,
    is_kept: impl Fn(&[usize]) -> bool,
) -> impl Iterator<Item = Template> {
    let query = |place: usize| -> Vec<Parameter> {
        kept(&sample[place].target).into_iter().map(|(parameter, _)| parameter).collect()
    };
    // The hashes of queries stand for them, as a query may have many names.
    let mut parts: BTreeMap<(bool, u64), Vec<usize>> = BTreeMap::new();
    for place in branch.requests {
        let mut hasher = DefaultHasher::new();
        query(place).hash(&mut hasher);
        parts.entry((sample[place].head, hasher.finish())).or_default().push(place);
    }
    let kept =
        parts.into_iter().filter(move |(_, requests)| !requests.is_empty() && is_kept(requests));
    kept.map(move |((head, _), requests)| Template {
        head,
        segments: branch.prefix.clone(),
        query: query(requests[0]),
        requests,
    })
}

fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

/// Returns the segment at a depth, counted from 0, decoded.
pub(super) fn segment(target: &str, depth: usize) -> Option<Cow<'_, str>> {
    decoded(path(target).split('/').nth(depth + 1)?)
}

/// Returns the names and values of the query that are sent again, decoded, in the order of their names.
pub(super) fn kept(target: &str) -> Vec<(Parameter, Cow<'_, str>)> {
    // A number as a name only keeps caches from answering.
    let is_kept = |(it, value): &(Parameter, Cow<'_, str>)| {
        !holds_secret(&it.name, value) && !is_value(&it.name)
    };
    let mut kept: Vec<_> = query(target).filter(is_kept).collect();
    // Stable: values of the same name keep their order.
    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    kept
}

/// Returns the names of the query that are not sent again, as their values may be secret. A name may be the secret
/// itself, as in `/confirm?eyJ…`.
pub(super) fn secret(target: &str) -> impl Iterator<Item = String> {
    let secret = query(target)
        .filter(|(it, value)| holds_secret(&it.name, value) && !looks_secret(&it.name));
    secret.map(|(parameter, _)| parameter.name)
}

/// Returns the names and values of the query, decoded, in their order.
fn query(target: &str) -> impl Iterator<Item = (Parameter, Cow<'_, str>)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter(|pair| !pair.is_empty()).filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let parameter =
            Parameter { name: decoded_query(name)?.into_owned(), has_value: pair.contains('=') };
        Some((parameter, decoded_query(value)?))
    })
}

#[cfg(test)]
mod tests {
    use crate::access_log::MOST_STEPS;
    use crate::access_log::testing::{combined, drafted};

    /// Returns the names of the steps of a log with these targets.
    fn steps(targets: impl Iterator<Item = String>) -> Vec<String> {
        let log: String = targets.map(|it| combined(1, &format!("GET {it}"), 200)).collect();
        drafted(&log).flows.remove(0).steps.into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn many_names_are_values_and_few_are_not() {
        let wiki = steps((0..900).map(|n| match n % 3 {
            0 => "/about".to_owned(),
            1 => format!("/Page_{}", n / 3),
            _ => format!("/Page_{}/history", n / 9),
        }));
        assert_eq!(wiki, ["GET /about", "GET /{slug}", "GET /{slug}/history"]);
        let api =
            steps((0..900).map(|n| format!("/api/v1/method{}", (b'a' + (n % 26) as u8) as char)));
        assert_eq!(api.len(), 26);
        let mixed = steps((0..600).map(|n| match n % 4 {
            0 => "/items/search?q=x".to_owned(),
            1 => format!("/items/{n}"),
            _ => format!("/items/name-{n}/reviews/{n}?page={}", n % 5),
        }));
        let expected = [
            "GET /items/{items_id}/reviews/{reviews_id}?page={page}",
            "GET /items/search?q=x",
            "GET /items/{id}",
        ];
        assert_eq!(mixed, expected);
    }

    #[test]
    fn rare_paths_are_left_out() {
        let targets = (0..3_000).map(|n| match n {
            n if n % 30 == 0 => format!("/rare/{}", (b'a' + (n / 30 % 20) as u8) as char),
            n if n % 500 == 1 => format!("/once{}", (b'a' + (n / 500) as u8) as char),
            _ => "/usual".to_owned(),
        });
        let names = steps(targets);
        assert_eq!(names.len(), 21, "{names:?}");
        let flat = steps((0..40_000).map(|n| format!("/x?n{}=1", "a".repeat(n % 2_000))));
        assert_eq!(flat.len(), MOST_STEPS, "no path is frequent");
    }
}
