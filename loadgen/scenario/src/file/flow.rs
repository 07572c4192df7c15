//! `[[step]]` and `[[flow]]`: the requests of users, in the order of sending.

use std::ops::Range;

use super::capture;
use super::keys::schema;
use super::keys::{Choice, Custom, Defaulted, Integer, Key, Keys, custom, integer, key, not_blank};
use super::moment::{self, Moment};
use super::name::{Name, check_unique};
use super::reader::{Faults, Value};
use super::step::{self, MOST_WEIGHT, Read};
use super::websocket::{self, Placed};
use crate::action::Action;
use crate::error::Fault;
use crate::flow::{Assign, Flow, ITERATION};
use crate::model::{Step, When};

const ASSIGNS: [(&str, Assign); 2] = [("iteration", Assign::Iteration), ("user", Assign::User)];

keys! {
    /// time at which a user takes a [flow](#flow): before each iteration, or once, for all its iterations
    pub(super) const ASSIGN: Defaulted<Choice<Assign>> = key("assign", Choice(&ASSIGNS)).or("\"iteration\"");
}

/// All steps and flows of a file, and the names to which thresholds can refer.
#[derive(Default)]
pub(super) struct Steps {
    /// `None` if a step or a flow has a fault.
    pub all: Option<All>,
    /// Names of the steps of users; `None` if a step has no valid name.
    pub steps: Option<Vec<String>>,
    /// Names of the steps that no user sends.
    pub of_round: Vec<String>,
    /// Names of the flows; `None` if a flow has no valid name.
    pub flows: Option<Vec<String>>,
    /// Position of the first step of a WebSocket; `None` without such steps.
    pub websocket: Option<Range<usize>>,
    /// Position of the first step that makes a gRPC call; `None` without such steps.
    pub call: Option<Range<usize>>,
}

/// The steps of a file without faults, and its flows.
pub(super) struct All {
    pub once: Vec<Step>,
    pub steps: Vec<Step>,
    pub finally: Vec<Step>,
    pub flows: Vec<Flow>,
}

/// Reads the values of `step` and `flow`. `one_flow_each` tells whether each user takes one flow only.
pub(super) fn read_all(
    steps: Option<Value<'_>>,
    flows: Option<Value<'_>>,
    one_flow_each: bool,
    faults: &mut Faults<'_>,
) -> Steps {
    let steps = read_tables(steps, "an array of tables, each headed [[step]]", faults);
    let flows = read_tables(flows, "an array of tables, each headed [[flow]]", faults);
    let (Some(steps), Some(flows)) = (steps, flows) else { return Steps::default() };
    if steps.is_empty() && flows.is_empty() {
        let fault = Fault::new("the scenario has no step: there is nothing to send");
        faults.add(fault.help("add a [[step]] with a request, such as get = \"/\""));
        return Steps::default();
    }
    let headers: Vec<Header<'_>> = flows.iter().map(|flow| Header::read(flow, faults)).collect();
    let of_flows = headers.iter().map(|header| captured(&header.steps));
    let of_flows: Vec<Vec<String>> = of_flows.collect();
    faults.scope.expect(captured(&steps).into_iter().chain(of_flows.concat()).collect());

    let ends_before = |is_later: fn(When) -> bool| {
        let last = steps.iter().rposition(|step| !moment::written(step).is_some_and(is_later));
        last.map_or(0, |index| index + 1)
    };
    let (of_users, finally) = steps.split_at(ends_before(|when| when == When::Finally));
    // Stop steps may use what flows capture, so they are read after the flows.
    let last =
        if flows.is_empty() { of_users.len() } else { ends_before(|when| when >= When::Stop) };
    let (first, stop) = of_users.split_at(last);
    let mut read = step::read_all(&step::KEYS, first, faults);
    let first_ends = read.len();
    let mut begins = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        begins.push(read.len());
        // A user may have taken any other flow before.
        let others = of_flows.iter().enumerate().filter(|(other, _)| *other != index);
        let others = others.flat_map(|(_, names)| names.clone());
        faults.scope.has_captured(captured(first).into_iter().chain(others).collect());
        let own = step::read_all(&step::OF_FLOW, &header.steps, faults);
        refuse_once(&own, faults);
        read.extend(own);
    }
    let flows_end = read.len();
    begins.push(flows_end);
    faults.scope.captured(of_flows.concat());
    read.extend(step::read_all(&step::KEYS, stop, faults));
    let once = steps.iter().filter(|step| moment::written(step) == Some(When::Once));
    faults.scope.has_captured(once.flat_map(capture::names).collect());
    let finally = step::read_all(&step::KEYS, finally, faults);
    let outside = read[..first_ends].iter().chain(&read[flows_end..]).chain(&finally);
    check_order(outside, headers.is_empty(), faults);
    check_names(read.iter().chain(&finally), &headers, faults);
    let is_once = |read: &Read| read.moment.as_ref().is_some_and(|it| it.when == When::Once);
    let begin = read.iter().take_while(|read| is_once(read)).count();
    let once: Vec<Read> = read.drain(..begin).collect();
    begins.iter_mut().for_each(|at| *at -= begin);
    let placed: Vec<Placed> = read.iter().filter_map(|it| it.placed.clone()).collect();
    // A step with a fault may be the one that opens the WebSocket.
    if placed.len() == read.len() {
        let begins = if headers.is_empty() { &[][..] } else { &begins };
        websocket::check_order(&placed, begins, one_flow_each, faults);
    }
    let first = |uses: fn(Action) -> bool| {
        placed.iter().find(|it| uses(it.action)).map(|it| it.place.clone())
    };
    let websocket = first(Action::uses_socket);
    let of_round = once.iter().chain(&finally).filter_map(|it| it.placed.as_ref());
    let mut of_round = of_round.filter(|it| it.action == Action::Call);
    let call = first(|action| action == Action::Call)
        .or_else(|| of_round.next().map(|it| it.place.clone()));

    let named = read.iter().map(|it| Some(it.name.as_ref()?.text.clone())).collect();
    let flow_names = headers.iter().map(|it| Some(it.name.as_ref()?.text.clone())).collect();
    let of_round = once.iter().chain(&finally).filter_map(|it| it.name.as_ref());
    let of_round = of_round.map(|name| name.text.clone()).collect();
    let [once, steps, finally] = [once, read, finally]
        .map(|read| read.into_iter().map(|it| it.step).collect::<Option<Vec<Step>>>());
    let all = steps.and_then(|steps| {
        let flows: Vec<Flow> = match headers.is_empty() {
            true => vec![only_flow(&steps)],
            false => {
                let each = headers.into_iter().zip(begins.windows(2));
                each.map(|(header, at)| header.flow(at[0]..at[1])).collect::<Option<_>>()?
            }
        };
        Some(All { once: once?, steps, finally: finally?, flows })
    });
    Steps { all, steps: named, of_round, flows: flow_names, websocket, call }
}

