//! Draws the parts of the screen.

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

use super::bars::{self, Bar};
use crate::measure::Phase;
use crate::report::view::{Round, Row, Second, State, StepOfRound, View, activity, fitting};
use crate::text::{count, counted, duration, milliseconds};

/// Width of each figure in the table of steps, in columns of the terminal.
const CELL: u16 = 13;
/// Least width in which a target is named below a chart, in columns of the terminal.
const LEAST_NAME: u16 = 4;
/// Width that a worker needs in the table of workers, in columns of the terminal.
const WORKER: u16 = 38;

/// Draws the scenario, the target and the progress of the rounds, and below them the current
/// activity and load.
pub(super) fn header(view: &View, now: Instant, area: Rect, buffer: &mut Buffer) {
    let [title, state] = stack(area, [1, 1]);
    let target = view.round.as_ref().map_or("", |round| &round.target);
    let left = format!(" {}  {target}", view.scenario);
    both(&left, &place(view, now), title, buffer);
    buffer.set_style(title, Style::new().reversed());
    let load = view.round.as_ref().filter(|round| round.timeline.is_some());
    let load = load.and_then(|round| round.load).map(|load| load.to_string());
    both(&format!(" {}", doing(view, now)), load.as_deref().unwrap_or_default(), state, buffer);
}

/// Returns the progress of the rounds, such as `round 2 of 5, about 1m left`.
fn place(view: &View, now: Instant) -> String {
    match view.forecast.place() {
        (_, 0) => String::new(),
        (number, of) => {
            let left = view.left(now).filter(|_| of > 1);
            let left = left.map(|left| format!(", about {} left", duration(left)));
            format!("round {number} of {of}{}", left.unwrap_or_default())
        }
    }
}

/// Returns the current activity, such as `holding the load, 25s left`.
fn doing(view: &View, now: Instant) -> String {
    let left = view.round.as_ref().and_then(|round| round.left(now));
    let left = left.map(|left| format!(", {} left", duration(left))).unwrap_or_default();
    match view.phase(now) {
        None => view.doing.clone(),
        Some(phase @ (Phase::Tail | Phase::Stop)) => activity(phase).to_owned(),
        Some(phase) => format!("{}{left}", activity(phase)),
    }
}

/// Draws the rate and the latency of the newest second, and all errors of the round.
pub(super) fn figures(round: Option<&Round>, area: Rect, buffer: &mut Buffer) {
    let Some(round) = round else { return };
    let [figures, errors] = stack(area, [1, 1]);
    Line::from(format!(" {}", round.figures().join("   "))).bold().render(figures, buffer);
    let style = if round.failed() > 0 { Style::new().red().bold() } else { Style::new() };
    Line::styled(format!(" {}", round.errors()), style).render(errors, buffer);
}

/// Draws a chart of the answered and the failed requests in each second.
pub(super) fn requests(view: &View, area: Rect, buffer: &mut Buffer) {
    let is_failed = |(_, seconds): &(&str, Vec<Second>)| seconds.iter().any(|it| it.failed > 0);
    let shown = view.history(inside(area));
    let failed = view.round.as_ref().is_some_and(|round| round.failed() > 0);
    let legend = if failed || shown.iter().any(is_failed) {
        "requests/s: █ answered ░ failed"
    } else {
        "requests/s"
    };
    let chart = Chart {
        legend,
        bar: |second| (second.answered, second.answered.saturating_add(second.failed)),
        scale: count,
        styles: (Style::new().cyan(), Style::new().red()),
    };
    chart.draw(&shown, area, buffer);
}

/// Draws a chart of the median and the 99th percentile of latency in each second.
pub(super) fn latency(view: &View, area: Rect, buffer: &mut Buffer) {
    let chart = Chart {
        legend: "latency: █ p50 ░ p99",
        bar: |second| {
            let p50 = second.p50_us.unwrap_or(0);
            (p50, second.p99_us.unwrap_or(p50))
        },
        scale: |us| format!("{} ms", milliseconds(Some(us))),
        styles: (Style::new().green(), Style::new().yellow()),
    };
    chart.draw(&view.history(inside(area)), area, buffer);
}

/// Returns the number of columns inside the frame of a chart.
fn inside(area: Rect) -> usize {
    area.width.saturating_sub(2).into()
}

/// A chart of seconds. Each bar has two parts.
struct Chart<'a> {
    legend: &'a str,
    /// Returns the heights of a second's bar: of its lower part, and of the whole bar.
    bar: fn(&Second) -> (u64, u64),
    /// Formats a height.
    scale: fn(u64) -> String,
    /// Styles of the lower and of the upper part of a bar.
    styles: (Style, Style),
}

