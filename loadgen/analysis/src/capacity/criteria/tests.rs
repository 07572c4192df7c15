use super::*;
use loadgen_scenario as scenario;

fn parse(text: &str) -> Scenario {
    scenario::parse("mine", "mine.toml", text).unwrap()
}

const TWO: &str = "[[step]]\nname = \"a\"\nget = \"/a\"\n[[step]]\nname = \"b\"\nget = \"/b\"\n";

fn texts(scenario: &Scenario) -> Vec<&str> {
    scenario.thresholds.iter().map(|threshold| threshold.text.as_str()).collect()
}

#[test]
fn without_thresholds_only_the_error_rate_is_judged() {
    let mut scenario = parse(TWO);
    let criteria = Criteria::of(&mut scenario, Duration::from_secs(5));
    assert_eq!(texts(&scenario), ["error_rate < 1%"]);
    assert_eq!(criteria.start_per_s(), 28.0);
    assert_eq!(criteria.length(28.0), Duration::from_secs(5));
    assert_eq!(criteria.length(7.0), Duration::from_secs(20));
    let range = criteria.range(0.05);
    assert_eq!(criteria.length(range.lowest_per_s), Duration::from_secs(60));
    assert_eq!(criteria.length(0.001), Duration::from_secs(60));
}

#[test]
fn a_percentile_of_one_step_takes_its_samples_from_all_requests() {
    let thresholds = "[thresholds]\n\"b.p99\" = \"< 5ms\"\nerror_rate = \"< 5%\"\nrate = \"> 9\"\n";
    let mut scenario = parse(&format!("{TWO}{thresholds}"));
    let criteria = Criteria::of(&mut scenario, Duration::from_secs(1));
    assert_eq!(texts(&scenario), ["b.p99 < 5ms", "error_rate < 5%"]);
    assert_eq!(criteria.left_out, ["rate > 9"]);
    // 1,000 samples and a margin, of a step that is every second request.
    assert_eq!(criteria.start_per_s().round(), 2_253.0);
}

#[test]
fn weighted_steps_get_their_share() {
    let weighted = "[[step]]\nname = \"a\"\nget = \"/a\"\n\
                    [[step]]\nname = \"b\"\nget = \"/b\"\nweight = 1\n\
                    [[step]]\nname = \"c\"\nget = \"/c\"\nweight = 3\n";
    let scenario = parse(weighted);
    let of = |name: &str| share(&scenario, &Of::Step(name.to_owned()));
    assert_eq!((of("a"), of("b"), of("c"), share(&scenario, &Of::All)), (0.5, 0.125, 0.375, 1.0));
    assert_eq!(share(&scenario, &Of::Iterations), 0.5);
}

#[test]
fn flows_get_a_sample_for_each_iteration() {
    let flows = "[[flow]]\nname = \"a\"\nweight = 3\n[[flow.step]]\nget = \"/a\"\n\
                 [[flow]]\nname = \"b\"\n[[flow.step]]\nget = \"/b\"\nrepeat = 5\n";
    let scenario = parse(flows);
    assert_eq!(scenario.requests_per_iteration(), 2.0);
    assert_eq!(share(&scenario, &Of::Flow("a".to_owned())), 0.375);
    assert_eq!(share(&scenario, &Of::Flow("b".to_owned())), 0.125);
}

#[test]
fn a_rate_that_was_not_kept_names_the_remaining_requests() {
    let of = |requests, cancelled| Summary { requests, cancelled, ..Summary::default() };
    let asked = OfferedRate::constant(1_000.0, 1.0, 1.0);
    assert_eq!(not_kept(&of(1_000, 100), asked), None);
    let said = not_kept(&of(900, 110), asked).unwrap();
    assert!(said.starts_with("the rate was not carried: 110 of 1,010 requests"), "{said}");
}
