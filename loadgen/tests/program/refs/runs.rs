//! Runs over refs, and what their results say.

use std::fs;

use super::support::{Repository, TARGET, measured, short};

#[test]
fn each_ref_runs_its_own_code_and_the_users_files_stay() {
    let repository = Repository::new();
    repository.git(&["tag", "v1"]);
    repository.git(&["switch", "--quiet", "--create", "feature/x"]);
    repository.server("second", "0.0");
    repository.commit();
    repository.server("third", "0.0");
    repository.write("untracked", "mine");
    repository.write("staged", "mine, too");
    repository.git(&["add", "staged"]);
    let [main, head] = ["main", "HEAD"].map(|name| repository.git(&["rev-parse", name]));
    let before = repository.files();

    let targets = format!("--target=shop@v1,shop@feature/x,shop@HEAD~1,shop@{head},shop@.");
    let finished = repository.run(&[&targets, "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let of = |name: &str, key: &str, commit: &String| {
        (format!("shop@{name}"), key.to_owned(), commit.clone())
    };
    let expected = [
        of("v1", "first", &main),
        of("feature/x", "second", &head),
        of("HEAD~1", "first", &main),
        of(&head, "second", &head),
        of(".", "third", &head),
    ];
    assert_eq!(measured(&document), expected);
    let git = |index: usize| &document["targets"][index]["server"]["git"];
    assert_eq!(
        *git(4),
        serde_json::json!({
            "target": "shop", "ref": ".", "commit": head, "dirty": true, "untracked": true,
            "defined_elsewhere": false
        })
    );
    assert!(git(0)["dirty"].is_null() && git(0)["untracked"].is_null());
    for said in [
        "checking out shop@feature/x",
        "shop@v1 and shop@HEAD~1 are the same commit",
        "starting each contender once",
    ] {
        assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
    }
    assert!(!finished.stderr.contains("shop@. are the same"), "{}", finished.stderr);
    assert!(repository.path("result/shop@feature%2Fx-1.log").is_file());

    assert_eq!(repository.files(), before);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    repository.assert_nothing_left();

    let report = |format: &str| repository.project.run(&["report", "-f", format, "result"]).stdout;
    let short = &head[..10];
    assert!(report("markdown").contains(&format!("shop@feature/x is commit {short}\n")));
    // The order is that of the ranking.
    let pairs = ["shop@v1 and shop@HEAD~1", "shop@HEAD~1 and shop@v1"];
    let noted =
        pairs.map(|pair| report("markdown").contains(&format!("{pair} are the same commit")));
    assert!(noted.contains(&true), "{}", report("markdown"));
    let text = report("table");
    assert!(text.contains(&format!("commit {short} with uncommitted changes")), "{text}");
    assert!(text.contains("are the same commit"), "{text}");
    let page = fs::read_to_string(repository.path("result/report.html")).unwrap();
    assert!(page.contains(&format!("commit {short} with uncommitted changes")));
}

#[test]
fn a_slower_commit_is_found_slower() {
    let repository = Repository::new();
    // Both take much longer than loadgen does for a request, so that only they set the rate.
    for delay_s in ["0.005", "0.025"] {
        repository.server("first", delay_s);
        repository.commit();
    }
    let finished = repository.run(&["--target=shop@HEAD~1,shop@HEAD", "-R5", "--seed=3"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let pair = &finished.json()["comparison"]["pairs"][0];
    assert_eq!((&pair["better"], &pair["shown"]), (&"shop@HEAD~1".into(), &true.into()), "{pair}");
    assert!(pair["ratio"].as_f64().unwrap() > 2.0, "{pair}");
    assert_eq!(pair["rounds"], 5);
}

#[test]
fn a_ref_is_compared_with_itself() {
    let repository = Repository::new();
    let finished = repository.run(&["--target=shop@main", "--aa", "-R2"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let targets = measured(&document);
    let names: Vec<&str> = targets.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["shop@main", "shop@main (again)"]);
    assert_eq!(targets[0].2, targets[1].2);
    assert!(!finished.stderr.contains("are the same commit"), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("checking out").count(), 1, "{}", finished.stderr);
    repository.assert_nothing_left();
}

#[test]
fn a_capacity_is_found_at_a_ref() {
    let repository = Repository::new();
    let search = ["capacity", "/", "-t=shop@main", "-R1", "-d200ms", "-p50", "--no-calibrate"];
    let more = ["--warmup=100ms", "-u20", "--json", "--out=result"];
    let finished = repository.finish(repository.command(&[&search[..], &more].concat()));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    let commit = repository.git(&["rev-parse", "main"]);
    assert_eq!(
        (&target["name"], &target["server"]["git"]["commit"]),
        (&"shop@main".into(), &commit.as_str().into())
    );
    let shown = repository.project.run(&["report", "-f", "markdown", "result"]).stdout;
    assert!(shown.contains(&format!("shop@main is commit {}", &commit[..10])), "{shown}");
    let shown = repository.project.run(&["report", "result"]).stdout;
    assert!(shown.contains(&format!("; commit {}", &commit[..10])), "{shown}");
    repository.assert_nothing_left();
}

#[test]
fn saved_runs_of_other_commits_differ() {
    let repository = Repository::new();
    let run = |out: &str| {
        let mut words = short(&["--target=shop@main", "-R1"]);
        words.retain(|word| !word.starts_with("--out"));
        let out = format!("--out={out}");
        words.push(&out);
        let finished = repository.finish(repository.command(&words));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
    };
    run("result1");
    repository.server("second", "0.0");
    repository.commit();
    run("result2");
    let compared = repository.project.run(&["compare", "result1", "result2"]).stdout;
    let [before, after] = ["main~1", "main"].map(|name| repository.git(&["rev-parse", name]));
    assert!(compared.contains("shop@main.git.commit"), "{compared}");
    assert!(compared.contains(&before[..10]) && compared.contains(&after[..10]), "{compared}");
}

#[test]
fn the_commit_decides_how_the_target_is_started() {
    let repository = Repository::new();
    // Another command, and a build that writes a file.
    let next = TARGET.replace("server.py", "other.py")
        + "build = [\"sh\", \"-c\", \"cp server.py other.py && git describe --tags >&2; git status --short >&2\"]\n";
    repository.git(&["tag", "v1"]);
    repository.write("loadgen.toml", &next);
    repository.server("second", "0.0");
    repository.commit();
    // The working tree has another target.
    repository.write("loadgen.toml", &TARGET.replace("shop", "other"));
    let before = repository.files();
    let finished = repository.run(&["--target=shop@v1,shop@HEAD,other", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let keys: Vec<String> = measured(&document).into_iter().map(|(_, key, _)| key).collect();
    assert_eq!(keys, ["first", "second", "second"]);
    assert!(document["targets"][2]["server"]["git"].is_null());
    // The build sees the repository's history and tags, and a clean working tree of its own.
    let log = fs::read_to_string(repository.path("result/shop@HEAD-build.log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].starts_with("v1-1-g") && lines[1..] == ["?? other.py"], "{log}");
    assert_eq!(repository.files(), before);
    repository.assert_nothing_left();
}

#[test]
fn a_commit_without_the_file_is_started_as_the_working_tree_says() {
    let repository = Repository::new();
    repository.git(&["rm", "--quiet", "--cached", "loadgen.toml"]);
    repository.git(&["commit", "--quiet", "--message=without the file"]);
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stderr.contains("the commit has no loadgen.toml"), "{}", finished.stderr);
    let document = finished.json();
    assert_eq!(document["targets"][0]["server"]["git"]["defined_elsewhere"], true);
}

#[test]
fn the_working_tree_is_not_said_to_be_a_commit() {
    let repository = Repository::new();
    let finished = repository.run(&["--target=shop@HEAD,shop@.", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let git = &finished.json()["targets"][1]["server"]["git"];
    assert_eq!((&git["dirty"], &git["untracked"]), (&false.into(), &false.into()));
    // Files that Git ignores may differ.
    assert!(!finished.stderr.contains("are the same commit"), "{}", finished.stderr);
}

#[test]
fn an_ambiguous_name_is_noted() {
    let repository = Repository::new();
    repository.git(&["tag", "main"]);
    repository.server("second", "0.0");
    repository.commit();
    let tag = repository.git(&["rev-parse", "refs/tags/main"]);
    let targets = "--target=shop@main,shop@refs/heads/main";
    let finished = repository.run(&[targets, "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let keys: Vec<String> = measured(&finished.json()).into_iter().map(|it| it.1).collect();
    assert_eq!(keys, ["first", "second"]);
    let said = format!(
        "shop@main: Git warns: refname 'main' is ambiguous: loadgen takes the commit {}; \
         refs/heads/main is the branch",
        &tag[..10]
    );
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("Git warns").count(), 1, "{}", finished.stderr);
}

#[test]
fn files_of_refs_are_in_the_users_cache() {
    let build = "build = [\"pwd\"]\n";
    let repository =
        Repository { is_in_cache: true, ..Repository::with(&format!("{TARGET}{build}")) };
    let finished = repository.run(&["--target=shop@main", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let log = fs::read_to_string(repository.path("result/shop@main-build.log")).unwrap();
    let cache = repository.temporary.path().join("loadgen/refs-");
    assert!(log.starts_with(cache.to_str().unwrap()), "{log}");
    repository.assert_nothing_left();
}
