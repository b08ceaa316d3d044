//! One client's configuration, changed with everything that belongs to it:
//! the question, the backup, the token, and the handshake afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::clients::{Client, Places};
use super::document::Document;
use super::edit::{Put, Refusal, Spot};
use super::entry::{self, Launch};
use super::handshake::{self, Broken, Greeting, Surroundings};
use super::token::{self, Plan};
use super::{backup, diff, record};
use crate::api::Api;
use crate::context::{Context, quoted};
use crate::failure::Failure;
use crate::prompt;
use crate::text;

/// What is wanted of a client.
#[derive(Debug)]
pub(crate) struct Wish<'w> {
    /// Patterns of the tools that the token reaches; none means all.
    pub(crate) tools: &'w [String],
    pub(crate) rotate: bool,
    /// Nobody has to be asked.
    pub(crate) yes: bool,
}

/// A client's entry: where it stands or will stand.
#[derive(Debug)]
pub(crate) struct Seat<'s> {
    pub(crate) client: &'static Client,
    pub(crate) spot: Spot<'s>,
    /// What the entry's token and files in the home are called.
    pub(crate) label: String,
    pub(crate) path: PathBuf,
    /// The entry that executor writes.
    pub(crate) ours: Value,
    /// What a command line needs to mean this entry again.
    pub(crate) flags: String,
}

impl<'s> Seat<'s> {
    /// Of several files the one that has the entry, else the first that is
    /// there, else the last.
    ///
    /// # Errors
    /// The client has no such file, or its entry can't be written down.
    pub(crate) fn new(
        context: &Context,
        places: &Places,
        client: &'static Client,
        name: &'s str,
        project: Option<&Path>,
    ) -> Result<Self, Failure> {
        let spot = Spot { format: client.format, container: client.container, name };
        let files = client.files(places, project)?;
        let holds = |path: &&PathBuf| {
            Document::read(path).is_ok_and(|document| matches!(spot.find(&document.text), Ok(Some(_))))
        };
        let path = files
            .iter()
            .find(holds)
            .or_else(|| files.iter().find(|path| fs::symlink_metadata(path).is_ok()))
            .or_else(|| files.last());
        let Some(path) = path.cloned() else {
            return Err(Failure::bug(format!("{} has no file", client.title)));
        };
        let label = record::label(client.id, name, project);
        let launch = entry::launch(context, client.id, &token::file(&context.home, &label))?;
        let mut flags = client.id.to_owned();
        if project.is_some() {
            flags.push_str(" --project");
        }
        if name != entry::DEFAULT_NAME {
            flags.push_str(&format!(" --name {name}"));
        }
        Ok(Self { client, spot, label, path, ours: client.shape.entry(&launch), flags })
    }

    fn refused(&self, refusal: Refusal) -> Failure {
        let path = text::clean(&self.path.display().to_string()).into_owned();
        Failure::failed(format!("{path} can't be changed: {}", refusal.0)).hint(format!(
            "nothing was changed; mend the file, or add the entry yourself: \
             `executor connect --print {}` prints it",
            self.client.id
        ))
    }
}

/// How a client was left.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) status: &'static str,
    pub(crate) diff: String,
    pub(crate) backup: Option<PathBuf>,
    pub(crate) greeting: Option<Greeting>,
    pub(crate) rotated: bool,
    /// What did not go well although the file is as it was wanted.
    pub(crate) failure: Option<Failure>,
}

impl Outcome {
    pub(crate) fn json(&self, seat: &Seat<'_>) -> Value {
        let mut value = json!({
            "client": seat.client.id,
            "file": seat.path.display().to_string(),
            "name": seat.spot.name,
            "status": self.status,
            "token": seat.label,
            "rotated": self.rotated,
            "diff": self.diff,
        });
        if let Some(backup) = &self.backup {
            value["backup"] = json!(backup.display().to_string());
        }
        if let Some(greeting) = &self.greeting {
            value["handshake"] = json!({
                "server": greeting.server,
                "version": greeting.version,
                "tools": greeting.tools,
                "duration_ms": greeting.milliseconds,
            });
        }
        if let Some(failure) = &self.failure {
            value["error"] = json!({ "message": failure.message });
        }
        value
    }
}

