//! Shows where the CPU time of a request goes.

use super::efficiency::micros;
use super::interval::aligned_plus_minus;
use super::ranked::ranked;
use crate::record::{
    CapacityRecord, CostRecord, FunctionDifference, FunctionRecord, ProfileDifference,
    ProfileRecord, RunRecord,
};
use crate::text::{counted, tenths};

/// Profiles with the names of their targets, best target first.
pub(crate) type Profiles<'a> = Vec<(&'a str, &'a ProfileRecord)>;

/// Returns the profiles of a run.
pub(crate) fn of_run(record: &RunRecord) -> Profiles<'_> {
    let targets = ranked(record).into_iter().map(|(target, _)| target);
    targets.filter_map(|target| Some((target.name.as_str(), target.profile.as_ref()?))).collect()
}

/// Returns the profiles of a search.
pub(crate) fn of_search(record: &CapacityRecord) -> Profiles<'_> {
    let targets = record.targets.iter();
    targets.filter_map(|target| Some((target.name.as_str(), target.profile.as_ref()?))).collect()
}

/// Returns the profiles that were made.
pub(crate) fn made<'a>(
    profiles: &Profiles<'a>,
) -> impl Iterator<Item = (&'a str, &'a ProfileRecord)> {
    profiles.iter().copied().filter(|(_, profile)| profile.failure.is_none())
}

/// Columns of the table.
pub(crate) const HEADER: [&str; 4] = ["CPU-µs/request", "own", "share", "with its calls"];

/// How a function is written in a table.
pub(crate) struct Form {
    /// Most functions of each target.
    pub most: usize,
    /// Greatest length of a function and its file.
    pub width: usize,
    /// Text before the name of a function.
    pub before: &'static str,
}

/// Form for a terminal.
pub(crate) const TERMINAL: Form = Form { most: 5, width: 40, before: "  " };

/// Form for a comment on a pull request.
pub(crate) const MARKDOWN: Form = Form { most: 5, width: usize::MAX, before: "↳ " };

/// Form for a page.
pub(crate) const PAGE: Form = Form { most: 20, ..MARKDOWN };

/// Returns a row for each target, followed by its functions with the most CPU time of their own.
pub(crate) fn rows(profiles: &Profiles<'_>, form: &Form) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (target, profile) in made(profiles) {
        let whole = micros(profile.cpu_us_per_request);
        rows.push(vec![target.to_owned(), String::new(), String::new(), whole]);
        let functions = profile.functions.iter().take(form.most);
        rows.extend(functions.map(|function| row(function, profile, form)));
    }
    rows
}

fn row(function: &FunctionRecord, profile: &ProfileRecord, form: &Form) -> Vec<String> {
    let FunctionRecord { own, with_calls, .. } = function;
    let share = 100.0 * own.us_per_request / profile.cpu_us_per_request.max(f64::MIN_POSITIVE);
    let share = format!("{share:.0} %");
    let name = label(&function.function, &function.file, form.width);
    vec![format!("{}{name}", form.before), cost(own), share, cost(with_calls)]
}

/// Returns the function with its file; with the name of the file, or without it, if both are too long.
pub(super) fn label(function: &str, file: &str, width: usize) -> String {
    let whole = if file.is_empty() { function.to_owned() } else { format!("{function} ({file})") };
    let name = file.rsplit('/').next().unwrap_or(file);
    let candidates = [whole, format!("{function} (…/{name})")];
    let fitting = candidates.into_iter().find(|label| label.chars().count() <= width);
    fitting.unwrap_or_else(|| function.to_owned())
}

fn cost(of: &CostRecord) -> String {
    micros(of.us_per_request) + &aligned_plus_minus(of.us_per_request, of.confidence_95)
}

/// Explains the table.
pub(crate) fn legend(profiles: &Profiles<'_>) -> String {
    let rounds = profiles.iter().map(|(_, profile)| profile.rounds).max().unwrap_or(0);
    format!(
        "where the CPU time of a request goes, ± its 95 % confidence interval: sampled in {} \
         after the measured ones, which are in no other figure; profile-*.svg, .speedscope.json and \
         .collapsed have all stacks",
        counted(rounds.into(), "round")
    )
}

