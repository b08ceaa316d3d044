//! Where a daemon listens.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The port that people and clients expect.
pub const DEFAULT_PORT: u16 = 4788;

/// Where to listen, and by which names to be called.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The address; loopback alone, unless what goes over the network is sealed.
    pub host: IpAddr,
    /// The port.
    pub port: Port,
    /// Names beside those of loopback that a request's `Host` may be, as
    /// `name` or `name:port`.
    pub allow_hosts: Vec<String>,
    /// How what goes over the network is sealed.
    pub sealing: Sealing,
}

/// How what goes over the network is sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sealing {
    /// Not at all: loopback alone.
    #[default]
    Nothing,
    /// The daemon speaks TLS.
    Tls {
        /// PEM: the certificate, then those that lead to its root.
        certificate: PathBuf,
        /// PEM: the certificate's private key.
        key: PathBuf,
    },
    /// A proxy in front of the daemon speaks TLS.
    Proxy,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: IpAddr::from([127, 0, 0, 1]),
            port: Port::Fixed(DEFAULT_PORT),
            allow_hosts: Vec::new(),
            sealing: Sealing::Nothing,
        }
    }
}

/// A port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// This one.
    Fixed(u16),
    /// Any that is free; the system chooses.
    Auto,
}

/// A text that is no port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a port is a number from 1 to 65535, or `auto`")]
pub struct PortError;

impl FromStr for Port {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => match text.parse() {
                Ok(0) | Err(_) => Err(PortError),
                Ok(port) => Ok(Self::Fixed(port)),
            },
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(port) => port.fmt(formatter),
            Self::Auto => formatter.write_str("auto"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_numbers_or_auto() {
        assert_eq!("4788".parse(), Ok(Port::Fixed(4788)));
        assert_eq!("auto".parse(), Ok(Port::Auto));
        for text in ["0", "65536", "-1", "", "http", "1 "] {
            assert_eq!(text.parse::<Port>(), Err(PortError), "{text}");
        }
        assert_eq!(Port::Auto.to_string(), "auto");
    }
}
