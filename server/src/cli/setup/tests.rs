//! Tests the setup in whole home folders.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use ptc_host::config::ProcessEnv;
use ptc_mcp::json::{Value, json};

use super::{add, import, init, remove};

/// A home folder.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn env(&self) -> ProcessEnv {
        ProcessEnv::from_iter([("HOME", self.path().to_str().unwrap()), ("PATH", "/usr/bin:/bin")])
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    fn upstreams(&self) -> Value {
        let text = self.text(UPSTREAMS);
        ptc_mcp::json::from_str(&ptc_host::config::without_comments(&text)).unwrap()
    }

    fn add(&self, words: &[&str]) -> Result<String, String> {
        add::add(&parse(words), &self.env(), self.path())
    }

    fn remove(&self, words: &[&str]) -> Result<String, String> {
        remove::remove(&parse(words), &self.env())
    }

    fn import(&self, words: &[&str]) -> Result<import::Import, String> {
        import::found(&parse(words), &self.env(), self.path())
    }

    fn init(&self, words: &[&str]) -> Result<String, String> {
        init::init(&parse(words), &self.env(), self.path(), Path::new("/opt/ptc"))
    }
}

const UPSTREAMS: &str = ".config/ptc/upstreams.json";

fn parse<A: clap::Args>(words: &[&str]) -> A {
    #[derive(Parser)]
    struct Line<A: clap::Args> {
        #[command(flatten)]
        args: A,
    }
    Line::parse_from(std::iter::once("ptc").chain(words.iter().copied())).args
}

#[test]
fn what_is_added_is_there_and_what_is_removed_is_gone() {
    let home = Home::new();
    let text = home.add(&["fs", "--env", "K=${HOME}", "--", "sh", "-c", "exit"]).unwrap();
    assert!(text.starts_with(&format!("{}: added fs\n", home.path().join(UPSTREAMS).display())), "{text}");
    home.add(&[
        "web",
        "https://h/mcp",
        "--header",
        "Authorization: Bearer ${TOKEN}",
        "--header",
        "X-Region: eu",
    ])
    .unwrap();
    assert_eq!(
        home.upstreams(),
        json!({
            "upstreams": {
                "fs": {"transport": "mcp_stdio", "command": "sh", "args": ["-c", "exit"], "env": {"K": "${HOME}"}},
                "web": {
                    "transport": "mcp_http", "url": "https://h/mcp",
                    "auth": [{"scheme": "bearer", "binding": "web-authorization"}],
                    "static_headers": {"X-Region": "eu"}
                }
            },
            "credentials": {"web-authorization": {"source": "env", "var": "TOKEN"}}
        })
    );
    assert!(home.add(&["fs", "--", "true"]).unwrap_err().contains("has an upstream fs already"));
    home.add(&["fs", "--replace", "--", "true"]).unwrap();
    assert_eq!(home.upstreams()["upstreams"]["fs"], json!({"transport": "mcp_stdio", "command": "true"}));

    let text = home.remove(&["web"]).unwrap();
    assert!(
        text.ends_with("removed web, and the credentials that only it used: web-authorization"),
        "{text}"
    );
    assert_eq!(home.upstreams()["credentials"], json!({}));
    assert!(home.remove(&["web"]).unwrap_err().ends_with("has no upstream web; it has: fs"));
}

#[cfg(unix)]
#[test]
fn a_new_file_is_for_its_owner_only_and_an_old_one_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.add(&["a", "--", "true"]).unwrap();
    let mode = |home: &Home| fs::metadata(home.path().join(UPSTREAMS)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o600);
    fs::set_permissions(home.path().join(UPSTREAMS), fs::Permissions::from_mode(0o640)).unwrap();
    home.add(&["b", "--", "true"]).unwrap();
    assert_eq!(mode(&home), 0o640);
}

