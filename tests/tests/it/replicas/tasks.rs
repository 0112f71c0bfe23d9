//! Programs whose clients are given tasks (waiting.md 6.3): over HTTP, on pipes, on two replicas.

use std::path::Path;

use ptc_mcp::json::{Value, json};

use super::shared::Place;
use ptc_test_support::modern::{Modern, takes_tasks};
use ptc_test_support::process::{Http, Launch, until};
use ptc_test_support::wait_until;

/// The flags of a server whose calls may become tasks.
const LONG: [&str; 3] = ["--long-runs", "--response-profile", "structured"];

const TASKS: &str = "io.modelcontextprotocol/tasks";

fn server() -> Http {
    Launch::new(&LONG).with_upstream().on_http()
}

fn client(server: &Http) -> Modern {
    Modern::new(&server.address, takes_tasks())
}

/// The arguments of a program that ends with `then` once there is a file at `path`.
fn after(path: &Path, then: &str) -> Value {
    json!({"program": format!("(def r {}) {then}", until(path)), "wait_ms": 0})
}

/// Asks for a region and for a count at once.
const ASKS: &str = r#"
(let [asked (fn [message key type]
              #(let [r (ask {:message message :schema {:type "object" :properties {key {:type type}} :required [key]}})]
                 (if (:ok r) (get (:value r) key) (:reason r))))]
  (pcalls (asked "Which region?" "region" "string") (asked "How many?" "count" "integer")))"#;

/// The id of a task that a call has become.
fn begins(client: &Modern, arguments: Value) -> String {
    let task = client.tool("lisp_eval", arguments);
    assert_eq!(task["resultType"], "task", "{task}");
    task["taskId"].as_str().unwrap().to_owned()
}

fn get(client: &Modern, id: &str) -> Value {
    client.request("tasks/get", &json!({"taskId": id}))
}

/// The task as soon as it has this status.
fn becomes(client: &Modern, id: &str, status: &str) -> Value {
    let mut task = Value::Null;
    wait_until(status, || {
        task = get(client, id);
        task["status"] == status
    });
    task
}

fn update(client: &Modern, id: &str, responses: Value) {
    let done = client.request("tasks/update", &json!({"taskId": id, "inputResponses": responses}));
    assert_acknowledges(&done);
}

fn assert_acknowledges(result: &Value) {
    let mut members: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!((members, &result["resultType"]), (vec!["_meta", "resultType"], &json!("complete")));
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn a_call_becomes_a_task_whose_result_is_that_of_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let server = server();
    let client = client(&server);
    let capabilities = &client.request("server/discover", &json!({}))["capabilities"];
    assert_eq!((&capabilities["extensions"], capabilities.get("tasks")), (&json!({TASKS: {}}), None));
    let task = client.tool("lisp_eval", after(&file, "(str \"r: \" r)"));
    for none in ["requestState", "inputRequests", "result", "error", "content", "task"] {
        assert!(task.get(none).is_none(), "{none} in {task}");
    }
    let id = task["taskId"].as_str().unwrap();
    assert!(id.starts_with("run_") && id.len() == 28, "{task}");
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    assert_eq!((&task["pollIntervalMs"], &task["ttlMs"]), (&json!(1000), &json!(1_200_000)));
    let working = get(&client, id);
    assert_eq!(working["resultType"], "complete");
    for same in ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"] {
        assert_eq!(working[same], task[same], "{same}");
    }
    wait_until("its call is told", || get(&client, id)["statusMessage"] == "1 upstream calls made");
    std::fs::write(&file, "").unwrap();
    let done = becomes(&client, id, "completed");
    assert_eq!(done["result"]["structuredContent"]["result"], "user=> \"r: there it is\"", "{done}");
    assert_eq!(
        (&done["result"]["isError"], &done["result"]["resultType"]),
        (&json!(false), &json!("complete"))
    );
    assert!(done["lastUpdatedAt"].as_str() >= task["lastUpdatedAt"].as_str(), "{done}");
    assert_eq!((&done["ttlMs"], &done["createdAt"]), (&task["ttlMs"], &task["createdAt"]));
    // Nothing changes any more.
    assert_acknowledges(&client.request("tasks/cancel", &json!({"taskId": id})));
    update(&client, id, json!({"q1": accept(json!({}))}));
    assert_eq!(get(&client, id), done);
    // A failure of the program is a result too.
    let later = dir.path().join("later");
    let id = begins(&client, after(&later, "(fail \"no\")"));
    std::fs::write(&later, "").unwrap();
    let failing = becomes(&client, &id, "completed");
    assert_eq!(failing["result"]["isError"], true, "{failing}");
    // What ends in time is no task, and a wish for one is not heeded.
    let params = json!({"name": "lisp_eval", "arguments": {"program": "(+ 1 2)"}, "task": {"ttl": 1}});
    let plain = client.request("tools/call", &params);
    assert_eq!((&plain["resultType"], plain.get("taskId")), (&json!("complete"), None));
}

