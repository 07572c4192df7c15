//! What the tests of all sources share.

use loadgen_scenario::parse;

use crate::Draft;

/// Returns the text of a draft, which must be a scenario.
#[track_caller]
pub(crate) fn checked(draft: &Draft) -> String {
    let text = draft.text();
    if let Err(error) = parse("draft", "draft.toml", &text) {
        panic!("{text}\n{error:?}");
    }
    text
}
