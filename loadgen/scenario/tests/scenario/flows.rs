//! Tests which steps users send, in which flow, and which steps no user sends.

use loadgen_scenario::{Assign, Flow, Given, Of, Pick, Repeat, Step, explain::explain};

use super::files::read;

#[test]
fn flows_follow_the_start_steps_and_precede_the_stop_steps() {
    let text = "assign = \"user\"\n\
                [[step]]\nname = \"login\"\nwhen = \"start\"\npost = \"/login\"\n\
                capture = { token = { json = \"/token\" } }\n\
                [[step]]\nname = \"logout\"\nwhen = \"stop\"\npost = \"/{{ token }}/{{ order }}\"\n\
                [[flow]]\nname = \"browse\"\nweight = 80\n\
                [[flow.step]]\nname = \"list\"\nget = \"/{{ token }}\"\nrepeat = 3\n\
                [[flow.step]]\nname = \"mine\"\nget = \"/{{ order }}\"\n\
                when = { present = \"order\" }\ngroup = \"orders\"\n\
                [[flow]]\nname = \"buy\"\nweight = 20\n\
                [[flow.step]]\nname = \"order\"\npost = \"/\"\ngroup = \"orders\"\n\
                repeat = { min = 0, max = 2 }\n\
                capture = { order = { header = \"x-order\", optional = true } }\n\
                [thresholds]\n\"buy.p95\" = \"< 2s\"\n\"iteration.error_rate\" = \"< 1%\"\n\
                \"orders.max\" = \"< 1s\"\n\"list.max\" = \"< 1s\"";
    let scenario = read(text);
    let names: Vec<&str> = scenario.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["login", "list", "mine", "order", "logout"]);
    let flow = |name: &str, weight, steps| Flow { name: name.to_owned(), weight, steps };
    assert_eq!(scenario.flows, [flow("browse", 80, 1..3), flow("buy", 20, 3..4)]);
    assert_eq!(scenario.assign, Assign::User);
    assert_eq!(scenario.steps[1].repeat, Repeat { min: 3, max: 3 });
    assert_eq!(scenario.steps[2].given, Some(Given::Present("order".to_owned())));
    assert_eq!(scenario.steps[3].repeat, Repeat { min: 0, max: 2 });
    assert!(scenario.steps[3].captures[0].optional);
    let of: Vec<&Of> = scenario.thresholds.iter().map(|threshold| &threshold.of).collect();
    let [buy, orders, list] = ["buy", "orders", "list"].map(str::to_owned);
    assert_eq!(of, [&Of::Flow(buy), &Of::Iterations, &Of::Group(orders), &Of::Step(list)]);
}

#[test]
fn steps_of_a_round_are_apart_from_those_of_users() {
    let text = "[http]\nauth = { user = \"a\", password = \"b\" }\n\
                [[step]]\nname = \"login\"\nwhen = \"once\"\npost = \"/login\"\n\
                capture = { token = { json = \"/*/token\", match = \"last\" } }\n\
                [[step]]\nname = \"hi\"\nwhen = \"start\"\nget = \"/{{ token }}\"\n\
                [[step]]\nname = \"bye\"\nwhen = \"stop\"\nget = \"/{{ token }}\"\n\
                [[step]]\nname = \"logout\"\nwhen = \"finally\"\ndelete = \"/{{ token }}\"\n\
                [[flow]]\nname = \"browse\"\n[[flow.step]]\nname = \"list\"\nget = \"/{{ token }}\"\n\
                [[flow]]\nname = \"buy\"\n[[flow.step]]\nname = \"order\"\npost = \"/{{ token }}\"\n";
    let scenario = read(text);
    let names = |steps: &[Step]| steps.iter().map(|step| step.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&scenario.once), ["login"]);
    assert_eq!(names(&scenario.steps), ["hi", "list", "order", "bye"]);
    assert_eq!(names(&scenario.finally), ["logout"]);
    let of_flows: Vec<_> = scenario.flows.iter().map(|flow| flow.steps.clone()).collect();
    assert_eq!(of_flows, [1..2, 2..3]);
    assert_eq!((scenario.start_steps(), scenario.stop_steps()), (0..1, 3..4));
    assert_eq!(scenario.once[0].captures[0].pick, Pick::Last);
    assert!(
        scenario
            .all_steps()
            .all(|step| step.headers.iter().any(|(name, _)| name == "authorization"))
    );
    assert_eq!(scenario.warnings(), [""; 0]);
    insta::assert_snapshot!(explain(&scenario));
}
