//! Options as an operator writes them.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use ptc_host::aggregator::SnapshotMode;
use ptc_host::catalog::CatalogMode;
use ptc_host::config::ProcessEnv;

use super::command::{arguments, spell_out_switches};
use super::flags::{ALL, ValueKind};
use super::values::Values;
use ptc_protocol::settings::BootError;
use ptc_protocol::settings::{LogLevel, PayloadPolicy, Profile, Settings};

fn resolve(arguments_given: &[&str], env: &[(&str, &str)]) -> Result<Settings, BootError> {
    let given = ["ptc", "start"].into_iter().chain(arguments_given.iter().copied()).map(OsString::from);
    let matches = Command::new("start")
        .args(arguments(&ALL))
        .try_get_matches_from(&spell_out_switches(given)[1..])
        .map_err(|error| BootError::new(error.to_string()))?;
    crate::options::resolve(&matches, ProcessEnv::from_iter(env.iter().copied()))
}

fn refused(arguments_given: &[&str], env: &[(&str, &str)]) -> String {
    resolve(arguments_given, env).expect_err("refused").to_string()
}

#[test]
fn defaults() {
    let settings = resolve(&[], &[]).unwrap();
    assert_eq!(settings.limits.max_frame_bytes, 8_388_608);
    assert_eq!(settings.limits.max_concurrent_calls, 1024);
    assert_eq!(settings.limits.program.timeout.as_millis(), 1000);
    assert_eq!(settings.limits.program.steps, 25_000_000);
    assert_eq!(settings.limits.program.memory_bytes, 10_485_760);
    assert_eq!(settings.limits.max_result_bytes, 16_384);
    assert_eq!((settings.profile, settings.log_level), (Profile::Slim, LogLevel::Info));
    assert!(settings.http.is_none() && settings.aggregator.config.is_none() && !settings.sessions.enabled);
    assert_eq!(settings.warnings, []);
}

#[test]
fn turns_of_a_task_say_where_they_come_from() {
    let settings = resolve(&["--agentic-max-turns=3"], &[("PTC_AGENTIC_RETRY_TURNS", "2")]).unwrap();
    let planner = settings.planner;
    assert_eq!((planner.max_turns, planner.retry_turns), (Some(3), Some(2)));
    assert_eq!(planner.turns_from, ["cli", "env"]);
}

#[test]
fn every_option_works_as_flag_and_as_variable() {
    for flag in ALL.iter().flat_map(|group| group.flags) {
        let value = match flag.kind {
            ValueKind::Positive | ValueKind::HttpPositive | ValueKind::Clamped => "50",
            ValueKind::Switch => "false",
            _ => continue,
        };
        let given = format!("--{}={value}", flag.name);
        assert!(resolve(&[&given], &[]).is_ok(), "{given}");
        for variable in flag.variables() {
            assert!(resolve(&[], &[(&variable, value)]).is_ok(), "{variable}");
            assert!(resolve(&[], &[(&variable, "")]).is_ok(), "an empty variable is not set");
        }
    }
}

#[test]
fn the_command_line_beats_the_environment_and_the_last_flag_wins() {
    let env = [("PTC_MAX_PROGRAM_BYTES", "10"), ("PTC_SESSIONS", "yes")];
    assert_eq!(resolve(&[], &env).unwrap().limits.program.program_bytes, 10);
    assert!(resolve(&[], &env).unwrap().sessions.enabled);
    let settings =
        resolve(&["--max-program-bytes", "20", "--max-program-bytes=30", "--no-sessions"], &env).unwrap();
    assert_eq!(settings.limits.program.program_bytes, 30);
    assert!(!settings.sessions.enabled);
    for on in [&["--sessions"][..], &["--sessions=on"], &["--no-sessions", "--sessions=1"]] {
        assert!(resolve(on, &[]).unwrap().sessions.enabled, "{on:?}");
    }
    for off in
        [&["--sessions", "false"][..], &["--sessions", "--sessions", "Off"], &["--sessions", "0", "--http"]]
    {
        assert!(!resolve(off, &[]).unwrap().sessions.enabled, "{off:?}");
    }
    assert!(resolve(&["--sessions", "yes"], &[]).unwrap().sessions.enabled);
    assert!(refused(&["--sessions", "maybe"], &[]).contains("unexpected argument 'maybe'"));
    let odd = resolve(&["--sessions=maybe"], &[]).unwrap();
    assert!(!odd.sessions.enabled && odd.warnings[0].message.contains("maybe"));
}

#[test]
fn a_word_behind_a_switch_of_another_command_is_its_argument() {
    let spelled = |given: &[&str]| {
        let spelled = spell_out_switches(given.iter().copied().map(OsString::from));
        spelled.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    };
    assert_eq!(spelled(&["ptc", "eval", "--sessions", "false"]), "ptc eval --sessions false");
    assert_eq!(
        spelled(&["ptc", "state", "ls", "--state-required", "no"]),
        "ptc state ls --state-required=no"
    );
    assert_eq!(spelled(&["ptc", "start", "--", "--sessions", "no"]), "ptc start -- --sessions no");
}

