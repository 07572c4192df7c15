//! Options that describe one request, instead of a scenario: data only.

use clap::Args;

/// One request, to be loaded without a scenario.
#[derive(Debug, Default, Args)]
pub struct RequestArgs {
    /// URL to load instead of a scenario, or several URLs to compare, with path and query. NAME=
    /// sets the name of a server in the results. A path alone, such as /search?q=a, is requested
    /// from the targets, or from the servers at --url. URL, headers and body are templates, such as
    /// `{{ int 1 9 }}`.
    #[arg(value_name = "[NAME=]URL|PATH", conflicts_with = "scenario")]
    pub urls: Vec<String>,
    /// Method of the request to URL [default: GET, or POST with --body].
    #[arg(
        short = 'X',
        long,
        value_name = "METHOD",
        requires = "urls",
        conflicts_with = "scenario"
    )]
    pub method: Option<String>,
    /// Header of the request to URL, such as `accept: text/html`; may be given several times.
    #[arg(
        short = 'H',
        long,
        value_name = "HEADER",
        requires = "urls",
        conflicts_with = "scenario"
    )]
    pub header: Vec<String>,
    /// Body of the request to URL: the text itself, or the text of a file. The media type is that
    /// of the header content-type; without this header `application/json` if the text is JSON, or
    /// else `text/plain; charset=utf-8`.
    #[arg(
        short,
        long,
        value_name = "TEXT|@FILE",
        requires = "urls",
        conflicts_with = "scenario",
        allow_hyphen_values = true
    )]
    pub body: Option<String>,
}
