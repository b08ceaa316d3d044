//! What operations do to the state.

use executor_upstreams::github::{self, Config, Emulator};
use serde_json::{Value, json};

use crate::client::{anonymous, call};

const HELLO: &str = "/repos/octocat/hello-world";

async fn emulator() -> Emulator {
    github::start(Config::default()).await.expect("a port is free")
}

#[tokio::test]
async fn a_created_issue_is_listed_changed_and_closed() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let issues = format!("{HELLO}/issues");
    let new = json!({ "title": "New", "body": "Text", "labels": ["bug", "fresh"], "assignees": ["hubot"] });
    let created = call(addr, "POST", &issues).json(new).expect(201).await;
    let number = created["number"].as_u64().expect("a number");
    assert_eq!(created["user"]["login"], "octocat");
    assert_eq!(created["labels"][1]["name"], "fresh");
    assert_eq!(created["assignee"]["login"], "hubot");

    let listed = call(addr, "GET", &issues).expect(200).await;
    assert_eq!(listed[0]["number"], number);
    let fresh = call(addr, "GET", &format!("{issues}?labels=fresh")).expect(200).await;
    assert_eq!(fresh.as_array().map(Vec::len), Some(1));

    let one = format!("{issues}/{number}");
    let change = json!({ "state": "closed", "state_reason": "not_planned", "body": null, "milestone": 1 });
    let changed = call(addr, "PATCH", &one).json(change).expect(200).await;
    assert_eq!(changed["state"], "closed");
    assert_eq!(changed["state_reason"], "not_planned");
    assert_eq!(changed["body"], Value::Null);
    assert_eq!(changed["title"], "New");
    assert_eq!(changed["milestone"]["title"], "v1.0");
    let open = call(addr, "GET", &issues).expect(200).await;
    assert_ne!(open[0]["number"], number);
}

#[tokio::test]
async fn invalid_issues_say_each_fault() {
    let emulator = emulator().await;
    let issues = format!("{HELLO}/issues");
    let new = json!({ "title": " ", "labels": 1, "assignees": ["nobody"], "milestone": 99 });
    let refused = call(emulator.addr, "POST", &issues).json(new).expect(422).await;
    assert_eq!(refused["message"], "Validation Failed");
    assert_eq!(refused["status"], "422");
    assert!(refused["documentation_url"].is_string());
    let field = |name: &str, code: &str| json!({ "resource": "Issue", "field": name, "code": code });
    assert_eq!(
        refused["errors"],
        json!([
            field("title", "missing_field"),
            field("labels", "invalid"),
            field("assignees", "invalid"),
            field("milestone", "invalid"),
        ])
    );
    let broken = call(emulator.addr, "POST", &issues).body("{").expect(400).await;
    assert_eq!(broken["message"], "Problems parsing JSON");
    call(emulator.addr, "POST", &issues).body("[1]").expect(400).await;
    call(emulator.addr, "GET", &format!("{issues}?state=ajar")).expect(422).await;
}

#[tokio::test]
async fn comments_come_and_go_and_respect_a_lock() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    emulator.allow_token("hubot-token", "hubot");
    let comments = format!("{HELLO}/issues/2/comments");
    let hubot =
        |method: &str, path: &str| anonymous(addr, method, path).header("authorization", "token hubot-token");
    let comment = hubot("POST", &comments).json(json!({ "body": "Hi" })).expect(201).await;
    let one = format!("{HELLO}/issues/comments/{}", comment["id"]);
    call(addr, "PATCH", &one).json(json!({ "body": "Ho" })).expect(200).await;
    assert_eq!(call(addr, "GET", &comments).expect(200).await[0]["body"], "Ho");
    assert_eq!(call(addr, "GET", &format!("{HELLO}/issues/2")).expect(200).await["comments"], 1);
    let body = json!({ "lock_reason": "spam" });
    call(addr, "PUT", &format!("{HELLO}/issues/2/lock")).json(body).expect(204).await;
    hubot("POST", &comments).json(json!({ "body": "Again" })).expect(403).await;
    call(addr, "DELETE", &format!("{HELLO}/issues/2/lock")).expect(204).await;
    call(addr, "DELETE", &one).expect(204).await;
    call(addr, "GET", &one).expect(404).await;
    call(addr, "DELETE", &one).expect(404).await;
    let left = call(addr, "GET", &comments).expect(200).await;
    assert_eq!(left, json!([]));
}

