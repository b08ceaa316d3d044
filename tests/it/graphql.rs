//! A GraphQL endpoint becomes tools by its URL alone.

use executor_upstreams::graphql::{self, Config, Fault};
use executor_upstreams::plain::{self, Answer, Routes};
use serde_json::json;

use crate::daemon::{Daemon, execution_id};

fn host(origin: &str) -> &str {
    origin.trim_start_matches("http://")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_added_read_and_asked_about_before_it_is_written() {
    let (daemon, emulator) = (Daemon::start(), graphql::start(Config::default()).await.unwrap());
    let allow = host(emulator.origin()).to_owned();
    let added = daemon
        .run(&["sources", "add", &emulator.endpoint(), "--name", "shop", "--allow-host", &allow, "--json"])
        .json();
    assert_eq!(
        (&added["source"]["kind"], &added["source"]["tool_count"]),
        (&json!("graphql"), &json!(8)),
        "{added}"
    );
    assert_eq!(added["source"]["origins"], json!([emulator.origin()]));

    let (code, view) = daemon.execute(
        "const books = await tools.shop.query.books({}); const one = await tools.shop.query.book({ id: books.nodes[0].id, select: 'title author { name }' }); return one",
    );
    assert_eq!(
        (code, &view["result"]),
        (0, &json!({ "title": "Emma", "author": { "name": "Jane Austen" } })),
        "{view}"
    );

    emulator.ledger.clear();
    let (code, view) = daemon.execute("return await tools.shop.query.book({ id: 1, select: 'titel' })");
    assert!(code != 0 && view.to_string().contains("did you mean title?"), "{view}");
    assert_eq!(emulator.ledger.count(), 0);

    let by_flags = [
        "call",
        "shop.query.books",
        "--genres",
        "NOVEL",
        "--genres",
        "FRAGMENT",
        "--select",
        "nodes { title }",
    ];
    let found = daemon.run(&by_flags).json();
    assert!(found["nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()), "{found}");
    let said = daemon.run(&["call", "shop.query.books", "--genres", "NOVLE"]).fails(2);
    assert!(said.contains("did you mean `NOVEL`?"), "{said}");
    let dry =
        daemon.run(&["call", "shop.mutation.removeBook", "--by.title", "Emma", "--dry-run", "--json"]).json();
    assert!(dry["request"]["body"].to_string().contains("Emma"), "{dry}");

    emulator.fault(Fault::Partial, 1);
    let said = daemon.run(&["call", "shop.query.book", "--id", "1"]);
    let id = execution_id(&said.stderr);
    let said = said.fails(1);
    assert!(said.contains("book.rating: no rating today") && said.contains("--raw"), "{said}");
    let kept = daemon.run(&["executions", "show", &id, "--json"]).json();
    assert_eq!(kept["error"]["details"]["details"]["data"]["title"], "Emma", "{kept}");

    emulator.fault(Fault::Partial, 1);
    let (_, view) = daemon.execute("try { return await tools.shop.query.book({ id: 1 }) } catch (error) { return { code: error.code, title: error.details.data.title } }");
    assert_eq!(view["result"], json!({ "code": "upstream-partial", "title": "Emma" }), "{view}");

    let waiting =
        daemon.run(&["call", "shop.mutation.removeBook", r#"{"by":{"title":"Emma"}}"#, "--no-input"]);
    assert_eq!(waiting.code(), 3, "{waiting:?}");
    let text = format!("{}{}", waiting.stdout, waiting.stderr);
    assert!(text.contains("removeBook(by: $by)"), "the request is shown: {text}");
    assert_eq!(emulator.titles().len(), 3, "nothing was sent before the answer");
    daemon.run(&["resume", &execution_id(&text), "--accept", "--yes"]).ok();
    assert_eq!(emulator.titles(), ["Persuasion", "Sanditon"]);

    let refreshed = daemon.run(&["sources", "refresh", "shop", "--json"]).json();
    assert_eq!((&refreshed["added"], &refreshed["changed"]), (&json!([]), &json!([])), "{refreshed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_in_a_file_needs_to_be_told_its_endpoint() {
    let (daemon, emulator) = (Daemon::start(), graphql::start(Config::default()).await.unwrap());
    let path = daemon.home().join("schema.graphql");
    std::fs::write(&path, "type Query { book(id: ID!): Book } type Book { id: ID!, title: String! }")
        .unwrap();
    let (file, base) = (path.to_str().unwrap(), format!("base_url={}", emulator.endpoint()));
    let allow = host(emulator.origin());
    let added = daemon
        .run(&["sources", "add", file, "--name", "shop", "--set", &base, "--allow-host", allow, "--json"])
        .json();
    assert_eq!(added["source"]["kind"], "graphql", "{added}");
    let book = daemon.run(&["call", "shop.query.book", r#"{"id":"2"}"#]).json();
    assert_eq!(book, json!({ "id": "2", "title": "Persuasion" }));
    let bare = daemon.run(&["sources", "add", file, "--name", "bare", "--json"]).json();
    assert_eq!(bare["source"]["warnings"][0]["code"], "no-endpoint", "{bare}");
    let said = daemon.run(&["call", "bare.query.book", r#"{"id":"2"}"#]).fails(1);
    assert!(said.contains("base_url"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_may_answer_a_get_with_whatever_it_likes() {
    let daemon = Daemon::start();
    for status in [200, 401, 404, 405, 500] {
        let emulator = graphql::start(Config { on_get: Some(status), ..Config::default() }).await.unwrap();
        let (name, allow) = (format!("shop{status}"), host(emulator.origin()).to_owned());
        let add = ["sources", "add", &emulator.endpoint(), "--name", &name, "--allow-host", &allow, "--json"];
        assert_eq!(daemon.run(&add).json()["source"]["tool_count"], 8, "{status}");
        let refreshed = daemon.run(&["sources", "refresh", &name, "--json"]).json();
        assert_eq!(refreshed["removed"], json!([]), "{status}: {refreshed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_endpoint_is_explained() {
    let daemon = Daemon::start();
    let upstream = plain::start(
        Routes::new()
            .on("*", "/graphql", Answer::new(200, &[("content-type", "text/html")], "<html>Sign in</html>"))
            .handler(),
    )
    .await
    .unwrap();
    let allow = host(upstream.origin());
    let add = |path: &str| {
        let url = format!("{}{path}", upstream.origin());
        daemon.run(&["sources", "add", &url, "--allow-host", allow]).fails(1)
    };
    let said = add("/graphql");
    assert!(said.contains("a login"), "{said}");
    let said = add("/gql");
    assert!(said.contains("404"), "{said}");
    let off = graphql::start(Config { introspection_off: true, ..Config::default() }).await.unwrap();
    let said = daemon.run(&["sources", "add", &off.endpoint(), "--allow-host", host(off.origin())]).fails(1);
    assert!(said.contains("introspection") && said.contains("base_url"), "{said}");
}
