//! Words that mean the same to somebody who looks for a tool.

/// Words that say nothing about which tool is meant. They are left out of the
/// index, and of a query unless it has nothing else.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but", "by", "can",
    "could", "did", "do", "does", "e", "for", "from", "g", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "let", "need", "of", "on", "or", "our", "please", "s", "should", "so", "some",
    "t", "that", "the", "their", "them", "then", "there", "these", "this", "those", "to", "us", "via",
    "want", "was", "we", "were", "what", "when", "where", "which", "who", "will", "with", "would", "you",
    "your",
];

/// Spellings that are one word: the right one is what is indexed.
const CANONICAL: &[(&str, &str)] = &[
    ("admin", "administrator"),
    ("authn", "authentication"),
    ("cfg", "configuration"),
    ("config", "configuration"),
    ("db", "database"),
    ("dir", "directory"),
    ("env", "environment"),
    ("info", "information"),
    ("k8s", "kubernetes"),
    ("me", "my"),
    ("mine", "my"),
    ("msg", "message"),
    ("myself", "my"),
    ("org", "organization"),
    ("organisation", "organization"),
    ("params", "parameter"),
    ("param", "parameter"),
    ("perms", "permission"),
    ("pwd", "password"),
    ("repo", "repository"),
];

/// Words of which each finds the others, at the weight of the group.
const GROUPS: &[(f32, &[&str])] = &[
    (0.7, &["list", "enumerate", "browse", "index"]),
    (0.7, &["get", "fetch", "read", "retrieve", "show", "view", "display", "describe"]),
    (0.4, &["list", "get", "find", "fetch", "show", "read", "view", "see", "check"]),
    (0.8, &["search", "query", "find", "lookup"]),
    (0.7, &["create", "add", "new", "open", "make", "insert", "register"]),
    (0.5, &["create", "start", "trigger", "post", "submit", "publish", "generate"]),
    (0.7, &["delete", "remove", "destroy", "drop", "erase", "uninstall", "unset"]),
    (0.7, &["update", "edit", "modify", "patch", "change", "set", "replace"]),
    (0.5, &["update", "rename", "move"]),
    (0.4, &["update", "close", "reopen"]),
    (0.7, &["cancel", "abort", "stop", "terminate", "kill", "halt"]),
    (0.7, &["start", "run", "launch", "trigger", "execute", "dispatch", "begin", "invoke"]),
    (0.6, &["rerun", "retry", "restart", "redo"]),
    (0.7, &["enable", "activate"]),
    (0.7, &["disable", "deactivate"]),
    (0.7, &["send", "post", "deliver"]),
    (0.6, &["upload", "attach", "import"]),
    (0.6, &["download", "export", "archive"]),
    (0.6, &["file", "content", "document"]),
    (0.6, &["comment", "reply", "note"]),
    (0.7, &["webhook", "hook"]),
    (0.6, &["user", "member", "account", "person", "people"]),
    (0.5, &["collaborator", "contributor", "member"]),
    (0.6, &["assign", "assignee"]),
    (0.6, &["invite", "invitation"]),
    (0.6, &["subscribe", "subscription", "watch", "follow"]),
    (0.7, &["setting", "preference", "configuration", "option"]),
    (0.6, &["permission", "access", "role", "grant"]),
    (0.6, &["key", "token", "credential", "secret"]),
    (0.6, &["picture", "photo", "image", "avatar"]),
    (0.7, &["email", "mail"]),
    (0.7, &["message", "chat"]),
    (0.6, &["customer", "client"]),
    (0.6, &["payment", "charge"]),
    (0.5, &["price", "cost", "amount"]),
    (0.6, &["invoice", "bill", "billing"]),
    (0.6, &["folder", "directory"]),
    (0.7, &["job", "task"]),
    (0.6, &["statistics", "stats", "metric", "usage", "report", "analytics"]),
    (0.7, &["log", "logs", "history"]),
    (0.6, &["ticket", "issue", "bug"]),
    (0.7, &["group", "team"]),
    (0.6, &["vulnerability", "advisory", "alert", "cve"]),
    (0.7, &["application", "app"]),
    (0.6, &["authentication", "auth", "login", "signin"]),
    (0.6, &["authorization", "auth"]),
    (0.6, &["reference", "ref"]),
    (0.6, &["diff", "compare", "difference"]),
    (0.6, &["category", "topic", "tag", "label"]),
    (0.6, &["calendar", "schedule"]),
    (0.6, &["event", "activity"]),
    (0.6, &["location", "address", "place"]),
    (0.8, &["my", "authenticated", "viewer", "current", "own"]),
    (0.6, &["newest", "latest", "recent", "last"]),
    (0.5, &["version", "revision"]),
    (0.6, &["namespace", "project", "workspace"]),
    (0.6, &["instance", "machine", "server", "vm"]),
    (0.6, &["name", "title"]),
];

/// Two words that are abbreviated to one.
pub(super) const ABBREVIATIONS: &[(&str, [&str; 2])] =
    &[("ci", ["workflow", "run"]), ("mr", ["merge", "request"]), ("pr", ["pull", "request"])];

/// Whether `word` (lower case) says nothing about which tool is meant.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether what follows `word` qualifies what precedes it.
pub(super) fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "at" | "by" | "for" | "from" | "in" | "into" | "of" | "on" | "to" | "using" | "via" | "with"
    )
}

/// The right spelling of `word`, if it has another one.
pub(super) fn canonical(word: &str) -> Option<&'static str> {
    CANONICAL.iter().find(|(spelling, _)| *spelling == word).map(|(_, right)| *right)
}

/// The groups that hold the term `word` of a normalised query word, as
/// (word to normalise, weight), without the word itself.
pub(super) fn synonyms<'a>(
    is_word: impl Fn(&str) -> bool + Copy + 'a,
) -> impl Iterator<Item = (&'static str, f32)> + 'a {
    GROUPS
        .iter()
        .filter(move |(_, group)| group.iter().any(|member| is_word(member)))
        .flat_map(|(weight, group)| group.iter().map(|member| (*member, *weight)))
        .filter(move |(member, _)| !is_word(member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the"));
        assert!(!is_stop_word("list"));
    }

    #[test]
    fn synonyms_leave_out_the_word() {
        let found: Vec<_> = synonyms(|member| member == "webhook").collect();
        assert_eq!(found, [("hook", 0.7)]);
        assert!(synonyms(|member| member == "zebra").next().is_none());
    }
}
