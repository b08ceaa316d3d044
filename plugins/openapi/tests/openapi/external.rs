//! Descriptions that are several documents.

use crate::support::{Catalog, Library, index_among};
use serde_json::{Value, json};

const ROOT: &str = "https://files.example/api/openapi.yaml";

fn library(documents: &[(&str, &str)]) -> Library {
    let documents = documents
        .iter()
        .map(|(path, text)| (format!("https://files.example/{path}"), text.as_bytes().to_vec()))
        .collect();
    Library { documents, ..Library::default() }
}

fn indexed(library: &mut Library, root: &str, settings: Value) -> Catalog {
    index_among(library, root.as_bytes(), Some(ROOT), &settings)
        .unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn answering(reference: &str) -> String {
    format!(
        "openapi: 3.0.0\ninfo: {{}}\npaths:\n  /x:\n    get:\n      responses:\n        200:\n          content:\n            application/json: {{schema: {{$ref: '{reference}'}}}}\n"
    )
}

#[test]
fn references_are_relative_to_the_document_they_stand_in() {
    let mut library = library(&[
        (
            "api/paths/pets.yaml",
            "get:\n  operationId: list\n  parameters: [{$ref: '../parameters.yaml#/limit'}]\n  responses:\n    200: {description: d, content: {application/json: {schema: {$ref: '../schemas/Pet.yaml'}}}}\n",
        ),
        ("api/parameters.yaml", "limit: {name: limit, in: query, schema: {type: integer}}\n"),
        (
            "api/schemas/Pet.yaml",
            "type: object\nproperties:\n  owner: {$ref: 'Owner.json#/definitions/Owner'}\n  home: {$ref: '../openapi.yaml#/components/schemas/Home'}\n  example: {$ref: '#/properties/owner'}\n  child: {$ref: '#'}\nexample: {$ref: 'not/a/reference.yaml'}\n",
        ),
        (
            "api/schemas/Owner.json",
            r##"{"definitions": {"Owner": {"type": "object", "properties": {"pet": {"$ref": "Pet.yaml"}, "name": {"$ref": "#/definitions/Name"}}}, "Name": {"type": "string"}}}"##,
        ),
    ]);
    let root = "openapi: 3.0.0\ninfo: {}\npaths:\n  /pets: {$ref: 'paths/pets.yaml'}\ncomponents:\n  schemas:\n    Home: {type: string}\n    Self: {$ref: 'openapi.yaml#/components/schemas/Home'}\n";
    let catalog = indexed(&mut library, root, json!({}));
    assert_eq!(catalog.names(), ["pets.list"]);
    assert_eq!(catalog.input("pets.list")["properties"]["limit"], json!({"type": "integer"}));
    assert_eq!(catalog.output("pets.list"), json!({"$ref": "#/$defs/Pet"}));
    assert_eq!(
        catalog.definition("Pet")["properties"],
        json!({"owner": {"$ref": "#/$defs/Owner"}, "home": {"$ref": "#/$defs/Home"}, "example": {"$ref": "#/$defs/owner"}, "child": {"$ref": "#/$defs/Pet"}})
    );
    assert_eq!(
        catalog.definition("Owner")["properties"],
        json!({"pet": {"$ref": "#/$defs/Pet"}, "name": {"$ref": "#/$defs/Name"}})
    );
    assert_eq!(catalog.definition("Self"), json!({"$ref": "#/$defs/Home"}));
    library.asked.sort();
    assert_eq!(library.asked.len(), 4, "each document is asked for once: {:?}", library.asked);
    assert!(!catalog.codes().contains(&"reference"), "{:?}", catalog.warnings);
}

#[test]
fn other_origins_only_where_they_are_allowed() {
    let root = answering("https://schemas.example/Pet.json#/Pet");
    let mut library = library(&[]);
    library
        .documents
        .insert("https://schemas.example/Pet.json".to_owned(), br#"{"Pet": {"type": "string"}}"#.to_vec());
    let refused = indexed(&mut library, &root, json!({}));
    assert!(library.asked.is_empty());
    assert_eq!(refused.output("x.getX"), json!({}));
    let told =
        |catalog: &Catalog, part: &str| catalog.warnings.iter().any(|warning| warning.message.contains(part));
    assert!(
        told(&refused, "add https://schemas.example to the setting reference_origins"),
        "{:?}",
        refused.warnings
    );
    assert!(told(&refused, "GET /x"), "the operation that it cost is named");
    let allowed = indexed(&mut library, &root, json!({"reference_origins": ["https://schemas.example"]}));
    assert_eq!(allowed.output("x.getX"), json!({"$ref": "#/$defs/Pet"}));
    assert_eq!(allowed.definition("Pet"), json!({"type": "string"}));
    let odd = index_among(
        &mut library,
        root.as_bytes(),
        Some(ROOT),
        &json!({"reference_origins": ["file:///etc"]}),
    );
    assert_eq!(odd.err().unwrap().code, "settings-invalid");
}

#[test]
fn redirects_are_followed_within_what_is_allowed() {
    let mut library = library(&[("b/Pet.yaml", "$ref: Name.yaml\n"), ("b/Name.yaml", "type: string\n")]);
    library.redirects.insert("https://files.example/api/Pet.yaml".to_owned(), "/b/Pet.yaml".to_owned());
    let catalog = indexed(&mut library, &answering("Pet.yaml"), json!({}));
    assert_eq!(catalog.definition("Name"), json!({"type": "string"}));
    library
        .redirects
        .insert("https://files.example/b/Pet.yaml".to_owned(), "http://169.254.169.254/latest".to_owned());
    let refused = indexed(&mut library, &answering("Pet.yaml"), json!({}));
    assert!(refused.codes().contains(&"reference"));
    library.redirects.insert("https://files.example/b/Pet.yaml".to_owned(), "/b/Pet.yaml".to_owned());
    assert!(indexed(&mut library, &answering("Pet.yaml"), json!({})).codes().contains(&"reference"));
    assert!(!library.asked.iter().any(|url| url.contains("169.254")));
}

#[test]
fn circles_of_documents_end_and_broken_ones_cost_what_needs_them() {
    let mut library = library(&[
        ("api/a.yaml", "A: {type: object, properties: {b: {$ref: 'b.yaml#/B'}}}\n"),
        (
            "api/b.yaml",
            "B: {type: object, properties: {a: {$ref: 'a.yaml#/A'}, gone: {$ref: 'gone.yaml'}, bad: {$ref: 'bad.yaml'}}}\n",
        ),
        ("api/bad.yaml", "a: [\n"),
        ("api/loop1.yaml", "$ref: loop2.yaml\n"),
        ("api/loop2.yaml", "$ref: loop1.yaml\n"),
    ]);
    let catalog = indexed(&mut library, &answering("a.yaml#/A"), json!({}));
    assert_eq!(catalog.definition("A")["properties"]["b"], json!({"$ref": "#/$defs/B"}));
    assert_eq!(catalog.definition("B")["properties"]["gone"], json!({}));
    let told: Vec<&str> = catalog.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(
        told.iter().any(|text| text.contains("gone.yaml is not read: its server answered 404")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|text| text.contains("bad.yaml is not read: the document is not valid YAML")),
        "{told:?}"
    );
    assert_eq!(indexed(&mut library, &answering("loop1.yaml"), json!({})).output("x.getX"), json!({}));
}

#[test]
fn a_document_from_a_file_reads_no_other() {
    let mut library = library(&[("api/a.yaml", "A: {}\n")]);
    let catalog = index_among(
        &mut library,
        answering("a.yaml#/A").as_bytes(),
        None,
        &json!({"base_url": "https://a.example"}),
    )
    .unwrap();
    assert!(library.asked.is_empty());
    assert!(
        catalog
            .warnings
            .iter()
            .any(|warning| warning.message.contains("a.yaml#/A") && warning.message.contains("GET /x")),
        "{:?}",
        catalog.warnings
    );
}

#[test]
fn documents_are_bounded_in_number_and_size() {
    let mut many = library(&[]);
    for n in 0..2000 {
        let text = format!("A: {{$ref: '{}.yaml#/A'}}\n", n + 1);
        many.documents.insert(format!("https://files.example/api/{n}.yaml"), text.into_bytes());
    }
    let catalog = indexed(&mut many, &answering("0.yaml#/A"), json!({}));
    assert!(many.asked.len() <= 501, "{}", many.asked.len());
    assert!(catalog.warnings.iter().any(|warning| warning.message.contains("more than 500 documents")));
    let mut large = library(&[]);
    let text = format!("{{\"A\": \"{}\"}}", "x".repeat(17 << 20));
    large.documents.insert("https://files.example/api/large.json".to_owned(), text.into_bytes());
    let catalog = indexed(&mut large, &answering("large.json#/A"), json!({}));
    assert!(
        catalog.warnings.iter().any(|warning| warning.message.contains("a document may have")),
        "{:?}",
        catalog.warnings
    );
}

#[test]
fn the_base_of_3_2_and_discriminators_by_file() {
    let mut library = library(&[
        ("v2/Cat.yaml", "type: object\n"),
        (
            "v2/Pet.yaml",
            "discriminator: {propertyName: kind, mapping: {cat: Cat.yaml}}\noneOf: [{$ref: Cat.yaml}]\n",
        ),
    ]);
    let root = answering("Pet.yaml").replace("openapi: 3.0.0", "openapi: 3.2.0\n$self: /v2/openapi.yaml");
    let catalog = indexed(&mut library, &root, json!({}));
    assert_eq!(
        catalog.definition("Pet"),
        json!({"discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat"}}, "oneOf": [{"$ref": "#/$defs/Cat"}]})
    );
}