#[tokio::test]
async fn labels_are_renamed_and_deleted_everywhere() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let labels = format!("{HELLO}/labels");
    let new = json!({ "name": "help wanted", "color": "00ff00" });
    let label = call(addr, "POST", &labels).json(new.clone()).expect(201).await;
    assert!(label["url"].as_str().is_some_and(|url| url.ends_with("/labels/help%20wanted")));
    let again = call(addr, "POST", &labels).json(new).expect(422).await;
    assert_eq!(again["errors"][0]["code"], "already_exists");
    let held = format!("{HELLO}/issues/1/labels");
    call(addr, "POST", &held).json(json!({ "labels": ["help wanted"] })).expect(200).await;
    let renamed = json!({ "new_name": "wanted" });
    call(addr, "PATCH", &format!("{labels}/help%20wanted")).json(renamed).expect(200).await;
    assert_eq!(call(addr, "GET", &held).expect(200).await[0]["name"], "wanted");
    call(addr, "DELETE", &format!("{labels}/wanted")).expect(204).await;
    assert_eq!(call(addr, "GET", &held).expect(200).await, json!([]));
    call(addr, "POST", &labels).json(json!({ "name": "x", "color": "red" })).expect(422).await;
}

#[tokio::test]
async fn pull_requests_merge_or_say_why_not() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let pulls = call(addr, "GET", &format!("{HELLO}/pulls")).expect(200).await;
    let (conflicting, good) = (&pulls[0], &pulls[1]);
    let path = |pull: &Value, rest: &str| format!("{HELLO}/pulls/{}{rest}", pull["number"]);
    assert_eq!(call(addr, "GET", &path(conflicting, "")).expect(200).await["mergeable"], false);
    call(addr, "PUT", &path(conflicting, "/merge")).expect(405).await;
    let other = json!({ "sha": "0000000000000000000000000000000000000000" });
    call(addr, "PUT", &path(good, "/merge")).json(other).expect(409).await;
    call(addr, "GET", &path(good, "/merge")).expect(404).await;
    let sha = json!({ "sha": good["head"]["sha"] });
    let merged = call(addr, "PUT", &path(good, "/merge")).json(sha).expect(200).await;
    assert_eq!(merged["merged"], true);
    call(addr, "GET", &path(good, "/merge")).expect(204).await;
    let file = call(addr, "GET", &format!("{HELLO}/contents/src/feature.rs")).expect(200).await;
    assert_eq!(file["encoding"], "base64");
    let log = call(addr, "GET", &format!("{HELLO}/commits")).expect(200).await;
    assert_eq!(log[0]["sha"], merged["sha"]);
    assert_eq!(log[0]["parents"].as_array().map(Vec::len), Some(2));
    let merge = json!({ "base": "main", "head": "conflicting" });
    let conflict = call(addr, "POST", &format!("{HELLO}/merges")).json(merge).expect(409).await;
    assert_eq!(conflict["message"], "Merge conflict");
    let merge = json!({ "base": "main", "head": "feature" });
    call(addr, "POST", &format!("{HELLO}/merges")).json(merge).expect(204).await;
}

#[tokio::test]
async fn pull_requests_are_checked() {
    let emulator = emulator().await;
    let pulls = format!("{HELLO}/pulls");
    let create = |body: Value| call(emulator.addr, "POST", &pulls).json(body).expect(422);
    let exists = create(json!({ "title": "T", "head": "octocat:feature", "base": "main" })).await;
    assert!(exists["errors"][0]["message"].as_str().is_some_and(|text| text.contains("already exists")));
    let nothing = create(json!({ "title": "T", "head": "main", "base": "main" })).await;
    assert_eq!(nothing["errors"][0]["message"], "No commits between main and main");
    let unknown = create(json!({ "title": "T", "head": "gone", "base": "main" })).await;
    assert_eq!(unknown["errors"][0]["field"], "head");
}

