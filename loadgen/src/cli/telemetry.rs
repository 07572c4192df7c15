//! Telemetry, which everything that measures may have.

use std::net::Ipv6Addr;
use std::num::NonZeroU32;

use clap::Args;

use crate::report::ServeAddress;

/// Port of 127.0.0.1 at which Prometheus finds metrics, the same as that of the libraries of OpenTelemetry.
const PORT: u16 = 9464;

/// Where metrics go while the command measures.
#[derive(Debug, Clone, Args)]
pub struct TelemetryArgs {
    /// Send metrics, once a second, to a collector of OpenTelemetry at this URL, such as http://localhost:4318, or to
    /// Prometheus: http://localhost:9090/api/v1/otlp. Without URL, to that of the environment variable
    /// OTEL_EXPORTER_OTLP_ENDPOINT or else to http://localhost:4318 [default: send none].
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub otlp: Option<String>,
    /// Send the header `traceparent` with one request in N, on average, and a span for it to the collector of
    /// --otlp, so that the slow request is found in the server's own trace [default: trace none].
    #[arg(long, value_name = "N", requires = "otlp", value_parser = one_in)]
    pub trace_one_in: Option<NonZeroU32>,
    /// Serve metrics for Prometheus at this address, below /metrics: HOST:PORT, HOST, or PORT of this host only;
    /// 127.0.0.1:9464 without ADDRESS. At the end, wait up to 65 s until Prometheus has the last values [default:
    /// serve none].
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1", value_parser = address)]
    pub prometheus: Option<ServeAddress>,
}

fn one_in(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "is no whole number from 1 to 4294967295".to_owned())
}

/// Parses an address, with the port that Prometheus is told of unless the text has another.
fn address(text: &str) -> Result<ServeAddress, String> {
    let address: ServeAddress = text.parse()?;
    // An address of IPv6 without brackets has no port.
    let has_port = address.port != 0
        || text == "0"
        || (text.ends_with(":0") && text.parse::<Ipv6Addr>().is_err());
    Ok(if has_port { address } else { ServeAddress { port: PORT, ..address } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_has_that_of_metrics() {
        let said = |text| address(text).map(|address| address.to_string());
        for (text, address) in [
            ("127.0.0.1", "127.0.0.1:9464"),
            ("::1", "[::1]:9464"),
            ("2001:db8::0", "[2001:db8::0]:9464"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("9000", "127.0.0.1:9000"),
            ("localhost:0", "localhost:0"),
        ] {
            assert_eq!(said(text).as_deref(), Ok(address));
        }
        assert!(said("http://a").is_err());
    }
}
