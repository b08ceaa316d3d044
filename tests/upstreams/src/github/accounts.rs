//! Users and organizations.

use serde_json::{Map, Value, json};

use super::answers::{Answer, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::fields::Fields;
use super::pages;
use super::refusals::Refusal;
use super::repositories::Repository;
use super::state::{World, node_id};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Organization,
}

#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: Kind,
    pub(crate) name: Option<String>,
    pub(crate) bio: Option<String>,
    pub(crate) company: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) blog: String,
    pub(crate) email: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl World {
    pub(crate) fn add_account(&mut self, login: &str, kind: Kind) -> &mut Account {
        let at = self.tick();
        let account = Account {
            id: self.next_id(),
            login: login.to_owned(),
            kind,
            name: None,
            bio: None,
            company: None,
            location: None,
            blog: String::new(),
            email: None,
            created_at: at,
            updated_at: at,
        };
        let key = login.to_lowercase();
        self.accounts.entry(key).insert_entry(account).into_mut()
    }

    /// A user of that login, made where there is none.
    pub(crate) fn ensure_user(&mut self, login: &str) {
        if !self.accounts.contains_key(&login.to_lowercase()) {
            self.add_account(login, Kind::User);
        }
    }

    pub(crate) fn account(&self, login: &str) -> Result<&Account, Refusal> {
        self.accounts.get(&login.to_lowercase()).ok_or_else(Refusal::not_found)
    }

    /// The `simple-user` of a login; null for one that nobody has.
    pub(crate) fn simple_user(&self, login: &str) -> Value {
        match self.account(login) {
            Ok(account) => Value::Object(self.summary(account)),
            Err(_) => Value::Null,
        }
    }

    fn summary(&self, account: &Account) -> Map<String, Value> {
        let login = &account.login;
        let url = self.url(&format!("/users/{login}"));
        let kind = match account.kind {
            Kind::User => "User",
            Kind::Organization => "Organization",
        };
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        set("login", json!(login));
        set("id", json!(account.id));
        set("node_id", json!(node_id(kind, account.id)));
        set("avatar_url", json!(self.url(&format!("/avatars/{}", account.id))));
        set("gravatar_id", json!(""));
        set("html_url", json!(self.url(&format!("/{login}"))));
        for (name, path) in [
            ("followers_url", "/followers"),
            ("following_url", "/following{/other_user}"),
            ("gists_url", "/gists{/gist_id}"),
            ("starred_url", "/starred{/owner}{/repo}"),
            ("subscriptions_url", "/subscriptions"),
            ("organizations_url", "/orgs"),
            ("repos_url", "/repos"),
            ("events_url", "/events{/privacy}"),
            ("received_events_url", "/received_events"),
        ] {
            set(name, json!(format!("{url}{path}")));
        }
        set("url", json!(url));
        set("type", json!(kind));
        set("site_admin", json!(false));
        fields
    }

    fn owned(&self, login: &str, private: bool) -> usize {
        let owned = |one: &&Repository| one.owner == login && one.private == private;
        self.repositories.values().filter(owned).count()
    }

    fn public_user(&self, account: &Account) -> Map<String, Value> {
        let mut fields = self.summary(account);
        let gists = self.gists.values().filter(|gist| gist.owner == account.login && gist.public);
        let more = json!({
            "name": account.name,
            "company": account.company,
            "blog": account.blog,
            "location": account.location,
            "email": account.email,
            "hireable": null,
            "bio": account.bio,
            "twitter_username": null,
            "public_repos": self.owned(&account.login, false),
            "public_gists": gists.count(),
            "followers": 0,
            "following": 0,
            "created_at": account.created_at.text(),
            "updated_at": account.updated_at.text(),
        });
        extend(&mut fields, more);
        fields
    }

    fn private_user(&self, account: &Account) -> Value {
        let mut fields = self.public_user(account);
        let gists = self.gists.values().filter(|gist| gist.owner == account.login && !gist.public);
        let private = self.owned(&account.login, true);
        let more = json!({
            "private_gists": gists.count(),
            "total_private_repos": private,
            "owned_private_repos": private,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": true,
        });
        extend(&mut fields, more);
        Value::Object(fields)
    }
}

/// Adds the fields of the object `more`.
pub(crate) fn extend(fields: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        fields.extend(more);
    }
}

/// `GET /user`
pub(crate) async fn get_authenticated(call: Call) -> Answer {
    let world = call.world();
    ok(world.private_user(world.account(call.author()?)?))
}

/// `PATCH /user`
pub(crate) async fn update_authenticated(call: Call) -> Answer {
    let login = call.author()?;
    let mut fields = Fields::of(&call, "User")?;
    let name = fields.text_change("name");
    let bio = fields.text_change("bio");
    let company = fields.text_change("company");
    let location = fields.text_change("location");
    let blog = fields.text("blog");
    fields.finish()?;
    let mut world = call.world();
    let at = world.tick();
    let key = login.to_lowercase();
    let account = world.accounts.get_mut(&key).ok_or_else(Refusal::not_found)?;
    set(&mut account.name, name);
    set(&mut account.bio, bio);
    set(&mut account.company, company);
    set(&mut account.location, location);
    set(&mut account.blog, blog);
    account.updated_at = at;
    ok(world.private_user(world.account(login)?))
}

/// Puts the new value in place where one was sent.
pub(crate) fn set<T>(place: &mut T, change: Option<T>) {
    if let Some(value) = change {
        *place = value;
    }
}

/// `GET /users/{username}`
pub(crate) async fn get(call: Call, Route(username): Route<String>) -> Answer {
    let world = call.world();
    ok(Value::Object(world.public_user(world.account(&username)?)))
}

/// `GET /users`
pub(crate) async fn list(call: Call) -> Answer {
    let world = call.world();
    let since = call.query.number("since").unwrap_or(0) as u64;
    let mut accounts: Vec<&Account> = world.accounts.values().filter(|one| one.id > since).collect();
    accounts.sort_by_key(|account| account.id);
    Ok(pages::list(&call, &accounts, |account| Value::Object(world.summary(account))))
}
