//! Folds the paths of a sample into templates: which paths differ only in their values.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::sample::Request;
use super::segment::{decoded, decoded_query, holds_secret, is_value};
use crate::secrets::is_secret;

/// Most segments of a path that is folded. Longer ones come from faulty crawlers.
const DEEPEST: usize = 64;

/// Most names under one prefix that are kept apart, if most of them are rare.
const MOST_NAMES: usize = 50;

/// What the paths of a sample have in common.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// The most frequent template first.
    pub templates: Vec<Template>,
    /// Requests whose path cannot be sent again: it is not UTF-8 or not normal.
    pub unusable: usize,
    /// Requests whose path may hold a secret.
    pub private: usize,
    /// Names of the query whose values may be secret.
    pub secret_names: BTreeSet<String>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// The same for all requests, decoded.
    Fixed(String),
    /// A value, and what to call it.
    Value(&'static str),
}

/// A name of the query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    let mut branches = vec![Branch { prefix: Vec::new(), requests }];
    while let Some(branch) = branches.pop() {
        let (ended, deeper) = split(sample, branch);
        branches.extend(deeper);
        ended.into_iter().for_each(|branch| by_query(sample, branch, &mut folded));
    }
    folded.templates.sort_by_key(|template| std::cmp::Reverse(template.requests.len()));
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
        if holds_secret("", &segment) || (is_secret(&before) && is_value(&segment) && !is_number) {
            return Some(Fault::Private);
        }
        before = segment;
    }
    let is_text = |piece: &str| decoded_query(piece).is_some();
    (!query.split('&').all(is_text)).then_some(Fault::Unusable)
}

/// Splits requests by the next segment. Returns those whose path ends with it, and those that go on.
fn split(sample: &[Request], branch: Branch) -> (Vec<Branch>, Vec<Branch>) {
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
    for (segment, requests) in all {
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

/// Adds the templates of requests that have the same path.
fn by_query(sample: &[Request], branch: Branch, folded: &mut Folded) {
    let mut parts: BTreeMap<(bool, Vec<Parameter>), Vec<usize>> = BTreeMap::new();
    for place in branch.requests {
        let request = &sample[place];
        let secret = query(&request.target).filter(|(it, value)| holds_secret(&it.name, value));
        folded.secret_names.extend(secret.map(|(parameter, _)| parameter.name));
        let parameters = kept(&request.target).into_iter().map(|(it, _)| it).collect();
        parts.entry((request.head, parameters)).or_default().push(place);
    }
    folded.templates.extend(parts.into_iter().map(|((head, query), requests)| Template {
        head,
        segments: branch.prefix.clone(),
        query,
        requests,
    }));
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
