//! What a program may make the engine hold or say at once.

/// Stack that JavaScript may use before it sees a `RangeError`; about 1,400
/// plain calls. QuickJS counts the shadow stack in linear memory, which
/// `build.rs` sizes. The WebAssembly stack beside it grows several times as
/// fast: a host's `max_wasm_stack` of 2 MiB is enough for recursion of every
/// form, and 8 MiB for `JSON` and `eval` of nested text as well; with less
/// they trap.
pub const STACK_BYTES: usize = 384 * 1024;

/// Heap at which the first collection of cycles runs. Above what a snapshot
/// holds, so that a short program never pays for one.
pub const GC_THRESHOLD_BYTES: usize = 8 * 1024 * 1024;

/// A result, or one `emit`, as JSON.
pub const RESULT_BYTES: usize = 8 * 1024 * 1024;

/// The arguments of one call, as JSON.
pub const ARGUMENTS_BYTES: usize = 16 * 1024 * 1024;

/// Levels of a value turned into JSON; what reads it elsewhere stops at 128.
pub const JSON_DEPTH: usize = 100;

/// One line of the log.
pub const LOG_LINE_BYTES: usize = 64 * 1024;

/// Levels of an object shown in the log.
pub const INSPECT_DEPTH: usize = 6;

/// Entries of one object, array or map shown in the log.
pub const INSPECT_ENTRIES: usize = 200;

/// Lines kept while modules load, when there is no log to write to.
pub const LOAD_LOG_LINES: usize = 100;

/// Random bytes taken from the host at once.
pub const RANDOM_BYTES: usize = 65_536;

/// Frames and causes named in a failure.
pub const STACK_FRAMES: usize = 30;
/// Errors followed from one to its `cause`.
pub const CAUSES: usize = 5;

/// A failure's message, and the JSON of the fields of a thrown error.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// A source map that is read at all.
pub const SOURCE_MAP_BYTES: usize = 32 * 1024 * 1024;
