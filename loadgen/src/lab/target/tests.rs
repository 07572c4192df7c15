use super::*;
use crate::lab::podman::variable;
use crate::lab::{Home, Manifest};

/// Returns the command line of a target in a container, and its variables with their values,
/// as compose.yaml has them.
fn in_container(target: &TargetSpec) -> (Vec<String>, Vec<String>) {
    if target.shares_image() {
        let workers = "--workers=${SERVER_WORKERS:-1}";
        let argv = [&target.name, "--host=0.0.0.0", workers].map(str::to_owned);
        return (argv.into(), Vec::new());
    }
    let target = target.clone().built_in("/srv").running_in("/tmp");
    let (argv, env) = target.filled("0.0.0.0", 8000, 1, 10);
    let (other_argv, other_env) = target.filled("0.0.0.0", 8000, 2, 20);
    // A word that changes with the numbers ends in a number that a variable of compose.yaml
    // sets.
    let of_compose = |word: &String, other: &String| {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        match &word[stem.len()..] {
            _ if word == other => word.clone(),
            "10" => format!("{stem}${{POOL_SIZE:-10}}"),
            _ => format!("{stem}${{SERVER_WORKERS:-1}}"),
        }
    };
    let argv = argv.iter().zip(&other_argv).map(|(word, other)| of_compose(word, other));
    let env = env.iter().zip(other_env.values());
    let env = env.map(|((name, value), other)| format!("{name}: {}", of_compose(value, other)));
    (argv.collect(), env.collect())
}

#[test]
fn compose_yaml_has_a_service_for_each_target() {
    let home = Home::find().unwrap();
    let yaml = std::fs::read_to_string(home.compose()).unwrap();
    let manifest = Manifest::of(&home).unwrap();
    for target in manifest.targets() {
        let TargetSpec { name, entry, .. } = target;
        let start = yaml.find(&format!("\n  {name}:\n")).expect(name);
        let service = yaml[start + 1..].split("\n\n").next().unwrap();
        let plain: String = service.chars().filter(|c| !"\"[],\n".contains(*c)).collect();
        let words = plain.split_whitespace().filter(|word| *word != "-");
        let plain = words.collect::<Vec<_>>().join(" ");
        let (argv, env) = in_container(target);
        let command = format!("command: {}", argv.join(" "));
        for part in [command].into_iter().chain(env) {
            assert!(plain.contains(&part), "{plain}\n\n{part}");
        }
        for (variable, upstream) in &entry.upstreams {
            // The proxies share this.
            assert!(plain.contains("<<: *proxy"), "{plain}");
            let url = format!("{variable}: ${{{variable}:-http://{upstream}:8000}}");
            assert!(yaml.contains(&url), "{name}");
        }
        assert!(service.contains(&format!("127.0.0.1:${{{}:-", variable(name, "PORT"))));
        let image = format!("${{{}:-localhost/loadgen-{name}}}", variable(name, "IMAGE"));
        assert_eq!(service.contains(&image), !target.shares_image(), "{service}");
    }
}
