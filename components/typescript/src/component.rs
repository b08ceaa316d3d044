//! The component: [`crate::compile`] as an export.

use crate::bindings::exports::executor::compiler::compiler::Guest;
use crate::bindings::{Diagnostic, Output, Request};

struct Component;

crate::bindings::export!(Component with_types_in crate::bindings);

impl Guest for Component {
    fn compile(request: Request) -> Result<Output, Vec<Diagnostic>> {
        crate::compile(&request)
    }
}