#[test]
fn comments_and_order_stay() {
    let home = Home::new();
    let before = "{\n  // Mine.\n  \"upstreams\": {\n    \"z\": {\"transport\": \"mcp_stdio\", \"command\": \"true\"}, // last\n  },\n}\n";
    home.write(UPSTREAMS, before);
    home.add(&["a", "--", "true"]).unwrap();
    let after = home.text(UPSTREAMS);
    assert!(after.contains("// Mine.") && after.contains("// last"), "{after}");
    assert!(after.find("\"z\"") < after.find("\"a\""), "{after}");
    home.remove(&["a"]).unwrap();
    assert!(home.text(UPSTREAMS).contains("// last"));
    assert_eq!(home.upstreams()["upstreams"], json!({"z": {"transport": "mcp_stdio", "command": "true"}}));
}

#[test]
fn mistakes_are_told_before_anything_is_written() {
    let home = Home::new();
    assert_eq!(
        home.add(&["x", "--", "npx $FOO"]).unwrap_err(),
        "upstream x command \"npx $FOO\" is no program: it holds arguments; write \"command\": \"npx\", \"args\": [\"$FOO\"]"
    );
    assert!(home.add(&["x", "npx"]).unwrap_err().ends_with("a command stands behind --: ptc add x -- npx"));
    assert!(home.add(&["x", "https://h/", "--env", "A=b"]).unwrap_err().contains("--env is for commands"));
    assert!(home.add(&["x", "--header", "A: b", "--", "true"]).unwrap_err().contains("--header is for URLs"));
    assert!(home.add(&["x", "--env", "A", "--", "true"]).unwrap_err().contains("got \"A\""));
    assert!(home.add(&["x", "http://h/mcp"]).unwrap_err().contains("without allow_insecure_http"));
    assert!(!home.path().join(UPSTREAMS).exists());
    home.write(UPSTREAMS, "{\"mcpServers\": {}}");
    assert!(home.add(&["x", "--", "true"]).unwrap_err().contains("a client's file is not changed"));
    home.write(UPSTREAMS, "{\"upstreams\": ");
    assert!(home.add(&["x", "--", "true"]).unwrap_err().contains("line 1"));
}

#[test]
fn the_servers_of_all_clients_become_upstreams_once() {
    let home = Home::new();
    home.write(
        ".claude.json",
        &json!({
            "mcpServers": {"files": {"type": "stdio", "command": "true", "args": ["a"]}, "ptc": {"command": "/opt/ptc", "args": ["start"]}},
            "projects": {home.path().to_str().unwrap(): {"mcpServers": {"here": {"command": "true", "args": ["h"]}}}}
        })
        .to_string(),
    );
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"same": {"command": "true", "args": ["a"]}, "files": {"command": "true", "args": ["b"]},}}"#,
    );
    home.write(
        ".codex/config.toml",
        "model = \"x\"\n[mcp_servers.gh]\nurl = \"https://h/mcp\"\nbearer_token_env_var = \"GH\"\nenabled = false\n",
    );
    home.write(
        ".vscode/mcp.json",
        r#"{"inputs": [], "servers": {"asks": {"command": "true", "env": {"K": "${input:k}"}}}}"#,
    );
    let import = home.import(&[]).unwrap();
    assert_eq!(import.added(), 4, "{}", import.shown());
    let at = |file: &str| home.path().join(file).display().to_string();
    assert_eq!(
        import.shown(),
        format!(
            "Claude Code ({})\n  + files  true a\n  - ptc  is ptc itself\n  + here  true h\n\
             Cursor ({})\n  = same  the same as files\n  + files as files-cursor  true b\n\
             VS Code ({})\n  ! upstream asks has ${{input:k}} in env, a question that its editor asks; put the answer into an \
             environment variable and write ${{NAME}}\n\
             Codex ({})\n  + gh  https://h/mcp  (disabled)\n",
            at(".claude.json"),
            at(".cursor/mcp.json"),
            at(".vscode/mcp.json"),
            at(".codex/config.toml"),
        )
    );
    import.write(&home.env()).unwrap();
    assert_eq!(
        home.upstreams(),
        json!({
            "upstreams": {
                "files": {"transport": "mcp_stdio", "command": "true", "args": ["a"], "required": false},
                "here": {"transport": "mcp_stdio", "command": "true", "args": ["h"], "cd": home.path(), "required": false},
                "files-cursor": {"transport": "mcp_stdio", "command": "true", "args": ["b"], "required": false},
                "gh": {
                    "disabled": true, "transport": "mcp_http", "url": "https://h/mcp",
                    "auth": [{"scheme": "bearer", "binding": "gh-authorization"}], "required": false
                }
            },
            "credentials": {"gh-authorization": {"source": "env", "var": "GH"}}
        })
    );
    assert_eq!(home.import(&[]).unwrap().added(), 0, "all are doubles now");
}

