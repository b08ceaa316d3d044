use super::*;

struct Tool {
    path: &'static str,
    summary: &'static str,
    description: &'static str,
    parameters: &'static [&'static str],
    deprecated: bool,
    read_only: bool,
}

const fn reads(path: &'static str, summary: &'static str) -> Tool {
    Tool { path, summary, description: "", parameters: &[], deprecated: false, read_only: true }
}

const fn writes(path: &'static str, summary: &'static str) -> Tool {
    Tool { read_only: false, ..reads(path, summary) }
}

const CATALOGUE: &[Tool] = &[
    writes("forge.issues.create", "Create an issue"),
    writes("forge.issues.createComment", "Create an issue comment"),
    writes("forge.issues.createLabel", "Create a label"),
    writes("forge.issues.delete", "Delete an issue"),
    reads("forge.issues.get", "Get an issue"),
    reads("forge.issues.list", "List issues assigned to the authenticated user"),
    reads("forge.issues.listForRepo", "List repository issues"),
    reads("forge.issues.listComments", "List issue comments"),
    writes("forge.issues.update", "Update an issue"),
    writes("forge.pulls.create", "Create a pull request"),
    reads("forge.pulls.list", "List pull requests"),
    writes("forge.pulls.merge", "Merge a pull request"),
    reads("forge.pulls.listReviews", "List reviews of a pull request"),
    reads("forge.search.code", "Search code"),
    writes("forge.repos.createForAuthenticatedUser", "Create a repository for the authenticated user"),
    writes("forge.repos.createRuleset", "Create a repository ruleset"),
    writes("chat.chatPostMessage", "Sends a message to a channel"),
    reads("chat.conversationsList", "Lists all channels in a team"),
    Tool {
        description: "Charges a payment method of a customer",
        parameters: &["amount", "currency", "customer"],
        ..writes("pay.charges.create", "")
    },
    Tool { deprecated: true, ..writes("pay.orders.create", "Create an order") },
    writes("pay.orders.createV2", "Create an order"),
    reads("pay.GetOAuthToken", "Get a token"),
];

fn index() -> Index {
    Index::build(CATALOGUE.iter().map(document))
}

fn document(tool: &'static Tool) -> Document<'static> {
    Document {
        path: tool.path,
        source: tool.path.split('.').next().unwrap_or_default(),
        summary: tool.summary,
        description: tool.description,
        parameters: tool.parameters,
        deprecated: tool.deprecated,
        read_only: tool.read_only,
    }
}

fn query(text: &str) -> Query<'_> {
    Query { text, source: None, limit: 50, offset: 0 }
}

fn paths(results: &Results) -> Vec<&'static str> {
    results.hits.iter().map(|hit| CATALOGUE[hit.document as usize].path).collect()
}

#[track_caller]
fn check(text: &str, first: &str) {
    let results = index().search(&query(text));
    assert_eq!(paths(&results).first().copied(), Some(first), "{text}: {results:?}");
}

#[test]
fn finds_what_is_meant() {
    check("create an issue", "forge.issues.create");
    check("open a new issue", "forge.issues.create");
    check("issue creation create", "forge.issues.create");
    check("list issues of a repository", "forge.issues.listForRepo");
    check("show issues in repo", "forge.issues.listForRepo");
    check("edit issue", "forge.issues.update");
    check("remove an issue", "forge.issues.delete");
    check("fetch an issue", "forge.issues.get");
    check("merge pull request", "forge.pulls.merge");
    check("merge PR", "forge.pulls.merge");
    check("open PRs list", "forge.pulls.list");
    check("create a repo", "forge.repos.createForAuthenticatedUser");
    check("send a message", "chat.chatPostMessage");
    check("channels", "chat.conversationsList");
    check("charge a customer", "pay.charges.create");
    check("currency", "pay.charges.create");
    check("create an order", "pay.orders.createV2");
    check("oauth token", "pay.GetOAuthToken");
}

#[test]
fn typing_errors_and_parts_of_words_are_forgiven() {
    check("marge pull reqest", "forge.pulls.merge");
    check("comit isseu creat", "forge.issues.create");
    check("pullrequest merge", "forge.pulls.merge");
    check("conversat", "chat.conversationsList");
}

#[test]
fn one_word_that_misses_empties_nothing() {
    check("merge pull request quickly xyzzy", "forge.pulls.merge");
    check("xyzzy plugh frobnicate channels", "chat.conversationsList");
    assert_eq!(index().search(&query("xyzzyplugh")).total, 0);
}

#[test]
fn paths_are_queries() {
    check("forge.issues.list", "forge.issues.list");
    check("tools.forge.issues.list", "forge.issues.list");
    check("FORGE.ISSUES.LIST", "forge.issues.list");
    check("pulls.list", "forge.pulls.list");
    check("pay.orders.create", "pay.orders.create");
    let results = index().search(&Query { limit: 9, ..query("forge.issues") });
    assert!(paths(&results).iter().all(|path| path.starts_with("forge.issues.")), "{results:?}");
    for text in ["chat", "chat.", "chat.*"] {
        let found = index().search(&Query { limit: 2, ..query(text) });
        assert!(paths(&found).iter().all(|path| path.starts_with("chat.")), "{text} {found:?}");
    }
}

