//! Lays out the answer of an experiment, which a terminal shows last: each claim with the published figure, the
//! figure measured here with its interval, and the finding.

use crate::record::ExperimentRecord;
use crate::report::words::claims::{ClaimRow, Claimed, Shown, counted_findings, rows};
use crate::text::{broken, count, cut, shorten, wrap_within};

/// Lines of the answer that a small terminal shows at once.
pub(super) const ANSWER: usize = 25;

/// Columns from which on a terminal has room for findings in words.
const WIDE: usize = 100;

/// Least columns for the sentence of a claim.
const LEAST: usize = 20;

/// Ways to show the claims, the longest first: lines for a sentence, and whether all pairs of an order have a
/// line, or only the pair that decides.
const FORMS: [(usize, bool); 5] = [(3, true), (2, true), (2, false), (1, true), (1, false)];

/// Returns the claims, in the longest form that has at most `lines` lines; without one, in the shortest.
pub(super) fn answer(record: &ExperimentRecord, columns: usize, lines: usize) -> String {
    let rows = rows(record);
    if rows.is_empty() {
        return " the experiment makes no claims\n".to_owned();
    }
    let claims = match rows.len() {
        1 => "1 claim".to_owned(),
        n => format!("{} claims", count(n as u64)),
    };
    let title = wrap_within(columns, " ", &format!("{claims}: {}", counted_findings(&rows)));
    let open = why_open(&rows, columns);
    let forms = FORMS.map(|(lines, all)| Form::new(&rows, columns, lines, all).text(&rows));
    let whole = |claims: &String| format!("{title}{claims}{open}");
    let fitting = forms.iter().map(whole).find(|text| text.lines().count() <= lines);
    fitting.unwrap_or_else(|| whole(&forms[FORMS.len() - 1]))
}

/// Widths of the columns, and how much a claim says.
struct Form {
    /// Width of the finding.
    finding: usize,
    /// Width of the sentences.
    says: usize,
    /// Width of the published figures.
    published: usize,
    /// Width of the figures measured here.
    here: usize,
    /// Most lines for a sentence.
    lines: usize,
    /// Whether all pairs of an order are shown.
    all_pairs: bool,
}

impl Form {
    fn new(rows: &[ClaimRow<'_>], columns: usize, lines: usize, all_pairs: bool) -> Self {
        let figures = || rows.iter().flat_map(|row| &row.figures);
        let widest = |of: fn(&Claimed) -> String, header: &str| {
            let cells = figures().map(|one| width(&of(one)));
            cells.chain([width(header)]).max().unwrap_or(0)
        };
        let published = widest(Claimed::published, PUBLISHED);
        let here = widest(Claimed::here, HERE);
        let finding = if columns < WIDE { 1 } else { width("✗ did not hold") };
        let taken = 1 + finding + 1 + 2 + published + 2 + here;
        let says = columns.saturating_sub(taken).max(LEAST);
        Self { finding, says, published, here, lines, all_pairs }
    }

    fn text(&self, rows: &[ClaimRow<'_>]) -> String {
        let header = self.line("", "", PUBLISHED, HERE);
        rows.iter().fold(header, |text, row| text + &self.claim(row))
    }

    /// Returns the lines of a claim. An order of more than two arms has a line for each pair, or for the pair
    /// that decides.
    fn claim(&self, row: &ClaimRow<'_>) -> String {
        let finding = self.finding_of(row.shown);
        if let [] | [_] = row.figures.as_slice() {
            let figure = row.figures.first();
            let here = figure.map_or_else(|| row.shown.word().to_owned(), Claimed::here);
            let published = figure.map_or("–".to_owned(), Claimed::published);
            let says = self.says(&row.claim.says, self.says);
            let mut lines = says.iter();
            let first = lines.next().map_or("", String::as_str);
            let text = self.line(&finding, first, &published, &here);
            return lines.fold(text, |text, line| text + &self.line("", line, "", ""));
        }
        let wide = self.says + 2 + self.published + 2 + self.here;
        let mut text = String::new();
        for (index, line) in self.says(&row.claim.says, wide).iter().enumerate() {
            text += &self.line(if index == 0 { &finding } else { "" }, line, "", "");
        }
        match row.decisive().filter(|_| !self.all_pairs) {
            Some(decisive) => {
                let others = format!("  {}, of {} pairs", decisive.name, row.figures.len());
                text += &self.pair(decisive, &others);
            }
            None => row.figures.iter().for_each(|pair| {
                text += &self.pair(pair, &format!("{} {}", pair.shown.symbol(), pair.name));
            }),
        }
        text
    }

    fn pair(&self, pair: &Claimed, name: &str) -> String {
        self.line("", &cut(name, self.says), &pair.published(), &pair.here())
    }

    /// Returns the lines of a sentence: all of them if they are few enough, otherwise one.
    fn says(&self, says: &str, columns: usize) -> Vec<String> {
        let lines = broken(says, columns);
        let fits = lines.len() <= self.lines && lines.iter().all(|line| width(line) <= columns);
        if fits { lines } else { vec![shorten(says, columns)] }
    }

    fn finding_of(&self, shown: Shown) -> String {
        match self.finding {
            1 => shown.symbol().to_owned(),
            _ => format!("{} {}", shown.symbol(), shown.word()),
        }
    }

    fn line(&self, finding: &str, says: &str, published: &str, here: &str) -> String {
        let line = format!(
            " {finding:<0$} {says:<1$}  {published:>2$}  {here:<3$}",
            self.finding, self.says, self.published, self.here
        );
        format!("{}\n", line.trim_end())
    }
}

const PUBLISHED: &str = "published";
const HERE: &str = "here (95 %)";

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns one line with the most frequent reason for open findings, and the rounds that may settle them.
fn why_open(rows: &[ClaimRow<'_>], columns: usize) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in rows.iter().filter_map(|row| row.claim.why.as_deref()) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, n)) => *n += 1,
            None => reasons.push((why, 1)),
        }
    }
    let Some((most, n)) = reasons.iter().rev().max_by_key(|(_, n)| *n) else {
        return String::new();
    };
    let of = if reasons.len() > 1 { format!(" ({n} claims)") } else { String::new() };
    let of = if *n == 1 { of.replace("claims", "claim") } else { of };
    let others = if reasons.len() > 1 { ", and other reasons" } else { "" };
    let more = match rows.iter().filter_map(|row| row.claim.more_rounds).max() {
        Some(1) => "; 1 more round may settle it".to_owned(),
        Some(n) => format!("; up to {} more rounds may settle it", count(n.into())),
        None => String::new(),
    };
    format!(" {}\n", cut(&format!("not settled: {most}{of}{others}{more}"), columns - 1))
}