#[test]
fn the_former_names_of_variables_work_and_are_named_where_they_are_set() {
    let env = [
        ("PTC_RUNNER_MCP_MAX_PROGRAM_BYTES", "10"),
        ("PTC_RUNNER_MCP_SESSIONS", "yes"),
        ("PTC_SESSIONS", ""),
    ];
    let settings = resolve(&[], &env).unwrap();
    assert_eq!((settings.limits.program.program_bytes, settings.sessions.enabled), (10, true));
    assert_eq!(
        refused(&[], &[("PTC_RUNNER_MCP_MAX_FRAME_BYTES", "0")]),
        "--max-frame-bytes / PTC_RUNNER_MCP_MAX_FRAME_BYTES must be a positive integer, got: 0"
    );
    assert_eq!(
        refused(&["--catalog-mode=all"], &[("PTC_RUNNER_MCP_CATALOG_MODE", "lazy")]),
        "--catalog-mode / PTC_CATALOG_MODE must be auto, inline or lazy, got: \"all\""
    );
    let origins = [("PTC_RUNNER_MCP_HTTP_ALLOWED_ORIGIN", "https://a.example,https://b.example")];
    assert_eq!(resolve(&["--http"], &origins).unwrap().http.unwrap().allowed_origins.len(), 2);
    let location = |env: &[(&str, &str)], given: &[&str]| {
        resolve(given, env).unwrap().aggregator.config.unwrap().named_by.to_string()
    };
    assert_eq!(location(&[("PTC_RUNNER_MCP_UPSTREAMS", "/v")], &[]), "named by PTC_RUNNER_MCP_UPSTREAMS");
    assert_eq!(
        location(&[("PTC_UPSTREAMS", "/v")], &["--upstreams-config=/v"]),
        "named by --upstreams-config"
    );
}

#[test]
fn wrong_integers_fail_the_start() {
    let text =
        |got: &str| format!("--max-frame-bytes / PTC_MAX_FRAME_BYTES must be a positive integer, got: {got}");
    assert_eq!(refused(&["--max-frame-bytes", "64mb"], &[]), text("\"64mb\""));
    assert_eq!(refused(&["--max-frame-bytes", "0"], &[]), text("0"));
    assert_eq!(refused(&["--max-frame-bytes", "-5"], &[]), text("-5"));
    assert_eq!(refused(&[], &[("PTC_MAX_FRAME_BYTES", "1.5")]), text("\"1.5\""));
    assert!(refused(&["--max-sesions", "3"], &[]).contains("--max-sesions"));
    assert!(refused(&["stray"], &[]).contains("stray"));
}

#[test]
fn words_out_of_a_fixed_set() {
    assert_eq!(
        refused(
            &["--response-profile", "Debug", "--catalog-mode=lasy", "--log-level=loud"],
            &[("PTC_TRACE_PAYLOADS", "ful")]
        ),
        "--log-level / PTC_LOG_LEVEL must be debug, info, warn, warning or error, got: \"loud\"\n\
         --response-profile / PTC_RESPONSE_PROFILE must be slim, structured or debug, got: \"Debug\"; did you \
         mean debug?\n\
         --catalog-mode / PTC_CATALOG_MODE must be auto, inline or lazy, got: \"lasy\"; did you mean lazy?\n\
         --trace-payloads / PTC_TRACE_PAYLOADS must be none, summary or full, got: \"ful\"; did you mean full?"
    );
    let settings =
        resolve(&["--response-profile", " structured ", "--trace-payloads=FULL", "--log-level=WARNING"], &[])
            .unwrap();
    assert_eq!((settings.profile, settings.limits.max_result_bytes), (Profile::Structured, 32_768));
    assert_eq!(settings.aggregator.catalog_mode, CatalogMode::Auto);
    assert_eq!(settings.aggregator.snapshot_mode, SnapshotMode::Frozen);
    let background = resolve(&["--catalog-snapshot-mode= background "], &[]).unwrap();
    assert_eq!(background.aggregator.snapshot_mode, SnapshotMode::Background);
    assert_eq!(
        refused(&["--catalog-snapshot-mode=life"], &[]),
        "--catalog-snapshot-mode / PTC_CATALOG_SNAPSHOT_MODE must be frozen, live or background, got: \"life\"; did you mean live?"
    );
    assert_eq!(
        refused(
            &[
                "--agentic",
                "--catalog-snapshot-mode=live",
                "--upstreams-config=/nowhere/u.json",
                "--aggregator-read-only"
            ],
            &[]
        ),
        "--catalog-snapshot-mode must be frozen with --agentic: lisp_task tells its model of all tools from the first task on"
    );
    assert_eq!(settings.diagnostics.payloads, PayloadPolicy::Full);
    assert_eq!(settings.log_level, LogLevel::Warn);
    let debug =
        resolve(&["--debug-tool", "--debug-ring-size=1", "--max-debug-response-bytes=nope"], &[]).unwrap();
    assert_eq!((debug.profile, debug.limits.max_result_bytes), (Profile::Debug, 131_072));
    assert_eq!((debug.diagnostics.ring_size, debug.diagnostics.max_response_bytes), (10, 65_536));
    assert_eq!(debug.warnings[0].event, "debug_ring_size_clamped");
}

