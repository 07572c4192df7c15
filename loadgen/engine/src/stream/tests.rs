use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::fuzzing::{read_pieces, stream_foreign};
use super::*;
use crate::transport::Headers;
use loadgen_scenario::{self as scenario, ExpectedStream};

fn read(format: StreamFormat, body: &str) -> Vec<String> {
    let text = |data| String::from_utf8(data).unwrap();
    read_pieces(format, [body.as_bytes()]).into_iter().map(text).collect()
}

fn events(body: &str) -> Vec<String> {
    read(StreamFormat::Events, body)
}

#[test]
fn the_examples_of_the_standard_are_read_as_it_says() {
    // WHATWG HTML, section 9.2.6.
    assert_eq!(events("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
    let comments = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n\
                    data:  third event\n\n";
    assert_eq!(events(comments), ["first event", "second event", " third event"]);
    assert_eq!(events("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
    assert_eq!(events("data:test\n\ndata: test\n\n"), ["test", "test"]);
}

#[test]
fn lines_end_with_cr_lf_or_both() {
    for end in ["\n", "\r", "\r\n"] {
        let body = format!("data: a{end}data: b{end}{end}event: x{end}data: c{end}{end}");
        assert_eq!(events(&body), ["a\nb", "c"], "{end:?}");
    }
    assert_eq!(events("data: a\r\r\ndata: b\n\r"), ["a", "b"]);
}

#[test]
fn only_data_makes_an_event() {
    assert_eq!(events("event: ping\n\nid: 7\n\nretry: 100\n\n:\n\n\n\n"), [""; 0]);
    assert_eq!(events("datas: a\n\ndata : b\n\nDATA: c\n\n"), [""; 0]);
    assert_eq!(events("event: delta\nid: 7\ndata: a\nretry: 10\n\n"), ["a"]);
    assert_eq!(events("data: cut off"), [""; 0]);
    assert_eq!(events("data: cut off\n"), [""; 0]);
}

#[test]
fn one_byte_order_mark_may_precede_a_stream() {
    assert_eq!(events("\u{feff}data: a\n\ndata: b\n\n"), ["a", "b"]);
    assert_eq!(events("\u{feff}\u{feff}data: a\n\ndata: b\n\n"), ["b"]);
    assert_eq!(events("data: a\n\n\u{feff}data: b\n\n"), ["a"]);
}

#[test]
fn each_line_with_text_is_an_event() {
    let lines = |body| read(StreamFormat::Lines, body);
    assert_eq!(lines("{\"n\":1}\n{\"n\":2}\r\n\n\r\n {}\n"), ["{\"n\":1}", "{\"n\":2}", " {}"]);
    assert_eq!(lines("a\nb"), ["a", "b"], "the last line may lack its end");
    assert_eq!((lines(""), lines("\n")), (vec![], vec![]));
}

#[test]
fn each_message_after_its_prefix_is_an_event() {
    let messages = |pieces: &[&[u8]]| {
        let (mut parser, mut events) = (Parser::new(StreamFormat::Messages), 0);
        let read = pieces.iter().try_for_each(|piece| parser.push(piece, |_| events += 1));
        (events, read.and_then(|()| parser.end(|_| ())))
    };
    let two = b"\0\0\0\0\x02ab\0\0\0\0\0";
    assert_eq!(messages(&[two]), (2, Ok(())));
    let bytes: Vec<&[u8]> = two.chunks(1).collect();
    assert_eq!(messages(&bytes), (2, Ok(())));
    assert_eq!(messages(&[]), (0, Ok(())));
    assert_eq!(messages(&[&two[..6]]), (0, Err(Fault::CutOff)));
    assert_eq!(messages(&[&two[..9]]), (1, Err(Fault::CutOff)));
    assert_eq!(messages(&[b"\x01\0\0\0\0"]), (0, Err(Fault::CompressedMessage)));
    assert_eq!(messages(&[b"<html>"]), (0, Err(Fault::NoMessage)));
}

#[test]
fn an_endless_event_is_refused() {
    for format in [StreamFormat::Events, StreamFormat::Lines] {
        let (mut parser, piece) = (Parser::new(format), vec![b'x'; 1 << 20]);
        let pieces = (0..17).take_while(|_| parser.push(&piece, |_| ()).is_ok());
        assert_eq!(pieces.count(), 16);
    }
}

/// Measures a body whose pieces arrive at these times, in ms. Returns the outcome, the number of
/// events, the time of the first event in ms, and the gaps in µs, with those of events of one read last.
fn measured(
    expected: &str,
    head: &str,
    pieces: &[(u64, &str)],
) -> (Result<(), String>, u64, Option<u64>, Vec<u32>) {
    let text = format!("[[step]]\nget = \"/\"\nexpect.stream = {expected}\n");
    let mut scenario = scenario::parse("test", "test.toml", &text).unwrap();
    let stream: ExpectedStream = scenario.steps.remove(0).expect.stream.unwrap();
    let begun = Instant::now();
    let at = |ms| begun + Duration::from_millis(ms);
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n");
    let headers = Headers::Head(head.as_bytes());
    let mut meter = None;
    // A meter is used again, also after another stream that was cut off.
    for pieces in [&[(0, "data: a\n\ndata: b\r"), (1, "x")][..], pieces] {
        let meter = Meter::begin(&mut meter);
        for (ms, piece) in pieces {
            meter.read(&stream, |name| headers.first(name), at(*ms), piece.as_bytes());
        }
    }
    let mut meter = meter.unwrap();
    let came = meter.end(&stream).compare(&stream);
    let times = meter.times();
    let first = times.first.map(|first| (first - begun).as_millis() as u64);
    (came, times.events, first, [times.gaps_us, &vec![0; times.together as usize]].concat())
}

const SSE: &str = "content-type: Text/Event-Stream; charset=utf-8\r\n";

#[test]
fn events_have_the_times_at_which_their_last_bytes_were_read() {
    let pieces = [
        (5, ": hello\n\n"),
        (10, "data: a\n\nda"),
        (30, "ta: b\n\ndata: c\n\n"),
        (90, "data: d\n\n"),
    ];
    let (came, events, first, gaps) = measured("true", SSE, &pieces);
    assert_eq!((came, events, first), (Ok(()), 4, Some(10)));
    assert_eq!(gaps, [20_000, 60_000, 0], "events of one read have one time");
}

#[test]
fn the_format_follows_from_the_media_type_unless_it_is_given() {
    let body = [(1, "data: a\n\ndata: b\n\n")];
    assert_eq!(measured("true", SSE, &body).1, 2);
    assert_eq!(measured("true", "content-type: application/x-ndjson\r\n", &body).1, 2);
    let lines = [(1, "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}")];
    assert_eq!(measured("true", "", &lines).1, 3);
    assert_eq!(measured("{ format = \"events\" }", "", &lines).1, 0);
    assert_eq!(measured("{ format = \"lines\" }", SSE, &[(1, "data: a\nid: 1\n\n")]).1, 2);
}

#[test]
fn the_end_marker_is_no_event_and_ends_the_events() {
    let done = "{ events = 2, end = \"[DONE]\" }";
    let body = "data: a\n\ndata: b\n\ndata: [DONE]\n\ndata: c\n\n";
    let (came, events, _, gaps) = measured(done, SSE, &[(1, body), (7, "data: d\n\n")]);
    assert_eq!((came, events, gaps.len()), (Ok(()), 2, 1));
    let regex = "{ events = 1, end = { regex = '\"done\": *true' } }";
    let lines = "{\"done\":false}\n{\"done\":true}\n";
    assert_eq!(measured(regex, "", &[(1, lines)]).0, Ok(()));
}

#[test]
fn a_stream_that_is_not_as_expected_is_told_in_words() {
    let got = |expected, head, body| measured(expected, head, &[(1, body)]).0.unwrap_err();
    let two = "data: a\n\ndata: b\n\n";
    insta::assert_snapshot!(
        [
            got("true", SSE, ""),
            got("{ events = 20 }", SSE, two),
            got("{ events = \"< 2\" }", SSE, two),
            got("{ events = 20, end = \"[DONE]\" }", SSE, two),
            got("{ events = 2, end = \"[DONE]\" }", SSE, two),
            got("{ end = \"[DONE]\" }", SSE, "data: [DONE]\n\n"),
            got("true", "content-encoding: gzip\r\n", two),
            got("{ events = 2 }", "content-type: text/plain\r\n", "data: a\ndata: b\nid: 1\n"),
            got("{ events = 1, format = \"lines\" }", SSE, "a\nb\n"),
        ]
        .join("\n"),
        @"
    its end after 0 events
    its end after 2 events, read as server-sent events
    its end after 2 events, read as server-sent events
    its end after 2 events, read as server-sent events
    its end after 2 events, read as server-sent events, without the end marker
    its end after 0 events, read as server-sent events
    a compressed body
    its end after 3 events, read as lines
    its end after 2 events
    "
    );
    assert_eq!(measured("{ events = \">= 0\" }", SSE, &[]).0, Ok(()));
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let line = "(data|data:|data: |event: |id|: )?[a-z:\u{e9} ]{0,5}";
    let lines = vec((line, "(\n|\r|\r\n)"), 0..20);
    prop_oneof![
        ("\u{feff}?", lines, line).prop_map(|(mark, lines, last)| {
            let lines: String = lines.into_iter().map(|(line, end)| line + &end).collect();
            (mark + &lines + &last).into_bytes()
        }),
        vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #[test]
    fn a_stream_is_read_alike_in_any_pieces(body in body(), cuts in vec(any::<Index>(), 0..8)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        for format in [StreamFormat::Events, StreamFormat::Lines] {
            let whole = read_pieces(format, [&body[..]]);
            let pieces = cuts.windows(2).map(|ends| &body[ends[0]..ends[1]]);
            prop_assert_eq!(&read_pieces(format, pieces), &whole);
            prop_assert_eq!(&read_pieces(format, body.chunks(1)), &whole);
        }
    }

    #[test]
    fn events_are_read_as_they_were_written(
        all in vec("[a-z:{} \u{e9}]{0,9}(\n[a-z: ]{0,5}){0,2}", 0..9), end in "(\n|\r|\r\n)",
    ) {
        let one = |data: &String| {
            let lines = data.split('\n').map(|line| format!("data: {line}{end}"));
            lines.collect::<String>() + &end
        };
        let body: String = all.iter().map(one).collect();
        prop_assert_eq!(events(&body), all);
    }
}

/// Folder of the inputs from which the fuzzer starts.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/stream");

#[test]
fn every_seed_of_the_fuzzer_is_read_alike_in_any_pieces() {
    for seed in std::fs::read_dir(SEEDS).unwrap() {
        stream_foreign(&std::fs::read(seed.unwrap().path()).unwrap());
    }
}
