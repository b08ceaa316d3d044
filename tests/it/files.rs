//! Descriptions that are several files of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use executor_upstreams::plain::{self, Answer, Request};
use serde_json::{Value, json};

use crate::daemon::{Daemon, fixture};
use crate::wire::Wire;

/// A directory of a test's own with these files in it.
fn tree(daemon: &Daemon, files: &[(&str, &[u8])]) -> PathBuf {
    let directory = daemon.home().join("tree");
    for (path, content) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

/// Adds a file as a source and gives the source, with its warnings.
fn add(daemon: &Daemon, name: &str, file: &Path, more: &[&str]) -> Value {
    let arguments = ["sources", "add", file.to_str().unwrap(), "--name", name];
    daemon.run(&[&arguments[..], more].concat()).ok();
    daemon.run(&["sources", "show", name, "--json"]).json()
}

const OPENAPI: &str = "openapi: 3.0.3\ninfo: {title: Split, version: '1'}\nservers: [{url: /v1}]\npaths:\n";

#[test]
fn published_trees_are_read_whole() {
    let daemon = Daemon::start();
    let schemathesis = fixture("schemathesis/test/data/relative_files/main.yaml");
    let source = add(&daemon, "accounts", &schemathesis, &[]);
    assert_eq!(
        source["document_files"],
        json!([
            "main.yaml",
            "components/parameters.yaml",
            "components/responses.yaml",
            "components/schemas.yaml",
            "paths/user-account.yaml"
        ])
    );
    assert_eq!(source["origins"], json!(["https://api.example.com"]), "{source}");
    let described = daemon.run(&["tools", "describe", "accounts.userAccounts.getUserAccounts"]);
    let described = if described.code() == 0 {
        described.ok()
    } else {
        daemon.run(&["tools", "search", "--source", "accounts", ""]).ok()
    };
    assert!(described.contains("user_id"), "{described}");

    // By the letter each of these leads to a file beside it, some in circles.
    let specs = "prance/tests/specs";
    for (name, file, files) in [
        ("cycles", "recursive_files.yaml", 4),
        ("root", "translating_parser/root_file_reference_from_file.spec.yaml", 2),
        ("chain", "translating_parser/different_file_reference_from_file.spec.yaml", 3),
        ("latin", "issue_51/openapi-main.yaml", 2),
    ] {
        let source = add(&daemon, name, &fixture(&format!("{specs}/{file}")), &[]);
        let warnings = source["warnings"].to_string();
        assert_eq!(source["document_files"].as_array().unwrap().len(), files, "{name}: {source}");
        assert!(!warnings.contains("there is no file"), "{name}: {warnings}");
    }
    let source = add(&daemon, "missing", &fixture(&format!("{specs}/issue_78/openapi.json")), &[]);
    let warnings = source["warnings"].to_string();
    let missing = "the document tests/specs/issue_78/_schemas.json is not read: there is no file";
    assert!(warnings.contains(missing), "what is not there is named: {warnings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_beside_a_document_are_read_and_no_server_is_there() {
    let daemon = Daemon::start();
    let upstream = plain::start(|_: &Request<'_>| Answer::json(200, &json!({"made": true}))).await.unwrap();
    let latin = b"type: object\ndescription: caf\xe9\nproperties: {colour: {enum: [rouge, p\xe2le]}}\nrequired: [colour]\n";
    let root = format!(
        "{OPENAPI}  /paint:\n    post:\n      operationId: paint\n      requestBody: {{content: {{application/json: {{schema: {{$ref: 'parts/a b.yaml'}}}}}}}}\n      responses: {{200: {{description: ok}}}}\n  /gone:\n    get:\n      operationId: gone\n      parameters: [{{$ref: 'gone.yaml#/x'}}]\n      responses: {{200: {{description: ok, content: {{application/json: {{schema: {{$ref: '../common.yaml'}}}}}}}}}}\n"
    );
    let directory = tree(
        &daemon,
        &[
            ("api/openapi.yaml", root.as_bytes()),
            ("api/parts/a b.yaml", latin),
            ("common.yaml", b"type: string\n"),
        ],
    );
    let file = directory.join("api/openapi.yaml");
    let source = add(&daemon, "split", &file, &[]);
    let warnings = source["warnings"].to_string();
    assert!(
        warnings.contains("the document gone.yaml is not read: there is no file gone.yaml"),
        "{warnings}"
    );
    assert!(
        warnings.contains("common.yaml is not in the directory of the document: `--root DIR`"),
        "{warnings}"
    );
    assert!(warnings.contains("set base_url") && !warnings.contains("document.invalid"), "{warnings}");
    assert_eq!(source["origins"], json!([]), "{source}");
    let described = daemon.run(&["tools", "describe", "split.paint.paint"]).ok();
    assert!(described.contains("rouge") && described.contains("pâle"), "{described}");

    let base = format!("base_url={}/v1", upstream.origin());
    let host = upstream.origin().trim_start_matches("http://");
    let directory = directory.to_str().unwrap();
    let more = ["--root", directory, "--set", &base, "--allow-host", host];
    let source = add(&daemon, "whole", &file, &more);
    let warnings = source["warnings"].to_string();
    assert!(!warnings.contains("common.yaml"), "{warnings}");
    assert_eq!(
        source["document_files"],
        json!(["api/openapi.yaml", "api/parts/a b.yaml", "common.yaml"]),
        "{source}"
    );
    daemon.run(&["policies", "add", "whole.*", "allow"]).ok();
    let call = ["call", "whole.paint.paint", r#"{"body":{"colour":"rouge"}}"#];
    daemon.run(&call).ok();
    assert_eq!(upstream.ledger.matching("POST", "/v1/paint").len(), 1);
}

#[test]
fn a_link_that_leads_out_is_refused_before_anything_is_sent() {
    let daemon = Daemon::start();
    let root = format!("{OPENAPI}  /x: {{$ref: x.yaml}}\n");
    let directory = tree(&daemon, &[("openapi.yaml", root.as_bytes())]);
    fs::write(daemon.home().join("private.txt"), "canary-of-a-private-file").unwrap();
    std::os::unix::fs::symlink(daemon.home().join("private.txt"), directory.join("x.yaml")).unwrap();
    let said = daemon.run(&["sources", "add", directory.join("openapi.yaml").to_str().unwrap()]).fails(2);
    assert!(said.contains("x.yaml is a link that leads out of") && said.contains("--root"), "{said}");
    assert_eq!(daemon.run(&["sources", "list", "--json"]).json()["items"], json!([]));
}

#[test]
fn a_source_of_files_is_refreshed_from_files() {
    let daemon = Daemon::start();
    let operation = |name: &str| {
        format!(
            "{name}:\n  operationId: {name}\n  tags: [things]\n  responses: {{200: {{description: ok}}}}\n"
        )
    };
    let root = format!("{OPENAPI}  /things: {{$ref: things.yaml}}\n");
    let directory =
        tree(&daemon, &[("openapi.yaml", root.as_bytes()), ("things.yaml", operation("get").as_bytes())]);
    let file = directory.join("openapi.yaml");
    let file = file.to_str().unwrap();
    add(&daemon, "split", Path::new(file), &["--set", "base_url=https://a.test"]);
    let said = daemon.run(&["sources", "refresh", "split"]).fails(1);
    assert!(said.contains("executor sources refresh split --from-file FILE"), "{said}");

    fs::write(directory.join("things.yaml"), operation("get") + &operation("post")).unwrap();
    let refreshed = daemon.run(&["sources", "refresh", "split", "--from-file", file, "--json"]).json();
    assert_eq!(refreshed["added"], json!(["things.post"]), "{refreshed}");
    assert_eq!(refreshed["unreviewed"][0]["request"], "POST /things", "{refreshed}");
    let owner = Wire::owner(&daemon);
    let inspected = owner.get("/v1/workspaces/default/sources/split/inspection").json();
    let files = &inspected["document"]["files"];
    assert_eq!(files[0]["digest"], inspected["document"]["digest"], "{files}");
    assert_eq!(files[1]["path"], "things.yaml", "{files}");
    let kept = owner.get("/v1/workspaces/default/sources/split/document?file=things.yaml");
    assert_eq!(String::from_utf8_lossy(&kept.body), operation("get") + &operation("post"));
    let missing = owner.get("/v1/workspaces/default/sources/split/document?file=../token");
    assert_eq!(missing.refused(404), "not-found");
}

#[test]
fn a_path_that_is_none_is_refused_by_the_daemon_too() {
    let daemon = Daemon::start();
    let owner = Wire::owner(&daemon);
    let add = |name: &str, paths: &[&str]| {
        let file = |path: &&str| json!({"path": path, "content_base64": ""});
        let files: Vec<Value> = paths.iter().map(file).collect();
        let document = json!({"name": name, "content_base64": "b3BlbmFwaTogMw==", "files": files});
        owner.post("/v1/workspaces/default/sources", &json!({"document": document, "name": "x"}))
    };
    for wrong in ["../x.yaml", "/etc/passwd", "a//b", "a/./b", "a\\b", "", "a\u{0}b", &"x/".repeat(600)] {
        add("openapi.yaml", &[wrong]).refused(400);
        add(wrong, &["x.yaml"]).refused(400);
    }
    add("openapi.yaml", &["a.yaml", "a.yaml"]).refused(400);
    add("openapi.yaml", &["openapi.yaml"]).refused(400);
    let many: Vec<String> = (0..500).map(|number| format!("{number}.yaml")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(add("openapi.yaml", &many).refused(422), "document-too-large");
}
