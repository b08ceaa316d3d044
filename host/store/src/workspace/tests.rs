use super::*;
use crate::digest::Digest;
use crate::error::StoreError;
use crate::identifiers::{PolicyId, SecretId};
use crate::names::{ConnectionName, SourceName};
use crate::testing;

fn open(home: &Home) -> Workspace {
    Workspace::open(home, &WorkspaceName::parse("default").unwrap(), 1).unwrap()
}

fn source_name(text: &str) -> SourceName {
    SourceName::parse(text).unwrap()
}

fn source(name: &str, version: &str) -> SourceRow {
    SourceRow {
        name: source_name(name),
        kind: "openapi".to_owned(),
        adapter: "openapi".to_owned(),
        adapter_digest: Digest::of(b"adapter"),
        title: "GitHub".to_owned(),
        version: Some(version.to_owned()),
        config: "{}".to_owned(),
        settings: "{\"a\":1}".to_owned(),
        document: Some(Digest::of(version.as_bytes())),
        files: vec![("a/b.yaml".to_owned(), Digest::of(b"b"))],
        document_url: Some("https://example.com/openapi.json".to_owned()),
        media_type: None,
        origins: vec!["https://api.example.com".to_owned()],
        allowed_hosts: vec![],
        trusted: true,
        tool_count: 2,
        warning_count: 1,
        meta: "{}".to_owned(),
        command: (name == "local").then(|| "{\"program\":\"server\"}".to_owned()),
        created_ms: 5,
        refreshed_ms: 6,
    }
}

fn tool(name: &str) -> ToolRow {
    ToolRow {
        name: name.to_owned(),
        description: format!("Does {name}."),
        title: None,
        summary: format!("{name} in short"),
        request: Some("POST /x".to_owned()),
        input_schema: "{\"type\":\"object\"}".to_owned(),
        output_schema: None,
        read_only: false,
        destructive: true,
        idempotent: false,
        deprecated: true,
        requires_approval: false,
        auth: vec![vec!["oauth".to_owned(), "key".to_owned()], vec![]],
        binding: vec![0, 255, 7],
        annotations_meta: None,
        meta: Some("{}".to_owned()),
        digest: Digest::of(name.as_bytes()),
    }
}

fn method(id: &str) -> AuthMethodRow {
    AuthMethodRow {
        id: id.to_owned(),
        kind: "apiKey".to_owned(),
        label: "Key".to_owned(),
        config: "{}".to_owned(),
        meta: None,
    }
}

fn warning(code: &str) -> WarningRow {
    WarningRow { tool: None, code: code.to_owned(), message: "less than well".to_owned() }
}

fn staged(names: &[&str]) -> Staged {
    Staged {
        tools: names.iter().map(|name| tool(name)).collect(),
        definitions: vec![("Issue".to_owned(), format!("{{\"n\":{}}}", names.len()))],
        auth_methods: vec![method("z"), method("a")],
        warnings: vec![warning("second"), warning("first")],
    }
}

fn connection(source: &str, name: &str) -> ConnectionRow {
    ConnectionRow {
        source: source_name(source),
        name: ConnectionName::parse(name).unwrap(),
        methods: vec!["z".to_owned()],
        variables: vec![("token".to_owned(), SecretId::new(1, [1; 8]))],
        origins: vec!["https://api.example.com".to_owned()],
        state: "ready".to_owned(),
        oauth: None,
        auth: vec![method("z")],
        created_ms: 7,
    }
}

