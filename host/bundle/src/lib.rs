//! The first-party components' bytes, embedded: what a fresh home can do
//! without a download. They come into a workspace by the same door as
//! anybody's.

/// A component that comes with the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name it goes by.
    pub name: &'static str,
    /// Whether its reads may POST, since its kind of API reads by POST.
    pub reads_by_post: bool,
    /// Its bytes.
    pub bytes: &'static [u8],
}

/// The JavaScript engine, components/quickjs.
pub const QUICKJS: Bundled = Bundled {
    name: "quickjs",
    reads_by_post: false,
    bytes: include_bytes!(env!("EXECUTOR_COMPONENT_QUICKJS")),
};

/// The TypeScript compiler, components/typescript.
pub const TYPESCRIPT: Bundled = Bundled {
    name: "typescript",
    reads_by_post: false,
    bytes: include_bytes!(env!("EXECUTOR_COMPONENT_TYPESCRIPT")),
};

/// The OpenAPI adapter, plugins/openapi.
pub const OPENAPI: Bundled = Bundled {
    name: "openapi",
    reads_by_post: false,
    bytes: include_bytes!(env!("EXECUTOR_COMPONENT_OPENAPI")),
};

/// The MCP adapter, plugins/mcp.
pub const MCP: Bundled =
    Bundled { name: "mcp", reads_by_post: true, bytes: include_bytes!(env!("EXECUTOR_COMPONENT_MCP")) };

/// The source adapters.
pub const ADAPTERS: [Bundled; 2] = [MCP, OPENAPI];

/// All of them.
pub const ALL: [Bundled; 4] = [MCP, OPENAPI, QUICKJS, TYPESCRIPT];
