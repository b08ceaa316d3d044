//! The system's keyring: the Secret Service of the user's session, over D-Bus.
//!
//! One item is kept there, the key of a home, as the text that its file would
//! hold. Nothing here unlocks, and nothing shows a window: what would need a
//! person is an error.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use zbus::message::Body;
use zbus::{Connection, DynamicType, OwnedObjectPath, OwnedVariant, Variant};
use zeroize::Zeroizing;

/// How long a home's first start looks for a keyring that it can do without.
const GLANCE: Duration = Duration::from_secs(1);
/// How long a keyring may take that is known to be needed, or that has shown
/// itself to be there.
const PATIENCE: Duration = Duration::from_secs(5);
/// More items than this with one key's id are nobody's doing.
const ITEMS_LIMIT: usize = 8;
const REASON_LIMIT_CHARACTERS: usize = 200;

const SERVICE_NAME: &str = "org.freedesktop.secrets";
const SERVICE_PATH: &str = "/org/freedesktop/secrets";
const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";
const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";
/// What the Secret Service says in place of an object that there is none of.
const NONE: &str = "/";

/// Where a home's first start puts its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyringUse {
    /// Into the keyring where there is one that is unlocked, else into a file.
    #[default]
    Auto,
    /// Into the keyring, or the start fails.
    On,
    /// Into a file.
    Off,
}

/// The keyring of a user, wherever it may be, and what it is used for. The
/// default is that of a user who has none.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    /// The address of the bus of the session that this process belongs to.
    session: Option<String>,
    /// The address at which the user's bus listens on most systems.
    usual: Option<String>,
    wanted: KeyringUse,
}

/// Why the keyring is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// The process belongs to no session.
    #[error("there is no session bus: this process was started outside of a desktop session")]
    NoBus,
    /// The bus can't be used.
    #[error("the session bus can't be used: {0}")]
    Bus(String),
    /// The bus is another user's.
    #[error("the session bus belongs to another user ({0})")]
    Foreign(String),
    /// No program keeps secrets in this session.
    #[error("no keyring answers on the session bus")]
    NoService,
    /// The keyring has no place that outlives the session, or its user has not
    /// signed in to it.
    #[error("the keyring has no default collection in this session")]
    NoCollection,
    /// It needs its user.
    #[error("the keyring is locked")]
    Locked,
    /// It did not answer in time.
    #[error("the keyring did not answer within {} seconds", .0.as_secs())]
    Silent(Duration),
    /// What was put there does not come back.
    #[error("the keyring does not give back what it was given")]
    Forgetful,
    /// It said no, or something that makes no sense.
    #[error("the keyring refused: {0}")]
    Refused(String),
}

/// How a keyring is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Shortly, and only who is there already.
    Glancing,
    /// A service that is not there yet may be started by the bus; that opens
    /// no window, which only its prompts would.
    Needing,
}

/// What is kept: the text of a key, found again by the key's id.
pub(crate) struct Item<'a> {
    pub(crate) id: &'a str,
    pub(crate) label: &'a str,
    pub(crate) text: &'a str,
}

/// A secret on its way: session, parameters, value, kind.
type Secret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

type Answer<T> = std::result::Result<T, KeyringError>;

impl Keyring {
    /// The keyring behind one of these buses, each given as D-Bus writes
    /// addresses: that of the session this process belongs to, and where the
    /// user's is usually, which is asked for a key that is known to be there.
    /// Only Unix sockets are taken, since the key travels over them as it is.
    pub fn of(session: Option<&str>, usual: Option<&str>) -> Self {
        Self { session: session.and_then(local), usual: usual.and_then(local), wanted: KeyringUse::Auto }
    }

    /// With what it is used for.
    #[must_use]
    pub fn used(self, wanted: KeyringUse) -> Self {
        Self { wanted, ..self }
    }

    pub(crate) fn wanted(&self) -> KeyringUse {
        self.wanted
    }

    /// Puts an item there and makes sure that it can be had again. One with
    /// the same id is replaced.
    pub(crate) fn put(&self, item: &Item<'_>, asking: Asking) -> Answer<()> {
        self.on_the_bus(asking, async |address| {
            let (service, collection) =
                within(asking.bound(), Service::open_collection(address, asking)).await?;
            within(PATIENCE, service.put(&collection, item)).await
        })
    }

    /// The texts of the items with an id: none where there is none of it. More
    /// than one, or another than that key's, is somebody else's doing.
    pub(crate) fn get(&self, id: &str) -> Answer<Vec<Zeroizing<String>>> {
        self.on_the_bus(Asking::Needing, async |address| {
            within(PATIENCE, async { Service::open(address, Asking::Needing).await?.get(id).await }).await
        })
    }

    /// Removes the items with an id; whether there was one.
    pub(crate) fn remove(&self, id: &str) -> Answer<bool> {
        self.on_the_bus(Asking::Needing, async |address| {
            within(PATIENCE, async { Service::open(address, Asking::Needing).await?.remove(id).await }).await
        })
    }

