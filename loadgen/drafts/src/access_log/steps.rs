//! Steps with their weights, and files of rows with the values that were recorded.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Segment, Template, kept, secret, segment};
use super::sample::Request;
use super::segment::encoded;
use crate::draft::escape;
use crate::names::Names;
use crate::{RowsFile, Step, Value};

/// Most rows of a file.
const MOST_ROWS: usize = 1_000;

/// Longest name of a step, in characters, without its method.
const LONGEST_NAME: usize = 100;

/// Writes steps and their files. All names are unique.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub steps: Vec<Step>,
    pub rows: Vec<RowsFile>,
    /// Names of queries that are left out, as their values may be secret.
    pub secret_names: BTreeSet<String>,
    names: Names,
    files: Names,
}

/// A place of a template where requests differ.
struct Column<'a> {
    name: String,
    /// The value that nearly all requests have.
    usual: Option<Cow<'a, str>>,
    /// The value of each request of the template.
    values: Vec<Cow<'a, str>>,
}

impl Steps {
    /// Adds the step of a template, with its share of all `requests`.
    pub(super) fn add(&mut self, sample: &[Request], template: &Template, requests: usize) {
        let columns = columns(sample, template);
        let file = self.file(template, &columns);
        let rows = file.as_ref().map(|file| file.name.as_str());
        let (path, name) = (written(template, &columns, rows), shown(template, &columns));
        let method = if template.head { "HEAD" } else { "GET" };
        let name = self.names.take_title(&format!("{method} {name}"));
        let mut step = Step::new(name, method, path);
        let count = template.requests.len();
        step.about.push(format!("{} of the requests.", share(count as u64, requests as u64)));
        step.push("weight", count as i64);
        if let Some(statuses) = statuses(sample, template) {
            step.push("expect", Value::table([("status", Value::Array(statuses))]));
        }
        self.steps.push(step);
        self.rows.extend(file);
        let targets = template.requests.iter().map(|place| &sample[*place].target);
        self.secret_names.extend(targets.flat_map(|target| secret(target)));
    }

    /// Returns the file of a template whose requests differ. Its rows are those of requests that were
    /// recorded, each as often as in the sample.
    fn file(&mut self, template: &Template, columns: &[Column<'_>]) -> Option<RowsFile> {
        let open: Vec<_> = columns.iter().filter(|column| column.usual.is_none()).collect();
        let first = open.first()?;
        let rows = (0..template.requests.len()).filter(|row| is_usual(columns, *row));
        let record = |row: usize| open.iter().map(|it| it.values[row].to_string()).collect();
        let mut segments = template.segments.iter().rev();
        let last = segments.find_map(|segment| match segment {
            Segment::Fixed(name) => Some(plain(name)).filter(|name| !name.is_empty()),
            Segment::Value(_) => None,
        });
        let last = last.unwrap_or_else(|| "paths".to_owned());
        let longer = format!("{last}_{}", first.name);
        let name = if self.files.contains(&last) { longer } else { last };
        let name = self.files.take_word(&name);
        Some(RowsFile {
            file_name: format!("{name}.csv"),
            name,
            about: Vec::new(),
            columns: open.iter().map(|column| column.name.clone()).collect(),
            records: rows.take(MOST_ROWS).map(record).collect(),
        })
    }
}

/// Returns the places where the requests of a template may differ: those of the path, then those of
/// the query.
fn columns<'a>(sample: &'a [Request], template: &Template) -> Vec<Column<'a>> {
    let mut names = Names::default();
    let mut columns = Vec::new();
    let requests = || template.requests.iter().map(|place| &*sample[*place].target);
    let one = template.segments.iter().filter(|it| matches!(it, Segment::Value(_))).count() == 1;
    let mut before = String::new();
    for (depth, at) in template.segments.iter().enumerate() {
        match at {
            Segment::Fixed(name) => before = plain(name),
            Segment::Value(label) => {
                let values = requests().map(|it| segment(it, depth).unwrap_or_default());
                let alone = one || before.is_empty();
                let name = if alone { (*label).to_owned() } else { format!("{before}_{label}") };
                columns.push(Column::new(names.take_word(&name), values.collect()));
            }
        }
    }
    let mut queries: Vec<Vec<Cow<'a, str>>> = vec![Vec::new(); template.query.len()];
    for target in requests() {
        let values = kept(target).into_iter().map(|(_, value)| value);
        queries.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
    }
    for (parameter, values) in template.query.iter().zip(queries) {
        let name = Some(plain(&parameter.name)).filter(|name| !name.is_empty());
        let name = names.take_word(name.as_deref().unwrap_or("value"));
        columns.push(Column::new(name, values));
    }
    let most = template.requests.len();
    if (0..most).filter(|row| is_usual(&columns, *row)).count() * 2 < most {
        columns.iter_mut().for_each(Column::open_unless_constant);
    }
    columns
}

