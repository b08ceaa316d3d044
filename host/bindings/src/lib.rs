//! The Rust side of `wit/`, generated and nothing else.
//!
//! A crate of its own so that an edit of the host does not expand the
//! bindings again. Imports are asynchronous and may trap; exports are called
//! asynchronously; guests see plain functions.

/// `executor:adapter`, the seam of source adapters: everything that this host
/// links, and the export that every adapter has.
#[expect(missing_docs, reason = "generated code")]
pub mod adapter {
    wasmtime::component::bindgen!({
        path: "../../wit/adapter",
        inline: "
            package executor:host;
            world source-adapter {
                include executor:adapter/stdio-source-adapter@0.1.0;
                import executor:adapter/source-events@0.1.0;
            }
        ",
        world: "executor:host/source-adapter",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

/// The export of adapters that listen, which is looked for at load.
pub mod watch {
    wasmtime::component::bindgen!({
        path: "../../wit/adapter",
        inline: "
            package executor:host;
            world watching {
                export executor:adapter/watch@0.1.0;
            }
        ",
        world: "executor:host/watching",
        exports: { default: async },
        with: { "executor:adapter/types": crate::adapter::executor::adapter::types },
    });
}

/// `executor:sandbox`, the seam of JavaScript engines.
pub mod sandbox {
    wasmtime::component::bindgen!({
        path: "../../wit/sandbox",
        world: "sandbox",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

/// `executor:compiler`, the seam of compilers to JavaScript.
pub mod compiler {
    wasmtime::component::bindgen!({
        path: "../../wit/compiler",
        world: "typescript",
        exports: { default: async },
    });
}
