//! The table of all options of `ptc start`.

use std::ffi::OsStr;

use ptc_host::config::ProcessEnv;

/// How an option's text is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// An integer of at least 1; anything else fails the start.
    Positive,
    /// As [`ValueKind::Positive`], but a wrong value is ignored while HTTP is off.
    HttpPositive,
    /// An integer, clamped to a range.
    Clamped,
    /// `--x`, `--no-x`, `--x=false`.
    Switch,
    /// Any text, trimmed.
    Text,
    /// A file or folder.
    Path,
    /// May be repeated; each value may be a comma-separated list.
    List,
}

/// The value of an option that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// No value.
    Unset,
    /// This number.
    Number(u64),
    /// The state of a switch.
    On(bool),
    /// This text.
    Word(&'static str),
    /// A value derived from other options and the machine, in words for help.
    Derived(&'static str),
}

impl Fallback {
    /// The number.
    pub(super) fn number(self) -> u64 {
        match self {
            Fallback::Number(number) => number,
            _ => unreachable!("{self:?} is no number"),
        }
    }

    /// The state of the switch.
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Fallback::On(true))
    }

    /// The text.
    pub(super) fn word(self) -> &'static str {
        match self {
            Fallback::Word(word) => word,
            _ => unreachable!("{self:?} is no word"),
        }
    }
}

/// One option. Its variable is `PTC_` and its name in capitals, unless [`Flag::variables`] says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Without the leading dashes.
    pub name: &'static str,
    /// How its text is parsed.
    pub kind: ValueKind,
    /// The value if the option is not given.
    pub default: Fallback,
    /// The text for help.
    pub help: &'static str,
}

impl Flag {
    /// The help text of the option, with its default.
    pub fn described(&self) -> String {
        let help = self.help;
        match self.default {
            Fallback::Unset => help.to_owned(),
            Fallback::Number(number) => format!("{help} [default: {number}]"),
            Fallback::On(on) => format!("{help} [default: {on}]"),
            Fallback::Word(text) | Fallback::Derived(text) => format!("{help} [default: {text}]"),
        }
    }

    /// The words that its text may be; none if it may be any other.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        match self.name {
            "audit-full" => &["stop", "drop"],
            "audit-sync" => &["always", "interval", "none"],
            "catalog-mode" => &["auto", "inline", "lazy"],
            "catalog-snapshot-mode" => &["frozen", "live", "background"],
            "http-auth" => &["token", "oauth", "oauth,token", "token,oauth"],
            "log-level" => &["debug", "info", "warn", "warning", "error"],
            "programs-stale" => &["refuse", "warn"],
            "questions" => &["auto", "client", "off"],
            "response-profile" => &["slim", "structured", "debug"],
            "state-key" => &["keyring"],
            "state-sync" => &["disk", "process"],
            "trace-payloads" => &["none", "summary", "full"],
            _ => &[],
        }
    }

    /// The environment variable of the option, and its former name (ruling 70).
    pub(crate) fn variables(&self) -> [String; 2] {
        match self.name {
            "upstreams-config" => ptc_host::config::SERVER_VARIABLE.map(str::to_owned),
            name => ["PTC_", "PTC_RUNNER_MCP_"]
                .map(|prefix| prefix.to_owned() + &name.to_uppercase().replace('-', "_")),
        }
    }

    /// The value of its variable, with the name that is set.
    pub(crate) fn in_environment<'e>(&self, env: &'e ProcessEnv) -> Option<(String, &'e OsStr)> {
        let names = self.variables();
        let (name, value) = env.first_set(names.iter().map(String::as_str))?;
        Some((name.to_owned(), value))
    }
}

/// Options that belong together, under one heading of the help text.
#[derive(Debug, Clone, Copy)]
pub struct OptionGroup {
    /// The heading.
    pub heading: &'static str,
    /// Its options, in the order of the help text.
    pub flags: &'static [Flag],
}

const fn flag(name: &'static str, kind: ValueKind, default: Fallback, help: &'static str) -> Flag {
    Flag { name, kind, default, help }
}

use Fallback::{Derived, Number, On, Unset, Word};
use ValueKind::{Clamped, HttpPositive, List, Path, Positive, Switch, Text};