    /// Runs what speaks to the bus on a thread with a runtime of its own: the
    /// callers are blocking, and some of them run within a runtime.
    fn on_the_bus<T: Send>(
        &self,
        asking: Asking,
        work: impl AsyncFnOnce(&str) -> Answer<T> + Send,
    ) -> Answer<T> {
        let usual = self.usual.as_deref().filter(|_| asking == Asking::Needing);
        let address = self.session.as_deref().or(usual).ok_or(KeyringError::NoBus)?;
        let failed = |error: std::io::Error| KeyringError::Bus(error.to_string());
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("keyring".to_owned()).spawn_scoped(scope, || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map_err(failed)?.block_on(work(address))
            });
            let broken = || KeyringError::Refused("the code that asks it broke".to_owned());
            thread.map_err(failed)?.join().unwrap_or_else(|_| Err(broken()))
        })
    }
}

impl Asking {
    fn bound(self) -> Duration {
        match self {
            Self::Glancing => GLANCE,
            Self::Needing => PATIENCE,
        }
    }
}

/// The first address of a list that is a Unix socket.
fn local(addresses: &str) -> Option<String> {
    addresses.split(';').find(|address| address.starts_with("unix:")).map(str::to_owned)
}

async fn within<T>(bound: Duration, work: impl Future<Output = Answer<T>>) -> Answer<T> {
    timeout(bound, work).await.unwrap_or(Err(KeyringError::Silent(bound)))
}

/// The Secret Service, and a session with it.
struct Service {
    connection: Connection,
    /// The program itself rather than its name, which the bus would start
    /// another program for.
    owner: String,
    session: OwnedObjectPath,
}

impl Service {
    async fn open(address: &str, asking: Asking) -> Answer<Self> {
        let connection = zbus::connection::Builder::address(address).build().await;
        let connection = connection.map_err(|error| KeyringError::Bus(reason(&error)))?;
        expect_own(&connection).await?;
        if asking == Asking::Needing {
            // That it runs already, or that there is no such program, shows in
            // the next step.
            let _ = call(&connection, BUS, BUS_PATH, BUS, "StartServiceByName", &(SERVICE_NAME, 0_u32)).await;
        }
        let owner = call(&connection, BUS, BUS_PATH, BUS, "GetNameOwner", &SERVICE_NAME).await;
        let owner: String = read(&owner.map_err(|_| KeyringError::NoService)?)?;
        // Plain, since nobody but this user reads what goes over the socket.
        let body = ("plain", Variant::from(""));
        let opened = call(&connection, &owner, SERVICE_PATH, SERVICE, "OpenSession", &body).await?;
        let (_, session): (OwnedVariant, OwnedObjectPath) = read(&opened)?;
        Ok(Self { connection, owner, session })
    }

    /// With its default collection, unlocked.
    async fn open_collection(address: &str, asking: Asking) -> Answer<(Self, OwnedObjectPath)> {
        let service = Self::open(address, asking).await?;
        let collection = service.alias("default").await?;
        // Some have one in memory alone, which ends with the session.
        if collection.as_str() == NONE || Ok(&collection) == service.alias("session").await.as_ref() {
            return Err(KeyringError::NoCollection);
        }
        service.expect_unlocked(&collection, COLLECTION).await?;
        Ok((service, collection))
    }