/// Puts the entry into the client's file, with a token of its own, and starts
/// it to see that it works.
///
/// # Errors
/// The file can't be changed, nobody said yes, or there is no token.
pub(crate) fn connect(context: &Context, seat: &Seat<'_>, wish: &Wish<'_>) -> Result<Outcome, Failure> {
    let document = Document::read(&seat.path)?;
    let standing = seat.spot.find(&document.text).map_err(|refusal| seat.refused(refusal))?;
    let stands = standing.as_ref().is_some_and(|standing| entry::says(standing, &seat.ours));
    let put = match stands {
        true => None,
        false => Some(seat.spot.put(&document.text, &seat.ours).map_err(|refusal| seat.refused(refusal))?),
    };
    let mut outcome = Outcome { status: "already-connected", ..Outcome::default() };
    if let Some(put) = &put {
        document.check_writable()?;
        outcome.diff = shown_diff(context, seat, &document.text, &put.text, wish.yes);
        confirm(context, wish.yes, &format!("Connect {}?", seat.client.title))?;
    }
    let api = Api::new(context);
    let plan = token::plan(&api, &context.home, &seat.label, wish.tools, wish.rotate)?;
    token::carry_out(&api, &context.home, &seat.label, &plan)?;
    outcome.rotated = matches!(plan, Plan::Make { replaces: true, .. });
    if let Some(put) = &put {
        outcome.backup = write(context, seat, &document, put, &plan)?;
        outcome.status = "connected";
        if standing.is_none() {
            remember(context, seat, put.made_container)?;
        }
    }
    match greet(context, seat) {
        Ok(greeting) => outcome.greeting = Some(greeting),
        Err(broken) => {
            let failure = told(seat, &broken);
            outcome.failure = Some(match put {
                Some(put) => restored(context, seat, &document, &put.text, &plan, failure, &mut outcome),
                None => failure.hint(format!(
                    "`{}` makes its token anew; `{}` may say more",
                    context.command(&format!("connect --rotate {}", seat.flags)),
                    context.command("doctor")
                )),
            });
        }
    }
    Ok(outcome)
}

/// Writes the file, with a copy of it as it was. What goes wrong leaves no
/// token behind that was made for it.
fn write(
    context: &Context,
    seat: &Seat<'_>,
    document: &Document,
    put: &Put,
    plan: &Plan,
) -> Result<Option<PathBuf>, Failure> {
    let backup = backup::make(document, OffsetDateTime::now_utc());
    let written = backup.and_then(|backup| document.write(&put.text).map(|()| backup));
    written.map_err(|failure| undone(context, seat, plan, failure))
}

/// What holds the entry is either made with it, or no more what was made
/// with one before.
fn remember(context: &Context, seat: &Seat<'_>, made_container: bool) -> Result<(), Failure> {
    if !made_container {
        record::forget(&context.home, &seat.label);
        return Ok(());
    }
    record::keep(&context.home, &seat.label, &seat.path).map_err(|error| {
        Failure::failed(format!("{} can't be written to: {error}", context.home.display()))
            .hint("the entry is in its file all the same")
    })
}

/// Takes the entry out of the client's file and revokes its token.
///
/// # Errors
/// As [`connect`].
pub(crate) fn remove(context: &Context, seat: &Seat<'_>, yes: bool) -> Result<Outcome, Failure> {
    let document = Document::read(&seat.path)?;
    let made = record::made_container(&context.home, &seat.label, &seat.path);
    let taken = seat.spot.take(&document.text, made).map_err(|refusal| seat.refused(refusal))?;
    let mut outcome = Outcome { status: "not-connected", ..Outcome::default() };
    if let Some(taken) = &taken {
        document.check_writable()?;
        outcome.diff = shown_diff(context, seat, &document.text, taken, yes);
        confirm(context, yes, &format!("Disconnect {}?", seat.client.title))?;
        outcome.backup = backup::make(&document, OffsetDateTime::now_utc())?;
        document.write(taken)?;
        outcome.status = "removed";
    }
    if taken.is_some() || token::file(&context.home, &seat.label).exists() {
        token::revoke(&Api::new(context), &context.home, &seat.label).map_err(|failure| {
            failure.hint(format!("the token `{}` may still be valid: run this again", seat.label))
        })?;
        record::forget(&context.home, &seat.label);
    }
    Ok(outcome)
}

