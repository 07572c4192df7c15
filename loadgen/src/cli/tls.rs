//! TLS options of the requests: data only.

use std::path::PathBuf;

use clap::Args;

/// TLS options, which add to those of the scenario.
#[derive(Debug, Default, Args)]
pub struct TlsArgs {
    /// Accept any certificate of a server at an https:// URL.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// PEM file with certificates to trust besides the system's: of authorities, or the self-signed
    /// certificate of a server.
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// PEM file with the certificate that the users show to servers.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// PEM file with the private key of --cert.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}
