//! What a request may hold. Going over one is a diagnostic.

/// One file.
pub const FILE_BYTES: usize = 4 * 1024 * 1024;

/// Files in one request, and bytes in all of them.
pub const FILES: usize = 1024;
/// See [`FILES`].
pub const TOTAL_BYTES: usize = 16 * 1024 * 1024;

/// Brackets open at once, outside strings and comments. The parser descends
/// into each; what its stack holds was measured at a little more than this.
pub const NESTING: usize = 2_000;

/// Diagnostics given for one request.
pub const DIAGNOSTICS: usize = 50;

/// Names looked through for a similar one.
pub const SUGGESTIONS: usize = 1_000;
