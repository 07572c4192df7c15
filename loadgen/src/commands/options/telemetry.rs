//! Builds the settings of telemetry from the command line and the environment.

use std::env;
use std::num::NonZeroU32;
use std::path::Path;

use crate::cli::TelemetryArgs;
use crate::failure::{Exit, Failure};
use crate::report::telemetry::{
    BadSetting, OtlpSettings, TelemetrySettings, is_disabled, resource_attributes,
};

/// Returns where the metrics go of a command that saves its results in this folder; `None` if none were requested.
///
/// # Errors
/// If a setting of the environment or the URL cannot be followed.
pub fn settings(args: &TelemetryArgs, folder: &Path) -> Result<Option<TelemetrySettings>, Failure> {
    let variable = |name: &str| env::var(name).ok();
    let otlp = args
        .otlp
        .as_deref()
        .map(|url| Some(url).filter(|url| !url.is_empty()))
        .map(|url| OtlpSettings::read(url, args.trace_one_in.is_some(), variable));
    let otlp = otlp.transpose().map_err(|error| bad_setting(&error))?.flatten();
    if otlp.is_none() && args.prometheus.is_none() {
        return Ok(None);
    }
    let given = resource_attributes(variable).map_err(|error| bad_setting(&error))?;
    let run = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut resource = vec![
        ("service.name".to_owned(), "loadgen".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id".to_owned(), format!("{host}/{run}/{}", std::process::id())),
        ("host.name".to_owned(), host),
        ("loadgen.run".to_owned(), run),
    ];
    for (key, value) in given {
        resource.retain(|(known, _)| *known != key);
        resource.push((key, value));
    }
    Ok(Some(TelemetrySettings { otlp, prometheus: args.prometheus.clone(), resource }))
}

/// Returns in how many requests one is traced; `None` if none is.
pub fn traced(args: &TelemetryArgs) -> Option<NonZeroU32> {
    // Nobody would get the spans.
    args.trace_one_in.filter(|_| !is_disabled(|name| env::var(name).ok()))
}

/// Returns the error that a setting cannot be followed.
pub fn bad_setting(error: &BadSetting) -> Failure {
    let BadSetting { message, help } = error;
    Failure::message(Exit::Usage, "bad_otlp_setting", message.clone(), help)
}