#[tokio::test]
async fn a_source_comes_back_with_all_that_was_staged() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let (row, staged) = (source("github", "1"), staged(&["issues.create", "issues.list"]));
    workspace.replace_source(row.clone(), staged.clone(), None).await.unwrap();
    let github = source_name("github");
    assert_eq!(workspace.sources().unwrap(), std::slice::from_ref(&row));
    assert_eq!(workspace.source(&github).unwrap(), Some(row));
    let local = source("local", "1");
    assert!(local.command.is_some());
    workspace.replace_source(local.clone(), Staged::default(), None).await.unwrap();
    assert_eq!(workspace.source(&local.name).unwrap(), Some(local));
    let found = workspace.tool(&github, "issues.create").unwrap();
    assert_eq!(found.as_ref(), Some(&staged.tools[0]));
    assert_eq!(workspace.tool(&github, "issues").unwrap(), None);
    assert_eq!(workspace.tool(&source_name("gitlab"), "issues.create").unwrap(), None);
    let names = workspace.tool_names(&github).unwrap();
    assert_eq!(names, ["issues.create", "issues.list"]);
    let definition = workspace.definition(&github, "Issue").unwrap();
    assert_eq!(definition.as_deref(), Some("{\"n\":2}"));
    assert_eq!(workspace.definition(&github, "Other").unwrap(), None);
    assert_eq!(workspace.auth_methods(&github).unwrap(), staged.auth_methods);
    assert_eq!(workspace.warnings(&github).unwrap(), staged.warnings);
    let mut seen = Vec::new();
    workspace
        .each_tool(&github, &mut |tool| {
            assert!(!tool.read_only && tool.deprecated);
            assert_eq!(tool.digest, Digest::of(tool.name.as_bytes()));
            seen.push(format!("{} {} {}", tool.summary, tool.description, tool.input_schema));
        })
        .unwrap();
    seen.sort();
    assert_eq!(seen[0], "issues.create in short Does issues.create. {\"type\":\"object\"}");
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn a_source_is_replaced_as_a_whole_and_keeps_its_connections() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let github = source_name("github");
    workspace.replace_source(source("github", "1"), staged(&["a", "b"]), None).await.unwrap();
    workspace.replace_source(source("other", "1"), staged(&["a"]), None).await.unwrap();
    workspace.add_connection(connection("github", "work"), None).await.unwrap();
    workspace.replace_source(source("github", "2"), staged(&["b", "c", "d"]), None).await.unwrap();
    assert_eq!(workspace.tool_names(&github).unwrap(), ["b", "c", "d"]);
    assert_eq!(workspace.definition(&github, "Issue").unwrap().unwrap(), "{\"n\":3}");
    assert_eq!(workspace.auth_methods(&github).unwrap().len(), 2);
    assert_eq!(workspace.connections(Some(&github)).unwrap().len(), 1);
    assert_eq!(workspace.tool_names(&source_name("other")).unwrap(), ["a"]);
    assert!(workspace.remove_source(&github).await.unwrap());
    assert!(!workspace.remove_source(&github).await.unwrap());
    assert!(workspace.tool_names(&github).unwrap().is_empty());
    assert!(workspace.connections(None).unwrap().is_empty());
    let left: i64 = workspace
        .read("counting", |connection| {
            let sql = "SELECT (SELECT count(*) FROM tools) + (SELECT count(*) FROM definitions)
                + (SELECT count(*) FROM auth_methods) + (SELECT count(*) FROM warnings)";
            Ok(connection.query_row(sql, [], |row| row.get(0))?)
        })
        .unwrap();
    assert_eq!(left, 1 + 1 + 2 + 2, "what the other source has");
}

