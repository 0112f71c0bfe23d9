//! Upstreams that a reload adds, changes and takes out.

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ptc_mcp::json::{Value, json};
use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Answer, Http, Launch, descriptors, is_alive, post, tool, until, waiting};
use ptc_test_support::wait_until;

use super::{children, entry, fault, reload, told};

/// A server over HTTP with the upstreams of a file.
struct World {
    http: Http,
    home: PathBuf,
}

impl World {
    fn start(upstreams: &Value, flags: &[&str]) -> World {
        let mut all = vec!["--program-timeout-ms", "600000", "--upstream-call-timeout-ms", "600000"];
        all.extend(flags);
        let launch = Launch::new(&[]);
        let home = launch.path("");
        let file = home.join("upstreams.json");
        fs::write(&file, json!({"upstreams": upstreams}).to_string()).expect("written");
        all.extend(["--upstreams-config", file.to_str().expect("UTF-8")]);
        let flags: Vec<String> = all.into_iter().map(str::to_owned).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let http = launch.with_flags(&flags).on_http();
        wait_until("it is there", || reload(&home, &["--check"]).status.success());
        World { http, home }
    }

    fn write(&self, upstreams: &Value) {
        fs::write(self.home.join("upstreams.json"), json!({"upstreams": upstreams}).to_string())
            .expect("written");
    }

    /// Reloads with these upstreams, and returns what is said of it.
    fn reload(&self, upstreams: &Value) -> String {
        self.write(upstreams);
        told(&reload(&self.home, &[]))
    }

    fn children(&self) -> Vec<u32> {
        children(self.http.server.pid())
    }

    /// The names of the servers that a program sees.
    fn servers(&self) -> String {
        self.http.eval("(mapv :name (tool/servers))")
    }
}

fn call_of(upstream: &str) -> String {
    format!("(:ok (tool/call {{:server \"{upstream}\" :tool \"waiting\" :args {{}}}}))")
}

#[test]
fn unchanged_upstreams_stay_changed_ones_are_replaced_and_new_ones_start() {
    let world = World::start(&json!({"fake": entry(""), "other": entry("one")}), &[]);
    let before = world.children();
    assert_eq!(before.len(), 2);
    let done = world.reload(&json!({"fake": entry(""), "other": entry("two"), "third": entry("")}));
    assert!(done.contains("upstreams added: third\n  upstreams changed: other"), "{done}");
    wait_until("the former child has ended", || world.children().len() == 3);
    let kept: Vec<u32> = world.children().into_iter().filter(|child| before.contains(child)).collect();
    assert_eq!(kept.len(), 1, "the unchanged one");
    for upstream in ["fake", "other", "third"] {
        assert_eq!(world.http.eval(&call_of(upstream)), "user=> true", "{upstream}");
    }
    let client = Modern::new(&world.http.address, json!({}));
    let listed = client.request("tools/list", &json!({})).to_string();
    assert!(listed.contains("third") && listed.contains("two"), "{listed}");
    assert!(client.request("server/discover", &json!({})).to_string().contains("third"));
    let done = world.reload(&json!({"fake": entry("")}));
    assert!(done.contains("upstreams removed: other, third"), "{done}");
    wait_until("theirs have ended", || world.children() == kept);
    assert!(!client.request("tools/list", &json!({})).to_string().contains("third"));
    assert!(world.http.eval(&call_of("other")).contains("no upstream 'other' configured"));
    assert!(told(&reload(&world.home, &[])).starts_with("nothing has changed"));
    assert_eq!(world.children(), kept);
}

#[test]
fn another_description_or_filter_needs_no_other_connection() {
    let world = World::start(&json!({"fake": entry("")}), &[]);
    let before = world.children();
    let echo = r#"(:value (tool/call "fake/echo" {:text "hi"}))"#;
    let answered = world.http.eval(echo);
    let mut other = entry("");
    other["description"] = "It answers.".into();
    other["deny_tools"] = json!(["echo"]);
    other["required"] = false.into();
    let done = world.reload(&json!({"fake": other}));
    assert!(done.contains("upstreams changed in place: fake"), "{done}");
    let refused = world.http.eval(echo);
    assert!(refused != answered && refused.contains("echo"), "{refused}");
    assert_eq!(world.http.eval(&call_of("fake")), "user=> true");
    let client = Modern::new(&world.http.address, json!({}));
    assert!(client.request("tools/list", &json!({})).to_string().contains("It answers."));
    // What does not listen to the same server by the same words is another one.
    other["max_concurrency"] = 7.into();
    assert!(world.reload(&json!({"fake": other})).contains("upstreams changed: fake"));
    wait_until("the former child has ended", || !is_alive(before[0]));
    let kept = world.children();
    assert!(world.reload(&json!({"fake": entry("")})).contains("upstreams changed: fake"), "max_concurrency");
    assert_eq!(world.http.eval(echo), answered);
    assert_ne!(world.children(), kept);
}