#[test]
fn an_upstreams_file_changes_two_defaults() {
    let settings = resolve(&["--upstreams-config", "/nowhere/u.json"], &[]).unwrap();
    assert!(settings.aggregator.config.is_some());
    assert_eq!(settings.limits.program.timeout.as_millis(), 30_000);
    assert_eq!(settings.limits.program.steps, 750_000_000);
    assert_eq!(settings.limits.program.memory_bytes, 104_857_600);
    let variable = resolve(&[], &[("PTC_UPSTREAMS", "/nowhere/v.json")]).unwrap();
    let location = variable.aggregator.config.unwrap();
    assert_eq!(location.path.to_str(), Some("/nowhere/v.json"));
    assert_eq!(location.named_by.to_string(), "named by PTC_UPSTREAMS");
}

#[test]
fn the_planner_needs_a_word_about_writes() {
    assert_eq!(
        refused(&["--agentic-allow-writes"], &[]),
        "agentic configuration invalid: --agentic-allow-writes requires --agentic."
    );
    let config = "--upstreams-config=/nowhere/u.json";
    assert!(
        refused(&["--agentic", config], &[]).starts_with(
            "agentic configuration invalid: configured upstream access is not asserted read-only."
        )
    );
    assert!(resolve(&["--agentic", config, "--aggregator-read-only"], &[]).is_ok());
    assert_eq!(resolve(&["--agentic"], &[]).unwrap().warnings[0].event, "agentic_without_aggregator");
    assert_eq!(resolve(&["--agentic-retry-turns=x"], &[]).unwrap().planner.retry_turns, None);
}

#[test]
fn http_is_checked_only_when_it_is_on() {
    let wrong = ["--http-port=7332x", "--http-host=example.com", "--http-auth-token=short"];
    assert!(resolve(&wrong, &[]).unwrap().http.is_none());
    assert!(refused(&["--http", wrong[0]], &[]).ends_with("must be a positive integer, got: \"7332x\""));
    assert_eq!(refused(&["--http", wrong[1]], &[]), "HTTP host must be an IP address or localhost");
    assert_eq!(
        refused(&["--http", wrong[2]], &[]),
        "--http-auth-token / PTC_HTTP_AUTH_TOKEN: HTTP auth token must be at least 32 characters"
    );
    assert_eq!(refused(&["--http", "--http-path=health"], &[]), "HTTP paths must be distinct");
    assert_eq!(
        refused(&["--http", "--http-host=0.0.0.0"], &[]),
        "HTTP auth token is required for non-loopback binds"
    );
    assert_eq!(
        refused(&["--http", "--http-disable-auth", "--http-host=0.0.0.0"], &[]),
        "--http-disable-auth is only permitted on loopback binds"
    );
    assert_eq!(
        refused(&["--http", "--http-disable-auth", "--http-allow-unsafe-network"], &[]),
        "--http-disable-auth cannot be combined with --http-allow-unsafe-network"
    );
    assert!(refused(&["--http", "--upstreams-config=/x"], &[]).starts_with("HTTP auth token is required"));
    let http = resolve(&["--http", "--http-host=LOCALHOST", "--http-path=rpc", "--max-frame-bytes=77"], &[]);
    let http = http.unwrap().http.unwrap();
    assert!(http.is_loopback() && http.tokens.is_empty() && http.rate_limit.is_none());
    assert_eq!((http.path.as_str(), http.max_body_bytes, http.max_in_flight), ("/rpc", 77, 1024));
    assert_eq!(http.max_sessions_per_owner, http.max_sessions);
    let one = resolve(&["--http", &format!("--http-auth-token={}", "1".repeat(32))], &[]).unwrap();
    assert_eq!(one.limits.max_concurrent_calls_per_owner, one.limits.max_concurrent_calls);
}

#[test]
fn origins_on_the_command_line_replace_the_variable_and_add_up() {
    let env = [("PTC_HTTP_ALLOWED_ORIGIN", "https://env.example")];
    let origins = |given: &[&str]| {
        let given: Vec<_> = [&["--http"], given].concat();
        resolve(&given, &env).unwrap().http.unwrap().allowed_origins
    };
    assert_eq!(origins(&[]), ["https://env.example"]);
    assert_eq!(
        origins(&[
            "--http-allowed-origin",
            " https://a.example, ,https://b.example",
            "--http-allowed-origin=http://c"
        ]),
        ["https://a.example", "https://b.example", "http://c"]
    );
}

