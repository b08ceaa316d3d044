//! The Rust side of `wit/`, generated and nothing else.
//!
//! A crate of its own so that an edit of the host does not expand the
//! bindings again. Imports are asynchronous and may trap; exports are called
//! asynchronously; guests see plain functions.

/// `executor:adapter`, the seam of source adapters.
#[expect(missing_docs, reason = "generated code")]
pub mod adapter {
    wasmtime::component::bindgen!({
        path: "../../wit/adapter",
        world: "source-adapter",
        imports: { default: async | trappable },
        exports: { default: async },
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
