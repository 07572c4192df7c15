//! Compresses header sections.

use super::table::{Found, Table};
use super::{OVERHEAD, TABLE_SIZE, huffman, integer};
use crate::transport::fields::Fields;

/// The header section of a request.
#[derive(Debug, Clone, Copy)]
pub(in crate::transport::http2) struct Head<'a> {
    pub(in crate::transport::http2) fields: &'a Fields,
    /// Number of fields at the beginning that are the same in each request of the step.
    pub(in crate::transport::http2) constant: usize,
    /// Index of the step; `None` if its requests differ.
    pub(in crate::transport::http2) step: Option<usize>,
    /// Fields that follow the others, different in each request.
    pub(in crate::transport::http2) added: &'a Fields,
}

/// Names of fields that are sent in full each time: most differ from request to request, and would drive
/// other fields from the table; secrets may not be in it (RFC 7541, section 7.1). Other clients don't
/// add them either.
const NOT_ADDED: [&[u8]; 10] = [
    b":path",
    b"age",
    b"authorization",
    b"content-length",
    b"cookie",
    b"etag",
    b"if-modified-since",
    b"if-none-match",
    b"location",
    b"set-cookie",
];

/// Compresses the header sections of a connection's requests. Like other clients, does not add a field
/// to the table that would take more than three quarters of it.
pub(in crate::transport::http2) struct Encoder {
    table: Table,
    /// Number of changes of the table.
    changes: u64,
    /// Smallest and last limit of the table since the last section; `None` without a change.
    resized: Option<(usize, usize)>,
    /// The last section of each step whose requests are all the same.
    last: Vec<Compressed>,
}

/// A compressed header section.
#[derive(Clone, Default)]
struct Compressed {
    /// Number of changes of the table before the section; `None` if there is no section.
    changes: Option<u64>,
    bytes: Vec<u8>,
}

impl Encoder {
    pub(in crate::transport::http2) fn new() -> Self {
        Self { table: Table::new(TABLE_SIZE), changes: 0, resized: None, last: Vec::new() }
    }

    /// Sets the largest table that the server accepts.
    pub(in crate::transport::http2) fn set_limit(&mut self, limit: usize) {
        let limit = limit.min(TABLE_SIZE);
        if limit == self.table.limit() {
            return;
        }
        self.table.set_limit(limit);
        self.changes += 1;
        let smallest = self.resized.map_or(limit, |(smallest, _)| smallest.min(limit));
        self.resized = Some((smallest, limit));
    }

    /// Appends the compressed section. A step whose requests are all the same is compressed again only
    /// after the table has changed.
    pub(in crate::transport::http2) fn encode(&mut self, head: Head<'_>, to: &mut Vec<u8>) {
        if let Some((smallest, limit)) = self.resized.take() {
            // The server must have seen the smallest limit (RFC 7541, section 4.2).
            [smallest, limit].iter().skip(usize::from(smallest == limit)).for_each(|limit| {
                integer::write(*limit, 5, 0x20, to);
            });
        }
        self.all_but_added(head, to);
        for (name, value) in head.added.iter() {
            self.field(name, value, false, to);
        }
    }

    fn all_but_added(&mut self, head: Head<'_>, to: &mut Vec<u8>) {
        let Some(step) = head.step else { return self.fields(head, to) };
        if let Some(Compressed { changes: Some(changes), bytes }) = self.last.get(step)
            && *changes == self.changes
        {
            return to.extend_from_slice(bytes);
        }
        let (start, changes) = (to.len(), self.changes);
        self.fields(head, to);
        if self.last.len() <= step {
            self.last.resize(step + 1, Compressed::default());
        }
        let last = &mut self.last[step];
        last.changes = (changes == self.changes).then_some(changes);
        last.bytes.clear();
        last.bytes.extend_from_slice(&to[start..]);
    }

    fn fields(&mut self, head: Head<'_>, to: &mut Vec<u8>) {
        for (nth, (name, value)) in head.fields.iter().enumerate() {
            let is_small = 4 * (name.len() + value.len() + OVERHEAD) <= 3 * self.table.limit();
            let is_added = nth < head.constant && is_small && !NOT_ADDED.contains(&name);
            self.field(name, value, is_added, to);
        }
    }

    /// Appends a field, and adds it to the table if `is_added`.
    fn field(&mut self, name: &[u8], value: &[u8], is_added: bool, to: &mut Vec<u8>) {
        let (bits, flags) = if is_added { (6, 0x40) } else { (4, 0) };
        let index = match self.table.find(name, value) {
            Found::Field(index) => return integer::write(index, 7, 0x80, to),
            Found::Name(index) => index,
            Found::Nothing => 0,
        };
        integer::write(index, bits, flags, to);
        if index == 0 {
            string(name, to);
        }
        string(value, to);
        if is_added {
            self.table.insert(name, value);
            self.changes += 1;
        }
    }
}

