//! Decompresses arbitrary bytes, for tests and fuzzers.

use super::{Encoded, LONGEST, PIECE};

/// Decompresses a fuzzer's input: the value of a `content-encoding` header, a line feed, and the body.
///
/// # Panics
/// Panics if a decompressed body takes more memory than the limit, or if its beginning is another one
/// than that of the whole.
pub fn decompress_foreign(data: &[u8]) {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (header, body) = (String::from_utf8_lossy(&data[..end]), &data[end + 1..]);
    let encoded = Encoded::new(header.into_owned());
    let beginning = encoded.beginning(body);
    let is_encoded = super::is_encoded(encoded.codings().as_bytes());
    assert!(!is_encoded || beginning.len() <= PIECE);
    let whole = encoded.plain(body);
    assert_eq!(whole, encoded.plain(body));
    if let Some(Ok(plain)) = encoded.plain.get() {
        assert!(!is_encoded || plain.capacity() <= LONGEST, "{} bytes", plain.capacity());
        assert!(plain.starts_with(&beginning));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::super::decoded;
    use super::*;

    /// Folder of the inputs from which the fuzzer starts.
    const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/decompression");

    /// Text of the seeds that can be decompressed.
    const TEXT: &str = "{\"n\": 7, \"text\": \"tea tea tea tea tea tea\"}";

    fn compressed(coding: &str, plain: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match coding {
            "gzip" => {
                let mut to = GzEncoder::new(Vec::new(), level);
                to.write_all(plain).and_then(|()| to.finish()).unwrap()
            }
            "deflate" => {
                let mut to = ZlibEncoder::new(Vec::new(), level);
                to.write_all(plain).and_then(|()| to.finish()).unwrap()
            }
            "raw deflate" => {
                let mut to = DeflateEncoder::new(Vec::new(), level);
                to.write_all(plain).and_then(|()| to.finish()).unwrap()
            }
            _ => compress_to_vec(plain, CompressionLevel::Fastest),
        }
    }

    /// The names of seeds say what becomes of them. Node, gzip and zstd made their bodies.
    #[test]
    fn every_seed_of_the_fuzzer_is_decompressed_or_refused() {
        let mut counts = [0; 3];
        for seed in std::fs::read_dir(SEEDS).unwrap() {
            let path = seed.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let data = std::fs::read(&path).unwrap();
            decompress_foreign(&data);
            let end = data.iter().position(|byte| *byte == b'\n').unwrap();
            let header = std::str::from_utf8(&data[..end]).unwrap();
            let plain = decoded(header, &data[end + 1..]);
            match name.split_once('-').unwrap().0 {
                "text" => {
                    counts[0] += 1;
                    assert_eq!(plain.as_deref(), Ok(TEXT.as_bytes()), "{name}");
                }
                "bomb" => {
                    counts[1] += 1;
                    assert!(plain.unwrap_err().got.starts_with("a longer one"), "{name}");
                }
                _ => {
                    counts[2] += 1;
                    assert!(!plain.unwrap_err().got.starts_with("a longer one"), "{name}");
                }
            }
        }
        assert!(counts.iter().all(|count| *count >= 4), "{counts:?}");
    }

    #[test]
    fn a_header_names_encodings_in_the_order_of_their_use() {
        let twice = compressed("zstd", &compressed("gzip", b"abc"));
        assert_eq!(decoded("gzip,  ZSTD", &twice).as_deref(), Ok(&b"abc"[..]));
        assert_eq!(decoded("X-Gzip, identity, , zstd", &twice).as_deref(), Ok(&b"abc"[..]));
        assert_eq!(decoded("identity", b"abc").as_deref(), Ok(&b"abc"[..]));
        assert_eq!(decoded("gzip", b"").as_deref(), Ok(&b""[..]));
        let refused = |header: &str| {
            let why = decoded(header, &twice).unwrap_err();
            format!("expected {}, got {}", why.expected, why.got)
        };
        insta::assert_snapshot!(
            [refused("zstd, gzip"), refused("gzip, compress"), refused("br, br, br, br, br")].join("\n"),
            @r#"
        expected a body that can be decompressed (content-encoding "zstd, gzip"), got corrupt or incomplete data
        expected a content-encoding of gzip, deflate, br or zstd, got "compress"
        expected at most 4 encodings of one body, got 5
        "#
        );
    }

    #[test]
    fn the_limit_is_exact() {
        for coding in ["gzip", "deflate", "zstd"] {
            for (length, fits) in [(LONGEST, true), (LONGEST + 1, false)] {
                let body = compressed(coding, &vec![b'x'; length]);
                let plain = decoded(coding, &body);
                assert_eq!(plain.is_ok_and(|plain| plain.len() == length), fits, "{coding}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_compressed_body_is_read_back(plain: Vec<u8>, repeat in 1..300_usize) {
            let plain = plain.repeat(repeat);
            for coding in ["gzip", "deflate", "raw deflate", "zstd"] {
                let body = compressed(coding, &plain);
                let header = coding.trim_start_matches("raw ");
                let came = decoded(header, &body);
                prop_assert_eq!(came.as_ref(), Ok(&plain), "{}", coding);
                // A body that was kept in part still shows its beginning.
                let part = Encoded::new(header.to_owned()).beginning(&body[..body.len() / 2]);
                prop_assert!(plain.starts_with(&part), "{}", coding);
            }
        }

        #[test]
        fn no_input_takes_more_memory_than_the_limit(
            header in "(gzip|deflate|br|zstd|identity|x|, |\n){0,6}",
            body: Vec<u8>,
        ) {
            decompress_foreign(&[header.as_bytes(), b"\n", &body].concat());
        }
    }
}
