//! What becomes of each client's file, and that nothing becomes of the rest
//! of it.

use serde_json::{Value, json};

use super::clients::{CLIENTS, Client, Format};
use super::edit::Spot;
use super::entry::Launch;

fn launch() -> Launch {
    Launch {
        command: "/opt/it's \"here\"/executor".into(),
        args: ["mcp", "--client", "x", "--token-file", "/h/a b/x.token"].map(Into::into).into(),
    }
}

fn spot(client: &Client) -> Spot<'static> {
    Spot { format: client.format, container: client.container, name: "executor" }
}

fn named(id: &str) -> &'static Client {
    Client::named(id).unwrap()
}

#[track_caller]
fn put(id: &str, before: &str) -> String {
    let client = named(id);
    spot(client).put(before, &client.shape.entry(&launch())).unwrap().text
}

/// Puts the entry in and takes it out again.
#[track_caller]
fn round(id: &str, before: &str) -> String {
    let client = named(id);
    let put = spot(client).put(before, &client.shape.entry(&launch())).unwrap();
    let found = spot(client).find(&put.text).unwrap().unwrap();
    assert_eq!(client.shape.launch(&found), Some(launch()), "{}", put.text);
    spot(client).take(&put.text, put.made_container).unwrap().unwrap()
}

#[test]
fn claude_code() {
    let before = r#"{
  "numStartups": 3,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://example.com/mcp"
    }
  },
  "projects": {}
}
"#;
    insta::assert_snapshot!(put("claude-code", before), @r#"
    {
      "numStartups": 3,
      "mcpServers": {
        "github": {
          "type": "http",
          "url": "https://example.com/mcp"
        },
        "executor": {
          "type": "stdio",
          "command": "/opt/it's \"here\"/executor",
          "args": [
            "mcp",
            "--client",
            "x",
            "--token-file",
            "/h/a b/x.token"
          ]
        }
      },
      "projects": {}
    }
    "#);
}

