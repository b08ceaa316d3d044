//! `executor doctor`: what is wrong, and how to mend it. Works without a
//! daemon too.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use executor_control::Problem;
use executor_store::{KeyPlace, Keyring};
use serde_json::{Value, json};

use crate::api::{Api, path};
use crate::context::Context;
use crate::daemon;
use crate::failure::{Exit, Failure};
use crate::settings;
use crate::style::Style;
use crate::text;
use crate::view::{field, list, prose};

/// Less free space than this makes a daemon refuse writes before long.
const DISK_WARNING_BYTES: u64 = 1024 * 1024 * 1024;
const DISK_ERROR_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
    let running = daemon::try_connect(&context.home);
    let runs = matches!(running, Ok(Some(_)));
    let mut checks = own_checks(context, runs);
    if let Err(failure) = &running {
        checks.push(check("socket", "error", &failure.message, failure.hints.first().map(String::as_str)));
    }
    if runs {
        let answer = Api::running(context).get(&path(&["doctor"]))?;
        checks.extend(list(&answer.value, "checks").iter().cloned());
    }
    let report = json!({ "checks": checks });
    if context.output.json {
        context.output.print_json(&report)?;
    } else {
        context.output.print(&render(&report, context.output.data))?;
    }
    let broken = checks.iter().any(|check| check["status"] == "error");
    Ok(if broken { Exit::Failed } else { Exit::Ok })
}

fn own_checks(context: &Context, runs: bool) -> Vec<Value> {
    let home = context.home.as_path();
    let mut checks = vec![home_check(home)];
    checks.push(lock_check(context, runs));
    if let Some(check) = disk_check(home) {
        checks.push(check);
    }
    checks.push(config_check(home));
    checks.push(key_check(home, &context.environment.keyring));
    if !runs {
        checks.push(port_check(context));
        let hint =
            format!("it starts with the next command that needs it, or with `{}`", context.command("up"));
        checks.push(check("daemon", "ok", "no daemon runs", Some(&hint)));
    }
    checks
}

fn check(name: &str, status: &str, message: &str, hint: Option<&str>) -> Value {
    let mut check = json!({ "name": name, "status": status, "message": message });
    if let Some(hint) = hint {
        check["hint"] = hint.into();
    }
    check
}

fn home_check(home: &Path) -> Value {
    let shown = home.display();
    let metadata = match fs::metadata(home) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return check(
                "home",
                "ok",
                &format!("{shown} does not exist yet; the first start makes it"),
                None,
            );
        }
        Err(error) => {
            return check("home", "error", &format!("{shown} can't be read: {error}"), None);
        }
    };
    let user = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() {
        return check(
            "home",
            "error",
            &format!("{shown} is no directory"),
            Some("choose another with --home"),
        );
    }
    if metadata.uid() != user {
        let message = format!("{shown} belongs to user {}, and this is user {user}", metadata.uid());
        return check("home", "error", &message, Some("use a home of your own, or change its owner"));
    }
    if metadata.mode() & 0o077 != 0 {
        let hint = format!("chmod 700 {}", crate::context::quoted(&shown.to_string()));
        return check("home", "warning", &format!("{shown} can be read by other users"), Some(&hint));
    }
    check("home", "ok", &format!("{shown} is private"), None)
}

fn lock_check(context: &Context, runs: bool) -> Value {
    match (executor_store::lock_owner(&context.home), runs) {
        (Some(pid), true) => check("lock", "ok", &format!("the daemon is process {pid}"), None),
        (None, false) => check("lock", "ok", "nobody owns the home", None),
        (Some(pid), false) => check(
            "lock",
            "error",
            &format!("process {pid} owns the home, and its socket does not answer"),
            Some(&format!("wait a moment; if it stays so, `kill {pid}`")),
        ),
        (None, true) => check(
            "lock",
            "error",
            "something answers on the socket without owning the home",
            Some("see which process listens there, and end it"),
        ),
    }
}