#[test]
fn a_task_is_stopped_by_its_own_method() {
    let dir = tempfile::tempdir().unwrap();
    let server = server();
    let client = client(&server);
    let id = begins(&client, after(&dir.path().join("never"), "r"));
    assert_acknowledges(&client.request("tasks/cancel", &json!({"taskId": id})));
    let task = becomes(&client, &id, "cancelled");
    assert!(task.get("result").is_none() && task.get("error").is_none(), "{task}");
    let waiting = json!({"program": ptc_test_support::process::waiting()});
    wait_until("its call is cancelled", || {
        client.tool("lisp_eval", waiting.clone())["structuredContent"]["result"] == "user=> 0"
    });
}

#[test]
fn who_does_not_declare_the_extension_is_told_so_and_given_no_task() {
    let dir = tempfile::tempdir().unwrap();
    let server = server();
    let (client, other) = (client(&server), Modern::new(&server.address, json!({"elicitation": {}})));
    let id = begins(&client, after(&dir.path().join("never"), "r"));
    for (method, params) in [
        ("tasks/get", json!({"taskId": id})),
        ("tasks/get", json!({"taskId": "unknown"})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": id})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": [id]}})),
    ] {
        let (status, error) = other.error(method, &params);
        assert_eq!((status, &error["code"]), (400, &json!(-32021)), "{method}: {error}");
        let required = &error["data"]["requiredCapabilities"];
        assert_eq!(required, &json!({"extensions": {TASKS: {}}}), "{method}");
    }
    let running = other.tool("lisp_eval", after(&dir.path().join("never"), "r"));
    assert_eq!((&running["resultType"], running.get("taskId")), (&json!("complete"), None));
    let run = &running["structuredContent"];
    assert_eq!(run["status"], "running");
    // A run is a task to whoever takes it for one.
    assert_eq!(get(&client, run["run_id"].as_str().unwrap())["status"], "working");
}

#[test]
fn what_is_no_task_is_not_found_and_what_is_no_request_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = server();
    let client = client(&server);
    let id = begins(&client, after(&dir.path().join("never"), "r"));
    let huge = "x".repeat(6000);
    for unknown in ["unknown", "run_000000000000000000000000", &id[..27], &huge, "run_ä/../.."] {
        let name = if unknown.is_ascii() { unknown } else { "=?base64?cnVuX8OkLy4uLy4u?=" };
        for (method, params) in [
            ("tasks/get", json!({"taskId": unknown})),
            ("tasks/update", json!({"taskId": unknown, "inputResponses": {}})),
            ("tasks/cancel", json!({"taskId": unknown})),
        ] {
            let (status, message) = client.answer(method, &params, Some(name));
            let expected = json!({"code": -32602, "message": "Failed to retrieve task: Task not found"});
            assert_eq!((status, &message["error"]), (200, &expected), "{method}");
        }
    }
    for wrong in [json!(7), json!(null), json!([id]), json!({"id": id}), json!(true)] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let (_, error) = client.error(method, &json!({"taskId": wrong, "inputResponses": {}}));
            let expected = json!({"code": -32602, "message": "Invalid params: taskId must be a string"});
            assert_eq!(error, expected, "{method} {wrong}");
        }
        let (_, error) =
            client.error("subscriptions/listen", &json!({"notifications": {"taskIds": [wrong]}}));
        let message = "Invalid params: notifications.taskIds must be an array of strings";
        assert_eq!(error, json!({"code": -32602, "message": message}), "{wrong}");
    }
    for wrong in [json!(null), json!(7), json!([]), json!("{}")] {
        let (_, error) = client.error("tasks/update", &json!({"taskId": id, "inputResponses": wrong}));
        let message = "Invalid params: inputResponses must be an object";
        assert_eq!(error, json!({"code": -32602, "message": message}), "{wrong}");
    }
    let many: Vec<String> = (0..65).map(|n| format!("run_{n}")).collect();
    let (_, error) = client.error("subscriptions/listen", &json!({"notifications": {"taskIds": many}}));
    assert_eq!(error["message"], "Invalid params: notifications.taskIds may have 64 ids, not 65");
    // The name is that of the task.
    for name in [None, Some("run_000000000000000000000000"), Some("")] {
        let (status, message) = client.answer("tasks/get", &json!({"taskId": id}), name);
        assert_eq!((status, &message["error"]["code"]), (400, &json!(-32020)), "{message}");
    }
    for gone in ["tasks/list", "tasks/result"] {
        let (status, error) = client.error(gone, &json!({"taskId": id}));
        assert_eq!((status, &error["code"]), (404, &json!(-32601)), "{gone}");
    }
    assert_eq!(get(&client, &id)["status"], "working");
}

