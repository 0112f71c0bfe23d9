//! `ptc program` on a folder, through the binary: what it approves, takes back, refuses and leaves alone.

use std::fs;
use std::path::Path;
use std::thread;

use ptc_mcp::json::{Value, json};
use tempfile::TempDir;

use crate::kept_programs::{TWICE, done, program, upstream, write};

/// The key of RFC 8410, as OpenSSL writes it.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";

/// A home with programs that call no tool.
fn home(programs: &[(&str, &str)]) -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    write(&home.path().join("upstreams.json"), r#"{"upstreams": {}}"#);
    programs.iter().for_each(|(name, body)| write_program(home.path(), name, body));
    home
}

fn write_program(home: &Path, name: &str, body: &str) {
    write(&home.join(format!("programs/{name}.clj")), &format!("{{:description \"{name}\"}}\n{body}\n"));
}

fn lock(home: &Path) -> Value {
    let text = fs::read_to_string(home.join("programs/programs.lock")).expect("a lock");
    serde_json::from_str(&text).expect("JSON")
}

fn approved(home: &Path) -> Vec<String> {
    lock(home)["programs"].as_object().into_iter().flat_map(|programs| programs.keys().cloned()).collect()
}

/// Standard error of a command that must fail.
fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = program(home, arguments);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// Standard error of a command that must not fail.
fn remarks(home: &Path, arguments: &[&str]) -> String {
    let output = program(home, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn approvals_at_the_same_time_are_all_kept() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let home = home(&names.map(|name| (name, "1")));
    thread::scope(|scope| {
        for name in names {
            let home = home.path();
            scope.spawn(move || done(home, &["approve", name]));
        }
    });
    assert_eq!(
        (approved(home.path()), &lock(home.path())["revision"]),
        (names.map(String::from).into(), &json!(6))
    );
}

#[test]
fn one_program_that_cannot_be_approved_hinders_no_other() {
    let home = home(&[("good", "1"), ("open", "(")]);
    write(&home.path().join("programs/wrong.clj"), "{:description \"x\" :tests [{:value 2}]}\n1\n");
    let output = program(home.path(), &["approve", "--all"]);
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), approved(home.path())), (Some(1), vec!["good".to_owned()]), "{told}");
    assert!(
        told.contains("open is not approved: open.clj:2:1 ")
            && told.contains("wrong is not approved: its test "),
        "{told}"
    );
    let output = program(home.path(), &["approve", "--all", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &told["ok"]), (Some(1), &json!(false)));
    assert_eq!(told["refused"].as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn a_signed_lock_is_not_changed_without_its_key() {
    let home = home(&[("one", "1"), ("two", "2")]);
    let key = home.path().join("key.pem");
    write(&key, KEY);
    let key = key.to_str().expect("UTF-8");
    done(home.path(), &["approve", "one", "--programs-key", key]);
    let before = lock(home.path());
    for arguments in [["approve", "two"].as_slice(), &["approve", "--withdraw", "one"]] {
        let told = refused(home.path(), arguments);
        assert!(
            told.contains("programs.lock: the lock is signed: name the private key with --programs-key"),
            "{told}"
        );
        assert_eq!(lock(home.path()), before);
    }
    done(home.path(), &["approve", "two", "--programs-key", key]);
    assert_eq!(approved(home.path()), ["one", "two"]);
}

#[test]
fn revisions_do_not_end() {
    let home = home(&[("one", "1")]);
    let told = refused(home.path(), &["approve", "one", "--above", "18446744073709551614"]);
    assert!(told.contains("18446744073709551614 is not in "), "{told}");
    let path = home.path().join("programs/programs.lock");
    write(&path, r#"{"version": 1, "revision": 18446744073709551615, "programs": {}}"#);
    let told = refused(home.path(), &["approve", "one"]);
    assert!(
        told.contains("revision must be a whole number of at most 9007199254740992; restore it"),
        "{told}"
    );
    // Whoever has no key cannot raise the revision of a lock that is signed next.
    write(&path, r#"{"version": 1, "revision": 9007199254740000, "programs": {}}"#);
    let key = home.path().join("key.pem");
    write(&key, KEY);
    done(home.path(), &["approve", "one", "--programs-key", key.to_str().expect("UTF-8")]);
    assert_eq!(lock(home.path())["revision"], 1);
}

#[test]
fn what_follows_for_programs_that_call_it_is_told() {
    let home = home(&[("base", "1"), ("caller", "(program/base {})")]);
    done(home.path(), &["approve", "--all"]);
    write_program(home.path(), "base", "2");
    let told = remarks(home.path(), &["approve", "base"]);
    assert!(
        told.contains("no longer approved: caller, which calls base: `ptc program approve caller`"),
        "{told}"
    );
    done(home.path(), &["approve", "caller"]);
    let told = remarks(home.path(), &["approve", "--withdraw", "base"]);
    assert!(told.contains("base still runs where approved programs call it: `ptc program approve --withdraw caller` ends that"), "{told}");
    // The file of one that is gone is not needed to take its approval back.
    fs::remove_file(home.path().join("programs/caller.clj")).expect("removed");
    assert!(done(home.path(), &["approve", "--withdraw", "caller"]).contains("caller: withdrawn"));
    assert!(approved(home.path()).is_empty());
    assert!(
        refused(home.path(), &["approve", "--withdraw", "nobody"]).contains("there is no program nobody")
    );
}

#[test]
fn tools_that_nobody_has_seen_are_not_approved() {
    let home = home(&[]);
    let path = home.path().join("programs/sweep.clj");
    let tools = |tools: &str| write(&path, &format!("{{:description \"x\" :tools [{tools}]}}\n1\n"));
    let upstreams = home.path().join("upstreams.json");
    write(&upstreams, &json!({"upstreams": {"fake": upstream(&home.path().join("grown"))}}).to_string());
    tools("\"fake/echo\" \"fake/purge\"");
    let told = refused(home.path(), &["approve", "sweep"]);
    assert!(
        told.contains("sweep is not approved: fake has no tool purge, which its :tools name; "),
        "{told}"
    );
    tools("\"fake/echo\" \"fake/purge*\"");
    let told = remarks(home.path(), &["approve", "sweep"]);
    assert!(told.contains("sweep: fake/purge* fits no tool that is known here"), "{told}");
    assert_eq!(lock(home.path())["programs"]["sweep"]["tools"].as_object().map(|tools| tools.len()), Some(1));
    write(&upstreams, r#"{"upstreams": {}}"#);
    tools("\"fake/echo\"");
    let told = refused(home.path(), &["approve", "sweep"]);
    assert!(told.contains("name the upstreams file with --upstreams-config"), "{told}");
}

#[test]
fn what_is_wrong_with_a_program_is_listed() {
    let home = home(&[("a", "(program/b {})"), ("b", "(program/a {})"), ("c", "(program/gone {})")]);
    write(
        &home.path().join("programs/open.clj"),
        "{:description \"x\" :tools [\"billing/list_*\" \"billing/*\"]}\n1\n",
    );
    let listed = done(home.path(), &["list"]);
    for told in
        ["programs call each other in a circle: a → b → a", "c calls gone, which is not in the folder"]
    {
        assert!(listed.contains(told), "{listed}");
    }
    assert!(
        done(home.path(), &["show", "c"]).contains("not approved: c calls gone, which is not in the folder")
    );
    remarks(home.path(), &["approve", "open"]);
    let shown = done(home.path(), &["show", "open"]);
    assert!(shown.contains("the approval holds no definition of billing/list_*, billing/*"), "{shown}");
}

#[test]
fn a_run_is_not_begun_whose_record_has_no_place() {
    let home = home(&[]);
    // An upstream that cannot be started: whoever asks for it first says so.
    write(
        &home.path().join("upstreams.json"),
        r#"{"upstreams": {"fake": {"transport": "mcp_stdio", "command": "/nonexistent/server"}}}"#,
    );
    write(&home.path().join("programs/twice.clj"), TWICE);
    let there = home.path().join("there.clj");
    write(&there, "");
    let told =
        refused(home.path(), &["run", "twice", r#"{"n": 2}"#, "--record", there.to_str().expect("UTF-8")]);
    assert!(told.contains("there.clj: it exists already; --record writes a new file"), "{told}");
    let nowhere = home.path().join("none/there.clj");
    let told =
        refused(home.path(), &["run", "twice", r#"{"n": 2}"#, "--record", nowhere.to_str().expect("UTF-8")]);
    assert!(told.contains("there is no folder ") && !home.path().join("none").exists(), "{told}");
}

#[test]
fn files_are_as_other_people_s_servers_need_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = home(&[]);
    let told = refused(home.path(), &["list"]);
    assert!(
        told.contains("name the folder with --programs DIR, or begin with `ptc program new NAME`"),
        "{told}"
    );
    done(home.path(), &["new", "one"]);
    done(home.path(), &["approve", "one", "--by", "ann"]);
    for file in ["one.clj", "programs.lock"] {
        let mode =
            fs::metadata(home.path().join("programs").join(file)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o444, 0o444, "{file}");
    }
    assert_eq!(lock(home.path())["programs"]["one"]["by"], "ann");
}
