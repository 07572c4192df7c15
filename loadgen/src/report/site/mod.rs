//! The site of `loadgen site`: the history of many results, as pages that need no server.
//!
//! - `index`: the first page. `history`: the page of one scenario. `feed`: news, for readers of Atom.
//! - `words`: metrics, settings and changes, for people.

mod feed;
mod history;
mod index;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::html::{LOOK, STYLE, document};
use super::svg;
use crate::analysis::history::{Entry, History};

/// Style and script of the site only.
const OWN_STYLE: &str = include_str!("../assets/site.css");
const OWN_SCRIPT: &str = include_str!("../assets/site.js");

/// Title and address of the site, and its baseline.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// Title of the site.
    pub title: String,
    /// Address of the site, with a slash at the end, for the feed; `None` if unknown.
    pub url: Option<String>,
    /// Name of the result with which the newest ones are compared, if any.
    pub baseline: Option<String>,
}

/// Returns the pages of these results, each with its path. The reports of the results are expected at
/// [`report_path`].
#[must_use]
pub fn site(entries: &[Entry], settings: &SiteSettings) -> Vec<(String, String)> {
    let histories = History::of(entries);
    let pages = Pages::of(&histories);
    let mut all = vec![
        ("index.html".to_owned(), index::index(&histories, &pages, settings)),
        ("feed.xml".to_owned(), feed::feed(&histories, &pages, settings)),
    ];
    for (history, path) in histories.iter().zip(&pages.0) {
        all.push((path.clone(), history::page(history, settings)));
    }
    all
}

/// Returns the path of the report of the result with this name.
#[must_use]
pub fn report_path(name: &str) -> String {
    format!("runs/{name}/report.html")
}

/// Greatest length of a name without its number.
const LONGEST: usize = 80;

/// Returns whether a name is one of [`address_part`], which leads to no other folder.
#[must_use]
pub fn is_address_part(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.len() <= LONGEST + 20 && name.chars().all(is_known)
}

/// Returns a name that is part of an address as it is, and that none of `taken` is; then it is one of them.
#[must_use]
pub fn address_part(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut part = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => part.push(c.to_ascii_lowercase()),
            _ if part.is_empty() || part.ends_with('-') => {}
            _ => part.push('-'),
        }
    }
    part.truncate(LONGEST);
    let part = part.trim_end_matches('-');
    let part = if part.is_empty() { "result" } else { part };
    let numbered = (2..).map(|number: u32| format!("{part}-{number}"));
    let mut names = std::iter::once(part.to_owned()).chain(numbered);
    // There are more numbers than names.
    let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// Paths of the pages of the histories.
struct Pages(Vec<String>);

impl Pages {
    fn of(histories: &[History<'_>]) -> Self {
        let mut taken = BTreeSet::from(["index".to_owned()]);
        let path = |history: &History<'_>| {
            let name = format!("{} {}", history.title, words::kind(history.kind));
            format!("{}.html", address_part(&name, &mut taken))
        };
        Self(histories.iter().map(path).collect())
    }
}

/// Returns a page with this title and content. `kind` says what it is.
fn page(title: &str, kind: &Markup, headline: &str, content: &Markup) -> String {
    let feed = html! { link rel="alternate" type="application/atom+xml" href="feed.xml"; };
    let body = html! {
        header {
            div.title {
                p.kind { (kind) }
                button type="button" id="theme" aria-pressed="false" { "Dark" }
            }
            h1 { (title) }
            p.headline { (headline) }
        }
        main id="main" { (content) }
    };
    document(title, &feed, &[STYLE, svg::STYLE, OWN_STYLE], &body, &[LOOK, OWN_SCRIPT])
}
