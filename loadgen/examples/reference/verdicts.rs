//! Presents the verdicts as the documentation of [`VerdictKind`] describes them.

use loadgen::record::VerdictKind;
use strum::{EnumMessage, EnumProperty, VariantArray};

use crate::markdown::{self, phrase};

/// Returns the table of all verdicts.
pub fn table() -> String {
    let row = |kind: &VerdictKind| {
        let (code, meaning) = (kind.as_ref(), documentation(*kind).0.replace('\n', " "));
        [format!("[`{code}`](#{code})"), phrase(&meaning)]
    };
    markdown::table(&["code", "meaning"], VerdictKind::VARIANTS.iter().map(row))
}

/// Returns the names of all groups.
pub fn groups() -> impl Iterator<Item = &'static str> {
    VerdictKind::VARIANTS.iter().filter_map(|kind| kind.get_str("group"))
}

/// Returns the sections of the verdicts of a group; `None` if there is no such group.
pub fn sections(group: &str) -> Option<String> {
    let group_of = |kind: &VerdictKind| kind.get_str("group");
    let mut kinds = VerdictKind::VARIANTS.iter();
    let first = kinds.find(|kind| group_of(kind) == Some(group))?;
    let others = kinds.take_while(|kind| group_of(kind).is_none());
    let section =
        |kind: &VerdictKind| format!("\n### `{}`\n\n{}", kind.as_ref(), documentation(*kind).1);
    Some(std::iter::once(first).chain(others).map(section).chain(["\n".to_owned()]).collect())
}

/// Returns the short meaning of a verdict, and the text of its section.
fn documentation(kind: VerdictKind) -> (&'static str, &'static str) {
    let documentation = kind.get_documentation().unwrap_or_default();
    documentation.split_once("\n\n").unwrap_or((documentation, ""))
}