#[tokio::test]
async fn files_are_put_by_their_hash() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let path = format!("{HELLO}/contents/docs/a%20b.txt");
    let new = json!({ "message": "Add", "content": "aGVsbG8=" });
    let put = call(addr, "PUT", &path).json(new.clone()).expect(201).await;
    assert_eq!(put["content"]["path"], "docs/a b.txt");
    call(addr, "PUT", &path).json(new).expect(422).await;
    let wrong = json!({ "message": "Change", "content": "aGk=", "sha": "1" });
    call(addr, "PUT", &path).json(wrong).expect(409).await;
    let sha = &put["content"]["sha"];
    let right = json!({ "message": "Change", "content": "aGk=", "sha": sha });
    call(addr, "PUT", &path).json(right).expect(200).await;
    let raw = call(addr, "GET", &path).header("accept", "application/vnd.github.raw+json").send().await;
    assert_eq!(raw.text(), "hi");
    let listed = call(addr, "GET", &format!("{HELLO}/contents/")).expect(200).await;
    let names: Vec<&Value> = listed.as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["README.md", "docs", "src"]);
    let sha = &call(addr, "GET", &path).expect(200).await["sha"];
    let gone = json!({ "message": "Remove", "sha": sha });
    call(addr, "DELETE", &path).json(gone).expect(200).await;
    call(addr, "GET", &path).expect(404).await;
    let bad = json!({ "message": "Add", "content": "!" });
    call(addr, "PUT", &path).json(bad).expect(422).await;
}

#[tokio::test]
async fn repositories_are_made_renamed_and_deleted() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let new = json!({ "name": "fresh", "private": true, "auto_init": true });
    let made = call(addr, "POST", "/user/repos").json(new.clone()).expect(201).await;
    assert_eq!(made["full_name"], "octocat/fresh");
    call(addr, "POST", "/user/repos").json(new).expect(422).await;
    anonymous(addr, "GET", "/repos/octocat/fresh").expect(404).await;
    let renamed = json!({ "name": "stale" });
    call(addr, "PATCH", "/repos/octocat/fresh").json(renamed).expect(200).await;
    let moved = call(addr, "GET", "/repos/octocat/fresh/readme?ref=main").send().await;
    assert_eq!(moved.status, 301);
    let to = format!("{}/repos/octocat/stale/readme?ref=main", emulator.origin());
    assert_eq!(moved.header("location"), Some(to.as_str()));
    let star = call(addr, "PUT", "/user/starred/octocat/fresh").send().await;
    let to = format!("{}/user/starred/octocat/stale", emulator.origin());
    assert_eq!((star.status, star.header("location")), (307, Some(to.as_str())));
    call(addr, "GET", "/repos/octocat/stale/readme?ref=main").expect(200).await;
    call(addr, "POST", "/repos/octocat/fresh/issues").json(json!({})).expect(307).await;
    call(addr, "DELETE", "/repos/octocat/stale").expect(204).await;
    call(addr, "GET", "/repos/octocat/stale").expect(404).await;
    call(addr, "GET", "/repos/octocat/fresh").expect(404).await;
    let of_org = json!({ "name": "handbook", "private": true });
    call(addr, "POST", "/orgs/github/repos").json(of_org).expect(201).await;
    let listed = call(addr, "GET", "/orgs/github/repos").expect(200).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    call(addr, "POST", "/user/repos").json(json!({ "name": "a/b" })).expect(422).await;
}

#[tokio::test]
async fn access_is_refused_in_github_ways() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    call(addr, "GET", "/repos/octocat/protected").expect(403).await;
    call(addr, "GET", "/repos/octocat/archived").expect(200).await;
    let body = json!({ "title": "T" });
    call(addr, "POST", "/repos/octocat/archived/issues").json(body.clone()).expect(403).await;
    call(addr, "GET", "/repos/octocat/secret").expect(200).await;
    anonymous(addr, "GET", "/repos/octocat/secret").expect(404).await;
    anonymous(addr, "POST", &format!("{HELLO}/issues")).json(body).expect(401).await;
    emulator.allow_token("hubot-token", "hubot");
    let hubot = anonymous(addr, "DELETE", HELLO).header("authorization", "Bearer hubot-token");
    hubot.expect(403).await;
    for nowhere in ["/nowhere", "/repos/octocat/none", "/repos/octocat/hello-world/issues/x"] {
        let refused = call(addr, "GET", nowhere).expect(404).await;
        assert_eq!(refused["message"], "Not Found");
    }
    call(addr, "POST", "/zen").expect(404).await;
}

