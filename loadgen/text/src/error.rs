//! Draws errors for people. The colours are loadgen's. Quoted text comes from other sources, and is
//! made printable before the error is drawn.

use std::error::Error;
use std::fmt;

use miette::{
    Diagnostic, LabeledSpan, MietteHandler, NamedSource, ReportHandler, Severity, SourceCode,
};

use super::printable::{is_obeyed, printable};

/// An error in which all quoted text is printable. `Display` draws the error with the crate miette.
pub struct ShownError(Clean);

impl ShownError {
    /// Makes all quoted text in an error printable.
    pub fn new(error: &dyn Diagnostic) -> Self {
        Self(Clean::of(error))
    }
}

impl fmt::Display for ShownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        MietteHandler::default().debug(&self.0, f)
    }
}

/// Formats an error as `code: message`, or as the message alone if the error has no code.
pub fn with_code(error: &dyn Diagnostic) -> String {
    match error.code() {
        Some(code) => format!("{code}: {error}"),
        None => error.to_string(),
    }
}

/// A copy of a diagnostic in which all text is printable.
#[derive(Debug)]
struct Clean {
    message: String,
    code: Option<String>,
    help: Option<String>,
    url: Option<String>,
    severity: Option<Severity>,
    labels: Vec<LabeledSpan>,
    source: Option<NamedSource<String>>,
    related: Vec<Clean>,
    cause: Option<Cause>,
}

/// A printable copy of an error that caused another error.
#[derive(Debug)]
struct Cause {
    message: String,
    cause: Option<Box<Cause>>,
}

impl Clean {
    fn of(error: &dyn Diagnostic) -> Self {
        let text = |text: Option<Box<dyn fmt::Display + '_>>| text.map(|text| clean(&text));
        Self {
            message: clean(error),
            code: text(error.code()),
            help: text(error.help()),
            url: text(error.url()),
            severity: error.severity(),
            labels: error.labels().into_iter().flatten().map(|label| clean_label(&label)).collect(),
            source: error.source_code().and_then(clean_source),
            related: error.related().into_iter().flatten().map(Self::of).collect(),
            cause: error.source().map(Cause::of),
        }
    }
}

impl Cause {
    fn of(error: &(dyn Error + 'static)) -> Self {
        let cause = error.source().map(|cause| Box::new(Self::of(cause)));
        Self { message: clean(error), cause }
    }
}

fn clean(text: &(impl fmt::Display + ?Sized)) -> String {
    printable(&text.to_string()).into_owned()
}

fn clean_label(label: &LabeledSpan) -> LabeledSpan {
    let text = label.label().map(|text| printable(text).into_owned());
    match label.primary() {
        true => LabeledSpan::new_primary_with_span(text, *label.inner()),
        false => LabeledSpan::new_with_span(text, *label.inner()),
    }
}

/// Returns the whole source text with the text's name, both made printable. Each unprintable
/// character is replaced by a character with as many bytes, because labels point at byte offsets in
/// the text.
fn clean_source(source: &dyn SourceCode) -> Option<NamedSource<String>> {
    let all = source.read_span(&(0, 0).into(), 0, usize::MAX).ok()?;
    let text = String::from_utf8_lossy(all.data());
    let substitute = |c: char| match c {
        '\n' | '\t' | '\r' => c,
        c if !is_obeyed(c) => c,
        c => {
            ['?', '¿', '\u{fffd}'].into_iter().find(|s| s.len_utf8() == c.len_utf8()).unwrap_or('?')
        }
    };
    // A carriage return that is drawn without a line feed lets the next text overwrite the line.
    let text: String = text.chars().map(substitute).collect();
    let text = text.replace("\r\n", " \n").replace('\r', "?");
    Some(NamedSource::new(printable(all.name().unwrap_or_default()), text))
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Clean {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

fn display(text: Option<&String>) -> Option<Box<dyn fmt::Display + '_>> {
    text.map(|text| Box::new(text) as Box<dyn fmt::Display>)
}

impl Diagnostic for Clean {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        display(self.code.as_ref())
    }

    fn severity(&self) -> Option<Severity> {
        self.severity
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        display(self.help.as_ref())
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        display(self.url.as_ref())
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self.labels.as_slice() {
            [] => None,
            labels => Some(Box::new(labels.iter().cloned())),
        }
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.related.as_slice() {
            [] => None,
            related => Some(Box::new(related.iter().map(|one| one as &dyn Diagnostic))),
        }
    }
}

#[cfg(test)]
mod tests {
    use miette::{LabeledSpan, miette};

    use super::*;

    #[test]
    fn quoted_text_in_an_error_cannot_control_the_terminal() {
        let text = "name = \"a\u{9b}\u{202e}\"\r\n# \x1b[31m \u{9b} \u{202e}\nload = { users = 0 }\n\u{1b} = 3\n";
        let labels = vec![LabeledSpan::at(0..4, "a\x1b[31m"), LabeledSpan::at(46..51, "b\u{9b}")];
        let source = NamedSource::new("te\x1b[2Jst.toml", text.to_owned());
        let error = miette!(labels = labels, "no \u{202e}").with_source_code(source);
        let error: &dyn Diagnostic = error.as_ref();
        let shown = ShownError::new(error).to_string();
        // miette adds its own colours if the tests have a terminal.
        let ours = shown.replace("\x1b[0m", "");
        assert!(ours.contains("te\\u{1b}[2Jst.toml"), "{shown:?}");
        assert!(
            !shown.contains("\x1b[31m \u{9b}") && !shown.contains(['\u{9b}', '\u{202e}', '\r'])
        );
        let source = clean_source(error.source_code().unwrap()).unwrap();
        assert_eq!(source.inner().len(), text.len(), "labels point at the same bytes");
        assert!(!source.inner().contains(|c| is_obeyed(c) && c != '\n'));
    }

    #[test]
    fn causes_of_an_error_are_shown() {
        let reason = std::io::Error::other("a\x1bb");
        let path = std::path::PathBuf::from("x\x1by");
        let error =
            miette::Report::from_err(reason).wrap_err(format!("cannot read {}", path.display()));
        let shown = ShownError::new(error.as_ref()).to_string();
        assert!(shown.contains("x\\u{1b}y") && shown.contains("a\\u{1b}b"), "{shown:?}");
    }
}
