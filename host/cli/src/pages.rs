//! The pages of error codes, `docs/errors/*.md`, in the binary.

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) code: &'static str,
    /// Markdown: a heading, what it means, what to do.
    pub(crate) text: &'static str,
}

impl Page {
    /// What follows the code in the page's heading.
    pub(crate) fn title(&self) -> &'static str {
        let heading = self.text.lines().next().unwrap_or("");
        heading.split_once(": ").map_or("", |(_, title)| title)
    }
}

/// The page of a code.
pub(crate) fn page(code: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.code == code)
}

macro_rules! pages {
    ($($code:literal)*) => {
        &[$(Page {
            code: $code,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors/", $code, ".md")),
        }),*]
    };
}

/// All pages, by code.
pub(crate) const PAGES: &[Page] = pages! {
    "aborted"
    "account-exists"
    "account-needed"
    "already-answered"
    "already-ended"
    "approval-not-yours"
    "auth-method-refused"
    "auth-unsupported"
    "authorization-expired"
    "authorization-invalid"
    "authorization-refused"
    "authorization-spent"
    "authorization-unavailable"
    "binding"
    "binding-invalid"
    "cancelled"
    "captured"
    "client-needed"
    "code-too-large"
    "component-broken"
    "component-exists"
    "component-in-use"
    "component-missing"
    "conflict"
    "connect-failed"
    "connection-exists"
    "connection-incomplete"
    "connection-lost"
    "cycle"
    "declined"
    "definition-refused"
    "denied"
    "denied-address"
    "denied-header"
    "denied-method"
    "denied-origin"
    "disk-full"
    "document-invalid"
    "document-missing"
    "document-too-large"
    "document-unavailable"
    "document-unsupported"
    "dynamic-import"
    "engine"
    "engine-changed"
    "error"
    "expired"
    "function"
    "handoff-spent"
    "home-locked"
    "home-newer"
    "home-unusable"
    "host-denied"
    "idempotency-key-reused"
    "import-not-allowed"
    "internal"
    "interrupted"
    "introspection-disabled"
    "introspection-failed"
    "introspection-limited"
    "invalid-answer"
    "invalid-arguments"
    "invalid-config"
    "invalid-json"
    "invalid-options"
    "invalid-request"
    "invalid-text"
    "invitation-spent"
    "key-missing"
    "keyring-unavailable"
    "last-owner"
    "lines-lost"
    "list-incomplete"
    "member-exists"
    "method-not-allowed"
    "more-warnings"
    "nested-too-deeply"
    "never-settles"
    "no-auth-methods"
    "no-code"
    "no-component"
    "no-connection"
    "no-document"
    "no-document-url"
    "no-endpoint"
    "no-operations"
    "no-route"
    "no-security-declared"
    "nondeterminism"
    "not-a-component"
    "not-allowed"
    "not-found"
    "operation-incomplete"
    "operation-unreadable"
    "operation-unsupported"
    "organization-exists"
    "origin-denied"
    "out-of-fuel"
    "out-of-memory"
    "outcome-unknown"
    "password-unsuitable"
    "private-server"
    "process-failed"
    "program"
    "promise"
    "protocol-unsupported"
    "question-refused"
    "range"
    "reference"
    "request-timeout"
    "result-too-large"
    "resumption-invalid"
    "schema-replaced"
    "scopes-needed"
    "secret-asked"
    "server-unusable"
    "settings-invalid"
    "sign-in-busy"
    "sign-in-failed"
    "sign-in-needed"
    "source-exists"
    "stdout-noise"
    "storage-stopped"
    "subscriptions-unsupported"
    "syntax"
    "thrown"
    "timeout"
    "token-exists"
    "too-deep"
    "too-large"
    "too-many-attempts"
    "too-many-operations"
    "too-many-redirects"
    "too-many-requests"
    "too-many-sessions"
    "tool"
    "tool-failed"
    "tool-not-found"
    "tool-refused"
    "trap"
    "type"
    "unauthorized"
    "unknown-document"
    "unknown-kind"
    "unknown-root"
    "unreadable-answer"
    "unsupported-media-type"
    "upstream-conflict"
    "upstream-error"
    "upstream-failed"
    "upstream-invalid"
    "upstream-malformed"
    "upstream-not-found"
    "upstream-partial"
    "upstream-rate-limited"
    "upstream-redirected"
    "upstream-rejected"
    "upstream-timeout"
    "upstream-too-large"
    "upstream-truncated"
    "workspace-exists"
    "wrong-world"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_here_and_is_one() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect();
        files.sort();
        let codes: Vec<&str> = PAGES.iter().map(|page| page.code).collect();
        assert_eq!(codes, files);
        for page in PAGES {
            assert!(page.text.starts_with(&format!("# {}: ", page.code)), "{}", page.code);
            assert!(page.text.contains("## What to do\n"), "{}", page.code);
            assert!(page.text.lines().all(|line| line.chars().count() <= 100), "{}", page.code);
        }
    }
}
