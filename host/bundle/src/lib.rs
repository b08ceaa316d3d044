//! The first-party components' bytes, embedded: what a fresh home can do
//! without a download. They come into a workspace by the same door as
//! anybody's.

/// A component that comes with the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name it goes by.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

/// The JavaScript engine, components/quickjs.
pub const QUICKJS: Bundled =
    Bundled { name: "quickjs", bytes: include_bytes!(env!("EXECUTOR_COMPONENT_QUICKJS")) };

/// The TypeScript compiler, components/typescript.
pub const TYPESCRIPT: Bundled =
    Bundled { name: "typescript", bytes: include_bytes!(env!("EXECUTOR_COMPONENT_TYPESCRIPT")) };

/// The OpenAPI adapter, plugins/openapi.
pub const OPENAPI: Bundled =
    Bundled { name: "openapi", bytes: include_bytes!(env!("EXECUTOR_COMPONENT_OPENAPI")) };

/// All of them.
pub const ALL: [Bundled; 3] = [OPENAPI, QUICKJS, TYPESCRIPT];
