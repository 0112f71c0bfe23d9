//! Two people whom one upstream lists different tools (auth.md 12.2): each sees what the server told its own connection, wherever
//! it looks, and no byte of the other's.

use std::collections::HashMap;
use std::path::Path;

use ptc_mcp::json::{Value, json};

use super::plain;
use super::server::{ANN, BEN, Server};
use crate::agent::model::{Provider, says};
use ptc_test_support::authorization_server::{AuthorizationServer, Script, Trouble};
use ptc_test_support::wait_until;

/// A server at which the first to sign in may refund, and the second may audit.
fn crm() -> AuthorizationServer {
    let own_tools = HashMap::from([(0, vec!["refund"]), (1, vec!["audit"])]);
    AuthorizationServer::start(Script { own_tools, ..plain("/mcp") })
}

/// Everything that shows a caller tools, resources or prompts, but what it does not see by itself.
fn shown(server: &Server, token: &str, own: &str) -> Vec<(&'static str, String)> {
    let method = |method: &str| server.post(token, method, None, json!({})).body;
    vec![
        ("dir", server.evals(token, "(dir \"notes\")")),
        ("apropos", server.evals(token, "(apropos \"does\")")),
        ("servers", server.evals(token, "(tool/servers)")),
        ("doc", server.evals(token, &format!("(doc \"notes/{own}\")"))),
        ("meta", server.evals(token, &format!("(meta \"notes/{own}\")"))),
        ("resources", server.evals(token, "(resource/list {:server \"notes\"})")),
        ("prompts", server.evals(token, "(prompt/list {:server \"notes\"})")),
        ("resources/list", method("resources/list")),
        ("prompts/list", method("prompts/list")),
        ("catalog", server.get("/console/api/catalog", token).body),
    ]
}

/// The files below a folder, one after the other, but those of the shapes of answers, which belong to a principal each.
fn all_files(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = entries.map(|entry| match entry.path() {
        path if path.is_dir() => all_files(&path),
        path if path.to_string_lossy().ends_with(".shapes.json") => String::new(),
        path => String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned(),
    });
    texts.collect()
}

#[test]
fn two_people_see_the_lists_of_their_own_connections() {
    let hosted = crm();
    let model = Provider::start(vec![says("```clojure\n(return 1)\n```")]);
    let name = format!("openai-compat:{}|m", model.base);
    let server = Server::start(
        &hosted,
        &[
            "--console",
            "--expose",
            "resources,prompts",
            "--agentic",
            "--agentic-allow-writes",
            "--agentic-model",
            &name,
        ],
    );
    server.signs_in(ANN);
    server.signs_in(BEN);
    for (token, own, other) in [(ANN, "refund", "audit"), (BEN, "audit", "refund")] {
        for (place, text) in shown(&server, token, own) {
            let expected = if place == "servers" { "\"tool_count\" 3" } else { own };
            assert!(text.contains(expected), "{place}: {text}");
            assert!(!text.contains(other), "{place}: {text}");
        }
        let unknown = server.evals(token, &format!("(doc \"notes/{other}\")"));
        assert!(unknown.contains("Known tools: ") && unknown.contains(own), "{unknown}");
        assert_eq!(unknown.matches(other).count(), 1, "its own question alone: {unknown}");
        // Calls are checked against the own list: by name, and by the schema of its arguments.
        let call = |tool: &str, args: &str| {
            let program = format!("(:value (tool/call {{:server \"notes\" :tool \"{tool}\" :args {args}}}))");
            server.evals(token, &program)
        };
        assert!(call(own, "{:id 1}").contains("family"), "{}", call(own, "{:id 1}"));
        let wrong = call(own, "{:ip 1}");
        assert!(wrong.contains("missing required args id") && wrong.contains("expected :id"), "{wrong}");
        let unknown = call(other, "{:id 1}");
        assert!(unknown.contains("Known tools: ") && unknown.contains(own), "{unknown}");
        assert_eq!(unknown.matches(other).count(), 1, "its own question alone: {unknown}");
        // What a planner is told before it writes a program.
        server.call(token, "lisp_task", json!({"task": "Count."}));
        let asked = model.asked().pop().expect("a request").body.to_string();
        assert!(asked.contains(own) && !asked.contains(other), "{asked}");
    }
    // What all share, and what is kept for the next start, names neither.
    let tools = server.post(ANN, "tools/list", None, json!({})).body;
    let kept = all_files(&server.path(".cache"));
    for text in [&tools, &kept] {
        assert!(!text.contains("refund") && !text.contains("audit"), "{text}");
    }
}

