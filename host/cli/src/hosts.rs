//! Hosts on this machine and on private networks, which a source reaches only
//! where a person allows each: all that it names at once, so that nobody finds
//! them one by one.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use crate::context::Context;
use crate::view::{field, list, scalar};

/// The private hosts that these URLs lead to and that are not allowed yet.
pub(crate) fn missing<'u>(urls: impl IntoIterator<Item = &'u str>, allowed: &[String]) -> Vec<String> {
    let named: BTreeSet<String> = urls.into_iter().filter_map(private_host).collect();
    named.into_iter().filter(|host| !allowed.iter().any(|known| known.eq_ignore_ascii_case(host))).collect()
}

/// Those of a source: of its origins, and of the endpoints of its sign-ins.
fn missing_of(source: &Value) -> Vec<String> {
    let mut urls: Vec<String> = list(source, "origins").iter().map(scalar).collect();
    for method in list(source, "auth_methods") {
        urls.extend(method["discovered_from"].as_str().map(str::to_owned));
        for flow in list(method, "flows") {
            urls.extend(flow["endpoints"].as_object().into_iter().flatten().map(|(_, url)| scalar(url)));
        }
    }
    let allowed: Vec<String> = list(source, "allowed_hosts").iter().map(scalar).collect();
    missing(urls.iter().map(String::as_str), &allowed)
}

/// Tells of the hosts that a source's calls will need and may not reach.
pub(crate) fn tell(context: &Context, source: &Value) {
    let missing = missing_of(source);
    if missing.is_empty() {
        return;
    }
    context.output.warn(&format!(
        "it names hosts on this machine or a private network that it may not reach: {}",
        missing.join(", ")
    ));
    let set = context.command(&format!("sources set {} {}", field(source, "name"), options(&missing)));
    context.output.hint(&format!("if you mean them: `{set}`"));
}

/// `--allow-host A --allow-host B`.
pub(crate) fn options<'h>(hosts: impl IntoIterator<Item = &'h String>) -> String {
    hosts.into_iter().map(|host| format!("--allow-host {host}")).collect::<Vec<_>>().join(" ")
}

/// `host:port` of a URL that leads to this machine or a private network by its
/// very name. What a name resolves to is the daemon's to know.
fn private_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let default = match scheme.to_ascii_lowercase().as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, default),
    };
    let host = host.to_ascii_lowercase();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let private = match literal {
        Ok(address) => is_special(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    };
    private.then(|| format!("{host}:{port}"))
}

fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(url: &str, expect: Option<&str>) {
        assert_eq!(private_host(url).as_deref(), expect, "{url}");
    }

    #[test]
    fn private_hosts_are_known_by_their_names() {
        check("http://localhost:4010/x", Some("localhost:4010"));
        check("https://LOCALHOST", Some("localhost:443"));
        check("http://127.0.0.1/x?y", Some("127.0.0.1:80"));
        check("http://user:word@10.0.0.1:8080", Some("10.0.0.1:8080"));
        check("http://[::1]:9/", Some("[::1]:9"));
        check("http://[fd00::1]", Some("[fd00::1]:80"));
        check("https://api.github.com", None);
        check("http://8.8.8.8", None);
        check("ftp://localhost", None);
        check("localhost", None);
    }

    #[test]
    fn all_that_a_source_lacks_is_named_at_once() {
        let source = json!({
            "origins": ["http://127.0.0.1:1", "https://api.test", "http://127.0.0.1:2"],
            "allowed_hosts": ["127.0.0.1:1"],
            "auth_methods": [{ "flows": [{ "endpoints": { "token": "http://127.0.0.1:3/token" } }] },
                { "discovered_from": "http://127.0.0.1:1/mcp" }] });
        let missing = missing_of(&source);
        assert_eq!(missing, ["127.0.0.1:2", "127.0.0.1:3"]);
        assert_eq!(options(&missing), "--allow-host 127.0.0.1:2 --allow-host 127.0.0.1:3");
    }
}
