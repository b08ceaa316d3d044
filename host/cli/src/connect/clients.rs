//! The programs that take MCP servers, and where each keeps its configuration.

use std::path::{Path, PathBuf};

use super::entry::Shape;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::nearest::nearest;

/// What a configuration is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON; comments and trailing commas are kept where they are.
    Json,
    Toml,
}

/// Where programs keep their files differs between these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    Macos,
}

impl Platform {
    pub(crate) fn own() -> Self {
        if cfg!(target_os = "macos") { Self::Macos } else { Self::Linux }
    }
}

/// The directories that a user's configurations are found from.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    platform: Platform,
    user_home: PathBuf,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    config_home: PathBuf,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
}

impl Places {
    /// # Errors
    /// There is no user's home.
    pub(crate) fn new(environment: &Environment, platform: Platform) -> Result<Self, Failure> {
        let Some(user_home) = environment.user_home.clone() else {
            return Err(Failure::usage("HOME is not set, so no program's configuration can be found"));
        };
        // A relative one is to be ignored (XDG base directory specification).
        let config_home = environment.config_home.clone().filter(|path| path.is_absolute());
        Ok(Self {
            platform,
            config_home: config_home.unwrap_or_else(|| user_home.join(".config")),
            user_home,
            claude: environment.claude_config.clone(),
            codex: environment.codex_home.clone(),
        })
    }

    /// Where desktop programs built on Electron keep theirs.
    fn application(&self, name: &str) -> PathBuf {
        match self.platform {
            Platform::Linux => self.config_home.join(name),
            Platform::Macos => self.user_home.join("Library/Application Support").join(name),
        }
    }

    /// A path in the user's home as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// A program that takes MCP servers.
#[derive(Debug)]
pub(crate) struct Client {
    /// As it is named on the command line.
    pub(crate) id: &'static str,
    /// As it names itself.
    pub(crate) title: &'static str,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    /// The object that holds the entries.
    pub(crate) container: &'static str,
    /// Programs of which one shows that it is installed.
    pub(crate) binaries: &'static [&'static str],
    /// The same among macOS's applications.
    pub(crate) application: Option<&'static str>,
    /// The directory that is there once it has run.
    pub(crate) directory: fn(&Places) -> PathBuf,
    /// The user's configuration. Of several the first that is there is used,
    /// and the last is made where none is.
    files: fn(&Places) -> Vec<PathBuf>,
    /// The same within a project, if it has such.
    project_files: &'static [&'static str],
    /// When it sees a change.
    pub(crate) afterwards: &'static str,
}

const RESTART: &str = "restart it to see the tools";

