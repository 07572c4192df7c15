//! Tests the screen as people see it.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::draw::draw;
use super::look::Look;
use crate::measure::{Counts, ErrorKind, Interval, Phase, PresentUsage, Snapshot, Timeline};
use crate::report::view::{Forecast, PlannedLoad, Second, View};
use crate::text::is_obeyed;

const COLOURS: Look = Look { colour: true, unicode: true };

/// Draws the view on a screen of this size.
fn screen(
    view: &View,
    now: Instant,
    look: Look,
    (width, height): (u16, u16),
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(view, now, look, frame.buffer_mut())).unwrap();
    terminal
}

/// Returns the live view in the second of five rounds, 36 s after the end of the warm-up, with
/// errors after second 20, and with this number of workers.
fn busy(workers: u32) -> (View, Instant) {
    let start = Instant::now();
    let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
    let forecast = Forecast::new(5, Some(Duration::from_secs(60)));
    let mut view = View { scenario: "redis3".to_owned(), forecast, ..View::default() };
    view.can_change = true;
    let host = |number| (number % 2 == 1).then(|| format!("load-{number}.example.net"));
    view.workers.joined((0..workers).map(|number| (number, host(number))).collect());
    view.begin("sanic", &[], start - Duration::from_secs(62));
    let told = view.finish(12_345.6, start - Duration::from_secs(2));
    view.note(&told);
    view.begin("fastapi", &[], start);
    view.usage = [("target", 99.6), ("redis", 41.2), ("generator", 63.0)]
        .map(|(name, cpu_percent)| (name.to_owned(), PresentUsage { cpu_percent, memory_bytes: 0 }))
        .into();
    let round = view.round.as_mut().unwrap();
    round.timeline = Some(Timeline { measured: at(1.0), full: at(3.0), end: Some(at(53.0)) });
    round.load = Some(PlannedLoad::Users(100));
    round.add((0..36).map(second).collect());
    round.errors = [(ErrorKind::Timeout, 1_010), (ErrorKind::Status, 2)].into();
    (0..workers).for_each(|worker| report(&mut view, worker, at(36.5)));
    (view, at(37.0))
}

fn second(number: u64) -> Second {
    let answered = 9_000 + number * number % 97 * 40;
    let p50_us = Some(1_200 + number * 7 % 13 * 90);
    let p99_us = Some(4_000 + number * 31 % 29 * 300);
    Second { answered, failed: number.saturating_sub(20) * 60, p50_us, p95_us: None, p99_us }
}

/// Reports to the view that a worker had some requests in each of two seconds.
fn report(view: &mut View, worker: u32, now: Instant) {
    for second in [34, 35] {
        let mut counts = Counts::default();
        let answers = 100 + u64::from(worker) * 17;
        (0..answers).for_each(|_| counts.answered.record(Duration::from_millis(1)));
        let steps = vec![counts];
        let intervals = vec![Interval { phase: Phase::Hold, second, steps, ..Interval::default() }];
        view.workers.reported(worker, &Snapshot::new(second, intervals), now);
    }
}

/// Returns the [`busy`] view with one worker lost and one silent.
fn in_trouble(workers: u32) -> (View, Instant) {
    let (mut view, now) = busy(workers);
    view.workers.lost(2);
    view.note("  worker 2 was lost in second 30: it said nothing for 3s; the others go on");
    view.note("  110 users from second 31 of the round over fastapi");
    let later = now + Duration::from_secs(3);
    (0..workers).filter(|worker| *worker != 1).for_each(|worker| report(&mut view, worker, later));
    (view, later)
}

/// Returns a view of the third round, of a scenario with this many steps, after a round of 9 s and one
/// of 12 s.
fn in_the_third_round(steps: usize) -> (View, Instant) {
    let (mut view, now) = busy(0);
    view.round = None;
    let all = ["log in", "search", "buy", "pay", "log out", "help", "about", "terms"];
    let names: Vec<String> = all.iter().take(steps).map(|&name| name.to_owned()).collect();
    for (target, seconds) in [("sanic", 9), ("fastapi", 12), ("aiohttp.web", 7)] {
        view.begin(target, &names, now);
        view.round.as_mut().unwrap().add((0..seconds).map(second).collect());
    }
    let round = view.round.as_mut().unwrap();
    round.load = Some(PlannedLoad::Users(100));
    let start = now - Duration::from_secs(8);
    let end = Some(start + Duration::from_secs(13));
    round.timeline = Some(Timeline { measured: start, full: start, end });
    round.set_steps(&(3..).map(second).take(steps).collect::<Vec<_>>());
    round.steps.iter_mut().skip(1).take(1).for_each(|step| step.failed = 1_234);
    round.errors = [(ErrorKind::Timeout, 1_234)].into();
    (view, now)
}

#[test]
fn earlier_rounds_stay_in_the_charts() {
    let (view, now) = in_the_third_round(1);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (80, 24)).backend());
}

#[test]
fn pinned_lines_stay_above_the_latest_of_the_log() {
    let (mut view, now) = busy(0);
    view.pinned.push("live page: http://127.0.0.1:8089/".to_owned());
    (0..99).for_each(|number| view.note(&format!("note {number}")));
    let shown = screen(&view, now, COLOURS, (80, 24)).backend().to_string();
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    assert!(at("live page: http://127.0.0.1:8089/") < at("note 98"), "{shown}");
}