#[test]
fn token_files_name_principals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let given = format!("--http-auth-token-file={}", path.display());
    let (one, two) = ("1".repeat(32), "2".repeat(32));
    std::fs::write(&path, format!("# ours\n\nalice:{one}\nbob: {two}\n")).unwrap();
    let settings = resolve(&["--http", &given, "--max-sessions-per-owner=9"], &[]).unwrap();
    assert_eq!(settings.limits.max_concurrent_calls_per_owner, 256);
    assert_eq!(settings.sessions.max_per_owner, 9);
    let http = settings.http.unwrap();
    assert_eq!((http.max_sessions_per_owner, http.max_listeners_per_owner), (64, 256));
    assert_eq!(http.tokens.iter().map(|token| token.name.as_str()).collect::<Vec<_>>(), ["alice", "bob"]);
    assert!(http.tokens[1].token.matches(two.as_bytes()) && http.rate_limit.is_some());
    for (content, part) in [("", "no token"), (":x", "empty name"), ("short", "32 characters")] {
        std::fs::write(&path, content).unwrap();
        let text = refused(&["--http", &given], &[]);
        assert!(text.contains(part), "{text}");
    }
    std::fs::write(&path, format!("# ours\n{one}\n{two}\n")).unwrap();
    let twice = refused(&["--http", &given], &[]);
    assert!(twice.starts_with(&format!("{}:3: two HTTP auth tokens", given.replace('=', " "))), "{twice}");
    assert!(twice.ends_with("tokens:2"), "{twice}");
    std::fs::remove_file(&path).unwrap();
    assert!(refused(&["--http", &given], &[]).contains("no such file"));
}

#[test]
fn a_file_may_name_a_caller_twice_and_nobody_by_a_reserved_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let given = format!("--http-auth-token-file={}", path.display());
    let (one, two, three) = ("1".repeat(32), "2".repeat(32), "3".repeat(32));
    std::fs::write(&path, format!("alice:{one}\nalice:{two}\n")).unwrap();
    let http = resolve(&["--http", &given], &[]).unwrap().http.unwrap();
    // One principal, which has no neighbours.
    assert_eq!((http.tokens.len(), http.principals()), (2, 1));
    assert_eq!(http.max_sessions_per_owner, http.max_sessions);
    let operators = folder.path().join("operators");
    std::fs::write(&operators, format!("alice:{three}\n")).unwrap();
    let operators = format!("--http-operator-token-file={}", operators.display());
    assert!(refused(&["--http", &given, &operators], &[]).contains("two HTTP auth tokens"));
    for name in ["process", "anonymous", "*", "a|b"] {
        std::fs::write(&path, format!("{name}:{one}\n")).unwrap();
        let text = refused(&["--http", &given], &[]);
        assert!(text.contains(&format!("the name {name:?} is reserved")), "{text}");
    }
}

