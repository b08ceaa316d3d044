//! The types of the seam, generated from `wit/sandbox`.
#![expect(missing_docs, reason = "the documentation of these types is in the WIT")]

wit_bindgen::generate!({
    path: "../../wit/sandbox",
    world: "sandbox",
    additional_derives: [PartialEq],
    pub_export_macro: false,
});

pub use executor::sandbox::bridge::{Call, Level, Outcome};
pub use exports::executor::sandbox::engine::{Failure, Module, Program};
