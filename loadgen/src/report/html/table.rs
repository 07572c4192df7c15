//! Builds a table that scrolls separately, also by keyboard, where it is wider than the page.

use maud::{Markup, html};

/// Accessible name of a table, for screen readers.
pub(in crate::report) enum Called<'a> {
    /// Text of the heading with this id.
    Heading(&'a str),
    /// Text that the page does not show.
    Label(&'a str),
}

/// Returns rows of texts, each with its name in the first column.
pub(super) fn named_rows(rows: &[Vec<String>]) -> Markup {
    html! {
        @for row in rows {
            tr {
                @for (index, cell) in row.iter().enumerate() {
                    @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            }
        }
    }
}

/// Returns a table of these rows. A column without a name holds drawings, and is hidden from screen
/// readers.
pub(in crate::report) fn table(
    called: &Called<'_>,
    caption: &str,
    columns: &[&str],
    rows: &Markup,
) -> Markup {
    let (heading, label) = match *called {
        Called::Heading(id) => (Some(id), None),
        Called::Label(text) => (None, Some(text)),
    };
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=[heading] aria-label=[label] {
            table {
                @if !caption.is_empty() { caption { span { (caption) } } }
                thead {
                    tr {
                        @for name in columns {
                            @if name.is_empty() {
                                th.drawn scope="col" aria-hidden="true" {}
                            } @else {
                                th scope="col" { (name) }
                            }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}
