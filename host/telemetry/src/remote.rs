//! The span of a client that asked: `traceparent` (W3C Trace Context).

use std::future::Future;

tokio::task_local! {
    static REMOTE: RemoteParent;
}

/// A span in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteParent {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    pub(crate) sampled: bool,
}

impl RemoteParent {
    /// Reads a `traceparent` header. Nothing where it is malformed: the
    /// specification has a receiver begin a trace of its own then.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let version = hex::<1>(parts.next()?)?;
        let (trace, span) = (hex::<16>(parts.next()?)?, hex::<8>(parts.next()?)?);
        let flags = hex::<1>(parts.next()?)?;
        let more = parts.next().is_some();
        let sound = version[0] != 0xff && !(version[0] == 0 && more) && trace != [0; 16] && span != [0; 8];
        sound.then_some(Self { trace, span, sampled: flags[0] & 1 == 1 })
    }
}

/// Runs `work` as what the client's span asked for.
pub async fn with_remote_parent<T>(parent: RemoteParent, work: impl Future<Output = T>) -> T {
    REMOTE.scope(parent, work).await
}

/// The client's span, where it named one.
pub fn remote_parent() -> Option<RemoteParent> {
    REMOTE.try_with(|parent| *parent).ok()
}

/// Lower-case digits alone, as the specification has them.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_header_is_taken_or_left() {
        let parsed = RemoteParent::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!((parsed.trace[0], parsed.span[7], parsed.sampled), (0x4b, 0xb7, true));
        assert!(!RemoteParent::parse(&format!("00-{TRACE}-{SPAN}-00")).unwrap().sampled);
        assert!(RemoteParent::parse(&format!("cc-{TRACE}-{SPAN}-01-more")).is_some(), "a later version");
        let zeros = "0".repeat(32);
        for bad in [
            "",
            "00",
            &format!("ff-{TRACE}-{SPAN}-01"),
            &format!("00-{TRACE}-{SPAN}-01-more"),
            &format!("00-{zeros}-{SPAN}-01"),
            &format!("00-{TRACE}-{}-01", &zeros[..16]),
            &format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            &format!("00-{TRACE}-{SPAN}"),
            &format!("00-{TRACE}é-{SPAN}-01"),
        ] {
            assert_eq!(RemoteParent::parse(bad), None, "{bad}");
        }
    }
}
