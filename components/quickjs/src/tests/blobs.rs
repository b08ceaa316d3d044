//! `blobs` and the calls made through it.

use serde_json::json;

use super::{Host, check_failure, run_with};
use crate::bindings::Outcome;

#[test]
fn files_are_read_and_made_by_calls_of_their_own() {
    let host = Host::new(|call| {
        let answer = match call.path[0].as_str() {
            "text" => json!({ "text": "h\u{e9}" }),
            "bytes" => json!({ "$bytes": "AP8=" }),
            _ => json!({ "$file": "blob:2", "size": 2 }),
        };
        Some(Outcome::Ok(answer.to_string()))
    });
    let body = "const bytes = await blobs.bytes('blob:1');
        const made = await blobs.put(bytes, { name: 'a.bin', mediaType: 'x/y' });
        await blobs.put('text');
        return [await blobs.text({ $file: 'blob:1', size: 3 }), bytes instanceof Uint8Array, [...bytes], made]";
    assert_eq!(
        run_with(&host, body),
        Ok(json!(["h\u{e9}", true, [0, 255], { "$file": "blob:2", "size": 2 }]))
    );
    assert_eq!(
        host.calls(),
        [
            r#"blobs:bytes {"file":"blob:1"}"#,
            r#"blobs:put {"data":{"$bytes":"AP8="},"name":"a.bin","mediaType":"x/y"}"#,
            r#"blobs:put {"data":"text"}"#,
            r#"blobs:text {"file":"blob:1"}"#,
        ]
    );
}

#[test]
fn what_names_no_file_is_refused_here() {
    for wrong in ["undefined", "null", "1", "{}", "{ $file: 1 }"] {
        check_failure(
            &format!("await blobs.text({wrong})"),
            "type",
            "TypeError: blobs takes a file as an answer gives it, { $file }, or its reference",
        );
    }
    let host = Host::new(|_| Some(Outcome::Ok(r#"{"$bytes":"no base64"}"#.to_owned())));
    let failure = run_with(&host, "await blobs.bytes('blob:1')").unwrap_err();
    assert!(failure.message.contains("are no bytes"), "{failure:?}");
}
