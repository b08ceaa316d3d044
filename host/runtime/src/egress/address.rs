//! Which addresses are special: not of the public internet.
//!
//! After the IANA registries of special-purpose IPv4 and IPv6 addresses. A
//! request to one leaves only where the person granted that very host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not public; none for one that is.
pub(crate) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => Some("loopback"),
        (10, ..) | (192, 168, _) => Some("private"),
        (172, 16..=31, _) => Some("private"),
        (169, 254, _) => Some("link-local, where cloud metadata lives"),
        (100, 64..=127, _) => Some("carrier-grade NAT"),
        (0, ..) => Some("this network"),
        (192, 0, 0) => Some("protocol assignment"),
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Some("documentation"),
        (192, 88, 99) => Some("6to4 relay"),
        (198, 18..=19, _) => Some("benchmarking"),
        (224..=239, ..) => Some("multicast"),
        (240..=255, ..) => Some("reserved"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inner) = embedded_v4(address) {
        return special_v4(inner);
    }
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("site-local"),
        [0xfc00..=0xfdff, ..] => Some("private"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("documentation"),
        [0x2001, 0..=0x1ff, ..] => Some("protocol assignment"),
        [0x100, 0, 0, 0, ..] => Some("discard only"),
        [0x5f00, ..] => Some("segment routing"),
        [0x64, 0xff9b, 1, ..] => Some("local translation"),
        _ => None,
    }
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, translated
/// (RFC 6052) or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let (high, low) = match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => (g, h),
        [0, 0, 0, 0, 0, 0] if (g, h) != (0, 0) && (g, h) != (0, 1) => (g, h),
        [0x2002, ..] => (b, c),
        _ => return None,
    };
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_special_ranges() {
        for address in [
            "127.0.0.1",
            "127.255.255.254",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fec0::1",
            "fd00:ec2::254",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "3fff::1",
        ] {
            let parsed = address.parse().expect("a test address");
            assert!(special(parsed).is_some(), "{address} must be special");
        }
    }

    #[test]
    fn lets_public_addresses_be() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            let parsed = address.parse().expect("a test address");
            assert_eq!(special(parsed), None, "{address} must be public");
        }
    }
}