#[test]
fn one_client_or_one_file_may_be_named() {
    let home = Home::new();
    home.write(".gemini/settings.json", r#"{"theme": "x", "mcpServers": {"a": {"httpUrl": "https://h/"}}}"#);
    let other = home.write("other.json", r#"{"mcpServers": {"b": {"command": "true"}}}"#);
    assert_eq!(home.import(&["--from", "gemini"]).unwrap().added(), 1);
    assert_eq!(home.import(&["--from", other.to_str().unwrap()]).unwrap().added(), 1);
    assert!(
        home.import(&["--from", "cursor"])
            .err()
            .unwrap()
            .starts_with("Cursor has no servers here; looked at ")
    );
    assert!(
        home.import(&["--from", "cursr"]).err().unwrap().starts_with("--from cursr: there is no such file")
    );
    let broken = home.write("broken.json", "{\"mcpServers\": ");
    let import = home.import(&["--from", broken.to_str().unwrap()]).unwrap();
    assert!(import.shown().contains("  ! ") && import.added() == 0, "{}", import.shown());
    assert_eq!(Home::new().import(&[]).unwrap().added(), 0);
}

#[test]
fn a_listing_hides_nothing_and_shows_no_secret() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "good": {"command": "npx", "args": ["-y", "\u001b[1K\r  + good"]},
            "b\n  = c": {"command": "x"},
            "t": {"command": "y", "args": ["--token", "ghp_0123456789abcdefghij0123456789abcdef", "a\nb"]},
            "u": {"url": "https://x.example/mcp?api_key=SECRETQUERY"}
        }}"#,
    );
    let import = home.import(&[]).unwrap();
    let shown = import.shown();
    for line in [
        "  + good  npx -y \"\\u001b[1K\\r  + good\"",
        "  + t  y --token … \"a\\nb\"",
        "  + u  https://x.example/mcp?api_key=…",
        "  ! the name \"b\\n  = c\" has invisible characters; give the server another one",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    import.write(&home.env()).unwrap();
    assert_eq!(home.upstreams()["upstreams"]["t"]["args"][2], "a\nb");
    assert!(home.add(&["a\u{202e}b", "--", "x"]).unwrap_err().contains("a\\u202eb"));
}

#[cfg(unix)]
#[test]
fn a_file_that_gets_a_secret_becomes_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let path = home.write(UPSTREAMS, "{\"upstreams\": {}}\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    home.add(&["fs", "--env", "TOKEN=${TOKEN}", "--", "sh", "-c", "exit"]).unwrap();
    assert_eq!(mode(), 0o644);
    let header = "Authorization: Bearer 0123456789abcdef0123";
    let text = home.add(&["web", "https://h/mcp", "--header", header]).unwrap();
    assert!(text.contains("its mode is 0600"), "{text}");
    assert_eq!(mode(), 0o600);
}

