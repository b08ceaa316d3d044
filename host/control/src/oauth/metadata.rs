//! Metadata of authorization servers (RFC 8414, OpenID Connect Discovery) and
//! of protected resources (RFC 9728), and where they are.

use serde::Deserialize;
use url::Url;

/// What an authorization server says of itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) scopes_supported: Vec<String>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) client_id_metadata_document_supported: bool,
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// What a protected resource says of itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Vec<String>,
}

/// Where an issuer's metadata may be, the likeliest first (RFC 8414, section
/// 3.1; OpenID Connect Discovery 1.0, section 4).
pub(super) fn places_of_server(issuer: &Url) -> Vec<String> {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(&path);
        url.to_string()
    };
    let mut places = vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(format!("{path}/.well-known/openid-configuration")));
    }
    places
}

/// Where a resource's metadata may be (RFC 9728, section 3.1).
pub(super) fn places_of_resource(resource: &Url) -> Vec<String> {
    let path = resource.path().trim_end_matches('/');
    let at = |path: &str| {
        let mut url = resource.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(&format!("/.well-known/oauth-protected-resource{path}"));
        url.to_string()
    };
    if path.is_empty() { vec![at("")] } else { vec![at(path), at("")] }
}

/// Whether metadata are of the issuer that was asked for; a trailing slash
/// makes no other (RFC 8414, section 3.3).
pub(super) fn same_issuer(one: &str, other: &str) -> bool {
    !one.is_empty() && one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Whether a resource's metadata are of the URL that is called: the same
/// origin, and a path that it lies under.
pub(super) fn covers(resource: &str, called: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (prefix, path) = (resource.path().trim_end_matches('/'), called.path().trim_end_matches('/'));
    let below = path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == called.origin() && below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_lie_where_the_specifications_say() {
        let places = |issuer: &str| places_of_server(&Url::parse(issuer).unwrap()).join(" ");
        assert_eq!(
            places("https://as.example"),
            "https://as.example/.well-known/oauth-authorization-server https://as.example/.well-known/openid-configuration"
        );
        assert_eq!(
            places("https://as.example/tenant/"),
            "https://as.example/.well-known/oauth-authorization-server/tenant https://as.example/.well-known/openid-configuration/tenant https://as.example/tenant/.well-known/openid-configuration"
        );
        let places = |resource: &str| places_of_resource(&Url::parse(resource).unwrap()).join(" ");
        assert_eq!(
            places("https://mcp.example/a/mcp?x=1"),
            "https://mcp.example/.well-known/oauth-protected-resource/a/mcp https://mcp.example/.well-known/oauth-protected-resource"
        );
        assert_eq!(
            places("https://mcp.example/"),
            "https://mcp.example/.well-known/oauth-protected-resource"
        );
    }

    fn check_covers(resource: &str, called: &str, expect: bool) {
        assert_eq!(covers(resource, &Url::parse(called).unwrap()), expect, "{resource} {called}");
    }

    #[test]
    fn a_resource_covers_what_lies_under_it() {
        check_covers("https://m.example", "https://m.example/mcp", true);
        check_covers("https://m.example/mcp", "https://m.example/mcp/", true);
        check_covers("https://m.example/mcp", "https://m.example/mcp2", false);
        check_covers("https://m.example/other", "https://m.example/mcp", false);
        check_covers("https://evil.example/mcp", "https://m.example/mcp", false);
        check_covers("http://m.example/mcp", "https://m.example/mcp", false);
        check_covers("", "https://m.example/mcp", false);
    }

    #[test]
    fn an_issuer_is_compared_as_a_text() {
        assert!(same_issuer("https://a.example", "https://a.example/"));
        assert!(!same_issuer("https://a.example/x", "https://a.example"));
        assert!(!same_issuer("", ""));
    }
}
