//! A short name for a source.

const MAX_WORDS: usize = 3;
const MAX_CHARS: usize = 32;
/// Words of titles that say nothing about which API it is.
const NOISE: [&str; 34] = [
    "a",
    "an",
    "and",
    "api",
    "apis",
    "definition",
    "definitions",
    "doc",
    "docs",
    "documentation",
    "endpoints",
    "for",
    "http",
    "of",
    "official",
    "open",
    "openapi",
    "platform",
    "public",
    "reference",
    "rest",
    "restful",
    "schema",
    "server",
    "service",
    "services",
    "spec",
    "specification",
    "specifications",
    "swagger",
    "the",
    "to",
    "web",
    "www",
];
/// Second labels under which names are registered, as in `example.co.uk`.
const SHARED_LABELS: [&str; 7] = ["co", "com", "net", "org", "gov", "ac", "edu"];

/// The host's own label where the title names it too ("GitHub v3 REST API" at
/// `api.github.com` is `github`), else the title's telling words, else the
/// label.
pub(crate) fn name(title: &str, host: Option<&str>) -> String {
    let words = words(title);
    let label = host.and_then(registrable);
    let by_label = label.as_ref().filter(|label| words.contains(label));
    let chosen = match by_label {
        Some(label) => label.clone(),
        None if words.is_empty() => label.unwrap_or_else(|| "api".to_owned()),
        None => shortened(&words),
    };
    if chosen.starts_with(|c: char| c.is_ascii_digit()) { format!("api_{chosen}") } else { chosen }
}

fn shortened(words: &[String]) -> String {
    let mut name = String::new();
    for word in words.iter().take(MAX_WORDS) {
        if !name.is_empty() && name.len() + word.len() >= MAX_CHARS {
            break;
        }
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(word);
    }
    name.truncate(MAX_CHARS);
    name
}

fn words(title: &str) -> Vec<String> {
    let title = title.replace("'s", "").replace('’', "'").replace("'s", "");
    title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
        .filter(|word| !word.is_empty() && !NOISE.contains(&word.as_str()) && !is_version(word))
        .collect()
}

fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `github` of `api.github.com`.
fn registrable(host: &str) -> Option<String> {
    let mut labels: Vec<&str> = host.split('.').collect();
    if labels.len() < 2 || host.starts_with('[') || labels.last()?.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let last = labels.pop()?;
    if labels.len() > 1 && last.len() == 2 && SHARED_LABELS.contains(labels.last()?) {
        labels.pop();
    }
    let label: String =
        labels.last()?.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    (!label.is_empty() && !NOISE.contains(&label.as_str())).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_telling() {
        let check = |title: &str, host: Option<&str>, expected: &str| {
            assert_eq!(name(title, host), expected, "{title}")
        };
        check("GitHub v3 REST API", Some("api.github.com"), "github");
        check("GitHub's official OpenAPI spec + Octokit extension", Some("api.github.com"), "github");
        check("Swagger Petstore - OpenAPI 3.0", Some("petstore3.swagger.io"), "petstore");
        check("Stripe API", Some("api.stripe.com"), "stripe");
        check("API", Some("api.example.co.uk"), "example");
        check("", Some("127.0.0.1"), "api");
        check("Train Travel API", Some("try.microcks.io"), "train_travel");
        check("1Password Connect", None, "api_1password_connect");
        check("日本", None, "api");
    }
}