#[test]
fn a_client_starts_ptc_and_the_change_can_be_undone() {
    let home = Home::new();
    let before = "{\n  // Mine.\n  \"mcpServers\": {\"a\": {\"command\": \"b\"}}\n}\n";
    let path = home.write(".cursor/mcp.json", before);
    let text = home.init(&["--client", "cursor"]).unwrap();
    let kept = home.path().join(".cursor/mcp.json.before-ptc");
    assert!(text.contains(&format!("To undo that: cp {} {}", kept.display(), path.display())), "{text}");
    assert!(text.contains("made, without upstreams") && text.contains("ptc import"), "{text}");
    assert!(text.contains("Cursor keeps a, which ptc does not reach"), "{text}");
    assert_eq!(fs::read_to_string(&kept).unwrap(), before);
    let after = home.text(".cursor/mcp.json");
    assert!(after.contains("// Mine."));
    let after: Value = ptc_mcp::json::from_str(&ptc_host::config::without_comments(&after)).unwrap();
    assert_eq!(
        after["mcpServers"],
        json!({"a": {"command": "b"}, "ptc": {"command": "/opt/ptc", "args": ["start"]}})
    );
    assert!(home.init(&["--client", "cursor"]).unwrap().contains("has mcpServers.ptc already"));
    assert!(home.init(&[]).unwrap().starts_with("ptc init --client cursor"));
    assert!(home.init(&["--client", "emacs"]).unwrap_err().contains("the clients are claude-desktop,"));
    for (typed, meant) in [
        ("claude", "claude-desktop or claude-code"),
        ("desktop", "claude-desktop"),
        ("vscod", "vscode"),
        ("cursr", "cursor"),
    ] {
        let text = home.init(&["--client", typed]).unwrap_err();
        assert!(text.contains(&format!("did you mean {meant}? ")), "{text}");
    }
}

#[test]
fn every_client_gets_an_entry_in_its_own_form() {
    let home = Home::new();
    home.write(".codex/config.toml", "# Mine.\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"b\"\n");
    home.init(&["--client", "codex"]).unwrap();
    assert_eq!(
        home.text(".codex/config.toml"),
        "# Mine.\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"b\"\n\n[mcp_servers.ptc]\ncommand = \"/opt/ptc\"\n\
         args = [\"start\"]\nrequired = true\nstartup_timeout_sec = 60\ntool_timeout_sec = 120\n"
    );
    for client in &super::clients::CLIENTS {
        let text = home
            .init(&["--client", client.name, "--upstreams-config", "/nowhere/else.json", "--dry-run"])
            .unwrap();
        assert!(
            text.contains("/nowhere/else.json\"") && text.contains("would get"),
            "{}: {text}",
            client.name
        );
    }
    // The written entry is found again, and recognised as ptc itself.
    for client in &super::clients::CLIENTS {
        home.init(&["--client", client.name]).unwrap();
    }
    let import = home.import(&[]).unwrap();
    assert_eq!(
        import.shown().matches("is ptc itself").count(),
        super::clients::CLIENTS.len(),
        "{}",
        import.shown()
    );
}

#[test]
fn added_commands_mean_what_they_say_in_their_folder() {
    let home = Home::new();
    let folder = home.path().display().to_string();
    let text = home.add(&["files", "--", "sh", "server.sh", "."]).unwrap();
    assert!(
        text.contains(&format!("It starts in {folder} (its \"cd\"), where server.sh was meant.")),
        "{text}"
    );
    assert_eq!(home.upstreams()["upstreams"]["files"]["cd"], folder);
    let text = home.add(&["time", "--", "sh", "-c", "exit"]).unwrap();
    assert!(!text.contains("It starts in"), "{text}");
    assert_eq!(home.upstreams()["upstreams"]["time"].get("cd"), None);
    for name in ["a/b", "my server", ""] {
        assert!(home.add(&[name, "--", "sh"]).unwrap_err().contains("cannot stand before a tool's"));
    }
}

