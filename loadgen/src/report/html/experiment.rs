//! Builds the page of an experiment: first a chart of the claims, then the arms, the findings in words, and all
//! figures of each group.

use maud::{Markup, html};

use super::about::{environment, load, repeat};
use super::chart::Charts;
use super::claims::{arms, claims, in_words};
use super::data::Drawing;
use super::table::{Called, named_rows, table};
use super::{Top, capacity, chooser, figures, header, page, sentences};
use crate::record::{ExperimentRecord, GroupRecord};
use crate::report::Reported as _;
use crate::report::words::arm_table::ArmTable;
use crate::report::words::experiment::{
    backend_alone, changed, fairness, group_headline, headline, in_containers, proved, scaling,
    tables, thresholds,
};
use crate::report::words::searched::searched;

/// Returns the HTML page of an experiment, made from the record alone.
#[must_use]
pub fn experiment(record: &ExperimentRecord) -> String {
    let of_run = record.groups.iter().flat_map(|group| &group.runs).next();
    let of_search = record.groups.iter().find_map(|group| group.capacity.as_ref());
    let measured = of_run
        .map(|run| (&run.environment, run.seed))
        .or(of_search.map(|search| (&search.environment, search.seed)));
    let mut charts = Charts::default();
    let drawn: Vec<Vec<Drawn>> =
        record.groups.iter().map(|group| draw(group, &mut charts)).collect();
    let headline = headline(record);
    let top = Top {
        kind: ExperimentRecord::kind(),
        name: &record.experiment,
        title: &record.experiment,
        headline: &headline,
        started: &record.started,
    };
    let content = html! {
        (header(top))
        main id="main" {
            (claims(record))
            (arms(record))
            (in_words(record))
            (chooser(&charts))
            @for (group, drawn) in record.groups.iter().zip(&drawn) {
                (of_group(group, drawn, &charts))
            }
            @if let Some((machine, seed)) = measured {
                section { h2 { "Environment" } (environment(machine)) }
                section {
                    h2 { "Command to repeat the experiment" }
                    (repeat(&record.command, seed))
                }
            }
        }
    };
    page(&record.title, &content, &charts)
}

/// Charts of a part of a group.
struct Drawn {
    /// Title above the charts.
    title: String,
    /// Indices of the charts on the page.
    numbers: Vec<usize>,
}

/// Adds the charts of a group to those of the page: of each scenario's steps under each load, and of a
/// search.
fn draw(group: &GroupRecord, page: &mut Charts) -> Vec<Drawn> {
    let mut all = Vec::new();
    for run in &group.runs {
        let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
        let mut drawing = Drawing::new(run, run.targets.iter().collect());
        let parts = drawing.steps();
        let on_page = page.append(drawing.charts);
        all.extend(parts.into_iter().map(|(step, numbers)| {
            let step = step.map_or("all steps".to_owned(), |name| format!("step {name}"));
            Drawn {
                title: format!("{}: {step} of {}", run.scenario, names.join(", ")),
                numbers: numbers.into_iter().map(|number| on_page.start + number).collect(),
            }
        }));
    }
    if let Some(record) = &group.capacity {
        let numbers = page.append(capacity::charts(record)).collect();
        all.push(Drawn { title: "Latency over throughput".to_owned(), numbers });
    }
    all
}

fn of_group(group: &GroupRecord, drawn: &[Drawn], charts: &Charts) -> Markup {
    let sentences_of = [
        ("Capacities", searched(group)),
        ("Scaling", scaling(group)),
        ("Thresholds", thresholds(group)),
        ("Counters and proofs", proved(group)),
        ("Differences between the arms", fairness(group)),
        ("Containers", in_containers(group)),
    ];
    html! {
        section {
            h2 { (group_headline(group)) }
            @if let Some(changed) = changed(group) { p { (changed) } }
            @for sentence in backend_alone(group) { p { (sentence) } }
            @for table in tables(group) { (arm_table(group, &table)) }
            @for (title, all) in sentences_of.iter().filter(|(_, all)| !all.is_empty()) {
                h3 { (title) }
                (sentences(all))
            }
            @for Drawn { title, numbers } in drawn.iter().filter(|drawn| !drawn.numbers.is_empty()) {
                h3 { (title) }
                (figures(charts, numbers))
            }
            @for run in &group.runs {
                @let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
                details { summary { "Load on " (names.join(", ")) } (load(run)) }
            }
        }
    }
}

fn arm_table(group: &GroupRecord, of: &ArmTable) -> Markup {
    let label = match of.title.as_str() {
        "" => format!("Results of {}", group.name),
        title => format!("{}: {title}", group.name),
    };
    let columns: Vec<&str> =
        of.header.iter().map(|name| if name.is_empty() { "Arm" } else { name }).collect();
    table(&Called::Label(&label), &of.title, &columns, &named_rows(&of.rows))
}
