//! Compiled programs, kept by content.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use executor_runtime::{CompileError, Diagnostic, Module};
use executor_store::Digest;
use executor_telemetry::Place;
use executor_telemetry::metrics::metrics;
use lru::LruCache;
use serde_json::json;

use crate::executions::ExecutionError;
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// Programs that stay in memory.
const PROGRAMS: NonZeroUsize = NonZeroUsize::new(128).expect("not zero");

/// Bytes of one program.
const PROGRAM_BYTES: usize = 1024 * 1024;

/// Larger ones are compiled each time, so that the cache stays small.
const KEPT_BYTES: usize = 64 * 1024;

pub(crate) struct Programs(Mutex<LruCache<Digest, Arc<Module>>>);

impl Default for Programs {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(PROGRAMS)))
    }
}

/// Why a program does not run.
pub(crate) enum ProgramError {
    /// It is wrong: the execution fails, by its author's fault.
    Author(ExecutionError),
    /// It could not be tried.
    Problem(Problem),
}

impl Workspace {
    /// Compiles a program, or takes it from the cache.
    pub(crate) async fn program(
        &self,
        trace: &Place,
        name: &str,
        code: &str,
    ) -> Result<Arc<Module>, ProgramError> {
        if code.len() > PROGRAM_BYTES {
            return Err(ProgramError::Problem(Problem::new(
                ProblemKind::Unprocessable,
                "code-too-large",
                format!("the code has {} bytes; at most {PROGRAM_BYTES} are taken", code.len()),
            )));
        }
        let compiler = self.compiler().await.map_err(ProgramError::Problem)?;
        let key = Digest::of(format!("{}\0{name}\0{code}", compiler.identity().digest).as_bytes());
        if let Some(module) = self.programs.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            metrics().control.program_kept();
            return Ok(module.clone());
        }
        let begun = Instant::now();
        let compiled = compiler.compile_loose(&self.share, trace, name, code).await;
        metrics().control.program_compiled(begun.elapsed());
        let module = match compiled {
            Ok(module) => Arc::new(module),
            Err(CompileError::Diagnostics(found)) => {
                return Err(ProgramError::Author(syntax_error(&found)));
            }
            Err(CompileError::Broken(error)) => {
                let problem = Problem::from(error);
                return Err(ProgramError::Author(ExecutionError {
                    code: problem.code,
                    message: format!("the program is too much for the compiler: {}", problem.message),
                    hint: Some("split it, or nest it less deeply".into()),
                    ..ExecutionError::default()
                }));
            }
        };
        if module.source.len() <= KEPT_BYTES {
            self.programs.0.lock().unwrap_or_else(PoisonError::into_inner).put(key, module.clone());
        }
        Ok(module)
    }
}

fn syntax_error(found: &[Diagnostic]) -> ExecutionError {
    let first = found.first();
    let all = found.iter().take(20).map(|diagnostic| {
        json!({
            "path": diagnostic.path, "line": diagnostic.line, "column": diagnostic.column,
            "code": diagnostic.code, "message": diagnostic.message, "help": diagnostic.help,
        })
    });
    ExecutionError {
        code: "syntax".into(),
        message: first.map_or_else(
            || "the program does not compile".into(),
            |first| format!("{}:{}:{}: {}", first.path, first.line, first.column, first.message),
        ),
        hint: first.and_then(|first| first.help.clone()),
        line: first.map(|first| first.line),
        details: Some(json!({ "diagnostics": all.collect::<Vec<_>>() })),
        ..ExecutionError::default()
    }
}
