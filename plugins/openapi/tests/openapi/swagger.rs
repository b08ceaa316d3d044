//! OpenAPI 2, which writes everything but schemas another way.

use crate::support::{Catalog, document, header, index, text_of, try_index};
use executor_common::seam::Chunk;
use serde_json::{Value, json};

/// A 2.0 document with these paths.
fn swagger(paths: &Value) -> Value {
    json!({
        "swagger": "2.0", "info": {"title": "Old", "version": "1"},
        "host": "api.example.com", "basePath": "/v1", "schemes": ["http", "https"], "paths": paths,
    })
}

fn with_parameters(path: &str, method: &str, parameters: Value, more: Value) -> Catalog {
    let mut operation = json!({"operationId": "call", "tags": ["x"], "parameters": parameters});
    operation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    index(&swagger(&json!({path: {method: operation}})))
}

#[test]
fn a_whole_document() {
    let mut whole = swagger(&json!({
        "/pets/{petId}": {
            "parameters": [{"$ref": "#/parameters/petId"}],
            "get": {"operationId": "getPet", "tags": ["pets"], "summary": "One pet",
                "responses": {"200": {"$ref": "#/responses/pet"}, "default": {"description": "error"}}},
            "put": {"operationId": "putPet", "tags": ["pets"], "consumes": ["application/xml", "application/json"],
                "parameters": [{"name": "pet", "in": "body", "required": true, "description": "the pet", "schema": {"$ref": "#/definitions/Pet"}}],
                "responses": {"204": {"description": "done"}}}
        }
    }));
    whole["produces"] = json!(["application/json", "text/csv"]);
    whole["parameters"] = json!({"petId": {"name": "petId", "in": "path", "required": true, "type": "integer", "format": "int64", "minimum": 1}});
    whole["responses"] = json!({"pet": {"description": "a pet", "schema": {"$ref": "#/definitions/Pet"}, "examples": {"application/json": {}}}});
    whole["definitions"] = json!({
        "Pet": {"type": "object", "discriminator": "kind", "required": ["id", "kind"], "properties": {
            "id": {"type": "integer", "readOnly": true}, "kind": {"type": "string"},
            "owner": {"type": "string", "x-nullable": true}, "parent": {"$ref": "#/definitions/Pet"}}}
    });
    let catalog = index(&whole);
    assert_eq!(catalog.names(), ["pets.getPet", "pets.putPet"]);
    assert_eq!(
        catalog.input("pets.getPet"),
        json!({"type": "object", "properties": {"petId": {"type": "integer", "format": "int64", "minimum": 1}}, "required": ["petId"], "additionalProperties": false})
    );
    assert_eq!(catalog.output("pets.getPet"), json!({"$ref": "#/$defs/Pet"}));
    assert_eq!(catalog.definition("Pet")["properties"]["owner"], json!({"type": ["string", "null"]}));
    assert_eq!(catalog.definition("Pet")["discriminator"], json!({"propertyName": "kind"}));
    let input = catalog.input("pets.putPet");
    assert_eq!(
        input["properties"]["body"],
        json!({"anyOf": [
            {"$ref": "#/$defs/Pet.input", "description": "the pet"},
            {"anyOf": [{"type": "string"}, {"type": "object", "description": "a file the host holds", "properties": {
                "$file": {"type": "string"}, "name": {"type": "string"}, "mediaType": {"type": "string"}, "size": {"type": "integer"}
            }, "required": ["$file"]}], "description": "the pet"}
        ]})
    );
    assert_eq!(input["required"], json!(["petId", "body"]));
    assert_eq!(catalog.definition("Pet.input")["required"], json!(["kind"]));
    let got = catalog.request("pets.getPet", json!({"petId": 7})).unwrap();
    assert_eq!(got.url, "https://api.example.com/v1/pets/7");
    assert_eq!(header(&got, "accept"), Some("application/json, text/csv;q=0.5, */*;q=0.1"));
    let put = catalog.request("pets.putPet", json!({"petId": 7, "body": {"kind": "cat"}})).unwrap();
    assert_eq!(
        (text_of(&put).as_str(), header(&put, "content-type")),
        (r#"{"kind":"cat"}"#, Some("application/json"))
    );
    assert_eq!(catalog.summary.as_ref().unwrap().base_url.as_deref(), Some("https://api.example.com/v1"));
    assert_eq!(catalog.summary_meta()["specification"], "2.0");
}

#[test]
fn collection_formats() {
    let parameter = |name: &str, place: &str, format: &str| json!({"name": name, "in": place, "required": place == "path", "type": "array", "items": {"type": "string"}, "collectionFormat": format});
    let mut parameters = vec![
        parameter("none", "query", "csv"),
        json!({"name": "usual", "in": "query", "type": "array", "items": {"type": "string"}}),
        json!({"name": "one", "in": "query", "type": "string"}),
        parameter("H", "header", "pipes"),
        parameter("p", "path", "pipes"),
    ];
    for format in ["csv", "ssv", "tsv", "pipes", "multi"] {
        parameters.push(parameter(format, "query", format));
    }
    let catalog = with_parameters("/{p}", "get", json!(parameters), json!({}));
    let list = json!(["a", "b,c d"]);
    let sent = catalog
        .request("x.call", json!({"p": ["x", "/"], "usual": list, "one": "z", "csv": list, "ssv": list, "tsv": list, "pipes": list, "multi": list, "H": ["1", "2"]}))
        .unwrap();
    assert_eq!(
        sent.url,
        "https://api.example.com/v1/x%7C%2F?usual=a,b%2Cc%20d&one=z&csv=a,b%2Cc%20d&ssv=a%20b%2Cc%20d&tsv=a%09b%2Cc%20d&pipes=a%7Cb%2Cc%20d&multi=a&multi=b%2Cc%20d"
    );
    assert_eq!(header(&sent, "h"), Some("1|2"));
}

#[test]
fn form_data_becomes_a_body() {
    let fields = json!([
        {"name": "title", "in": "formData", "type": "string", "required": true, "description": "what it is called"},
        {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}},
        {"name": "all", "in": "formData", "type": "array", "items": {"type": "integer"}, "collectionFormat": "multi"}
    ]);
    let catalog = with_parameters("/x", "post", fields.clone(), json!({}));
    let body = &catalog.input("x.call")["properties"]["body"];
    assert_eq!(body["required"], json!(["title"]));
    assert_eq!(body["properties"]["title"], json!({"type": "string", "description": "what it is called"}));
    let sent = catalog
        .request("x.call", json!({"body": {"title": "a b", "tags": ["x", "y"], "all": [1, 2]}}))
        .unwrap();
    assert_eq!(text_of(&sent), "title=a%20b&tags=x,y&all=1&all=2");
    assert_eq!(header(&sent, "content-type"), Some("application/x-www-form-urlencoded"));

    let mut with_file = fields.as_array().unwrap().clone();
    with_file.push(json!({"name": "file", "in": "formData", "type": "file"}));
    let catalog = with_parameters(
        "/x",
        "post",
        json!(with_file),
        json!({"consumes": ["application/x-www-form-urlencoded", "application/json"]}),
    );
    let sent = catalog
        .request(
            "x.call",
            json!({"body": {"title": "t", "tags": ["x", "y"], "file": {"$file": "blob:1", "name": "a.png"}}}),
        )
        .unwrap();
    assert!(header(&sent, "content-type").unwrap().starts_with("multipart/form-data; boundary="));
    assert!(sent.body.contains(&Chunk::File("blob:1".to_owned())));
    let text = text_of(&sent);
    assert!(text.contains("name=\"tags\"\r\n\r\nx,y\r\n") && text.contains("filename=\"a.png\""), "{text}");

    let both = with_parameters(
        "/x",
        "post",
        fields,
        json!({"consumes": ["multipart/form-data", "application/x-www-form-urlencoded"]}),
    );
    assert_eq!(
        both.input("x.call")["properties"]["contentType"]["enum"],
        json!(["application/x-www-form-urlencoded", "multipart/form-data"])
    );
}

