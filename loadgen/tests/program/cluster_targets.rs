//! `loadgen k8s render --target`: targets that a cluster runs. The cluster itself is in the tests of `kubernetes`.

use crate::common::program::{Finished, Project};

const TARGETS: &str = r#"
[target.shop]
image = "registry/shop:1"
port = 9000
command = ["--port={port}", "--workers={workers}"]
replicas = 3
[target.local]
command = ["serve", "--port={port}"]
[target.stored]
image = "registry/stored:1"
env = { DATABASE_URL = "{postgres}" }
[target.filled]
image = "registry/filled:1"
env = { REDIS_URL = "{redis}" }
[backend.redis]
fill = ["load-fixtures"]
"#;

fn project() -> Project {
    let project = Project::bare();
    std::fs::write(project.path("loadgen.toml"), TARGETS).unwrap();
    project
}

fn render(project: &Project, words: &[&str]) -> Finished {
    let fixed = ["k8s", "render", "/", "--image=loadgen:1", "--name=lg"];
    project.run(&[&fixed[..], words].concat())
}

#[test]
fn each_number_is_a_deployment_with_a_service() {
    let project = project();
    let words =
        ["--target=shop", "--server-workers=1,2", "--cpus=0.5", "--memory=64m", "--users=5,9"];
    let finished = render(&project, &words);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let count = |text: &str| finished.stdout.matches(text).count();
    assert_eq!(count("kind: Deployment"), 2, "users are no servers");
    assert_eq!((count("replicas: 3"), count("--workers=1"), count("--workers=2")), (2, 1, 1));
    assert_eq!(
        (count("cpu: \"0.5\""), count("memory: \"67108864\"")),
        (2, 2),
        "{}",
        finished.stdout
    );
}

#[test]
fn servers_wait_for_their_backends_whose_passwords_are_in_secrets() {
    let project = project();
    let finished = render(&project, &["--target=stored", "--backend-memory=256m"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let count = |text: &str| finished.stdout.matches(text).count();
    assert_eq!(count("kind: Deployment"), 2, "{}", finished.stdout);
    assert_eq!(count("image: docker.io/library/postgres:18"), 1);
    assert_eq!(count("- lg-postgres:5432"), 1);
    assert_eq!(count("mountPath: /docker-entrypoint-initdb.d"), 1);
    assert_eq!(count("memory: \"268435456\""), 1, "as a limit");
    assert_eq!(count("postgresql://"), 0, "the URL is in a Secret");
}

#[test]
fn targets_that_no_cluster_can_run_are_refused() {
    let project = project();
    for (given, said) in [
        (&["--target=local"][..], "has no image"),
        (&["--target=filled"], "from which the backend in the cluster cannot be reached"),
        (&["--target=stored", "--backend-image=mongo=m:1"], "runs no backend of this name"),
        (&["--target=stored", "--backend-image=redis=r:1"], "no target asks for redis"),
        (&["--target=shop", "--runtime=podman"], "run in pods of the cluster"),
        (&["--target=shop", "--backend-cpus=1"], "asks for a backend"),
        (&["--target=shop", "--backend-image=redis=r:1"], "asks for a backend"),
        (&["--target=shop@main"], "refs are for processes"),
        (&["--target=shop", "--precision=5%"], "share one start"),
        (&[], "--target NAME"),
    ] {
        let finished = render(&project, given);
        assert_ne!(finished.code, Some(0), "{given:?}");
        let words: Vec<&str> = finished.stderr.split_whitespace().filter(|it| *it != "│").collect();
        let text = words.join(" ");
        assert!(text.contains(said), "{said}: {text}");
    }
    let finished = project.run(&["/", "--target=shop", "--runtime=kubernetes"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("loadgen k8s run"), "{}", finished.stderr);
}
