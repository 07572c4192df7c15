//! `[[claim]]`: statements about arms of one group.

use super::{find_arm, take_group, take_metric, take_needs_cpus};
use crate::error::Fault;
use crate::experiment::{Claim, Group, Statement};
use crate::file::reader::{Faults, Table, Value};
use crate::metric::{Metric, parse_percentage};
use crate::threshold::parse_condition;

/// Keys that hold the statement of a claim, each for one kind of statement.
const STATEMENTS: [&str; 4] = ["order", "ratio", "equal", "arm"];

pub(super) fn read_all(value: &Value<'_>, groups: &[Group], faults: &mut Faults<'_>) -> Vec<Claim> {
    let values = value.array("an array of tables, each headed [[claim]]", faults);
    let values = values.unwrap_or_default();
    values.iter().filter_map(|value| read(value, groups, faults)).collect()
}

fn read(value: &Value<'_>, groups: &[Group], faults: &mut Faults<'_>) -> Option<Claim> {
    let mut table = value.table("a [[claim]]", faults)?;
    let says = table.take("says").and_then(|value| value.name(faults));
    let group = take_group(&mut table, groups, faults);
    let of = group.map(|index| &groups[index]);
    let metric = take_metric(&mut table, of, faults);
    let needs_cpus = take_needs_cpus(&mut table, faults);
    let full_only = table.take("full_only").and_then(|value| value.name(faults));
    let statement = take_statement(&mut table, faults);
    let statement = match (&statement, &metric, of) {
        (Some(value), Some(metric), Some(group)) => {
            read_statement(value, &mut table, metric, group, faults)
        }
        // Keys beside a statement that cannot be checked are not unknown.
        _ => return None,
    };
    table.finish(faults);
    let says = says.map(str::to_owned);
    Some(Claim {
        says,
        group: group?,
        needs_cpus: needs_cpus?,
        full_only: full_only.map(str::to_owned),
        metric: metric?,
        statement: statement?,
    })
}

/// Takes the one key of [`STATEMENTS`] that the claim has.
fn take_statement<'a>(table: &mut Table<'a>, faults: &mut Faults<'_>) -> Option<Value<'a>> {
    let mut found = table.take_any(STATEMENTS);
    found.sort_by_key(|value| value.key_place.start);
    let fault = match found.as_slice() {
        [value] => return Some(value.clone()),
        [] => Fault::new("a claim has none of `order`, `ratio`, `equal` and `arm`")
            .at(table.place.clone(), "here")
            .help("add a statement, such as order = [\"better arm\", \"worse arm\"]"),
        [first, second, ..] => Fault::new("a claim has only one statement")
            .at(first.key_place.clone(), "this one")
            .at(second.key_place.clone(), "and this one")
            .help("write two claims"),
    };
    faults.add(fault);
    None
}

fn read_statement(
    value: &Value<'_>,
    table: &mut Table<'_>,
    metric: &Metric,
    group: &Group,
    faults: &mut Faults<'_>,
) -> Option<Statement> {
    match value.key {
        "order" => {
            let arms = read_arms(value, group, faults)?;
            if arms.len() < 2 {
                let help = "name the better arm first";
                return value.fault("`order` needs at least two arms", "too few", help, faults);
            }
            Some(Statement::Order(arms))
        }
        "ratio" => {
            let (between, published) = (table.take("between"), table.take("published"));
            let published = match published {
                None => Some(None),
                Some(value) => value.number(1e-9..=1e9, faults).map(Some),
            };
            let arms = read_two(value, group, faults);
            let help = "add the lowest and the highest ratio: between = [2, 4]";
            let between = read_required(value, between, "between", help, faults);
            let between = between.and_then(|value| read_range(&value, faults));
            Some(Statement::Ratio { arms: arms?, between: between?, published: published? })
        }
        "equal" => {
            let within = table.take("within");
            let arms = read_two(value, group, faults);
            let help = "add the largest difference: within = \"10%\"";
            let within = read_required(value, within, "within", help, faults);
            let within = within.and_then(|value| read_share(&value, faults));
            Some(Statement::Equal { arms: arms?, within: within? })
        }
        _ => {
            let is = table.take("is");
            let name = value.name(faults)?;
            let arm = find_arm(name, value.place(), group, faults);
            let help = format!("add a condition: is = {}", metric.example());
            let is = read_required(value, is, "is", &help, faults)?;
            let text = is.name(faults)?.trim();
            match parse_condition(metric, text) {
                Ok((operator, bound)) => {
                    let text = text.to_owned();
                    Some(Statement::Condition { arm: arm?, operator, bound, text })
                }
                Err(message) => {
                    let help = format!("write a condition such as {}", metric.example());
                    is.fault(format!("`is`: {message}"), "invalid condition", help, faults)
                }
            }
        }
    }
}

/// Returns the value of a key that a statement needs, or adds a fault at the statement.
fn read_required<'a>(
    statement: &Value<'_>,
    value: Option<Value<'a>>,
    key: &str,
    help: &str,
    faults: &mut Faults<'_>,
) -> Option<Value<'a>> {
    if value.is_none() {
        let fault = Fault::new(format!("a claim with `{}` has no `{key}`", statement.key));
        faults.add(fault.at(statement.key_place.clone(), "here").help(help));
    }
    value
}

/// Reads an array of different arms of the group.
fn read_arms(value: &Value<'_>, group: &Group, faults: &mut Faults<'_>) -> Option<Vec<usize>> {
    let names = value.array("an array of arms", faults)?;
    let arms = names.iter().map(|name| find_arm(name.name(faults)?, name.place(), group, faults));
    let arms: Vec<usize> = arms.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?;
    if let Some(at) = (1..arms.len()).find(|at| arms[..*at].contains(&arms[*at])) {
        let message = format!("`{}` names an arm twice", value.key);
        return names[at].fault(message, "the second time", "name each arm once", faults);
    }
    Some(arms)
}

fn read_two(value: &Value<'_>, group: &Group, faults: &mut Faults<'_>) -> Option<[usize; 2]> {
    let arms = read_arms(value, group, faults)?;
    let Ok(two) = <[usize; 2]>::try_from(arms) else {
        let message = format!("`{}` needs two arms", value.key);
        return value.fault(message, "not two", "name two arms", faults);
    };
    Some(two)
}

/// Reads the lowest and the highest ratio.
fn read_range(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<[f64; 2]> {
    let ends = value.array("an array of two numbers", faults)?;
    let ends: Vec<Option<f64>> = ends.iter().map(|end| end.number(1e-9..=1e9, faults)).collect();
    let ends: Vec<f64> = ends.into_iter().collect::<Option<_>>()?;
    match ends.as_slice() {
        [low, high] if low < high => Some([*low, *high]),
        _ => {
            let message = "`between` needs a lower and a higher number";
            value.fault(message, "not a range", "write a range such as [2, 4]", faults)
        }
    }
}

fn read_share(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<f64> {
    match parse_percentage(value.name(faults)?) {
        Ok(share) if share > 0.0 => Some(share),
        Ok(_) => value.fault("`within` must be more than 0%", "too little", "", faults),
        Err(message) => {
            let help = "write a percentage such as \"10%\"";
            value.fault(format!("`within`: {message}"), "invalid share", help, faults)
        }
    }
}