/// A token that was made for a file which then could not be written is of no
/// use; one that took another's place is.
fn undone(context: &Context, seat: &Seat<'_>, plan: &Plan, failure: Failure) -> Failure {
    if !matches!(plan, Plan::Make { replaces: false, .. }) {
        return failure;
    }
    match token::revoke(&Api::running(context), &context.home, &seat.label) {
        Ok(_) => failure,
        Err(_) => failure.hint(format!("the token `{}` was made and is not used", seat.label)),
    }
}

fn shown_diff(context: &Context, seat: &Seat<'_>, before: &str, after: &str, yes: bool) -> String {
    let output = &context.output;
    let shown = diff::unified(&seat.path, before, after, output.talk);
    // A question is nothing without what it is about.
    if !yes {
        output.tell(shown.trim_end());
    } else if !output.json {
        output.say(shown.trim_end());
    }
    diff::unified(&seat.path, before, after, crate::style::Style::default())
}

fn confirm(context: &Context, yes: bool, question: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !prompt::can_ask(context) {
        return Err(Failure::usage("nothing was changed: there is no terminal to ask on")
            .hint("--yes makes the change that is shown above"));
    }
    match prompt::line(&format!("{question} [y/N]: "))?.unwrap_or_default().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::failed("nothing was changed")),
    }
}

/// Starts what stands in the file now, as the client would.
fn greet(context: &Context, seat: &Seat<'_>) -> Result<Greeting, Broken> {
    let launch = standing_launch(seat).ok_or_else(|| Broken {
        why: "the entry is not in the file any more".into(),
        printed: String::new(),
    })?;
    let surroundings = Surroundings {
        home: context.environment.user_home.clone().map(Into::into),
        path: context.environment.search_path.clone(),
    };
    context.output.say(&context.output.talk.dim("starting it as the client would…"));
    handshake::shake(&launch, &surroundings)
}

fn standing_launch(seat: &Seat<'_>) -> Option<Launch> {
    let document = Document::read(&seat.path).ok()?;
    seat.client.shape.launch(&seat.spot.find(&document.text).ok()??)
}

fn told(seat: &Seat<'_>, broken: &Broken) -> Failure {
    let mut message =
        format!("the entry is in {}, and its command does not work: {}", seat.path.display(), broken.why);
    if !broken.printed.is_empty() {
        message.push_str("; it printed:");
        for line in broken.printed.lines() {
            message.push_str(&format!("\n  {line}"));
        }
    }
    Failure::failed(message)
}

/// Offers the file as it was.
fn restored(
    context: &Context,
    seat: &Seat<'_>,
    before: &Document,
    written: &str,
    plan: &Plan,
    failure: Failure,
    outcome: &mut Outcome,
) -> Failure {
    let wanted = prompt::can_ask(context) && {
        context.output.tell(&crate::output::error_text(&failure.message, &[], context.output.talk));
        let answer = prompt::line("Put the file back as it was? [y/N]: ").ok().flatten().unwrap_or_default();
        matches!(answer.to_lowercase().as_str(), "y" | "yes")
    };
    if wanted {
        return match put_back(before, written) {
            Ok(()) => {
                outcome.status = "restored";
                record::forget(&context.home, &seat.label);
                let failure = Failure::failed(format!("{} is not connected", seat.client.title));
                undone(context, seat, plan, failure)
            }
            Err(failure) => failure,
        };
    }
    let failure = failure.hint(format!(
        "`{}` takes it out again",
        context.command(&format!("connect --remove {}", seat.flags))
    ));
    match &outcome.backup {
        Some(backup) => failure.hint(format!(
            "the file as it was: `cp {} {}`",
            quoted(&backup.display().to_string()),
            quoted(&seat.path.display().to_string())
        )),
        None => failure,
    }
}

