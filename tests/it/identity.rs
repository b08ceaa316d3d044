//! Several people and several organizations at one daemon: who comes in, what
//! each may do, and that nobody sees or changes what is not theirs.

use serde_json::{Value, json};

use crate::daemon::{Daemon, emulator, execution_id};
use crate::wire::{Response, Wire, next_event};

const PASSWORD: &str = "correct horse battery";

/// Somebody who signed in with a browser.
pub(crate) struct Person {
    wire: Wire,
    cookie: String,
    origin: String,
}

impl Person {
    fn sign_in(daemon: &Daemon, account: &str) -> Self {
        let wire = Wire::with(daemon, None);
        let entered = wire.post("/v1/sessions", &json!({"account": account, "password": PASSWORD}));
        assert_eq!(entered.status, 201, "{entered:?}");
        let (cookie, origin) = (cookie_of(&entered), wire.origin());
        Self { wire, cookie, origin }
    }

    /// Somebody new, by an invitation.
    pub(crate) fn join(daemon: &Daemon, organization: &str, account: &str, role: &str) -> Self {
        let secret = invite(daemon, organization, role);
        let path = format!("/v1/invitations/{secret}/accept");
        let body = json!({"account": account, "password": PASSWORD});
        let joined = Wire::with(daemon, None).post(&path, &body);
        assert_eq!(joined.status, 201, "{joined:?}");
        assert_eq!(joined.json(), json!({"account": account, "organization": organization, "role": role}));
        Self::sign_in(daemon, account)
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Response {
        let headers = [
            ("cookie", self.cookie.as_str()),
            ("origin", self.origin.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        self.wire.send(method, path, &headers, body)
    }

    fn get(&self, path: &str) -> Response {
        self.send("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, Some(body))
    }
}

#[track_caller]
fn cookie_of(answer: &Response) -> String {
    let line = answer.head.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie: "));
    let line = line.unwrap_or_else(|| panic!("no cookie is set: {answer:?}"));
    line["set-cookie: ".len()..].split(';').next().unwrap().to_owned()
}

/// The secret of a new invitation.
fn invite(daemon: &Daemon, organization: &str, role: &str) -> String {
    let link = daemon
        .run(&["members", "invite", "--organization", organization, "--role", role, "--for", "somebody"])
        .ok();
    link.trim().rsplit('/').next().unwrap().to_owned()
}

fn with_team(daemon: &Daemon) {
    daemon.run(&["organizations", "add", "team"]).ok();
    daemon.run(&["workspaces", "add", "team-work", "--organization", "team"]).ok();
}

/// Method and path of every route, as the document has them.
fn routes() -> Vec<(String, String)> {
    let document = include_str!("../../docs/openapi.json");
    let document: Value = serde_json::from_str(document).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            routes.push((method.to_ascii_uppercase(), path.clone()));
        }
    }
    assert!(routes.len() > 50, "{}", routes.len());
    routes
}

/// A path with its parameters filled in, those that are not named by `x`.
fn filled(path: &str, known: &[(&str, &str)]) -> String {
    let segments = path.split('/').map(|segment| {
        let name = segment.trim_matches(['{', '}']);
        let value = known.iter().find(|(known, _)| *known == name).map_or("x", |(_, value)| value);
        if segment.starts_with('{') { value } else { segment }
    });
    segments.collect::<Vec<_>>().join("/")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_co_tenant_sees_and_changes_nothing() {
    let daemon = Daemon::start();
    with_team(&daemon);
    let ada = Person::join(&daemon, "team", "ada", "owner");
    let bob = Person::join(&daemon, "personal", "bob", "admin");
    let owner = Wire::owner(&daemon);
    owner.post("/v1/tokens", &json!({"name": "claude"}));

    let mut asked = 0;
    for (method, path) in routes() {
        for (parameter, theirs) in [("workspace", "default"), ("organization", "personal")] {
            if !path.contains(&format!("{{{parameter}}}")) {
                continue;
            }
            let ask = |name: &str| {
                let body = (method != "GET").then(|| json!({}));
                let answer = ada.send(&method, &filled(&path, &[(parameter, name)]), body.as_ref());
                let code = answer.refused(404);
                (code, String::from_utf8(answer.body).unwrap().replace(name, "NAME"))
            };
            assert_eq!(ask(theirs), ask("nowhere"), "{method} {path} tells that there is such a place");
            assert_eq!(ask(theirs).0, "not-found", "{method} {path}");
            asked += 1;
        }
    }
    assert!(asked > 30, "{asked} routes were tried");

    let names = |answer: Response, key: &str| -> Vec<String> {
        let answer = answer.json();
        let items = answer["items"].as_array().unwrap().clone();
        items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(ada.get("/v1/workspaces"), "name"), ["team-work"]);
    assert_eq!(names(bob.get("/v1/workspaces"), "name"), ["default"]);
    assert_eq!(names(owner.get("/v1/workspaces"), "name"), ["default", "team-work"]);
    assert_eq!(names(ada.get("/v1/organizations"), "name"), ["team"]);
    assert_eq!(names(ada.get("/v1/accounts"), "name"), ["ada"]);
    assert_eq!(names(ada.get("/v1/sessions"), "account"), ["ada"]);
    assert!(names(ada.get("/v1/tokens"), "name").is_empty());
    let installation = ada.get("/v1/installation").json();
    assert_eq!((&installation["home"], &installation["workspaces"]), (&Value::Null, &json!(["team-work"])));
    let named = ada.post("/v1/tokens", &json!({"name": "claude"}));
    assert_eq!(named.status, 201, "another account's names are its own: {named:?}");
    assert_eq!(ada.send("DELETE", "/v1/tokens/claude", None).status, 204);
    assert_eq!(names(owner.get("/v1/tokens?all=true"), "account"), ["local"], "only her own was revoked");
    assert_eq!(ada.get("/v1/tokens?all=true").refused(403), "not-allowed");
    let elsewhere = json!({"name": "mine", "organization": "personal"});
    assert_eq!(ada.post("/v1/workspaces", &elsewhere).refused(404), "not-found");

    let (_, mut hers) = ada.wire.events_with("/v1/events", &[("cookie", &ada.cookie)]);
    owner.post("/v1/workspaces/default/executions", &json!({"code": "return 'of local'"}));
    ada.post("/v1/workspaces/team-work/executions", &json!({"code": "return 'of ada'"}));
    let (_, event) = next_event(&mut hers);
    assert_eq!(
        (&event["workspace"], &event["about"]["title"]),
        (&json!("team-work"), &json!("return 'of ada'"))
    );

    let audit = ada.get("/v1/workspaces/team-work/audit?limit=1000").json().to_string();
    assert!(audit.contains("\"ada\"") && !audit.contains("\"bob\""), "{audit}");
    let audit = bob.get("/v1/workspaces/default/audit?limit=1000").json().to_string();
    assert!(audit.contains("\"bob\"") && !audit.contains("\"ada\""), "{audit}");
}

/// The least role that each route needs in an organization that is not the
/// first; whatever is not here needs an admin.
const NEEDS: &[(&str, &str)] = &[
    ("GET /openapi.json", "viewer"),
    ("GET /v1/me", "viewer"),
    ("GET /v1/installation", "viewer"),
    ("GET /v1/organizations", "viewer"),
    ("GET /v1/organizations/{organization}/members", "viewer"),
    ("GET /v1/accounts", "viewer"),
    ("GET /v1/sessions", "viewer"),
    ("DELETE /v1/sessions/{session}", "viewer"),
    ("POST /v1/accounts/{account}/password", "viewer"),
    ("GET /v1/tokens", "viewer"),
    ("POST /v1/tokens", "viewer"),
    ("DELETE /v1/tokens/{token}", "viewer"),
    ("GET /v1/workspaces", "viewer"),
    ("GET /v1/events", "viewer"),
    ("POST /v1/events/tickets", "viewer"),
    ("GET /v1/workspaces/{workspace}/sources", "viewer"),
    ("GET /v1/workspaces/{workspace}/sources/{source}", "viewer"),
    ("GET /v1/workspaces/{workspace}/sources/{source}/inspection", "viewer"),
    ("GET /v1/workspaces/{workspace}/sources/{source}/document", "viewer"),
    ("GET /v1/workspaces/{workspace}/sources/{source}/definitions", "viewer"),
    ("GET /v1/workspaces/{workspace}/sources/{source}/review", "viewer"),
    ("GET /v1/workspaces/{workspace}/tools", "viewer"),
    ("GET /v1/workspaces/{workspace}/tools/{path}", "viewer"),
    ("GET /v1/workspaces/{workspace}/connections", "viewer"),
    ("GET /v1/workspaces/{workspace}/policies", "viewer"),
    ("POST /v1/workspaces/{workspace}/policies/test", "viewer"),
    ("GET /v1/workspaces/{workspace}/components", "viewer"),
    ("GET /v1/workspaces/{workspace}/executions", "viewer"),
    ("GET /v1/workspaces/{workspace}/executions/{id}", "viewer"),
    ("GET /v1/workspaces/{workspace}/executions/{id}/trace", "viewer"),
    ("GET /v1/workspaces/{workspace}/interactions", "viewer"),
    ("GET /v1/workspaces/{workspace}/audit", "viewer"),
    ("GET /v1/workspaces/{workspace}/audit/verdict", "viewer"),
    ("GET /v1/workspaces/{workspace}/blobs", "viewer"),
    ("GET /v1/workspaces/{workspace}/blobs/{blob}", "viewer"),
    ("POST /v1/workspaces/{workspace}/blobs", "member"),
    ("POST /v1/workspaces/{workspace}/handoffs", "member"),
    ("POST /v1/workspaces/{workspace}/tools/{path}/call", "member"),
    ("POST /v1/workspaces/{workspace}/executions", "member"),
    ("POST /v1/workspaces/{workspace}/executions/{id}/resume", "member"),
    ("POST /v1/workspaces/{workspace}/executions/{id}/cancel", "member"),
    ("POST /v1/workspaces/{workspace}/executions/{id}/rerun", "member"),
    ("GET /metrics", "installation"),
    ("GET /v1/doctor", "installation"),
    ("GET /v1/config", "installation"),
    ("POST /v1/shutdown", "installation"),
    ("POST /v1/accounts", "installation"),
    ("DELETE /v1/accounts/{account}", "installation"),
    ("POST /v1/organizations", "installation"),
];

/// Routes that are for anybody, or would end what the test needs; and one of
/// which the body decides.
const ASIDE: &[&str] = &[
    "GET /v1/health",
    "GET /login",
    "POST /logout",
    "GET /invite/{secret}",
    "POST /v1/invitations/{secret}/accept",
    "POST /v1/sessions",
    "POST /v1/workspaces",
    "GET /handoff/{secret}",
    "POST /handoff/{secret}",
    "GET /oauth/callback",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_role_may_what_its_row_says_and_nothing_else() {
    let daemon = Daemon::start();
    with_team(&daemon);
    const ROLES: [&str; 4] = ["viewer", "member", "admin", "owner"];
    let rank = |role: &str| ROLES.iter().position(|one| *one == role).unwrap_or(ROLES.len());
    let people = ROLES.map(|role| Person::join(&daemon, "team", &format!("the-{role}"), role));
    let known = [("workspace", "team-work"), ("organization", "team")];
    let mut rows = std::collections::HashSet::new();
    for (method, path) in routes() {
        let route = format!("{method} {path}");
        let need = NEEDS.iter().find(|(one, _)| *one == route).map_or("admin", |(_, need)| need);
        rows.insert(route.clone());
        if ASIDE.contains(&route.as_str()) {
            continue;
        }
        for (person, role) in people.iter().zip(ROLES) {
            let headers = [
                ("cookie", person.cookie.as_str()),
                ("origin", person.origin.as_str()),
                ("sec-fetch-site", "same-origin"),
            ];
            let path = filled(&path, &known);
            let status = if route == "GET /v1/events" {
                let (head, _) = person.wire.events_with(&path, &headers);
                head.split(' ').nth(1).unwrap().parse().unwrap()
            } else {
                let body = (method != "GET").then(|| json!({}));
                person.wire.send(&method, &path, &headers, body.as_ref()).status
            };
            // Whoever is let in is told that what they send makes no sense.
            let may = rank(role) >= rank(need) && need != "installation";
            assert_eq!(status != 403, may, "{route} by the {role}: {status}");
        }
    }
    for (route, _) in NEEDS {
        assert!(rows.contains(*route), "there is no route {route}");
    }
    let [viewer, member, admin, owner] = &people;
    for (person, name, made) in [
        (viewer, "by-viewer", 403),
        (member, "by-member", 403),
        (admin, "by-admin", 201),
        (owner, "by-owner", 201),
    ] {
        assert_eq!(person.post("/v1/workspaces", &json!({"name": name})).status, made, "{name}");
    }
    // Owners are the business of owners, and nobody is left without one.
    let roles = |account: &str| format!("/v1/organizations/team/members/{account}");
    assert_eq!(admin.post(&roles("the-owner"), &json!({"role": "viewer"})).refused(403), "not-allowed");
    assert_eq!(admin.post(&roles("the-admin"), &json!({"role": "owner"})).refused(403), "not-allowed");
    let invitation = json!({"role": "owner"});
    assert_eq!(admin.post("/v1/organizations/team/invitations", &invitation).refused(403), "not-allowed");
    assert_eq!(owner.send("DELETE", &roles("local"), None).status, 204, "an owner takes out another");
    assert_eq!(owner.post(&roles("the-owner"), &json!({"role": "admin"})).refused(409), "last-owner");
    assert_eq!(owner.send("DELETE", &roles("the-owner"), None).refused(409), "last-owner");
    daemon.run(&["members", "remove", "local"]).fails(1);
    assert_eq!(daemon.run(&["workspaces", "list", "--json"]).json()["items"][0]["name"], "default");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_is_out_at_once() {
    let daemon = Daemon::start();
    with_team(&daemon);
    let eve = Person::join(&daemon, "team", "eve", "member");
    let mut token = eve.post("/v1/tokens", &json!({"name": "claude", "capabilities": ["call"]})).json();
    let client = Wire::with(&daemon, Some(token["secret"].take().as_str().unwrap()));
    let tools = "/v1/workspaces/team-work/tools";
    assert_eq!((eve.get(tools).status, client.get(tools).status), (200, 200));
    let (_, mut stream) = eve.wire.events_with("/v1/events", &[("cookie", &eve.cookie)]);

    let run = json!({"code": "return 1"});
    let executions = "/v1/workspaces/team-work/executions";
    assert_eq!(client.post(executions, &run).status, 200);
    daemon.run(&["members", "role", "eve", "viewer", "--organization", "team"]).ok();
    assert_eq!(
        client.post(executions, &run).refused(403),
        "not-allowed",
        "a role bounds a token when it is used"
    );
    assert_eq!(eve.post(executions, &run).refused(403), "not-allowed");

    daemon.run(&["members", "remove", "eve", "--organization", "team"]).ok();
    assert_eq!(eve.get(tools).refused(401), "unauthorized");
    assert_eq!(client.get(tools).refused(401), "unauthorized");
    let mut rest = String::new();
    daemon.run(&["--workspace", "team-work", "run", "-e", "return 'secret plans'"]).ok();
    std::io::Read::read_to_string(&mut stream, &mut rest).unwrap();
    assert!(!rest.contains("secret plans"), "{rest}");

    // Somebody who is elsewhere too loses this organization alone.
    let ada = Person::join(&daemon, "team", "ada", "member");
    let path = format!("/v1/invitations/{}/accept", invite(&daemon, "personal", "viewer"));
    let wrong = json!({"account": "ada", "password": "not her password"});
    assert_eq!(ada.wire.post(&path, &wrong).refused(401), "sign-in-failed", "nobody joins in her name");
    assert_eq!(ada.wire.post(&path, &json!({"account": "ada", "password": PASSWORD})).status, 201);
    daemon.run(&["members", "remove", "ada", "--organization", "team"]).ok();
    assert_eq!(ada.get(tools).refused(404), "not-found");
    assert_eq!(ada.get("/v1/workspaces/default/tools").status, 200);

    let kept = Person::sign_in(&daemon, "ada");
    assert_eq!(
        kept.post("/v1/accounts/ada/password", &json!({"password": "another password"})).refused(400),
        "invalid-request"
    );
    let change = json!({"password": "another password", "current": PASSWORD});
    assert_eq!(kept.post("/v1/accounts/ada/password", &change).status, 204);
    assert_eq!(ada.get("/v1/me").refused(401), "unauthorized", "a new password ends the other sessions");
    assert_eq!(kept.get("/v1/me").status, 200);
    assert_eq!(kept.post("/v1/accounts/local/password", &change).refused(403), "not-allowed");
    daemon.run(&["accounts", "remove", "ada"]).ok();
    assert_eq!(kept.get("/v1/me").refused(401), "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_are_not_guessed_and_sessions_not_forged() {
    let daemon = Daemon::start();
    let mut setting = daemon.command(&["accounts", "password", "--stdin"]);
    let mut setting = setting.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(setting.stdin.as_mut().unwrap(), format!("{PASSWORD}\n").as_bytes()).unwrap();
    drop(setting.stdin.take());
    assert!(setting.wait().unwrap().success());

    let nobody = Wire::with(&daemon, None);
    let fixed = "executor_session=exs_0123456789abcdef";
    let body = json!({"account": "local", "password": PASSWORD});
    let entered = nobody.send("POST", "/v1/sessions", &[("cookie", fixed)], Some(&body));
    let cookie = cookie_of(&entered);
    assert_ne!(cookie, fixed, "a session's secret is the daemon's choice");
    assert_eq!(nobody.send("GET", "/v1/me", &[("cookie", fixed)], None).refused(401), "unauthorized");
    let line = entered.head.lines().find(|line| line.contains("executor_session=")).unwrap();
    assert!(line.contains("HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"), "{line}");
    assert!(!line.contains("Secure"), "loopback is not sealed: {line}");
    assert!(!String::from_utf8_lossy(&entered.body).contains("exs_"), "the body has no secret");

    let origin = nobody.origin();
    let (own, ours) = (("origin", origin.as_str()), ("sec-fetch-site", "same-origin"));
    let with = |headers: &[(&str, &str)], method: &str, path: &str| {
        let mut all = vec![("cookie", cookie.as_str())];
        all.extend_from_slice(headers);
        nobody.send(method, path, &all, None)
    };
    assert_eq!(with(&[], "GET", "/v1/me").json()["account"], "local");
    assert_eq!(with(&[], "GET", "/v1/me").json()["runs_installation"], true);
    for headers in [
        &[][..],
        &[own],
        &[ours],
        &[own, ("sec-fetch-site", "cross-site")],
        &[own, ("sec-fetch-site", "same-site")],
        &[("origin", "http://evil.test"), ours],
        &[("origin", "null"), ours],
    ] {
        assert_eq!(with(headers, "POST", "/v1/shutdown").refused(403), "origin-denied", "{headers:?}");
    }
    let both = [("authorization", "Bearer wrong"), own, ours];
    assert_eq!(
        with(&both, "GET", "/v1/me").refused(401),
        "unauthorized",
        "a token that is shown is what counts"
    );
    let doubled = format!("{cookie}; {cookie}");
    assert_eq!(nobody.send("GET", "/v1/me", &[("cookie", &doubled)], None).refused(401), "unauthorized");

    let secret = daemon.home().join("executor.db");
    let bytes = std::fs::read(&secret).unwrap();
    let value = cookie.split('=').nth(1).unwrap().as_bytes();
    assert!(!bytes.windows(value.len()).any(|window| window == value), "the home keeps no session's secret");

    let again = nobody.send("POST", "/v1/sessions", &[("cookie", &cookie), own, ours], Some(&body));
    assert_eq!(
        with(&[], "GET", "/v1/me").refused(401),
        "unauthorized",
        "signing in anew ends the session before"
    );
    let cookie = cookie_of(&again);
    let out = nobody.send("DELETE", "/v1/sessions/current", &[("cookie", &cookie), own, ours], None);
    assert!(out.status == 204 && out.head.contains("Max-Age=0"), "{out:?}");
    assert_eq!(nobody.send("GET", "/v1/me", &[("cookie", &cookie)], None).refused(401), "unauthorized");

    let guess = |account: &str, password: &str| {
        nobody.post("/v1/sessions", &json!({"account": account, "password": password}))
    };
    for number in 0..10 {
        let account = if number % 2 == 0 { "local" } else { "nobody" };
        assert_eq!(guess(account, &format!("guess number {number}")).refused(401), "sign-in-failed");
    }
    let refused = guess("local", PASSWORD);
    assert_eq!(refused.refused(429), "too-many-attempts", "the right one comes too late");
    let wait = refused
        .head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("retry-after: ").map(str::to_owned));
    let wait: u64 = wait.unwrap().trim().parse().unwrap();
    assert!((1..=300).contains(&wait), "{wait}");
    daemon.run(&["tokens", "list"]).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_good_once_and_its_page_shows_no_markup() {
    let daemon = Daemon::start();
    let hostile = "<img src=x onerror=alert(1)>\"'&";
    let made = daemon.run(&["members", "invite", "--role", "viewer", "--for", hostile, "--json"]).json();
    let (secret, id) = (made["secret"].as_str().unwrap(), made["invitation"]["id"].as_str().unwrap());
    let nobody = Wire::with(&daemon, None);
    let page = format!("/invite/{secret}");
    assert_eq!(made["url"], format!("{}{page}", nobody.origin()));

    let from_a_letter =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    let shown = nobody.send("GET", &page, &from_a_letter, None);
    let head = shown.head.to_ascii_lowercase();
    let text = String::from_utf8(shown.body).unwrap();
    assert_eq!(shown.status, 200, "{head}");
    assert!(
        !text.contains("<img") && text.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"),
        "{text}"
    );
    assert!(!text.contains("<script"), "{text}");
    for header in [
        "content-security-policy: default-src 'none'; style-src 'sha256-",
        "frame-ancestors 'none'",
        "cache-control: no-store",
        "referrer-policy: same-origin",
        "x-frame-options: deny",
        "x-content-type-options: nosniff",
    ] {
        assert!(head.contains(header), "{header} is missing: {head}");
    }
    let framed =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    assert_eq!(nobody.send("GET", &page, &framed, None).refused(403), "origin-denied");

    let accept = format!("/v1/invitations/{secret}/accept");
    let origin = nobody.origin();
    let form = |path: &str, origin: &str, body: &str| {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", origin),
            ("sec-fetch-site", "same-origin"),
        ];
        nobody.send_text("POST", path, &headers, body)
    };
    let typed = "account=ada&password=correct+horse+battery";
    let bare = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(nobody.send_text("POST", &accept, &bare, typed).refused(403), "origin-denied");
    assert_eq!(form(&accept, "http://evil.test", typed).refused(403), "origin-denied");
    let short = form(&accept, &origin, "account=%3Cb%3Eada&password=correct+horse+battery");
    assert_eq!(short.status, 400);
    let text = String::from_utf8(short.body).unwrap();
    assert!(text.contains("value=\"&lt;b&gt;ada\"") && !text.contains("<b>ada"), "{text}");
    assert_eq!(form(&accept, &origin, "account=ada&password=short").status, 422);
    assert_eq!(form(&accept, &origin, "account=local&password=correct+horse+battery").status, 401);
    let joined = form(&accept, &origin, typed);
    assert!(
        joined.status == 303 && joined.head.to_ascii_lowercase().contains("location: /login"),
        "{joined:?}"
    );
    assert_eq!(nobody.get(&page).status, 404);
    assert_eq!(form(&accept, &origin, "account=eve&password=correct+horse+battery").status, 404);
    let body = json!({"account": "eve", "password": PASSWORD});
    assert_eq!(nobody.post(&accept, &body).refused(404), "invitation-spent");
    daemon.run(&["members", "withdraw", id]).fails(1);

    let wrong = form("/v1/sessions", &origin, "account=%22%3E%3Cscript%3E&password=wrong+wrong+wrong");
    assert_eq!(wrong.status, 401);
    assert!(!String::from_utf8(wrong.body).unwrap().contains("<script"));
    let entered = form("/v1/sessions", &origin, typed);
    assert_eq!(entered.status, 303, "{entered:?}");
    let cookie = cookie_of(&entered);
    let welcome = nobody.send("GET", "/login", &[("cookie", &cookie)], None);
    assert!(String::from_utf8(welcome.body).unwrap().contains("signed in as <b>ada</b>"));

    let withdrawn = daemon.run(&["members", "invite", "--role", "owner", "--json"]).json();
    daemon.run(&["members", "withdraw", withdrawn["invitation"]["id"].as_str().unwrap()]).ok();
    let path = format!("/v1/invitations/{}/accept", withdrawn["secret"].as_str().unwrap());
    assert_eq!(nobody.post(&path, &body).refused(404), "invitation-spent");
    assert_eq!(nobody.post("/v1/invitations/x/accept", &body).refused(404), "invitation-spent");
    let listed = daemon.run(&["members", "invitations", "--json"]).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(
        (&listed["items"][0]["status"], &listed["items"][0]["used_by"]),
        (&json!("used"), &json!("ada"))
    );
    assert!(!listed.to_string().contains(secret), "a secret is shown once");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_record_says_who_through_which_client() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let ada = Person::join(&daemon, "personal", "ada", "member");
    let bob = Person::join(&daemon, "personal", "bob", "member");
    let carol = Person::join(&daemon, "personal", "carol", "admin");
    let base = "/v1/workspaces/default/executions";
    let write = json!({"code": "return (await tools.github.issues.create({ owner: 'octocat', repo: 'hello-world', body: { title: 't' } })).title"});
    let waiting = |person: &Person| {
        let view = person.post(base, &write);
        assert_eq!(view.status, 202, "{view:?}");
        let view = view.json();
        assert_eq!((&view["client"], view["account"].is_string()), (&json!("browser"), true));
        execution_id(view["id"].as_str().unwrap())
    };
    let (accept, decline) = (json!({"action": "accept"}), json!({"action": "decline"}));
    let answered = |id: &str| {
        let trace = carol.get(&format!("{base}/{id}/trace")).json();
        trace["interactions"][0]["answered_by"].as_str().unwrap().to_owned()
    };

    let first = waiting(&ada);
    let resume = format!("{base}/{first}/resume");
    assert_eq!(bob.get(&format!("{base}/{first}")).json()["account"], "ada", "a member sees it");
    assert_eq!(bob.post(&resume, &accept).refused(403), "not-allowed");
    assert_eq!(bob.post(&resume, &decline).refused(403), "not-allowed");
    assert_eq!(bob.send("POST", &format!("{base}/{first}/cancel"), None).refused(403), "not-allowed");
    let remember = json!({"action": "accept", "remember": true});
    assert_eq!(ada.post(&resume, &remember).refused(403), "not-allowed", "a rule is for those who manage");
    assert_eq!(ada.post(&resume, &accept).json()["status"], "completed");
    assert_eq!(answered(&first), "ada via browser");

    let second = waiting(&bob);
    assert_eq!(carol.post(&format!("{base}/{second}/resume"), &accept).json()["account"], "bob");
    assert_eq!(answered(&second), "carol via browser");

    let mut token = ada.post("/v1/tokens", &json!({"name": "claude"})).json();
    let client = Wire::with(&daemon, Some(token["secret"].take().as_str().unwrap()));
    let third = client.post(base, &write).json();
    let third = third["id"].as_str().unwrap();
    let resume = format!("{base}/{third}/resume");
    assert_eq!(client.post(&resume, &accept).refused(403), "approval-not-yours");
    assert_eq!(ada.post(&resume, &accept).json()["client"], "claude", "a person answers for their client");
    assert_eq!(answered(third), "ada via browser");
    for (method, path) in [("POST", "/v1/tokens"), ("GET", "/v1/tokens")] {
        let refused = client.send(method, path, &[], Some(&json!({"name": "more"})));
        assert_eq!(refused.refused(403), "not-allowed", "a client gives itself no other tokens");
    }

    let policy =
        carol.post("/v1/workspaces/default/policies", &json!({"pattern": "github.*", "action": "block"}));
    assert_eq!(policy.json()["created_by"], "carol via browser");
    let audit = carol.get("/v1/workspaces/default/audit?limit=1000").json();
    let records: Vec<Value> =
        audit["items"].as_array().unwrap().iter().map(|item| item["record"].clone()).collect();
    for record in &records {
        for field in ["what", "account", "client", "surface"] {
            assert!(record[field].as_str().is_some_and(|text| !text.is_empty()), "{record}");
        }
    }
    let did = |what: &str, account: &str, client: &str| {
        let found = |record: &&Value| {
            record["what"] == what && record["account"] == account && record["client"] == client
        };
        assert!(
            records.iter().any(|record| found(&record)),
            "{what} by {account} via {client}: {records:#?}"
        );
    };
    did("member.invite", "local", "cli");
    did("member.join", "ada", "browser");
    did("session.begin", "bob", "browser");
    did("approval.answer", "carol", "browser");
    did("approval.ask", "ada", "claude");
    did("token.add", "ada", "browser");
    did("policy.add", "carol", "browser");
    assert_eq!(emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").len(), 3);
}
