//! Limits for a container's share of the machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use loadgen_text::limits;

/// Smallest memory limit that podman accepts for a container, in bytes.
const LEAST_MEMORY: u64 = 6 << 20;

/// Resource limits of one container; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time, in CPU seconds per second.
    pub cpus: Option<Cpus>,
    /// Largest amount of memory, in bytes: a container that needs more is killed.
    pub memory: Option<Memory>,
}

impl Limits {
    /// Returns these limits, with each missing limit taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { cpus: self.cpus.or(other.cpus), memory: self.memory.or(other.memory) }
    }

    /// Returns whether no resource is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&limits(self.cpus.map(f64::from), self.memory.map(Memory::bytes)))
    }
}

/// CPU seconds per second: 1.5 is the time of one and a half CPUs, on any CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Cpus {
    thousandths: u32,
}

/// Bytes of memory, in podman's notation: `256m`, `1g`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Memory {
    bytes: u64,
}

impl TryFrom<f64> for Cpus {
    type Error = String;

    fn try_from(cpus: f64) -> Result<Self, String> {
        // Below 0.01 CPUs, Linux grants no time slice that is long enough.
        if (0.01..=1024.0).contains(&cpus) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is between"
            )]
            return Ok(Self { thousandths: (cpus * 1e3).round() as u32 });
        }
        Err("must be a number of CPUs from 0.01 to 1024, such as 0.5".to_owned())
    }
}

impl Memory {
    /// Returns the amount in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.bytes
    }
}

impl From<Cpus> for f64 {
    fn from(cpus: Cpus) -> Self {
        Self::from(cpus.thousandths) / 1e3
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.trim().parse().unwrap_or(f64::NAN).try_into()
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(*self))
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim().to_lowercase();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" | "b" => Some(1),
            "k" | "kb" | "kib" => Some(1 << 10),
            "m" | "mb" | "mib" => Some(1 << 20),
            "g" | "gb" | "gib" => Some(1 << 30),
            _ => None,
        };
        let number: Option<u64> = digits.trim_end().parse().ok();
        let bytes = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
        match bytes {
            Some(bytes) if bytes >= LEAST_MEMORY => Ok(Self { bytes }),
            Some(_) => {
                Err("must be at least 6m: podman starts no container with less memory".to_owned())
            }
            None => Err("must be an amount of memory, such as 256m or 1g".to_owned()),
        }
    }
}

impl TryFrom<String> for Memory {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Memory> for String {
    fn from(memory: Memory) -> Self {
        memory.to_string()
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            bytes if bytes % (1 << 30) == 0 => write!(f, "{}g", bytes >> 30),
            bytes if bytes % (1 << 20) == 0 => write!(f, "{}m", bytes >> 20),
            bytes => write!(f, "{bytes}b"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn memory_is_read_in_podman_notation() {
        let bytes = |text: &str| text.parse::<Memory>().map(|memory| memory.bytes);
        assert_eq!(bytes("256m"), Ok(256 << 20));
        assert_eq!(bytes(" 1 GiB "), Ok(1 << 30));
        assert_eq!(bytes("8388608"), Ok(8 << 20));
        for wrong in ["", "m", "1t", "-1g", "1.5g", "99999999999999g"] {
            assert!(bytes(wrong).unwrap_err().contains("such as 256m"), "{wrong}");
        }
        assert!(bytes("5m").unwrap_err().contains("at least"));
    }

    #[test]
    fn cpus_must_be_a_positive_number() {
        assert_eq!("0.5".parse::<Cpus>().map(|cpus| cpus.to_string()), Ok("0.5".to_owned()));
        for wrong in ["", "0", "-1", "nan", "half", "2000"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn missing_limits_are_taken_from_others() {
        let cpus = "2".parse().ok();
        let memory = "1g".parse().ok();
        let ours = Limits { cpus, memory: None };
        let theirs = Limits { cpus: "1".parse().ok(), memory };
        assert_eq!(ours.or(theirs), Limits { cpus, memory });
        assert!(Limits::default().is_none() && !ours.is_none());
    }

    proptest! {
        #[test]
        fn written_limits_are_read_back(bytes in LEAST_MEMORY..1 << 50, thousandths in 10u32..1_024_000) {
            let (memory, cpus) = (Memory { bytes }, Cpus { thousandths });
            prop_assert_eq!(memory.to_string().parse(), Ok(memory));
            prop_assert_eq!(cpus.to_string().parse(), Ok(cpus));
        }
    }
}