/// All of them, in the order in which they are listed.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        shape: Shape::Stdio,
        container: "mcpServers",
        binaries: &["claude"],
        application: None,
        directory: |places| places.claude.clone().unwrap_or_else(|| places.user_home.join(".claude")),
        files: |places| vec![places.claude.as_ref().unwrap_or(&places.user_home).join(".claude.json")],
        project_files: &[".mcp.json"],
        afterwards: "new sessions see the tools; `/mcp` shows them",
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        shape: Shape::Plain,
        container: "mcpServers",
        binaries: &["claude-desktop"],
        application: Some("Claude.app"),
        directory: |places| places.application("Claude"),
        files: |places| vec![places.application("Claude").join("claude_desktop_config.json")],
        project_files: &[],
        afterwards: RESTART,
    },
    Client {
        id: "cursor",
        title: "Cursor",
        format: Format::Json,
        shape: Shape::Stdio,
        container: "mcpServers",
        binaries: &["cursor", "cursor-agent"],
        application: Some("Cursor.app"),
        directory: |places| places.user_home.join(".cursor"),
        files: |places| vec![places.user_home.join(".cursor/mcp.json")],
        project_files: &[".cursor/mcp.json"],
        afterwards: "switch it on in the settings, under MCP, if it asks",
    },
    code(
        "vscode",
        "VS Code",
        &["code"],
        "Visual Studio Code.app",
        |places| places.application("Code"),
        |places| vec![places.application("Code").join("User/mcp.json")],
    ),
    code(
        "vscode-insiders",
        "VS Code Insiders",
        &["code-insiders"],
        "Visual Studio Code - Insiders.app",
        |places| places.application("Code - Insiders"),
        |places| vec![places.application("Code - Insiders").join("User/mcp.json")],
    ),
    code(
        "vscodium",
        "VSCodium",
        &["codium", "vscodium"],
        "VSCodium.app",
        |places| places.application("VSCodium"),
        |places| vec![places.application("VSCodium").join("User/mcp.json")],
    ),
    Client {
        id: "codex",
        title: "Codex",
        format: Format::Toml,
        shape: Shape::Plain,
        container: "mcp_servers",
        binaries: &["codex"],
        application: None,
        directory: codex_home,
        files: |places| vec![codex_home(places).join("config.toml")],
        project_files: &[".codex/config.toml"],
        afterwards: "new sessions see the tools; `/mcp` shows them",
    },
    Client {
        id: "opencode",
        title: "OpenCode",
        format: Format::Json,
        shape: Shape::Local,
        container: "mcp",
        binaries: &["opencode"],
        application: None,
        directory: opencode_home,
        files: |places| {
            ["opencode.jsonc", "opencode.json"].map(|name| opencode_home(places).join(name)).into()
        },
        project_files: &["opencode.jsonc", "opencode.json"],
        afterwards: RESTART,
    },
    Client {
        id: "zed",
        title: "Zed",
        format: Format::Json,
        shape: Shape::Plain,
        container: "context_servers",
        binaries: &["zed", "zeditor", "zedit"],
        application: Some("Zed.app"),
        directory: zed_home,
        files: |places| vec![zed_home(places).join("settings.json")],
        project_files: &[".zed/settings.json"],
        afterwards: "it takes the change up at once",
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        shape: Shape::Plain,
        container: "mcpServers",
        binaries: &["windsurf"],
        application: Some("Windsurf.app"),
        directory: |places| places.user_home.join(".codeium/windsurf"),
        files: |places| vec![places.user_home.join(".codeium/windsurf/mcp_config.json")],
        project_files: &[],
        afterwards: "refresh the servers in Cascade, or restart it",
    },
];

/// VS Code and what is built from its source.
const fn code(
    id: &'static str,
    title: &'static str,
    binaries: &'static [&'static str],
    application: &'static str,
    directory: fn(&Places) -> PathBuf,
    files: fn(&Places) -> Vec<PathBuf>,
) -> Client {
    Client {
        id,
        title,
        format: Format::Json,
        shape: Shape::Stdio,
        container: "servers",
        binaries,
        application: Some(application),
        directory,
        files,
        project_files: &[".vscode/mcp.json"],
        afterwards: "start it in the list of MCP servers (`MCP: List Servers`)",
    }
}

fn codex_home(places: &Places) -> PathBuf {
    places.codex.clone().unwrap_or_else(|| places.user_home.join(".codex"))
}

/// By the XDG rules on macOS too.
fn opencode_home(places: &Places) -> PathBuf {
    places.config_home.join("opencode")
}

/// On macOS in `~/.config` whatever XDG says.
fn zed_home(places: &Places) -> PathBuf {
    match places.platform {
        Platform::Linux => places.config_home.join("zed"),
        Platform::Macos => places.user_home.join(".config/zed"),
    }
}

