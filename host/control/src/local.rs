//! Sources that are programs of this machine: by whose word they are run, how
//! they become tools, and which process a call speaks to.

use std::sync::Arc;
use std::time::Instant;

use executor_runtime::{AdapterContext, Indexed, Local, LocalProgram, Progress, Secret};
use executor_store::{
    AuthMethodRow, ComponentRow, ConnectionName, ConnectionRow, SourceName, SourceRow, Staged,
};
use serde_json::json;

use crate::caller::Caller;
use crate::commands::{CommandInput, CommandView, ENVIRONMENT};
use crate::connections::{AddConnection, DEFAULT};
use crate::listening::Listened;
use crate::once::Once;
use crate::problem::{Problem, ProblemKind};
use crate::sources::{AddSource, ProgressSink, SourceAdded, report};
use crate::trust::take_back;
use crate::workspace::Workspace;

/// The kind of source that a program is where nothing is said.
const USUAL_KIND: &str = "mcp";
/// What its adapter is told.
const CONFIG: &str = r#"{"transport":"stdio"}"#;
/// The import of adapters that can speak to a program.
const STDIO: &str = "executor:adapter/stdio@";

impl Workspace {
    /// Adds a source that is a program of this machine: runs it, and makes
    /// tools of what it answers.
    pub(crate) async fn add_command(
        &self,
        caller: &Caller,
        request: AddSource,
        input: CommandInput,
        once: Option<Once>,
        progress: ProgressSink,
    ) -> Result<SourceAdded, Problem> {
        let begun = Instant::now();
        self.expect_may_run_programs(caller)?;
        if request.url.is_some() || request.document.is_some() {
            return Err(Problem::invalid("a source is made from a URL, a document or a command: give one")
                .hint("what the program is to open is one of its own arguments, after `--`"));
        }
        if !request.allow_hosts.is_empty() || !request.allow_origins.is_empty() {
            return Err(Problem::invalid(
                "a local program opens its own connections: nothing is allowed to it",
            )
            .hint("leave out allow_hosts and allow_origins (--allow-host, --allow-origin)"));
        }
        let command = CommandView::checked(input, &request.environment)?;
        let component = self.stdio_component(request.kind.as_deref())?;
        let name = match &request.name {
            Some(name) => self.free_name(name)?,
            None => self.name_for(&command.proposal())?,
        };
        let settings = json!(request.settings).to_string();
        let mut row = self.command_row(&name, &component, &command, settings, request.trusted);
        let values =
            request.environment.iter().map(|(name, value)| (name.clone(), Secret::new(value.clone())));
        let connection = if request.environment.is_empty() { "" } else { DEFAULT };
        let local = self.local_of(&name, connection, command.with(values.collect()));
        let key = local.key.clone();
        report(&progress, 0, None, "starting the program");
        let indexed = match self.index_local(&component, &row, connection, local, progress).await {
            Ok(indexed) => indexed,
            Err(problem) => {
                self.shared.runtime.processes().end(&key);
                return Err(problem);
            }
        };
        describe(&mut row, &indexed);
        let what = json!({
            "source": name.to_string(), "kind": row.kind, "command": command, "tools": row.tool_count,
        });
        let connection = AddConnection {
            source: name.to_string(),
            name: None,
            methods: Some(vec![ENVIRONMENT.into()]),
            variables: request.environment,
        };
        let (adding, caller, staged) = (row.clone(), caller.clone(), indexed.staged);
        self.finish(|workspace| async move {
            workspace.put_source(&caller, "source.add", adding, staged, once, what).await?;
            if !connection.variables.is_empty() {
                workspace.add_connection(&caller, connection, None).await?;
            }
            Ok::<_, Problem>(())
        })
        .await?;
        if self.adapter(&component.name).await?.watches() {
            self.listen(Listened::of_index(&row, self.usual_connection(&name)?));
        }
        Ok(SourceAdded {
            source: self.source(name.as_str())?,
            elapsed_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            notes: Vec::new(),
            next: vec![format!("executor tools search --source {name} WORDS")],
        })
    }

    /// A program does here what the daemon's own user may do, so that whoever
    /// names one runs the installation, and is asked as a person.
    fn expect_may_run_programs(&self, caller: &Caller) -> Result<(), Problem> {
        self.shared.expect_runs_installation(caller)?;
        caller.expect_person()
    }

