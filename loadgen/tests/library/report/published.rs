//! Shows the published experiments of the project with figures made up for them: the answer is on one screen.

use std::path::Path;

use loadgen::analysis::claims::{Arms, judge_claim, unit};
use loadgen::analysis::compare;
use loadgen::experiment::experiments;
use loadgen::measure::{ContainerRecord, LatencySummary, ResourceRecord, Summary};
use loadgen::record::{
    ArmRecord, ExperimentRecord, Finding, GroupRecord, LoadRecord, PublishedRecord, RoundRecord,
    RunRecord, SavedAs, SourceRecord, TargetRecord, Verdict, VerdictKind,
};
use loadgen::report::{Document, Format, html};
use loadgen::scenario::experiment::{Arm, ExperimentFile, Group};

const NAMES: [&str; 5] =
    ["aiohttp-deployments", "falcon-workers", "inserts", "profiles", "web-servers"];

fn file(name: &str) -> ExperimentFile {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../experiments/");
    let found = experiments::find(&format!("{root}{name}.toml"), None);
    found.unwrap_or_else(|failure| panic!("{:?}", failure.report))
}

/// Returns made-up results of the nth arm of a group: five rounds, each a bit unlike the others.
fn target(arm: &Arm, nth: usize) -> TargetRecord {
    let mut factors = [1.0, 0.95, 1.04, 1.01, 0.98];
    factors.rotate_left(nth % 5);
    let nth = nth as f64;
    let rounds = factors.into_iter().zip(1..).map(|(factor, round)| {
        let rate = 4_000.0 * factor / (1.0 + 0.6 * nth);
        let us = |share: f64| Some((share * 1e8 / rate) as u64);
        let latency_us = LatencySummary {
            min: us(0.1),
            mean: Some(1e8 / rate),
            p50: us(0.9),
            p90: us(1.5),
            p95: us(1.9),
            p99: us(3.0),
            p99_9: us(5.0),
            p99_99: us(6.0),
            max: us(7.0),
        };
        let total = Summary {
            requests: (rate * 10.0) as u64,
            errors: (rate * nth * factor) as u64 / 10,
            rate_per_s: rate,
            latency_us,
            ..Summary::default()
        };
        let used = ResourceRecord {
            cpu_percent: 97.0 * factor,
            cpu_us_per_request: Some(1e6 / rate),
            memory_max_bytes: (1e8 * factor * (1.0 + nth)) as u64,
            container: Some(ContainerRecord::default()),
            ..ResourceRecord::default()
        };
        RoundRecord {
            round,
            whole: true,
            held_s: 10.0,
            total,
            counters: [("inserted_items".to_owned(), (rate * 1e3 * factor.powi(9)) as u64)].into(),
            resources: [("target".to_owned(), used)].into(),
            ..RoundRecord::default()
        }
    });
    let rounds: Vec<RoundRecord> = rounds.collect();
    TargetRecord {
        name: arm.name.clone(),
        target: arm.target.clone(),
        total: rounds[0].total.clone(),
        rounds,
        ..TargetRecord::default()
    }
}

fn warnings(targets: &[TargetRecord]) -> Vec<Verdict> {
    let verdict = |(_, target): (usize, &TargetRecord), kind, message: String| Verdict {
        kind,
        target: Some(target.name.clone()),
        message,
        advice: "hold the load for longer, or measure on a machine that does nothing else"
            .to_owned(),
    };
    let each = targets.iter().enumerate().flat_map(|at| {
        let (percent, sent) = (11 + 3 * at.0, 100 * at.0);
        [
            verdict(
                at,
                VerdictKind::NotSteady,
                format!("the rate differed by -{percent} % (-40 to -1 %)"),
            ),
            verdict(
                at,
                VerdictKind::UnequalWorkers,
                format!("the 4 server workers got unequal shares: one used {percent} % of a core"),
            ),
            verdict(
                at,
                VerdictKind::TooFewSamples,
                format!("{sent} samples are too few for p99.99"),
            ),
        ]
    });
    each.collect()
}

fn arm(file: &ExperimentFile, index: usize, nth: usize, arm: &Arm) -> ArmRecord {
    let of_group = file.published.iter().filter(|published| published.group == index);
    let published = of_group.flat_map(|of| {
        let (unit, factor) = unit(&of.metric);
        let figures = of.figures.iter().filter(move |(arm, _)| *arm == nth);
        figures.map(move |(_, figure)| PublishedRecord {
            metric: of.metric.to_string(),
            unit: unit.to_owned(),
            machine: of.machine.clone(),
            published: figure * factor,
            measured: None,
            best_round: None,
        })
    });
    ArmRecord {
        name: arm.name.clone(),
        target: arm.target.clone(),
        left_out: (arm.target == "http4s")
            .then(|| "java 17 or newer is not on the PATH".to_owned()),
        published: published.collect(),
        ..ArmRecord::default()
    }
}