#[test]
fn a_source_alone_is_listed_in_path_order() {
    let results = index().search(&Query { source: Some("pay"), ..query("  ") });
    let listed = ["pay.GetOAuthToken", "pay.charges.create", "pay.orders.create", "pay.orders.createV2"];
    assert_eq!(paths(&results), listed);
    assert_eq!(results.total, 4);
    let page = index().search(&Query { source: Some("pay"), limit: 2, offset: 1, ..query("") });
    assert_eq!(paths(&page), listed[1..3]);
    assert_eq!(index().search(&query("")).total, 0);
}

#[test]
fn a_source_narrows() {
    let results = index().search(&Query { source: Some("pay"), ..query("create") });
    assert_eq!(results.total, 3);
    assert!(paths(&results).iter().all(|path| path.starts_with("pay.")));
    assert_eq!(index().search(&Query { source: Some("nobody"), ..query("create") }).total, 0);
}

#[test]
fn the_order_of_documents_does_not_matter() {
    let forwards = index();
    let backwards = Index::build(CATALOGUE.iter().rev().map(document));
    for text in ["create", "list issues", "pull", "a message to customers"] {
        let one = paths(&forwards.search(&query(text)));
        let results = backwards.search(&query(text));
        let last = CATALOGUE.len() - 1;
        let two: Vec<_> =
            results.hits.iter().map(|hit| CATALOGUE[last - hit.document as usize].path).collect();
        assert_eq!(one, two, "{text}");
    }
}

#[test]
fn ties_are_in_path_order() {
    let tool = |path| Document {
        path,
        source: "s",
        summary: "Same thing",
        description: "",
        parameters: &[],
        deprecated: false,
        read_only: true,
    };
    let index = Index::build([tool("s.c"), tool("s.a"), tool("s.b")]);
    let results = index.search(&query("same thing"));
    assert_eq!(results.hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [1, 2, 0]);
}

#[test]
fn pages_make_up_the_whole() {
    let index = index();
    for text in ["create", "issue", "list pull requests of a repository", "forge"] {
        let whole = index.search(&query(text));
        let mut pages = Vec::new();
        for offset in (0..whole.total + 3).step_by(3) {
            let page = index.search(&Query { limit: 3, offset, ..query(text) });
            assert_eq!(page.total, whole.total);
            pages.extend(page.hits);
        }
        assert_eq!(pages, whole.hits, "{text}");
    }
    assert_eq!(index.search(&Query { limit: 0, ..query("create") }).hits, []);
    let beyond = Query { limit: usize::MAX, offset: usize::MAX, ..query("create") };
    assert_eq!(index.search(&beyond).hits, []);
}

#[test]
fn an_empty_catalogue_answers() {
    let index = Index::build([]);
    assert_eq!(index.len(), 0);
    assert_eq!(index.search(&query("create an issue")).total, 0);
    assert_eq!(index.search(&query("a.b")).total, 0);
}

#[test]
fn hostile_texts_cost_little() {
    let long = "word1 wörd2 検索 camelCase ".repeat(40_000);
    let unbroken = "aB".repeat(500_000);
    let parameters: Vec<&str> = vec!["p_q"; 50_000];
    let document = Document {
        path: &unbroken,
        source: &long,
        summary: &unbroken,
        description: &long,
        parameters: &parameters,
        deprecated: false,
        read_only: false,
    };
    let index = Index::build([document, document]);
    assert!(index.weights.len() < 400, "{}", index.weights.len());
    for text in [&long, &unbroken, "\u{0}\u{2028}", "...", "*", "tools.", "é.é", "…"] {
        index.search(&query(text));
    }
}

#[test]
fn random_texts_neither_panic_nor_vary() {
    let mut state = 0x0dd_ba11u64;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let pieces = ["issue", "Create", ".", " ", "é", "検", "9", "PR", "_", "the", "xq", "\u{301}", "*", "İ"];
    let index = index();
    for _ in 0..3000 {
        let count = next(8);
        let text: String = (0..count).map(|_| pieces[next(pieces.len() as u64) as usize]).collect();
        let first = index.search(&query(&text));
        assert_eq!(first, index.search(&query(&text)), "{text}");
        assert_eq!(first.hits.len(), first.total, "{text}");
        assert!(first.hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0), "{text}");
    }
}

#[test]
fn the_labelled_queries_are_well_formed() {
    let table = include_str!("queries_github.txt");
    assert!(table.lines().count() >= 20);
    for line in table.lines() {
        let (text, tool) = line.split_once('\t').expect(line);
        assert!(!text.is_empty() && tool.starts_with("github."), "{line}");
    }
}
