use super::*;

const TWO: &str = r#"
    [sanic]
    framework = "Sanic"
    server = "its own"
    packages = ["sanic"]
    command = ["sanic", "--bind={host}:{port}", "--workers={workers}", "{pool_size}"]
    [flask]
    framework = "Flask"
    server = "gunicorn"
    packages = []
    command = ["gunicorn"]
    default = false
"#;

#[test]
fn the_order_of_the_file_is_kept() {
    let manifest = Manifest::parse(TWO).unwrap();
    let names: Vec<_> = manifest.targets().iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["sanic", "flask"]);
    assert_eq!(manifest.default_targets(), ["sanic"]);
}

#[test]
fn placeholders_are_filled_in() {
    let manifest = Manifest::parse(TWO).unwrap();
    let argv = manifest.target("sanic").unwrap().filled("127.0.0.1", 8000, 3, 10).0;
    assert_eq!(argv, ["sanic", "--bind=127.0.0.1:8000", "--workers=3", "10"]);
}

#[test]
fn an_unknown_key_is_underlined() {
    let text = TWO.replace("server = \"gunicorn\"", "sever = \"gunicorn\"");
    let fault = Manifest::parse(&text).unwrap_err();
    assert_eq!(fault.message, "unknown key \"sever\" in target \"flask\"");
    assert_eq!(fault.help.as_deref(), Some("did you mean \"server\"?"));
    assert_eq!(&text[fault.span.unwrap()], "sever");
}

#[test]
fn a_build_and_its_folder_are_checked() {
    let built = TWO.replace(
        "default = false",
        "build = { folder = \"go\", inputs = [\"a.go\"], command = [\"go\"] }",
    );
    let manifest =
        Manifest::parse(&built.replace("[\"gunicorn\"]", "[\"{build}/flask\"]")).unwrap();
    let target = manifest.target("flask").unwrap().clone().built_in("/tmp/flask-1");
    assert_eq!(target.filled("127.0.0.1", 1, 1, 1).0, ["/tmp/flask-1/flask"]);
    for (old, new, message) in [
        (
            "inputs = [\"a.go\"]",
            "inputs = []",
            "target \"flask\": `build` needs a command and inputs",
        ),
        ("inputs = [\"a.go\"], ", "", "missing field `inputs`"),
        ("inputs", "input", "unknown field `input`, expected one of `folder`, `inputs`, `command`"),
    ] {
        let fault = Manifest::parse(&built.replace(old, new)).unwrap_err();
        assert!(fault.message.contains(message) && fault.span.is_some(), "{}", fault.message);
    }
    let fault = Manifest::parse(&TWO.replace("[\"gunicorn\"]", "[\"{build}/flask\"]")).unwrap_err();
    assert_eq!(fault.message, "target \"flask\": {build} without a `build`");
    let version = "requires = [{ tool = \"go\", version = \"new\", install = \"\" }]";
    let fault = Manifest::parse(&TWO.replace("default = false", version)).unwrap_err();
    assert_eq!(fault.message, "must be a version, such as \"1.24\"");
}

#[test]
fn a_target_gets_a_folder_of_its_own_only_if_it_asks_for_one() {
    let manifest = Manifest::parse(&TWO.replace("[\"gunicorn\"]", "[\"nginx\", \"-p={folder}\"]"));
    let target = manifest.unwrap().target("flask").unwrap().clone();
    assert!(target.needs_folder());
    let running = target.running_in("/tmp/own");
    assert_eq!(running.filled("127.0.0.1", 1, 1, 1).0, ["nginx", "-p=/tmp/own"]);
    let in_a_variable = TWO.replace("default = false", "env = { HOME = \"{folder}\" }");
    assert!(Manifest::parse(&in_a_variable).unwrap().target("flask").unwrap().needs_folder());
    assert!(!Manifest::parse(TWO).unwrap().target("flask").unwrap().needs_folder());
}

#[test]
fn upstreams_are_targets_without_upstreams() {
    let with = |upstream: &str| {
        TWO.replace("default = false", &format!("upstreams = {{ UPSTREAM_URL = \"{upstream}\" }}"))
    };
    let manifest = Manifest::parse(&with("sanic")).unwrap();
    let names: Vec<&str> =
        manifest.with_upstreams("flask").unwrap().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["flask", "sanic"]);
    let fault = Manifest::parse(&with("snaic")).unwrap_err();
    assert_eq!(fault.message, "target \"flask\": there is no target \"snaic\"");
    let fault = Manifest::parse(&with("flask")).unwrap_err();
    assert_eq!(fault.message, "target \"flask\": the upstream \"flask\" has upstreams");
}

#[test]
fn limits_are_read_and_checked() {
    let limited = TWO.replace("default = false", "cpus = 0.5\nmemory = \"256m\"");
    let manifest = Manifest::parse(&limited).unwrap();
    let limits = manifest.target("flask").unwrap().entry.limits();
    assert_eq!((limits.cpus, limits.memory), ("0.5".parse().ok(), "256m".parse().ok()));
    let fault = Manifest::parse(&limited.replace("256m", "lots")).unwrap_err();
    assert_eq!(fault.message, "must be an amount of memory, such as 256m or 1g");
    assert_eq!(&limited.replace("256m", "lots")[fault.span.unwrap()], "\"lots\"");
}

#[test]
fn a_missing_key_and_an_empty_command_are_faults() {
    let fault = Manifest::parse(&TWO.replace("server = \"gunicorn\"", "")).unwrap_err();
    assert!(fault.message.contains("missing field `server`"), "{}", fault.message);
    let fault = Manifest::parse(&TWO.replace("[\"gunicorn\"]", "[]")).unwrap_err();
    assert_eq!(fault.message, "target \"flask\": the command is empty");
}

#[test]
fn an_unknown_target_suggests_the_nearest() {
    let manifest = Manifest::parse(TWO).unwrap();
    let error = manifest.target("flsk").unwrap_err();
    assert!(error.is_usage());
    assert!(
        matches!(error, LabError::UnknownTarget { help, .. } if help == "did you mean \"flask\"?")
    );
}