fn read_tables<'a>(
    value: Option<Value<'a>>,
    expected: &str,
    faults: &mut Faults<'_>,
) -> Option<Vec<Value<'a>>> {
    value.map_or(Some(Vec::new()), |value| value.array(expected, faults))
}

/// Reads `assign`. `has_flows` tells whether the file has flows to assign.
pub(super) fn read_assign(
    value: &Value<'_>,
    has_flows: bool,
    faults: &mut Faults<'_>,
) -> Option<Assign> {
    if !has_flows {
        let help = "add [[flow]] tables, or leave out `assign`";
        return value.fault("`assign` needs flows", "no effect", help, faults);
    }
    value.choice(&ASSIGNS, faults)
}

keys! {
    /// a journey of a user: the steps of one iteration
    pub(super) const KEYS: Keys = table("a [[flow]]");

    /// name of the flow in the results
    const NAME: Key<Custom> = key("name", not_blank("unique string of one line")).required();
    /// relative frequency of the flow
    const WEIGHT: Defaulted<Integer> = key("weight", integer(1, MOST_WEIGHT)).or("1");
    /// steps of an iteration, at least one, each in a table `[[flow.step]]` with the keys of [`[[step]]`](#step)
    const STEP: Key<Custom> =
        key("step", custom("array of tables", || schema::array(step::OF_FLOW.schema()).with("minItems", 1)))
        .required();
}

/// A `[[flow]]` whose steps are not read yet.
struct Header<'a> {
    name: Option<Name>,
    weight: Option<u32>,
    steps: Vec<Value<'a>>,
}

impl<'a> Header<'a> {
    fn read(value: &Value<'a>, faults: &mut Faults<'_>) -> Self {
        let nothing = Self { name: None, weight: None, steps: Vec::new() };
        let Some(mut table) = KEYS.open(value, faults) else { return nothing };
        let name = match NAME.take(&mut table) {
            Some(name) => Name::read(&name, "a flow", faults),
            None => {
                let help = "add a name, such as name = \"browse\": results are stored by name";
                value.fault("the flow has no `name`", "no name", help, faults)
            }
        };
        let weight = WEIGHT.read(&mut table, faults).and_then(|weight| weight.try_into().ok());
        let steps = match STEP.take(&mut table) {
            Some(value) => value.array("an array of tables, each headed [[flow.step]]", faults),
            None => Some(Vec::new()),
        };
        if steps.as_ref().is_some_and(Vec::is_empty) {
            let help = "add a [[flow.step]] with a request below the flow, such as get = \"/\"";
            value.fault::<()>("the flow has no step", "nothing to send", help, faults);
        }
        table.finish(faults);
        Self { name, weight, steps: steps.unwrap_or_default() }
    }