/// Limits and output of every evaluation.
pub const CORE: OptionGroup = OptionGroup {
    heading: "Core",
    flags: &[
        flag("config", Path, Unset, "TOML file with options by their names; flags and variables come first"),
        flag("max-frame-bytes", Positive, Number(8_388_608), "Longest line on stdio, in bytes"),
        flag("max-program-bytes", Positive, Number(65_536), "Longest program, in bytes"),
        flag(
            "max-context-bytes",
            Positive,
            Number(4_194_304),
            "Largest `context` argument, in bytes of JSON",
        ),
        flag("max-concurrent-calls", Positive, Number(1024), "Tool calls that run at the same time"),
        flag(
            "max-concurrent-calls-per-owner",
            Positive,
            Derived("max-concurrent-calls; a quarter of it with several tokens"),
            "Tool calls of one token that run at the same time",
        ),
        flag(
            "program-timeout-ms",
            Positive,
            Derived("1000; 30000 with upstreams"),
            "Time one program may take",
        ),
        flag(
            "program-memory-limit-bytes",
            Positive,
            Derived("10485760; 104857600 with upstreams"),
            "Memory one program may use",
        ),
        flag(
            "program-step-limit",
            Positive,
            Derived("25000000 for each second of the time limit"),
            "Steps one program may take; the same program takes the same number on every run",
        ),
        flag(
            "max-total-memory-bytes",
            Positive,
            Derived("half of the memory there is"),
            "Memory of all programs, sessions, replies and frames together",
        ),
        flag(
            "max-total-memory-bytes-per-owner",
            Positive,
            Derived("max-total-memory-bytes; a quarter of it with several tokens"),
            "Memory of the programs, sessions and replies of one token",
        ),
        flag(
            "program-cache-bytes",
            Positive,
            Derived("64 MiB, at most an eighth of max-total-memory-bytes"),
            "Compiled programs that are kept for the next call, and as many bytes of regular expressions",
        ),
        flag(
            "max-result-bytes",
            Text,
            Derived("auto"),
            "Longest text of a value: a number, or auto for what the client shows whole (16384 slim, 32768 structured, 131072 debug for one that is not known); longer ones are cut between elements, with a note",
        ),
        flag("response-profile", Text, Derived("slim; debug with --debug-tool"), "slim, structured or debug"),
        flag("log-level", Text, Derived("info"), "debug, info, warn or error"),
        flag(
            "env-file",
            Path,
            Unset,
            "File of NAME=value lines for variables that are not set (credentials of upstreams)",
        ),
    ],
};

/// Upstream servers.
pub(crate) const AGGREGATOR: OptionGroup = OptionGroup {
    heading: "Upstreams",
    flags: &[
        flag(
            "upstreams-config",
            Path,
            Derived("~/.config/ptc/upstreams.json if it exists"),
            "File that names the upstream servers",
        ),
        flag(
            "policy",
            Path,
            Unset,
            "File of rules on which callers see and call what; without it everybody may do everything",
        ),
        flag("profile", Text, Unset, "Profile of the upstreams file that the client of a pipe sees"),
        flag(
            "aggregator-read-only",
            Switch,
            On(false),
            "Declare all upstream tools read-only (shown to clients, not enforced)",
        ),
        flag(
            "hide-seen-shapes",
            Switch,
            On(false),
            "Do not show in `doc` the keys and types of earlier answers",
        ),
        flag("no-list-cache", Switch, On(false), "Do not cache the lists of the upstreams between starts"),
        flag("upstream-call-timeout-ms", Positive, Number(5000), "Longest time of one upstream call"),
        flag(
            "max-upstream-response-bytes",
            Positive,
            Number(2_097_152),
            "Largest reply of an upstream, in bytes",
        ),
        flag(
            "max-upstream-request-bytes",
            Positive,
            Number(4_194_304),
            "Largest arguments of an upstream call, in bytes of JSON",
        ),
        flag(
            "max-attached-bytes",
            Positive,
            Number(5_242_880),
            "Binary content that one answer may carry, of an upstream or to a client",
        ),
        flag("max-upstream-calls-per-program", Positive, Number(250), "`tool/call`s one program may make"),
        flag("approval-ttl-ms", Positive, Number(600_000), "How long an approval is valid, from its answer"),
        flag(
            "sampling-model",
            Text,
            Unset,
            "Model that answers upstreams with `\"sampling\": true`, named as for `ptc agent`: PROVIDER:MODEL",
        ),
        flag(
            "sampling-max-tokens",
            Positive,
            Number(4096),
            "Longest answer that it gives an upstream, in tokens",
        ),
        flag(
            "max-samplings-per-program",
            Positive,
            Number(8),
            "Requests of upstreams that it answers during one program",
        ),
        flag(
            "catalog-mode",
            Text,
            Derived("auto"),
            "auto, inline or lazy: whether descriptions list the upstreams' tools",
        ),
        flag(
            "catalog-snapshot-mode",
            Text,
            Derived("frozen"),
            "frozen, live or background: when upstreams start, and whether the catalog follows them",
        ),
        flag(
            "expose",
            List,
            Unset,
            "resources, prompts, tools, tools=GLOB,...: what of the upstreams clients reach by themselves; may be repeated",
        ),
        flag(
            "expose-only",
            Switch,
            On(false),
            "Offer the tools of --expose and --programs, and no lisp_eval, lisp_task, lisp_debug or sessions",
        ),
        flag(
            "catalog-bytes",
            Positive,
            Number(23_040),
            "Bytes, as JSON, of the list of tools where a client hands a long one to its model",
        ),
        flag("max-catalog-ops-per-program", Positive, Number(25), "Discovery forms one program may evaluate"),
        flag(
            "max-catalog-result-bytes",
            Positive,
            Number(262_144),
            "Largest result of a discovery form, in bytes of JSON",
        ),
        flag("ca-file", Path, Unset, "PEM file of certificate authorities to trust besides the system's"),
    ],
};

