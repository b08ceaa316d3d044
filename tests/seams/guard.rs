//! The guard of local programs, as `executor guard-process` is that of a
//! daemon's.

use std::ffi::OsString;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let control = words.next().and_then(|word| word.to_str()?.parse().ok());
    let (Some(control), Some(program)) = (control, words.next()) else {
        eprintln!("guard DESCRIPTOR PROGRAM …");
        std::process::exit(2);
    };
    let arguments: Vec<OsString> = words.collect();
    std::process::exit(executor_runtime::guard(control, &program, &arguments))
}
