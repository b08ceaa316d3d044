//! Files in arguments, after the multipart request specification.

use serde_json::{Value, json};

use crate::support::{Api, bytes_of, header, index};

const SCHEMA: &str = "scalar Upload scalar File scalar JSON type Query { a(json: JSON): Int }
    type Mutation { one(file: Upload!, note: String): Int, many(files: [Upload!]!): Int, deep(input: In!): Int, yoga(file: File!): Int }
    input In { title: String, parts: [Part!] } input Part { file: Upload }";

fn sent(tool: &str, arguments: &Value) -> (Vec<(String, String)>, String) {
    let mut api = Api::json(200, &json!({"data": {"one": 1, "many": 1, "deep": 1, "a": 1, "yoga": 1}}));
    index(SCHEMA).call(&mut api, tool, arguments).unwrap();
    let request = &api.requests[0];
    let kind = header(request, "content-type").unwrap().to_owned();
    let body = String::from_utf8(bytes_of(request)).unwrap();
    let Some(mark) = kind.strip_prefix("multipart/form-data; boundary=") else {
        return (Vec::new(), body);
    };
    assert_eq!(header(request, "apollo-require-preflight"), Some("true"));
    assert!(body.ends_with(&format!("--{mark}--\r\n")), "{body}");
    let (begin, end) = (format!("--{mark}\r\n"), format!("\r\n--{mark}--"));
    let part = |part: &str| {
        let (head, content) = part.split_once("\r\n\r\n").unwrap();
        let content = content.split(&end).next().unwrap();
        (head.to_owned(), content.trim_end_matches("\r\n").to_owned())
    };
    let parts = body.split(&begin).skip(1).map(part).collect();
    (parts, body)
}

#[test]
fn a_file_goes_beside_the_operation() {
    let (parts, _) = sent(
        "mutation.one",
        &json!({"file": {"$file": "blob:1", "name": "a\"b/c.txt", "mediaType": "text/plain"}, "note": "n"}),
    );
    assert_eq!(
        parts[0].0,
        "Content-Disposition: form-data; name=\"operations\"\r\nContent-Type: application/json"
    );
    let operations: Value = serde_json::from_str(&parts[0].1).unwrap();
    assert_eq!(operations["variables"], json!({"file": null, "note": "n"}));
    assert!(operations["query"].as_str().unwrap().contains("$file: Upload!"));
    assert_eq!(parts[1].1, r#"{"0":["variables.file"]}"#);
    assert_eq!(
        parts[2].0,
        "Content-Disposition: form-data; name=\"0\"; filename=\"a_b_c.txt\"\r\nContent-Type: text/plain"
    );
    assert_eq!(parts[2].1, "<blob:1>");
}

#[test]
fn files_stand_in_lists_and_objects() {
    let (parts, _) = sent("mutation.many", &json!({"files": [{"$file": "blob:1"}, {"$file": "blob:2"}]}));
    assert_eq!(parts[1].1, r#"{"0":["variables.files.0"],"1":["variables.files.1"]}"#);
    assert_eq!((parts[2].1.as_str(), parts[3].1.as_str()), ("<blob:1>", "<blob:2>"));
    let (parts, _) =
        sent("mutation.deep", &json!({"input": {"title": "t", "parts": [{"file": {"$file": "blob:9"}}]}}));
    let operations: Value = serde_json::from_str(&parts[0].1).unwrap();
    assert_eq!(operations["variables"]["input"], json!({"title": "t", "parts": [{"file": null}]}));
    assert_eq!(parts[1].1, r#"{"0":["variables.input.parts.0.file"]}"#);
}

#[test]
fn names_can_not_add_headers() {
    let (parts, _) = sent(
        "mutation.one",
        &json!({"file": {"$file": "blob:1", "name": "a\r\nX-Evil: 1\r\n\r\n", "mediaType": "text/plain\r\nX-Evil: 1"}}),
    );
    assert!(
        parts[2].0.ends_with("filename=\"a X-Evil: 1\"\r\nContent-Type: application/octet-stream"),
        "{}",
        parts[2].0
    );
}

#[test]
fn what_takes_no_files_stays_json() {
    let (parts, body) = sent("query.a", &json!({"json": {"$file": "blob:1"}}));
    assert!(parts.is_empty());
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap()["variables"]["json"],
        json!({"$file": "blob:1"})
    );
    let (parts, _) = sent("mutation.deep", &json!({"input": {"title": "t"}}));
    assert!(parts.is_empty());
}

#[test]
fn the_same_call_makes_the_same_request() {
    let arguments = json!({"file": {"$file": "blob:1"}});
    assert_eq!(sent("mutation.one", &arguments).1, sent("mutation.one", &arguments).1);
}

#[test]
fn files_have_a_bound() {
    let files: Vec<Value> = (0..101).map(|number| json!({"$file": format!("blob:{number}")})).collect();
    let message = index(SCHEMA).refusal("mutation.many", &json!({"files": files}));
    assert!(message.contains("101 files are too many"), "{message}");
}

#[test]
fn what_an_answer_says_of_a_file_is_taken() {
    let answered = json!({"$file": "blob:1", "size": 3, "mediaType": "text/plain", "name": "a.txt"});
    let index = index(SCHEMA);
    let properties = index.input("mutation.one")["properties"]["file"]["properties"].clone();
    for name in answered.as_object().unwrap().keys() {
        assert!(properties.get(name).is_some(), "{name}: {properties}");
    }
    let (parts, _) = sent("mutation.one", &json!({"file": answered}));
    assert!(parts[2].0.ends_with("filename=\"a.txt\"\r\nContent-Type: text/plain"), "{}", parts[2].0);
}

#[test]
fn a_scalar_named_file_is_a_file_or_a_text() {
    let (parts, _) = sent("mutation.yoga", &json!({"file": {"$file": "blob:1"}}));
    assert_eq!((parts[1].1.as_str(), parts[2].1.as_str()), (r#"{"0":["variables.file"]}"#, "<blob:1>"));
    let (parts, body) = sent("mutation.yoga", &json!({"file": "https://a.test/x"}));
    assert!(parts.is_empty() && body.contains("https://a.test/x"), "{body}");
}
