//! Builds the part of a page that says where the CPU time of a request goes.

use maud::{Markup, html};

use super::sentences;
use super::table::{Called, table};
use crate::record::ProfileDifference;
use crate::report::words::profile::{self, Profiles};

/// Returns a table of functions, and links to the flame graphs; nothing without profiling rounds.
pub(super) fn profiled(profiles: &Profiles<'_>, differences: &[ProfileDifference]) -> Markup {
    let rows = profile::rows(profiles, &profile::PAGE);
    let made = profile::made(profiles);
    let mut graphs: Vec<(String, &str)> =
        made.map(|(target, profile)| (target.to_owned(), profile.file.as_str())).collect();
    graphs.extend(differences.iter().map(|of| {
        let [one, other] = &of.targets;
        (format!("{other} beside {one}"), of.file.as_str())
    }));
    let columns: Vec<&str> =
        std::iter::once("Function").chain(profile::HEADER.into_iter().skip(1)).collect();
    let rows = html! {
        @for cells in &rows {
            @if let [name, cells @ ..] = cells.as_slice() {
                tr { th scope="row" { (name) } @for cell in cells { td { (cell) } } }
            }
        }
    };
    html! {
        @if !profiles.is_empty() {
            section {
                h2 id="profile" { "Where the CPU time goes" }
                (table(&Called::Heading("profile"), &profile::legend(profiles), &columns, &rows))
                (sentences(&profile::failures(profiles)))
                @if !graphs.is_empty() {
                    p {
                        "Flame graphs, beside this page: "
                        @for (number, (name, file)) in graphs.iter().enumerate() {
                            @if number > 0 { ", " }
                            a href={ (file) ".svg" } { (name) }
                        }
                    }
                }
            }
        }
    }
}
