//! Tests of whole drafts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::sample::SplitMix;
use super::testing::{combined, drafted};
use super::*;
use crate::testing::checked_with_rows;
use crate::{RowsFile, Value};

fn refused(log: &[u8], options: &Options) -> String {
    let error = draft(log, options).unwrap_err();
    format!("{} ({})", error.message, error.help)
}

/// Returns the log of a shop, over an hour with a peak in its middle.
fn shop() -> String {
    let mut random = SplitMix(7);
    let mut below = |most: u64| random.next() % most;
    let words = ["red", "blue", "shirt", "shoe", "hat", "wool", "linen", "summer"];
    let mut log = String::from("web-1 started\n");
    for _ in 0..2_000 {
        let second = (below(3_600) + below(3_600) + below(3_600)) / 3;
        let word = |n: u64| words[n as usize % words.len()];
        let (request, status) = match below(100) {
            0..30 => (format!("GET /products/{}", 1 + below(40) * below(40)), 200),
            30..45 => (format!("GET /products?page={}&sort=price", 1 + below(9)), 200),
            45..55 => {
                let (one, other) = (word(below(8)), word(below(8)));
                (format!("GET /search?q={one}+{other}%21&token=s3cr3t{}", below(99)), 200)
            }
            55..63 => {
                (format!("GET /blog/{}-{}-{}", word(below(8)), word(below(8)), below(30)), 200)
            }
            63..68 => (format!("GET /users/{}/orders/{:016x}", below(50), below(1 << 60)), 304),
            68..72 => ("GET /".to_owned(), 200),
            72..74 => ("GET /account".to_owned(), 302),
            74..76 => ("HEAD /health".to_owned(), 200),
            76..86 => (format!("GET /static/{}.css?v=3", word(below(8))), 200),
            86..92 => ("POST /cart".to_owned(), 201),
            92..96 => (format!("GET /wp-admin/{}", below(9)), 404),
            96..99 => (format!("GET /caf%C3%A9/{}", below(9)), 200),
            _ => ("GET /reset/../token".to_owned(), 200),
        };
        log += &combined(second, &request, status);
    }
    log
}

