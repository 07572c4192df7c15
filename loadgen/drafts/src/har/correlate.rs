//! Finds values of requests that earlier responses had, and captures them there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use std::time::{Duration, Instant};

use super::align::{self, Key};
use super::journey::{Answer, Chain, Journey, Visit};
use super::rule::{Index, Rule, Sought, longest_word};
use crate::names::Names;
use crate::recorded::{Credentials, Place, Secrets, Slot};
use crate::secrets::{is_token_like, is_uuid};

/// Longest search, in all its passes, so that no recording takes minutes.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// Most captured values that are searched within another value.
const MOST_KNOWN: usize = 1000;

/// Headers whose values no response has.
const OWN_HEADERS: [&str; 5] = ["accept", "accept-language", "user-agent", "origin", "referer"];

/// Values that connect the requests of a journey.
#[derive(Default)]
pub(super) struct Connections {
    /// Captures of each step.
    pub(super) captures: Vec<Vec<(String, Rule)>>,
    /// Templates: the visit, the value, and the template.
    pub(super) templates: Vec<(usize, usize, String)>,
    /// Values that differ between the recordings, and that no earlier response has.
    pub(super) unknown: Vec<(usize, usize)>,
    /// Redirects whose own responses have a value, so that they must not be followed.
    pub(super) apart: BTreeSet<Key>,
    /// Whether the search has ended early.
    pub(super) is_cut: bool,
}

/// A recording with its steps to be.
struct Recording<'a> {
    journey: &'a Journey,
    chains: Vec<Chain>,
}

/// A search for connections.
struct Search<'a> {
    one: Recording<'a>,
    other: Option<Recording<'a>>,
    /// For each step the same step of the other recording.
    pairs: Vec<Option<usize>>,
    indexes: Vec<Option<Index>>,
    secrets: &'a Secrets,
    /// Captured values of both recordings, with their names.
    known: BTreeMap<(String, Option<String>), String>,
    names: Names,
    deadline: Instant,
    found: Connections,
}

/// Finds the connections, and the steps that they need.
pub(super) fn connections(
    one: &Journey,
    other: Option<&Journey>,
    secrets: &Secrets,
    longest: Duration,
) -> (Vec<Chain>, Connections) {
    let deadline = Instant::now() + longest;
    let mut apart: BTreeSet<Key> = BTreeSet::new();
    // Each pass keeps more redirects apart, which later passes may need.
    for pass in 0.. {
        let chains = |journey: &Journey| journey.chains(|visit| apart.contains(&Key::of(visit)));
        let mut search = Search::new(one, other, chains, secrets, deadline);
        search.run();
        let found = search.found;
        if pass == 4 || found.apart.is_subset(&apart) {
            return (search.one.chains, found);
        }
        apart.extend(found.apart);
    }
    (Vec::new(), Connections::default())
}

impl<'a> Search<'a> {
    fn new(
        one: &'a Journey,
        other: Option<&'a Journey>,
        chains: impl Fn(&Journey) -> Vec<Chain>,
        secrets: &'a Secrets,
        deadline: Instant,
    ) -> Self {
        let recording = |journey: &'a Journey| Recording { journey, chains: chains(journey) };
        let (one, other) = (recording(one), other.map(recording));
        let pairs = match &other {
            Some(other) => align::pairs(&one.keys(), &other.keys()),
            None => vec![None; one.chains.len()],
        };
        let count = one.chains.len();
        let indexes = (0..count).map(|_| None).collect();
        let captures = vec![Vec::new(); count];
        let found = Connections { captures, ..Connections::default() };
        let (known, names) = (BTreeMap::new(), Names::of_captures());
        Self { one, other, pairs, indexes, secrets, known, names, deadline, found }
    }