/// Questions of programs, upstreams and the operator's policy to people.
pub const QUESTIONS: OptionGroup = OptionGroup {
    heading: "Questions",
    flags: &[
        flag(
            "questions",
            Text,
            Derived("auto where upstreams have approvals or sign-ins, else client"),
            "auto, client or off: whether programs can wait for people, and whether only clients are asked",
        ),
        flag(
            "question-open-ms",
            Positive,
            Number(45_000),
            "Time that a call waits while its client asks the user; clients end calls after 60 s",
        ),
        flag(
            "page-wait-ms",
            Positive,
            Number(15_000),
            "Time that a call waits for its user to finish on a page, at most 50000; clients end calls after 60 s",
        ),
        flag(
            "waiting-ttl-ms",
            Positive,
            Number(3_600_000),
            "How long a suspended program waits for answers that come from elsewhere than its client, at most 7 days",
        ),
        flag("max-questions-per-program", Positive, Number(32), "Questions that one program may ask"),
        flag(
            "request-state-ttl-ms",
            Positive,
            Number(600_000),
            "Time within which a client may resume a suspended program",
        ),
        flag(
            "max-request-state-bytes",
            Positive,
            Number(262_144),
            "Longest `requestState`; a larger program is stored, and the client gets its handle",
        ),
        flag(
            "approval-webhook-url",
            Text,
            Unset,
            "URL that receives each approval that a suspended program waits for, and may answer it; needs --http",
        ),
        flag(
            "approval-webhook-secret-file",
            Path,
            Unset,
            "File with the secret that signs messages to and from the webhook: one or two lines, of which the first signs",
        ),
    ],
};

/// State that outlives a process, and that several processes share.
pub(crate) const STATE: OptionGroup = OptionGroup {
    heading: "State",
    flags: &[
        flag(
            "state-dir",
            Path,
            Derived("$XDG_STATE_HOME/ptc, else ~/.local/state/ptc, for sign-ins alone"),
            "Folder for state that outlives the process: sign-ins to upstreams and, with --sessions, sessions",
        ),
        flag(
            "state-url",
            Text,
            Unset,
            "redis:// or rediss:// URL of a Valkey or Redis server that several servers share; a password only in the variable",
        ),
        flag("state-password-file", Path, Unset, "File with the password of that server"),
        flag("state-ca-file", Path, Unset, "PEM file of certificate authorities that sign its certificate"),
        flag(
            "state-cluster",
            Switch,
            On(false),
            "The server is a cluster; the URL names one node, or several separated by commas",
        ),
        flag("state-namespace", Text, Word("ptc"), "Prefix of all its keys"),
        flag("state-allow-insecure", Switch, On(false), "Allow an unencrypted connection to another machine"),
        flag(
            "state-secret-file",
            Path,
            Derived("with --state-dir a file in it"),
            "File of one or two lines that seal what is kept; the first seals, both open",
        ),
        flag("state-key-file", Path, Unset, "Former name of --state-secret-file"),
        flag(
            "state-sync",
            Text,
            Word("disk"),
            "disk: what was answered survives a loss of power; process: it survives a crash of the process",
        ),
        flag(
            "state-required",
            Switch,
            On(true),
            "Fail the start, and report not ready, while the server of --state-url is unreachable",
        ),
        flag(
            "max-state-bytes-per-owner",
            Positive,
            Number(268_435_456),
            "Bytes that the sessions of one token may take in the store",
        ),
        flag("state-key", Text, Unset, "`keyring`: a key in the system's keyring seals the sign-ins"),
    ],
};

