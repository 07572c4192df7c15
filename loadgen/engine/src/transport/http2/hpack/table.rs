//! The fields to which header sections refer by number (RFC 7541, section 2.3).

use std::collections::VecDeque;

use super::OVERHEAD;

/// The fields that every connection knows (RFC 7541, appendix A).
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

/// The static table, and the dynamic table of one direction of a connection. Adding a field allocates
/// nothing once the table is full.
pub(super) struct Table {
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// The names and values of the entries, in their order, perhaps with those of former entries before them.
    text: Vec<u8>,
    /// Size of the entries, as HPACK counts it.
    size: usize,
    /// Largest size.
    limit: usize,
}

/// Where an entry is in the text.
struct Entry {
    start: usize,
    name: usize,
    value: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.name + self.value + OVERHEAD
    }
}

/// Place of a field in a table.
pub(super) enum Found {
    /// Index of the same name and value.
    Field(usize),
    /// Index of the same name.
    Name(usize),
    Nothing,
}

impl Table {
    /// Creates a table whose dynamic part is empty.
    pub(super) fn new(limit: usize) -> Self {
        Self { entries: VecDeque::new(), text: Vec::new(), size: 0, limit }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Sets the largest size of the dynamic part, and removes the oldest fields beyond it.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.shrink(limit);
    }

    /// Returns the field with this index, counted from 1.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let index = index.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(index) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let from_newest = index - STATIC.len();
        let entry = self.entries.get(self.entries.len().checked_sub(from_newest + 1)?)?;
        Some(self.field(entry))
    }

    fn field(&self, entry: &Entry) -> (&[u8], &[u8]) {
        self.text[entry.start..entry.start + entry.name + entry.value].split_at(entry.name)
    }

    /// Looks for a field.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Found {
        let all = STATIC.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let all = all.chain(self.entries.iter().rev().map(|entry| self.field(entry)));
        let mut found = Found::Nothing;
        for (index, (_, content)) in (1..).zip(all).filter(|(_, (other, _))| *other == name) {
            if content == value {
                return Found::Field(index);
            }
            if matches!(found, Found::Nothing) {
                found = Found::Name(index);
            }
        }
        found
    }

    /// Adds a field, and removes the oldest ones beyond the limit. A field that is larger than the limit
    /// empties the table, and is not added.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let entry = Entry { start: 0, name: name.len(), value: value.len() };
        let Some(rest) = self.limit.checked_sub(entry.size()) else { return self.shrink(0) };
        self.shrink(rest);
        // The text is moved to the front once in a while: when it is twice as long as the entries may be.
        if self.text.len() + name.len() + value.len() > 2 * self.limit {
            let start = self.entries.front().map_or(self.text.len(), |oldest| oldest.start);
            self.text.drain(..start);
            self.entries.iter_mut().for_each(|entry| entry.start -= start);
        }
        self.size += entry.size();
        self.entries.push_back(Entry { start: self.text.len(), ..entry });
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
    }

    /// Removes the oldest fields until the rest has at most this size.
    fn shrink(&mut self, size: usize) {
        while self.size > size
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_newest_field_comes_first_after_the_static_ones() {
        let mut table = Table::new(200);
        assert_eq!(table.get(2), Some((&b":method"[..], &b"GET"[..])));
        assert_eq!(table.get(61), Some((&b"www-authenticate"[..], &b""[..])));
        assert_eq!((table.get(0), table.get(62)), (None, None));
        table.insert(b"a", b"1");
        table.insert(b"b", b"2");
        assert_eq!(table.get(62), Some((&b"b"[..], &b"2"[..])));
        assert_eq!(table.get(63), Some((&b"a"[..], &b"1"[..])));
        assert_eq!(table.get(64), None);
        assert!(matches!(table.find(b"a", b"1"), Found::Field(63)));
        assert!(matches!(table.find(b"a", b"2"), Found::Name(63)));
        assert!(matches!(table.find(b":status", b"204"), Found::Field(9)));
        assert!(matches!(table.find(b":status", b"201"), Found::Name(8)));
        assert!(matches!(table.find(b"c", b"1"), Found::Nothing));
        table.insert(b"large", &[b'x'; 200]);
        assert_eq!((table.get(62), table.size), (None, 0), "larger than the table");
    }

    /// One step of a table's life.
    #[derive(Debug, Clone)]
    enum Change {
        Insert(Vec<u8>, Vec<u8>),
        Limit(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        let text = || proptest::collection::vec(any::<u8>(), 0..40);
        prop_oneof![
            20 => (text(), text()).prop_map(|(name, value)| Change::Insert(name, value)),
            1 => (0_usize..300).prop_map(Change::Limit),
        ]
    }

    proptest! {
        /// A table that moves its text has the same fields as one that never does.
        #[test]
        fn fields_stay_what_they_are(changes in proptest::collection::vec(change(), 0..200)) {
            let (mut table, mut model) = (Table::new(300), VecDeque::new());
            for change in changes {
                match change {
                    Change::Insert(name, value) => {
                        table.insert(&name, &value);
                        model.push_front((name, value));
                    }
                    Change::Limit(limit) => table.set_limit(limit),
                }
                let size = |model: &VecDeque<(Vec<u8>, Vec<u8>)>| -> usize {
                    model.iter().map(|(name, value)| name.len() + value.len() + OVERHEAD).sum()
                };
                while size(&model) > table.limit() {
                    model.pop_back();
                }
                prop_assert_eq!(table.size, size(&model));
                for (index, (name, value)) in model.iter().enumerate() {
                    prop_assert_eq!(table.get(62 + index), Some((&name[..], &value[..])));
                }
                prop_assert_eq!(table.get(62 + model.len()), None);
            }
        }
    }
}