    async fn put(&self, collection: &OwnedObjectPath, item: &Item<'_>) -> Answer<()> {
        let label = Variant::from(item.label);
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", label),
            ("org.freedesktop.Secret.Item.Attributes", Variant::from(attributes(item.id))),
        ]);
        let secret: Secret =
            (self.session.clone(), Vec::new(), item.text.as_bytes().to_vec(), "text/plain".to_owned());
        let body = (properties, secret, true);
        let made = self.call(collection, COLLECTION, "CreateItem", &body).await?;
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) = read(&made)?;
        self.refuse_prompt(&prompt).await?;
        let there = self.get(item.id).await?;
        if there.iter().any(|text| text.as_str() == item.text) {
            Ok(())
        } else {
            Err(KeyringError::Forgetful)
        }
    }

    async fn get(&self, id: &str) -> Answer<Vec<Zeroizing<String>>> {
        let mut texts = Vec::new();
        for item in self.find(id).await? {
            let body = self.call(&item, ITEM, "GetSecret", &self.session).await?;
            let ((_, _, value, _),): (Secret,) = read(&body)?;
            if let Ok(text) = String::from_utf8(value) {
                texts.push(Zeroizing::new(text));
            }
        }
        Ok(texts)
    }

    async fn remove(&self, id: &str) -> Answer<bool> {
        let items = self.find(id).await?;
        for item in &items {
            let prompt: OwnedObjectPath = read(&self.call(item, ITEM, "Delete", &()).await?)?;
            self.refuse_prompt(&prompt).await?;
        }
        Ok(!items.is_empty())
    }

    /// The items with a key's id that can be opened.
    async fn find(&self, id: &str) -> Answer<Vec<OwnedObjectPath>> {
        let path = object(SERVICE_PATH)?;
        let found = self.call(&path, SERVICE, "SearchItems", &attributes(id)).await?;
        let (mut open, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) = read(&found)?;
        if !open.is_empty() {
            open.truncate(ITEMS_LIMIT);
            return Ok(open);
        }
        if !locked.is_empty() {
            return Err(KeyringError::Locked);
        }
        // Some find nothing in what is locked, and know no collection before
        // their user has signed in: then nobody can say that there is none.
        let collection = self.alias("default").await?;
        if collection.as_str() == NONE {
            return Err(KeyringError::NoCollection);
        }
        self.expect_unlocked(&collection, COLLECTION).await?;
        Ok(open)
    }

    async fn alias(&self, name: &str) -> Answer<OwnedObjectPath> {
        read(&self.call(&object(SERVICE_PATH)?, SERVICE, "ReadAlias", &name).await?)
    }

    async fn expect_unlocked(&self, path: &OwnedObjectPath, interface: &str) -> Answer<()> {
        let properties = "org.freedesktop.DBus.Properties";
        let locked: OwnedVariant = read(&self.call(path, properties, "Get", &(interface, "Locked")).await?)?;
        match bool::try_from(locked) {
            Ok(false) => Ok(()),
            Ok(true) => Err(KeyringError::Locked),
            Err(error) => Err(KeyringError::Refused(reason(&error))),
        }
    }

    /// A service asks its user by a prompt: here nobody is asked.
    async fn refuse_prompt(&self, prompt: &OwnedObjectPath) -> Answer<()> {
        if prompt.as_str() == NONE {
            return Ok(());
        }
        // One that can't be dismissed was not shown either.
        let _ = self.call(prompt, "org.freedesktop.Secret.Prompt", "Dismiss", &()).await;
        Err(KeyringError::Locked)
    }

    async fn call<B>(&self, path: &OwnedObjectPath, interface: &str, method: &str, body: &B) -> Answer<Body>
    where
        B: Serialize + DynamicType,
    {
        call(&self.connection, &self.owner, path.as_str(), interface, method, body).await
    }
}

async fn call<B>(
    connection: &Connection,
    destination: &str,
    path: &str,
    interface: &str,
    method: &str,
    body: &B,
) -> Answer<Body>
where
    B: Serialize + DynamicType,
{
    let answer = connection.call_method(Some(destination), path, Some(interface), method, body).await;
    match answer {
        Ok(message) => Ok(message.body()),
        Err(zbus::Error::MethodError(name, _, _)) if name.ends_with(".IsLocked") => Err(KeyringError::Locked),
        Err(error) => Err(KeyringError::Refused(reason(&error))),
    }
}

/// The key would go to whoever listens there.
async fn expect_own(connection: &Connection) -> Answer<()> {
    let peer = connection.peer_creds().await.map_err(|error| KeyringError::Bus(error.to_string()))?;
    match peer.unix_user_id() {
        Some(user) if user == rustix::process::geteuid().as_raw() => Ok(()),
        Some(user) => Err(KeyringError::Foreign(format!("user {user}"))),
        None => Err(KeyringError::Foreign("an unknown one".to_owned())),
    }
}

fn attributes(id: &str) -> HashMap<&str, &str> {
    HashMap::from([("application", "executor"), ("key", id)])
}

fn object(path: &'static str) -> Answer<OwnedObjectPath> {
    OwnedObjectPath::try_from(path).map_err(|error| KeyringError::Refused(reason(&error)))
}

fn read<T>(body: &Body) -> Answer<T>
where
    T: for<'a> Deserialize<'a> + zbus::Type,
{
    body.deserialize().map_err(|error| KeyringError::Refused(reason(&error)))
}

/// What a bus said, as short text.
fn reason(error: &zbus::Error) -> String {
    let text = error.to_string();
    text.chars().filter(|character| !character.is_control()).take(REASON_LIMIT_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_of_this_machine_are_taken() {
        let check = |addresses: &str, expect: Option<&str>| {
            assert_eq!(local(addresses).as_deref(), expect, "{addresses}");
        };
        check("unix:path=/run/user/1/bus", Some("unix:path=/run/user/1/bus"));
        check("tcp:host=example.com,port=1;unix:abstract=/a,guid=0", Some("unix:abstract=/a,guid=0"));
        for none in ["", "disabled:", "tcp:host=127.0.0.1,port=1", "unixexec:path=/bin/sh", "autolaunch:"] {
            check(none, None);
        }
    }

    #[tokio::test]
    async fn the_usual_bus_is_for_keys_that_are_known_to_be_there() {
        let keyring = Keyring::of(None, Some("unix:path=/nowhere/bus"));
        let item = Item { id: "1", label: "a key", text: "key" };
        assert_eq!(keyring.put(&item, Asking::Glancing), Err(KeyringError::NoBus));
        let refused = keyring.get("1").unwrap_err();
        assert!(matches!(&refused, KeyringError::Bus(why) if why.contains("/nowhere")), "{refused}");
        assert_eq!(Keyring::default().get("1").unwrap_err(), KeyringError::NoBus);
        assert_eq!(Keyring::of(Some("unix:"), None).get("1").map_err(|_| ()), Err(()));
    }
}