#[test]
fn a_program_finishes_with_the_upstreams_that_it_began_with() {
    let world = World::start(&json!({"fake": entry("")}), &[]);
    let child = world.children();
    let file = world.home.join("now");
    let program = format!("[{} {}]", until(&file), call_of("fake"));
    let call = world.http.call(&program);
    wait_until("it waits", || world.http.eval(&waiting()) == "user=> 1");
    world.reload(&json!({"next": entry("")}));
    assert_eq!(world.servers(), "user=> [\"next\"]");
    assert!(is_alive(child[0]), "its call is in flight");
    fs::write(&file, "").expect("written");
    let answer = Answer::read(call).expect("an answer");
    assert_eq!(answer.text(), "user=> [\"there it is\" true]");
    wait_until("the child has ended", || !is_alive(child[0]));
    assert_eq!(world.children().len(), 1);
}

#[test]
fn a_waiting_program_goes_on_and_asks_again_where_the_rules_of_its_approval_changed() {
    let approved = |tools: Value| {
        let mut entry = entry("");
        entry["approve_tools"] = tools;
        entry
    };
    let world = World::start(&json!({"fake": approved(json!(["waiting"]))}), &[]);
    let client = Modern::new(&world.http.address, json!({"elicitation": {"form": {}}}));
    let call = json!({"name": "lisp_eval", "arguments": {"program": call_of("fake")}});
    let allow = |asked: &Value| {
        let mut retry = call.clone();
        let question = asked["inputRequests"].as_object().and_then(|all| all.keys().next());
        let question = question.unwrap_or_else(|| panic!("{asked}"));
        retry["inputResponses"] = json!({question: {"action": "accept", "content": {"decision": "allow"}}});
        retry["requestState"] = asked["requestState"].clone();
        client.request("tools/call", &retry)
    };
    let text = |answer: &Value| answer["content"][0]["text"].as_str().map(str::to_owned);
    let asked = client.request("tools/call", &call);
    world.reload(&json!({"fake": approved(json!(["waiting"])), "more": entry("")}));
    assert_eq!(text(&allow(&asked)).as_deref(), Some("user=> true"), "its upstream is as it was");
    let asked = client.request("tools/call", &call);
    world.reload(&json!({"fake": approved(json!(["waiting", "echo"]))}));
    let again = allow(&asked);
    assert_eq!(again["resultType"], "input_required", "{again}");
    assert_eq!(text(&allow(&again)).as_deref(), Some("user=> true"));
    let asked = client.request("tools/call", &call);
    world.reload(&json!({"more": entry("")}));
    let gone = allow(&asked);
    assert!(text(&gone).is_some_and(|text| text.contains("no upstream 'fake' configured")), "{gone}");
}