/// Stateful sessions.
pub const SESSIONS: OptionGroup = OptionGroup {
    heading: "Sessions",
    flags: &[
        flag("sessions", Switch, On(false), "Offer sessions, which keep definitions between evaluations"),
        flag("max-sessions", Positive, Number(64), "Open sessions"),
        flag(
            "max-sessions-per-owner",
            Positive,
            Derived("max-sessions; a quarter of it with several tokens"),
            "Open sessions of one token",
        ),
        flag("session-ttl-ms", Positive, Number(1_800_000), "Longest life of a session"),
        flag("session-idle-timeout-ms", Positive, Number(900_000), "Longest time without use of a session"),
        flag("max-session-memory-bytes", Positive, Number(1_048_576), "Size of all bindings of a session"),
        flag("max-session-binding-bytes", Positive, Number(262_144), "Size of one binding"),
        flag("max-session-bindings", Positive, Number(200), "Bindings of a session"),
        flag("max-session-history-entry-bytes", Positive, Number(65_536), "Size of *1, *2 and *3 each"),
        flag("max-session-print-entries", Positive, Number(50), "Printed texts kept"),
        flag("max-session-print-bytes", Positive, Number(65_536), "Size of the printed texts kept"),
        flag(
            "max-session-source-bytes",
            Positive,
            Number(262_144),
            "Program text that a stored session needs for its functions, in bytes",
        ),
        flag("max-session-tool-call-entries", Positive, Number(50), "Tool calls kept"),
        flag("max-session-tool-call-bytes", Positive, Number(131_072), "Size of the tool calls kept"),
        flag("max-session-upstream-call-entries", Positive, Number(50), "Upstream calls kept"),
        flag("max-session-upstream-call-bytes", Positive, Number(131_072), "Size of the upstream calls kept"),
    ],
};

/// Traces and the diagnostics tool.
pub(crate) const DIAGNOSTICS: OptionGroup = OptionGroup {
    heading: "Diagnostics",
    flags: &[
        flag(
            "health-listen",
            Text,
            Unset,
            "ADDRESS:PORT that serves /health and /ready on its own thread, without a token",
        ),
        flag(
            "audit-log",
            Path,
            Unset,
            "File for one JSON line a program, upstream call, sign-in, denial, question and answer; without it none is written",
        ),
        flag(
            "audit-full",
            Text,
            Derived("stop"),
            "stop or drop: calls are refused while the audit log cannot be written, or run unrecorded",
        ),
        flag(
            "audit-sync",
            Text,
            Derived("interval"),
            "always, interval or none: when lines are on the disk: after each write, within a second, or when the system likes",
        ),
        flag(
            "otlp-endpoint",
            Text,
            Unset,
            "URL of an OpenTelemetry collector, which gets spans and metrics by OTLP over HTTP, such as http://localhost:4318",
        ),
        flag("otlp-headers-file", Path, Unset, "File of headers for the collector, one `name: value` a line"),
        flag("trace-dir", Path, Unset, "Folder for one trace file per call; without it nothing is traced"),
        flag(
            "trace-payloads",
            Text,
            Derived("summary"),
            "none, summary or full: how much of programs and data is recorded",
        ),
        flag("trace-max-files", Positive, Number(1000), "Trace files kept"),
        flag("trace-max-bytes", Positive, Number(1 << 30), "Bytes of all trace files kept"),
        flag("debug-tool", Switch, On(false), "Offer the tool lisp_debug, which shows recent calls"),
        flag("debug-ring-size", Clamped, Number(500), "Calls remembered, 10 to 5000"),
        flag(
            "max-debug-response-bytes",
            Clamped,
            Number(65_536),
            "Largest answer of lisp_debug, at least 4096",
        ),
    ],
};