#[test]
fn where_runs_are_off_there_are_no_tasks() {
    let server = Launch::new(&[]).on_http();
    let client = client(&server);
    let discovered = client.request("server/discover", &json!({}));
    assert!(discovered["capabilities"].get("extensions").is_none(), "{discovered}");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let (status, error) = client.error(method, &json!({"taskId": "run_x", "inputResponses": {}}));
        assert_eq!((status, &error["code"]), (404, &json!(-32601)), "{method}");
    }
    let plain = client.tool("lisp_eval", json!({"program": "(+ 1 2)"}));
    assert_eq!(plain["resultType"], "complete");
}

#[test]
fn a_task_asks_its_client_and_takes_answers_as_they_come() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let server = server();
    let client = client(&server);
    let id = begins(&client, after(&file, ASKS));
    let promised = get(&client, &id)["ttlMs"].as_u64();
    std::fs::write(&file, "").unwrap();
    let task = becomes(&client, &id, "input_required");
    assert_eq!(task["statusMessage"], "2 answers are needed before it goes on");
    let requests = &task["inputRequests"];
    assert_eq!(requests.as_object().unwrap().len(), 2, "{task}");
    let region = json!({"method": "elicitation/create", "params": {"mode": "form",
        "message": "A program asks: Which region?",
        "requestedSchema": {"type": "object", "properties": {"region": {"type": "string"}}, "required": ["region"]}}});
    assert_eq!(requests["q1"], region);
    assert!(task.get("requestState").is_none() && task["ttlMs"].as_u64() > promised, "{task}");
    // What is not asked, and what is nothing, changes nothing.
    update(&client, &id, json!({}));
    update(&client, &id, json!({"q9": accept(json!({})), "x": {"ignored": true}, "q02": 7}));
    assert_eq!(get(&client, &id), task);
    let wrong = json!({"taskId": id, "inputResponses": {"q1": {"action": "maybe"}}});
    let (_, error) = client.error("tasks/update", &wrong);
    assert_eq!(error["message"], "Invalid params: inputResponses.q1 is not an elicitation result");
    assert_eq!(error["data"]["reason"], "responses");
    // What does not fit is asked again.
    update(&client, &id, json!({"q2": accept(json!({"count": "many"}))}));
    let again = get(&client, &id);
    let message = again["inputRequests"]["q2"]["params"]["message"].as_str().unwrap();
    assert!(message.ends_with("A program asks: How many?") && message.len() > 25, "{again}");
    // Some are answered, each once.
    update(&client, &id, json!({"q1": accept(json!({"region": "eu"}))}));
    update(&client, &id, json!({"q1": accept(json!({"region": "us"}))}));
    let half = get(&client, &id);
    assert_eq!(half["statusMessage"], "1 answer is needed before it goes on");
    assert_eq!(half["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["q2"], "{half}");
    update(&client, &id, json!({"q2": accept(json!({"count": 3}))}));
    let done = becomes(&client, &id, "completed");
    assert_eq!(done["result"]["structuredContent"]["result"], "user=> [\"eu\" 3]", "{done}");
    assert!(done["ttlMs"].as_u64() >= task["ttlMs"].as_u64(), "{done}");
}

#[test]
fn a_client_that_shows_nothing_is_asked_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let server = server();
    let client = Modern::new(&server.address, json!({"extensions": {TASKS: {}}}));
    let id = begins(&client, after(&file, ASKS));
    std::fs::write(&file, "").unwrap();
    let done = becomes(&client, &id, "completed");
    assert_eq!(
        done["result"]["structuredContent"]["result"], "user=> [:unanswerable :unanswerable]",
        "{done}"
    );
}

