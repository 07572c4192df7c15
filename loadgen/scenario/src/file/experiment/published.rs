//! `[[published]]`: figures that somebody published about arms of one group.

use super::{find_arm, take_group, take_metric, take_required};
use crate::experiment::{Group, Published};
use crate::file::reader::{Faults, Value};
use crate::metric::Metric;

pub(super) fn read_all(
    value: &Value<'_>,
    groups: &[Group],
    faults: &mut Faults<'_>,
) -> Vec<Published> {
    let values = value.array("an array of tables, each headed [[published]]", faults);
    let values = values.unwrap_or_default();
    values.iter().filter_map(|value| read(value, groups, faults)).collect()
}

fn read(value: &Value<'_>, groups: &[Group], faults: &mut Faults<'_>) -> Option<Published> {
    let mut table = value.table("a [[published]]", faults)?;
    let group = take_group(&mut table, groups, faults);
    let of = group.map(|index| &groups[index]);
    let metric = take_metric(&mut table, of, faults);
    let machine = table.take("machine").and_then(|value| value.name(faults));
    let best = table.take("best_of_rounds").map_or(Some(false), |value| value.boolean(faults));
    let help = "add figures by arm, such as figures = { sanic = \"7.53ms\" }";
    let figures = take_required(&mut table, "figures", help, faults);
    table.finish(faults);
    let (metric, of) = (metric?, of?);
    let figures = read_figures(&figures?, &metric, of, faults)?;
    Some(Published {
        group: group?,
        machine: machine.map(str::to_owned),
        metric,
        best_of_rounds: best?,
        figures,
    })
}

fn read_figures(
    value: &Value<'_>,
    metric: &Metric,
    group: &Group,
    faults: &mut Faults<'_>,
) -> Option<Vec<(usize, f64)>> {
    let figures = value.table("`figures`", faults)?.rest();
    if figures.is_empty() {
        let help = "add a figure, such as sanic = \"7.53ms\"";
        return value.fault("`figures` is empty", "no figure", help, faults);
    }
    let read = figures.iter().map(|figure| {
        let arm = find_arm(figure.key, figure.key_place.clone(), group, faults);
        let bound = figure.text(faults).and_then(|text| match metric.bound(text.trim()) {
            Ok(bound) => Some(bound),
            Err(message) => {
                let help = format!("write a figure such as \"{}\"", example(metric));
                figure.fault(format!("`{}`: {message}", figure.key), "invalid figure", help, faults)
            }
        });
        Some((arm?, bound?))
    });
    // Every figure is read before the first fault decides, so that all faults are found.
    read.collect::<Vec<_>>().into_iter().collect()
}

/// Returns an example of a figure of this metric: an example of a condition without its sign.
fn example(metric: &Metric) -> &'static str {
    metric.example().trim_matches('"').trim_start_matches(['<', '>', '=', ' '])
}