#[test]
fn access_tokens_need_an_issuer_and_a_public_url() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let tokens = format!("--http-auth-token-file={}", write("tokens", &format!("ci:{}\n", "1".repeat(32))));
    let client = format!("--introspection-client={}", write("client", "# ours\nptc:se:cret\n"));
    let issuer = "--issuer=https://login.example/t";
    let public = "--public-url=https://ptc.example/mcp";
    let oauth = |given: &[&str]| {
        let given: Vec<&str> = [&["--http"], given].concat();
        let http = resolve(&given, &[]).unwrap().http.unwrap();
        (http.oauth.clone(), http)
    };
    let (found, http) =
        oauth(&[issuer, "--issuer", "http://localhost:1", public, "--audience", "api://x", &client]);
    let found = found.unwrap();
    assert_eq!(found.issuers, ["https://login.example/t", "http://localhost:1"]);
    assert_eq!(found.audiences, ["api://x", "https://ptc.example/mcp"]);
    assert!(!found.any_type && found.required_scopes.is_empty());
    let (id, secret) = found.introspection_client.unwrap();
    assert!(id == "ptc" && secret.matches(b"se:cret"));
    // There may be any number of callers.
    assert!(
        http.rate_limit.is_some() && http.max_sessions_per_owner < http.max_sessions && http.principals() > 1
    );
    // A listener on any address is authenticated.
    let (found, _) = oauth(&[issuer, public, "--http-host=0.0.0.0", "--jwt-typ-any", "--required-scope=a,b"]);
    let found = found.unwrap();
    assert!(found.any_type && found.required_scopes == ["a", "b"]);
    // A public URL without a path has two forms.
    let (found, _) = oauth(&[issuer, "--public-url=https://ptc.example"]);
    assert_eq!(found.unwrap().audiences, ["https://ptc.example", "https://ptc.example/"]);
    let (found, http) = oauth(&[issuer, public, "--http-auth=oauth,token", &tokens]);
    assert!(found.is_some() && http.tokens.len() == 1);
    assert!(oauth(&["--http-auth=token", &tokens]).0.is_none());
    for (given, part) in [
        (
            &[issuer, public, &tokens][..],
            "--http-auth oauth does not accept static tokens; remove --http-auth-token-file or pass --http-auth oauth,token",
        ),
        (&[issuer, public, "--http-auth=oauth", &tokens], "remove --http-auth-token-file or pass"),
        (&[issuer, public, "--http-auth=oauth,token"], "needs --http-auth-token-file"),
        (&[issuer, public, "--http-auth=token", &tokens], "remove --issuer or pass --http-auth oauth,token"),
        (&[issuer, public, "--http-auth=jwt"], "must be one of: token, oauth, oauth,token, got: \"jwt\""),
        (&[issuer, public, "--http-disable-auth"], "--http-disable-auth cannot be combined"),
        (&[issuer], "--issuer needs --public-url"),
        (&["--http-auth=oauth", public], "--http-auth oauth needs --issuer"),
        (&["--audience=x"], "needs --issuer"),
        (&["--required-scope=x"], "needs --issuer"),
        (&["--jwt-typ-any"], "needs --issuer"),
        (&["--introspection-client=/x"], "needs --issuer"),
        (&["--http-login-client=/x"], "needs --issuer"),
        (&["--issuer=login.example", public], "must be an https URL without query"),
        (&["--issuer=http://login.example", public], "must be an https URL without query"),
        (&["--issuer=https://login.example?a", public], "must be an https URL without query"),
        (&["--issuer=https://a@login.example", public], "must be an https URL without query"),
        (&["--issuer=https://login.example/a|b", public], "must be an https URL without query"),
        (&[issuer, public, "--required-scope=a b"], "must be one scope"),
        (&[issuer, public, "--introspection-client=/nowhere/x"], "no such file"),
    ] {
        let given: Vec<&str> = [&["--http"], given].concat();
        let text = refused(&given, &[]);
        assert!(text.contains(part), "{given:?}: {text}");
    }
    for (wrong, shown) in [
        ("http://ptc.example/mcp", "\"http://ptc.example/mcp\""),
        ("https://ann:hidden@ptc.example/mcp", "\"https://…@ptc.example/mcp\""),
        ("https://ann:hid?den@ptc.example/mcp?key=hidden", "\"https://…@ptc.example/mcp?…\""),
        ("ann:hidden@ptc.example", "\"…@ptc.example\""),
        ("http://ptc.example/\u{202e}pcm", "\"http://ptc.example/\\u202epcm\""),
    ] {
        for given in [["--public-url", wrong, issuer], ["--issuer", wrong, public]] {
            let text = refused(&[&["--http"], &given[..]].concat(), &[]);
            assert!(text.ends_with(&format!("got: {shown}")) && !text.contains("hidden"), "{text}");
        }
    }
    let long = format!("http://{}", "x".repeat(500));
    let text = refused(&["--http", "--public-url", &long, issuer], &[]);
    assert!(text.ends_with("x…\"") && text.len() < 500, "{text}");
    for text in ["", "ptc", ":x", "ptc:", "a:b\nc:d\n"] {
        let client = format!("--introspection-client={}", write("client", text));
        let text = refused(&["--http", issuer, public, &client], &[]);
        assert!(text.contains("must hold one line, id:secret"), "{text}");
    }
    for (text, expected) in [("ptc\n", None), ("# ours\nptc:se:cret\n", Some(&b"se:cret"[..]))] {
        let client = format!("--http-login-client={}", write("client", text));
        let (id, secret) = oauth(&[issuer, public, &client]).0.unwrap().login_client.unwrap();
        assert!(id == "ptc" && secret.is_some() == expected.is_some(), "{text}");
        assert!(secret.is_none_or(|secret| secret.matches(expected.unwrap())), "{text}");
    }
    for text in ["", ":x", "ptc:", "a\nb\n"] {
        let client = format!("--http-login-client={}", write("client", text));
        let text = refused(&["--http", issuer, public, &client], &[]);
        assert!(
            text.contains("--http-login-client ") && text.contains("one line, id or id:secret"),
            "{text}"
        );
    }
}

#[test]
fn what_has_no_effect_is_told_and_what_cannot_be_is_refused() {
    let warned = |given: &[&str]| resolve(given, &[]).unwrap().warnings;
    assert_eq!(warned(&["--answer-within-ms=50"])[0].event, "answer_within_without_long_runs");
    assert_eq!(warned(&["--answer-within-ms=50", "--long-runs"]), []);
    assert!(refused(&["--audit-log=-"], &[]).contains("must name a file"));
    assert!(refused(&["--long-program-timeout-ms=86400001"], &[]).contains("at most 86400000"));
}

#[test]
fn tls_needs_both_files() {
    assert!(refused(&["--http", "--http-tls-cert=c.pem"], &[]).contains("given together"));
}

#[test]
fn an_env_file_adds_variables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("env");
    std::fs::write(&path, "A_TOKEN=abc\n").unwrap();
    let settings = resolve(&["--env-file", path.to_str().unwrap()], &[]).unwrap();
    assert_eq!(settings.env.text("A_TOKEN"), Some("abc"));
    std::fs::write(&path, "PTC_HTTP=1\n").unwrap();
    assert!(refused(&["--env-file", path.to_str().unwrap()], &[]).contains("line 1"));
}

#[test]
fn probes_have_an_address() {
    let address = |given: &str| {
        let given = format!("--health-listen={given}");
        resolve(&[&given, "--http-instance-label=here"], &[]).unwrap().health.unwrap()
    };
    assert_eq!(address("localhost:81").address.to_string(), "127.0.0.1:81");
    assert_eq!(address("[::]:81").address.to_string(), "[::]:81");
    assert_eq!(address(" 0.0.0.0:0 ").instance, "here");
    assert!(resolve(&[], &[]).unwrap().health.is_none());
    for wrong in ["81", "example.com:81", "127.0.0.1", "localhost:x", ":81"] {
        assert_eq!(
            refused(&[&format!("--health-listen={wrong}")], &[]),
            format!(
                "--health-listen / PTC_HEALTH_LISTEN must be an IP address or localhost and a port, such as \
                 127.0.0.1:7333, got: {wrong:?}"
            )
        );
    }
}