    fn flow(self, steps: Range<usize>) -> Option<Flow> {
        Some(Flow { name: self.name?.text, weight: self.weight?, steps })
    }
}

/// Returns the flow of a scenario without `[[flow]]`.
fn only_flow(steps: &[Step]) -> Flow {
    let count = |when: When| steps.iter().filter(|step| step.when == when).count();
    let begin = count(When::Start);
    let steps = begin..begin + count(When::Iteration);
    Flow { name: ITERATION.to_owned(), weight: 1, steps }
}

fn captured(steps: &[Value<'_>]) -> Vec<String> {
    steps.iter().flat_map(capture::names).collect()
}

/// Checks that names differ: those of the steps, and those of groups and flows from all others.
fn check_names<'a>(
    read: impl Iterator<Item = &'a Read> + Clone,
    headers: &[Header<'_>],
    faults: &mut Faults<'_>,
) {
    let steps = || read.clone().filter_map(|it| it.name.as_ref());
    let flows = || headers.iter().filter_map(|it| it.name.as_ref());
    check_unique("steps", steps(), faults);
    check_unique("flows", flows(), faults);
    for flow in flows() {
        if let Some(step) = steps().find(|step| step.text == flow.text) {
            let fault = Fault::new(format!("a flow and a step are called `{}`", flow.text))
                .at(flow.place.clone(), "the flow")
                .at(step.place.clone(), "the step")
                .help("give the step another `name`: thresholds name steps and flows alike");
            faults.add(fault);
        }
    }
    let groups =
        read.clone().filter_map(|it| it.step.as_ref()?.group.as_ref().zip(it.name.as_ref()));
    for (group, name) in groups.collect::<Vec<_>>() {
        if steps().chain(flows()).any(|other| other.text == *group) {
            let message = format!("the group `{group}` has the name of a step or a flow");
            let help = "give the group another name: thresholds name groups, steps and flows alike";
            faults.add(Fault::new(message).at(name.place.clone(), "in this step").help(help));
        }
    }
}

/// Adds a fault for each step of a flow that users send once.
fn refuse_once(steps: &[Read], faults: &mut Faults<'_>) {
    let moments = steps.iter().filter_map(|it| it.moment.as_ref());
    for moment in moments.filter(|moment| moment.when != When::Iteration) {
        let message = "a step of a flow cannot be sent once";
        let help = "write it as a [[step]] outside the flows: it is sent whichever flow users take";
        faults.add(Fault::new(message).at(moment.place.clone(), "once").help(help));
    }
}

/// Checks that the steps outside flows are in the order of sending, that of [`When`]. Steps of iterations are all in flows, or all outside flows.
fn check_order<'a>(
    read: impl Iterator<Item = &'a Read> + Clone,
    without_flows: bool,
    faults: &mut Faults<'_>,
) {
    let known: Vec<&Moment> = read.clone().filter_map(|it| it.moment.as_ref()).collect();
    for pair in known.windows(2).filter(|pair| pair[0].when > pair[1].when) {
        let (wrong, how, place) = match pair[1].when {
            When::Once | When::Start => (pair[1], "follows a step that is sent later", "before"),
            _ => (pair[0], "precedes a step that is sent earlier", "after"),
        };
        let message = format!("a step with when = \"{}\" {how}", moment::word(wrong.when));
        let help = format!("move the step {place} those: steps are sent in the order of the file");
        faults.add(Fault::new(message).at(wrong.place.clone(), "not here").help(help));
    }
    let mut of_iterations = known.iter().filter(|moment| moment.when == When::Iteration);
    if !without_flows {
        for moment in of_iterations {
            let message = "this step belongs to no flow";
            let help = "write it as a [[flow.step]], or send it once: with `when` and a word";
            faults
                .add(Fault::new(message).at(moment.place.clone(), "outside the flows").help(help));
        }
        return;
    }
    if !known.is_empty() && known.len() == read.count() && of_iterations.next().is_none() {
        let fault = Fault::new("the scenario has no step for its iterations: there is no load")
            .at(known[0].place.clone(), "sent once");
        faults.add(fault.help("add a [[step]] without `when`"));
    }
}