#[test]
fn what_is_asked_before_there_is_a_task_is_asked_by_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let server = server();
    let client = client(&server);
    let program = format!(
        "(let [r (ask {{:message \"Who?\" :schema {{:type \"object\" :properties {{:name {{:type \"string\"}}}}}}}})] {} (get (:value r) \"name\"))",
        until(&file)
    );
    let arguments = json!({"program": program, "wait_ms": 2000});
    let asked = loop {
        let asked = client.tool("lisp_eval", arguments.clone());
        // On a busy machine it may take longer than its client waits.
        if asked["resultType"] != "task" {
            break asked;
        }
    };
    assert_eq!((&asked["resultType"], asked.get("taskId")), (&json!("input_required"), None), "{asked}");
    let retry = json!({"name": "lisp_eval", "arguments": arguments, "requestState": asked["requestState"],
        "inputResponses": {"q1": accept(json!({"name": "Alice"}))}});
    let task = client.request("tools/call", &retry);
    assert_eq!((&task["resultType"], task.get("requestState")), (&json!("task"), None), "{task}");
    std::fs::write(&file, "").unwrap();
    let done = becomes(&client, task["taskId"].as_str().unwrap(), "completed");
    assert_eq!(done["result"]["structuredContent"]["result"], "user=> \"Alice\"", "{done}");
}

#[test]
fn a_channel_tells_of_each_change_of_the_callers_own_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let server = server();
    let client = client(&server);
    let id = begins(&client, after(&file, ASKS));
    let stopped = begins(&client, after(&dir.path().join("never"), "r"));
    let mut channel = client.listen(json!({"taskIds": [id, "run_000000000000000000000000", id, stopped]}));
    let mut own = [id.clone(), stopped.clone()];
    own.sort_unstable();
    let acknowledged = channel.told().unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": own}));
    let mut told = |id: &str, status: &str| loop {
        let message = channel.told().expect("it is open");
        assert_eq!(message["method"], "notifications/tasks", "{message}");
        let params = &message["params"];
        assert_eq!(params["_meta"], json!({"io.modelcontextprotocol/subscriptionId": 7}));
        assert!(params.get("resultType").is_none());
        if params["taskId"] == id && params["status"] == status {
            return params.clone();
        }
        assert_eq!(params["status"], "working", "{message}");
    };
    client.request("tasks/cancel", &json!({"taskId": stopped}));
    told(&stopped, "cancelled");
    std::fs::write(&file, "").unwrap();
    let asks = told(&id, "input_required");
    assert_eq!(asks["inputRequests"], get(&client, &id)["inputRequests"]);
    update(&client, &id, json!({"q1": accept(json!({"region": "eu"}))}));
    let half = told(&id, "input_required");
    assert_eq!(half["inputRequests"].as_object().unwrap().len(), 1, "{half}");
    update(&client, &id, json!({"q2": {"action": "decline"}}));
    let mut done = told(&id, "completed");
    // It is the whole task.
    let mut seen = get(&client, &id);
    for own in ["resultType", "_meta"] {
        seen.as_object_mut().unwrap().remove(own);
        done.as_object_mut().unwrap().remove(own);
    }
    assert_eq!(done, seen);
    // One that has ended is told at once.
    let mut late = client.listen(json!({"taskIds": [id]}));
    assert_eq!(late.told().unwrap()["params"]["notifications"], json!({"taskIds": [id]}));
    assert_eq!(late.told().unwrap()["params"]["status"], "completed");
}

#[test]
fn on_a_pipe_the_end_of_a_request_is_not_that_of_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let mut server = Launch::new(&LONG).with_upstream().on_pipes();
    let mut request = |id: u64, method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": takes_tasks()});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        server.send(format!("{message}\n").as_bytes());
        let answer: Value = serde_json::from_str(&server.line()).unwrap();
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        server.send(format!("{cancelled}\n").as_bytes());
        answer["result"].clone()
    };
    let begun = request(1, "tools/call", json!({"name": "lisp_eval", "arguments": after(&file, "r")}));
    let id = begun["taskId"].as_str().unwrap().to_owned();
    assert_eq!(request(2, "tasks/get", json!({"taskId": id}))["status"], "working");
    std::fs::write(&file, "").unwrap();
    wait_until("it ends", || request(3, "tasks/get", json!({"taskId": id}))["status"] == "completed");
}

