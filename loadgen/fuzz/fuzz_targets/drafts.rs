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
    if draft.rows.is_empty() && !text.contains("file = ") && !text.contains("cacert") {
        parse("draft", "draft.toml", &text).unwrap();
    }
});