#[test]
fn exposed_tools_of_an_own_list_are_those_of_the_caller_who_signed_in() {
    let hosted = crm();
    let server = Server::start(&hosted, &["--expose", "tools"]);
    let listed = |token: &str| server.post(token, "tools/list", None, json!({})).body;
    let called = |token: &str, tool: &str| {
        let answer = server.call(token, tool, json!({"id": 1}));
        let message: Value = serde_json::from_str(&answer.body).expect("JSON");
        message
    };
    for token in [ANN, BEN] {
        assert!(!listed(token).contains("notes__"), "nobody has signed in");
        // Whoever calls a tool by its name is told where to sign in.
        let answer = called(token, "notes__whoami");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer.to_string().contains("a person must open:"), "{answer}");
    }
    server.signs_in(ANN);
    wait_until("her tools are listed", || listed(ANN).contains("\"notes__refund\""));
    assert!(!listed(BEN).contains("notes__"), "he has not signed in");
    server.signs_in(BEN);
    wait_until("his tools are listed", || listed(BEN).contains("\"notes__audit\""));
    for (token, own, other) in [(ANN, "refund", "audit"), (BEN, "audit", "refund")] {
        let tools = listed(token);
        assert!(tools.contains("\"notes__whoami\"") && !tools.contains(other), "{tools}");
        let answer = called(token, &format!("notes__{own}"));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(answer.to_string().contains("family"), "{answer}");
        let unknown = called(token, &format!("notes__{other}"));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
}

#[test]
fn a_changed_list_is_that_of_its_connection_alone() {
    let hosted = crm();
    let server = Server::start(&hosted, &["--console"]);
    server.signs_in(ANN);
    server.signs_in(BEN);
    let dir = |token: &str| server.evals(token, "(dir \"notes\")");
    let catalog = |token: &str| server.get("/console/api/catalog", token).body;
    assert!(dir(ANN).contains("refund") && dir(BEN).contains("audit"));
    // An announcement, which comes with the answer of a call of hers.
    let change = |family: usize, tool: &'static str, is_told: bool| {
        let mut script = hosted.script();
        script.own_tools.insert(family, vec![tool]);
        script.announces_list = is_told;
    };
    change(0, "export", true);
    change(1, "import", true);
    server.calls(ANN);
    wait_until("the change is known", || catalog(ANN).contains("export"));
    assert!(!catalog(ANN).contains("refund") && dir(ANN).contains("export"));
    assert!(
        dir(BEN).contains("audit") && !catalog(BEN).contains("import"),
        "nothing was told on his connection"
    );
    // A session that is lost, after which the next one lists anew.
    change(1, "archive", false);
    hosted.trouble("/mcp", Trouble::Status(404, None));
    server.calls(BEN);
    wait_until("the new session is listed", || catalog(BEN).contains("archive"));
    assert!(catalog(ANN).contains("export") && !catalog(ANN).contains("archive"));
}

#[test]
fn a_policy_narrows_an_own_list_and_another_sign_in_replaces_it() {
    let hosted = crm();
    let policy = |allowed: Value| {
        let about =
            |name: &str| json!({"match": {"principal": name}, "upstreams": {"notes": {"allow": allowed}}});
        json!({"rules": [about("ann"), about("ben")]})
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policy.json");
    std::fs::write(&file, policy(json!(["whoami", "audit"])).to_string()).expect("written");
    let server = Server::start(&hosted, &["--console", "--policy", file.to_str().expect("UTF-8")]);
    server.signs_in(ANN);
    server.signs_in(BEN);
    let dir = |token: &str| server.evals(token, "(dir \"notes\")");
    let (ann, ben) = (dir(ANN), dir(BEN));
    assert!(ann.contains("whoami") && !ann.contains("refund") && !ann.contains("write"), "{ann}");
    assert!(ben.contains("whoami") && ben.contains("audit") && !ben.contains("write"), "{ben}");
    // The sign-in ends; the next one is the third at the server, for which it has other tools.
    hosted.script().own_tools.insert(2, vec!["audit", "more"]);
    hosted.end_families();
    assert!(server.calls(ANN).contains("a person must open:"));
    assert!(
        !server.get("/console/api/catalog", ANN).body.contains("whoami"),
        "the list went with the sign-in"
    );
    server.signs_in(ANN);
    let ann = dir(ANN);
    assert!(ann.contains("audit") && !ann.contains("more"), "{ann}");
}