fn disk_check(home: &Path) -> Option<Value> {
    let existing = home.ancestors().find(|path| path.exists())?;
    let status = rustix::fs::statvfs(existing).ok()?;
    let free = status.f_bavail.saturating_mul(status.f_frsize);
    let message = format!("{} free", text::bytes(free));
    let hint = Some("free some space: writes are refused when the disk is full");
    Some(match free {
        0..DISK_ERROR_BYTES => check("disk", "error", &message, hint),
        DISK_ERROR_BYTES..DISK_WARNING_BYTES => check("disk", "warning", &message, hint),
        _ => check("disk", "ok", &message, None),
    })
}

fn config_check(home: &Path) -> Value {
    match settings::load(home) {
        Ok(_) => check("config", "ok", "config.toml can be used", None),
        Err(failure) => check("config", "error", &failure.message, failure.hints.first().map(String::as_str)),
    }
}

/// Where the key of the secrets is. Whether it is the right one, the daemon
/// says when it starts.
fn key_check(home: &Path, keyring: &Keyring) -> Value {
    match executor_store::find_key(home, keyring) {
        Ok(Some(KeyPlace::File(path))) => {
            check("secrets", "ok", &format!("their key is in {}", path.display()), None)
        }
        Ok(Some(KeyPlace::Keyring(id))) => {
            check("secrets", "ok", &format!("their key is in the system's keyring, as {id}"), None)
        }
        Ok(None) if !home.join("executor.db").exists() => {
            check("secrets", "ok", "their key is made at the first start", None)
        }
        Ok(None) => {
            let restore = "`executor secrets import-key` restores it from its recovery code";
            check("secrets", "error", "their key is not there: secret.key is missing", Some(restore))
        }
        Err(error) => {
            let problem = Problem::from(error);
            check("secrets", "error", &problem.message, problem.hint.as_deref())
        }
    }
}

fn port_check(context: &Context) -> Value {
    let port = executor_server::DEFAULT_PORT;
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => check("port", "ok", &format!("port {port} is free"), None),
        Err(error) => {
            let holder = executor_server::port_holder(port)
                .map_or_else(|| error.to_string(), |holder| holder.to_string());
            let hint = format!("start with another one: `{}`", context.command("up --port auto"));
            check("port", "warning", &format!("port {port} is taken: {holder}"), Some(&hint))
        }
    }
}

fn render(report: &Value, style: Style) -> String {
    let mut rendered = String::new();
    for check in list(report, "checks") {
        let status = field(check, "status");
        let (mark, padding) = match status.as_str() {
            "ok" => (style.green("ok"), "       "),
            "warning" => (style.yellow("warning"), "  "),
            _ => (style.red("error"), "    "),
        };
        rendered.push_str(&format!("{mark}{padding}{}: {}\n", field(check, "name"), prose(check, "message")));
        let hint = prose(check, "hint");
        if !hint.is_empty() {
            rendered.push_str(&format!("         {} {hint}\n", style.cyan("hint:")));
        }
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_say_what_to_do() {
        let report = json!({ "checks": [
            check("home", "ok", "it is private", None),
            check("disk", "warning", "900 MiB free", Some("free some space")),
            check("github\u{1b}[31m", "error", "the token was refused", None),
        ] });
        insta::assert_snapshot!(render(&report, Style::default()), @r"
        ok       home: it is private
        warning  disk: 900 MiB free
                 hint: free some space
        error    github: the token was refused
        ");
    }

    #[test]
    fn a_home_is_judged_as_it_lies() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        assert_eq!(home_check(&home)["status"], "ok");
        fs::create_dir(&home).unwrap();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(home_check(&home)["status"], "warning");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(home_check(&home)["status"], "ok");
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(home_check(&file)["status"], "error");
        fs::write(home.join("config.toml"), "[").unwrap();
        assert_eq!(config_check(&home)["status"], "error");
    }
}