/// A tool by its name, with `!` where it only reads and `#` before a version.
fn version(text: &str) -> ToolRow {
    let (name, version) = text.split_once('#').unwrap_or((text, ""));
    let (read_only, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
    let request = Some(format!("POST /{version}"));
    ToolRow { read_only, request, digest: Digest::of(text.as_bytes()), ..tool(name) }
}

#[tokio::test]
async fn writes_that_a_refresh_brings_are_unreviewed_until_they_were_seen() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let github = source_name("github");
    let unseen = || {
        let rows = workspace.unreviewed(&github).unwrap();
        let line = |row: &UnreviewedRow| {
            let was = row.request_before.as_deref().unwrap_or("");
            format!("{}{} {was}", if row.changed { "~" } else { "+" }, row.name).trim_end().to_owned()
        };
        let mut lines: Vec<String> = rows.values().map(line).collect();
        lines.sort();
        lines.join(", ")
    };
    let seen = |text: &str| workspace.reviewed(&github, vec![(version(text).name, version(text).digest)]);
    let refresh = |tools: &[&str]| {
        let tools = tools.iter().map(|text| version(text)).collect();
        workspace.replace_source(source("github", "1"), Staged { tools, ..staged(&[]) }, None)
    };

    refresh(&["a", "b#1", "!r"]).await.unwrap();
    assert_eq!(unseen(), "", "whoever added it saw it");
    refresh(&["a", "b#2", "c", "!r#2", "!new"]).await.unwrap();
    assert_eq!(unseen(), "+c, ~b POST /1", "what only reads asks nobody");
    refresh(&["a", "b#2", "c", "!r#2"]).await.unwrap();
    assert_eq!(unseen(), "+c, ~b POST /1", "nobody has seen them yet");
    refresh(&["a", "b#3", "c#2", "r#2"]).await.unwrap();
    assert_eq!(unseen(), "+c, ~b POST /1, ~r", "a read that became a write was another tool");

    assert!(seen("b#2").await.unwrap().is_empty(), "a version that is gone");
    assert_eq!(seen("b#3").await.unwrap(), ["b"]);
    assert!(seen("b#3").await.unwrap().is_empty(), "once");
    assert_eq!(unseen(), "+c, ~r");
    refresh(&["a", "b#3", "r#2"]).await.unwrap();
    assert_eq!(unseen(), "~r", "what is gone is gone");
    refresh(&["a", "b#3", "c#2", "r#2"]).await.unwrap();
    assert_eq!(unseen(), "+c, ~r", "and is new when it comes back");
    refresh(&["a", "!b#3", "!c#2", "!r#2"]).await.unwrap();
    assert_eq!(unseen(), "");
    refresh(&["z"]).await.unwrap();
    drop(workspace);
    let workspace = open(&home);
    assert_eq!(workspace.unreviewed(&github).unwrap().len(), 1, "over a restart");
    workspace.remove_source(&github).await.unwrap();
    assert!(workspace.unreviewed(&github).unwrap().is_empty());
    workspace.replace_source(source("github", "1"), staged(&["z", "y"]), None).await.unwrap();
    assert!(workspace.unreviewed(&github).unwrap().is_empty(), "a source that is added again is new");

    let empty = || SourceRow { tool_count: 0, ..source("other", "1") };
    let other = source_name("other");
    for _ in 0..2 {
        workspace.replace_source(empty(), staged(&[]), None).await.unwrap();
    }
    workspace.replace_source(source("other", "1"), staged(&["a"]), None).await.unwrap();
    assert!(workspace.unreviewed(&other).unwrap().is_empty(), "the first tools come with a sign-in");
    workspace.replace_source(empty(), staged(&[]), None).await.unwrap();
    workspace.replace_source(source("other", "1"), staged(&["a"]), None).await.unwrap();
    assert_eq!(workspace.unreviewed(&other).unwrap().len(), 1, "emptied once, it does not begin anew");
}

#[tokio::test]
async fn an_index_with_a_name_twice_is_refused_and_the_old_source_stays() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let github = source_name("github");
    let old = source("github", "1");
    workspace.replace_source(old.clone(), staged(&["a", "b"]), None).await.unwrap();
    let mut definitions = staged(&["c"]);
    definitions.definitions.push(definitions.definitions[0].clone());
    let mut methods = staged(&["c"]);
    methods.auth_methods.push(method("a"));
    let cases = [
        (staged(&["c", "d\u{1b}", "d\u{1b}"]), "tool d\\u{1b}"),
        (definitions, "definition Issue"),
        (methods, "auth method a"),
    ];
    for (staged, expected) in cases {
        let replaced = workspace.replace_source(source("github", "2"), staged, None).await;
        let error = replaced.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(workspace.tool_names(&github).unwrap(), ["a", "b"]);
        assert_eq!(workspace.source(&github).unwrap(), Some(old.clone()));
        assert_eq!(workspace.auth_methods(&github).unwrap().len(), 2);
        assert_eq!(workspace.warnings(&github).unwrap().len(), 2);
    }
    assert_eq!(workspace.health(), Health::default());
}