/// The planner behind `lisp_task`.
pub(crate) const PLANNER: OptionGroup = OptionGroup {
    heading: "Planner",
    flags: &[
        flag("agentic", Switch, On(false), "Offer lisp_task (needs upstreams)"),
        flag("agentic-model", Text, Word("gemini-flash-lite"), "Model alias or provider:model"),
        flag("agentic-task-timeout-ms", Positive, Number(45_000), "Time one task may take"),
        flag("agentic-planner-timeout-ms", Positive, Number(15_000), "Time one call of the model may take"),
        flag("agentic-max-output-tokens", Positive, Number(1200), "Longest reply of the model"),
        flag("agentic-max-result-bytes", Positive, Number(4096), "Longest answer of a task"),
        flag("agentic-include-program", Switch, On(true), "Show the programs in the answer"),
        flag(
            "agentic-trace-prompts",
            Switch,
            On(false),
            "Record prompts in traces (with --trace-payloads full)",
        ),
        flag("agentic-max-turns", Positive, Number(1), "Programs one task may run"),
        flag("agentic-retry-turns", Text, Number(0), "Further programs after a failed one"),
        flag("agentic-allow-writes", Switch, On(false), "Allow upstreams that are not declared read-only"),
        flag("agentic-subagent-config", Path, Unset, "JSON file with prompt parts and turn counts"),
        flag(
            "agentic-capability-summary",
            Path,
            Unset,
            "File with the description of the tasks that are possible",
        ),
        flag("agentic-capability-summary-max-bytes", Positive, Number(800), "Longest generated summary"),
    ],
};

/// The HTTP listener.
pub const HTTP: OptionGroup = OptionGroup {
    heading: "HTTP",
    flags: &[
        flag("http", Switch, On(false), "Listen on HTTP instead of stdio"),
        flag("http-host", Text, Word("127.0.0.1"), "Address to listen on"),
        flag("http-port", HttpPositive, Number(7332), "Port to listen on"),
        flag("http-path", Text, Word("/mcp"), "Path of the MCP endpoint"),
        flag(
            "http-auth-token",
            Text,
            Unset,
            "Bearer token of at least 32 bytes; better in a file or variable",
        ),
        flag("http-auth-token-file", Path, Unset, "File of tokens, one a line: `token` or `name:token`"),
        flag(
            "http-operator-token-file",
            Path,
            Unset,
            "File of operators' tokens, in the same format: in the console, they see all runs and can answer for everyone",
        ),
        flag("http-disable-auth", Switch, On(false), "No token; loopback only"),
        flag(
            "http-auth",
            Text,
            Derived("oauth with --issuer, else token"),
            "Credentials of callers: token, oauth, or oauth,token for both",
        ),
        flag(
            "issuer",
            List,
            Unset,
            "OAuth provider whose access tokens are accepted, as they write it in `iss`; needs --public-url; may be repeated",
        ),
        flag(
            "audience",
            List,
            Unset,
            "Audience of access tokens that is accepted beside --public-url; may be repeated",
        ),
        flag("required-scope", List, Unset, "Scope that every access token must have; may be repeated"),
        flag(
            "jwt-typ-any",
            Switch,
            On(false),
            "Accept access tokens of the type JWT or of none, as many providers issue them",
        ),
        flag(
            "introspection-client",
            Path,
            Unset,
            "File with id:secret, as which the first issuer is asked about opaque access tokens",
        ),
        flag(
            "http-login-client",
            Path,
            Unset,
            "File with id or id:secret, as which people sign in at the first issuer for the console and the sign-in page",
        ),
        flag(
            "public-url",
            Text,
            Unset,
            "Public URL of the MCP endpoint, for access tokens and the sign-in page of upstreams",
        ),
        flag("http-allowed-origin", List, Unset, "Origin of web pages that may connect; may be repeated"),
        flag("http-tls-cert", Path, Unset, "PEM file with the certificate chain: serve HTTPS"),
        flag("http-tls-key", Path, Unset, "PEM file with the certificate's private key"),
        flag("http-request-timeout-ms", HttpPositive, Number(15_000), "Longest wait for bytes of a request"),
        flag(
            "http-idle-timeout-ms",
            HttpPositive,
            Number(75_000),
            "Longest idle time of a kept-alive connection",
        ),
        flag(
            "http-shutdown-grace-ms",
            HttpPositive,
            Number(10_000),
            "Time for running calls when the server stops",
        ),
        flag("http-max-body-bytes", HttpPositive, Derived("max-frame-bytes"), "Largest request body"),
        flag(
            "http-max-buffered-bytes",
            HttpPositive,
            Derived("a quarter of max-total-memory-bytes, at least one body"),
            "Bytes of request bodies and of unread answers in memory",
        ),
        flag(
            "http-max-buffered-bytes-per-owner",
            HttpPositive,
            Derived("http-max-buffered-bytes; a quarter of it with several tokens, at least one body"),
            "Bytes of request bodies and of unread answers of one token",
        ),
        flag("http-max-connections", HttpPositive, Number(4096), "Open connections"),
        flag(
            "http-max-connections-per-owner",
            HttpPositive,
            Derived("http-max-connections; a quarter of it with several tokens"),
            "Open connections of one token",
        ),
        flag("http-session-ttl-ms", HttpPositive, Number(3_600_000), "Longest life of an HTTP session"),
        flag(
            "http-session-idle-timeout-ms",
            HttpPositive,
            Number(900_000),
            "Longest time without use of an HTTP session",
        ),
        flag("http-max-sessions", HttpPositive, Number(256), "Open HTTP sessions"),
        flag(
            "http-max-sessions-per-owner",
            HttpPositive,
            Derived("http-max-sessions; a quarter of it with several tokens"),
            "Open HTTP sessions of one token",
        ),
        flag("http-max-listeners", HttpPositive, Number(1024), "Open `subscriptions/listen` channels"),
        flag(
            "http-max-listeners-per-owner",
            HttpPositive,
            Derived("http-max-listeners; a quarter of it with several tokens"),
            "Open `subscriptions/listen` channels of one token",
        ),
        flag(
            "http-max-in-flight-per-session",
            HttpPositive,
            Number(1024),
            "Calls of one HTTP session at the same time",
        ),
        flag("http-auth-rate-limit", Switch, On(true), "Block addresses that send wrong tokens"),
        flag(
            "http-auth-rate-limit-window-ms",
            HttpPositive,
            Number(60_000),
            "Within which failures are counted",
        ),
        flag("http-auth-rate-limit-max-failures", HttpPositive, Number(5), "Failures that block"),
        flag("http-auth-rate-limit-block-ms", HttpPositive, Number(60_000), "Length of a block"),
        flag("http-allow-unsafe-network", Switch, On(false), "Forbids --http-disable-auth"),
        flag("http-metrics", Switch, On(false), "Serve metrics for Prometheus"),
        flag("http-metrics-path", Text, Word("/metrics"), "Path of the metrics"),
        flag("http-metrics-owners", Switch, On(false), "Show in them what each caller holds, by its hash"),
        flag("http-instance-label", Text, Derived("host name"), "Name of this instance in logs and /ready"),
        flag("console", Switch, On(false), "Serve a page for operators at /console"),
    ],
};

