//! Writes a journey as a draft.

use std::collections::BTreeSet;

use super::correlate::Connections;
use super::journey::{Chain, Journey};
use crate::draft::usual_load;
use crate::names::Names;
use crate::recorded::{Credentials, Place, Secrets};
use crate::secrets::is_uuid;
use crate::{Draft, Entry, Flow, Step, Value};

/// Shortest wait, in milliseconds, that is one of a person.
const SHORTEST_WAIT: f64 = 100.0;

/// Longest wait that is repeated, in milliseconds.
const LONGEST_WAIT: f64 = 600_000.0;

/// Most values that a comment names.
const MOST_NAMED: usize = 6;

/// Most steps that change data which a note names.
const MOST_CHANGES: usize = 5;

/// Returns the draft of a journey.
pub(super) fn write(
    journey: &mut Journey,
    other: Option<&Journey>,
    chains: &[Chain],
    connections: Connections,
    mut secrets: Secrets,
) -> Draft {
    let has_login = journey.visits.iter().any(|visit| {
        let credentials = Credentials::of(&visit.request);
        visit.request.slots.iter().any(|slot| credentials.has(slot))
    });
    for (visit, slot, template) in connections.templates {
        journey.visits[visit].request.slots[slot].template = Some(template);
    }
    for chain in chains {
        secrets.conceal(&mut journey.visits[chain.first].request);
    }
    let unknown = unknown(journey, &connections.unknown);
    let mut names = Names::default();
    let mut steps = Vec::new();
    for (index, chain) in chains.iter().enumerate() {
        let next = chains.get(index + 1);
        let captures = connections.captures.get(index).into_iter().flatten();
        let captures = captures.map(|(name, rule)| (name.clone(), rule.value())).collect();
        let mut step = step(journey, chain, next, captures, &mut names);
        let mine = unknown
            .iter()
            .filter(|(visit, _)| *visit == chain.first)
            .map(|(_, words)| words.as_str());
        let mine: Vec<&str> = mine.collect::<BTreeSet<_>>().into_iter().collect();
        step.about.extend(of_unknown(&mine));
        steps.push(step);
    }
    let mut draft = Draft {
        description: format!("Recorded with {}", journey.browser)
            .trim_end_matches(" with ")
            .to_owned(),
        load: usual_load(),
        url: Some(journey.origin.clone()),
        ..Draft::default()
    };
    if !journey.cookies.is_empty() {
        draft.http.push(Entry::new("cookies", true));
    }
    say(&mut draft, journey, other, chains);
    if connections.is_cut {
        draft.notes.push(
            "The search for values of earlier responses has ended after 30 seconds: further captures are missing."
                .to_owned(),
        );
    }
    draft.notes.extend(of_changes(&steps));
    if has_login && !journey.cookies.is_empty() {
        draft.notes.push("Users keep their cookies over all iterations: if the journey has no logout, give the steps of the login `when = \"start\"`.".to_owned());
    }
    draft.flows = vec![Flow { name: "journey".to_owned(), weight: 1, steps, ..Flow::default() }];
    draft
}

/// Says which steps change data, as every user repeats them.
fn of_changes(steps: &[Step]) -> Option<String> {
    let changes = |step: &&Step| {
        let key = step.entries.first().map_or("", |entry| entry.key.as_str());
        !matches!(key, "get" | "head" | "options")
    };
    let names: Vec<&str> = steps.iter().filter(changes).map(|step| step.name.as_str()).collect();
    let mut list = names.iter().take(MOST_CHANGES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST_CHANGES {
        list += ", …";
    }
    let (what, them) = match names.len() {
        0 => return None,
        1 => ("1 step changes".to_owned(), "it"),
        many => (format!("{many} steps change"), "them"),
    };
    Some(format!("{what} data ({list}): send {them} to a server that may be filled and emptied."))
}

/// Says which values differ between the recordings, without a reason that is known.
fn of_unknown(words: &[&str]) -> Option<String> {
    let mut words: Vec<String> = words.iter().map(|words| (*words).to_owned()).collect();
    if words.len() > MOST_NAMED + 1 {
        let rest = words.split_off(MOST_NAMED).len();
        words.push(format!("{rest} other values"));
    }
    let (last, rest) = words.split_last()?;
    if rest.is_empty() {
        return Some(format!(
            "{last} differs between the recordings, and no earlier response has it: decide."
        ));
    }
    let list = rest.join(", ");
    Some(format!(
        "{list} and {last} differ between the recordings, and no earlier response has them: decide."
    ))
}

/// Generates the values that are plain, and returns the positions of the others in words.
fn unknown(journey: &mut Journey, unknown: &[(usize, usize)]) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (visit, slot) in unknown {
        let found = &mut journey.visits[*visit].request.slots[*slot];
        if found.is_left_out {
            continue;
        }
        // In a path, a new one would name nothing.
        let is_new = is_uuid(&found.value) && !matches!(found.place, Place::Path(_));
        if found.template.is_none() && is_new {
            found.template = Some("{{ uuid }}".to_owned());
        } else if found.template.is_none() {
            words.push((*visit, found.place.words()));
        }
    }
    words
}

