//! What a component file is, read from its bytes before anything is run.

use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use crate::limits::COMPONENT_BYTES;

/// The worlds that this host knows, by the interface that tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// `executor:adapter/source-adapter`: exports `source`.
    SourceAdapter,
    /// `executor:sandbox/sandbox`: exports `engine`.
    Sandbox,
    /// `executor:compiler/typescript`: exports `compiler`.
    Compiler,
}

impl World {
    /// The name that people see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceAdapter => "source-adapter",
            Self::Sandbox => "sandbox",
            Self::Compiler => "compiler",
        }
    }

    const ALL: [(&'static str, Self); 3] = [
        ("executor:adapter/source@0.1", Self::SourceAdapter),
        ("executor:sandbox/engine@0.1", Self::Sandbox),
        ("executor:compiler/compiler@0.1", Self::Compiler),
    ];
}

/// A component's face.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The world it is of.
    pub world: World,
    /// Names of what it imports, with versions.
    pub imports: Vec<String>,
    /// Names of what it exports, with versions.
    pub exports: Vec<String>,
}

/// Why a file is not taken as a component.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// No WebAssembly at all.
    #[error("this is not WebAssembly: it begins with {found}")]
    NotWasm {
        /// What stands at its beginning, escaped.
        found: String,
    },
    /// A module where a component is wanted.
    #[error("this is a core WebAssembly module, not a component")]
    CoreModule,
    /// WebAssembly that does not hold together.
    #[error("this component is damaged: {reason} (at byte {offset})")]
    Invalid {
        /// What the validator found.
        reason: String,
        /// Where.
        offset: usize,
    },
    /// A component that exports nothing that this host calls.
    #[error("this component is of no world that is known here: it exports {}", list(.exports))]
    UnknownWorld {
        /// What it does export.
        exports: Vec<String>,
    },
    /// It wants an interface that no grant can give.
    #[error("this component imports {import}, which this host does not offer")]
    UnknownImport {
        /// The import's name.
        import: String,
    },
    /// Larger than is taken.
    #[error("this component has {bytes} bytes; at most {COMPONENT_BYTES} are taken")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}

impl ArtifactError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotWasm { .. } => {
                "give the .wasm file that the build wrote, not its source or a page about it"
            }
            Self::CoreModule => {
                "build it for wasm32-wasip2, or turn the module into a component with `wasm-tools component new`"
            }
            Self::Invalid { .. } => "build or download the file again",
            Self::UnknownWorld { .. } => {
                "it must export executor:adapter/source@0.1.x, executor:sandbox/engine@0.1.x or executor:compiler/compiler@0.1.x; see wit/"
            }
            Self::UnknownImport { .. } => "build it against the interfaces in wit/ and WASI 0.2 alone",
            Self::TooLarge { .. } => "strip debug information (`strip = true` in the profile)",
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

/// Reads a component's face and checks that it is whole.
///
/// # Errors
/// Says what the file is instead, or what is wrong with it.
pub fn inspect(bytes: &[u8]) -> Result<Artifact, ArtifactError> {
    if bytes.len() > COMPONENT_BYTES {
        return Err(ArtifactError::TooLarge { bytes: bytes.len() });
    }
    if !bytes.starts_with(b"\0asm") {
        return Err(ArtifactError::NotWasm { found: beginning(bytes) });
    }
    if !Parser::is_component(bytes) {
        return Err(ArtifactError::CoreModule);
    }
    Validator::new_with_features(WasmFeatures::default()).validate_all(bytes).map_err(invalid)?;
    let (imports, exports) = face(bytes)?;
    let world = World::ALL
        .iter()
        .find(|(interface, _)| exports.iter().any(|name| name.starts_with(interface)))
        .map(|(_, world)| *world)
        .ok_or_else(|| ArtifactError::UnknownWorld { exports: exports.clone() })?;
    match imports.iter().find(|import| !is_offered(world, import)) {
        Some(import) => Err(ArtifactError::UnknownImport { import: import.clone() }),
        None => Ok(Artifact { world, imports, exports }),
    }
}

/// Names at the component's outermost level.
fn face(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), ArtifactError> {
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::Version { encoding: Encoding::Component, .. } => depth += 1,
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

fn is_offered(world: World, import: &str) -> bool {
    let seam = match world {
        World::SourceAdapter => "executor:adapter/",
        World::Sandbox => "executor:sandbox/bridge@",
        World::Compiler => "executor:compiler/",
    };
    import.starts_with(seam) || import.starts_with("wasi:")
}

fn invalid(error: wasmparser::BinaryReaderError) -> ArtifactError {
    ArtifactError::Invalid { reason: error.message().to_owned(), offset: error.offset() }
}

fn beginning(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing: the file is empty".into();
    }
    let head = &bytes[..bytes.len().min(24)];
    format!("\"{}\"", head.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expect: &str) {
        let error = inspect(bytes).expect_err("this is no component of a known world");
        assert_eq!(error.to_string(), expect);
        assert!(!error.hint().is_empty());
    }

    #[test]
    fn says_what_a_file_is_instead() {
        check(b"", "this is not WebAssembly: it begins with nothing: the file is empty");
        check(b"<!doctype html>", "this is not WebAssembly: it begins with \"<!doctype html>\"");
        check(b"\0asm\x01\0\0\0", "this is a core WebAssembly module, not a component");
        check(b"\0asm\x0d\0\x01\0", "this component is of no world that is known here: it exports nothing");
    }

    #[test]
    fn a_truncated_component_is_damaged() {
        let error = inspect(b"\0asm\x0d\0\x01\0\x07\xff").expect_err("truncated");
        assert!(matches!(error, ArtifactError::Invalid { .. }), "{error}");
    }
}