    fn run(&mut self) {
        for step in 0..self.one.chains.len() {
            let first = self.one.chains[step].first;
            let journey = self.one.journey;
            let visit = &journey.visits[first];
            let other =
                self.paired(step).map(|(recording, chain)| &recording.journey.visits[chain.first]);
            let others: Option<HashMap<&Place, &str>> = other.map(|visit| {
                visit.request.slots.iter().map(|slot| (&slot.place, slot.value.as_str())).collect()
            });
            let credentials = Credentials::of(&visit.request);
            for (index, slot) in visit.request.slots.iter().enumerate() {
                if is_own(slot) || slot.value.is_empty() || credentials.has(slot) {
                    continue;
                }
                let pair = others.as_ref().and_then(|others| others.get(&slot.place).copied());
                if pair.is_some_and(|pair| pair == slot.value) {
                    continue;
                }
                if let Some(template) = self.template(step, visit, slot, pair) {
                    self.found.templates.push((first, index, template));
                } else if pair.is_some() {
                    self.found.unknown.push((first, index));
                }
            }
        }
    }

    /// Whether the search must end, which a note says.
    fn is_late(&mut self) -> bool {
        self.found.is_cut |= Instant::now() > self.deadline;
        self.found.is_cut
    }

    fn paired(&self, step: usize) -> Option<(&Recording<'a>, &Chain)> {
        let other = self.other.as_ref()?;
        let chain = other.chains.get(self.pairs.get(step).copied().flatten()?)?;
        Some((other, chain))
    }

    /// Returns a template with the name of a captured value.
    fn template(
        &mut self,
        step: usize,
        visit: &Visit,
        slot: &Slot,
        other: Option<&str>,
    ) -> Option<String> {
        let (scheme, value) = split(&slot.place, &slot.value);
        let other = match other.map(|other| split(&slot.place, other)) {
            Some((other_scheme, _)) if other_scheme != scheme => return None,
            Some((_, other)) => Some(other),
            None => None,
        };
        let scheme = crate::draft::escape(scheme);
        let key = (value.to_owned(), other.map(str::to_owned));
        if let Some(name) = self.known.get(&key) {
            return Some(format!("{scheme}{{{{ {name} }}}}"));
        }
        // Without the other recording, only what a server has clearly made.
        let is_made = other.is_some()
            || is_token_like(value)
            || is_uuid(value)
            || self.secrets.is_known(value);
        let only_inputs = !is_made && matches!(slot.place, Place::Form(..));
        if is_made || only_inputs {
            let name = slot.place.name();
            if let Some((at, rule)) = self.rule(step, value, other, name.as_deref(), only_inputs) {
                let name = self.name(visit, slot, &rule);
                self.known.insert(key, name.clone());
                self.found.captures[at].push((name.clone(), rule));
                return Some(format!("{scheme}{{{{ {name} }}}}"));
            }
        }
        if self.is_late() {
            return None;
        }
        self.around_known(value, other?).map(|template| format!("{scheme}{template}"))
    }

    /// Finds the value in an earlier response, the nearest first.
    fn rule(
        &mut self,
        step: usize,
        value: &str,
        other: Option<&str>,
        name: Option<&str>,
        only_inputs: bool,
    ) -> Option<(usize, Rule)> {
        let word = longest_word(value);
        for at in (0..step).rev() {
            if self.is_late() {
                return None;
            }
            let pair = match other {
                Some(value) => match self.paired(at) {
                    Some((recording, chain)) => Some((value, recording.answer(chain.last()))),
                    None => continue,
                },
                None => None,
            };
            let answer = self.one.answer(self.one.chains[at].last());
            let sought = Sought { value, answer, other: pair, word, name, only_inputs };
            let index = self.indexes[at].get_or_insert_with(|| Index::of(answer));
            if let Some(rule) = sought.rule(index, self.secrets) {
                return Some((at, rule));
            }
        }
        if !only_inputs {
            let redirect = (0..step).rev().find_map(|at| self.redirect(at, value, other));
            self.found.apart.extend(redirect);
        }
        None
    }

