//! Tests CSV and Markdown, made from records built by hand.

use loadgen::measure::PostgresActivity;

use super::shown::{capacity_csv, capacity_markdown, csv, html, markdown, terminal};

use super::capacity::of_two;
use super::records::{flow, four, record, summary, target, threshold};

/// Text with a comma, quotation marks and other characters that a format may interpret.
const ODD: &str = "a|b, \"c\" *d* <e>";

#[test]
fn csv_has_a_row_for_each_target_and_step() {
    let mut odd = target(ODD, &[88.0, 87.0]);
    odd.steps = vec![summary("read", 60.0), summary("write", 28.0)];
    odd.groups = vec![summary("both", 88.0)];
    odd.flows = [flow("iteration", 28.0), flow("buy", 28.0)].to_vec();
    let text = csv(&record(vec![target("sanic", &[4_300.0, 4_345.0]), odd]));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 + 3 + 3);
    assert_eq!((&rows[2][1], &rows[2][4]), (ODD, "all"));
    insta::assert_snapshot!(text);
}

#[test]
fn iterations_have_a_table_in_each_report() {
    let mut with = record(four());
    for (index, target) in with.targets.iter_mut().enumerate() {
        target.flows =
            [flow("iteration", 320.0), flow("browse", 256.0), flow("buy", 64.0)].to_vec();
        target.flows[2].errors = index as u64;
    }
    let text = terminal(&with, None);
    let begin = text.find(" iterations/s").unwrap();
    let begin = text[..begin].rfind('\n').unwrap() + 1;
    let table = &text[begin..begin + text[begin..].find("\n\n  ").unwrap_or(text.len() - begin)];
    insta::assert_snapshot!(table.lines().take(16).collect::<Vec<_>>().join("\n"));
    assert!(markdown(&with).contains("| \u{2003}buy |") || markdown(&with).contains("buy | 64"));
    assert!(html(&with).contains("<h2 id=\"iterations\">"));
    let without = record(four());
    assert!(
        !terminal(&without, None).contains("iterations/s")
            && !html(&without).contains("\"iterations\"")
    );
}

#[test]
fn csv_of_capacities_has_the_points_of_the_curves() {
    insta::assert_snapshot!(capacity_csv(&of_two()));
}

#[test]
fn markdown_has_the_ranking_and_its_interpretation() {
    let mut targets = four();
    targets[0].name = ODD.to_owned();
    let mut record = record(targets);
    record.thresholds = vec![threshold("sanic", "error_rate < 1%", Some(0.02), false)];
    record.interrupted = true;
    let text = markdown(&record);
    assert!(text.contains("a\\|b, \"c\" \\*d\\* \\<e>"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn markdown_has_a_row_for_each_step() {
    let mut sanic = target("sanic", &[4_300.0, 4_345.0]);
    sanic.steps = vec![summary("read", 3_200.0), summary("write", 1_122.5)];
    let text = markdown(&record(vec![sanic]));
    let row = |name, rate| format!("\n| {name} | {rate} | 0 | 2.35 | 12.3 | 98.8 | 301 | – |\n");
    let (read, write) = (row("↳ read", "3,200"), row("↳ write", "1,123"));
    assert!(text.contains(&read) && text.contains(&write), "{text}");
}

#[test]
fn markdown_of_capacities_has_the_same_parts() {
    insta::assert_snapshot!(capacity_markdown(&of_two()));
}

#[test]
fn the_statistics_of_postgres_are_in_every_form_that_people_read() {
    let mut with = target("sanic", &[880.0, 870.0]);
    for (commits, round) in [41_000.0, 43_000.0].into_iter().zip(&mut with.rounds) {
        let transactions = Some(commits);
        round.postgres = Some(PostgresActivity { transactions, ..PostgresActivity::default() });
    }
    let with = record(vec![with]);
    let (text, page) = (markdown(&with), html(&with));
    assert!(text.contains("| sanic | 42,000 | – |"), "{text}");
    assert!(page.contains("<h2 id=\"postgres\">PostgreSQL</h2>"), "{page}");
    assert!(page.contains("<th scope=\"row\">sanic</th><td>42,000</td><td>–</td>"), "{page}");
    assert!(terminal(&with, None).contains("42,000"));
    let without = record(vec![target("sanic", &[880.0])]);
    assert!(!markdown(&without).contains("WAL") && !html(&without).contains("PostgreSQL"));
}
