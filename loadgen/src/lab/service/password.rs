//! Creates passwords of services.

use std::{fs, io};

/// Returns 128 random bits, in hexadecimal.
pub fn random_password() -> io::Result<String> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
