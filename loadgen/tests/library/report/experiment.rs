//! Experiments as people read them: on a terminal, as Markdown, as CSV and as a page.

use loadgen::record::{
    ArmRecord, BackendAloneRecord, ClaimRecord, DifferenceKind, DifferenceRecord, EvidenceRecord,
    ExperimentRecord, Finding, GroupRecord, LimitsRecord, LoadRecord, PublishedRecord,
    ReceivedRecord, ReplicaRecord, RunRecord, SavedAs, ScalingRecord, SourceRecord, TargetRecord,
    Verdict, VerdictKind,
};
use loadgen::report::{Document, Format, html};

use super::capacity;
use super::html::lines;
use super::records::{target, threshold};

fn published(machine: &str, published: f64, measured: Option<f64>) -> PublishedRecord {
    PublishedRecord {
        metric: "mean".to_owned(),
        unit: "ms".to_owned(),
        machine: Some(machine.to_owned()),
        published,
        measured,
        best_round: measured.map(|figure| figure * 0.9),
    }
}

fn arm(name: &str, figures: Vec<PublishedRecord>) -> ArmRecord {
    ArmRecord {
        name: name.to_owned(),
        target: name.split(' ').next().unwrap().to_owned(),
        scenario: "direct".to_owned(),
        load: "closed model, 100 users, 200 iterations per user".to_owned(),
        left_out: figures
            .iter()
            .any(|figure| figure.measured.is_none())
            .then(|| "needs Java 17; java is not on the PATH; see https://adoptium.net".to_owned()),
        published: figures,
    }
}

fn claim(says: &str, finding: Finding, why: Option<&str>) -> ClaimRecord {
    let open = finding == Finding::CouldNotBeShown;
    let interval = |[low, high]: [f64; 2]| (!open).then_some([low, high]);
    ClaimRecord {
        says: says.to_owned(),
        group: "direct".to_owned(),
        metric: "mean".to_owned(),
        range: Some([None, Some(1.0)]),
        finding,
        evidence: vec![EvidenceRecord {
            arms: vec!["sanic".to_owned(), "flask (4)".to_owned()],
            figure: Some(0.412),
            confidence_95: interval([0.401, 0.423]),
            rounds: if open { 2 } else { 5 },
        }],
        published: Some(0.23),
        why: why.map(str::to_owned),
        more_rounds: open.then_some(3),
    }
}

/// Returns a target with two replicas in each round, of which one is `behind` the other.
fn with_replicas(mut target: TargetRecord, behind: u64) -> TargetRecord {
    for round in &mut target.rounds {
        let replica = |responses| ReplicaRecord {
            responses,
            cpu_percent: Some(48.2),
            memory_max_bytes: Some(51_000_000),
        };
        round.replicas = vec![replica(5_000), replica(5_000 - behind)];
        let all = 10_000 - behind;
        round.replicas_received = Some(ReceivedRecord { least: all, most: all + behind });
    }
    target
}

/// Returns an experiment with one measured and one unmeasured group.
fn record() -> ExperimentRecord {
    let targets = [target("sanic", &[2_000.0; 5]), target("flask (4)", &[800.0; 5])];
    let run = RunRecord {
        scenario: "direct".to_owned(),
        load: LoadRecord { rounds: 5, users: 100, ..LoadRecord::default() },
        targets: targets.into_iter().zip(0..).map(|(one, nth)| with_replicas(one, nth)).collect(),
        backend_alone: Some(BackendAloneRecord {
            backend: "postgres".to_owned(),
            program: Some("pgbench".to_owned()),
            operations: Some("95 % look-ups by key, 5 % updates".to_owned()),
            clients: Some(40),
            rate_per_s: Some(13_982.4),
            why_not: None,
        }),
        ..RunRecord::default()
    };
    let measured = GroupRecord {
        name: "direct".to_owned(),
        description: Some("a constant JSON message".to_owned()),
        changed: vec!["20 iterations per user instead of 200".to_owned()],
        arms: vec![
            arm("sanic", vec![published("laptop R", 2.42, Some(3.0))]),
            arm("flask (4)", vec![published("MacBook Pro", 40.28, Some(7.281))]),
            arm("http4s", vec![published("MacBook E", 9.82, None)]),
        ],
        runs: vec![run],
        capacity: None,
        scaling: vec![ScalingRecord {
            name: "sanic".to_owned(),
            counts: "replicas".to_owned(),
            says: "throughput grows 3.2-fold from 1 to 4 replicas (95 %: 3.0 to 3.4)".to_owned(),
            fits: None,
        }],
        differences: vec![DifferenceRecord {
            kind: DifferenceKind::ServerWorkers,
            what: "sanic: 1 worker process; flask (4): 4 worker processes".to_owned(),
        }],
    };
    let searched = GroupRecord {
        name: "capacity".to_owned(),
        arms: vec![arm("sanic", Vec::new()), arm("fastapi", Vec::new()), arm("quart", Vec::new())],
        capacity: Some(capacity::of_two()),
        ..GroupRecord::default()
    };
    let unmeasured = GroupRecord { name: "redis".to_owned(), ..GroupRecord::default() };
    ExperimentRecord {
        schema: ExperimentRecord::SCHEMA.to_owned(),
        experiment: "web-servers".to_owned(),
        title: "Web servers <side by side>".to_owned(),
        description: Some("how soon does each answer?".to_owned()),
        source: Some(SourceRecord {
            title: "Web-framework benchmarks".to_owned(),
            year: Some(2022),
            url: None,
            differs: vec!["all servers share one machine".to_owned()],
        }),
        quick: true,
        started: "2026-11-24T02:00:00Z".to_owned(),
        command: vec!["loadgen".to_owned(), "experiment".to_owned(), "web-servers".to_owned()],
        groups: vec![measured, searched, unmeasured],
        claims: vec![
            claim("Sanic answers sooner than Flask", Finding::Held, None),
            claim("Flask answers sooner than Sanic", Finding::DidNotHold, None),
            claim("both are equal", Finding::CouldNotBeShown, Some("2 of at least 5 rounds")),
        ],
        interrupted: true,
    }
}