#[test]
fn an_odd_server_is_a_line_and_the_others_are_taken_over() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "good": {"command": "true"},
            "mended": {"command": "sh -c exit", "args": ["~/x"]},
            "short": {"url": "https://h/", "headers": {"Authorization": "Bearer abc"}},
            "oauthy": {"url": "https://h/2", "auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "y"}},
            "plain": {"url": "http://192.168.1.5:3000/mcp"},
            "odd": {"command": "true", "env": {"K": {}}},
            "none": {},
            "unset": {"command": "true", "args": ["u"], "env": {"K": "${NOT_SET}"}}
        }}"#,
    );
    let import = home.import(&["--dry-run"]).unwrap();
    let shown = import.shown();
    let signs = |sign: &str| shown.lines().filter(|line| line.starts_with(sign)).count();
    assert_eq!((signs("  + "), signs("  ! ")), (3, 5), "{shown}");
    assert!(
        shown.contains("upstream short: credential short-authorization is shorter than 8 bytes"),
        "{shown}"
    );
    assert_eq!(import.left_out(), " (5 are left out, see !)");
    assert!(!home.path().join(UPSTREAMS).exists());
    let import = home.import(&["--write"]).unwrap();
    assert_eq!(import.shown(), shown, "the dry run foresees it");
    import.write(&home.env()).unwrap();
    let upstreams = home.upstreams()["upstreams"].clone();
    assert_eq!(upstreams.as_object().unwrap().keys().collect::<Vec<_>>(), ["good", "mended", "unset"]);
    assert_eq!(upstreams["mended"]["args"], json!(["-c", "exit", home.path().join("x")]));
    // Existing upstreams are not reported again.
    let again = home.import(&[]).unwrap();
    assert_eq!((again.added(), again.shown().contains("as text")), (0, false), "{}", again.shown());
}

#[test]
fn servers_of_a_project_keep_its_folder_and_gemini_s_variables_are_some() {
    let home = Home::new();
    let project = home.path().join("shop");
    let at = |file: &str, text: &str| home.write(&format!("shop/{file}"), text);
    at(".mcp.json", r#"{"mcpServers": {"built": {"command": "node", "args": ["./build/index.js"]}}}"#);
    at(
        ".vscode/mcp.json",
        r#"{"servers": {"code": {"command": "x", "args": ["${workspaceFolder}/a"], "cwd": "./sub"}}}"#,
    );
    home.write(
        ".gemini/settings.json",
        r#"{"mcpServers": {
            "web": {"httpUrl": "https://h/", "headers": {"Authorization": "Bearer $MY_TOKEN"}},
            "env": {"command": "true", "env": {"K": "$G_KEY"}}
        }}"#,
    );
    let import = import::found(&parse(&[]), &home.env(), &project).unwrap();
    import.write(&home.env()).unwrap();
    let file = home.upstreams();
    let upstreams = &file["upstreams"];
    assert_eq!(upstreams["built"]["cd"], project.to_str().unwrap());
    assert_eq!(upstreams["code"]["cd"], project.join("sub").to_str().unwrap());
    assert_eq!(upstreams["code"]["args"], json!([project.join("a")]));
    assert_eq!(
        upstreams["env"],
        json!({"transport": "mcp_stdio", "command": "true", "env": {"K": "${G_KEY}"}, "required": false})
    );
    assert_eq!(file["credentials"], json!({"web-authorization": {"source": "env", "var": "MY_TOKEN"}}));
    // The same from another folder, by the file's name; and any other file.
    for named in [".mcp.json", "mcp.json"] {
        let other = home.write(
            &format!("other/{named}"),
            &format!("{{\"mcpServers\": {{\"{named}\": {{\"command\": \"sh\", \"args\": [\"./run\"]}}}}}}"),
        );
        home.import(&["--from", other.to_str().unwrap()]).unwrap().write(&home.env()).unwrap();
        assert_eq!(home.upstreams()["upstreams"][named]["cd"], home.path().join("other").to_str().unwrap());
        fs::remove_file(home.path().join(UPSTREAMS)).unwrap();
    }
    // Two projects with the same command line are two servers.
    at("two/.mcp.json", r#"{"mcpServers": {"built": {"command": "node", "args": ["./build/index.js"]}}}"#);
    home.import(&["--from", project.join(".mcp.json").to_str().unwrap()])
        .unwrap()
        .write(&home.env())
        .unwrap();
    let second = home.import(&["--from", project.join("two/.mcp.json").to_str().unwrap()]).unwrap();
    assert_eq!(second.added(), 1, "{}", second.shown());
}