impl Client {
    /// The client of a name.
    ///
    /// # Errors
    /// None, with what may have been meant.
    pub(crate) fn named(name: &str) -> Result<&'static Self, Failure> {
        CLIENTS.iter().find(|client| client.id == name).ok_or_else(|| {
            let ids = CLIENTS.iter().map(|client| client.id);
            let failure = Failure::usage(format!("no client is named `{}`", crate::text::line(name, 80)));
            let failure = match nearest(name, ids.clone()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(format!("there are {}", ids.collect::<Vec<_>>().join(", "))),
            };
            failure.hint("for another program, `--print` with any name prints an entry to paste")
        })
    }

    /// The files that may be its configuration, of the user or of a project.
    ///
    /// # Errors
    /// It has none for a project.
    pub(crate) fn files(&self, places: &Places, project: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
        let Some(project) = project else { return Ok((self.files)(places)) };
        if self.project_files.is_empty() {
            return Err(Failure::usage(format!("{} has no configuration of a project", self.title))
                .hint("leave --project out to connect it for all of them"));
        }
        Ok(self.project_files.iter().map(|file| project.join(file)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(environment: &Environment, platform: Platform) -> String {
        let places = Places::new(environment, platform).unwrap();
        let line = |client: &Client| {
            let files = client.files(&places, None).unwrap();
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            format!("{}: {}\n", client.id, files.join(" or "))
        };
        CLIENTS.iter().map(line).collect()
    }

    #[test]
    fn each_client_has_its_file() {
        let environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        insta::assert_snapshot!(listed(&environment, Platform::Linux), @r"
        claude-code: /u/.claude.json
        claude-desktop: /u/.config/Claude/claude_desktop_config.json
        cursor: /u/.cursor/mcp.json
        vscode: /u/.config/Code/User/mcp.json
        vscode-insiders: /u/.config/Code - Insiders/User/mcp.json
        vscodium: /u/.config/VSCodium/User/mcp.json
        codex: /u/.codex/config.toml
        opencode: /u/.config/opencode/opencode.jsonc or /u/.config/opencode/opencode.json
        zed: /u/.config/zed/settings.json
        windsurf: /u/.codeium/windsurf/mcp_config.json
        ");
        insta::assert_snapshot!(listed(&environment, Platform::Macos), @r"
        claude-code: /u/.claude.json
        claude-desktop: /u/Library/Application Support/Claude/claude_desktop_config.json
        cursor: /u/.cursor/mcp.json
        vscode: /u/Library/Application Support/Code/User/mcp.json
        vscode-insiders: /u/Library/Application Support/Code - Insiders/User/mcp.json
        vscodium: /u/Library/Application Support/VSCodium/User/mcp.json
        codex: /u/.codex/config.toml
        opencode: /u/.config/opencode/opencode.jsonc or /u/.config/opencode/opencode.json
        zed: /u/.config/zed/settings.json
        windsurf: /u/.codeium/windsurf/mcp_config.json
        ");
    }

    #[test]
    fn variables_that_the_clients_obey_are_obeyed() {
        let environment = Environment {
            user_home: Some("/u".into()),
            config_home: Some("/x".into()),
            claude_config: Some("/claude".into()),
            codex_home: Some("/codex".into()),
            ..Environment::default()
        };
        insta::assert_snapshot!(listed(&environment, Platform::Linux), @r"
        claude-code: /claude/.claude.json
        claude-desktop: /x/Claude/claude_desktop_config.json
        cursor: /u/.cursor/mcp.json
        vscode: /x/Code/User/mcp.json
        vscode-insiders: /x/Code - Insiders/User/mcp.json
        vscodium: /x/VSCodium/User/mcp.json
        codex: /codex/config.toml
        opencode: /x/opencode/opencode.jsonc or /x/opencode/opencode.json
        zed: /x/zed/settings.json
        windsurf: /u/.codeium/windsurf/mcp_config.json
        ");
        let relative = Environment {
            user_home: Some("/u".into()),
            config_home: Some("x".into()),
            ..Environment::default()
        };
        assert!(listed(&relative, Platform::Linux).contains("zed: /u/.config/zed/settings.json"));
        assert!(Places::new(&Environment::default(), Platform::Linux).is_err());
    }

    #[test]
    fn a_project_has_its_own_file() {
        let environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let places = Places::new(&environment, Platform::Linux).unwrap();
        let project = Some(Path::new("/p"));
        let file = |id| Client::named(id).unwrap().files(&places, project).map(|files| files[0].clone());
        assert_eq!(file("claude-code").unwrap(), Path::new("/p/.mcp.json"));
        assert_eq!(file("vscodium").unwrap(), Path::new("/p/.vscode/mcp.json"));
        assert!(file("windsurf").unwrap_err().message.contains("Windsurf"));
        assert_eq!(places.shown(Path::new("/u/a b/c")), "~/a b/c");
    }

    #[test]
    fn a_name_that_is_near_is_offered() {
        let failure = Client::named("claude_code").unwrap_err();
        assert_eq!(failure.hints[0], "did you mean `claude-code`?");
        assert!(Client::named("emacs").unwrap_err().hints[0].contains("vscode"));
        let ids: std::collections::BTreeSet<_> = CLIENTS.iter().map(|client| client.id).collect();
        assert_eq!(ids.len(), CLIENTS.len());
    }
}