#[test]
fn a_log_becomes_a_scenario() {
    let mut draft = drafted(&shop());
    let mut text = checked_with_rows(&draft);
    for file in &mut draft.rows {
        let number = file.records.len();
        file.records.truncate(2);
        let _ = write!(text, "--- {}, of {number} rows:\n{}", file.file_name, file.csv());
    }
    let _ = write!(text, "--- notes:\n{}\n", draft.notes.join("\n"));
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_of_people_is_written() {
    let draft = drafted(&shop());
    let files: String = draft.rows.iter().map(RowsFile::csv).collect();
    let all = format!("{}{files}{}", draft.text(), draft.notes.join("\n"));
    for private in ["s3cr3t", "203.0.113.9", "ann ", "referer", "Mozilla"] {
        assert!(!all.contains(private), "{private}");
    }
    let log = format!(
        "{}{}{}",
        combined(0, "GET /confirm/eyJhbGciOiJIUzI1NiJ9.e30.x", 200),
        combined(0, "GET /a?q=ann@example.org&q=x&X-Amz-Signature=5ig", 200),
        combined(0, "GET /reset/d41d8cd98f00b204e9800998ecf8427e", 200),
    );
    let draft = drafted(&log);
    let text = draft.text();
    assert!(text.contains("get = \"/a?q=x\"") && draft.rows.is_empty(), "{text}");
    assert!(!["eyJ", "d41d8", "ann", "5ig"].iter().any(|it| text.contains(it)), "{text}");
    assert!(
        draft.notes.iter().any(|it| it.contains("personal: X-Amz-Signature, q.")),
        "{:?}",
        draft.notes
    );
}

#[test]
fn secrets_without_names_are_left_out() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.e30.x";
    let log: String = (0..60_u64)
        .map(|n| {
            let uuid = format!("550e8400-e29b-41d4-a716-4466554400{n:02}");
            combined(
                n,
                &format!(
                    "GET /d/{:032x}",
                    0xd41d_8cd9_8f00_b204_e980_0998_ecf8_4200_u128 + u128::from(n)
                ),
                200,
            ) + &combined(n, &format!("GET /f/sk_live_51H8qUxKgR7tYbNm0{n}PzQwEdCv"), 200)
                + &combined(n, &format!("GET /orders/{uuid}"), 200)
                + &combined(
                    n,
                    &format!("GET /p?PHPSESSID=q{n}x&sid=q{n}x&auth_key=q{n}x&v={n}"),
                    200,
                )
                + &combined(
                    n,
                    &format!("GET /in?code=4/0AbCdEfGhIjKlMnOpQrStUvWxYz0{n}&v={n}"),
                    200,
                )
                + &combined(n, &format!("GET /go?next=/r%3Ftoken%3Dq{n}x&{jwt}&v={n}"), 200)
        })
        .collect();
    let draft = drafted(&log);
    let files: String = draft.rows.iter().map(RowsFile::csv).collect();
    let all = format!("{}{files}{}", draft.text(), draft.notes.join("\n"));
    for secret in ["d41d8cd9", "sk_live", "q7x", "AbCdEf", "eyJ"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(files.contains("550e8400-e29b-41d4-a716-446655440007"), "{files}");
    assert!(all.contains("PHPSESSID"), "{all}");
}

/// Returns all requests that a draft may send, decoded, and with the names of the query sorted.
fn sent(draft: &Draft) -> BTreeSet<String> {
    let mut sent = BTreeSet::new();
    for step in &draft.flows[0].steps {
        let Some(Value::String(path)) = step.get("get") else { continue };
        match draft.rows.iter().find(|file| path.contains(&format!("{{{{ {}.", file.name))) {
            None => drop(sent.insert(path.replace("{{{{", "{{"))),
            Some(RowsFile { name, columns, records, .. }) => {
                sent.extend(records.iter().map(|record| {
                    columns.iter().zip(record).fold(path.clone(), |path, (column, value)| {
                        path.replace(
                            &format!("{{{{ {name}.{column} }}}}"),
                            &segment::encoded(value),
                        )
                    })
                }));
            }
        }
    }
    sent
}

#[test]
fn only_recorded_requests_are_sent() {
    let log: String = (0..400)
        .map(|n| match n % 4 {
            0 => format!("/a/{n}/b/{}?x={}&y", n % 7, n % 3),
            1 => format!("/a/{n}/c%2F{n}"),
            2 => format!("/p/name-{n}?{}", if n % 40 == 2 { "size=10" } else { "size=20" }),
            _ => format!("/tags?tag={n}&tag={}", n + 1),
        })
        .map(|target| combined(1, &format!("GET {target}"), 200))
        .collect();
    let draft = drafted(&log);
    let recorded: BTreeSet<String> =
        log.lines().filter_map(|line| Some(line.split(' ').nth(6)?.to_owned())).collect();
    let sent = sent(&draft);
    let unknown: Vec<_> = sent.difference(&recorded).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(sent.len() > 380, "{}", sent.len());
    let paths: Vec<_> = draft.flows[0].steps.iter().map(|step| step.name.as_str()).collect();
    let expected = [
        "GET /a/{a_id}/b/{b_id}?x={x}&y",
        "GET /a/{a_id}/{a_slug}",
        "GET /p/{slug}?size={size}",
        "GET /tags?tag={tag}&tag={tag_2}",
    ];
    assert_eq!(paths.iter().copied().collect::<BTreeSet<_>>(), expected.into());
}

#[test]
fn names_without_values_and_usual_values_are_fixed() {
    let log: String = (0..200)
        .map(|n| {
            format!(
                "GET /items/1?sort={}&debug&_={n}&1699999{n:04}",
                if n == 7 { "x" } else { "asc" }
            )
        })
        .map(|request| combined(1, &request, 200))
        .collect();
    let draft = drafted(&log);
    let expected = Value::from("/items/1?_={{ items.value }}&debug&sort=asc");
    assert_eq!(draft.flows[0].steps[0].get("get"), Some(&expected), "{}", draft.text());
    assert_eq!(draft.rows[0].records.len(), 199);
}

#[test]
fn the_mix_has_the_recorded_frequencies() {
    let requests = ["/a", "/a", "/a", "/b", "/c?x=1", "/c?x=2"];
    let log: String =
        (0..6_000).map(|n| combined(1, &format!("GET {}", requests[n % 6]), 200)).collect();
    let rare = combined(1, "GET /rare", 200);
    let draft = drafted(&(log + &rare));
    let weights: Vec<_> = draft.flows[0].steps.iter().map(|step| step.get("weight")).collect();
    let expected = [3_000, 2_000, 1_000].map(Value::Integer);
    assert_eq!(weights, expected.iter().map(Some).collect::<Vec<_>>());
    assert_eq!(draft.notes[1], "3 paths cover over 99.9 % of the 6,001 requests that count.");
}

#[test]
fn a_larger_log_is_sampled() {
    let log: String = (0..450_000_u64)
        .map(|n| {
            format!(
                "INFO:     127.0.0.1:1 - \"GET /{} HTTP/1.1\" 200 OK\n",
                if n % 4 == 0 { "a" } else { "b" }
            )
        })
        .collect();
    let draft = drafted(&log);
    assert!(draft.notes[1].contains("of a random sample of"), "{:?}", draft.notes);
    let weight = |step: usize| match draft.flows[0].steps[step].get("weight") {
        Some(Value::Integer(weight)) => *weight as f64,
        other => panic!("{other:?}"),
    };
    assert!((weight(0) / weight(1) / 3.0 - 1.0).abs() < 0.02, "{}", weight(0) / weight(1));
}

#[test]
fn a_server_may_write_its_messages_between_the_requests() {
    let log = "[INFO] Starting granian (main PID: 14260)\n\
        [INFO] Listening at: http://127.0.0.1:28106\n\
        [INFO] Spawning worker-1 with PID: 14273\n\
        [INFO] Started worker-1\n\
        [2026-11-28 06:59:35 +0000] 127.0.0.1 - \"GET /items/1 HTTP/1.1\" 200 0.260\n\
        [2026-11-28 06:59:35 +0000] 127.0.0.1 - \"GET /café/x HTTP/1.1\" 200 0.108\n\
        [2026-11-28 06:59:35 +0000] 127.0.0.1 - \"POST /login HTTP/1.1\" 200 0.092\n\
        [2026-11-28 06:59:35 +0000] 127.0.0.1 - \"HEAD /head HTTP/1.1\" 200 0.103\n\
        [2026-11-28 06:59:35 +0000] 127.0.0.1 - \"GET /a\"b\\c HTTP/1.1\" 200 0.089\n\
        [INFO] Shutting down granian\n\
        [INFO] Stopping worker-1\n\
        [INFO] Stopped worker-1\n\
        [INFO] Granian shutdown completed, see ya!\n";
    let notes = drafted(log).notes.join("\n");
    assert!(notes.contains("8 of 13 lines are no access log: the first one is line 1."), "{notes}");
    assert!(notes.contains("4 paths cover 100.0 % of the 4 requests that count."), "{notes}");
}

#[test]
fn two_servers_in_one_log_count_once() {
    let nginx = combined(1, "GET /a", 200);
    let log = format!("{nginx}INFO:     127.0.0.1:1 - \"GET /a HTTP/1.1\" 200 OK\n{nginx}");
    let notes = drafted(&log).notes.join("\n");
    assert!(notes.contains("of the 2 requests that count"), "{notes}");
    assert!(notes.contains("1 line in other formats was left out"), "{notes}");
}

#[test]
fn logs_that_cannot_be_drafted_are_refused() {
    let usual = Options::default();
    let good = combined(1, "GET /a?token=s3cr3t", 200);
    let mostly = format!("{good}\n\"x\"\n\"y s3cr3t\"\n");
    let writing = combined(1, "POST /a", 200) + &combined(1, "GET /a", 500);
    let many: String = (0..1_200).map(|n| combined(n / 4, "GET /a", 200)).collect();
    let letter = |n: usize| (b'a' + (n % 26) as u8) as char;
    let name = |n: usize| -> String {
        [letter(n / 676 / 26), letter(n / 676), letter(n / 26), letter(n)].iter().collect()
    };
    let random: String =
        (0..20_100).map(|n| combined(1, &format!("GET /a?{}=1", name(n)), 200)).collect();
    let all = [
        refused(b"", &usual),
        refused(b"\n\n", &usual),
        refused(b"\nhello s3cr3t\n", &usual),
        refused(mostly.as_bytes(), &usual),
        refused(writing.as_bytes(), &usual),
        refused(good.as_bytes(), &Options { speed: 0.0, ..usual }),
        refused(good.as_bytes(), &Options { speed: f64::NAN, ..usual }),
        refused(good.as_bytes(), &Options { duration: Some(Duration::ZERO), ..usual }),
        refused(random.as_bytes(), &usual),
        refused(many.repeat(5_000).as_bytes(), &Options { speed: 1_000.0, ..usual }),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = draft(bytes.as_slice(), &Options::default());
    }

    #[test]
    fn any_target_gives_a_scenario(
        targets in prop::collection::vec("/([a-z0-9/?&=+.%{} é-]|%[0-9a-fA-F]{2}|[0-9]{3}|\\.\\.){0,30}", 1..80),
    ) {
        let log: String = targets.iter().map(|it| combined(1, &format!("GET {it}"), 200)).collect();
        if let Ok(draft) = draft(log.as_bytes(), &Options::default()) {
            checked_with_rows(&draft);
        }
    }

    #[test]
    fn any_change_of_a_line_gives_a_scenario_or_an_error(
        lines in prop::collection::vec(prop::sample::select(super::format::tests::REAL.to_vec()), 1..6),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..12),
    ) {
        let lines: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
        let mut log = lines.join("\n").into_bytes();
        for (at, byte) in changes {
            let at = at % log.len();
            log[at] = byte;
        }
        if let Ok(draft) = draft(log.as_slice(), &Options::default()) {
            checked_with_rows(&draft);
        }
    }
}
