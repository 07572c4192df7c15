//! Decompresses header sections.

use super::table::Table;
use super::{OVERHEAD, TABLE_SIZE, huffman, integer};
use crate::transport::fields::Fields;

/// Decompresses the header sections that one side of a connection sends.
pub(in crate::transport::http2) struct Decoder {
    table: Table,
    /// Largest size of the sections that are kept, as HTTP/2 counts it.
    longest: usize,
}

/// The bytes are no header section. What follows on the connection cannot be understood any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport::http2) struct Malformed;

impl Decoder {
    /// Creates a decoder that keeps header sections up to this size.
    pub(in crate::transport::http2) fn new(longest: usize) -> Self {
        Self { table: Table::new(TABLE_SIZE), longest }
    }

    /// Decompresses a whole header section into `fields`, which are empty. Returns whether the section is
    /// short enough to be kept; the fields beyond the limit are left out.
    pub(in crate::transport::http2) fn decode(
        &mut self,
        mut block: &[u8],
        fields: &mut Fields,
    ) -> Result<bool, Malformed> {
        let (mut size, mut has_begun) = (0, false);
        while let Some(first) = block.first() {
            // Changes of the table's size come before the first field.
            if first & 0xe0 == 0x20 {
                let limit = integer::read(5, &mut block).ok_or(Malformed)?;
                if has_begun || limit > TABLE_SIZE {
                    return Err(Malformed);
                }
                self.table.set_limit(limit);
                continue;
            }
            has_begun = true;
            let is_kept = size <= self.longest;
            size += self.field(*first, &mut block, fields, is_kept).ok_or(Malformed)?;
            if is_kept && size > self.longest {
                fields.pop();
            }
        }
        Ok(size <= self.longest)
    }

    /// Decompresses the field that begins with the byte `first`, and adds it to `fields` if it `is_kept`.
    /// Returns its size.
    fn field(
        &mut self,
        first: u8,
        block: &mut &[u8],
        fields: &mut Fields,
        is_kept: bool,
    ) -> Option<usize> {
        if first & 0x80 != 0 {
            let (name, value) = self.table.get(integer::read(7, block)?)?;
            // A few bytes can name a long field many times.
            if is_kept {
                fields.push(name, value);
            }
            return Some(name.len() + value.len() + OVERHEAD);
        }
        let is_added = first & 0x40 != 0;
        let index = integer::read(if is_added { 6 } else { 4 }, block)?;
        let table = &self.table;
        fields.write(|text| {
            match index {
                0 => string(block, text)?,
                index => text.extend_from_slice(table.get(index)?.0),
            }
            let end = text.len();
            string(block, text).map(|()| end)
        })?;
        let (name, value) = fields.last()?;
        let size = name.len() + value.len() + OVERHEAD;
        if is_added {
            self.table.insert(name, value);
        }
        if !is_kept {
            fields.pop();
        }
        Some(size)
    }
}

/// Reads a string (RFC 7541, section 5.2), removes it from `block`, and appends what it says to `text`.
fn string(block: &mut &[u8], text: &mut Vec<u8>) -> Option<()> {
    let is_encoded = block.first()? & 0x80 != 0;
    let length = integer::read(7, block)?;
    let (bytes, rest) = block.split_at_checked(length)?;
    *block = rest;
    if is_encoded {
        return huffman::decode(bytes, text);
    }
    text.extend_from_slice(bytes);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Named = (String, String);

    fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Named>, Malformed> {
        let mut fields = Fields::default();
        decoder.decode(block, &mut fields)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ok(fields.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    fn named(fields: &[(&str, &str)]) -> Vec<Named> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// From appendix C.6 of the RFC: three responses, with a table of 256 bytes, so that fields leave it.
    #[test]
    fn the_responses_of_the_rfc_are_decoded() {
        let mut decoder = Decoder::new(1 << 20);
        decoder.table.set_limit(256);
        let first = b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\
            \xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\
            \x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3";
        let mut expected = vec![
            (":status", "302"),
            ("cache-control", "private"),
            ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("location", "https://www.example.com"),
        ];
        assert_eq!(decode(&mut decoder, first), Ok(named(&expected)));
        expected[0].1 = "307";
        let second = b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf";
        assert_eq!(decode(&mut decoder, second), Ok(named(&expected)));
        let third = b"\x88\xc1\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x84\
            \xa6\x2d\x1b\xff\xc0\x5a\x83\x9b\xd9\xab\x77\xad\x94\xe7\x82\x1d\xd7\xf2\xe6\xc7\xb3\x35\xdf\xdf\
            \xcd\x5b\x39\x60\xd5\xaf\x27\x08\x7f\x36\x72\xc1\xab\x27\x0f\xb5\x29\x1f\x95\x87\x31\x60\x65\xc0\
            \x03\xed\x4e\xe5\xb1\x06\x3d\x50\x07";
        let expected = [
            (":status", "200"),
            ("cache-control", "private"),
            ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
            ("location", "https://www.example.com"),
            ("content-encoding", "gzip"),
            ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
        ];
        assert_eq!(decode(&mut decoder, third), Ok(named(&expected)));
        assert_eq!(decoder.table.get(64), Some((&b"date"[..], expected[2].1.as_bytes())));
        assert_eq!(decoder.table.get(65), None);
    }

    #[test]
    fn fields_that_are_not_added_to_the_table_are_decoded() {
        let mut decoder = Decoder::new(1 << 20);
        let block = b"\x04\x02/a\x10\x01x\x01y\x00\x01z\x00";
        let expected = named(&[(":path", "/a"), ("x", "y"), ("z", "")]);
        assert_eq!(decode(&mut decoder, block), Ok(expected));
        assert_eq!(decoder.table.get(62), None);
    }

    #[test]
    fn what_is_no_header_section_is_refused() {
        for block in [
            &b"\x80"[..],                    // the index 0
            b"\xbe",                         // an index beyond the table
            b"\x7e\x01x",                    // a name beyond the table
            b"\x40\x05ab",                   // a name that is cut off
            b"\x40\x01a",                    // no value
            b"\x40\x01a\x81\xff",            // padding of a byte
            b"\x88\x20",                     // a change of the size after a field
            b"\x3f\xe2\x1f",                 // a table of 4,097 bytes
            b"\xff\xff\xff\xff\xff\xff\x0f", // an endless integer
        ] {
            assert_eq!(decode(&mut Decoder::new(1 << 20), block), Err(Malformed), "{block:x?}");
        }
        let block = b"\x3f\xe1\x1f\x20\x3f\xe1\x1f\x88";
        assert_eq!(decode(&mut Decoder::new(1 << 20), block), Ok(named(&[(":status", "200")])));
    }

    #[test]
    fn a_long_section_is_decoded_but_not_kept() {
        let mut decoder = Decoder::new(10_000);
        let long =
            [&b"\x40\x01x\x7f\x89\x16"[..], &[b'y'; 2_952], &[0xbe; 5_000], b"\x40\x01z\x01z"]
                .concat();
        let mut fields = Fields::default();
        assert_eq!(decoder.decode(&long, &mut fields), Ok(false));
        assert_eq!(fields.len(), 3);
        assert_eq!(decode(&mut decoder, b"\xbe\x88"), Ok(named(&[("z", "z"), (":status", "200")])));
    }
}