#[test]
fn a_webhook_has_a_secret_and_a_way_back() {
    let folder = tempfile::tempdir().unwrap();
    let (secret, exposed) = (folder.path().join("secret"), folder.path().join("exposed"));
    let line = format!("{}\n", "w".repeat(32));
    for (path, mode) in [(&secret, 0o600), (&exposed, 0o644)] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(path, &line).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let [secret, exposed] = [&secret, &exposed].map(|path| path.to_str().unwrap());
    let url = ["--approval-webhook-url", "https://hooks.example/T0K3N"];
    let file = ["--approval-webhook-secret-file", secret];
    let both = [url, file].concat();
    let http = [&both[..], &["--http"]].concat();
    let settings = resolve(&http, &[]).unwrap();
    assert_eq!(settings.questions.webhook.unwrap().url.as_str(), "https://hooks.example/T0K3N");
    assert_eq!(settings.http.unwrap().origin().unwrap(), "http://127.0.0.1:7332");

    let together = "--approval-webhook-url and --approval-webhook-secret-file must be given together";
    assert_eq!(refused(&url, &[]), together);
    assert_eq!(refused(&file, &[]), together);
    assert_eq!(refused(&both, &[]), "--approval-webhook-url needs --http: the webhook answers over HTTP");
    let token = "t".repeat(32);
    let open = [&http[..], &["--http-host", "0.0.0.0", "--http-auth-token", &token]].concat();
    assert!(refused(&open, &[]).starts_with("--approval-webhook-url needs --public-url, unless"));
    let public = [&open[..], &["--public-url", "https://ptc.example/mcp"]].concat();
    assert_eq!(resolve(&public, &[]).unwrap().http.unwrap().origin().unwrap(), "https://ptc.example");
    let plain = ["--http", "--approval-webhook-url", "http://hooks.example/T0K3N", file[0], file[1]];
    let told = refused(&plain, &[]);
    assert!(
        told.starts_with("--approval-webhook-url / PTC_APPROVAL_WEBHOOK_URL must be an https URL")
            && !told.contains("T0K3N"),
        "{told}"
    );
    let told = refused(&["--http", url[0], url[1], file[0], exposed], &[]);
    assert!(
        told.starts_with("--approval-webhook-secret-file: ")
            && told.ends_with("must belong to you and have mode 0600 or 0640"),
        "{told}"
    );
    let path = [&http[..], &["--http-path", "/webhook/answers"]].concat();
    assert_eq!(refused(&path, &[]), "HTTP paths must be distinct");
}

#[test]
fn a_collector_is_named_by_our_option_or_by_the_standards_variables() {
    let otlp = |flags: &[&str], env: &[(&str, &str)]| resolve(flags, env).unwrap().diagnostics.otlp;
    let urls = |flags: &[&str], env: &[(&str, &str)]| {
        let otlp = otlp(flags, env)?;
        let shown = |url: Option<url::Url>| url.map(|url| url.to_string()).unwrap_or_default();
        Some([shown(otlp.traces), shown(otlp.metrics)])
    };
    let both = |base: &str| Some([format!("{base}/v1/traces"), format!("{base}/v1/metrics")]);
    assert_eq!(urls(&[], &[]), None);
    assert_eq!(urls(&["--otlp-endpoint=http://h:4318"], &[]), both("http://h:4318"));
    let of_standard = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c.example/otlp/");
    assert_eq!(urls(&[], &[of_standard]), both("https://c.example/otlp"));
    assert_eq!(urls(&["--otlp-endpoint=http://h:4318"], &[of_standard]), both("http://h:4318"));
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/x");
    assert_eq!(urls(&[], &[own]), Some(["http://t:1/x".to_owned(), String::new()]));
    let none = ("OTEL_METRICS_EXPORTER", "none");
    assert_eq!(urls(&[], &[of_standard, none]).map(|[_, metrics]| metrics), Some(String::new()));
    assert_eq!(urls(&[], &[of_standard, ("OTEL_SDK_DISABLED", "TRUE")]), None);
    for wrong in ["collector:4318", "ftp://h/", "http://key@h/", "http://h/#a"] {
        let flag = format!("--otlp-endpoint={wrong}");
        let text = refused(&[&flag], &[]);
        assert!(
            text.starts_with("--otlp-endpoint / PTC_OTLP_ENDPOINT must be an http or https URL"),
            "{text}"
        );
        assert!(!text.contains("key@"), "{text}");
    }
}