#[tokio::test]
async fn gists_are_made_changed_and_deleted() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let new =
        json!({ "description": "d", "files": { "a.txt": { "content": "A" }, "b.txt": { "content": "B" } } });
    let gist = call(addr, "POST", "/gists").json(new).expect(201).await;
    let path = format!("/gists/{}", gist["id"].as_str().expect("an id"));
    let change = json!({ "files": { "a.txt": null, "b.txt": { "filename": "c.txt" } } });
    let changed = call(addr, "PATCH", &path).json(change).expect(200).await;
    assert_eq!(changed["files"].as_object().map(|files| files.len()), Some(1));
    assert_eq!(changed["files"]["c.txt"]["content"], "B");
    call(addr, "DELETE", &path).expect(204).await;
    call(addr, "GET", &path).expect(404).await;
    call(addr, "POST", "/gists").json(json!({ "files": {} })).expect(422).await;
}

#[tokio::test]
async fn stars_reactions_and_milestones_hold() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let star = "/user/starred/octocat/hello-world";
    call(addr, "GET", star).expect(404).await;
    call(addr, "PUT", star).expect(204).await;
    call(addr, "GET", star).expect(204).await;
    assert_eq!(call(addr, "GET", HELLO).expect(200).await["stargazers_count"], 1);
    call(addr, "DELETE", star).expect(204).await;
    assert_eq!(call(addr, "GET", "/user/starred").expect(200).await, json!([]));

    let reactions = format!("{HELLO}/issues/1/reactions");
    let heart = json!({ "content": "heart" });
    let made = call(addr, "POST", &reactions).json(heart.clone()).expect(201).await;
    call(addr, "POST", &reactions).json(heart).expect(200).await;
    let issue = call(addr, "GET", &format!("{HELLO}/issues/1")).expect(200).await;
    assert_eq!(issue["reactions"]["heart"], 1);
    call(addr, "POST", &reactions).json(json!({ "content": "meh" })).expect(422).await;
    call(addr, "DELETE", &format!("{reactions}/{}", made["id"])).expect(204).await;
    assert_eq!(call(addr, "GET", &reactions).expect(200).await, json!([]));

    let milestones = format!("{HELLO}/milestones");
    let new = json!({ "title": "v2", "due_on": "2030-01-01T00:00:00Z" });
    let made = call(addr, "POST", &milestones).json(new).expect(201).await;
    assert_eq!(made["due_on"], "2030-01-01T00:00:00Z");
    call(addr, "DELETE", &format!("{milestones}/1")).expect(204).await;
    let issue = call(addr, "GET", &format!("{HELLO}/issues/1")).expect(200).await;
    assert_eq!(issue["milestone"], Value::Null);
}

#[tokio::test]
async fn searches_narrow_by_words_and_qualifiers() {
    let emulator = emulator().await;
    let addr = emulator.addr;
    let query = "/search/issues?q=bug+repo:octocat/hello-world+is:issue+is:closed+label:bug";
    let found = call(addr, "GET", query).expect(200).await;
    assert_eq!(found["total_count"], 3);
    assert_eq!(found["items"][0]["score"], 1.0);
    let found = call(addr, "GET", "/search/repositories?q=user:octocat+is:private").expect(200).await;
    assert_eq!(found["items"][0]["name"], "secret");
    let found = anonymous(addr, "GET", "/search/repositories?q=user:octocat+is:private").expect(200).await;
    assert_eq!(found["total_count"], 0);
    call(addr, "GET", "/search/issues").expect(422).await;
}

#[tokio::test]
async fn two_emulators_share_nothing_and_begin_alike() {
    let (one, other) = (emulator().await, emulator().await);
    let issues = format!("{HELLO}/issues");
    call(one.addr, "POST", &issues).json(json!({ "title": "Mine" })).expect(201).await;
    let listed = call(other.addr, "GET", &format!("{issues}?per_page=1")).expect(200).await;
    assert_ne!(listed[0]["title"], "Mine");
    assert_eq!(other.ledger.count(), 1);
    let made = call(other.addr, "POST", &issues).json(json!({ "title": "Mine" })).expect(201).await;
    let twin = call(one.addr, "GET", &format!("{issues}?per_page=1")).expect(200).await;
    assert_eq!(made["id"], twin[0]["id"]);
    assert_eq!(made["created_at"], twin[0]["created_at"]);
}
