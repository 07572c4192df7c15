//! Checks a JSON body against a step's expectations, without building the whole document in memory.

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Value};

use super::same;
use loadgen_scenario::{Condition, Step};

/// Maximum number of nodes in the tree of a [`Lookup`]: each node has one bit of a `u64`.
const MOST_PLACES: u32 = u64::BITS;

/// Tree of the JSON pointers at which a step expects values or reads counters.
///
/// Only a positive result is final. A body that does not pass must be parsed as a whole, to decide
/// whether anything is wrong, and what.
#[derive(Debug)]
pub(super) struct Lookup {
    root: Place,
    places: u32,
    leaves: u32,
}

#[derive(Debug)]
struct Place {
    number: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    /// An array or object: its members that the pointers name, by key or, in an array, by index.
    Inside(Vec<(String, Place)>),
    /// An expected value, which is neither an array nor an object.
    Equal(Value),
    /// A counter, by its index in the step's list of counters.
    Counter(usize),
}

impl Lookup {
    /// Builds the tree for `step`. Returns `None` if the tree would have more than 64 nodes, if the
    /// step has another condition of JSON than equality, if an expected value is an array or an
    /// object, or if a pointer is empty, occurs twice, or leads through the value of another pointer.
    pub(super) fn new(step: &Step) -> Option<Self> {
        let root = Place { number: 0, what: What::Inside(Vec::new()) };
        let mut lookup = Self { root, places: 1, leaves: 0 };
        if step.expect.none.iter().any(Condition::reads_json) {
            return None;
        }
        for condition in step.expect.all.iter().filter(|condition| condition.reads_json()) {
            match condition {
                Condition::Json(pointer, value) if !value.is_array() && !value.is_object() => {
                    lookup.add(pointer, What::Equal(value.clone()))?;
                }
                _ => return None,
            }
        }
        for (index, counter) in step.counters.iter().enumerate() {
            lookup.add(&counter.pointer, What::Counter(index))?;
        }
        (lookup.places <= MOST_PLACES).then_some(lookup)
    }

    fn add(&mut self, pointer: &str, what: What) -> Option<()> {
        let mut place = &mut self.root;
        for token in pointer.strip_prefix('/')?.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            let What::Inside(members) = &mut place.what else { return None };
            let known = members.iter().position(|(key, _)| *key == token);
            let index = known.unwrap_or_else(|| {
                let new = Place { number: self.places, what: What::Inside(Vec::new()) };
                members.push((token, new));
                self.places += 1;
                members.len() - 1
            });
            place = &mut members[index].1;
        }
        match &place.what {
            What::Inside(members) if members.is_empty() => place.what = what,
            _ => return None,
        }
        self.leaves += 1;
        Some(())
    }

    /// Whether `body` is what the step expects. The values written to
    /// `counters` are valid only if the result is `true`.
    pub(super) fn passes(&self, body: &[u8], counters: &mut [u64]) -> bool {
        let mut search = Search { seen: 0, found: 0, counters };
        let mut json = Deserializer::from_slice(body);
        let read = Look { place: &self.root, search: &mut search }.deserialize(&mut json);
        read.is_ok() && json.end().is_ok() && search.found == self.leaves
    }
}

/// State of one pass over a body.
struct Search<'a> {
    /// One bit for each node of the tree, set once the pass has found a value at this node.
    seen: u64,
    found: u32,
    counters: &'a mut [u64],
}

/// Compares one value of the body with the node of the tree at the value's pointer.
struct Look<'a, 'b> {
    place: &'a Place,
    search: &'a mut Search<'b>,
}

impl<'a, 'b> Look<'a, 'b> {
    fn at<'c>(&'c mut self, place: &'a Place) -> Look<'c, 'b>
    where
        'a: 'c,
    {
        Look { place, search: self.search }
    }

    fn scalar<E: Error>(self, found: &Value) -> Result<(), E> {
        match &self.place.what {
            What::Equal(expected) if same(found, expected) => {}
            What::Counter(index) => match found.as_u64() {
                Some(number) => self.search.counters[*index] = number,
                None => return Err(E::custom("not a counter")),
            },
            _ => return Err(E::custom("not what is expected")),
        }
        self.search.found += 1;
        Ok(())
    }

    fn members<E: Error>(&self) -> Result<&'a [(String, Place)], E> {
        match &self.place.what {
            What::Inside(members) => Ok(members),
            _ => Err(E::custom("not a single value")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let bit = 1 << self.place.number;
        if self.search.seen & bit != 0 {
            // The key occurs twice. The check in memory decides which of the two values counts.
            return Err(D::Error::custom("seen before"));
        }
        self.search.seen |= bit;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let members = self.members()?;
        while let Some(member) = map.next_key_seed(Member(members))? {
            match member {
                Some(place) => map.next_value_seed(self.at(place))?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let members = self.members()?;
        for index in 0.. {
            let member = members.iter().find(|(key, _)| is_index(key, index));
            let more = match member {
                Some((_, place)) => seq.next_element_seed(self.at(place))?.is_some(),
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match &self.place.what {
            What::Equal(Value::String(expected)) if expected == text => {
                self.search.found += 1;
                Ok(())
            }
            _ => Err(E::custom("not the text that is expected")),
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(&Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.scalar(&Value::from(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.scalar(&Value::from(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.scalar(&Value::from(number))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar(&Value::Null)
    }
}

/// Reads a key of the body, and finds the node's member with this key.
struct Member<'a>(&'a [(String, Place)]);

impl<'a, 'de> DeserializeSeed<'de> for Member<'a> {
    type Value = Option<&'a Place>;

    fn deserialize<D: serde::Deserializer<'de>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Member<'a> {
    type Value = Option<&'a Place>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|(name, _)| name == key).map(|(_, place)| place))
    }
}

/// Whether `token`, one part of a JSON pointer, is the array index `index`. An index consists of
/// digits without a leading zero (RFC 6901, section 4).
pub(super) fn is_index(token: &str, index: usize) -> bool {
    let digits =
        token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    digits && token.parse() == Ok(index)
}

#[cfg(test)]
mod tests;
