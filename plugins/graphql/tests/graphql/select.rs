//! A caller's own selection.

use serde_json::json;

use crate::support::{Api, Catalog, ENDPOINT, compiled, index, validate};

const SCHEMA: &str = r#"
directive @shown(as: String) on FIELD
directive @internal on OBJECT
type Query { user(id: ID!): User, find(text: String): [Found!], count: Int }
interface Node { id: ID! }
type User implements Node { id: ID!, name: String!, posts(first: Int!, order: Order, where: Where): [Post!]!, best: Post }
type Post implements Node { id: ID!, title: String, author: User, tags(list: [String!]): [String] }
type Other { x: Int }
union Found = User | Post
enum Order { NEWEST OLDEST }
input Where { title: String!, limit: Int = 3, inner: Where, at: Any }
scalar Any
"#;

fn sent(catalog: &Catalog, tool: &str, select: &str) -> String {
    let arguments =
        if tool == "query.user" { json!({"id": "1", "select": select}) } else { json!({"select": select}) };
    let query = catalog.query(tool, &arguments);
    validate(&compiled(SCHEMA), &query);
    query
}

#[test]
fn selections_are_sent_as_they_were_meant() {
    let catalog = index(SCHEMA);
    let check = |tool: &str, select: &str, expected: &str| {
        let query = sent(&catalog, tool, select);
        assert!(query.contains(expected), "{query}");
    };
    check("query.user", "name", "{ name }");
    check("query.user", " { name, id } ", "{ name id }");
    check("query.user", "n: name __typename", "{ n: name __typename }");
    check("query.user", "posts(first: 2) { id }", "posts(first: 2) { id }");
    check(
        "query.user",
        "posts(order: OLDEST, first: 1, where: {title: \"a b\"}) { id }",
        "where: { title: \"a b\" }",
    );
    check(
        "query.user",
        "posts(first: 1, where: {title: \"x\", at: {any: [1, \"y\", Z]}}) { tags(list: \"a\") }",
        "tags(list: \"a\")",
    );
    check(
        "query.user",
        "name @include(if: true) id @shown(as: \"x\")",
        "name @include(if: true) id @shown(as: \"x\")",
    );
    check("query.user", "name # nothing }\n best { title # more\n }", "{ name best { title } }");
    check(
        "query.find",
        "... on User { name } ... on Node { id } ... { __typename }",
        "... on User { name } ... on Node { id }",
    );
    check(
        "query.user",
        "best { author { best { author { name } } } }",
        "best { author { best { author { name } } } }",
    );
}

#[test]
fn no_selection_is_the_default() {
    let catalog = index(SCHEMA);
    let default = catalog.query("query.user", &json!({"id": 1}));
    assert_eq!(catalog.query("query.user", &json!({"id": 1, "select": null})), default);
    assert!(default.ends_with("{ user(id: $id) { id name best { id } } }"), "{default}");
}

#[test]
fn faults_say_what_was_meant_and_nothing_is_sent() {
    let catalog = index(SCHEMA);
    let check = |tool: &str, select: &str, part: &str| {
        let arguments = if tool == "query.user" {
            json!({"id": "1", "select": select})
        } else {
            json!({"select": select})
        };
        let message = catalog.refusal(tool, &arguments);
        assert!(message.starts_with("select: ") && message.contains(part), "{select}: {message}");
    };
    check("query.user", "nam", "User has no field nam; did you mean name?");
    check("query.user", "zzzzzzzz", "User has no field zzzzzzzz; there is id, name, posts, best");
    check("query.user", "best { titel }", "Post has no field titel; did you mean title?");
    check("query.user", "best", "User.best is an object of Post: say what of it, such as best { id }");
    check("query.user", "name { x }", "User.name is a String!: it takes no selection");
    check("query.user", "posts { id }", "User.posts needs the argument first: Int!");
    check("query.user", "posts(first: \"1\") { id }", "a value of Int is wanted");
    check("query.user", "posts(first: 1, frist: 2) { id }", "takes no argument frist; did you mean first?");
    check("query.user", "posts(first: 1, first: 2) { id }", "is given first twice");
    check("query.user", "posts(first: null) { id }", "Int! can't be null");
    check("query.user", "posts(first: $n) { id }", "there are no variables here");
    check(
        "query.user",
        "posts(first: 1, where: {title: \"\", at: [$x]}) { id }",
        "there are no variables here",
    );
    check(
        "query.user",
        "posts(first: 1, order: NEWST) { id }",
        "Order has no value NEWST; did you mean NEWEST?",
    );
    check("query.user", "posts(first: 1, order: \"NEWEST\") { id }", "a Order is written without quotes");
    check("query.user", "posts(first: 1, where: {}) { id }", "Where needs title: String!");
    check(
        "query.user",
        "posts(first: 1, where: {title: \"\", limt: 1}) { id }",
        "Where has no field limt; did you mean limit?",
    );
    check(
        "query.user",
        "posts(first: 1, where: {title: \"\", inner: {title: 1}}) { id }",
        "inner: title: a value of String is wanted",
    );
    check("query.user", "name: id name", "two fields of User would answer as name: give one an alias");
    check("query.user", "...Frag", "named fragments can't be used");
    check("query.user", "... on Other { x }", "no User is ever a Other");
    check("query.user", "... on Usr { id }", "there is no object type Usr; did you mean User?");
    check(
        "query.find",
        "name",
        "Found is a union without fields of its own: write ... on TYPE { name }, with one of User, Post",
    );
    check("query.user", "name @includ(if: true)", "there is no directive @includ");
    check("query.user", "name @include", "@include takes one argument: if: true");
    check("query.user", "name @skip(if: 1)", "@skip takes one argument");
    check("query.user", "name @internal", "there is no directive @internal");
    check("query.user", "name @skip(if: $x)", "@skip has a variable in it");
    check("query.user", "__schema { types { name } }", "User has no field __schema");
    check("query.user", "", "line 1");
    check("query.user", "{ }", "line 1");
    check("query.user", "name {", "line ");
    check("query.user", "id\n  \"name\"", "line 2, column 3");
}