#[test]
fn a_client_gives_up_the_servers_that_ptc_reaches_and_no_others() {
    let home = Home::new();
    home.write(
        UPSTREAMS,
        r#"{"upstreams": {
            "files": {"transport": "mcp_stdio", "command": "true", "args": ["a"]},
            "off": {"transport": "mcp_stdio", "command": "off", "disabled": true},
            "web": {"transport": "mcp_http", "url": "https://h/mcp", "auth": [{"scheme": "bearer", "binding": "web"}]},
            "env": {"transport": "mcp_stdio", "command": "npx", "env": {"A": "${A_KEY}", "B": "${B:-b}", "C": "${HOME}"}, "inherit_env": ["C_KEY"]}
        }, "credentials": {"web": {"source": "env", "var": "WEB_TOKEN"}, "unused": {"source": "env", "var": "UNUSED"}}}"#,
    );
    let before = r#"{
  "theme": "dark", // mine
  "mcpServers": {
    "mine": {"command": "true", "args": ["a"]}, // the same as files
    "other": {"command": "true", "args": ["b"]},
    "off": {"command": "off"},
    "keyed": {"command": "npx", "env": {"A": "${A_KEY}", "B": "${B:-b}", "C": "${HOME}"}},
    "broken": {"command": 5},
    "ptc": {"command": "/old/ptc", "env": {"KEPT": "1"}}
  }
}
"#;
    let path = home.write(".cursor/mcp.json", before);
    let text = home.init(&["--client", "cursor"]).unwrap();
    assert!(text.contains("Cursor also has mine, which ptc reaches"), "{text}");
    let text = home.init(&["--client", "cursor", "--move", "--dry-run"]).unwrap();
    assert!(text.contains("would get mcpServers.ptc, without mine, which ptc reaches"), "{text}");
    let text = home.init(&["--client", "cursor", "--move"]).unwrap();
    assert!(text.contains("without mine, which ptc reaches"), "{text}");
    assert!(text.contains("Cursor keeps other, off, keyed, broken, which ptc does not reach"), "{text}");
    assert!(text.contains("The upstreams read A_KEY, C_KEY, WEB_TOKEN."), "{text}");
    assert!(text.contains("if npx, true cannot be started there"), "{text}");
    let undo = text.lines().find_map(|line| line.strip_prefix("To undo that: cp ")).unwrap();
    assert_eq!(undo, format!("{0}.before-ptc-2 {0}", path.display()));
    let after = home.text(".cursor/mcp.json");
    assert!(after.contains("\"theme\": \"dark\", // mine"), "{after}");
    let after: Value = ptc_mcp::json::from_str(&ptc_host::config::without_comments(&after)).unwrap();
    let names: Vec<_> = after["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["other", "off", "keyed", "broken", "ptc"], "keyed lacks a variable here");
    assert_eq!(
        after["mcpServers"]["ptc"],
        json!({"command": "/opt/ptc", "env": {"KEPT": "1"}, "args": ["start"]})
    );
    assert!(home.init(&["--client", "cursor", "--move"]).unwrap().contains("has mcpServers.ptc already"));

    home.write(".codex/config.toml", "[mcp_servers.files]\ncommand = \"true\"\nargs = [\"a\"]\n\n[mcp_servers.files.env]\n\n[mcp_servers.x]\ncommand = \"x\"\n");
    let text = home.init(&["--client", "codex", "--move"]).unwrap();
    let after = home.text(".codex/config.toml");
    assert!(after.contains("env_vars = [\"A_KEY\", \"C_KEY\", \"WEB_TOKEN\"]"), "{after}");
    assert!(!after.contains("files") && after.contains("[mcp_servers.x]"), "{after}");
    assert!(!text.contains("The upstreams read") && text.contains("default_tools_approval_mode"), "{text}");

    // Claude Code keeps a project's servers in the person's file.
    let folder = home.path().to_str().unwrap();
    home.write(
        ".claude.json",
        &json!({"projects": {folder: {"mcpServers": {"m": {"command": "true", "args": ["a"]}}}}}).to_string(),
    );
    home.init(&["--client", "claude-code", "--move"]).unwrap();
    let after: Value = ptc_mcp::json::from_str(&home.text(".claude.json")).unwrap();
    assert_eq!(after["projects"][folder]["mcpServers"], json!({}));
}
