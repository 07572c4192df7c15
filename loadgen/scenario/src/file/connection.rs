//! `connection` of `[http]`: how long a connection is used.

use serde_json::json;
use toml::de::DeValue;

use super::keys::schema::{self, Schema};
use super::keys::{Custom, Defaulted, Integer, Key, Keys, Time, custom, integer, key};
use super::reader::{Faults, Value};
use crate::http::{Lifetime, Reuse};

const WORDS: [(&str, Reuse); 2] =
    [("keep-alive", Reuse::KeepAlive), ("per-request", Reuse::PerRequest)];

keys! {
    /// whether a user's requests share a connection (`"keep-alive"`), each opens one (`"per-request"`), or loadgen
    /// ends a connection [after a number of requests or a time](#lifetimes-of-connections)
    pub(super) const KEY: Defaulted<Custom> = key("connection", custom("`\"keep-alive\"`, `\"per-request\"` or a table", schema))
        .or("\"keep-alive\"");
}

keys! {
    /// when loadgen ends a connection
    pub(super) const KEYS: Keys = table("`connection`");

    /// number of requests after which a connection ends
    const REQUESTS: Key<Integer> = key("requests", integer(1, u32::MAX as u64)).otherwise("no limit");
    /// time after its opening from which a connection begins no request, such as `"30s"`
    const AGE: Key<Time> = key("age", Time::POSITIVE).otherwise("no limit");
}

fn schema() -> Schema {
    let limits = KEYS.schema().with("minProperties", 1);
    schema::one_of([schema::choice(&WORDS, "Whether requests share a connection."), limits])
}

/// Returns the schema of the values of `connection` beside shared connections.
pub(super) fn not_per_request() -> serde_json::Value {
    json!({ "not": { "const": "per-request" } })
}

/// Reads `"keep-alive"`, `"per-request"` or `{ requests, age }`.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Reuse> {
    let DeValue::Table(_) = value.node.get_ref() else { return value.choice(&WORDS, faults) };
    let mut table = KEYS.open(value, faults)?;
    let (requests, age) = (REQUESTS.read(&mut table, faults), AGE.read(&mut table, faults));
    table.finish(faults);
    let requests = requests?.and_then(|requests| u32::try_from(requests).ok());
    let limit = Lifetime { requests, age: age? };
    if limit == Lifetime::default() {
        let message = "`connection` has neither `requests` nor `age`";
        let help = "write connection = { requests = 100 } or { age = \"30s\" }, or both";
        return value.fault(message, "no limit", help, faults);
    }
    Some(Reuse::Until(limit))
}
