//! Gives memory back after work that needed much of it.

/// Returns what the allocator keeps of freed memory to the system: after a
/// document was indexed that is several times what the catalogue holds.
pub fn release() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