fn put_back(before: &Document, written: &str) -> Result<(), Failure> {
    let now = Document::read(&before.path)?;
    if now.text != written {
        return Err(Failure::failed(format!(
            "{} was changed by another program meanwhile: it stays",
            before.path.display()
        )));
    }
    if before.exists() {
        return now.write(&before.text);
    }
    fs::remove_file(&before.path)
        .map_err(|error| Failure::failed(format!("{} can't be removed: {error}", before.path.display())))
}

#[cfg(test)]
mod tests {
    use super::super::clients::Platform;
    use super::super::fake_daemon::{self, Meanwhile};
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;
    use crate::failure::Exit;
    use std::os::unix::fs::PermissionsExt as _;

    /// A user's home, with executor's in it.
    struct Machine {
        home: tempfile::TempDir,
        context: Context,
    }

    impl Machine {
        fn new() -> Self {
            let home = tempfile::Builder::new().prefix("it's a \"home\" ").tempdir().unwrap();
            let globals = Globals { home: Some(home.path().join("x")), no_input: true, ..Globals::default() };
            std::fs::create_dir(home.path().join("x")).unwrap();
            let environment = Environment { user_home: Some(home.path().into()), ..Environment::default() };
            let context = Context::new(&globals, environment).unwrap();
            Self { home, context }
        }

        fn seat(&self, client: &str) -> Seat<'static> {
            let places = Places::new(&self.context.environment, Platform::Linux).unwrap();
            Seat::new(&self.context, &places, Client::named(client).unwrap(), "executor", None).unwrap()
        }

        fn write(&self, client: &str, text: &str) -> PathBuf {
            let path = self.seat(client).path;
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn token(&self, label: &str) -> Option<String> {
            fs::read_to_string(token::file(&self.context.home, label)).ok()
        }

        fn files(&self, path: &Path) -> usize {
            let directory = path.parent().unwrap().strip_prefix(self.home.path()).unwrap();
            fs::read_dir(self.home.path().join(directory)).unwrap().count()
        }
    }