#[test]
fn a_selection_can_not_leave_its_place() {
    let catalog = index(SCHEMA);
    for select in [
        "id } count { x",
        "id } } mutation Evil { drop",
        "{ id } { id }",
        "{ id } mutation { drop }",
        "id } fragment F on User { id",
        "query { id }",
        "{ id } query Q { count }",
        "id }\u{0} {",
        "id ) { x",
    ] {
        catalog.refusal("query.user", &json!({"id": "1", "select": select}));
    }
}

/// A generator of Knuth's, so that every run makes the same mistakes.
struct Mistakes(u64);

impl Mistakes {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn made_in(&mut self, text: &str) -> String {
        const TYPED: [&str; 22] = [
            "{", "}", "(", ")", ":", "...", "@", "$", "\"", "#", " ", "\n", ",", "[", "]", "!", "name", "id",
            "1", "best", " on ", "-",
        ];
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(3) {
            let place = self.below(characters.len() + 1);
            match self.below(3) {
                0 if place < characters.len() => drop(characters.remove(place)),
                1 if place < characters.len() => {
                    characters[place] = TYPED[self.below(16)].chars().next().unwrap()
                }
                _ => {
                    let typed = TYPED[self.below(TYPED.len())];
                    characters.splice(place..place, typed.chars());
                }
            }
        }
        characters.into_iter().collect()
    }
}

#[test]
fn whatever_is_typed_is_refused_or_valid() {
    const TYPED: [&str; 5] = [
        "name posts(first: 2, order: OLDEST, where: {title: \"a\", limit: 1}) { id tags(list: [\"x\"]) }",
        "n: name best { author { name @include(if: true) } }",
        "{ id ... on User { name } ... on Node { id } ... { __typename } }",
        "best { title # why\n author { id } } id @skip(if: false)",
        "posts(first: 1, where: {title: \"x\", at: [1, {a: B}], inner: {title: \"\"}}) { title }",
    ];
    let (catalog, schema) = (index(SCHEMA), compiled(SCHEMA));
    let (mut mistakes, mut sent, mut refused) = (Mistakes(7), 0, 0);
    for turn in 0..1_500 {
        let select = mistakes.made_in(TYPED[turn % TYPED.len()]);
        let arguments = json!({"id": "1", "select": select});
        let mut api = Api::json(200, &json!({"data": {"user": null}}));
        match catalog.call(&mut api, "query.user", &arguments) {
            Ok(_) => {
                let body: serde_json::Value =
                    serde_json::from_slice(&crate::support::bytes_of(&api.requests[0])).unwrap();
                validate(&schema, body["query"].as_str().unwrap());
                sent += 1;
            }
            Err(failure) => {
                assert_eq!(failure.code, "invalid-arguments", "{select}");
                refused += 1;
            }
        }
    }
    assert!(sent > 50 && refused > 500, "{sent} sent, {refused} refused");
}

#[test]
fn selections_are_bounded() {
    let catalog = index(SCHEMA);
    let check = |select: String, part: &str| {
        let message = catalog.refusal("query.user", &json!({"id": "1", "select": select}));
        assert!(message.contains(part) && message.len() < 2_000, "{message}");
    };
    check("name ".repeat(20_000), "at most 65536 are taken");
    check("a ".repeat(5_000), "has no field a");
    check("name ".repeat(5_000), "more than 4000 fields");
    check("best { author { ".repeat(30) + "id" + &"} }".repeat(30), "nested deeper than 40 levels");
    check("best { ".repeat(8_000), "limit");
    check(format!("posts(first: {}1{}) {{ id }}", "[".repeat(9_000), "]".repeat(9_000)), "limit");
}

#[test]
fn a_table_that_is_gone_is_told() {
    let catalog = index(SCHEMA);
    catalog.files.clear();
    let mut api = Api::answering(200, "application/json", b"{}");
    let failure = catalog.call(&mut api, "query.user", &json!({"id": "1", "select": "id"})).unwrap_err();
    assert!(
        failure.code == "binding-invalid" && failure.message.contains("refresh the source"),
        "{failure:?}"
    );
    assert!(api.requests.is_empty());
    let settings = json!({"base_url": ENDPOINT});
    let mut api = Api::json(200, &json!({"data": {"user": {"id": "1"}}}));
    catalog.call_with(&mut api, "query.user", &json!({"id": "1"}), &settings).unwrap();
}