#[tokio::test]
async fn readers_never_see_a_part_of_a_source() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let github = source_name("github");
    let names =
        |prefix: &str| -> Vec<String> { (0..300).map(|number| format!("{prefix}{number:03}")).collect() };
    let stage = |prefix: &str| {
        let names = names(prefix);
        staged(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    workspace.replace_source(source("github", "a"), stage("a"), None).await.unwrap();
    let (reader, name) = (workspace.clone(), github.clone());
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let finished = Arc::clone(&done);
    let reading = std::thread::spawn(move || {
        while !finished.load(std::sync::atomic::Ordering::Relaxed) {
            let names = reader.tool_names(&name).unwrap();
            assert_eq!(names.len(), 300);
            assert_eq!(names[0][..1], names[299][..1]);
        }
    });
    for prefix in ["b", "a", "b", "a"] {
        workspace.replace_source(source("github", prefix), stage(prefix), None).await.unwrap();
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    reading.join().unwrap();
}

#[tokio::test]
async fn connections_belong_to_a_source_that_exists() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let error = workspace.add_connection(connection("github", "work"), None).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert_eq!(error.to_string(), "source github does not exist");
    for name in ["github", "another"] {
        workspace.replace_source(source(name, "1"), Staged::default(), None).await.unwrap();
        workspace.add_connection(connection(name, "work"), None).await.unwrap();
    }
    let other = ConnectionRow { state: "other".to_owned(), ..connection("github", "work") };
    let error = workspace.add_connection(other, None).await.unwrap_err();
    assert_eq!(error.to_string(), "github has a connection work already");
    let oauth = Some("{}".to_owned());
    let changed =
        ConnectionRow { state: "expired".to_owned(), oauth: oauth.clone(), ..connection("github", "work") };
    workspace.update_connection(&changed.source, &changed.name, "expired", oauth).await.unwrap();
    let all = workspace.connections(None).unwrap();
    assert_eq!(all, [connection("another", "work"), changed.clone()]);
    let github = source_name("github");
    assert_eq!(workspace.connections(Some(&github)).unwrap(), std::slice::from_ref(&changed));
    let work = changed.name.clone();
    assert_eq!(workspace.connection(&github, &work).unwrap(), Some(changed.clone()));
    let removed = workspace.remove_connection(&github, &work).await.unwrap();
    assert_eq!(removed, Some(changed));
    assert_eq!(workspace.remove_connection(&github, &work).await.unwrap(), None);
    assert_eq!(workspace.connection(&github, &work).unwrap(), None);
    let error = workspace.update_connection(&github, &work, "ok", None).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection github/work does not exist");
}

#[tokio::test]
async fn policies_come_in_the_order_in_which_they_are_read() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let policy = |number: u8, level: &str, position| PolicyRow {
        id: PolicyId::new(i64::from(number), [number; 8]),
        level: level.to_owned(),
        connection: None,
        position,
        pattern: "github.*".to_owned(),
        action: "approve".to_owned(),
        tool_digest: Some(Digest::of(b"tool")),
        note: Some(number.to_string()),
        created_by: "local".to_owned(),
        created_ms: 3,
    };
    let order = || -> String {
        let rows = workspace.policies().unwrap();
        rows.iter().filter_map(|row| row.note.clone()).collect()
    };
    for (number, level, position, place, expect) in [
        (1, "connection", 0, 0, "1"),
        (2, "workspace", 9, 0, "21"),
        (3, "workspace", 0, 0, "321"),
        (4, "organization", 5, 0, "4321"),
        (5, "workspace", 0, 0, "45321"),
        (6, "workspace", 1, 1, "456321"),
        (7, "workspace", -1, 0, "4756321"),
        (8, "workspace", 99, 5, "47563281"),
    ] {
        assert_eq!(workspace.put_policy(policy(number, level, position), None).await.unwrap(), place);
        assert_eq!(order(), expect, "{number}: those from there on are one further down");
    }
    let row = PolicyRow { position: 2, ..policy(6, "workspace", 1) };
    assert_eq!(workspace.policies().unwrap()[3], row);
    workspace.put_policy(policy(2, "workspace", 0), None).await.unwrap();
    assert_eq!(order(), "42756381", "one that is there moves");
    let first = PolicyId::new(1, [1; 8]);
    assert!(workspace.remove_policy(&first).await.unwrap());
    assert!(!workspace.remove_policy(&first).await.unwrap());
    assert_eq!(order(), "4275638");
}

