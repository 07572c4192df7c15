//! Builds the live page: its frame, which the script fills with what the command tells.

use maud::{DOCTYPE, Markup, html};

use crate::report::html::{LOOK, STYLE, UPLOT, UPLOT_STYLE};

const LIVE_STYLE: &str = include_str!("../assets/live.css");
const LIVE_SCRIPT: &str = include_str!("../assets/live.js");

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Files of the page: the path, the type and the text of each.
pub(super) const FILES: [(&str, &str, &str); 6] = [
    ("/uplot.css", CSS, UPLOT_STYLE),
    ("/report.css", CSS, STYLE),
    ("/live.css", CSS, LIVE_STYLE),
    ("/uplot.js", JAVASCRIPT, UPLOT),
    ("/look.js", JAVASCRIPT, LOOK),
    ("/live.js", JAVASCRIPT, LIVE_SCRIPT),
];

/// Returns the page of what is measured, with this title. `can_change` tells whether those with the token may change
/// the load, or only end the command; `None` if nobody may.
pub(super) fn page(kind: &str, title: &str, can_change: Option<bool>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "loadgen " (env!("CARGO_PKG_VERSION")) };
                title { (title) " – loadgen" }
                @for (path, kind, _) in FILES {
                    @if kind == CSS { link rel="stylesheet" href=(path); }
                }
            }
            body {
                a.skip href="#main" { "Skip to the figures" }
                header {
                    div.title {
                        p.kind { (kind) ", live" }
                        button type="button" id="theme" aria-pressed="false" { "Dark" }
                    }
                    h1 { (title) }
                    p.headline id="doing" role="status" { "Waiting for loadgen …" }
                    progress id="progress" max="1" value="0" aria-label="Rounds" hidden {}
                    p.lost id="lost" role="alert" hidden {}
                }
                main id="main" { (figures()) (tables()) @if let Some(can_change) = can_change { (controls(can_change)) } }
                noscript { p { "The live page needs JavaScript." } }
                @for (path, kind, _) in FILES {
                    @if kind == JAVASCRIPT { script src=(path) {} }
                }
            }
        }
    };
    page.into_string()
}

fn figures() -> Markup {
    html! {
        dl.now aria-label="Newest second" {
            @for (id, name) in [
                ("rate", "requests/s"), ("p50", "p50, ms"), ("p95", "p95, ms"), ("p99", "p99, ms"),
                ("failed", "errors of this round"),
            ] {
                div { dt { (name) } dd id=(id) { "–" } }
            }
            div { dt id="planned" { "planned load" } dd id="load" { "–" } }
        }
        div.charts {
            @for (id, title, unit) in [
                ("rates", "Answers and errors", "per s"),
                ("latencies", "Latency", "ms"),
                ("loads", "Planned load", ""),
            ] {
                figure id=(id) {
                    figcaption id={ (id) "-caption" } { (title) " " span.unit { (unit) } }
                    div.plot role="img" aria-labelledby={ (id) "-caption" } {}
                    p.readout {}
                }
            }
        }
    }
}

/// Returns the tables, which are hidden while they have no row.
fn tables() -> Markup {
    let table = |id: &str, title: &str, columns: &[&str]| {
        html! {
            section id=(id) hidden {
                h2 { (title) }
                div.scroll tabindex="0" role="region" aria-label=(title) {
                    table {
                        thead { tr { @for column in columns { th scope="col" { (column) } } } }
                        tbody {}
                    }
                }
            }
        }
    };
    html! {
        div.tables {
        (table("steps", "Steps", &["step", "answers/s", "p50, ms", "p95, ms", "p99, ms", "errors"]))
        (table("errors", "Errors of this round", &["kind", "requests", "example"]))
        (table("rounds", "Rounds so far", &["round", "target", "requests/s", "errors"]))
        (table("usage", "CPU and memory", &["program", "CPU, % of a core", "memory, MiB"]))
        (table("workers", "Workers", &["worker", "host", "state"]))
        }
        section id="notes" hidden { h2 { "Notes" } pre {} }
    }
}

fn controls(can_change: bool) -> Markup {
    html! {
        section id="controls" hidden {
            h2 { "Controls" }
            @if can_change {
                form id="change" {
                    label { "Load " input id="level" type="number" min="0" required autocomplete="off" disabled; }
                    " " span id="unit" { "users" } " "
                    button type="submit" { "Change" }
                }
            }
            button type="button" id="stop" { "End, and report" }
            p id="answer" role="status" {}
        }
    }
}
