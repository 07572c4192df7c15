//! Finds the end of the trailers after a body in chunks (RFC 9112, section 7.1.2).

use httparse::{EMPTY_HEADER, Error, Header, Status, parse_headers};

/// Number of trailers for which there is room on the stack, and the most that fit into the longest ones.
const USUAL: usize = 100;
const MOST: usize = super::LONGEST_LINE / "a:\r\n".len();

/// Returns the length of the trailers, with the empty line after them; `None` if they are incomplete.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    match length_in(bytes, &mut [EMPTY_HEADER; USUAL]) {
        Err(Error::TooManyHeaders) => length_in(bytes, &mut vec![EMPTY_HEADER; MOST]),
        length => length,
    }
}

fn length_in<'b>(bytes: &'b [u8], room: &mut [Header<'b>]) -> Result<Option<usize>, Error> {
    Ok(match parse_headers(bytes, room)? {
        Status::Complete((length, _)) => Some(length),
        Status::Partial => None,
    })
}