impl Chart<'_> {
    /// Draws the latest rounds. If there are several, the lower edge names their targets.
    fn draw(&self, rounds: &[(&str, Vec<Second>)], area: Rect, buffer: &mut Buffer) {
        let mut shown: Vec<Bar> = Vec::new();
        for (index, (_, seconds)) in rounds.iter().enumerate() {
            shown.extend((index > 0).then_some(None));
            shown.extend(seconds.iter().map(|second| Some((self.bar)(second))));
        }
        let mut block = Block::bordered().title(format!(" {} ", self.legend));
        let most = format!(" up to {} ", (self.scale)(bars::highest(&shown)));
        if !shown.is_empty() {
            block = block.title_bottom(Line::from(most.as_str()).right_aligned());
        }
        if let [(_, seconds)] = rounds {
            block = block.title_bottom(format!(" last {} s ", seconds.len()));
        }
        let inside = block.inner(area);
        block.render(area, buffer);
        bars::draw(&shown, self.styles, inside, buffer);
        if rounds.len() > 1 && area.height > 1 {
            let most = u16::try_from(Line::from(most).width()).unwrap_or(u16::MAX);
            let end = inside.right().saturating_sub(most);
            names(rounds, Rect { y: area.bottom() - 1, height: 1, ..inside }, end, buffer);
        }
    }
}

/// Writes the target of each round below the round's bars, which end at the right end of `area`.
/// Text ends before the column `end`. A name without room is left out.
fn names(rounds: &[(&str, Vec<Second>)], area: Rect, end: u16, buffer: &mut Buffer) {
    let mut right = area.right();
    for (target, seconds) in rounds.iter().rev() {
        // The rounds fit into the columns of a screen.
        let x = right.saturating_sub(seconds.len() as u16).max(area.x);
        let room = right.min(end).saturating_sub(x);
        if room >= LEAST_NAME {
            name(target, Rect { x, width: room, ..area }, buffer);
        }
        // The mark between two rounds takes one column.
        right = x.saturating_sub(1);
    }
}

/// Writes a name, with spaces around it where there is room. Of a name that does not fit, writes the
/// beginning and an ellipsis.
fn name(name: &str, area: Rect, buffer: &mut Buffer) {
    let room = usize::from(area.width);
    let fitting = [format!(" {name} "), name.to_owned()].map(Line::from);
    if let Some(line) = fitting.into_iter().find(|line| line.width() <= room) {
        return line.render(area, buffer);
    }
    let width = area.width.saturating_sub(1);
    Line::from(name).render(Rect { width, ..area }, buffer);
    Line::from("…").render(Rect { x: area.x + width, width: area.width - width, ..area }, buffer);
}

/// Draws a row for each step that fits: results of the newest second, and the errors of the round.
/// If not all steps fit, the last row shows the number of hidden steps.
pub(super) fn steps(all: &[StepOfRound], area: Rect, buffer: &mut Buffer) {
    let block = Block::bordered().title(" step ");
    let inside = block.inner(area);
    block.render(area, buffer);
    let edge = Rect { y: area.y, height: area.height.min(1), ..inside };
    cells(["requests/s", "errors", "p50, ms", "p99, ms"].map(str::to_owned), edge, buffer);
    let room = usize::from(inside.height);
    let shown = if all.len() > room { room.saturating_sub(1) } else { all.len() };
    for (step, row) in all.iter().take(shown).zip(inside.rows()) {
        Line::from(format!(" {} ", step.name)).render(names_of(row), buffer);
        let StepOfRound { newest, failed, .. } = step;
        let [p50, p99] = [newest.p50_us, newest.p99_us].map(milliseconds);
        cells([count(newest.answered), count(*failed), p50, p99], row, buffer);
        if *failed > 0 {
            buffer.set_style(row, Style::new().red());
        }
    }
    if let Some(row) = inside.rows().nth(shown).filter(|_| shown < all.len()) {
        Line::from(format!(" and {} more", all.len() - shown)).render(row, buffer);
    }
}

/// Returns the part of a row of the table of steps that is left for the name of the step.
fn names_of(row: Rect) -> Rect {
    Rect { width: row.width.saturating_sub(4 * CELL), ..row }
}

/// Draws the figures of a step at the right end of a row.
fn cells(figures: [String; 4], row: Rect, buffer: &mut Buffer) {
    let mut right = row.right().saturating_sub(1);
    for figure in figures.iter().rev() {
        let text = Line::from(format!(" {figure} "));
        let width = u16::try_from(text.width()).unwrap_or(u16::MAX).min(CELL);
        let x = right.saturating_sub(width).max(row.x);
        text.render(Rect { x, width: width.min(row.right() - x), ..row }, buffer);
        right = right.saturating_sub(CELL);
    }
}

