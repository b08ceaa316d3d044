//! Questions on a terminal.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::input;

/// Longest value that is typed or pasted, in bytes.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024;

/// Whether a person can be asked.
pub(crate) fn can_ask(context: &Context) -> bool {
    !context.globals.no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The text that stands on stdin and is not to be seen: read as it is, or asked
/// for without showing it where stdin is a terminal.
///
/// # Errors
/// It can't be read, is longer than `limit_bytes`, or would have to be asked
/// for where nothing is.
pub(crate) fn secret(context: &Context, what: &str, limit_bytes: u64) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return input::text("-", limit_bytes);
    }
    if context.globals.no_input {
        return Err(Failure::usage("stdin is a terminal, and --no-input says that nothing is asked there")
            .hint("put the value into stdin, as from a file: `… < FILE`"));
    }
    hidden(&format!("{what} (not shown): "))
}

/// A line, without its end; `None` when the input ends.
pub(crate) fn line(question: &str) -> Result<Option<String>, Failure> {
    show(question)?;
    let mut answer = String::new();
    let mut limited = io::stdin().lock().take(ANSWER_LIMIT_BYTES as u64);
    let count = limited.read_line(&mut answer).map_err(|error| broken(&error))?;
    Ok((count > 0).then(|| answer.trim().to_owned()))
}

/// A line that is not shown while it is typed.
pub(crate) fn hidden(question: &str) -> Result<String, Failure> {
    let before = silence()?;
    // Asked once nothing is shown any more: an answer may be there at once.
    let answer = show(question).and_then(|()| edited(io::stdin().lock().bytes()));
    drop(before);
    // The line break that was typed was not shown either.
    eprintln!();
    answer
}

fn show(question: &str) -> Result<(), Failure> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).map_err(|error| broken(&error))
}

fn broken(error: &io::Error) -> Failure {
    Failure::usage(format!("the terminal can't be asked: {error}"))
}

/// The terminal as it was, once this is dropped.
struct Restore(Termios);

impl Drop for Restore {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that has gone away.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Has the terminal give key by key and show none, signals as keys too, so that
/// an interrupt can't leave it without echo.
fn silence() -> Result<Restore, Failure> {
    let before = tcgetattr(io::stdin()).map_err(|error| broken(&error.into()))?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    silent.special_codes[SpecialCodeIndex::VMIN] = 1;
    silent.special_codes[SpecialCodeIndex::VTIME] = 0;
    let restore = Restore(before);
    tcsetattr(io::stdin(), OptionalActions::Now, &silent).map_err(|error| broken(&error.into()))?;
    Ok(restore)
}

/// The line that these key presses make.
fn edited(keys: impl Iterator<Item = io::Result<u8>>) -> Result<String, Failure> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACKSPACE: u8 = 8;
    const ERASE_LINE: u8 = 21;
    const DELETE: u8 = 127;
    let mut typed = Vec::new();
    for key in keys {
        match key.map_err(|error| broken(&error))? {
            b'\n' | b'\r' | END => break,
            INTERRUPT => return Err(Failure::new(Exit::Usage, "interrupted: nothing was done")),
            ERASE_LINE => typed.clear(),
            BACKSPACE | DELETE => {
                let cut = String::from_utf8_lossy(&typed).chars().next_back().map_or(0, char::len_utf8);
                typed.truncate(typed.len().saturating_sub(cut));
            }
            _ if typed.len() >= ANSWER_LIMIT_BYTES => {
                return Err(Failure::usage(format!("the value is longer than {ANSWER_LIMIT_BYTES} bytes")));
            }
            byte => typed.push(byte),
        }
    }
    String::from_utf8(typed).map_err(|_| Failure::usage("the value is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keys: &str, expect: &str) {
        assert_eq!(edited(keys.bytes().map(Ok)).unwrap(), expect, "{keys:?}");
    }

    #[test]
    fn keys_make_a_line() {
        check("secret\n", "secret");
        check("secret\r more", "secret");
        check("sex\u{7f}cret\u{4}", "secret");
        check("x\u{7f}\u{7f}é\u{8}ok\n", "ok");
        check("wrong\u{15}right\n", "right");
        check("", "");
        assert!(edited("abc\u{3}".bytes().map(Ok)).is_err());
        assert!(edited(std::iter::repeat_with(|| Ok(b'x'))).is_err());
    }
}