/// Whether a request has the usual value in each column that has one.
fn is_usual(columns: &[Column<'_>], row: usize) -> bool {
    columns.iter().all(|it| it.usual.is_none() || it.usual.as_ref() == Some(&it.values[row]))
}

impl<'a> Column<'a> {
    fn new(name: String, values: Vec<Cow<'a, str>>) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        values.iter().for_each(|value| *counts.entry(value).or_default() += 1);
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        // 95 %: the other requests are left out of the rows.
        let usual = most.filter(|(_, count)| count * 20 >= values.len() * 19);
        let usual = usual.map(|(value, _)| Cow::Owned(value.to_owned()));
        Self { name, usual, values }
    }

    fn open_unless_constant(&mut self) {
        self.usual = self.usual.take().filter(|usual| self.values.iter().all(|it| it == usual));
    }
}

/// Returns the path and query of a step. `rows` names the file of its values.
fn written(template: &Template, columns: &[Column<'_>], rows: Option<&str>) -> String {
    path(template, columns, |column| {
        let rows = rows.unwrap_or_default();
        format!("{{{{ {rows}.{} }}}}", column.name)
    })
}

/// Returns the path and query as the name of a step.
fn shown(template: &Template, columns: &[Column<'_>]) -> String {
    let name = path(template, columns, |column| format!("{{{}}}", column.name));
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn path(
    template: &Template,
    columns: &[Column<'_>],
    open: impl Fn(&Column<'_>) -> String,
) -> String {
    let mut columns = columns.iter();
    let mut next = || match columns.next() {
        Some(Column { usual: Some(value), .. }) => escape(&encoded(value)),
        Some(column) => open(column),
        None => String::new(),
    };
    let mut path = String::new();
    for segment in &template.segments {
        path.push('/');
        match segment {
            Segment::Fixed(name) => path += &escape(&encoded(name)),
            Segment::Value(_) => path += &next(),
        }
    }
    for (index, parameter) in template.query.iter().enumerate() {
        path.push(if index == 0 { '?' } else { '&' });
        path += &encoded(&parameter.name);
        let value = next();
        if parameter.has_value {
            path.push('=');
            path += &value;
        }
    }
    path
}

/// Returns the statuses that a step must expect, if these are not only `2xx`.
fn statuses(sample: &[Request], template: &Template) -> Option<Vec<Value>> {
    // A response with 304 is for a cache, which loadgen does not have.
    let of = |place: &usize| Some(sample[*place].status).filter(|status| *status != 304);
    let redirects: BTreeSet<u16> =
        template.requests.iter().filter_map(of).filter(|status| *status >= 300).collect();
    let is_success = |place: &usize| matches!(sample[*place].status, 200..300 | 304);
    let success = template.requests.iter().any(is_success).then(|| Value::from("2xx"));
    let redirects: Vec<Value> =
        redirects.into_iter().map(|status| Value::Integer(status.into())).collect();
    (!redirects.is_empty()).then(|| success.into_iter().chain(redirects).collect())
}

/// Returns a part of a whole as people read it.
pub(super) fn share(part: u64, whole: u64) -> String {
    match part as f64 * 100.0 / whole.max(1) as f64 {
        percent if part > 0 && percent < 0.1 => "under 0.1 %".to_owned(),
        percent if part < whole && percent > 99.9 => "over 99.9 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// Returns a name of letters and digits.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_").to_ascii_lowercase();
    name.chars().take(40).collect()
}
