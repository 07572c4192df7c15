//! Lays out the whole screen: which parts are on it, and where.

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::look::Look;
use super::panels::{self, stack};
use crate::report::view::{Round, View};

/// Least width, in columns, and height, in lines, of a screen that shows charts and tables. Smaller
/// screens show the log instead.
const LEAST: (u16, u16) = (60, 12);

/// Height of the header, in lines.
const HEADER: u16 = 2;
/// Height of the figures below the header, in lines.
const FIGURES: u16 = 2;

/// Least height of a chart with its frame, in lines.
const CHART: u16 = 5;

/// Least height of the table of steps with its frame, in lines: two rows.
const LEAST_STEPS: u16 = 4;

/// Draws the live view on `screen`, as the view is at `now`.
pub(super) fn draw(view: &View, now: Instant, look: Look, screen: &mut Buffer) {
    let area = screen.area;
    let figures = if view.round.is_some() { FIGURES } else { 0 };
    let footer = u16::from(area.height > HEADER + figures);
    let middle = area.height.saturating_sub(HEADER + figures + footer);
    let [top, now_in_figures, middle, bottom] = stack(area, [HEADER, figures, middle, footer]);
    panels::header(view, now, top, screen);
    panels::figures(view.round.as_ref(), now_in_figures, screen);
    match &view.round {
        Some(round) if area.width >= LEAST.0 && area.height >= LEAST.1 => {
            pictures(view, round, now, middle, screen);
        }
        _ => panels::log(view, middle, screen),
    }
    panels::footer(view, bottom, screen);
    look.apply(screen);
}

/// Draws the charts, the tables, and the log.
fn pictures(view: &View, round: &Round, now: Instant, area: Rect, screen: &mut Buffer) {
    let log = (screen.area.height / 8).clamp(1, 8);
    let room = area.height - log;
    let workers = view.workers.rows(now, round.timeline.is_some());
    // Of workers elsewhere, this machine has no CPU time to show.
    let has_cpu = !view.usage.is_empty() || workers.iter().any(|row| row.host.is_none());
    let (left, right) = match has_cpu || view.workers.is_empty() {
        true => halves(area.width, view.workers.is_empty()),
        false => (0, area.width),
    };
    let rows = view.usage.len().max(workers.len().div_ceil(panels::columns(right)));
    let wanted = u16::try_from(rows + 2).unwrap_or(u16::MAX).max(3);
    let tables = wanted.min(room / 2).min(room.saturating_sub(CHART));
    let tables = if tables < 3 { 0 } else { tables };
    let steps = steps_height(round, room - tables);
    let [charts, steps, tables, log] = stack(area, [room - tables - steps, steps, tables, log]);
    let [requests, latency] = beside(charts, charts.width / 2);
    panels::requests(view, requests, screen);
    panels::latency(view, latency, screen);
    if steps.height > 0 {
        panels::steps(&round.steps, steps, screen);
    }
    let [cpu, by_worker] = beside(tables, left);
    if left > 0 {
        panels::cpu(view, cpu, screen);
    }
    if !workers.is_empty() {
        panels::workers(workers, by_worker, screen);
    }
    panels::log(view, log, screen);
}

/// Returns the height of the table of steps, where the charts and this table have `room` lines. 0
/// without several steps, and if the room is too small for a useful table.
fn steps_height(round: &Round, room: u16) -> u16 {
    let rows = u16::try_from(round.steps.len()).unwrap_or(u16::MAX);
    let height = rows.saturating_add(2).min(room.saturating_sub(CHART)).min(room / 2 + 1);
    if rows > 0 && height >= LEAST_STEPS { height } else { 0 }
}

/// Returns the width of the table of CPU usage, and the width of the table of workers to its right.
/// If the table of CPU usage is `alone`, the second width is 0.
fn halves(width: u16, alone: bool) -> (u16, u16) {
    let left = if alone { width } else { (width / 3).max(30) };
    (left, width - left)
}

/// Splits `area` into two areas side by side, the first of this width.
fn beside(area: Rect, width: u16) -> [Rect; 2] {
    let left = Rect { width, ..area };
    [left, Rect { x: left.right(), width: area.width - width, ..area }]
}