#[test]
fn a_task_is_seen_answered_told_and_stopped_through_another_replica() {
    let Some(place) = Place::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let launch = || place.launch(&LONG).with_upstream().on_http();
    let (one, other) = (launch(), launch());
    let (here, there) = (client(&one), client(&other));
    let id = begins(&here, after(&file, ASKS));
    let seen = get(&there, &id);
    assert_eq!((&seen["status"], &seen["createdAt"]), (&json!("working"), &get(&here, &id)["createdAt"]));
    let mut channel = there.listen(json!({"taskIds": [id]}));
    assert_eq!(channel.told().unwrap()["params"]["notifications"], json!({"taskIds": [id]}));
    let mut told = |status: &str| loop {
        let message = channel.told().expect("it is open");
        if message["params"]["status"] == status {
            return message["params"].clone();
        }
    };
    told("working");
    std::fs::write(&file, "").unwrap();
    assert_eq!(told("input_required")["inputRequests"].as_object().unwrap().len(), 2);
    update(&there, &id, json!({"q2": accept(json!({"count": 3}))}));
    update(&here, &id, json!({"q1": accept(json!({"region": "eu"}))}));
    let done = told("completed");
    assert_eq!(done["result"]["structuredContent"]["result"], "user=> [\"eu\" 3]", "{done}");
    assert_eq!(becomes(&here, &id, "completed")["result"], done["result"]);
    let stopped = begins(&here, after(&dir.path().join("never"), "r"));
    assert_acknowledges(&there.request("tasks/cancel", &json!({"taskId": stopped})));
    assert_eq!(get(&there, &stopped)["status"], "cancelled");
    becomes(&here, &stopped, "cancelled");
}

#[test]
fn a_call_of_an_exposed_tool_becomes_a_task_that_another_replica_shows() {
    let Some(place) = Place::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let flags = ["--long-runs", "--answer-within-ms", "1", "--expose", "tools"];
    let launch = || place.launch(&flags).with_upstream().on_http();
    let (one, other) = (launch(), launch());
    let (here, there) = (client(&one), client(&other));
    let task = here.tool("fake__until", json!({"path": file}));
    assert_eq!(task["resultType"], "task", "{task}");
    let id = task["taskId"].as_str().unwrap();
    assert_eq!(get(&there, id)["status"], "working");
    std::fs::write(&file, "").unwrap();
    let done = becomes(&there, id, "completed");
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(done["result"]["content"][0]["text"], "there it is", "{done}");
    assert_eq!(becomes(&here, id, "completed")["result"], done["result"]);
}

#[test]
fn a_call_of_an_exposed_tool_is_approved_at_another_replica_and_made_once() {
    let Some(place) = Place::new() else { return };
    let approved = json!({"approve_tools": ["echo"]});
    let launch = || place.launch(&["--expose", "tools"]).with_upstream_of(&approved).on_http();
    let (one, other) = (launch(), launch());
    let asked = |server: &Http| Modern::new(&server.address, json!({"elicitation": {"form": {}}}));
    let mut call = json!({"name": "fake__echo", "arguments": {"x": 1}});
    let waiting = asked(&one).request("tools/call", &call);
    assert_eq!(waiting["resultType"], "input_required", "{waiting}");
    let question = waiting["inputRequests"].as_object().unwrap().keys().next().unwrap();
    call["requestState"] = waiting["requestState"].clone();
    call["inputResponses"] = json!({question: accept(json!({"decision": "allow"}))});
    let done = asked(&other).request("tools/call", &call);
    assert_eq!(done["isError"], false, "{done}");
    assert_eq!(done["content"][0]["text"], r#"{"x":1}"#, "{done}");
    // It was answered there, and is not made again here.
    call["inputResponses"] = json!({question: {"action": "decline"}});
    let (_, again) = asked(&one).answer("tools/call", &call, Some("fake__echo"));
    assert!(!again.to_string().contains("declined"), "{again}");
}