#[test]
fn the_standards_variables_hold_and_unusable_ones_are_told() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
    let settings = resolve(
        &[],
        &[
            endpoint,
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20key,broken,y=2"),
            ("OTEL_SERVICE_NAME", "gateway"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a%2Cb"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "nine"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1500"),
        ],
    )
    .unwrap();
    let otlp = settings.diagnostics.otlp.unwrap();
    let headers: Vec<(&str, &str)> =
        otlp.headers.iter().map(|(name, value)| (name.as_str(), value.open())).collect();
    assert_eq!(headers, [("x-key", "a key"), ("y", "2")]);
    let resource = [("team", "a,b"), ("service.name", "gateway")];
    assert_eq!(otlp.resource, resource.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(otlp.sampler, ptc_protocol::settings::Sampler { asks_client: true, ratio: 0.25 });
    assert_eq!((otlp.queue, otlp.batch, otlp.interval.as_millis()), (2048, 512, 1500));
    let told: Vec<&str> = settings.warnings.iter().map(|warning| warning.event).collect();
    assert_eq!(told, ["otlp_variable_unusable"; 2]);
    assert!(settings.warnings.iter().all(|warning| !warning.message.contains("a key")));
}

#[test]
fn what_is_exposed_is_said_in_words_and_patterns() {
    let exposed = |given: &[&str]| {
        let settings = resolve(given, &[]).unwrap().aggregator;
        let tools = settings.expose_tools.map(|tools| {
            [("a", "x"), ("b", "get_x"), ("b", "set_x")].map(|(server, tool)| tools.exposes(server, tool))
        });
        (settings.expose_resources, settings.expose_prompts, tools)
    };
    assert_eq!(exposed(&[]), (false, false, None));
    assert_eq!(exposed(&["--expose", "resources,tools"]), (true, false, Some([true; 3])));
    let some = (true, true, Some([true, true, false]));
    assert_eq!(exposed(&["--expose", "tools=a/*,b/get_*,resources,prompts"]), some);
    assert_eq!(
        exposed(&["--expose", "resources", "--expose", "prompts,tools=a__x", "--expose", "b__get_*"]),
        some
    );
    assert_eq!(exposed(&["--expose", "tools=a/*", "--expose", "tools"]).2, Some([true; 3]));
    // A pattern of nothing exposes nothing, and a word that is mistyped is none.
    for (given, found) in
        [("tool", "tool"), ("a/*", "a/*"), ("tools=", "tools="), ("tools=a/*,promts", "promts")]
    {
        let told = refused(&["--expose", given], &[]);
        let end = format!("must be resources, prompts, tools or tools=GLOB, got: {found:?}");
        assert!(told.contains(&end), "{told}");
    }
}

#[test]
fn a_server_of_exposed_tools_alone_has_some_and_starts_them() {
    let told = refused(&["--expose-only", "--expose", "prompts"], &[]);
    let wanted =
        "--expose-only / PTC_EXPOSE_ONLY leaves clients without a tool: add --expose tools, or --programs";
    assert_eq!(told, wanted);
    assert!(resolve(&["--expose-only", "--programs", "programs"], &[]).unwrap().aggregator.expose_only);
    let told = refused(&["--expose-only", "--expose", "tools", "--sessions"], &[]);
    assert!(told.contains("leaves out what --sessions / PTC_SESSIONS offers"), "{told}");
    let settings = resolve(&["--expose-only", "--expose", "tools"], &[]).unwrap().aggregator;
    assert!(settings.expose_only && settings.snapshot_mode == SnapshotMode::Frozen);
    let live = ["--catalog-snapshot-mode", "live"];
    let settings = resolve(&[&live[..], &["--expose", "tools"]].concat(), &[]).unwrap().aggregator;
    assert_eq!(settings.snapshot_mode, SnapshotMode::Background, "a tool that is not listed is never called");
    assert_eq!(resolve(&live, &[]).unwrap().aggregator.snapshot_mode, SnapshotMode::Live);
}

#[test]
fn an_option_that_protects_is_not_left_without_a_value() {
    for (given, env, place) in [
        (&["--policy="][..], &[][..], "--policy"),
        (&["--http", "--issuer", ""], &[], "--issuer"),
        (&["--http-auth-token-file", " "], &[], "--http-auth-token-file"),
        (&[], &[("PTC_POLICY", "")], "PTC_POLICY"),
        (&[], &[("PTC_ISSUER", "  ")], "PTC_ISSUER"),
        (&["--http"], &[("PTC_HTTP_OPERATOR_TOKEN_FILE", "")], "PTC_HTTP_OPERATOR_TOKEN_FILE"),
    ] {
        let told = format!(
            "{place} is empty: it would protect nothing; give it a value, or leave it out to do without"
        );
        assert_eq!(refused(given, env), told, "{given:?} {env:?}");
    }
    let settings = resolve(&["--policy", "/p.json"], &[("PTC_POLICY", "")]).unwrap();
    assert_eq!(settings.policy_file.as_deref(), Some(Path::new("/p.json")), "what is given wins");
    assert!(resolve(&["--state-dir="], &[("PTC_PROGRAMS", "")]).is_ok(), "others are unset");
}

#[test]
fn access_tokens_are_not_wanted_on_a_pipe() {
    for (given, name) in [
        (&["--issuer=https://i.example"][..], "issuer"),
        (&["--http-auth=oauth"], "http-auth"),
        (&["--audience=x"], "audience"),
        (&["--jwt-typ-any"], "jwt-typ-any"),
    ] {
        let variable = name.to_uppercase().replace('-', "_");
        let told = format!(
            "--{name} / PTC_{variable} needs --http: the client of a pipe has no access token; add --http and --public-url, or leave it out"
        );
        assert_eq!(refused(given, &[]), told);
    }
    assert!(resolve(&["--http-auth=token", "--no-jwt-typ-any"], &[]).is_ok());
}