#[test]
fn each_of_several_steps_has_a_row() {
    let (view, now) = in_the_third_round(3);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (80, 24)).backend());
}

#[test]
fn steps_without_room_are_counted() {
    let (view, now) = in_the_third_round(8);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (80, 24)).backend());
}

#[test]
fn a_low_screen_has_no_table_of_steps() {
    let (view, now) = in_the_third_round(3);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (60, 12)).backend());
}

#[test]
fn a_small_screen_shows_all_parts() {
    let (view, now) = busy(0);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (80, 24)).backend());
}

#[test]
fn troubled_workers_come_first_and_hidden_workers_are_counted() {
    let (view, now) = in_trouble(17);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (80, 24)).backend());
}

#[test]
fn a_large_screen_shows_more() {
    let (view, now) = in_trouble(17);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (200, 50)).backend());
}

#[test]
fn a_narrow_screen_shows_what_fits() {
    let (view, now) = in_trouble(4);
    insta::assert_snapshot!(screen(&view, now, COLOURS, (40, 10)).backend());
}

#[test]
fn the_preparation_is_shown_before_the_first_round() {
    let forecast = Forecast::new(20, Some(Duration::from_secs(6)));
    let mut view = View { scenario: "redis3".to_owned(), forecast, ..View::default() };
    view.doing = "installing the targets' packages".to_owned();
    view.note("proofs are left out: loadgen runs no backends beside the server at --url");
    insta::assert_snapshot!(screen(&view, Instant::now(), COLOURS, (80, 24)).backend());
}

#[test]
fn the_screen_is_drawn_in_ascii_without_unicode() {
    let (mut view, now) = busy(3);
    view.scenario = "größe".to_owned();
    let look = Look { colour: true, unicode: false };
    let terminal = screen(&view, now, look, (80, 24));
    assert!(terminal.backend().buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
    insta::assert_snapshot!(terminal.backend());
}

#[test]
fn the_text_is_the_same_without_colours() {
    let (view, now) = in_trouble(4);
    let coloured = screen(&view, now, COLOURS, (80, 24));
    let plain = screen(&view, now, Look { colour: false, unicode: true }, (80, 24));
    let (coloured, plain) =
        (&coloured.backend().buffer().content, &plain.backend().buffer().content);
    let colours = |cell: &ratatui::buffer::Cell| [cell.fg, cell.bg];
    assert!(coloured.iter().any(|cell| colours(cell) != [Color::Reset; 2]));
    assert!(plain.iter().all(|cell| colours(cell) == [Color::Reset; 2]));
    assert!(coloured.iter().zip(plain).all(|(a, b)| a.symbol() == b.symbol()));
    let modifiers = |cells: &[ratatui::buffer::Cell]| -> Vec<_> {
        cells.iter().map(|cell| cell.modifier).collect()
    };
    assert_eq!(modifiers(coloured), modifiers(plain));
}

#[test]
fn notes_and_targets_cannot_control_the_terminal() {
    let (mut view, now) = busy(0);
    view.note("\x1b[2Jworker \u{9b}31m 世界 was refused\u{202e}");
    view.round.as_mut().unwrap().target = "\x07http://\x1b]0;title\x07".to_owned();
    let terminal = screen(&view, now, COLOURS, (80, 24));
    let letters = terminal.backend().buffer().content.iter().map(|cell| cell.symbol());
    assert!(letters.flat_map(str::chars).all(|letter| !letter.is_control()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn every_screen_size_is_drawn(
        width in 0u16..=250,
        height in 0u16..=80,
        workers in 0u32..200,
        (stage, later) in (0u8..3, 0u64..100),
        unicode in any::<bool>(),
    ) {
        let (mut view, now) = match workers {
            0 => in_the_third_round(usize::from(width % 9)),
            1 | 2 => busy(workers),
            _ => in_trouble(workers),
        };
        match stage {
            0 => view.round = None,
            1 => drop(view.finish(1.0, now)),
            _ => {}
        }
        let look = Look { colour: unicode, unicode };
        let terminal = screen(&view, now + Duration::from_secs(later), look, (width, height));
        prop_assert_eq!(terminal.backend().buffer().content.len(), usize::from(width) * usize::from(height));
    }
}

#[test]
fn no_shown_text_controls_the_terminal() {
    let bad = "a\x1b[2J\u{9b}31m\x7f\u{202e}\rz";
    let (mut view, now) = busy(2);
    view.scenario = bad.to_owned();
    view.note(bad);
    view.usage.insert(bad.to_owned(), PresentUsage::default());
    view.workers.joined(vec![(0, Some(bad.to_owned()))]);
    let round = view.round.as_mut().unwrap();
    round.target = bad.to_owned();
    for (round, size) in [(true, (200, 50)), (false, (80, 24))] {
        if !round {
            (view.round, view.doing) = (None, bad.to_owned());
        }
        let terminal = screen(&view, now, COLOURS, size);
        let cells = &terminal.backend().buffer().content;
        let obeyed = cells.iter().filter(|cell| cell.symbol().contains(is_obeyed));
        assert_eq!(obeyed.count(), 0);
    }
}
