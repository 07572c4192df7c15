//! `loadgen man`: writes the manual pages, one for loadgen and one for each subcommand.

use std::path::Path;
use std::{fs, io};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{Cli, ManArgs};
use crate::failure::{Exit, Failure};
use crate::text::say;

/// Shown at the foot of each page.
const SOURCE: &str = concat!("loadgen ", env!("CARGO_PKG_VERSION"));

/// Writes the manual pages, such as `loadgen.1` and `loadgen-lab-up.1`.
pub(super) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let folder = &args.folder;
    let mut all = Cli::command().disable_help_subcommand(true);
    all.build();
    fs::create_dir_all(folder).and_then(|()| write(&all, folder)).map_err(|error| {
        let message = format!("cannot write manual pages in {}: {error}", folder.display());
        let help = "name a folder that you may write to";
        Failure::message(Exit::Failed, "unwritable_file", message, help)
    })?;
    say(format_args!("wrote the manual pages in {}", folder.display()));
    Ok(Exit::Done)
}

/// Writes the pages of a command and of its subcommands, except hidden ones.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write(subcommand, folder)?;
    }
    // `Man` would fill the lines of the examples.
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let page = Man::new(command.clone().after_help(None::<&str>)).source(SOURCE);
    let mut text = Vec::new();
    page.render(&mut text)?;
    sections(&notes).to_writer(&mut text)?;
    fs::write(folder.join(page.get_filename()), text)
}

/// Lays out the text at the end of a command's help, such as its examples. A line like `Examples:`
/// begins a section; all other lines stay as they are.
fn sections(notes: &str) -> Roff {
    let mut roff = Roff::new();
    for line in notes.lines() {
        match line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            Some(heading) => {
                roff.control("SH", [heading.to_uppercase().as_str()]);
                roff.control("nf", []);
            }
            None => {
                roff.text([roman(line)]);
            }
        }
    }
    roff
}
