//! `executor:adapter/session`: what an adapter remembers between calls of one
//! connection. It may be lost at any time; losing it costs time alone.

use executor_bindings::adapter::executor::adapter::session;

use super::AdapterSeam;
use crate::guest::Guest;

/// Bytes of a key and of a value; what is larger is not kept.
const KEY_BYTES: usize = 1_024;
const VALUE_BYTES: usize = 256 * 1024;

impl session::Host for Guest<AdapterSeam> {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        let context = &self.seam.context;
        Ok(context.cache.get(&context.session, key.as_bytes()))
    }

    async fn swap(
        &mut self,
        key: String,
        expected: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
    ) -> wasmtime::Result<bool> {
        let fits = key.len() <= KEY_BYTES && value.as_ref().is_none_or(|value| value.len() <= VALUE_BYTES);
        let context = &self.seam.context;
        Ok(fits
            && context.cache.swap(&context.session, key.as_bytes(), expected.as_deref(), value.as_deref()))
    }
}