#[tokio::test]
async fn components_are_pinned_by_name() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let row = ComponentRow {
        name: "openapi".to_owned(),
        digest: Digest::of(b"one"),
        world: "executor:adapter/adapter".to_owned(),
        kind: Some("openapi".to_owned()),
        size: 7,
        first_party: true,
        imports: vec!["executor:adapter/http".to_owned()],
        grant: "{}".to_owned(),
        added_ms: 4,
    };
    workspace.put_component(row.clone(), None).await.unwrap();
    let updated = ComponentRow { digest: Digest::of(b"two"), ..row };
    workspace.put_component(updated.clone(), None).await.unwrap();
    let listed = workspace.components().unwrap();
    assert_eq!(listed, std::slice::from_ref(&updated));
    assert_eq!(workspace.component("openapi").unwrap(), Some(updated));
    assert!(workspace.remove_component("openapi").await.unwrap());
    assert!(!workspace.remove_component("openapi").await.unwrap());
    assert_eq!(workspace.component("openapi").unwrap(), None);
}

#[tokio::test]
async fn what_a_stored_row_cannot_be_is_said_and_not_taken() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    workspace.replace_source(source("github", "1"), staged(&["a"]), None).await.unwrap();
    let damages = [
        "UPDATE sources SET name = 'Not A Name'",
        "UPDATE sources SET adapter_digest = x'00'",
        "UPDATE sources SET origins = 'no list'",
    ];
    for sql in damages {
        let damaged = workspace.write("damaging", move |connection| {
            connection.execute_batch(sql)?;
            Ok(())
        });
        damaged.await.unwrap();
        let error = workspace.sources().unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{sql}: {error}");
    }
}

#[tokio::test]
async fn all_of_a_workspace_is_there_after_it_is_opened_again() {
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    workspace.replace_source(source("github", "1"), staged(&["a"]), None).await.unwrap();
    assert_eq!(workspace.name().as_str(), "default");
    drop(workspace);
    let workspace = open(&home);
    assert!(workspace.tool(&source_name("github"), "a").unwrap().is_some());
    assert!(workspace.directory().ends_with("workspaces/default"));
}

#[tokio::test]
async fn a_blob_that_nobody_used_for_long_goes_unless_a_source_is_made_of_it() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let (_directory, home) = testing::home();
    let workspace = open(&home);
    let blobs = workspace.blobs();
    let store = async |content: &str, now_ms: i64| {
        let mut writer = blobs.create(None, None).unwrap();
        writer.append(content.as_bytes()).unwrap();
        writer.finish(now_ms).await.unwrap()
    };
    let is_kept = |content: &str| blobs.open(&Digest::of(content.as_bytes())).unwrap().is_some();
    // The document of the source, and the file beside it.
    workspace.replace_source(source("github", "1"), staged(&["a"]), None).await.unwrap();
    for content in ["old", "again", "1", "b"] {
        store(content, 0).await;
    }
    let used = store("used", 0).await;
    blobs.mark_used(&used, 9 * DAY_MS).await.unwrap();
    store("again", 9 * DAY_MS).await;
    assert_eq!(blobs.forget_unused(9 * DAY_MS).await.unwrap(), 1);
    assert!(!is_kept("old") && ["used", "again", "1", "b"].iter().all(|content| is_kept(content)));
    let hex = Digest::of(b"old").hex();
    assert!(!workspace.directory().join("blobs").join(&hex[..2]).join(hex).exists());
    assert_eq!(blobs.forget_unused(10 * DAY_MS).await.unwrap(), 2);
    assert_eq!(blobs.total().unwrap().count, 2, "a source can still be shown");
    assert!(workspace.remove_source(&source_name("github")).await.unwrap());
    assert_eq!(blobs.forget_unused(10 * DAY_MS).await.unwrap(), 2);
}