    /// The adapter of a program: of the kind that was named, else the usual
    /// one, else the only one that can speak to programs.
    fn stdio_component(&self, kind: Option<&str>) -> Result<ComponentRow, Problem> {
        let speaks = |row: &ComponentRow| row.imports.iter().any(|import| import.starts_with(STDIO));
        let mut able: Vec<ComponentRow> =
            self.store.components()?.into_iter().filter(|row| row.kind.is_some() && speaks(row)).collect();
        let kinds: Vec<String> = able.iter().filter_map(|row| row.kind.clone()).collect();
        let wanted = kind.unwrap_or(USUAL_KIND);
        let place = kinds.iter().position(|known| known == wanted);
        match (place, kind, kinds.as_slice()) {
            (Some(place), _, _) => Ok(able.swap_remove(place)),
            (None, None, [_]) => Ok(able.swap_remove(0)),
            (None, _, []) => Err(Problem::invalid("no adapter here speaks to local programs")
                .hint("`executor component add FILE.wasm` adds one that imports executor:adapter/stdio")),
            (None, Some(kind), kinds) => {
                Err(Problem::invalid(format!("{kind:?} is no kind of source that a local program can be"))
                    .hint(format!("there is: {}", kinds.join(", "))))
            }
            (None, None, kinds) => Err(Problem::invalid("several adapters speak to local programs")
                .hint(format!("choose with --kind: {}", kinds.join(", ")))),
        }
    }

    fn command_row(
        &self,
        name: &SourceName,
        component: &ComponentRow,
        command: &CommandView,
        settings: String,
        trusted: bool,
    ) -> SourceRow {
        let now_ms = self.shared.now_ms();
        SourceRow {
            name: name.clone(),
            kind: component.kind.clone().unwrap_or_default(),
            adapter: component.name.clone(),
            adapter_digest: component.digest,
            title: name.to_string(),
            version: None,
            config: CONFIG.into(),
            settings,
            document: None,
            files: Vec::new(),
            document_url: None,
            media_type: None,
            origins: Vec::new(),
            allowed_hosts: Vec::new(),
            trusted,
            tool_count: 0,
            warning_count: 0,
            meta: "{}".into(),
            command: Some(json!(command).to_string()),
            created_ms: now_ms,
            refreshed_ms: now_ms,
        }
    }

    /// Asks a source's program for its tools, with a connection's values.
    pub(crate) async fn index_command(
        &self,
        source: &SourceRow,
        connection: Option<&ConnectionRow>,
        progress: ProgressSink,
    ) -> Result<(ComponentRow, Indexed), Problem> {
        let component = self.store.component(&source.adapter)?;
        let component = component.ok_or_else(|| Problem::not_found("component", &source.adapter))?;
        let local = self.local(source, connection)?;
        let local = local.ok_or_else(|| Problem::internal("a source without a command has no program"))?;
        let name = connection.map_or("", |row| row.name.as_str());
        let indexed = self.index_local(&component, source, name, local, progress).await?;
        if self.adapter(&component.name).await?.watches() {
            self.listen(Listened::of_index(source, connection.cloned()));
        }
        Ok((component, indexed))
    }

    /// The connection that a source's program is asked with.
    pub(crate) fn usual_connection(&self, source: &SourceName) -> Result<Option<ConnectionRow>, Problem> {
        let mut connections = self.store.connections(Some(source))?;
        let usual = connections.iter().position(|row| row.name.as_str() == source.as_str());
        let usual = usual.or_else(|| connections.iter().position(|row| row.name.as_str() == DEFAULT));
        Ok((!connections.is_empty()).then(|| connections.swap_remove(usual.unwrap_or(0))))
    }

    async fn index_local(
        &self,
        component: &ComponentRow,
        source: &SourceRow,
        connection: &str,
        local: Local,
        progress: ProgressSink,
    ) -> Result<Indexed, Problem> {
        let adapter = self.adapter(&component.name).await?;
        let sink: Progress = Arc::new(move |done, total, what| report(&progress, done, total, what));
        let context = AdapterContext {
            session: format!("{}/{connection}", self.pool(&source.name)),
            local: Some(local),
            progress: Some(sink),
            ..self.no_reach()
        };
        let (config, settings) = (source.config.clone(), source.settings.clone());
        let mut indexed = adapter.index(&self.share, context, config, settings, None, None).await?;
        let method = CommandView::of(source)?.and_then(|command| command.auth_method());
        of_program(&mut indexed.staged, method, source.trusted);
        Ok(indexed)
    }