#[test]
fn servers_from_three_parts() {
    let of = |more: Value, url: Option<&str>| {
        let mut document = json!({"swagger": "2.0", "info": {}, "paths": {"/x": {"get": {}}}});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let catalog = try_index(document.to_string().as_bytes(), url, &json!({})).unwrap();
        catalog.request("x.getX", json!({})).map(|sent| sent.url).map_err(|failure| failure.code)
    };
    let from = Some("https://docs.example.com/a/swagger.json");
    assert_eq!(of(json!({"host": "h.example:8443"}), from).unwrap(), "https://h.example:8443/x");
    assert_eq!(
        of(json!({"host": "h.example", "schemes": ["ws", "http"]}), from).unwrap(),
        "http://h.example/x"
    );
    assert_eq!(of(json!({"basePath": "v2/"}), from).unwrap(), "https://docs.example.com/v2/x");
    assert_eq!(of(json!({}), Some("http://127.0.0.1:9/s.json")).unwrap(), "http://127.0.0.1:9/x");
    assert_eq!(of(json!({"host": "https://h.example/"}), None).unwrap(), "https://h.example/x");
    assert_eq!(of(json!({}), None).unwrap_err(), "settings-invalid");
}

#[test]
fn security_definitions() {
    let mut document = swagger(
        &json!({"/a": {"get": {"security": [{"oauth": ["read"]}, {"key": [], "basic": []}]}}, "/b": {"get": {}}, "/c": {"get": {"security": []}}}),
    );
    document["security"] = json!([{"basic": []}]);
    document["securityDefinitions"] = json!({
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "query", "name": "key"},
        "oauth": {"type": "oauth2", "flow": "accessCode", "authorizationUrl": "https://a.example/auth", "tokenUrl": "https://a.example/token", "scopes": {"read": "Read"}},
        "app": {"type": "oauth2", "flow": "application", "tokenUrl": "https://a.example/token", "scopes": {}}
    });
    let catalog = index(&document);
    let kinds: Vec<&str> = catalog.methods.iter().map(|method| method.kind.as_str()).collect();
    assert_eq!(kinds, ["http-basic", "api-key", "oauth2", "oauth2"]);
    let oauth = |index: usize| {
        serde_json::from_str::<Value>(&catalog.methods[index].config).unwrap()["oauth"].clone()
    };
    assert_eq!(
        oauth(2),
        json!({"flow": "authorizationCode", "authorizationUrl": "https://a.example/auth", "tokenUrl": "https://a.example/token", "scopes": {"read": "Read"}})
    );
    assert_eq!(oauth(3)["flow"], "clientCredentials");
    assert_eq!(
        catalog.tool("a.getA").auth,
        [vec!["oauth".to_owned()], vec!["key".to_owned(), "basic".to_owned()]]
    );
    assert_eq!(catalog.meta("a.getA")["scopes_by_method"], json!({"oauth": ["read"]}));
    assert_eq!(catalog.tool("b.getB").auth, [["basic"]]);
    assert!(catalog.tool("c.getC").auth.is_empty());
}

#[test]
fn a_file_is_answered_under_any_media_type() {
    let file = json!({"produces": ["application/json"], "responses": {"200": {"description": "", "schema": {"type": "file"}}}});
    let catalog = index(&swagger(&json!({"/x": {"get": file}})));
    assert_eq!(catalog.output("x.getX")["required"], json!(["$file"]));
    // In OpenAPI 3 the media type says what it is.
    let newer = index(&document(
        &json!({"/x": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "file"}}}}}}}}),
    ));
    assert_eq!(newer.output("x.getX"), json!({"type": "string", "format": "binary"}));
}
