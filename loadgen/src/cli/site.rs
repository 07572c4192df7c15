//! The command line of `loadgen site`.

use std::path::PathBuf;

use clap::Args;

/// Options of `site`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SiteArgs {
    /// Folders of saved runs, capacity searches or experiments, or folders with such folders.
    #[arg(value_name = "DIR", default_value = "runs")]
    pub folders: Vec<PathBuf>,
    /// Folder for the pages. What is there of an earlier site is used again, so that only new results are read.
    #[arg(short, long, value_name = "DIR", default_value = "public")]
    pub out: PathBuf,
    /// Title of the site.
    #[arg(long, value_name = "TEXT", default_value = "Results of load tests")]
    pub title: String,
    /// Address at which the site will be, for the links of its feed.
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub url: Option<String>,
    /// Name of the folder of a result with which the newest ones are compared, such as that of the last release.
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Keep the results of an earlier site whose folders are not there any more.
    #[arg(long)]
    pub keep: bool,
    /// Write nothing, and refuse results that are incomplete, whose figures do not agree with each other, or that
    /// loadgen itself limited. The exit code is 1 if one is refused.
    #[arg(long, conflicts_with_all = ["out", "title", "url", "baseline", "keep"])]
    pub check: bool,
}

const EXAMPLES: &str = "\
Examples:
  loadgen site                                   runs/ as pages in public/
  loadgen site nightly --baseline v2.1 --out public
  loadgen site --check contributed/              may these results be shown?";

/// Accepts only an address of the web: browsers would run others.
fn web_address(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => Ok(text.to_owned()),
        _ => Err("is no http:// or https:// URL".to_owned()),
    }
}
