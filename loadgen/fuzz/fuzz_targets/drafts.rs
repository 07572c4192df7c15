//! Drafts scenarios from arbitrary documents, recordings, commands and logs. No input may cause a panic, nor a draft that is
//! no scenario.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::drafts::draft_foreign;
use loadgen::scenario::parse;

fuzz_target!(|data: &[u8]| {
    let Some(draft) = draft_foreign(data) else { return };
    let text = draft.text();
    // Files beside the scenario are not there.
    let names_file = ["file = ", "ca = ", "cert = ", "key = "].iter().any(|key| text.contains(key));
    if draft.rows.is_empty() && !names_file {
        parse("draft", "draft.toml", &text).unwrap();
    }
});