    /// Finds a redirect of a step whose own response has the value.
    fn redirect(&self, step: usize, value: &str, other: Option<&str>) -> Option<Key> {
        let redirected = self.one.chains[step].redirected();
        redirected.into_iter().enumerate().find_map(|(index, visit)| {
            let pair = match other {
                Some(value) => {
                    let (recording, chain) = self.paired(step)?;
                    Some((value, recording.answer(*chain.redirected().get(index)?)))
                }
                None => None,
            };
            let answer = self.one.answer(visit);
            let sought =
                Sought { value, answer, other: pair, word: None, name: None, only_inputs: false };
            sought.in_headers(self.secrets)?;
            Some(Key::of(&self.one.journey.visits[visit]))
        })
    }

    /// Returns a template for a value that has a captured one within it.
    fn around_known(&self, value: &str, other: &str) -> Option<String> {
        let known = self.known.iter().filter(|((known, _), _)| known.len() >= 4);
        known.take(MOST_KNOWN).find_map(|((known, pair), name)| {
            let (before, after) = value.split_once(known.as_str())?;
            let (other_before, other_after) = other.split_once(pair.as_deref()?)?;
            let is_same = before == other_before && after == other_after && !before.ends_with('{');
            let escape = crate::draft::escape;
            is_same.then(|| format!("{}{{{{ {name} }}}}{}", escape(before), escape(after)))
        })
    }

    /// Returns a name for a captured value, which no other one has.
    fn name(&mut self, visit: &Visit, slot: &Slot, rule: &Rule) -> String {
        let wanted = match &slot.place {
            Place::Path(index) => of_path(visit, *index),
            place => place.name().unwrap_or_default(),
        };
        let wanted = match rule {
            Rule::HeaderRegex { pattern, .. } if pattern.ends_with("=([^;]+)") => {
                pattern.split('=').next().unwrap_or_default().to_owned()
            }
            // A header such as `authorization` says less than the response.
            Rule::Json(pointer) if matches!(slot.place, Place::Header(_)) => {
                Place::Json(pointer.clone()).name().unwrap_or(wanted)
            }
            _ => wanted,
        };
        let mut name: String = wanted
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(60)
            .collect();
        name = name.trim_matches(['_', '-']).to_owned();
        if name.is_empty() || self.secrets.last_end(&wanted) > 0 || is_token_like(&name) {
            name = "value".to_owned();
        }
        self.names.take_word(&name)
    }
}

impl<'a> Recording<'a> {
    fn answer(&self, visit: usize) -> &'a Answer {
        &self.journey.visits[visit].answer
    }

    fn keys(&self) -> Vec<Key> {
        self.chains.iter().map(|chain| Key::of(&self.journey.visits[chain.first])).collect()
    }
}

fn is_own(slot: &Slot) -> bool {
    matches!(&slot.place, Place::Header(name) if OWN_HEADERS.contains(&name.as_str()))
        || matches!(slot.place, Place::Text | Place::WholeQuery)
}

/// Splits the scheme of credentials, such as `Bearer`, from the value.
fn split<'a>(place: &Place, value: &'a str) -> (&'a str, &'a str) {
    match value.find(' ') {
        Some(at) if matches!(place, Place::Header(name) if name == "authorization") => {
            value.split_at(at + 1)
        }
        _ => ("", value),
    }
}

/// Returns a name for a segment of a path, after the one before it: `order_id` for `/orders/17`.
fn of_path(visit: &Visit, index: usize) -> String {
    let before =
        visit.request.slots.iter().find(|slot| {
            index.checked_sub(1).is_some_and(|before| slot.place == Place::Path(before))
        });
    let before = before.map_or("", |slot| slot.value.as_str());
    if before.is_empty() || is_token_like(before) {
        return "id".to_owned();
    }
    format!("{}_id", before.strip_suffix('s').unwrap_or(before))
}
