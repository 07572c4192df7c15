//! Drafts from foreign bytes, for the fuzzer and for the test of its seeds.

use crate::{Draft, access_log, curl, har, openapi};

/// Drafts a scenario from a source: the first byte says which one, and with which options. A zero byte
/// separates two recordings.
pub fn draft_foreign(data: &[u8]) -> Option<Draft> {
    let (first, rest) = data.split_first()?;
    let is_odd = first % 2 == 1;
    let text = String::from_utf8_lossy(rest);
    match first {
        b'0' | b'1' => openapi::draft(&text, openapi::Options { with_writes: is_odd }).ok(),
        b'2' | b'3' => {
            let recordings = text.split('\0').map(|text| ("a.har".to_owned(), text.to_owned()));
            har::draft(&recordings.collect::<Vec<_>>(), har::Options { with_static: is_odd }).ok()
        }
        b'4' => curl::draft(&text).ok(),
        b'5' => access_log::draft(rest, &access_log::Options::default()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::testing::checked_with_rows;

    #[test]
    fn every_seed_of_the_fuzzer_becomes_a_scenario() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/drafts");
        let mut drafts = 0;
        for seed in fs::read_dir(folder).unwrap() {
            if let Some(draft) = draft_foreign(&fs::read(seed.unwrap().path()).unwrap()) {
                checked_with_rows(&draft);
                drafts += 1;
            }
        }
        assert!(drafts >= 6, "{drafts}");
    }
}
