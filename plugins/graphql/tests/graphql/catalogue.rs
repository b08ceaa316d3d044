//! What a schema becomes.

use serde_json::{Value, json};

use crate::support::{ENDPOINT, index, try_index};

const SCHEMA: &str = r#"
"A shop."
schema { query: Root, mutation: Changes, subscription: News }
type Root {
  "One product. It may be gone."
  product(id: ID!, "In which language." language: Language = EN): Product
  products(first: Int, after: String, filter: Filter, tags: [String!]): ProductConnection!
  old(a: Int): String @deprecated(reason: "use product")
  then: Int!
  count(select: Boolean): [Product!]!
}
type Changes {
  createProduct(input: CreateInput!): CreatePayload
  deleteProduct(by: By!): Boolean!
  attach(file: Upload!, more: [Upload!]): String
}
type News { sold: Product, opened: Boolean }
extend type Root { added: Json }
scalar Upload
scalar Json
scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")
enum Language { EN DE OLD @deprecated }
input Filter { and: [Filter!], name: String, since: DateTime }
input CreateInput { name: String!, amount: Int! = 1, tags: [String!]!, old: Int @deprecated(reason: "no"), nested: Filter }
input By @oneOf { id: ID, name: String }
interface Node { id: ID! }
type Product implements Node { id: ID!, name: String!, price: Money, at: DateTime, shop: Shop, secret: String @deprecated, sized(width: Int!): String }
type Money { amount: Float!, currency: String! }
type Shop { id: ID!, name: String, products(first: Int!): ProductConnection }
type ProductConnection { nodes: [Product], edges: [ProductEdge], pageInfo: PageInfo!, totalCount: Int }
type ProductEdge { node: Product, cursor: String! }
type PageInfo { hasNextPage: Boolean!, endCursor: String }
type CreatePayload { product: Product, userErrors: [UserError!]! }
type UserError { field: [String!], message: String! }
"#;

#[test]
fn every_query_and_mutation_is_a_tool() {
    let catalog = index(SCHEMA);
    assert_eq!(
        catalog.names(),
        [
            "query.product",
            "query.products",
            "query.old",
            "query.then_",
            "query.count",
            "query.added",
            "mutation.createProduct",
            "mutation.deleteProduct",
            "mutation.attach",
        ]
    );
    assert_eq!(catalog.codes(), ["subscriptions-unsupported"]);
    assert!(catalog.warnings[0].message.contains("2 subscriptions are left out"), "{:?}", catalog.warnings);
    let summary = catalog.summary.as_ref().unwrap();
    assert_eq!(summary.title.as_deref(), Some("A shop."));
    assert_eq!(summary.base_url.as_deref(), Some(ENDPOINT));
    assert!(summary.meta.as_deref().unwrap().contains(r#""origins":["https://api.example.com"]"#));
    assert_eq!(catalog.methods.len(), 2);
    assert_eq!(catalog.tool("query.old").auth, [vec!["bearer"], vec!["basic"], vec![]]);
}

#[test]
fn conduct_follows_the_root_and_the_name() {
    let catalog = index(SCHEMA);
    let query = &catalog.tool("query.product").annotations;
    assert!(query.read_only && query.idempotent && !query.requires_approval && !query.deprecated);
    let create = &catalog.tool("mutation.createProduct").annotations;
    assert!(!create.read_only && !create.idempotent && create.requires_approval && !create.destructive);
    assert!(catalog.tool("mutation.deleteProduct").annotations.destructive);
    assert!(catalog.tool("query.old").annotations.deprecated);
    assert!(catalog.tool("query.old").description.starts_with("Deprecated: use product"));
    assert_eq!(catalog.meta("query.old")["tags"], json!(["query", "deprecated"]));
    assert_eq!(catalog.meta("query.product")["summary"], "One product.");
    assert_eq!(catalog.meta("query.product")["request"], "query product(id, language)");
}

#[test]
fn arguments_are_json_schema() {
    let catalog = index(SCHEMA);
    let input = catalog.input("query.product");
    assert_eq!(input["required"], json!(["id"]));
    assert_eq!(input["additionalProperties"], json!(false));
    assert_eq!(input["properties"]["id"], json!({"type": ["string", "integer"]}));
    assert_eq!(
        input["properties"]["language"],
        json!({"anyOf": [{"$ref": "#/$defs/Language"}, {"type": "null"}], "default": "EN", "description": "In which language."})
    );
    assert_eq!(
        catalog.definition("Language"),
        json!({"type": "string", "enum": ["EN", "DE", "OLD"], "description": "Deprecated: OLD."})
    );
    let told = input["properties"]["select"]["description"].as_str().unwrap();
    assert!(told.contains("id, name, price {Money}") && told.contains("sized(width:)"), "{told}");
    assert!(!told.contains("secret"), "{told}");
    // A list is taken as its only item too.
    assert_eq!(
        catalog.input("query.products")["properties"]["tags"],
        json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}, {"type": "null"}]})
    );
    assert_eq!(catalog.input("query.products")["properties"]["first"]["default"], json!(30));
}