#[test]
fn an_experiment_on_a_terminal_fits_80_columns() {
    let record = record();
    let text = Document::Experiment(&record).render(Format::Table, None);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn an_experiment_as_markdown_and_csv() {
    let record = record();
    insta::assert_snapshot!(Document::Experiment(&record).render(Format::Markdown, None));
    insta::assert_snapshot!(Document::Experiment(&record).render(Format::Csv, None));
}

#[test]
fn an_experiment_survives_its_document() {
    let record = record();
    let json = Document::Experiment(&record).render(Format::Json, None);
    let again: ExperimentRecord = serde_json::from_str(&json).unwrap();
    assert_eq!((again.claims, again.source), (record.claims, record.source));
    assert_eq!(again.groups[0].arms[2], record.groups[0].arms[2]);
}

#[test]
fn the_page_of_an_experiment_begins_with_its_claims() {
    let page = html::experiment(&record());
    let main = page.split_once("<main").unwrap().1.split_once("</main>").unwrap().0;
    assert!(!page.contains("<side by side>"), "text is escaped");
    insta::assert_snapshot!(lines(main));
}

#[test]
fn failed_thresholds_are_in_every_form_and_containers_where_there_is_room() {
    let mut record = record();
    let mut second = record.groups[0].runs[0].clone();
    second.targets.clear();
    record.groups[0].runs[0].thresholds = vec![threshold("sanic", "p99 < 1ms", Some(9e3), false)];
    record.groups[0].runs.push(second);
    let limits = LimitsRecord { cpus: Some(1.0), memory_bytes: Some(1 << 30) };
    for (run, arm) in record.groups[0].runs.iter_mut().zip(["sanic", "flask (4)"]) {
        run.environment.podman = Some("podman 4.3.1".to_owned());
        run.environment.limits.insert(arm.to_owned(), limits);
    }
    let [text, markdown] = [Format::Table, Format::Markdown]
        .map(|format| Document::Experiment(&record).render(format, None));
    let page = html::experiment(&record);
    for form in [&text, &markdown, &page] {
        assert!(form.contains("FAILED: sanic: p99"), "{form}");
    }
    for form in [&markdown, &page] {
        let said = "in containers: podman 4.3.1; flask (4), sanic: 1 CPU, 1 GiB";
        assert!(form.contains(said), "{form}");
    }
}

#[test]
fn a_search_alone_names_its_machine_and_how_to_repeat_it() {
    let mut record = record();
    record.groups.drain(..1);
    if let Some(capacity) = &mut record.groups[0].capacity {
        capacity.environment.podman = Some("podman 4.3.1".to_owned());
    }
    let page = html::experiment(&record);
    for said in ["Environment", "Command to repeat the experiment", "in containers: podman 4.3.1"] {
        assert!(page.contains(said), "{said}");
    }
    let csv = Document::Experiment(&record).render(Format::Csv, None);
    assert!(csv.lines().nth(1).is_some_and(|row| row.starts_with("capacity,sanic,")), "{csv}");
}

#[test]
fn warnings_of_one_kind_give_their_advice_once() {
    let mut record = record();
    let warning = |arm: &str, message: &str| Verdict {
        kind: VerdictKind::UnequalWorkers,
        target: Some(arm.to_owned()),
        message: message.to_owned(),
        advice: "use more users".to_owned(),
    };
    record.groups[0].runs[0].verdicts = vec![
        warning("sanic", "one worker was idle"),
        warning("flask (4)", "one worker was idle"),
        warning("sanic", "two workers were idle"),
    ];
    let text = Document::Experiment(&record).render(Format::Markdown, None);
    let said = "- direct: sanic, flask (4): one worker was idle; sanic: two workers were idle \
                \\[unequal\\_workers\\] (use more users)";
    assert!(text.contains(said), "{text}");
    let text = Document::Experiment(&record).render(Format::Table, None);
    let said = " ! unequal_workers: 2 arms; worst: direct: sanic: one worker was idle";
    assert!(text.contains(said), "{text}");
}
