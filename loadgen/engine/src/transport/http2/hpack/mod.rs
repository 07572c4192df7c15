//! Compresses and decompresses header sections (HPACK, RFC 7541). A decoder and an encoder belong to one
//! connection: what they encode and decode refers to what came before.

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;

pub(super) use self::decoder::Decoder;
pub(super) use self::encoder::{Encoder, Head};

/// Size of a decoder's table, and largest size of an encoder's: what each side may use unless told
/// otherwise.
const TABLE_SIZE: usize = 4_096;

/// Size of a field in a table or in a limit on a header section, beyond the bytes of its name and value
/// (RFC 7541, section 4.1; RFC 9113, section 6.5.2).
const OVERHEAD: usize = 32;
