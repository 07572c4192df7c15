//! Decompresses the bodies of answers (RFC 9110, section 8.4), with a bound on time and memory.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;

use std::cell::OnceCell;
use std::io::{self, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Length of the longest decompressed body, in bytes.
const LONGEST: usize = 16 << 20;

/// Largest number of encodings of one body.
const MOST_CODINGS: usize = 4;

/// Largest window of zstd: a decoder must allow as much (RFC 9659).
const ZSTD_WINDOW: u64 = 8 << 20;

/// Size of the pieces in which bodies are decompressed, in bytes.
const PIECE: usize = 8 << 10;

/// Encoding of a body, and the decompressed body, once something has asked for it.
#[derive(Debug)]
pub struct Encoded {
    codings: String,
    plain: OnceCell<Result<Vec<u8>, Undecodable>>,
}

/// Reason why a body cannot be decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// Encodings that can be decompressed, in words.
    pub expected: String,
    /// Description of the body that came instead.
    pub got: String,
}

impl Encoded {
    /// Creates the encoding that a `content-encoding` header names.
    #[must_use]
    pub fn new(codings: String) -> Self {
        Self { codings, plain: OnceCell::new() }
    }

    /// Returns the value of the `content-encoding` header.
    #[must_use]
    pub fn codings(&self) -> &str {
        &self.codings
    }

    /// Returns the decompressed `body`, which must be the same in each call.
    pub fn plain(&self, body: &[u8]) -> Result<&[u8], Undecodable> {
        let plain = self.plain.get_or_init(|| decoded(&self.codings, body));
        plain.as_deref().map_err(Clone::clone)
    }

    /// Returns at least the beginning of the decompressed `body`, as far as it can be decompressed.
    #[must_use]
    pub fn beginning(&self, body: &[u8]) -> Vec<u8> {
        let Ok(codings) = codings(&self.codings) else { return Vec::new() };
        codings.into_iter().fold(body.to_vec(), |body, coding| {
            let mut plain = Vec::new();
            // A body that was kept in part ends in an error.
            let _ = coding.decode(&body, PIECE, &mut plain);
            plain
        })
    }
}

/// Returns whether a `content-encoding` header with this value says that the body is not plain.
pub fn is_encoded(value: &[u8]) -> bool {
    let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    words.any(|word| !word.is_empty() && !word.eq_ignore_ascii_case(b"identity"))
}

fn decoded(header: &str, body: &[u8]) -> Result<Vec<u8>, Undecodable> {
    // As in the response to HEAD, which has the headers of a body, but no body.
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let mut plain: Option<Vec<u8>> = None;
    for coding in codings(header)? {
        let mut next = Vec::new();
        let decoded = coding.decode(plain.as_deref().unwrap_or(body), LONGEST, &mut next);
        decoded.map_err(|fault| fault.of(header))?;
        plain = Some(next);
    }
    Ok(plain.unwrap_or_else(|| body.to_vec()))
}

/// Returns the encodings to undo, in this order: the header names them in the order in which they were
/// applied.
fn codings(header: &str) -> Result<Vec<Coding>, Undecodable> {
    let words = header.split(',').map(str::trim).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.filter(|word| !word.eq_ignore_ascii_case("identity")).collect();
    if words.len() > MOST_CODINGS {
        let expected = format!("at most {MOST_CODINGS} encodings of one body");
        return Err(Undecodable { expected, got: words.len().to_string() });
    }
    let coding = |word: &&str| Coding::of(word).ok_or_else(|| unknown(word));
    words.iter().rev().map(coding).collect()
}

fn unknown(word: &str) -> Undecodable {
    let expected = "a content-encoding of gzip, deflate, br or zstd".to_owned();
    let got: String = word.chars().take(40).collect();
    Undecodable { expected, got: format!("{got:?}") }
}

#[derive(Debug, Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Reason why bytes are not decompressed.
#[derive(Debug, PartialEq)]
enum Fault {
    TooLong,
    Corrupt,
}

impl Fault {
    fn of(&self, header: &str) -> Undecodable {
        let header: String = header.chars().take(80).collect();
        match self {
            Self::TooLong => Undecodable {
                expected: "a body of at most 16 MiB, the limit for checks".to_owned(),
                got: format!("a longer one after decompression (content-encoding {header:?})"),
            },
            Self::Corrupt => Undecodable {
                expected: format!("a body that can be decompressed (content-encoding {header:?})"),
                got: "corrupt or incomplete data".to_owned(),
            },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(_: io::Error) -> Self {
        Self::Corrupt
    }
}

impl Coding {
    fn of(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Appends the decompressed `body` to `out`, up to `most` bytes in total. After a fault, `out`
    /// contains what was decompressed before.
    fn decode(self, body: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        match self {
            Self::Gzip => read_up_to(MultiGzDecoder::new(body), most, out),
            // Some servers send the data without the wrapping of zlib that RFC 9110 demands.
            Self::Deflate if has_zlib_header(body) => read_up_to(ZlibDecoder::new(body), most, out),
            Self::Deflate => read_up_to(DeflateDecoder::new(body), most, out),
            Self::Brotli => {
                let mut reader = Decompressor::new(body, PIECE);
                // Windows of up to 1 GiB, which RFC 7932 does not have.
                reader.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
                read_up_to(reader, most, out)
            }
            Self::Zstd => decode_zstd(body, most, out),
        }
    }
}

/// Returns whether `body` begins with a header of zlib (RFC 1950, section 2.2).
fn has_zlib_header(body: &[u8]) -> bool {
    matches!(body, [first, second, ..] if first & 0x0f == 8
        && u16::from_be_bytes([*first, *second]).is_multiple_of(31))
}

/// Decompresses frame after frame (RFC 8878, section 3.1).
fn decode_zstd(mut body: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    // All frames share the memory for the window.
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(ZSTD_WINDOW);
    while !body.is_empty() {
        match StreamingDecoder::new_with_decoder(&mut body, &mut decoder) {
            Ok(reader) => read_up_to(reader, most, out)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => body = body.get(length as usize..).ok_or(Fault::Corrupt)?,
            Err(_) => return Err(Fault::Corrupt),
        }
    }
    Ok(())
}

/// Appends all that `reader` yields to `out`, up to `most` bytes in total.
fn read_up_to(mut reader: impl Read, most: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut piece = [0; PIECE];
    loop {
        let count = reader.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        let room = most.saturating_sub(out.len());
        let taken = &piece[..count.min(room)];
        if out.capacity() - out.len() < taken.len() {
            // Doubles, but never to more than the limit.
            out.reserve_exact(out.len().max(8 * PIECE).min(room));
        }
        out.extend_from_slice(taken);
        if count > room {
            return Err(Fault::TooLong);
        }
    }
}