#[test]
fn sessions_views_of_the_policy_and_figures_follow() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.json");
    let rules =
        json!([{"match": {}, "upstreams": {"fake": {"allow": ["*"]}, "third": {"allow": ["waiting"]}}}]);
    fs::write(&policy, json!({"default": "deny", "rules": rules}).to_string()).expect("written");
    let flags = ["--sessions", "--http-metrics", "--policy", policy.to_str().expect("UTF-8")];
    let world = World::start(&json!({"fake": entry("")}), &flags);
    let client = Modern::new(&world.http.address, json!({}));
    let started = client.tool("lisp_session_start", json!({}));
    let session = started["structuredContent"]["session_id"].as_str().expect("an id").to_owned();
    let eval = |program: &str| {
        let arguments = json!({"session_id": session, "program": program});
        client.tool("lisp_session_eval", arguments)["content"][0]["text"].as_str().expect("text").to_owned()
    };
    assert!(eval("(def x (mapv :name (tool/servers)))").contains("[stored: x]"));
    world.reload(&json!({"fake": entry(""), "hidden": entry(""), "third": entry("")}));
    let both = eval("[x (mapv :name (tool/servers))]");
    assert!(both.starts_with("user=> [[\"fake\"] [\"fake\" \"third\"]]"), "{both}");
    assert!(eval(&call_of("third")).starts_with("user=> true"));
    assert!(eval("(tool/call {:server \"third\" :tool \"echo\" :args {}})").contains("echo"));
    assert!(eval(&call_of("hidden")).contains("no upstream 'hidden' configured"));
    let figures = world.http.get("/metrics").body;
    assert!(figures.contains("ptc_upstream_calls_total{server=\"third\",outcome=\"ok\"} 1"), "{figures}");
    // The same file of rules with another upstreams file: nothing of it is reported.
    assert!(!world.reload(&json!({"fake": entry("")})).contains("policy"));
}

#[test]
fn clients_that_listen_are_told_of_other_tools() {
    let world = World::start(&json!({"fake": entry("")}), &[]);
    let client = Modern::new(&world.http.address, json!({}));
    let discovered = client.request("server/discover", &json!({}));
    assert_eq!(discovered["capabilities"]["tools"], json!({"listChanged": true}));
    let mut channel = client.listen(json!({"toolsListChanged": true}));
    let acknowledged = channel.told().expect("a message");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    world.reload(&json!({"fake": entry("")}));
    world.reload(&json!({"fake": entry(""), "more": entry("")}));
    let told = channel.told().expect("a message");
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert!(client.request("tools/list", &json!({})).to_string().contains("more"));
}

#[test]
fn what_is_at_fault_is_refused_whole() {
    let world = World::start(&json!({"fake": entry("")}), &[]);
    let child = world.children();
    let broken = json!({"transport": "mcp_stdio", "command": "/nonexistent/server"});
    world.write(&json!({"fake": entry("changed"), "broken": broken, "more": entry("")}));
    let refused = fault(&reload(&world.home, &[]));
    assert!(refused.contains("upstream broken cannot be started") && refused.contains("nothing has changed"));
    assert_eq!(
        (world.servers(), world.http.eval(&call_of("fake"))),
        ("user=> [\"fake\"]".into(), "user=> true".into())
    );
    wait_until("what was started for it has ended", || world.children() == child);
    // What is not required is forgiven, as at a start.
    let optional = json!({"transport": "mcp_stdio", "command": "/nonexistent/server", "required": false});
    world.reload(&json!({"fake": entry(""), "broken": optional}));
    assert_eq!(world.servers(), "user=> [\"broken\" \"fake\"]");
    assert_eq!(world.children(), child);
    fs::remove_file(world.home.join("upstreams.json")).expect("removed");
    assert!(fault(&reload(&world.home, &[])).contains("upstreams config"));
    assert_eq!(world.children(), child);
}

#[test]
fn a_secret_that_changes_replaces_the_upstreams_that_use_it() {
    let secret = |mark: &str| {
        let mut entry = entry("");
        entry["env"] = json!({"KEY": mark});
        entry
    };
    let world = World::start(&json!({"one": secret("0123456789abcdef-a"), "two": entry("")}), &[]);
    let before = world.children();
    let done = world.reload(&json!({"one": secret("0123456789abcdef-b"), "two": entry("")}));
    assert!(done.contains("upstreams changed: one") && !done.contains("0123456789"), "{done}");
    wait_until("one child is another", || {
        let now = world.children();
        now.len() == 2 && now.iter().filter(|child| before.contains(child)).count() == 1
    });
}

#[test]
fn no_request_fails_while_files_are_reloaded() {
    let world = World::start(&json!({"fake": entry(""), "other": entry("0")}), &[]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut count = 0;
                    while !done.load(Ordering::Relaxed) {
                        let program = format!("[{} {}]", call_of("fake"), call_of("other"));
                        assert_eq!(world.http.eval(&program), "user=> [true true]");
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        for number in 1..=20 {
            world.reload(&json!({"fake": entry(""), "other": entry(&number.to_string())}));
        }
        done.store(true, Ordering::Relaxed);
        for client in clients {
            assert!(client.join().expect("no request fails") > 0);
        }
    });
    wait_until("former children have ended", || world.children().len() == 2);
}