    /// The program that a call may speak to, with its connection's values;
    /// none for a source that is not one.
    pub(crate) fn local(
        &self,
        source: &SourceRow,
        connection: Option<&ConnectionRow>,
    ) -> Result<Option<Local>, Problem> {
        let Some(command) = CommandView::of(source)? else {
            return Ok(None);
        };
        let value = |name: &String| {
            let missing = |code, message: String| {
                Problem::new(ProblemKind::Unprocessable, code, message)
                    .hint(format!("`executor connections add {} --set {name}=-` gives it", source.name))
            };
            let row = connection.ok_or_else(|| {
                missing("binding", format!("{} needs a connection, which gives {name}", source.name))
            })?;
            let incomplete =
                || missing("connection-incomplete", format!("{} has no value for {name}", row.name));
            let (_, id) = row.variables.iter().find(|(known, _)| known == name).ok_or_else(incomplete)?;
            let secret = self.shared.installation.secret(&self.name, id)?.ok_or_else(incomplete)?;
            let value = String::from_utf8(secret.bytes().to_vec()).map_err(|_| incomplete())?;
            Ok((name.clone(), Secret::new(value)))
        };
        let values = command.environment.iter().map(value).collect::<Result<_, Problem>>()?;
        let connection = connection.map_or("", |row| row.name.as_str());
        Ok(Some(self.local_of(&source.name, connection, command.with(values))))
    }

    fn local_of(&self, source: &SourceName, connection: &str, program: LocalProgram) -> Local {
        Local { key: self.process_key(source, connection), program, counts: true }
    }

    /// Whose process it is.
    fn process_key(&self, source: &SourceName, connection: &str) -> String {
        format!("{}/{connection}/", self.pool(source))
    }

    /// Ends the watch and the process of one connection, or those of a whole
    /// source.
    pub(crate) fn end_use(&self, source: &SourceName, connection: Option<&ConnectionName>) {
        self.listening.end(source, connection);
        let prefix = match connection {
            Some(connection) => self.process_key(source, connection.as_str()),
            None => format!("{}/", self.pool(source)),
        };
        self.shared.runtime.processes().end(&prefix);
    }
}

/// What an index says of its source.
fn describe(row: &mut SourceRow, indexed: &Indexed) {
    row.title = indexed.title.clone().unwrap_or_else(|| row.name.to_string());
    row.version.clone_from(&indexed.version);
    row.tool_count = indexed.staged.tools.len() as u64;
    row.warning_count = indexed.staged.warnings.len() as u64;
    row.meta = indexed.meta.clone().unwrap_or_else(|| "{}".into());
}

/// What a program's adapter staged, with the host's own way to give it values.
/// Its word alone says what a tool of it does, since nothing like a method
/// holds a read to being one: it counts where the person said so.
fn of_program(staged: &mut Staged, method: Option<AuthMethodRow>, trusted: bool) {
    staged.auth_methods.retain(|known| known.id != ENVIRONMENT);
    if let Some(method) = method {
        staged.auth_methods.insert(0, method);
    }
    if !trusted {
        take_back(staged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn hints_of_a_program_count_where_it_is_trusted() {
        let environment = BTreeMap::from([("KEY".to_owned(), "v".to_owned())]);
        let input = CommandInput { program: "server".into(), args: Vec::new(), directory: None };
        let command = CommandView::checked(input, &environment).unwrap();
        let method = command.auth_method().unwrap();
        assert!(!json!(command).to_string().contains("\"v\""), "values are kept elsewhere");
        let theirs = |id: &str| AuthMethodRow { id: id.into(), ..method.clone() };
        let staged =
            || Staged { auth_methods: vec![theirs("bearer"), theirs(ENVIRONMENT)], ..Staged::default() };
        let mut ours = staged();
        of_program(&mut ours, Some(method.clone()), true);
        let ids: Vec<&str> = ours.auth_methods.iter().map(|method| method.id.as_str()).collect();
        assert_eq!(ids, [ENVIRONMENT, "bearer"]);
        let mut none = staged();
        of_program(&mut none, None, true);
        assert_eq!(none.auth_methods.len(), 1, "nobody else makes such a method");
    }
}
