//! A short name for a source.

/// Words that say nothing about which API it is.
const NOISE: [&str; 14] = [
    "api", "www", "graphql", "gql", "app", "schema", "docs", "public", "gateway", "com", "net", "org", "v1",
    "v2",
];
/// Second labels under which names are registered, as in `example.co.uk`.
const SHARED_LABELS: [&str; 7] = ["co", "com", "net", "org", "gov", "ac", "edu"];

/// `github` of `api.github.com`; `graphql` where a host has no telling name.
pub(crate) fn name(url: Option<&str>) -> String {
    url.and_then(crate::address::host)
        .and_then(|host| registrable(&host))
        .unwrap_or_else(|| "graphql".to_owned())
}

fn registrable(host: &str) -> Option<String> {
    let mut labels: Vec<&str> = host.split('.').collect();
    if labels.len() < 2 || host.starts_with('[') || labels.last()?.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let last = labels.pop()?;
    if labels.len() > 1 && last.len() == 2 && SHARED_LABELS.contains(labels.last()?) {
        labels.pop();
    }
    // What stands under a shared host (`shop.myshopify.com`) is told by the
    // label that is registered.
    let label: String =
        labels.last()?.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let label = label.trim_matches('_').to_owned();
    (!label.is_empty() && !NOISE.contains(&label.as_str())).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_telling() {
        let check = |url: Option<&str>, expected: &str| assert_eq!(name(url), expected, "{url:?}");
        check(Some("https://api.github.com/graphql"), "github");
        check(Some("https://shop.myshopify.com/admin/api/graphql.json"), "myshopify");
        check(Some("https://api.example.co.uk/"), "example");
        check(Some("http://127.0.0.1:4000/graphql"), "graphql");
        check(Some("http://localhost/graphql"), "graphql");
        check(None, "graphql");
    }
}
