//! Free ports of this machine, for services.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rand::TryRng;
use rand::rngs::SysRng;

use crate::engine::local_ports::local_ports;
use crate::lab::error::LabError;

/// Ports that were found free most recently. Their services may not listen yet.
static FOUND: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());

/// Number of ports to remember: more than services that start at the same time.
const REMEMBERED: usize = 256;

/// First port for services: most programs with a port of their own listen below.
const FIRST: u32 = 20_000;

/// Number of ports to try below those of the system, before the system chooses one.
const TRIES: usize = 100;

/// Finds a port of loopback that no process listens on at the moment, and that was not found for
/// another service shortly before.
///
/// The port is below those of the system if there is room, as the node ports of Kubernetes are.
/// The system could give a port of its own to a connection before the service listens. And when a
/// container has ended, the firewall may still lead its port elsewhere for a moment, in which the
/// system could give the port to another program, which would then be unreachable.
pub(in crate::lab) fn free_port() -> Result<u16, LabError> {
    let below = FIRST..local_ports().map_or(FIRST, |ports| ports.start);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tries = 0..TRIES;
    loop {
        let wanted = tries.next().and_then(|_| random(&below)).unwrap_or(0);
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted))
            .and_then(|listener| listener.local_addr());
        let port = match address {
            Ok(address) => address.port(),
            Err(_) if wanted != 0 => continue,
            Err(error) => return Err(LabError::io("find a free port")(error)),
        };
        if found.contains(&port) {
            continue;
        }
        found.push_back(port);
        if found.len() > REMEMBERED {
            found.pop_front();
        }
        return Ok(port);
    }
}

/// Returns a random one of the ports; `None` if there is none.
fn random(ports: &Range<u32>) -> Option<u16> {
    let random = SysRng.try_next_u32().ok()?;
    u16::try_from(ports.start + random.checked_rem(ports.end.saturating_sub(ports.start))?).ok()
}

pub(in crate::lab) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn services_that_start_together_get_different_ports() {
        let ports: BTreeSet<u16> = (0..REMEMBERED).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), REMEMBERED);
    }

    #[test]
    fn a_service_gets_no_port_of_the_system_if_others_are_free() {
        let system = local_ports().unwrap_or(0..0);
        let has_room = system.start > FIRST + 1000;
        let given = (0..50).filter(|_| system.contains(&u32::from(free_port().unwrap()))).count();
        assert!(given == 0 || !has_room, "{given} of 50 ports among {system:?}");
    }

    #[test]
    fn a_port_is_chosen_among_those_there_are() {
        assert_eq!(random(&(FIRST..FIRST + 1)), Some(20_000));
        assert_eq!(random(&(FIRST..FIRST)), None);
        assert_eq!(random(&Range { start: FIRST, end: 1024 }), None);
    }
}
