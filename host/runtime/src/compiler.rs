//! Compiles TypeScript by a compiler component: `executor:compiler/compiler`.

use std::sync::Arc;

use executor_bindings::compiler::exports::executor::compiler::compiler;
use executor_bindings::compiler::{Typescript as Bindings, TypescriptPre};
use executor_telemetry::Place;
use executor_telemetry::spans::names;
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::artifact::World;
use crate::component::{Identity, LoadError, Loader, prepare_error};
use crate::fault::CallError;
use crate::guest::{self, Guest, Instantiating, Meter};
use crate::limits::Limits;
use crate::sandbox::Module;
use crate::share::Share;

/// One thing that the compiler has to say about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// `error` or `warning`.
    pub severity: String,
    /// A stable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Why a program was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The program is not TypeScript, or uses what it may not.
    #[error("{}", first(.0))]
    Diagnostics(Vec<Diagnostic>),
    /// The compiler broke on it.
    #[error(transparent)]
    Broken(#[from] CallError),
}

fn first(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(
        || "the program does not compile".into(),
        |first| format!("{}:{}:{}: {}", first.path, first.line, first.column, first.message),
    )
}

/// A compiler, ready to be instantiated.
pub struct Compiler {
    identity: Identity,
    engine: Engine,
    meter: Arc<Meter>,
    pre: TypescriptPre<Guest<()>>,
}

impl Compiler {
    pub(crate) async fn load(
        loader: &Loader,
        identity: Identity,
        bytes: Arc<[u8]>,
    ) -> Result<Self, LoadError> {
        let engine = loader.engines.pooled().clone();
        let component = loader.component(&engine, &identity, World::Compiler, bytes).await?;
        let mut linker: Linker<Guest<()>> = Linker::new(&engine);
        let pre = crate::wasi::add_to_linker(&mut linker)
            .and_then(|()| linker.instantiate_pre(&component))
            .and_then(TypescriptPre::new)
            .map_err(|source| prepare_error(&identity, source))?;
        Ok(Self { meter: Meter::new(&identity.name), identity, engine, pre })
    }

    /// The compiler: its digest is part of the key that its output is kept by.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Compiles one loose program: statements with `return`, a function, a
    /// default export, or any of them in fenced Markdown. `trace` is where its
    /// spans go.
    ///
    /// # Errors
    /// What is wrong with the program, by line; or that the compiler broke.
    pub async fn compile_loose(
        &self,
        share: &Share,
        trace: &Place,
        path: &str,
        source: &str,
    ) -> Result<Module, CompileError> {
        let request = compiler::Request {
            files: vec![compiler::File { path: path.into(), source: source.into() }],
            entries: vec![path.into()],
            allowed_imports: Vec::new(),
            loose: true,
            options: None,
        };
        let output = self.compile(share, trace, &request).await?.map_err(diagnostics)?;
        let module = output.modules.into_iter().next();
        let module = module.ok_or_else(|| CompileError::Diagnostics(Vec::new()))?;
        Ok(Module { specifier: module.specifier, source: module.source, source_map: module.source_map })
    }

    async fn compile(
        &self,
        share: &Share,
        trace: &Place,
        request: &compiler::Request,
    ) -> Result<Result<compiler::Output, Vec<compiler::Diagnostic>>, CallError> {
        let place = share.adapter(trace).await;
        let limits = Limits::compiler();
        let mut store = guest::store(&self.engine, &limits, &self.meter, ());
        let (result, _) = guest::call(&self.identity.name, &limits, None, &mut store, async |store| {
            let making = Instantiating::begin(&self.meter, trace);
            let instance: Bindings = self.pre.instantiate_async(&mut *store).await?;
            making.done();
            let _span = trace.span(names::COMPILE);
            instance.executor_compiler_compiler().call_compile(&mut *store, request).await
        })
        .await;
        guest::retire(store, place);
        result
    }
}

fn diagnostics(found: Vec<compiler::Diagnostic>) -> CompileError {
    let found = found.into_iter().map(|diagnostic| Diagnostic {
        path: diagnostic.path,
        line: diagnostic.start.line,
        column: diagnostic.start.column,
        severity: diagnostic.severity,
        code: diagnostic.code,
        message: diagnostic.message,
        help: diagnostic.help,
    });
    CompileError::Diagnostics(found.collect())
}
