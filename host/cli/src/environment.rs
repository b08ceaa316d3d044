//! The process's environment: the only place that reads it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use executor_store::Keyring;
use executor_telemetry::otlp::Variables;

/// What the environment says, taken once.
#[derive(Debug, Default, Clone)]
pub(crate) struct Environment {
    /// `EXECUTOR_HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `EXECUTOR_WORKSPACE`.
    pub(crate) workspace: Option<String>,
    /// `EXECUTOR_LOG`: a filter for the daemon's log, as `info` or
    /// `executor_control=debug`.
    pub(crate) log: Option<String>,
    /// `EXECUTOR_PORT`: the daemon's port, or `auto`.
    pub(crate) port: Option<String>,
    /// `EXECUTOR_TOKEN`: as whom an MCP client acts.
    pub(crate) token: Option<String>,
    /// `XDG_DATA_HOME`.
    pub(crate) data_home: Option<PathBuf>,
    /// `HOME`.
    pub(crate) user_home: Option<PathBuf>,
    /// `PATH`.
    pub(crate) search_path: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub(crate) config_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`: where Claude Code keeps its configuration.
    pub(crate) claude_config: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub(crate) codex_home: Option<PathBuf>,
    /// What opens a page: `BROWSER`, else the desktop's own where there is a
    /// screen.
    pub(crate) browser: Option<OsString>,
    /// `NO_COLOR` is set and not empty (no-color.org).
    pub(crate) no_color: bool,
    /// `CLICOLOR_FORCE` is set and not `0`.
    pub(crate) force_color: bool,
    /// `TERM` is `dumb`.
    pub(crate) dumb_terminal: bool,
    /// `COLUMNS`, where it is a number: the width of what is shown.
    pub(crate) columns: Option<usize>,
    /// `OTEL_…`: whether spans go to a collector, and to which.
    pub(crate) otel: Variables,
    /// The user's keyring, by `DBUS_SESSION_BUS_ADDRESS` or the sockets in its
    /// place.
    pub(crate) keyring: Keyring,
    /// What local programs have of it.
    pub(crate) programs: Vec<(OsString, OsString)>,
}

impl Environment {
    pub(crate) fn from_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is = |name, test: fn(&OsString) -> bool| std::env::var_os(name).is_some_and(|value| test(&value));
        Self {
            home: path("EXECUTOR_HOME"),
            workspace: text("EXECUTOR_WORKSPACE"),
            log: text("EXECUTOR_LOG"),
            port: text("EXECUTOR_PORT"),
            token: text("EXECUTOR_TOKEN"),
            data_home: path("XDG_DATA_HOME"),
            user_home: path("HOME"),
            search_path: std::env::var_os("PATH").filter(|value| !value.is_empty()),
            config_home: path("XDG_CONFIG_HOME"),
            claude_config: path("CLAUDE_CONFIG_DIR"),
            codex_home: path("CODEX_HOME"),
            browser: browser(),
            no_color: is("NO_COLOR", |value| !value.is_empty()),
            force_color: is("CLICOLOR_FORCE", |value| !value.is_empty() && value != "0"),
            dumb_terminal: is("TERM", |value| value == "dumb"),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()),
            otel: otel(&text),
            keyring: keyring(text("DBUS_SESSION_BUS_ADDRESS"), path("XDG_RUNTIME_DIR")),
            programs: programs(std::env::vars_os()),
        }
    }

    /// The home: as given, else `$EXECUTOR_HOME`, else in the XDG data
    /// directory.
    ///
    /// # Errors
    /// There is nothing to derive it from.
    pub(crate) fn home_directory(&self, given: Option<&PathBuf>) -> Result<PathBuf, Failure> {
        let chosen = given.cloned().or_else(|| self.home.clone());
        let home = match (chosen, &self.data_home, &self.user_home) {
            (Some(home), _, _) => home,
            (None, Some(data), _) if data.is_absolute() => data.join("executor"),
            (None, _, Some(user)) => user.join(DEFAULT_HOME),
            (None, _, None) => {
                return Err(Failure::usage("there is no home to use: neither HOME nor EXECUTOR_HOME is set")
                    .hint("say where executor keeps its data: --home DIRECTORY"));
            }
        };
        std::path::absolute(&home)
            .map_err(|error| Failure::usage(format!("{} can't be the home: {error}", home.display())))
    }

    /// The home of a program that has `HOME` alone of this environment, as
    /// one that a desktop started.
    pub(crate) fn bare_home(&self) -> Option<PathBuf> {
        self.user_home.as_ref().map(|user| user.join(DEFAULT_HOME))
    }
}

fn browser() -> Option<OsString> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(chosen) = set("BROWSER") {
        return Some(chosen);
    }
    if cfg!(target_os = "macos") {
        return Some("open".into());
    }
    (set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some()).then(|| "xdg-open".into())
}

/// What a local program needs to find its way, and nothing that may be a
/// secret of somebody else's.
fn programs(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let known = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "LOGNAME", "SHELL"];
    let kept = |name: &str| known.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_");
    let mut kept: Vec<_> = all.filter(|(name, _)| name.to_str().is_some_and(kept)).collect();
    if !kept.iter().any(|(name, _)| name == "PATH") {
        kept.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
    }
    kept.push(("TERM".into(), "dumb".into()));
    kept
}

/// The keyring of the session whose bus the environment names. A program that
/// an MCP client starts has neither variable: the user's bus is then where
/// systemd puts it, and is asked for a key that is known to be there alone.
fn keyring(address: Option<String>, runtime_directory: Option<PathBuf>) -> Keyring {
    let socket = |directory: &Path| {
        let bus = directory.join("bus");
        bus.exists().then(|| bus_address(&bus))?
    };
    let session = match (address, &runtime_directory) {
        (Some(address), _) => Some(address),
        (None, Some(directory)) => socket(directory),
        (None, None) => {
            let user = rustix::process::geteuid().as_raw();
            let usual = socket(Path::new(&format!("/run/user/{user}")));
            return Keyring::of(None, usual.as_deref());
        }
    };
    Keyring::of(session.as_deref(), None)
}

/// A socket as D-Bus writes addresses: bytes that are not letters, digits or
/// a few marks are escaped (D-Bus specification, "Server Addresses").
fn bus_address(socket: &Path) -> Option<String> {
    let mut address = "unix:path=".to_owned();
    for byte in socket.to_str()?.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'/' | b'\\' | b'.' | b'*' => {
                address.push(char::from(byte));
            }
            _ => address.push_str(&format!("%{byte:02x}")),
        }
    }
    Some(address)
}

/// Where the home is in the user's.
const DEFAULT_HOME: &str = ".local/share/executor";

/// A variable of traces alone goes before the one of all signals.
fn otel(text: &impl Fn(&str) -> Option<String>) -> Variables {
    let either = |name: &str| {
        text(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
            .or_else(|| text(&format!("OTEL_EXPORTER_OTLP_{name}")))
    };
    Variables {
        disabled: text("OTEL_SDK_DISABLED"),
        exporter: text("OTEL_TRACES_EXPORTER"),
        endpoint: text("OTEL_EXPORTER_OTLP_ENDPOINT"),
        traces_endpoint: text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        protocol: either("PROTOCOL"),
        headers: either("HEADERS"),
        timeout: either("TIMEOUT"),
        certificate: either("CERTIFICATE"),
        service_name: text("OTEL_SERVICE_NAME"),
        resource_attributes: text("OTEL_RESOURCE_ATTRIBUTES"),
        sampler: text("OTEL_TRACES_SAMPLER"),
        sampler_argument: text("OTEL_TRACES_SAMPLER_ARG"),
        delay: text("OTEL_BSP_SCHEDULE_DELAY"),
    }
}

/// A variable that the user named: `--set VAR=env:NAME`.
///
/// # Errors
/// It is not set, or no text.
pub(crate) fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|error| match error {
        std::env::VarError::NotPresent => {
            Failure::usage(format!("the environment variable {name} is not set"))
        }
        std::env::VarError::NotUnicode(_) => {
            Failure::usage(format!("the environment variable {name} is no UTF-8 text"))
        }
    })
}

/// The directory that the command was typed in.
pub(crate) fn current_directory() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}

/// Where this very program is, for another to start it.
pub(crate) fn own_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(environment: &Environment, given: Option<&str>, expect: &str) {
        let given = given.map(PathBuf::from);
        assert_eq!(environment.home_directory(given.as_ref()).unwrap(), PathBuf::from(expect));
    }

    #[test]
    fn the_home_is_the_nearest_that_was_said() {
        let mut environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        check(&environment, None, "/u/.local/share/executor");
        environment.data_home = Some("relative".into());
        check(&environment, None, "/u/.local/share/executor");
        environment.data_home = Some("/data".into());
        check(&environment, None, "/data/executor");
        environment.home = Some("/env".into());
        check(&environment, None, "/env");
        check(&environment, Some("/flag"), "/flag");
        assert!(Environment::default().home_directory(None).is_err());
    }

    #[test]
    fn a_socket_becomes_an_address() {
        let address = bus_address(Path::new("/run/user/1000/a b;c,d%/bus"));
        assert_eq!(address.as_deref(), Some("unix:path=/run/user/1000/a%20b%3bc%2cd%25/bus"));
    }
}