#[test]
fn one_secret_is_one_callers() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|letter| letter.repeat(32));
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let callers = write("callers", &format!("# callers\nci:{a}\n\nbob:{a}\n"));
    let told = refused(&["--http", "--http-auth-token-file", &callers], &[]);
    assert_eq!(
        told,
        format!(
            "--http-auth-token-file {callers}:2 and --http-auth-token-file {callers}:4 have the same token, under the \
             names \"ci\" and \"bob\": give each caller a token of its own"
        )
    );
    let callers = write("callers", &format!("ci:{a}\nci:{b}\nci:{b}\n"));
    let given = ["--http", "--http-auth-token-file", &callers];
    assert_eq!(resolve(&given, &[]).unwrap().http.unwrap().tokens.len(), 3, "one caller has both");
    let operators = write("operators", &format!("boss:{b}\n"));
    let told = refused(&[&given[..], &["--http-operator-token-file", &operators]].concat(), &[]);
    assert!(told.contains(&format!("{operators}:1 have the same token")), "{told}");
    let told = refused(&given, &[("PTC_HTTP_AUTH_TOKEN", &a)]);
    assert!(told.starts_with("--http-auth-token / PTC_HTTP_AUTH_TOKEN and"), "{told}");
}

#[test]
fn messages_name_options_as_whoever_set_them_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ptc.toml");
    let config = format!("--config={}", path.display());
    let at = |line: usize| format!("{}:{line}", path.display());
    let told = |text: &str, given: &[&str], env: &[(&str, &str)]| {
        std::fs::write(&path, text).unwrap();
        refused(&[&[config.as_str(), "--http", "--http-disable-auth"], given].concat(), env)
    };
    assert_eq!(
        told("http-tls-cert = \"c\"", &[], &[]),
        format!("http-tls-cert in {} and --http-tls-key must be given together", at(1))
    );
    // What stands in front of the file counts.
    let by_flag = told("http-tls-cert = \"c\"", &["--http-tls-cert=d"], &[]);
    assert_eq!(by_flag, "--http-tls-cert and --http-tls-key must be given together");
    let by_variable = told("\nhttp-port = { env = \"P\" }", &[], &[("P", "x")]);
    let wanted = format!("http-port in {} (variable P) must be a positive integer, got: \"x\"", at(2));
    assert_eq!(by_variable, wanted);
    std::fs::write(&path, "policy = \"p\"\nagentic-retry-turns = { env = \"T\" }").unwrap();
    let [given, typed] = [&[config.as_str()][..], &[&config, "--policy=q"]].map(|given| {
        let command = Command::new("start").args(arguments(&ALL));
        let matches = command.try_get_matches_from([&["ptc"], given].concat()).unwrap();
        let env = ProcessEnv::from_iter([("T", "many")]);
        let (env, file) = crate::options::sources(&matches, env).unwrap();
        let placed = |text| Values::new(&matches, &env, &file).placed(text);
        [placed("--policy / PTC_POLICY x--policy --policyx (--policy)"), placed("no --policy: --state-url")]
    });
    assert_eq!(given[0], format!("policy in {0} x--policy --policyx (policy in {0})", at(1)));
    assert_eq!(given[1], format!("no policy in {}: --state-url", at(1)));
    assert_eq!(typed[0], "--policy / PTC_POLICY x--policy --policyx (--policy)");
}

#[cfg(unix)]
#[test]
fn files_of_rights_that_anybody_may_write_are_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.json");
    std::fs::write(&path, "{}").unwrap();
    let given = format!("--policy={}", path.display());
    for (mode, told) in [(0o664, 0), (0o666, 1)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let warnings = resolve(&[&given], &[]).unwrap().warnings;
        let warnings = warnings.iter().filter(|warning| warning.event == "file_writable_by_others");
        assert_eq!(warnings.count(), told, "{mode:o}");
    }
}

#[test]
fn options_of_fixed_words_have_those_of_the_schema() {
    let mut of_words = 0;
    for flag in ALL.iter().flat_map(|group| group.flags).filter(|flag| flag.kind == ValueKind::Text) {
        let refused =
            resolve(&["--http", "--http-disable-auth", &format!("--{}=xyzzy", flag.name)], &[]).err();
        let refused = refused.map(|fault| fault.to_string()).unwrap_or_default();
        let Some(listed) =
            refused.split_once(" must be ").filter(|(_, told)| told.contains("got: \"xyzzy\""))
        else {
            assert!(flag.words().is_empty(), "{}: {refused}", flag.name);
            continue;
        };
        for word in flag.words() {
            assert!(listed.1.contains(word) || *word == "token,oauth", "{word}: {refused}");
        }
        of_words += usize::from(!flag.words().is_empty());
        let is_free = flag.words().is_empty();
        assert!(
            !is_free
                || !listed.1.contains(" or ")
                || listed.1.contains("URL")
                || listed.1.contains("address"),
            "{refused}"
        );
    }
    assert_eq!(of_words, 12);
}
