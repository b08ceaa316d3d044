//! JSON-RPC 2.0, as servers really write it.

mod message;
mod request;

pub(crate) use message::{Message, RpcError, id_text, parse};
pub(crate) use request::{Params, Request, answer, fresh_id, notification, refusal};
