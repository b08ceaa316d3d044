//! What a dump of the guest's memory would show.

use serde_json::{Value, json};

use crate::context::Context;
use crate::requests;

/// What the answer of a request has to hold, backwards.
const DELIVERED: &str = "DEREVILED";

/// Makes a request whose answer echoes what was sent, then counts how often
/// `needle` stands in memory, and how often what the answer holds besides,
/// which shows that the search finds what is there. Both are given backwards,
/// so that to look for one is not to have it.
pub(crate) fn search(context: &Context) -> Vec<Value> {
    let answer = requests::get(context);
    let needle = context.arguments["needle"].as_str().unwrap_or_default();
    vec![json!({ "found": count(needle), "delivered": count(DELIVERED), "answer": answer })]
}

fn count(backwards: &str) -> usize {
    let backwards = backwards.as_bytes();
    let end = size();
    let is_at = |place: &usize| {
        backwards.iter().rev().enumerate().all(|(offset, byte)| peek(place + offset) == *byte)
    };
    (8..end.saturating_sub(backwards.len())).filter(is_at).count()
}

#[cfg(target_arch = "wasm32")]
fn size() -> usize {
    core::arch::wasm32::memory_size(0) * 65_536
}

/// The guest runs as WebAssembly alone; elsewhere it is only checked.
#[cfg(not(target_arch = "wasm32"))]
fn size() -> usize {
    0
}

fn peek(place: usize) -> u8 {
    // SAFETY: `count` keeps within the linear memory, all of which a guest may
    // read; the read is volatile, so that nothing is assumed of it.
    unsafe { core::ptr::read_volatile(place as *const u8) }
}
