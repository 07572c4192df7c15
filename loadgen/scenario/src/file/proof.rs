//! `[[proof]]`: checks of a backend's contents after each round.

use super::expect;
use super::keys::schema::{Schema, each_required};
use super::keys::{Custom, Integer, Key, Keys, integer, key, not_blank};
use super::reader::{Faults, Table, Value};
use crate::backend::Backend;
use crate::error::Fault;
use crate::proof::{ExpectedContent, Proof};

/// Keys under which a proof can hold a question, each with the backend that answers the question.
const QUESTIONS: [(&str, Backend); 2] =
    [(POSTGRES.name(), Backend::Postgres), (REDIS.name(), Backend::Redis)];

/// Largest answer that a proof can expect: PostgreSQL and Redis answer with signed integers.
const MOST: u64 = i64::MAX as u64;

keys! {
    /// a question to a backend after each round, and the expected answer
    pub(super) const KEYS: Keys = table("a [[proof]]").with(rules);

    /// SQL query that returns one row with one integer
    const POSTGRES: Key<Custom> = key("postgres", not_blank("string"))
        .needed("required: this key or `redis`");
    /// command with white space between its words, which returns an integer, such as `"LLEN queue"`
    const REDIS: Key<Custom> = key("redis", not_blank("string")).needed("required: this key or `postgres`");
    /// the answer must equal the sum of this counter of the steps
    const COUNTER: Key<Custom> = key("counter", not_blank("string")).needed("required: this key or `value`");
    /// the answer must equal this number
    const VALUE: Key<Integer> = key("value", integer(0, MOST)).needed("required: this key or `counter`");
}

fn rules(table: Schema) -> Schema {
    table
        .requires_one_of(&[POSTGRES.name(), REDIS.name()])
        .with("anyOf", each_required(&[COUNTER.name(), VALUE.name()]))
        .excludes(COUNTER.name(), &[VALUE.name()])
}

/// Names to which a scenario's proofs can refer.
pub(super) struct Known<'a> {
    /// Backends of the scenario.
    pub backends: &'a [Backend],
    /// Names of the counters of all steps; `None` if a step has a fault.
    pub counters: Option<&'a [&'a str]>,
}

pub(super) fn read_all(
    value: Option<Value<'_>>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Vec<Proof> {
    let values =
        value.and_then(|value| value.array("an array of tables, each headed [[proof]]", faults));
    let values = values.unwrap_or_default();
    values.iter().filter_map(|value| read(value, known, faults)).collect()
}

fn read(value: &Value<'_>, known: &Known<'_>, faults: &mut Faults<'_>) -> Option<Proof> {
    let mut table = KEYS.open(value, faults)?;
    let question = read_question(&mut table, known, faults);
    let expected = read_expected(&mut table, known, faults);
    table.finish(faults);
    let (backend, question) = question?;
    Some(Proof { backend, question, expected: expected? })
}

fn read_question(
    table: &mut Table<'_>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<(Backend, String)> {
    let help = "add a question to a backend: postgres = \"SELECT count(*) FROM items\", redis = \"LLEN queue\"";
    let value = take_one(table, QUESTIONS.map(|(key, _)| key), help, faults)?;
    let (_, backend) = QUESTIONS.into_iter().find(|(key, _)| *key == value.key)?;
    let expected = match backend {
        Backend::Postgres => "a query in one string, such as \"SELECT count(*) FROM items\"",
        Backend::Redis => "a command in one string, such as \"LLEN queue\"",
    };
    value.text_of(expected, faults)?;
    let question = value.name(faults)?;
    if !known.backends.contains(&backend) {
        let fault = Fault::new(format!("`{backend}` is not among the scenario's backends"));
        let all = known.backends.iter().chain([&backend]).map(|name| format!("\"{name}\""));
        let help = format!("add the backend: backends = [{}]", all.collect::<Vec<_>>().join(", "));
        faults.add(fault.at(value.key_place.clone(), "not a backend of the scenario").help(help));
    }
    Some((backend, question.to_owned()))
}

fn read_expected(
    table: &mut Table<'_>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<ExpectedContent> {
    let help = "add the expected answer: counter = \"NAME\", a counter of the steps, or value = 0";
    let value = take_one(table, [COUNTER.name(), VALUE.name()], help, faults)?;
    if value.key == VALUE.name() {
        return VALUE.value(&value, faults).map(ExpectedContent::Value);
    }
    let name = value.name(faults)?;
    if let Some(counters) = known.counters.filter(|counters| !counters.contains(&name)) {
        let (message, help) = expect::unknown_counter(name, counters);
        return value.fault(message, "unknown counter", help, faults);
    }
    Some(ExpectedContent::Counter(name.to_owned()))
}

/// Takes the one key of `keys` that the proof has. A proof with neither key, or with both keys, is
/// a fault.
fn take_one<'a>(
    table: &mut Table<'a>,
    keys: [&'static str; 2],
    help: &str,
    faults: &mut Faults<'_>,
) -> Option<Value<'a>> {
    let mut found = table.take_any(keys);
    found.sort_by_key(|value| value.key_place.start);
    let [one, other] = keys;
    let fault = match found.as_slice() {
        [value] => return Some(value.clone()),
        [first, second, ..] => Fault::new(format!("a proof has only one of `{one}` and `{other}`"))
            .at(first.key_place.clone(), "this one")
            .at(second.key_place.clone(), "and this one")
            .help("write two proofs"),
        [] => Fault::new(format!("a proof has neither `{one}` nor `{other}`"))
            .at(table.place.clone(), "here")
            .help(help),
    };
    faults.add(fault);
    None
}
