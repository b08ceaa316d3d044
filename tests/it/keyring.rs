//! The key of the secrets in the keyring of a session, which is an emulated
//! one: put there, had again, missed, and moved.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use executor_upstreams::github::Emulator;
use executor_upstreams::secret_service::{Mood, SecretService};

use crate::daemon::{Daemon, TOKEN, emulator};
use crate::keys::import;

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

type Change = fn(&mut Mood);

/// A keyring, and a home without a daemon in its session.
fn session() -> (SecretService, Daemon) {
    let keyring = SecretService::start().unwrap();
    let daemon = Daemon::stopped().with(BUS, &keyring.address());
    (keyring, daemon)
}

fn file(daemon: &Daemon) -> PathBuf {
    daemon.home().join("secret.key")
}

fn said(daemon: &Daemon) -> String {
    fs::read_to_string(file(daemon)).unwrap()
}

#[track_caller]
fn in_keyring(daemon: &Daemon) -> String {
    let said = said(daemon);
    said.strip_prefix("keyring ").unwrap_or_else(|| panic!("the key is in the file")).trim().to_owned()
}

#[track_caller]
fn in_file(daemon: &Daemon) {
    assert_eq!(said(daemon).trim().len(), 43, "32 bytes in base64");
    assert_eq!(fs::metadata(file(daemon)).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A start that fails; what it says.
#[track_caller]
fn refused(daemon: &Daemon) -> String {
    daemon.run(&["serve", "--port", "auto"]).fails(1)
}

/// Whether the credential of a connection is still there.
async fn calls(daemon: &Daemon) {
    let (_, done) = daemon.execute("return (await tools.github.users.getAuthenticated({})).login");
    assert_eq!(done["result"], "octocat", "{done}");
}

/// A home that serves, with a credential.
async fn served(daemon: &mut Daemon) -> Emulator {
    let emulator = emulator().await;
    daemon.serve();
    daemon.add_github(&emulator);
    emulator
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_puts_the_key_into_the_keyring_and_later_ones_get_it_there() {
    let (keyring, mut daemon) = session();
    let _emulator = served(&mut daemon).await;
    let id = in_keyring(&daemon);
    let items = keyring.items();
    let [item] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!(item.attributes["application"], "executor");
    assert_eq!(item.attributes["key"], id);
    assert!(item.label.contains("executor") && item.label.contains(daemon.home().to_str().unwrap()));
    assert_eq!(item.value.len(), 43);
    assert!(daemon.run(&["doctor"]).ok().contains(&format!("in the system's keyring, as {id}")));

    // The recovery code is of the key, wherever that is.
    let code = daemon.run(&["secrets", "export-key", "--yes"]).ok();
    assert_eq!(code.trim().len(), 67);
    assert!(!code.contains(TOKEN));
    daemon.stop();
    daemon.serve();
    calls(&daemon).await;
    assert_eq!(keyring.items(), items, "a later start puts nothing there");
    assert!(
        !keyring.calls().iter().any(|call| call == "Unlock" || call == "Prompt"),
        "{:?}",
        keyring.calls()
    );
    // No log and no file has the key.
    daemon.stop();
    let key = String::from_utf8(item.value.clone()).unwrap();
    for entry in walk(daemon.home()) {
        let bytes = fs::read(&entry).unwrap();
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{}", entry.display());
    }
}

fn walk(directory: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        match kind.is_dir() {
            true => files.extend(walk(&entry.path())),
            false if kind.is_file() => files.push(entry.path()),
            false => {}
        }
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_the_key_from_its_home_is_said_and_changes_nothing() {
    let (keyring, mut daemon) = session();
    let _emulator = served(&mut daemon).await;
    let code = daemon.run(&["secrets", "export-key", "--yes"]).ok();
    daemon.stop();
    let before = said(&daemon);

    keyring.change(|mood| mood.locked = true);
    let locked = refused(&daemon);
    assert!(locked.contains("keyring is locked") && locked.contains("import-key"), "{locked}");
    let report = daemon.run(&["doctor"]);
    assert!(report.code() == 1 && report.stdout.contains("unlock the keyring"), "{report:?}");
    keyring.change(|mood| (mood.locked, mood.collection) = (false, false));
    let signed_out = refused(&daemon);
    assert!(signed_out.contains("no default collection"), "{signed_out}");
    keyring.change(|mood| mood.collection = true);

    keyring.change(|mood| mood.running = false);
    let gone = refused(&daemon);
    assert!(gone.contains("no keyring answers"), "{gone}");
    // A key that is known to be there is worth a start of the program.
    keyring.change(|mood| mood.startable = true);
    daemon.serve();
    calls(&daemon).await;
    daemon.stop();

    keyring.change(|mood| mood.silent_on = Some("GetSecret"));
    let begun = Instant::now();
    let silent = refused(&daemon);
    assert!(silent.contains("did not answer within 5 seconds"), "{silent}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    keyring.change(|mood| mood.silent_on = None);

    let outside = daemon.command(&["serve", "--port", "auto"]).env(BUS, "disabled:").output().unwrap();
    expect(&outside, "outside of a desktop session");
    let nobody = daemon.command(&["serve", "--port", "auto"]).env(BUS, "unix:path=/nowhere/bus").output();
    expect(&nobody.unwrap(), "the session bus can't be used");
    // The key would travel to another machine as it is.
    let far = daemon.command(&["serve", "--port", "auto"]).env(BUS, "tcp:host=127.0.0.1,port=1").output();
    expect(&far.unwrap(), "outside of a desktop session");
    assert_eq!(said(&daemon), before);
    daemon.serve();
    calls(&daemon).await;
    daemon.stop();

    // Another key there, and then none: the recovery code is what is left.
    keyring.replace(Some(b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    let another = refused(&daemon);
    assert!(another.contains("the item there holds another one"), "{another}");
    keyring.replace(Some(&[0xff; 9]));
    assert!(refused(&daemon).contains("has no such item"));
    keyring.replace(None);
    let missing = refused(&daemon);
    assert!(missing.contains("has no such item") && missing.contains("import-key"), "{missing}");
    daemon.run(&["secrets", "export-key", "--yes"]).fails(1);
    assert_eq!(said(&daemon), before);
    assert_eq!(import(&daemon, &code).0, Some(0));
    in_file(&daemon);
    daemon.serve();
    calls(&daemon).await;
}

#[track_caller]
fn expect(output: &Output, part: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(part), "{output:?}");
}

#[test]
fn a_keyring_of_no_use_is_passed_over_at_the_first_start() {
    let starts: [(&str, Change); 8] = [
        ("locked", |mood| mood.locked = true),
        ("gone", |mood| mood.running = false),
        ("not yet there", |mood| (mood.running, mood.startable) = (false, true)),
        ("empty", |mood| mood.collection = false),
        ("of the session", |mood| mood.fleeting = true),
        ("asking", |mood| mood.prompting = true),
        ("forgetful", |mood| mood.forgetful = true),
        ("silent", |mood| mood.silent_on = Some("ReadAlias")),
    ];
    for (case, make) in starts {
        let (keyring, mut daemon) = session();
        keyring.change(make);
        daemon.serve();
        in_file(&daemon);
        assert_eq!(keyring.items(), [], "{case}");
        let calls = keyring.calls();
        assert!(!calls.iter().any(|call| call == "Unlock" || call == "Prompt"), "{case}: {calls:?}");
        assert!(!calls.iter().any(|call| call == "StartServiceByName"), "{case}: {calls:?}");
        assert_eq!(calls.iter().any(|call| call == "Dismiss"), case == "asking", "{calls:?}");
    }
}

#[test]
fn the_setting_says_where_a_first_key_goes() {
    let (keyring, mut daemon) = session();
    fs::write(daemon.home().join("config.toml"), "[secrets]\nkeyring = \"off\"\n").unwrap();
    daemon.serve();
    in_file(&daemon);
    daemon.stop();
    daemon.run(&["config", "set", "secrets.keyring", "on"]).ok();
    assert_eq!(daemon.run(&["config", "get", "secrets.keyring"]).ok().trim(), "on");
    daemon.run(&["config", "set", "secrets.keyring", "maybe"]).fails(2);
    daemon.serve();
    in_file(&daemon);
    assert!(keyring.calls().is_empty(), "a home whose key is in its file asks no bus: {:?}", keyring.calls());

    let (keyring, mut daemon) = session();
    fs::write(daemon.home().join("config.toml"), "[secrets]\nkeyring = \"on\"\n").unwrap();
    keyring.change(|mood| mood.locked = true);
    let refused = refused(&daemon);
    assert!(refused.contains("can't be put") && refused.contains("secrets.keyring"), "{refused}");
    assert!(!file(&daemon).exists());
    keyring.change(|mood| mood.locked = false);
    daemon.serve();
    in_keyring(&daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_moves_to_the_keyring_and_back() {
    let (keyring, mut daemon) = session();
    daemon.run(&["secrets", "move-key", "--to", "keyring"]).fails(1);
    fs::write(daemon.home().join("config.toml"), "[secrets]\nkeyring = \"off\"\n").unwrap();
    let _emulator = served(&mut daemon).await;
    let running = daemon.run(&["secrets", "move-key", "--to", "keyring"]).fails(1);
    assert!(running.contains("executor down"), "{running}");
    daemon.stop();
    let key = said(&daemon);

    keyring.change(|mood| mood.locked = true);
    let locked = daemon.run(&["secrets", "move-key", "--to", "keyring"]).fails(1);
    assert!(locked.contains("is locked") && said(&daemon) == key, "{locked}");
    keyring.change(|mood| (mood.locked, mood.forgetful) = (false, true));
    let forgetful = daemon.run(&["secrets", "move-key", "--to", "keyring"]).fails(1);
    assert!(forgetful.contains("does not give back") && said(&daemon) == key, "{forgetful}");
    keyring.change(|mood| mood.forgetful = false);

    daemon.run(&["secrets", "move-key", "--to", "keyring"]).ok();
    in_keyring(&daemon);
    assert_eq!(keyring.items()[0].value, key.trim().as_bytes());
    assert!(daemon.run(&["secrets", "move-key", "--to", "keyring"]).stderr.contains("as it was"));
    daemon.serve();
    calls(&daemon).await;
    daemon.stop();

    keyring.change(|mood| mood.locked = true);
    daemon.run(&["secrets", "move-key", "--to", "file"]).fails(1);
    in_keyring(&daemon);
    keyring.change(|mood| mood.locked = false);
    daemon.run(&["secrets", "move-key", "--to", "file"]).ok();
    assert_eq!((said(&daemon), keyring.items()), (key.clone(), Vec::new()));

    // A keyring that does not let go of its item keeps nobody from the key.
    daemon.run(&["secrets", "move-key", "--to", "keyring"]).ok();
    keyring.change(|mood| mood.silent_on = Some("Delete"));
    let left = daemon.run(&["secrets", "move-key", "--to", "file"]);
    assert!(left.code() == 0 && left.stderr.contains("may still be in the system's keyring"), "{left:?}");
    assert_eq!(said(&daemon), key);
    keyring.change(|mood| mood.silent_on = None);
    assert!(daemon.run(&["secrets", "move-key", "--to", "file"]).stderr.contains("as it was"));
    keyring.change(|mood| mood.running = false);
    daemon.serve();
    calls(&daemon).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_killed_loses_nothing() {
    let (keyring, mut daemon) = session();
    fs::write(daemon.home().join("config.toml"), "[secrets]\nkeyring = \"off\"\n").unwrap();
    let _emulator = served(&mut daemon).await;
    daemon.stop();
    let key = said(&daemon);
    // The keyring has done each of these when the program is killed.
    for step in ["OpenSession", "CreateItem", "GetSecret"] {
        killed_at(&daemon, &keyring, "keyring", step);
        assert_eq!(said(&daemon), key, "{step}");
        daemon.serve();
        calls(&daemon).await;
        daemon.stop();
    }
    daemon.run(&["secrets", "move-key", "--to", "keyring"]).ok();
    assert_eq!(keyring.items().len(), 1, "what was cut off has left nothing beside it");
    let pointer = said(&daemon);
    killed_at(&daemon, &keyring, "file", "GetSecret");
    assert_eq!(said(&daemon), pointer);
    daemon.serve();
    calls(&daemon).await;
    daemon.stop();
    // Killed before the item is removed, and it stays; the next move removes it.
    killed_at(&daemon, &keyring, "file", "SearchItems/2");
    assert_eq!((said(&daemon), keyring.items().len()), (key, 1));
    daemon.serve();
    calls(&daemon).await;
    daemon.stop();
    assert!(!daemon.run(&["secrets", "move-key", "--to", "file"]).stderr.contains("as it was"));
    assert_eq!(keyring.items(), []);
}

/// Kills a move once the keyring was asked for something that it does not
/// answer; `/2` means the second time.
fn killed_at(daemon: &Daemon, keyring: &SecretService, to: &str, step: &str) {
    let (method, times) = step.split_once('/').unwrap_or((step, "1"));
    let method: &'static str = ["OpenSession", "CreateItem", "GetSecret", "SearchItems"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap();
    let times: usize = times.parse().unwrap();
    let asked = || keyring.calls().iter().filter(|call| *call == method).count();
    let before = asked();
    keyring.change(|mood| mood.silent_on = Some(method));
    keyring.change(|mood| mood.answers_first = times - 1);
    let mut command = daemon.command(&["secrets", "move-key", "--to", to]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    daemon.until(|_| asked() >= before + times);
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), None, "it was killed, and had not ended");
    keyring.change(|mood| mood.silent_on = None);
}
