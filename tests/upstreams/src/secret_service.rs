//! A session bus with a Secret Service on it, at a Unix socket of its own: the
//! bus answers for itself and for the one program that it knows.
//!
//! ```no_run
//! # fn example() -> std::io::Result<()> {
//! use executor_upstreams::secret_service::SecretService;
//!
//! let keyring = SecretService::start()?;
//! // … run a program with DBUS_SESSION_BUS_ADDRESS={keyring.address()} …
//! assert_eq!(keyring.items().len(), 1);
//! keyring.change(|mood| mood.locked = true);
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use futures::StreamExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use zbus::message::{Header, Message};
use zbus::{Connection, DynamicType, Guid, OwnedObjectPath, OwnedVariant, Variant};

const DEFAULT_COLLECTION: &str = "/org/freedesktop/secrets/collection/login";
const ITEMS: &str = "/org/freedesktop/secrets/collection/login/";
const SESSION: &str = "/org/freedesktop/secrets/session/s1";
const PROMPT: &str = "/org/freedesktop/secrets/prompt/p1";
const NONE: &str = "/";
/// The program that keeps the secrets, as the bus calls it.
const OWNER: &str = ":1.1";

/// How the keyring behaves.
#[derive(Clone, Debug)]
pub struct Mood {
    /// Whether the program runs.
    pub running: bool,
    /// Whether the bus starts it for who asks for that.
    pub startable: bool,
    /// Whether its collection is locked.
    pub locked: bool,
    /// Whether there is a default collection; without it no item is found, as
    /// where nobody has signed in.
    pub collection: bool,
    /// Whether that ends with the session.
    pub fleeting: bool,
    /// Whether a new item needs its user's consent.
    pub prompting: bool,
    /// Whether it takes items and keeps none.
    pub forgetful: bool,
    /// The method that is done and never answered…
    pub silent_on: Option<&'static str>,
    /// … after so many calls of it that are.
    pub answers_first: usize,
}

impl Default for Mood {
    fn default() -> Self {
        Self {
            running: true,
            startable: false,
            locked: false,
            collection: true,
            fleeting: false,
            prompting: false,
            forgetful: false,
            silent_on: None,
            answers_first: 0,
        }
    }
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What its user sees.
    pub label: String,
    /// What it is found by.
    pub attributes: BTreeMap<String, String>,
    /// The secret.
    pub value: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    mood: Mood,
    items: BTreeMap<u64, Item>,
    last: u64,
    calls: Vec<String>,
}

/// A running bus; ends when dropped.
#[derive(Debug)]
pub struct SecretService {
    directory: tempfile::TempDir,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SecretService {
    /// Starts a bus with an unlocked, empty keyring.
    ///
    /// # Errors
    /// Where no socket can be bound, or no thread be had.
    pub fn start() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("executor-bus-").tempdir()?;
        let listener = std::os::unix::net::UnixListener::bind(socket(directory.path()))?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("secret-service".to_owned()).spawn(move || {
            if let Err(error) = runtime.block_on(accept(listener, shared, stopped)) {
                eprintln!("a session bus stopped: {error}");
            }
        })?;
        Ok(Self { directory, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Its address, as `DBUS_SESSION_BUS_ADDRESS` has it.
    pub fn address(&self) -> String {
        format!("unix:path={}", socket(self.directory.path()).display())
    }

    /// Has it behave otherwise from now on.
    pub fn change(&self, change: impl FnOnce(&mut Mood)) {
        change(&mut lock(&self.state).mood);
    }

    /// What it keeps.
    pub fn items(&self) -> Vec<Item> {
        lock(&self.state).items.values().cloned().collect()
    }

    /// Has every item say something else, or be gone.
    pub fn replace(&self, value: Option<&[u8]>) {
        let mut state = lock(&self.state);
        match value {
            Some(value) => state.items.values_mut().for_each(|item| item.value = value.to_vec()),
            None => state.items.clear(),
        }
    }

    /// The methods that were called, first to last.
    pub fn calls(&self) -> Vec<String> {
        lock(&self.state).calls.clone()
    }
}

impl Drop for SecretService {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed where it happened.
            let _ = thread.join();
        }
    }
}

fn socket(directory: &Path) -> std::path::PathBuf {
    directory.join("bus")
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(
    listener: std::os::unix::net::UnixListener,
    state: Arc<Mutex<State>>,
    mut stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => return Ok(()),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let state = Arc::clone(&state);
                connections.spawn(async move {
                    if let Err(error) = serve(stream, &state).await {
                        eprintln!("a session bus lost a client: {error}");
                    }
                });
            }
        }
    }
}