    fn wish(tools: &[String], rotate: bool) -> Wish<'_> {
        Wish { tools, rotate, yes: true }
    }

    fn nothing() -> Meanwhile {
        Box::new(|| ())
    }

    /// The command in the entry is this very test's program, which knows no
    /// such arguments: there is no handshake, and the rest is as it was
    /// wanted.
    #[test]
    fn an_entry_comes_and_goes_with_its_token() {
        let machine = Machine::new();
        let daemon = fake_daemon::start(&machine.context.home, nothing());
        let before = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
        let path = machine.write("cursor", before);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let seat = machine.seat("cursor");
        let outcome = connect(&machine.context, &seat, &wish(&[], false)).unwrap();
        assert_eq!(outcome.status, "connected");
        assert!(outcome.diff.contains("+    \"executor\": {"), "{}", outcome.diff);
        let failure = outcome.failure.unwrap();
        assert!(failure.message.contains("its command does not work"), "{}", failure.message);
        assert!(failure.hints.iter().any(|hint| hint.contains("executor-backup-")), "{:?}", failure.hints);
        let backup = outcome.backup.unwrap();
        assert_eq!(fs::read_to_string(&backup).unwrap(), before);
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
        let first = machine.token("cursor").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(first.trim()) && text.contains("clients/cursor.token"), "{text}");
        assert_eq!(daemon.lock().unwrap().tokens, [json!({ "name": "cursor", "capabilities": ["call"] })]);

        let again = connect(&machine.context, &seat, &wish(&[], false)).unwrap();
        assert_eq!((again.status, again.rotated, again.diff.as_str()), ("already-connected", false, ""));
        assert_eq!(machine.token("cursor").unwrap(), first);
        let rotated = connect(&machine.context, &seat, &wish(&["a.*".to_owned()], true)).unwrap();
        assert!(rotated.rotated);
        assert_ne!(machine.token("cursor").unwrap(), first);
        assert_eq!(daemon.lock().unwrap().tokens[0]["toolkit"], json!(["a.*"]));

        assert_eq!(remove(&machine.context, &seat, true).unwrap().status, "removed");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        assert_eq!(machine.token("cursor"), None);
        assert!(daemon.lock().unwrap().tokens.is_empty());
        let asked = daemon.lock().unwrap().requests.len();
        assert_eq!(remove(&machine.context, &seat, true).unwrap().status, "not-connected");
        assert_eq!(daemon.lock().unwrap().requests.len(), asked, "there was nothing to revoke");
    }

    #[test]
    fn what_was_made_is_taken_away_again() {
        let machine = Machine::new();
        fake_daemon::start(&machine.context.home, nothing());
        let before = "{\n  \"theme\": \"x\"\n}\n";
        let path = machine.write("zed", before);
        connect(&machine.context, &machine.seat("zed"), &wish(&[], false)).unwrap();
        remove(&machine.context, &machine.seat("zed"), true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        let fresh = machine.seat("windsurf");
        connect(&machine.context, &fresh, &wish(&[], false)).unwrap();
        remove(&machine.context, &fresh, true).unwrap();
        assert_eq!(fs::read_to_string(&fresh.path).unwrap(), "{}\n");
    }

    #[test]
    fn a_change_by_somebody_else_leaves_no_token() {
        let machine = Machine::new();
        let path = machine.write("cursor", "{}");
        let theirs = path.clone();
        let meanwhile = Box::new(move || fs::write(&theirs, "{\"theirs\": 1}").unwrap());
        let daemon = fake_daemon::start(&machine.context.home, meanwhile);
        let failure = connect(&machine.context, &machine.seat("cursor"), &wish(&[], false)).unwrap_err();
        assert!(failure.message.contains("meanwhile"), "{}", failure.message);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"theirs\": 1}");
        assert!(daemon.lock().unwrap().tokens.is_empty());
        assert_eq!(machine.token("cursor"), None);
    }

    #[test]
    fn what_is_wrong_is_told_before_anything_is_made() {
        let machine = Machine::new();
        let daemon = fake_daemon::start(&machine.context.home, nothing());
        for (text, why) in [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2 column 9"),
            ("{\"mcpServers\": []}", "must be an object, and is a list"),
        ] {
            let path = machine.write("cursor", text);
            let seat = machine.seat("cursor");
            for failure in [
                connect(&machine.context, &seat, &wish(&[], false)).unwrap_err(),
                remove(&machine.context, &seat, true).unwrap_err(),
            ] {
                assert!(failure.message.contains(why), "{}", failure.message);
                assert!(failure.hints[0].contains("--print cursor"), "{:?}", failure.hints);
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(machine.files(&path), 1);
        }
        let path = machine.write("cursor", "{}");
        let asking = Wish { tools: &[], rotate: false, yes: false };
        let failure = connect(&machine.context, &machine.seat("cursor"), &asking).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.hints[0].contains("--yes"), "{:?}", failure.hints);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let failure = connect(&machine.context, &machine.seat("cursor"), &wish(&[], false)).unwrap_err();
        assert!(failure.message.contains("read-only"), "{}", failure.message);
        assert!(daemon.lock().unwrap().requests.is_empty(), "the daemon was not asked");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    }

    #[test]
    fn a_token_whose_secret_is_lost_is_made_anew() {
        let machine = Machine::new();
        let daemon = fake_daemon::start(&machine.context.home, nothing());
        daemon.lock().unwrap().tokens.push(json!({ "name": "codex", "toolkit": ["a.*"] }));
        let outcome = connect(&machine.context, &machine.seat("codex"), &wish(&[], false)).unwrap();
        assert!(outcome.rotated);
        assert_eq!(
            daemon.lock().unwrap().tokens,
            [json!({ "name": "codex", "capabilities": ["call"], "toolkit": ["a.*"] })]
        );
        assert!(machine.token("codex").unwrap().starts_with("secret-"));
    }
}