#[test]
fn claude_desktop() {
    insta::assert_snapshot!(put("claude-desktop", ""), @r#"
    {
      "mcpServers": {
        "executor": {
          "command": "/opt/it's \"here\"/executor",
          "args": [
            "mcp",
            "--client",
            "x",
            "--token-file",
            "/h/a b/x.token"
          ]
        }
      }
    }
    "#);
}

#[test]
fn cursor() {
    insta::assert_snapshot!(put("cursor", "{\n\t\"mcpServers\": {}\n}\n"), @r#"
    {
    	"mcpServers": {
    		"executor": {
    			"type": "stdio",
    			"command": "/opt/it's \"here\"/executor",
    			"args": [
    				"mcp",
    				"--client",
    				"x",
    				"--token-file",
    				"/h/a b/x.token"
    			]
    		}
    	}
    }
    "#);
}

#[test]
fn vscode() {
    let before = r#"{
	// what the editor asks for
	"inputs": [
		{ "id": "key", "type": "promptString", }, /* one */
	],
	"servers": {
		"own": { "type": "stdio", "command": "own" }, // mine
	},
}
"#;
    insta::assert_snapshot!(put("vscode", before), @r#"
    {
    	// what the editor asks for
    	"inputs": [
    		{ "id": "key", "type": "promptString", }, /* one */
    	],
    	"servers": {
    		"own": { "type": "stdio", "command": "own" }, // mine
    		"executor": {
    			"type": "stdio",
    			"command": "/opt/it's \"here\"/executor",
    			"args": [
    				"mcp",
    				"--client",
    				"x",
    				"--token-file",
    				"/h/a b/x.token"
    			]
    		},
    	},
    }
    "#);
    assert_eq!(put("vscodium", before), put("vscode-insiders", before));
}

#[test]
fn codex() {
    let before = r#"# my settings
model = "gpt-5" # the good one

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]

[tui]
theme = "dark"
"#;
    insta::assert_snapshot!(put("codex", before), @r#"
    # my settings
    model = "gpt-5" # the good one

    [mcp_servers.docs]
    command = "npx"
    args = ["-y", "docs"]

    [tui]
    theme = "dark"

    [mcp_servers.executor]
    command = """/opt/it's "here"/executor"""
    args = ["mcp", "--client", "x", "--token-file", "/h/a b/x.token"]
    "#);
}

#[test]
fn opencode() {
    let before = r#"{
  "$schema": "https://opencode.ai/config.json",
  "model": "some/model" // keep
}
"#;
    insta::assert_snapshot!(put("opencode", before), @r#"
    {
      "$schema": "https://opencode.ai/config.json",
      "model": "some/model", // keep
      "mcp": {
        "executor": {
          "type": "local",
          "command": [
            "/opt/it's \"here\"/executor",
            "mcp",
            "--client",
            "x",
            "--token-file",
            "/h/a b/x.token"
          ],
          "enabled": true
        }
      }
    }
    "#);
}

#[test]
fn zed() {
    let before = r#"// Zed settings
//
{
  "theme": "One Dark",
  // servers
  "context_servers": {
    // none yet
  },
  "vim_mode": true,
}
"#;
    insta::assert_snapshot!(put("zed", before), @r#"
    // Zed settings
    //
    {
      "theme": "One Dark",
      // servers
      "context_servers": {
        // none yet
        "executor": {
          "command": "/opt/it's \"here\"/executor",
          "args": [
            "mcp",
            "--client",
            "x",
            "--token-file",
            "/h/a b/x.token"
          ]
        }
      },
      "vim_mode": true,
    }
    "#);
}

#[test]
fn windsurf() {
    insta::assert_snapshot!(put("windsurf", r#"{"mcpServers":{"a":{"command":"a"}}}"#), @r#"{"mcpServers":{"a":{"command":"a"},"executor":{"command":"/opt/it's \"here\"/executor","args":["mcp","--client","x","--token-file","/h/a b/x.token"]}}}"#);
}

/// Files as people and programs write them, with a container and without.
fn json_texts(container: &str) -> Vec<String> {
    let bodies = [
        "{}",
        "{}\n",
        "{\"a\":1}",
        "{ \"a\": 1 }",
        "{ \"a\": 1, }",
        "{\"a\":1,}",
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1,\n}\n",
        "{\n\t\"a\": [\n\t\t1, // one\n\t\t2,\n\t],\n}\n",
        "{\n    \"a\": \"}, { // no comment\" // yes, one\n    // and another }\n}\n",
        "{\n  \"a\": 1 /* , */ , // x\n}\n",
        "{ \"a\": 1,\n  \"b\": 2 }\n",
        "// first\n{\n  \"a\": { \"b\": { \"c\": [] } }\n}\n// last\n",
        "{ // c\n  \"a\": 1 }\n",
        "{\n\n  \"a\": 1,\n\n  \"b\": 2\n\n}",
        "{\n  /* only a comment */\n}\n",
        "{\"a\":\"\\u007d\\\"\",\"é\":\"日本\"}",
    ];
    let holders = [
        "{\"C\":{}}",
        "{\n  \"C\": {}\n}\n",
        "{\n  \"C\": {\n    \"x\": { \"command\": \"x\" }\n  }\n}\n",
        "{\n  \"C\": {\n    \"x\": { \"command\": \"x\" }, // x\n    // y\n  },\n  \"z\": 1\n}\n",
        "{\n  \"C\": { \"x\": {} }\n}\n",
        "{\n  \"C\": { \"x\": {}, },\n}\n",
        "{\"C\":{\"x\":{}},\"z\":1}",
        "{\n  \"C\": {\n    // none yet\n  }\n}\n",
        "{\n\t\"z\": 1,\n\t\"C\":\n\t{\n\t\t\"x\": 1\n\t}\n}\n",
        "{\n  \"C\": { /* none */ }\n}\n",
    ];
    let mut texts: Vec<String> = bodies.iter().map(|body| (*body).to_owned()).collect();
    texts.extend(holders.iter().map(|holder| holder.replace('C', container)));
    let windows: Vec<String> = texts.iter().map(|text| text.replace('\n', "\r\n")).collect();
    texts.extend(windows);
    texts
}

fn toml_texts() -> Vec<String> {
    let texts = [
        "",
        "\n",
        "# a comment\n",
        "a = 1\n",
        "a = 1\n\n\n",
        "a = 1\n[b]\nc = \"\"\"\n[mcp_servers.executor]\n\"\"\" # no heading\n",
        "[mcp_servers]\n",
        "[mcp_servers]\nx = { command = \"x\" }\n",
        "[mcp_servers.x]\ncommand = 'x'\n[mcp_servers.x.env]\nA = \"1\"\n\n[[list]]\na = 1\n\n# the end\n",
        "mcp_servers.x.command = \"x\"\n",
        "[ mcp_servers . \"x\" ] # odd\ncommand=\"x\"\n",
    ];
    let mut texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    let windows: Vec<String> = texts.iter().map(|text| text.replace('\n', "\r\n")).collect();
    texts.extend(windows);
    texts
}

#[test]
fn what_is_put_in_and_taken_out_leaves_every_byte() {
    for client in CLIENTS {
        let texts = match client.format {
            Format::Json => json_texts(client.container),
            Format::Toml => toml_texts(),
        };
        for text in texts {
            assert_eq!(round(client.id, &text), text, "{}", put(client.id, &text));
        }
    }
}

/// Every place in a text where blanks may stand gets some, or a comment.
#[test]
fn blanks_and_comments_anywhere_stay() {
    let tokens = ["{", "\"z\"", ":", "1", ",", "\"mcpServers\"", ":", "{", "\"x\"", ":", "{", "}", "}", "}"];
    for fill in [" ", "\n", "\t", "\r\n", "/* , } */", " // } ,\n", "\n\n  "] {
        for at in 0..=tokens.len() {
            for trailing in [false, true] {
                let mut text = String::new();
                for (number, token) in tokens.iter().enumerate() {
                    if number == at {
                        text.push_str(fill);
                    }
                    text.push_str(token);
                    if trailing && number + 1 == tokens.len() - 1 {
                        text.push(',');
                    }
                }
                if at == tokens.len() {
                    text.push_str(fill);
                }
                assert_eq!(round("cursor", &text), text, "{}", put("cursor", &text));
            }
        }
    }
}

#[test]
fn an_entry_among_others_is_taken_out_alone() {
    let take = |id: &str, text: &str| spot(named(id)).take(text, false).unwrap();
    let before = r#"{
  "mcpServers": {
    "a": {},
    "executor": {
      "command": "x"
    }, // said by somebody
    // about b
    "b": {}
  }
}
"#;
    insta::assert_snapshot!(take("cursor", before).unwrap(), @r#"
    {
      "mcpServers": {
        "a": {},
        // said by somebody
        // about b
        "b": {}
      }
    }
    "#);
    let first = r#"{"mcpServers":{"executor":{}, "b":{}}}"#;
    assert_eq!(take("cursor", first).unwrap(), r#"{"mcpServers":{"b":{}}}"#);
    let last = "{\"mcpServers\":{\"a\":1 /* a */ , /* b */ \"executor\":{} /* c */ }}";
    assert_eq!(take("cursor", last).unwrap(), "{\"mcpServers\":{\"a\":1 /* a */  /* b */  /* c */ }}");
    assert_eq!(take("cursor", "{\"mcpServers\":{}}"), None);
    assert_eq!(take("cursor", ""), None);
    let toml = "[mcp_servers.executor]\ncommand = \"x\"\n# mine\n[mcp_servers.executor.env]\nA = \"1\"\n\n# about b\n[b]\n";
    assert_eq!(take("codex", toml).unwrap(), "# mine\n\n# about b\n[b]\n");
}

#[test]
fn an_entry_that_differs_is_replaced_where_it_stands() {
    let before = r#"{
  "mcpServers": {
    "executor": { "url": "http://127.0.0.1:4788/mcp" }, // old
    "b": {}
  }
}
"#;
    insta::assert_snapshot!(put("cursor", before), @r#"
    {
      "mcpServers": {
        "executor": {
          "type": "stdio",
          "command": "/opt/it's \"here\"/executor",
          "args": [
            "mcp",
            "--client",
            "x",
            "--token-file",
            "/h/a b/x.token"
          ]
        }, // old
        "b": {}
      }
    }
    "#);
    let before = "[mcp_servers.executor]\nurl = \"x\"\n\n[mcp_servers.executor.env]\nA = \"1\"\n\n[tui]\n";
    insta::assert_snapshot!(put("codex", before), @r#"
    [mcp_servers.executor]
    command = """/opt/it's "here"/executor"""
    args = ["mcp", "--client", "x", "--token-file", "/h/a b/x.token"]


    [tui]
    "#);
    for client in CLIENTS {
        let once = put(client.id, "");
        assert_eq!(put(client.id, &once), once, "{}", client.id);
    }
}

#[track_caller]
fn refused(id: &str, text: &str, why: &str) {
    let client = named(id);
    let refusal = spot(client).put(text, &client.shape.entry(&launch())).unwrap_err();
    assert!(refusal.0.contains(why), "{text:?}: {}", refusal.0);
    assert!(spot(client).take(text, true).is_err(), "{text:?}");
}

#[test]
fn what_can_not_be_changed_safely_is_refused_with_where() {
    refused("cursor", "{\n  \"a\": 1\n  \"b\": 2\n}", "line 2 column 9: Expected comma");
    refused("cursor", "{\n  \"a\": é\n}", "line 2 column 8");
    refused("cursor", "{'a': 1}", "no valid JSON, line 1 column 2");
    refused("cursor", "{a: 1}", "no valid JSON, line 1 column 2");
    refused("cursor", "{} {}", "no valid JSON");
    refused("cursor", "[1]", "must hold an object, and holds a list, line 1 column 1");
    refused(
        "cursor",
        "{\n \"mcpServers\": [\"executor\"]\n}",
        "`mcpServers` must be an object, and is a list, line 2 column 16",
    );
    refused("zed", "{\"context_servers\": null}", "is null");
    refused(
        "cursor",
        "{\"mcpServers\":{},\n\"mcpServers\":{\"executor\":{}}}",
        "`mcpServers` stands twice in one object, again at line 2 column 1",
    );
    refused("cursor", "{\"mcpServers\":{\"executor\":1,\"executor\":2}}", "`executor` stands twice");
    refused("cursor", &"[".repeat(100_000), "nesting depth");
    refused("codex", "a = 1\nb = \n", "no valid TOML, line 2");
    refused("codex", "a = 1\na = 2\n", "line 2 column 1: duplicate key");
    refused(
        "codex",
        "mcp_servers = 3\n",
        "`mcp_servers` must be a table, and is of type integer, line 1 column 15",
    );
    refused("codex", "[[mcp_servers]]\n", "must be a table");
    refused("codex", "[mcp_servers]\nexecutor = { command = \"x\" }\n", "under a heading of its own");
    refused("codex", "mcp_servers.executor.command = \"x\"\n", "under a heading of its own");
    let inline = "mcp_servers = { x = { command = \"x\" } }\n";
    let refusal = spot(named("codex")).put(inline, &json!({})).unwrap_err();
    assert!(refusal.0.contains("`mcp_servers` is not written as a table"), "{}", refusal.0);
    assert_eq!(spot(named("codex")).take(inline, true).unwrap(), None);
}

/// A key with escapes is the same key.
#[test]
fn an_escaped_name_is_seen() {
    let text = "{\"mcp\\u0053ervers\":{\"execu\\u0074or\":{\"command\":\"old\"}}}";
    let found: Option<Value> = spot(named("cursor")).find(text).unwrap();
    assert_eq!(found, Some(json!({ "command": "old" })));
    assert!(!put("cursor", text).contains("old"));
}