/// Programs that outlive the request that began them.
pub const RUNS: OptionGroup = OptionGroup {
    heading: "Runs",
    flags: &[
        flag("long-runs", Switch, On(false), "Let programs run for longer than their clients wait"),
        flag(
            "answer-within-ms",
            Positive,
            Unset,
            "With --long-runs: time after which a call is answered although its program still runs",
        ),
        flag(
            "long-program-timeout-ms",
            Positive,
            Number(600_000),
            "Longest time of a program with --long-runs, at most 24 h",
        ),
        flag("run-ttl-ms", Positive, Number(600_000), "How long the result of a run is kept"),
        flag("max-runs", Positive, Number(1024), "Stored runs"),
        flag("max-runs-per-owner", Positive, Number(64), "Stored runs of one token"),
        flag(
            "max-run-bytes-per-owner",
            Positive,
            Number(67_108_864),
            "Size of the stored runs of one token, in bytes",
        ),
    ],
};

/// Kept programs.
pub const PROGRAMS: OptionGroup = OptionGroup {
    heading: "Programs",
    flags: &[
        flag("programs", Path, Unset, "Folder of kept programs and their lock; those approved are tools"),
        flag("programs-key", Path, Unset, "Ed25519 key in PEM that must have signed the lock"),
        flag(
            "programs-stale",
            Text,
            Derived("refuse"),
            "refuse or warn: what becomes of programs whose tools have changed since they were approved",
        ),
        flag(
            "program-drafts",
            Switch,
            On(false),
            "Let models propose programs that they ran, for a person to approve",
        ),
    ],
};

/// All groups, in the order of the help text.
pub const ALL: [OptionGroup; 10] =
    [CORE, AGGREGATOR, PROGRAMS, QUESTIONS, STATE, SESSIONS, RUNS, DIAGNOSTICS, PLANNER, HTTP];

/// The option of that name.
pub fn find(name: &str) -> &'static Flag {
    let found = ALL.iter().flat_map(|group| group.flags).find(|flag| flag.name == name);
    // Names are literals of this crate; a test looks up every one of them.
    found.unwrap_or_else(|| unreachable!("no option named {name}"))
}
