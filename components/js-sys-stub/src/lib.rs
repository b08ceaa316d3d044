//! Stands in for `js-sys` where there is no JavaScript host.
//!
//! `oxc-browserslist` asks for the date on every wasm32 target, for queries
//! that the compiler never makes. The real crate would bring wasm-bindgen's
//! exports, which keep a module from becoming a component.

/// The one type of `js-sys` that is referred to. Its date never moves, and
/// arithmetic on it says so with NaN, which the caller takes for "no date".
pub struct Date;

impl Date {
    /// Milliseconds since the epoch; always its start here.
    pub fn now() -> f64 {
        0.0
    }

    /// A date; always the epoch's start.
    pub fn new_0() -> Self {
        Self
    }

    /// Ignored.
    pub fn set_time(&self, _time_ms: f64) -> f64 {
        0.0
    }

    /// The epoch's year.
    pub fn get_full_year(&self) -> u32 {
        1970
    }

    /// The epoch's month, January.
    pub fn get_month(&self) -> u32 {
        0
    }

    /// NaN: there is no calendar here.
    pub fn set_full_year_with_month(&self, _year: u32, _month: i32) -> f64 {
        f64::NAN
    }
}