/// Returns a record of the experiment of this name; `http4s` was left out.
pub fn record(name: &str) -> ExperimentRecord {
    let file = file(name);
    let targets = |group: &Group| -> Vec<TargetRecord> {
        let arms = group.arms.iter().enumerate().filter(|(_, arm)| arm.target != "http4s");
        arms.map(|(nth, arm)| target(arm, nth)).collect()
    };
    let groups = file.groups.iter().enumerate().map(|(index, group)| {
        let targets = targets(group);
        let rates = targets.iter().map(|target| {
            let rounds = target.rounds.iter();
            (target.name.clone(), rounds.map(|it| (it.round, it.total.rate_per_s)).collect())
        });
        let run = RunRecord {
            scenario: group.arms[0].scenario.name.clone(),
            load: LoadRecord { rounds: 5, users: 100, ..LoadRecord::default() },
            comparison: Some(compare(&rates.collect::<Vec<_>>())),
            verdicts: warnings(&targets),
            targets,
            ..RunRecord::default()
        };
        let arms = group.arms.iter().enumerate();
        GroupRecord {
            name: group.name.clone(),
            description: group.description.clone(),
            arms: arms.map(|(nth, of)| arm(&file, index, nth, of)).collect(),
            runs: vec![run],
            ..GroupRecord::default()
        }
    });
    let claims = file.claims.iter().map(|claim| {
        let group = &file.groups[claim.group];
        let targets = targets(group);
        let targets: Vec<&TargetRecord> = targets.iter().collect();
        let arms = Arms { group, targets: &targets, one_start: false, left_out: &|_| None };
        judge_claim(claim, arms)
    });
    ExperimentRecord {
        schema: ExperimentRecord::SCHEMA.to_owned(),
        experiment: file.name.clone(),
        title: file.title.clone(),
        description: file.description.clone(),
        source: file.source.as_ref().map(SourceRecord::from),
        started: "2026-11-24T02:00:00Z".to_owned(),
        command: vec!["loadgen".to_owned(), "experiment".to_owned(), name.to_owned()],
        groups: groups.collect(),
        claims: claims.collect(),
        ..ExperimentRecord::default()
    }
}

fn on_terminal(record: &ExperimentRecord, columns: usize) -> String {
    let folder = format!("runs/2026-11-24T02-00-00Z-{}", record.experiment);
    Document::Experiment(record).render_within(columns, Format::Table, Some(Path::new(&folder)))
}

#[test]
fn the_last_25_lines_hold_all_claims_of_the_experiments_of_the_project() {
    for (name, columns) in NAMES.into_iter().flat_map(|name| [(name, 80), (name, 120)]) {
        let record = record(name);
        let text = on_terminal(&record, columns);
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len() - 25..];
        let title = last.iter().position(|line| line.contains(" claims: "));
        let title = title.unwrap_or_else(|| panic!("the last 25 lines of {name}:\n{text}"));
        let symbol = |line: &&&str| {
            ["✓", "✗", "?", "–"].iter().any(|it| line.starts_with(&format!(" {it}")))
        };
        assert_eq!(last[title..].iter().filter(symbol).count(), record.claims.len(), "{text}");
        assert!(last.concat().contains("report.html"), "{text}");
    }
}

#[test]
fn an_experiment_on_a_terminal_of_80_and_of_120_columns() {
    let record = record("web-servers");
    insta::assert_snapshot!(on_terminal(&record, 80));
    insta::assert_snapshot!(on_terminal(&record, 120));
    let long = self::record("aiohttp-deployments");
    insta::assert_snapshot!(on_terminal(&long, 80));
}

#[test]
fn nothing_that_a_terminal_leaves_out_is_lost() {
    let record = record("web-servers");
    let markdown = Document::Experiment(&record).render(Format::Markdown, None);
    let page = html::experiment(&record);
    for claim in &record.claims {
        for form in [&markdown, &page] {
            assert!(form.contains(&claim.says), "{}", claim.says);
        }
    }
    let verdicts = record.groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.verdicts);
    for verdict in verdicts.filter(|verdict| verdict.kind != VerdictKind::TooFewSamples) {
        for form in [&markdown, &page] {
            assert!(form.contains(&verdict.message), "{}", verdict.message);
        }
    }
    assert!(record.claims.iter().any(|claim| claim.finding == Finding::Held));
}

/// Returns the texts of a document of XML that has elements, attributes in double quotes and the escapes of
/// HTML's special characters only. Fails if the document is not well-formed.
fn texts(xml: &str) -> Vec<String> {
    assert!(!xml.contains(|c: char| c.is_control() && c != '\n'), "{xml:?}");
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("`<{part}`"));
        assert!(!text.contains('>') && tag.matches('"').count().is_multiple_of(2), "`<{part}`");
        for escape in part.split('&').skip(1) {
            let known = ["lt;", "gt;", "amp;", "quot;"].iter().any(|it| escape.starts_with(it));
            assert!(known, "`&{escape}`");
        }
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{xml}"),
            None => open.push(tag.split_once(' ').map_or(tag, |(name, _)| name)),
        }
        texts.push(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
    }
    assert!(open.is_empty(), "{open:?}");
    texts
}

#[test]
fn pictures_are_well_formed_and_name_all_claims() {
    for name in NAMES {
        let record = record(name);
        let svg = Document::Experiment(&record).render(Format::Svg, None);
        let texts = texts(&svg);
        for claim in &record.claims {
            let said = texts.iter().any(|text| text.starts_with(&claim.says));
            assert!(said, "{}", claim.says);
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        if let Ok(folder) = std::env::var("PICTURES") {
            let folder = Path::new(&folder);
            std::fs::write(folder.join(format!("{name}.svg")), &svg).unwrap();
            std::fs::write(folder.join(format!("{name}.html")), html::experiment(&record)).unwrap();
            std::fs::write(folder.join(format!("{name}.txt")), on_terminal(&record, 80)).unwrap();
            std::fs::write(folder.join(format!("{name}-120.txt")), on_terminal(&record, 120))
                .unwrap();
        }
    }
}

#[test]
fn foreign_text_cannot_end_a_picture() {
    let mut record = record("falcon-workers");
    record.claims[0].says = "</svg><script>\u{1b}[2J & \u{ffff} a claim".to_owned();
    record.title = "<b>\u{0}".to_owned();
    let svg = Document::Experiment(&record).render(Format::Svg, None);
    assert!(!svg.contains("<script>"));
    assert!(texts(&svg).iter().any(|text| text.contains("</svg><script>")));
}
