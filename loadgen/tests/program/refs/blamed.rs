//! `--profile` over two refs: the function that a change made slower.

use super::support::{Repository, SERVER};

/// A function that each request calls, and that takes longer with more work.
const DISCOUNT: &str = r#"
def discount(work):
    done = 0
    while done < work:
        done += 1
    return done

class Handler"#;

fn server(work: u32) -> String {
    let called = format!("discount({work})\n        text = json");
    SERVER.replace("\nclass Handler", DISCOUNT).replacen("text = json", &called, 1)
}

#[test]
fn the_function_that_a_change_made_slower_is_named() {
    let repository = Repository::new();
    repository.write("server.py", &server(500));
    repository.commit();
    repository.git(&["tag", "before"]);
    repository.write("server.py", &server(6_000));
    repository.commit();
    let load = ["/", "-u4", "--duration=1s", "--warmup=200ms", "--no-calibrate", "--out=result"];
    let of = ["--target=shop@before,shop@main", "--duet", "-R6", "--profile=5", "--json"];
    let finished = repository.finish(repository.command(&[&load[..], &of].concat()));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let difference = &finished.json()["profile_differences"][0];
    let blamed = &difference["functions"][0];
    assert_eq!(
        (&blamed["function"], &blamed["shown"]),
        (&"discount".into(), &true.into()),
        "{difference:#}"
    );
    let [all, own] = [difference, blamed].map(|of| of["us_per_request"].as_f64().unwrap());
    assert!(own > 0.5 * all && own < 1.5 * all, "most of {all} µs: {difference:#}");
    let graph = format!("result/{}.svg", difference["file"].as_str().unwrap());
    let graph = std::fs::read_to_string(repository.path(&graph)).unwrap();
    assert!(graph.contains("discount (server.py)"), "{graph}");
    let comment = repository.project.run(&["report", "-f", "markdown", "result"]).stdout;
    assert!(comment.contains("in discount (server.py)"), "{comment}");
}