/// Appends a string, in the shorter of its two forms (RFC 7541, section 5.2).
fn string(text: &[u8], to: &mut Vec<u8>) {
    let length = huffman::encoded_length(text);
    if length < text.len() {
        integer::write(length, 7, 0x80, to);
        huffman::encode(text, to);
    } else {
        integer::write(text.len(), 7, 0, to);
        to.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Decoder;
    use super::*;

    fn fields<N: AsRef<[u8]>, V: AsRef<[u8]>>(named: &[(N, V)]) -> Fields {
        let mut fields = Fields::default();
        named.iter().for_each(|(name, value)| fields.push(name.as_ref(), value.as_ref()));
        fields
    }

    fn encode(
        encoder: &mut Encoder,
        fields: &Fields,
        constant: usize,
        step: Option<usize>,
    ) -> Vec<u8> {
        let mut to = Vec::new();
        encoder.encode(Head { fields, constant, step, added: &Fields::default() }, &mut to);
        to
    }

    /// From appendix C.4 of the RFC, apart from the path.
    #[test]
    fn a_repeated_request_takes_a_byte_for_each_field() {
        let mut encoder = Encoder::new();
        let get = fields(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", "www.example.com"),
            (":path", "/"),
        ]);
        let first = encode(&mut encoder, &get, 4, Some(0));
        assert_eq!(first, b"\x82\x86\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff\x84");
        for _ in 0..3 {
            assert_eq!(encode(&mut encoder, &get, 4, Some(0)), b"\x82\x86\xbe\x84");
        }
        // A change of the table by another step.
        let other = fields(&[("x-own", "1")]);
        encode(&mut encoder, &other, 1, Some(1));
        assert_eq!(encode(&mut encoder, &get, 4, Some(0)), b"\x82\x86\xbf\x84");
    }

    #[test]
    fn secrets_and_what_differs_are_not_added_to_the_table() {
        let mut encoder = Encoder::new();
        let get = fields(&[("cookie", "a=1"), ("authorization", "x"), ("x-id", "1")]);
        let first = encode(&mut encoder, &get, 2, None);
        assert_eq!(first[0], 0x0f, "without indexing");
        assert_eq!(encode(&mut encoder, &get, 2, None), first);
        assert_eq!(encoder.changes, 0);
    }

    #[test]
    fn a_field_that_would_empty_the_table_is_not_added() {
        let mut encoder = Encoder::new();
        let get = fields(&[("x-long", &"x".repeat(3_100)[..]), ("x-short", "1")]);
        encode(&mut encoder, &get, 2, Some(0));
        assert_eq!(encoder.changes, 1, "the short one");
        encoder.set_limit(0);
        let first = encode(&mut encoder, &get, 2, Some(0));
        assert_eq!(encode(&mut encoder, &get, 2, Some(0)), first[1..]);
        assert_eq!(encoder.changes, 2, "the limit");
    }

    #[test]
    fn the_server_learns_the_smallest_limit_of_the_table() {
        let mut encoder = Encoder::new();
        encoder.set_limit(1 << 20);
        let get = fields(&[("x-own", "1")]);
        let first = encode(&mut encoder, &get, 1, Some(0));
        assert_eq!(first[0], 0x40, "no change");
        encoder.set_limit(0);
        encoder.set_limit(100);
        let next = encode(&mut encoder, &get, 1, Some(0));
        assert_eq!(next[..3], [0x20, 0x3f, 69]);
        assert_eq!(next[3..], first, "the table was emptied");
        encoder.set_limit(0);
        let next = encode(&mut encoder, &get, 1, Some(0));
        assert_eq!((next[..2].to_vec(), &next[2..]), (vec![0x20, 0x00], &first[1..]));
    }

    /// The requests of a scenario with up to five steps.
    fn steps() -> impl Strategy<Value = Vec<(Fields, usize, bool)>> {
        let text = |some: &'static [&'static str], most| {
            prop_oneof![
                proptest::sample::select(some).prop_map(|it| it.as_bytes().to_vec()),
                proptest::collection::vec(any::<u8>(), 0..most),
            ]
        };
        let field = (text(&["x", ":path", "cookie", "accept"], 20), text(&["1", "2", "*/*"], 300));
        let section = proptest::collection::vec(field, 0..10).prop_map(|all| fields(&all));
        proptest::collection::vec((section, 0..10_usize, any::<bool>()), 1..5)
    }

    /// The requests of a connection: their steps, and the new limit of the table before each, if any.
    fn sent() -> impl Strategy<Value = Vec<(usize, Option<usize>)>> {
        let limit = prop_oneof![9 => Just(None), 1 => (0..6_000_usize).prop_map(Some)];
        proptest::collection::vec((any::<usize>(), limit), 0..60)
    }

    proptest! {
        /// The decoder of a connection reads the section that the encoder was given, whether the section was
        /// compressed for this request or for one before it.
        #[test]
        fn every_section_comes_back(steps in steps(), sent in sent()) {
            let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(1 << 20));
            for (step, limit) in sent {
                limit.into_iter().for_each(|limit| encoder.set_limit(limit));
                let step = step % steps.len();
                let (fields, constant, is_same) = &steps[step];
                let block = encode(&mut encoder, fields, *constant, is_same.then_some(step));
                let mut read = Fields::default();
                prop_assert_eq!(decoder.decode(&block, &mut read), Ok(true));
                prop_assert_eq!(&read, fields);
            }
        }
    }
}