/// Draws the CPU time that the services and the generator use. A bar of full width is one core, or
/// the highest usage if that exceeds one core.
pub(super) fn cpu(view: &View, area: Rect, buffer: &mut Buffer) {
    let block = Block::bordered().title(" CPU, % of a core ");
    let inside = block.inner(area);
    block.render(area, buffer);
    let names = view.usage.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    let most = view.usage.values().map(|now| now.cpu_percent).fold(100.0, f64::max);
    for ((name, now), row) in view.usage.iter().zip(inside.rows()) {
        let percent = now.cpu_percent;
        let text = format!(" {name:<names$} {percent:>5.0} ");
        let room = usize::from(row.width).saturating_sub(text.chars().count() + 1);
        let bar = "█".repeat((room as f64 * percent / most).round() as usize);
        Line::from(vec![text.into(), bar.magenta()]).render(row, buffer);
    }
}

/// Draws the workers that fit, in columns. If not all workers fit, late and lost workers come
/// first, and the last cell shows the number of hidden workers.
pub(super) fn workers(all: Vec<Row>, area: Rect, buffer: &mut Buffer) {
    let lost = all.iter().filter(|row| row.state == State::Lost).count();
    let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
    let title = counted(all.len() as u64, "worker");
    let block = Block::bordered().title(format!(" {title}{lost} "));
    let inside = block.inner(area);
    block.render(area, buffer);
    let columns = columns(area.width);
    let width = inside.width / columns as u16;
    let room = columns * usize::from(inside.height);
    // The last cell is for the number of hidden workers.
    let room_of_rows = if all.len() > room { room.saturating_sub(1) } else { room };
    let (all, more) = fitting(all, room_of_rows);
    let cell = |place: usize| {
        let (column, row) =
            (place / usize::from(inside.height), place % usize::from(inside.height));
        Rect { x: inside.x + column as u16 * width, y: inside.y + row as u16, width, height: 1 }
    };
    for (place, row) in all.iter().enumerate() {
        worker(row, cell(place), buffer);
    }
    if more > 0 && room > 0 {
        Line::from(format!(" and {more} more")).render(cell(room - 1), buffer);
    }
}

/// Returns the number of workers that fit side by side in a frame of this width.
pub(super) fn columns(width: u16) -> usize {
    (width.saturating_sub(2) / WORKER).max(1).into()
}

fn worker(row: &Row, area: Rect, buffer: &mut Buffer) {
    let host = row.host.as_deref().map(|host| format!(" {host}")).unwrap_or_default();
    let (state, style) = match row.state {
        State::Quiet => ("–".to_owned(), Style::new()),
        State::Working(requests) => (format!("{} requests/s", count(requests)), Style::new()),
        State::Late(silent) => {
            (format!("late: silent for {}s", silent.as_secs()), Style::new().yellow())
        }
        State::Lost => ("lost".to_owned(), Style::new().red()),
    };
    both(&format!(" worker {}{host}", row.number), &state, area, buffer);
    buffer.set_style(area, style);
}

/// Draws the latest lines of the log that fit, the newest at the bottom.
pub(super) fn log(view: &View, area: Rect, buffer: &mut Buffer) {
    let room = usize::from(area.height);
    let pinned = view.pinned.len().min(room);
    let latest = view.log.iter().skip(view.log.len().saturating_sub(room - pinned));
    for (line, row) in view.pinned.iter().chain(latest).zip(area.rows()) {
        Line::from(format!(" {}", line.trim_start())).render(row, buffer);
    }
}

/// Draws a line that lists the keys and the effect of each key.
pub(super) fn footer(view: &View, area: Rect, buffer: &mut Buffer) {
    let key = |key: &'static str| Span::from(format!(" {key} ")).reversed();
    let mut line = vec![Span::from(" "), key("q"), Span::from(" stop")];
    if view.can_change {
        let keys = [Span::from("   "), key("+"), Span::from(" "), key("-")];
        line.extend(keys);
        line.push(Span::from(" 10 % more or less load"));
    }
    Line::from(line).render(area, buffer);
}

/// Draws `left` at the left end of a row and `right` at the right end. Cuts `left` if the row is
/// too short for the two texts.
fn both(left: &str, right: &str, area: Rect, buffer: &mut Buffer) {
    let end = Line::from(format!("{right} "));
    let room = area.width.saturating_sub(u16::try_from(end.width() + 1).unwrap_or(u16::MAX));
    Line::from(left).render(Rect { width: room, ..area }, buffer);
    end.right_aligned().render(area, buffer);
}

/// Splits `area` into rows of these heights, from top to bottom. Rows that do not fit are cut.
pub(super) fn stack<const N: usize>(area: Rect, heights: [u16; N]) -> [Rect; N] {
    let mut y = area.y;
    heights.map(|height| {
        let row = Rect { y, height: height.min(area.bottom() - y), ..area };
        y = row.bottom();
        row
    })
}