fn step(
    journey: &Journey,
    chain: &Chain,
    next: Option<&Chain>,
    captures: Vec<(String, Value)>,
    names: &mut Names,
) -> Step {
    let first = &journey.visits[chain.first];
    let last = &journey.visits[chain.last()];
    let name = names.take_title(&format!("{} {}", first.request.method, first.request.shape()));
    let mut step = first.request.step(name);
    if let Ok(redirects) = i64::try_from(chain.followed.len())
        && redirects > 0
    {
        step.push("redirects", redirects);
    }
    // A user without a cache gets the whole response.
    let status = if last.answer.status == 304 { 200 } else { last.answer.status };
    step.push("expect", Value::table([("status", status)]));
    if !captures.is_empty() {
        step.push("capture", Value::Table(captures));
    }
    let wait = next.map_or(0.0, |next| journey.visits[next.first].begin - last.end);
    if wait >= SHORTEST_WAIT {
        let seconds = (wait.min(LONGEST_WAIT) / 100.0).round() / 10.0;
        step.push("think_time", format!("{seconds}s"));
    }
    step
}

/// Says what is left out.
fn say(draft: &mut Draft, journey: &Journey, other: Option<&Journey>, chains: &[Chain]) {
    if !journey.others.is_empty() {
        let others: Vec<String> =
            journey.others.iter().map(|(host, count)| format!("{host} ({count})")).collect();
        let text = format!("Requests to other servers are left out: {}.", others.join(", "));
        draft.about.push(text.clone());
        draft.notes.push(text);
    }
    let is_beside = |pair: &[Chain]| {
        let [one, next] = pair else { return false };
        journey.visits[next.first].begin + 1.0 < journey.visits[one.last()].end
    };
    if chains.windows(2).any(is_beside) {
        let text = "The browser sent some of these requests beside each other. A user sends them one after another.";
        draft.about.push(text.to_owned());
    }
    for (count, what) in [
        (journey.statics, "images, scripts, styles and other files of pages"),
        (journey.sockets, "WebSockets"),
        (journey.unanswered, "requests without a response"),
    ] {
        if count > 0 {
            draft.notes.push(format!("Left out: {what} ({count})."));
        }
    }
    if journey
        .visits
        .iter()
        .all(|visit| visit.answer.text.is_empty() && visit.answer.json.is_none())
    {
        draft.notes.push(
            "The recording has no contents of responses, so that no value is taken from them: export it with content."
                .to_owned(),
        );
    }
    let foreign = journey.foreign_cookies();
    if !foreign.is_empty() {
        draft.notes.push(format!("No response sets these cookies, so no user has them: {}. A session from before the recording needs a recording that begins with the login, such as in a private window.", foreign.join(", ")));
    }
    let names_server = |chain: &Chain| {
        let mut slots = journey.visits[chain.first].request.slots.iter();
        slots.any(|slot| matches!(&slot.place, Place::Header(name) if name == "origin" || name == "referer"))
    };
    if chains.iter().any(names_server) {
        draft.notes.push(format!(
            "The headers `origin` and `referer` name {}: change them for another server.",
            journey.origin
        ));
    }
    match other {
        None => draft.notes.push("A second recording of the same journey, with another account, shows which values differ.".to_owned()),
        Some(other) if other.origin != journey.origin => {
            draft.notes.push("The recordings are of two servers.".to_owned());
        }
        Some(_) => {}
    }
}
