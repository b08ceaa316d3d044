//! What an object really is, whatever its prototype or tags claim.

use rquickjs::{Ctx, Value, qjs};

/// The classes that have a meaning of their own as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Array,
    Map,
    Set,
    Date,
    RegExp,
    Error,
    Promise,
    /// An `ArrayBuffer`.
    Buffer,
    /// A typed array of bytes.
    Bytes,
    /// Any other typed array.
    Numbers,
    View,
    /// Weak collections and references, and proxies.
    Opaque,
    Object,
}

impl Kind {
    /// The kind of an object that is not a function.
    pub(crate) fn of(value: &Value<'_>) -> Self {
        if value.is_array() {
            return Self::Array;
        }
        if value.is_error() {
            return Self::Error;
        }
        if value.is_promise() {
            return Self::Promise;
        }
        if value.is_proxy() {
            return Self::Opaque;
        }
        let raw = value.as_raw();
        // SAFETY: each of these only reads the class of a value that is alive.
        unsafe {
            match qjs::JS_GetTypedArrayType(raw) {
                0..=2 => return Self::Bytes,
                3.. => return Self::Numbers,
                _ => {}
            }
            if qjs::JS_IsMap(raw) {
                Self::Map
            } else if qjs::JS_IsSet(raw) {
                Self::Set
            } else if qjs::JS_IsDate(raw) {
                Self::Date
            } else if qjs::JS_IsRegExp(raw) {
                Self::RegExp
            } else if qjs::JS_IsArrayBuffer(raw) {
                Self::Buffer
            } else if qjs::JS_IsDataView(raw) {
                Self::View
            } else if qjs::JS_IsWeakMap(raw) || qjs::JS_IsWeakSet(raw) || qjs::JS_IsWeakRef(raw) {
                Self::Opaque
            } else {
                Self::Object
            }
        }
    }

    /// The name that the prelude's structuredClone goes by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Map => "map",
            Self::Set => "set",
            Self::Date => "date",
            Self::RegExp => "regexp",
            Self::Error => "error",
            Self::Buffer => "buffer",
            Self::Bytes | Self::Numbers => "typed",
            Self::View => "view",
            Self::Promise | Self::Opaque => "opaque",
            Self::Object => "object",
        }
    }
}

/// The bytes of a buffer, typed array or view, copied; None where detached.
pub(crate) fn bytes(value: &Value<'_>, kind: Kind) -> Option<Vec<u8>> {
    match kind {
        Kind::Buffer => {
            let buffer = rquickjs::ArrayBuffer::from_value(value.clone())?;
            // SAFETY: copied before anything else runs.
            unsafe { buffer.as_bytes() }.map(<[u8]>::to_vec)
        }
        Kind::Bytes | Kind::Numbers => typed_bytes(value),
        Kind::View => {
            // A view has no accessor of its own in the engine's interface; its
            // properties are getters of the prototype, asked as JavaScript would.
            let object = value.as_object()?;
            let buffer: rquickjs::ArrayBuffer<'_> = object.get("buffer").ok()?;
            let offset: usize = object.get("byteOffset").ok()?;
            let length: usize = object.get("byteLength").ok()?;
            // SAFETY: copied before anything else runs.
            let bytes = unsafe { buffer.as_bytes() }?;
            bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
        }
        _ => None,
    }
}

fn typed_bytes(value: &Value<'_>) -> Option<Vec<u8>> {
    let (mut offset, mut length) = (0, 0);
    // SAFETY: the value is a live typed array of this context, and the
    // outputs are valid; the buffer that comes back is owned here.
    let buffer = unsafe {
        let raw = qjs::JS_GetTypedArrayBuffer(
            value.ctx().as_raw().as_ptr(),
            value.as_raw(),
            &raw mut offset,
            &raw mut length,
            std::ptr::null_mut(),
        );
        Value::from_raw(value.ctx().clone(), raw)
    };
    if buffer.is_exception() {
        value.ctx().catch();
        return None;
    }
    let buffer = rquickjs::ArrayBuffer::from_value(buffer)?;
    let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
    // SAFETY: copied before anything else runs.
    let bytes = unsafe { buffer.as_bytes() }?;
    bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
}

/// UTF-16 units of a string, without copying it.
pub(crate) fn string_units(ctx: &Ctx<'_>, value: &Value<'_>) -> usize {
    let mut length = 0_i64;
    // SAFETY: a string's `length` is its own and runs no code.
    let status = unsafe { qjs::JS_GetLength(ctx.as_raw().as_ptr(), value.as_raw(), &raw mut length) };
    if status < 0 {
        ctx.catch();
        return 0;
    }
    usize::try_from(length).unwrap_or(0)
}

/// Says that a promise's outcome will be looked at, so that its rejection is
/// nobody else's concern.
pub(crate) fn mark_handled(promise: &rquickjs::Promise<'_>) {
    // SAFETY: the promise is alive and of this context.
    unsafe { qjs::JS_PromiseMarkAsHandled(promise.ctx().as_raw().as_ptr(), promise.as_raw()) };
}

/// Where an object lives, to know it again while it is alive.
pub(crate) fn address(value: &Value<'_>) -> usize {
    // SAFETY: only the bits of the value are read.
    unsafe { qjs::JS_VALUE_GET_PTR(value.as_raw()) as usize }
}
