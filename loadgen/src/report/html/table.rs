//! A table that scrolls by itself where it is wider than the page, with the keyboard, too.

use maud::{Markup, html};

/// What a table is called by those who hear the page.
pub enum Called<'a> {
    /// As the heading with this id.
    Heading(&'a str),
    /// Like this.
    Label(&'a str),
}

/// A table of these rows. A column without a name holds drawings, which nobody need hear of.
pub fn table(called: &Called<'_>, caption: &str, columns: &[&str], rows: &Markup) -> Markup {
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
