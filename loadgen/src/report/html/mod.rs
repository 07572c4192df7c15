//! Builds `report.html`: a run, a search for capacities, or an experiment, as a self-contained page. The page
//! loads nothing: it contains the charts' data as JSON, and its style and script are the files in
//! `assets/`.
//!
//! Tables and sentences are plain HTML, so that they are available without JavaScript, in print,
//! and to screen readers. maud escapes all foreign text: names, URLs, sentences about errors.

mod about;
mod capacity;
mod chart;
mod claims;
mod data;
mod experiment;
mod latencies;
mod matrix;
mod profile;
mod ranking;
mod run;
pub(super) mod table;
mod time;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use self::capacity::capacity;
use self::chart::{Chart, Charts};
pub use self::experiment::experiment;
pub use self::run::run;
use super::svg;

pub(super) const STYLE: &str = include_str!("../assets/report.css");
pub(super) const LOOK: &str = include_str!("../assets/look.js");
const SCRIPT: &str = include_str!("../assets/report.js");
pub(super) const UPLOT_STYLE: &str = include_str!("../assets/uplot/uPlot.min.css");
pub(super) const UPLOT: &str = include_str!("../assets/uplot/uPlot.iife.min.js");

/// Content security policy: the page may load nothing, and use only inline styles and scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Returns a complete HTML page with this title and content, and the data of the charts in the
/// content.
fn page(title: &str, content: &Markup, charts: &Charts) -> String {
    let body = html! {
        (content)
        script type="application/json" id="charts" { (PreEscaped(data(charts))) }
    };
    let styles = [UPLOT_STYLE, STYLE, svg::STYLE];
    document(title, &html! {}, &styles, &body, &[UPLOT, LOOK, SCRIPT])
}

/// Returns a complete HTML page, which contains its styles and its scripts. `links` are further elements of its head.
pub(super) fn document(
    title: &str,
    links: &Markup,
    styles: &[&str],
    body: &Markup,
    scripts: &[&str],
) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "loadgen " (env!("CARGO_PKG_VERSION")) };
                (links)
                title { (title) " – loadgen" }
                style { @for style in styles { (PreEscaped(style)) } }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                (body)
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string()
}

/// Returns the charts as JSON in which no text can end the HTML element around the JSON.
fn data(charts: &Charts) -> String {
    // Serialization cannot fail: charts have no maps with keys other than strings, and no numbers
    // that JSON lacks.
    serde_json::to_string(charts).unwrap_or_default().replace('<', "\\u003c")
}

/// Texts of the top of a page.
struct Top<'a> {
    kind: &'a str,
    /// Name with which the headline begins, and which the title replaces.
    name: &'a str,
    title: &'a str,
    headline: &'a str,
    /// Start of the measurement.
    started: &'a str,
}

/// Returns the top of a page, with the button that switches the theme.
fn header(Top { kind, name, title, headline, started }: Top<'_>) -> Markup {
    let told = headline.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    let headline = told.unwrap_or(headline);
    html! {
        header {
            div.title {
                p.kind { (kind) }
                button type="button" id="theme" aria-pressed="false" { "Dark" }
            }
            h1 { (title) }
            p.headline { (headline) }
            p.started { "Started " time datetime=(started) { (started) } }
        }
    }
}

/// Returns the form that chooses the targets whose lines are drawn, if there are several, and how to
/// read values.
fn chooser(charts: &Charts) -> Markup {
    html! {
        @if !charts.charts.is_empty() {
            @if charts.targets.len() > 1 {
                form.chooser {
                    fieldset {
                        legend { "Targets in the charts" }
                        div.targets {
                            @for (i, target) in charts.targets.iter().enumerate() {
                                label { input type="checkbox" name="target" value=(i) checked; span.swatch {} (target) }
                            }
                        }
                    }
                }
            }
            p.hint {
                "To read values, point at a chart, or focus a chart and press ← and →. Drag to zoom in, "
                "double-click to zoom out."
            }
            noscript { p { "The charts need JavaScript; the tables do not." } }
        }
    }
}

/// Returns placeholders for the charts with these numbers, side by side where the page is wide
/// enough.
fn figures(charts: &Charts, numbers: &[usize]) -> Markup {
    html! {
        @if !numbers.is_empty() {
            div.charts {
                @for (number, chart) in numbers.iter().filter_map(|n| Some((n, charts.charts.get(*n)?))) {
                    (figure(*number, chart))
                }
            }
        }
    }
}

fn figure(number: usize, chart: &Chart) -> Markup {
    let (caption, readout) = (format!("caption-{number}"), format!("readout-{number}"));
    html! {
        figure data-chart=(number) {
            figcaption id=(caption) {
                (chart.title) " " span.unit { "in " (chart.unit) }
                @if !chart.note.is_empty() { span.note { " (" (chart.note) ")" } }
            }
            div.plot role="group" tabindex="0" aria-labelledby=(caption) aria-describedby=(readout) {}
            p.readout id=(readout) aria-live="polite" {}
            details { summary { "As a table" } div.scroll tabindex="0" {} }
        }
    }
}

/// Returns a list with an item for each sentence.
fn sentences(all: &[String]) -> Markup {
    html! { @if !all.is_empty() { ul { @for sentence in all { li { (sentence) } } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_scripts_and_styles_cannot_end_their_element() {
        let charts = Charts { targets: vec!["</script><b>".to_owned()], charts: Vec::new() };
        assert!(!data(&charts).contains('<'), "{}", data(&charts));
        for script in [UPLOT, LOOK, SCRIPT] {
            assert!(!script.to_lowercase().contains("</script") && !script.contains("<!--"));
        }
        for style in [STYLE, UPLOT_STYLE, svg::STYLE] {
            assert!(!style.to_lowercase().contains("</style"));
        }
    }
}
