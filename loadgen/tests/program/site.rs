//! `loadgen site`: the pages of real results, what is read again, and what is refused.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use tokio::task::block_in_place;

use crate::common::Counting;
use crate::common::program::{Finished, Project};

/// Measures a run of one second, saved in this folder.
fn measure(project: &Project, server: &Counting, folder: &str) -> Finished {
    let (url, out) = (format!("--url=here={}", server.url), format!("--out={folder}"));
    let fixed = ["run", "-s=direct", "--warmup=0s", "--no-calibrate", "--duration=1s", "--users=2"];
    let finished = project.run(&[&fixed[..], &[&url, &out]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    finished
}

fn change(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    change(&mut record);
    fs::write(file, record.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn results_become_pages_and_only_new_ones_are_read() {
    let server = Counting::start().await;
    block_in_place(|| {
        let project = Project::real();
        let site =
            |words: &[&str]| project.run(&[&["site", "results", "--out=public"], words].concat());
        measure(&project, &server, "results/nights/one");
        let finished = site(&[]);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        assert_eq!(finished.stderr.trim(), "1 result, 1 of them new, in public/index.html");
        measure(&project, &server, "results/two");
        let finished = site(&["--baseline=one", "--url=https://example.net/a"]);
        assert_eq!(finished.stderr.trim(), "2 results, 1 of them new, in public/index.html");
        let page = |path: &str| fs::read_to_string(project.path("public").join(path)).unwrap();
        let history = page("direct-closed-model.html");
        for name in ["one", "two"] {
            let path = format!("runs/{name}/report.html");
            assert!(history.contains(&path) && page(&path).contains("<!DOCTYPE html>"), "{name}");
        }
        assert!(history.contains("against the baseline"));
        // Two runs in a row can be compared, and are joined.
        assert!(history.contains("class=\"joined\""), "{history}");
        assert!(page("feed.xml").contains("https://example.net/a/runs/two/report.html"));
        // A result that is gone is gone from the site, unless it is kept.
        fs::remove_dir_all(project.path("results/nights")).unwrap();
        let kept = site(&["--keep"]);
        assert_eq!(kept.stderr.trim(), "2 results, 0 of them new, in public/index.html");
        let finished = site(&[]);
        assert_eq!(finished.stderr.trim(), "1 result, 0 of them new, in public/index.html");
        assert!(!project.path("public/runs/one").exists());
        // What is damaged is named, and the rest is shown.
        fs::create_dir_all(project.path("results/bad")).unwrap();
        fs::write(project.path("results/bad/run.json"), "{}").unwrap();
        let finished = site(&[]);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        assert!(
            finished.stderr.starts_with("left out: results/bad/run.json: is damaged"),
            "{}",
            finished.stderr
        );
        // A wrong option changes nothing.
        fs::remove_dir_all(project.path("results/bad")).unwrap();
        let before = page("index.html");
        measure(&project, &server, "results/three");
        fs::rename(project.path("results/two"), project.path("two")).unwrap();
        let finished = site(&["--baseline=absent"]);
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.contains("unknown_baseline"), "{}", finished.stderr);
        assert!(page("index.html") == before && project.path("public/runs/two").exists());
        // The same result in two folders is shown once.
        let copy = project.path("results/copy");
        fs::create_dir_all(&copy).unwrap();
        fs::copy(project.path("results/three/run.json"), copy.join("run.json")).unwrap();
        let finished = site(&[]);
        assert!(finished.stderr.contains("is another copy of a result"), "{}", finished.stderr);
        assert!(finished.stderr.contains("1 result, 2 of them new"), "{}", finished.stderr);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_many_nights_in_one_folder_are_kept() {
    let server = Counting::start().await;
    block_in_place(|| {
        let project = Project::real();
        let site = || project.run(&["site", "results", "--out=public", "--keep"]);
        for night in 1..=3 {
            let _ = fs::remove_dir_all(project.path("results"));
            measure(&project, &server, "results/nightly");
            let said = site().stderr;
            let results = if night == 1 { "result" } else { "results" };
            assert!(said.starts_with(&format!("{night} {results}, 1 of them new")), "{said}");
        }
        // Nothing new changes nothing.
        let kept = || fs::read_to_string(project.path("public/results.json")).unwrap();
        let before = kept();
        assert!(site().stderr.starts_with("3 results, 0 of them new"));
        assert_eq!(kept(), before);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_refuses_results_that_contradict_themselves() {
    let server = Counting::start().await;
    block_in_place(|| {
        let project = Project::real();
        measure(&project, &server, "results/one");
        let check = || project.run(&["site", "--check", "results"]);
        let finished = check();
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        assert_eq!(finished.stderr.trim(), "1 result checked, 0 refused");
        let file = project.path("results/one/run.json");
        let whole = fs::read(&file).unwrap();
        let refused = |why: &str, altered: fn(&mut Value)| {
            change(&file, altered);
            let finished = check();
            assert_eq!(finished.code, Some(1), "{}", finished.said());
            assert!(finished.stderr.contains(why), "{why}: {}", finished.stderr);
            fs::write(&file, &whole).unwrap();
        };
        refused("do not follow from its latencies", |record| {
            record["targets"][0]["steps"][0]["latency_us"]["p50"] = 1.into();
        });
        refused("are not the sum", |record| record["targets"][0]["total"]["requests"] = 7.into());
        refused("do not follow from its rounds", |record| {
            let figure = serde_json::json!({ "mean": 1e6, "confidence_95": [1e6, 1e6] });
            record["targets"][0]["rate_over_rounds_per_s"] = figure;
        });
        refused("do not follow from its latencies", |record| {
            record["targets"][0]["latency_histograms"] = serde_json::json!({});
        });
        refused("more than 1 % of the requests failed", |record| {
            let total = &mut record["targets"][0]["rounds"][0]["total"];
            total["errors"] = (total["requests"].as_u64().unwrap() / 2).into();
        });
        refused("it was interrupted", |record| record["interrupted"] = true.into());
        refused("loadgen itself limited the rate", |record| {
            record["targets"][0]["bottleneck"] = "generator".into();
        });
        assert!(!project.path("public").exists(), "a check writes nothing");
    });
}

#[test]
fn foreign_folders_and_folders_without_results_are_errors() {
    let project = Project::real();
    let failed = |words: &[&str], code: &str| {
        let finished = project.run(&[&["site"], words].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.starts_with(code), "{}", finished.stderr);
    };
    failed(&["absent"], "no_results");
    fs::create_dir_all(project.path("empty")).unwrap();
    failed(&["empty"], "no_results");
    fs::create_dir_all(project.path("results/one")).unwrap();
    fs::write(project.path("results/one/run.json"), "{}").unwrap();
    fs::create_dir_all(project.path("mine")).unwrap();
    fs::write(project.path("mine/index.html"), "my page").unwrap();
    failed(&["results", "--out=mine"], "foreign_folder");
    assert_eq!(fs::read_to_string(project.path("mine/index.html")).unwrap(), "my page");
    // What another version has written is not lost.
    fs::create_dir_all(project.path("old")).unwrap();
    fs::write(project.path("old/results.json"), "{\"form\": \"loadgen.site/0\"}").unwrap();
    failed(&["results", "--out=old", "--keep"], "unreadable_site");
    // A work tree of Git, as for GitHub Pages, is no foreign folder.
    fs::create_dir_all(project.path("pages")).unwrap();
    fs::write(project.path("pages/.git"), "gitdir: elsewhere").unwrap();
    fs::write(project.path("pages/CNAME"), "example.net").unwrap();
    let finished = project.run(&["site", "results", "--out=pages"]);
    // That none of the results can be read comes after.
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("no_results"), "{}", finished.stderr);
    let finished = project.run(&["site", "results", "--url=javascript:alert(1)"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("is no http:// or https:// URL"), "{}", finished.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_figures_of_others_break_no_page() {
    let server = Counting::start().await;
    block_in_place(|| {
        let project = Project::real();
        measure(&project, &server, "results/one");
        let text = fs::read_to_string(project.path("results/one/run.json")).unwrap();
        for (number, odd) in (1..).zip([-1.0, 0.0, 1e-300, 1.75e308]) {
            let folder = project.path("results").join(format!("odd-{number}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("run.json"), &text).unwrap();
            change(&folder.join("run.json"), |record| {
                let figure = serde_json::json!({ "mean": odd, "confidence_95": [1e308, -1e308] });
                record["seed"] = number.into();
                let target = &mut record["targets"][0];
                target["rate_over_rounds_per_s"] = figure.clone();
                target["latency_over_rounds_us"]["p50"] = figure;
                record["environment"]["memory_bytes"] = u64::MAX.into();
            });
        }
        let finished = project.run(&["site", "results", "--out=public"]);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        assert!(finished.stderr.contains("5 results, 5 of them new"), "{}", finished.stderr);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_results_are_a_site() {
    let server = Counting::start().await;
    block_in_place(|| {
        let project = Project::real();
        measure(&project, &server, "one");
        let text = fs::read_to_string(project.path("one/run.json")).unwrap();
        for number in 0..1_000 {
            let folder = project.path("many").join(format!("night-{number}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("run.json"), &text).unwrap();
            change(&folder.join("run.json"), |record| record["seed"] = number.into());
        }
        let began = Instant::now();
        let finished = project.run(&["site", "many", "--out=public"]);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        println!("a thousand results: {:.1} s", began.elapsed().as_secs_f64());
        let began = Instant::now();
        let finished = project.run(&["site", "many", "--out=public"]);
        println!("again: {:.1} s", began.elapsed().as_secs_f64());
        assert_eq!(finished.stderr.trim(), "1,000 results, 0 of them new, in public/index.html");
        let page = fs::read_to_string(project.path("public/direct-closed-model.html")).unwrap();
        assert_eq!(page.matches("<tr>").count(), 1_003, "a row for each, one target and two heads");
    });
}
