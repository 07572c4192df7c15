//! Builds the feed of news (RFC 4287, The Atom Syndication Format).

use super::words::{self, changes, claims};
use super::{Pages, SiteSettings, report_path};
use crate::analysis::history::{Entry, History, Kind, MeasuredTarget};
use crate::report::words::history::{figure, metric};

/// Greatest number of entries: the newest.
const MOST: usize = 50;

/// One piece of news.
struct News {
    id: String,
    updated: String,
    title: String,
    path: String,
}

/// Returns the feed: each result, and each change.
pub(super) fn feed(histories: &[History<'_>], pages: &Pages, settings: &SiteSettings) -> String {
    let mut news: Vec<News> = histories
        .iter()
        .zip(&pages.0)
        .flat_map(|(history, path)| {
            let results = history.entries.iter().map(|entry| result(history, entry));
            results.chain(changes(history).into_iter().map(|told| News {
                id: format!(
                    "{}:{}:{}:{}",
                    told.entry.started,
                    told.entry.seed,
                    told.target,
                    metric(told.metric)
                ),
                updated: told.entry.started.clone(),
                title: format!("{}: {}", history.title, told.text()),
                path: path.clone(),
            }))
        })
        .collect();
    news.sort_by(|a, b| (&b.updated, &a.id).cmp(&(&a.updated, &b.id)));
    news.truncate(MOST);
    let base = settings.url.as_deref().unwrap_or_default();
    let updated = news.first().map_or("1970-01-01T00:00:00Z", |news| &news.updated);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
        <title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<author><name>loadgen</name></author>\n\
        <link href=\"{}\"/>\n<link rel=\"self\" href=\"{}\"/>\n",
        escaped(&settings.title),
        escaped(&id(settings, "")),
        escaped(updated),
        escaped(&format!("{base}index.html")),
        escaped(&format!("{base}feed.xml")),
    );
    for news in news {
        text += &format!(
            "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<link href=\"{}\"/>\n</entry>\n",
            escaped(&news.title),
            escaped(&id(settings, &news.id)),
            escaped(&news.updated),
            escaped(&format!("{base}{}", news.path)),
        );
    }
    text + "</feed>\n"
}

fn result(history: &History<'_>, entry: &Entry) -> News {
    let first = words::first(history);
    let figure = |target: &MeasuredTarget| match &target.left_out {
        Some(why) => Some(format!("{}: {why}", target.name)),
        None => Some(format!("{} {}", target.name, figure(target.figures.get(&first?)?))),
    };
    let unit = first.map(|of| format!(" ({})", metric(of))).unwrap_or_default();
    let said = match (&entry.left_out, entry.kind) {
        (Some(why), _) => why.clone(),
        (None, Kind::Experiment) => claims(entry),
        (None, _) => entry.targets.iter().filter_map(figure).collect::<Vec<_>>().join(", ") + &unit,
    };
    News {
        id: format!("{}:{}:{}", entry.started, entry.seed, entry.name),
        updated: entry.started.clone(),
        title: format!("{}: {said}", history.title),
        path: report_path(&entry.name),
    }
}

/// Returns an identifier that stays the same: below the address of the site or, without one, a tag URI (RFC 4151).
fn id(settings: &SiteSettings, of: &str) -> String {
    let of: String = of
        .bytes()
        .map(|byte| match byte {
            b if b.is_ascii_alphanumeric() || b"-._:".contains(&b) => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    match &settings.url {
        Some(url) => format!("{url}feed.xml#{of}"),
        None => format!("tag:loadgen.invalid,2026:{of}"),
    }
}

/// Returns a text as content or as an attribute of XML, which has no control characters.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