async fn serve(stream: UnixStream, state: &Mutex<State>) -> zbus::Result<()> {
    let builder = zbus::connection::Builder::unix_stream(stream.into_std()?);
    let mut messages = builder.server(Guid::generate()).p2p().build_message_stream().await?;
    let connection = Connection::from(&messages);
    while let Some(message) = messages.next().await {
        // One that has gone away has said all.
        let Ok(message) = message else { break };
        answer(&connection, &message, state).await?;
    }
    Ok(())
}

/// What a method comes to.
enum Outcome {
    Nothing,
    Text(String),
    Number(u32),
    Path(OwnedObjectPath),
    Paths(OwnedObjectPath, OwnedObjectPath),
    Found(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>),
    Opened(OwnedObjectPath),
    Flag(bool),
    Secret(Vec<u8>),
    Error(&'static str),
}

async fn answer(connection: &Connection, message: &Message, state: &Mutex<State>) -> zbus::Result<()> {
    let header = message.header();
    let method = header.member().map(|member| member.to_string()).unwrap_or_default();
    let outcome = {
        let mut state = lock(state);
        state.calls.push(method.clone());
        let outcome = state.settle(&header, &method, message)?;
        if state.mood.silent_on == Some(method.as_str()) {
            match state.mood.answers_first.checked_sub(1) {
                Some(left) => state.mood.answers_first = left,
                None => return Ok(()),
            }
        }
        outcome
    };
    match outcome {
        Outcome::Nothing => reply(connection, &header, &()).await,
        Outcome::Text(text) => reply(connection, &header, &text).await,
        Outcome::Number(number) => reply(connection, &header, &number).await,
        Outcome::Path(path) => reply(connection, &header, &path).await,
        Outcome::Paths(one, other) => reply(connection, &header, &(one, other)).await,
        Outcome::Found(open, locked) => reply(connection, &header, &(open, locked)).await,
        Outcome::Opened(session) => reply(connection, &header, &(Variant::from(""), session)).await,
        Outcome::Flag(flag) => reply(connection, &header, &Variant::from(flag)).await,
        Outcome::Secret(value) => {
            let secret = (path(SESSION)?, Vec::<u8>::new(), value, "text/plain");
            reply(connection, &header, &(secret,)).await
        }
        Outcome::Error(name) => connection.reply_error(&header, name, &"no").await,
    }
}

async fn reply<B>(connection: &Connection, header: &Header<'_>, body: &B) -> zbus::Result<()>
where
    B: serde::Serialize + DynamicType,
{
    connection.reply(header, body).await
}

fn path(path: impl Into<String>) -> zbus::Result<OwnedObjectPath> {
    OwnedObjectPath::try_from(path.into())
}

impl State {
    fn settle(&mut self, header: &Header<'_>, method: &str, message: &Message) -> zbus::Result<Outcome> {
        let to_bus = header.destination().is_some_and(|name| name.as_str() == "org.freedesktop.DBus");
        if !to_bus && !self.mood.running {
            return Ok(Outcome::Error("org.freedesktop.DBus.Error.ServiceUnknown"));
        }
        let object = header.path().map(|path| path.as_str().to_owned()).unwrap_or_default();
        let body = message.body();
        Ok(match method {
            "Hello" => Outcome::Text(":1.2".to_owned()),
            "StartServiceByName" if self.mood.running || self.mood.startable => {
                self.mood.running = true;
                Outcome::Number(1)
            }
            "StartServiceByName" => Outcome::Error("org.freedesktop.DBus.Error.ServiceUnknown"),
            "GetNameOwner" if self.mood.running => Outcome::Text(OWNER.to_owned()),
            "GetNameOwner" => Outcome::Error("org.freedesktop.DBus.Error.NameHasNoOwner"),
            "OpenSession" => Outcome::Opened(path(SESSION)?),
            "ReadAlias" => {
                let alias: String = body.deserialize()?;
                let is_default = alias == "default" || self.mood.fleeting;
                Outcome::Path(path(if is_default && self.mood.collection {
                    DEFAULT_COLLECTION
                } else {
                    NONE
                })?)
            }
            "Get" => Outcome::Flag(self.mood.locked),
            "SearchItems" => self.search(&body.deserialize()?)?,
            "CreateItem" | "GetSecret" | "Delete" if self.mood.locked => {
                Outcome::Error("org.freedesktop.Secret.Error.IsLocked")
            }
            "CreateItem" => self.create(&body.deserialize()?)?,
            "GetSecret" => match number(&object).and_then(|number| self.items.get(&number)) {
                Some(item) => Outcome::Secret(item.value.clone()),
                None => Outcome::Error("org.freedesktop.DBus.Error.UnknownObject"),
            },
            "Delete" => {
                number(&object).and_then(|number| self.items.remove(&number));
                Outcome::Path(path(NONE)?)
            }
            "Dismiss" => Outcome::Nothing,
            _ => Outcome::Error("org.freedesktop.DBus.Error.UnknownMethod"),
        })
    }

    fn search(&self, wanted: &BTreeMap<String, String>) -> zbus::Result<Outcome> {
        let there = self.mood.collection;
        let fits = |item: &Item| {
            there && wanted.iter().all(|(name, value)| item.attributes.get(name) == Some(value))
        };
        let found = self.items.iter().filter(|(_, item)| fits(item));
        let paths: zbus::Result<Vec<_>> = found.map(|(number, _)| path(format!("{ITEMS}{number}"))).collect();
        let paths = paths?;
        Ok(if self.mood.locked {
            Outcome::Found(Vec::new(), paths)
        } else {
            Outcome::Found(paths, Vec::new())
        })
    }

    fn create(&mut self, asked: &Creation) -> zbus::Result<Outcome> {
        let (properties, (_, _, value, _), _) = asked;
        if self.mood.prompting {
            return Ok(Outcome::Paths(path(NONE)?, path(PROMPT)?));
        }
        let property = |name: &str| {
            let found = properties.get(&format!("org.freedesktop.Secret.Item.{name}"));
            found.ok_or(zbus::Error::MissingField)?.try_clone()
        };
        let label = String::try_from(property("Label")?)?;
        let attributes: std::collections::HashMap<String, String> = property("Attributes")?.try_into()?;
        let item = Item { label, attributes: attributes.into_iter().collect(), value: value.clone() };
        // An item with the same attributes is replaced.
        self.items.retain(|_, other| other.attributes != item.attributes);
        self.last += 1;
        if !self.mood.forgetful {
            self.items.insert(self.last, item);
        }
        Ok(Outcome::Paths(path(format!("{ITEMS}{}", self.last))?, path(NONE)?))
    }
}

/// Properties, the secret, and whether an item like it is replaced.
type Creation =
    (std::collections::HashMap<String, OwnedVariant>, (OwnedObjectPath, Vec<u8>, Vec<u8>, String), bool);

fn number(object: &str) -> Option<u64> {
    object.strip_prefix(ITEMS)?.parse().ok()
}
