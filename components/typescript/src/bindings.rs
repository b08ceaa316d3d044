//! The types of the seam, generated from `wit/compiler`.
#![expect(missing_docs, reason = "the documentation of these types is in the WIT")]

wit_bindgen::generate!({
    path: "../../wit/compiler",
    world: "typescript",
    additional_derives: [PartialEq],
    pub_export_macro: false,
});

pub use exports::executor::compiler::compiler::{Diagnostic, File, Module, Output, Position, Request};