#[test]
fn input_objects_are_definitions_and_may_be_recursive() {
    let catalog = index(SCHEMA);
    let create = catalog.definition("CreateInput");
    assert_eq!(create["required"], json!(["name", "tags"]), "a default makes a field optional");
    assert_eq!(create["properties"]["amount"], json!({"type": "integer", "default": 1}));
    assert_eq!(create["properties"]["old"]["deprecated"], json!(true));
    let filter = catalog.definition("Filter");
    assert_eq!(filter["properties"]["and"]["anyOf"][0]["items"], json!({"$ref": "#/$defs/Filter"}));
    assert_eq!(filter["properties"]["since"]["format"], "date-time");
    let by = catalog.definition("By");
    assert_eq!((&by["minProperties"], &by["maxProperties"]), (&json!(1), &json!(1)));
    assert_eq!(by["properties"]["name"], json!({"type": "string"}), "null would be no choice");
    assert_eq!(by.get("required"), None);
}

#[test]
fn files_are_arguments() {
    let catalog = index(SCHEMA);
    let input = catalog.input("mutation.attach");
    assert_eq!(input["properties"]["file"]["required"], json!(["$file"]));
    assert_eq!(input["properties"]["more"]["anyOf"][0]["items"]["required"], json!(["$file"]));
}

#[test]
fn what_is_selected_by_default() {
    let catalog = index(SCHEMA);
    let check = |tool: &str, expected: &str| assert_eq!(catalog.selection(tool), expected, "{tool}");
    check("query.product", "id name at price { amount currency } shop { id }");
    check(
        "query.products",
        "totalCount pageInfo { hasNextPage endCursor } nodes { id name at price { amount currency } shop { id } }",
    );
    check(
        "mutation.createProduct",
        "product { id name at price { amount currency } shop { id } } userErrors { field message }",
    );
    check("query.old", "");
    assert_eq!(catalog.input("query.old")["properties"].get("select"), None);
    let names: Vec<String> =
        catalog.input("query.count")["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["select", "select_fields"], "an argument of that name keeps it");
}

#[test]
fn answers_are_described_as_they_come() {
    let catalog = index(SCHEMA);
    let product = catalog.output("query.product");
    assert_eq!(product["type"], json!(["object", "null"]));
    assert_eq!(product["required"], json!(["id", "name", "at", "price", "shop"]));
    assert_eq!(product["properties"]["id"], json!({"type": "string"}));
    assert_eq!(product["properties"]["price"]["properties"]["amount"], json!({"type": "number"}));
    assert_eq!(catalog.output("query.then_"), json!({"type": "integer"}));
    let count = catalog.output("query.count");
    assert_eq!((&count["type"], &count["items"]["type"]), (&json!("array"), &json!("object")));
}

#[test]
fn a_key_may_have_a_header_of_its_own() {
    let settings = json!({"base_url": ENDPOINT, "auth_header": "X-Shop-Token", "page_size": 5});
    let catalog = try_index(SCHEMA.as_bytes(), None, &settings).unwrap();
    assert_eq!(catalog.methods[0].kind, "api-key");
    let config: Value = serde_json::from_str(&catalog.methods[0].config).unwrap();
    assert_eq!(config["placements"], json!([{"in": "header", "name": "X-Shop-Token", "template": "{key}"}]));
    assert_eq!(catalog.tool("query.old").auth[0], ["header"]);
    assert_eq!(catalog.input("query.products")["properties"]["first"]["default"], json!(5));
}

#[test]
fn a_schema_without_an_endpoint_says_so() {
    let catalog =
        try_index(SCHEMA.as_bytes(), Some("https://docs.example.com/schema.graphql"), &json!({})).unwrap();
    assert_eq!(catalog.codes(), ["no-endpoint", "subscriptions-unsupported"]);
    let mut api = crate::support::Api::answering(200, "text/plain", b"");
    let failure = catalog.call_with(&mut api, "query.old", &json!({}), &json!({})).unwrap_err();
    assert!(
        failure.code == "settings-invalid" && failure.message.contains("base_url"),
        "{}",
        failure.message
    );
    assert!(api.requests.is_empty());
}

#[test]
fn a_subgraph_has_extensions_alone() {
    let catalog =
        index("extend schema @link(url: \"x\") extend type Query { a: Int } extend type Mutation { b: Int }");
    assert_eq!(catalog.names(), ["query.a", "mutation.b"]);
}
