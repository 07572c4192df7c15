//! Reads the parts of a shell's language that commands of servers use.

use std::sync::LazyLock;

use regex::Regex;

/// The command that a line ends with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Line {
    /// Variables before the command.
    pub(super) variables: Vec<(String, String)>,
    /// Words of the command. Without quotes, unless the command needs a shell.
    pub(super) words: Vec<String>,
    /// Folder to which the line changes before.
    pub(super) folder: Option<String>,
    /// Whether the words have variables, pipes or redirections, which only a shell understands.
    pub(super) needs_shell: bool,
    /// Whether other commands run before.
    pub(super) is_last_of_several: bool,
}

/// A word, with its text in the line.
#[derive(Default, Clone)]
struct Word {
    raw: String,
    cooked: String,
    needs_shell: bool,
}

static PORT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\$(?:PORT\b|\{(?:PORT)(?::?[-=][^}]*)?\})"#).ok());
static HOST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\$(?:HOST\b|\{(?:HOST)(?::?[-=][^}]*)?\})"#).ok());
static WORKERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "WEB_CONCURRENCY|WORKERS|GUNICORN_WORKERS|NUM_WORKERS";
    Regex::new(&format!(r"\$(?:(?:{names})\b|\{{(?:{names})(?::?[-=][^}}]*)?\}})")).ok()
});

/// Replaces variables that usually carry the address or the number of workers.
pub(super) fn filled(text: &str) -> String {
    let all = [(&PORT, "{port}"), (&HOST, "{host}"), (&WORKERS, "{workers}")];
    all.iter().fold(text.to_owned(), |text, (pattern, word)| match pattern.as_ref() {
        Some(pattern) => pattern.replace_all(&text, *word).into_owned(),
        None => text,
    })
}

/// Returns the last command of a line; `None` if the line has none.
pub(super) fn last_command(line: &str) -> Option<Line> {
    let commands = commands(&filled(line));
    let mut found = Line::default();
    let folder = commands.iter().rev().skip(1).find(|words| words[0].cooked == "cd");
    found.folder = folder.and_then(|words| Some(words.get(1)?.cooked.clone()));
    found.is_last_of_several = commands.iter().filter(|words| words[0].cooked != "cd").count() > 1;
    let mut words = commands.last()?.iter().peekable();
    while let Some(word) = words.peek() {
        let assigned = assignment(&word.cooked).filter(|_| !word.needs_shell);
        match assigned {
            Some(variable) => found.variables.push(variable),
            None if ["exec", "env", "nohup"].contains(&word.cooked.as_str()) => {}
            None => break,
        }
        words.next();
    }
    let words: Vec<&Word> = words.collect();
    found.needs_shell = words.iter().any(|word| word.needs_shell) || found.folder.is_some();
    let text =
        |word: &&Word| if found.needs_shell { word.raw.clone() } else { word.cooked.clone() };
    found.words = words.iter().map(text).collect();
    (!found.words.is_empty()).then_some(found)
}

/// Returns the last command of a script; `None` if it is the end of a block, or what the script is called with.
pub(super) fn last_of_script(script: &str) -> Option<Line> {
    let code = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    let code: Vec<&str> = code.collect();
    let line = last_command(&code.join("\n"))?;
    let is_end = |word: &String| ["fi", "done", "esac", "}"].contains(&word.as_str());
    let is_called_with = line.words.iter().any(|word| word.contains("$@") || word.contains("$*"));
    (!is_called_with && !line.words.first().is_some_and(is_end)).then_some(line)
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// Returns the words of each command of a line. A pipe or a redirection is a word of its command.
fn commands(line: &str) -> Vec<Vec<Word>> {
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let mut word: Option<Word> = None;
    let mut chars = line.chars().peekable();
    let mut depth = 0_u32;
    while let Some(c) = chars.next() {
        let redirects = word.as_ref().is_some_and(|word| word.raw.ends_with(['>', '<']));
        match c {
            '\\' => {
                if let Some(next) = chars.next().filter(|next| *next != '\n') {
                    let word = word.get_or_insert_default();
                    word.raw.extend([c, next]);
                    word.cooked.push(next);
                }
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                word.raw.push(c);
                while let Some(inner) = chars.next() {
                    word.raw.push(inner);
                    match inner {
                        _ if inner == c => break,
                        '\\' if c == '"' => {
                            if let Some(next) = chars.next() {
                                word.raw.push(next);
                                word.cooked.push(next);
                            }
                            continue;
                        }
                        '$' | '`' if c == '"' => word.needs_shell = true,
                        _ => {}
                    }
                    word.cooked.push(inner);
                }
            }
            _ if c.is_whitespace() && depth == 0 && (c != '\n') => words.extend(word.take()),
            '&' | ';' | '\n' if depth == 0 && !redirects => {
                words.extend(word.take());
                all.push(std::mem::take(&mut words));
            }
            '|' if depth == 0 && chars.peek() == Some(&'|') => {
                words.extend(word.take());
                all.push(std::mem::take(&mut words));
                chars.next();
            }
            _ => {
                let word = word.get_or_insert_default();
                word.raw.push(c);
                word.cooked.push(c);
                depth = match c {
                    '(' => depth + 1,
                    ')' => depth.saturating_sub(1),
                    _ => depth,
                };
                word.needs_shell |= "$`|<>(".contains(c);
            }
        }
    }
    words.extend(word);
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_of_a_line_is_taken() {
        for (line, words, needs_shell, is_last) in [
            ("gunicorn app:app -b :$PORT", "gunicorn|app:app|-b|:{port}", false, false),
            (
                "exec uvicorn 'a b' --port \"${PORT:-8000}\"",
                "uvicorn|a b|--port|{port}",
                false,
                false,
            ),
            ("a migrate && b \\\n  serve", "b|serve", false, true),
            ("a; b --x=$Y", "b|--x=$Y", true, true),
            ("a 2>&1 | tee log", "a|2>&1|||tee|log", true, false),
            ("gunicorn 'shop:create_app()'", "gunicorn|shop:create_app()", false, false),
            ("a -w $(nproc --all) b", "a|-w|$(nproc --all)|b", true, false),
        ] {
            let found = last_command(line).unwrap();
            assert_eq!(found.words.join("|"), words, "{line}");
            assert_eq!(
                (found.needs_shell, found.is_last_of_several),
                (needs_shell, is_last),
                "{line}"
            );
        }
        assert_eq!(last_command(" \n "), None);
    }

    #[test]
    fn a_script_must_end_with_a_command() {
        let words = |script| last_of_script(script).map(|line| line.words.join(" "));
        assert_eq!(words("#!/bin/sh\n# it's\na\nb $PORT\n").as_deref(), Some("b {port}"));
        for script in ["if a; then\n  b\nfi\n", "a\nexec \"$@\"\n", "# nothing\n"] {
            assert_eq!(words(script), None, "{script}");
        }
    }

    #[test]
    fn variables_and_a_folder_are_known() {
        let found = last_command("cd src && A=1 B='x y' exec node server.js").unwrap();
        let variables =
            [("A", "1"), ("B", "x y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!((found.variables, found.folder.as_deref()), (variables.to_vec(), Some("src")));
        assert!(found.needs_shell && !found.is_last_of_several);
        assert_eq!(found.words, ["node", "server.js"]);
    }
}