#[test]
fn of_reloads_at_once_the_last_one_holds() {
    let world = World::start(&json!({"fake": entry("0")}), &[]);
    for number in 1..=5 {
        world.write(&json!({"fake": entry(&number.to_string())}));
        let told: Vec<String> = thread::scope(|scope| {
            let commands = [(); 4].map(|()| scope.spawn(|| reload(&world.home, &[])));
            let outputs = commands.map(|command| command.join().expect("it runs"));
            // One that starts the upstream gives way to those that come later.
            let is_superseded = |output: &&Output| {
                !output.status.success() && fault(output).contains("a later reload has taken the place")
            };
            assert!(outputs.iter().filter(is_superseded).count() < outputs.len());
            outputs.iter().filter(|output| !is_superseded(output)).map(told).collect()
        });
        let changed = told.iter().filter(|text| text.contains("upstreams changed: fake")).count();
        assert_eq!(changed, 1, "{told:?}");
    }
    wait_until("one child is left", || world.children().len() == 1);
}

#[test]
fn reloads_leave_nothing_behind() {
    let world = World::start(&json!({"fake": entry(""), "other": entry("0")}), &["--http-metrics"]);
    let turn = |number: usize| {
        world.reload(&json!({"fake": entry(""), "other": entry(&number.to_string())}));
    };
    (1..=10).for_each(turn);
    let pid = world.http.server.pid();
    let held = || {
        wait_until("former children have ended", || world.children().len() == 2);
        (descriptors(pid), world.http.metric("process_resident_memory_bytes"))
    };
    let before = held();
    (11..=200).for_each(turn);
    let mut after = held();
    wait_until("no descriptor is left", || {
        after = held();
        after.0 <= before.0 + 2
    });
    // A generation that stayed would hold a catalog and its tasks.
    let grown = after.1 - before.1;
    assert!(grown < f64::from(12 << 20), "{before:?} {after:?}");
    let accounts = world.http.get("/metrics").body;
    assert!(accounts.contains("ptc_upstream_up{server=\"other\"} 1"), "{accounts}");
    assert!(world.http.eval(&tool("echo", "{:a 1}")).contains(":ok true"));
}

#[test]
fn a_policy_that_is_gone_holds_on_and_profiles_change_beside_others() {
    let launch = Launch::new(&[]);
    let home = launch.path("");
    let file = home.join("upstreams.json");
    let write = |principals: Option<Value>, profiles: Value| {
        let mut text = json!({"upstreams": {"fake": entry(""), "more": entry("")}, "profiles": profiles});
        if let Some(principals) = principals {
            text["principals"] = principals;
        }
        fs::write(&file, text.to_string()).expect("written");
    };
    let part = |upstream: &str| json!({"upstreams": {upstream: {}}});
    let rules =
        |upstream: &str| Some(json!({"rules": [{"match": {}, "upstreams": {upstream: {"allow": ["*"]}}}]}));
    write(rules("fake"), json!({"part": part("fake")}));
    let http = launch.with_flags(&["--upstreams-config", file.to_str().expect("UTF-8")]).on_http();
    wait_until("it is there", || reload(&home, &["--check"]).status.success());
    let servers = || http.eval("(mapv :name (tool/servers))");
    assert_eq!(servers(), "user=> [\"fake\"]");
    write(None, json!({"part": part("more")}));
    let done = told(&reload(&home, &[]));
    assert!(done.contains("needs a restart: to go on without a policy"), "{done}");
    assert_eq!(servers(), "user=> [\"fake\"]");
    // The content of a profile changes, although another one cannot be added.
    write(rules("more"), json!({"part": part("more"), "new": part("fake")}));
    let done = told(&reload(&home, &[]));
    assert!(done.contains("policy: 1 rule, default deny; 1 profile"), "{done}");
    assert!(done.contains("needs a restart: other names of profiles"), "{done}");
    assert_eq!(servers(), "user=> [\"more\"]");
    let at = String::from_utf8(post("(mapv :name (tool/servers))")).expect("text");
    let answer = http.exchange(at.replacen("POST /mcp ", "POST /mcp/part ", 1).as_bytes());
    assert!(answer.body.contains("more") && !answer.body.contains("fake"), "{}", answer.body);
}
