//! Applies the TLS options of the command line to a scenario.

use std::path::Path;

use crate::cli::TlsArgs;
use crate::failure::{Exit, Failure};
use crate::scenario::{IdentityFault, Tls, read_pem};

/// Adds the options to those of a scenario.
pub fn apply(args: &TlsArgs, tls: &mut Tls) -> Result<(), Failure> {
    tls.insecure |= args.insecure;
    if let Some(file) = &args.cacert {
        tls.trust(read("--cacert", file)?).map_err(|why| bad("--cacert", file, &why))?;
    }
    if let (Some(cert), Some(key)) = (&args.cert, &args.key) {
        let (chain, secret) = (read("--cert", cert)?, read("--key", key)?);
        tls.show(&chain, secret, None).map_err(|fault| match fault {
            IdentityFault::Certificate(why) => bad("--cert", cert, &why),
            IdentityFault::Key(why) => bad("--key", key, &why),
        })?;
    }
    Ok(())
}

/// Returns the first option that was given, if any.
pub fn given(args: &TlsArgs) -> Option<&'static str> {
    let options = [
        ("--insecure", args.insecure),
        ("--cacert", args.cacert.is_some()),
        ("--cert", args.cert.is_some()),
    ];
    options.into_iter().find_map(|(option, given)| given.then_some(option))
}

fn read(option: &str, file: &Path) -> Result<String, Failure> {
    read_pem(file).map_err(|error| bad(option, file, &format!("cannot be read: {error}")))
}

fn bad(option: &str, file: &Path, why: &str) -> Failure {
    let message = format!("{option}: {} {why}", file.display());
    Failure::message(Exit::Usage, "bad_certificate", message, "name a PEM file")
}
