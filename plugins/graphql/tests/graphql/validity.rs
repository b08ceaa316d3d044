//! Default selections of schemas that are hard to select from: each is valid
//! by Apollo's compiler.

use serde_json::json;

use crate::support::{Catalog, compiled, index, validate};

/// Indexes a schema; every default operation must be valid.
fn check(sdl: &str) -> Catalog {
    let schema = compiled(sdl);
    let catalog = index(sdl);
    for tool in &catalog.tools {
        let input = catalog.input(&tool.name);
        if input.get("required").is_none() {
            validate(&schema, &catalog.query(&tool.name, &json!({})));
        }
    }
    catalog
}

#[test]
fn members_of_a_union_may_have_fields_of_one_name_and_other_types() {
    let catalog = check(
        "type Query { found: Found } union Found = A | B | C
         type A { state: StateA!, name: String, n: [Int] } type B { state: StateB, name: String!, n: [Int] }
         type C { state: StateA!, A_state: Int, B_state: String } enum StateA { X } enum StateB { Y }",
    );
    assert_eq!(
        catalog.selection("query.found"),
        "__typename ... on A { state name n } ... on B { B_state: state B_name: name n } ... on C { state A_state C_B_state: B_state }"
    );
    let output = catalog.output("query.found");
    assert!(output["properties"].get("B_state").is_some());
    assert_eq!(output["required"], json!(["__typename"]));
}

#[test]
fn an_object_may_narrow_what_its_interface_says() {
    let catalog = check(
        "type Query { node: Node, many: [Node!]! } interface Node { id: ID!, name: String, owner: Owner }
         type A implements Node { id: ID!, name: String!, owner: Owner!, extra: Int } type B implements Node { id: ID!, name: String, owner: Owner }
         type Owner { id: ID! }",
    );
    assert_eq!(catalog.selection("query.node"), "__typename id name owner { id } ... on A { extra }");
}

#[test]
fn an_interface_that_many_implement_is_selected_in_common() {
    let types: Vec<String> = (0..40)
        .map(|number| format!("type T{number} implements Node {{ id: ID!, f{number}: Int }}"))
        .collect();
    let catalog = check(&format!(
        "type Query {{ node(id: ID): Node }} interface Node {{ id: ID! }} {}",
        types.join("\n")
    ));
    assert_eq!(catalog.selection("query.node"), "__typename id");
}

#[test]
fn circles_end() {
    let catalog = check(
        "type Query { a: A, self: Query, tree: Tree } type A { b: B, a: A, list: [A!]! } type B { a: A!, query: Query }
         type Tree { value: Int, left: Tree, right: Tree }",
    );
    assert_eq!(catalog.selection("query.a"), "b { __typename }");
    assert_eq!(catalog.selection("query.self"), "__typename");
    assert_eq!(catalog.selection("query.tree"), "value left { value } right { value }");
}

#[test]
fn pages_of_pages_end() {
    let catalog = check(
        "type Query { c: C, a: A } type C { pageInfo: P nodes: [C] } type P { x: Int }
         type A { pageInfo: P nodes: [B] } type B { pageInfo: P edges: [E] } type E { node: A }",
    );
    assert_eq!(catalog.selection("query.c"), "pageInfo { x } nodes { __typename }");
    assert_eq!(
        catalog.selection("query.a"),
        "pageInfo { x } nodes { pageInfo { x } edges { node { __typename } } }"
    );
    // As deep as a schema has types.
    let chain: Vec<String> = (0..40_000)
        .map(|number| format!("type C{number} {{ pageInfo: P nodes: [C{}] }}", number + 1))
        .collect();
    let catalog = index(&format!(
        "type Query {{ c: C0 }} type P {{ x: Int }} type C40000 {{ id: ID }} {}",
        chain.join(" ")
    ));
    assert!(catalog.selection("query.c").len() < 200, "{}", catalog.selection("query.c"));
}

#[test]
fn a_field_whose_required_argument_is_left_out_is_left_out_however_long_the_name() {
    let long = "x".repeat(150);
    let catalog = index(&format!("type Query {{ t: T }} type T {{ a: Int b({long}: Nope!): Int }}"));
    assert_eq!(catalog.selection("query.t"), "a");
    let told = &catalog.warnings[0].message;
    assert!(told.contains("the field T.b is left out") && !told.contains(&long), "{told}");
}

#[test]
fn there_is_always_something_to_select() {
    let catalog = check(
        "type Query { a: A, b: B, u: U, i: I } type A { x(y: Int!): Int } type B { old: Int @deprecated }
         union U = A interface I { x(y: Int!): Int } type C implements I { x(y: Int!): Int }",
    );
    for tool in ["query.a", "query.b", "query.u", "query.i"] {
        assert_eq!(catalog.selection(tool), "__typename", "{tool}");
    }
}

#[test]
fn pages_of_edges_and_pages_of_other_makes() {
    let catalog = check(
        "type Query { items(first: Int, after: String): ItemConnection, listed: Page, names: NameConnection }
         type ItemConnection { pageInfo: PageInfo!, edges: [Edge!]! } type Edge { node: Item!, cursor: String! }
         type NameConnection { pageInfo: PageInfo!, edges: [NameEdge] } type NameEdge { node: String }
         type PageInfo { hasNextPage: Boolean! } type Item { id: ID!, items(first: Int): ItemConnection }
         type Page { info: Info, results: [Item] } type Info { count: Int, next: Int }",
    );
    assert_eq!(catalog.selection("query.items"), "pageInfo { hasNextPage } edges { cursor node { id } }");
    assert_eq!(catalog.selection("query.listed"), "info { count next } results { id }");
    assert_eq!(catalog.selection("query.names"), "pageInfo { hasNextPage } edges { node }");
    assert!(
        catalog
            .query("query.items", &json!({}))
            .starts_with("query items($first: Int) { items(first: $first) {")
    );
}

#[test]
fn a_selection_is_bounded() {
    let fields: Vec<String> = (0..3000).map(|number| format!("f{number}: Int, o{number}: O")).collect();
    let catalog = check(&format!(
        "type Query {{ wide: Wide }} type Wide {{ {} }} type O {{ id: ID!, x: Int }}",
        fields.join(", ")
    ));
    let selection = catalog.selection("query.wide");
    assert!(selection.len() < 4_000, "{}", selection.len());
    assert!(selection.contains("f99 ") && !selection.contains("f100 "), "{selection}");
}