/// Most profiling rounds.
const MOST_ROUNDS: u32 = 100;

/// Most functions that a sentence names.
const MOST_NAMED: usize = 3;

/// Returns a sentence for each target that is mostly the same program as the first one: the functions that certainly
/// take more or less CPU time.
pub(crate) fn differences(record: &RunRecord) -> Vec<String> {
    let rounds = of_run(record).iter().map(|(_, profile)| profile.rounds).max().unwrap_or(0);
    record.profile_differences.iter().map(|of| difference(of, rounds)).collect()
}

/// `rounds` is the number of profiling rounds.
fn difference(of: &ProfileDifference, rounds: u32) -> String {
    let [one, other] = &of.targets;
    let more = if of.us_per_request < 0.0 { "less" } else { "more" };
    let [low, high] = match of.us_per_request < 0.0 {
        true => [-of.confidence_95[1], -of.confidence_95[0]],
        false => of.confidence_95,
    };
    let whole = format!(
        "a request takes {} µs ({} to {}) {more} CPU time of {other} than of {one}",
        tenths(of.us_per_request.abs()),
        tenths(low),
        tenths(high)
    );
    let shown: Vec<&FunctionDifference> = of.functions.iter().filter(|it| it.shown).collect();
    let named = shown.iter().take(MOST_NAMED).map(|it| {
        let [low, high] = it.confidence_95.map(signed);
        let place = label(&it.function, &it.file, usize::MAX);
        format!("{} µs ({low} to {high}) in {place}", signed(it.us_per_request))
    });
    let named = named.collect::<Vec<_>>().join("; ");
    match shown.len() {
        0 => {
            let tested = counted(of.functions.len() as u64, "function");
            let more = (4 * rounds).clamp(8, MOST_ROUNDS);
            format!(
                "{whole}; none of {tested} is shown to differ: --profile={more} might show some"
            )
        }
        n if n > MOST_NAMED => {
            format!("{whole}: {named}; and {} more functions differ", n - MOST_NAMED)
        }
        _ => format!("{whole}: {named}"),
    }
}

fn signed(us: f64) -> String {
    let sign = if us < 0.0 { "-" } else { "+" };
    format!("{sign}{}", tenths(us.abs()))
}

/// Returns a sentence for each target that could not be profiled.
pub(crate) fn failures(profiles: &Profiles<'_>) -> Vec<String> {
    let of = |(target, profile): &(&str, &ProfileRecord)| {
        let why = profile.failure.as_ref()?;
        Some(format!("{target} was not profiled: {why}"))
    };
    profiles.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_its_name() {
        assert_eq!(label("encode", "json/encoder.py", 42), "encode (json/encoder.py)");
        assert_eq!(label("<C>", "", 42), "<C>");
        let file = "uvicorn/protocols/http/httptools_impl.py";
        assert_eq!(label("Protocol.send", file, 40), "Protocol.send (…/httptools_impl.py)");
        assert_eq!(label("RequestResponseCycle.send", file, 40), "RequestResponseCycle.send");
    }

    #[test]
    fn only_shown_functions_are_named() {
        let function = |name: &str, us: f64, shown| FunctionDifference {
            function: name.to_owned(),
            file: "json/encoder.py".to_owned(),
            us_per_request: us,
            confidence_95: [us - 4.0, us + 4.0],
            shown,
        };
        let mut of = ProfileDifference {
            targets: ["shop@main", "shop@HEAD"].map(str::to_owned),
            us_per_request: 31.24,
            confidence_95: [27.0, 35.0],
            functions: vec![function("iterencode", 30.0, true), function("encode", -2.0, false)],
            file: String::new(),
        };
        assert_eq!(
            difference(&of, 8),
            "a request takes 31.2 µs (27 to 35) more CPU time of shop@HEAD than of shop@main: \
             +30 µs (+26 to +34) in iterencode (json/encoder.py)"
        );
        of.functions.remove(0);
        (of.us_per_request, of.confidence_95) = (-1.0, [-3.0, 1.0]);
        assert_eq!(
            difference(&of, 8),
            "a request takes 1 µs (-1 to 3) less CPU time of shop@HEAD than of shop@main; none of 1 \
             function is shown to differ: --profile=32 might show some"
        );
    }
}
