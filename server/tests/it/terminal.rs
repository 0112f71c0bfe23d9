//! What a person sees: `ptc` in a pseudo terminal, whose screen is read back.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

const PTC: &str = env!("CARGO_BIN_EXE_ptc");
/// Longest wait for something to appear.
const DEADLINE: Duration = Duration::from_secs(30);
const ROWS: u16 = 50;

/// A terminal with `ptc` in it.
struct Terminal {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All that was written, with its escapes.
    raw: Vec<u8>,
    /// Its home; gone with the terminal.
    _home: tempfile::TempDir,
}

impl Terminal {
    /// `ptc` with these arguments and variables, in a terminal of `columns`.
    fn start(columns: u16, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let window = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&window), None).expect("a pseudo terminal");
        let end = |end: &OwnedFd| Stdio::from(end.try_clone().expect("a descriptor"));
        let home = tempfile::tempdir().expect("a folder");
        let child = Command::new(PTC)
            .args(arguments)
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color")
            .envs(variables.iter().copied())
            .stdin(end(&pty.slave))
            .stdout(end(&pty.slave))
            .stderr(end(&pty.slave))
            .spawn()
            .expect("the command starts");
        drop(pty.slave);
        let mut source = File::from(pty.master.try_clone().expect("a descriptor"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal that nobody writes to any more ends with an error.
            while let Ok(read) = source.read(&mut buffer) {
                if read == 0 || sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = vt100::Parser::new(size(ROWS), size(columns), 200);
        Terminal { child, keyboard: File::from(pty.master), output, screen, raw: Vec::new(), _home: home }
    }

    /// A REPL that has shown its prompt.
    fn repl(columns: u16, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let arguments: Vec<&str> = std::iter::once("repl").chain(arguments.iter().copied()).collect();
        let mut terminal = Terminal::start(columns, &arguments, variables);
        terminal.wait_for("user=>");
        terminal
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Types a line and Enter, and waits until the screen shows `expected` and the next prompt. Keys that come before the prompt
    /// are the terminal's own to show.
    fn enter(&mut self, line: &str, expected: &str) {
        self.press(line);
        self.press("\r");
        self.wait_until(expected, |screen| {
            screen.contains(expected) && screen.lines().last().is_some_and(|line| line == "user=>")
        });
    }

    /// The screen as text, without the blanks at the ends of lines.
    fn text(&self) -> String {
        let rows = self.screen.screen().rows(0, self.screen.screen().size().1.get());
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// Reads until the screen has `expected`.
    fn wait_for(&mut self, expected: &str) {
        self.wait_until(expected, |screen| screen.contains(expected));
    }

    fn wait_until(&mut self, expected: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_so(&self.text()) {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("no {expected:?} on\n{}", self.text()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without {expected:?}:\n{}", self.text())
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.screen.process(bytes);
    }

    /// The exit status, after all output is read.
    fn end(&mut self) -> Option<i32> {
        let status = self.child.wait().expect("it ends");
        // Up to the end of the terminal, which it was the last one to have.
        while let Ok(bytes) = self.output.recv() {
            self.take(&bytes);
        }
        status.code()
    }

    /// What was written, with escapes as text.
    fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rows or columns of a screen.
fn size(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("a screen has room")
}

/// The lines of the screen from the first that begins with `begin`.
fn lines_from(screen: &str, begin: &str) -> Vec<String> {
    screen.lines().skip_while(|line| !line.starts_with(begin)).map(str::to_owned).collect()
}

#[test]
fn unfinished_forms_continue_with_a_prompt_and_an_indentation() {
    let mut terminal = Terminal::repl(60, &[], &[]);
    terminal.press("(defn area [w h]\r");
    terminal.wait_for("\n  #_=>");
    terminal.press("(* w\rh))\r");
    terminal.wait_for("#'area\nuser=>");
    let expected = ["user=> (defn area [w h]", "  #_=>   (* w", "  #_=>      h))", "#'area", "user=>"];
    assert_eq!(lines_from(&terminal.text(), "user=> (defn"), expected);
}

#[test]
fn values_are_laid_out_by_the_width_of_the_terminal() {
    let mut terminal = Terminal::repl(40, &[], &[]);
    terminal.enter("[{:id 1 :name \"anvil\"} {:id 2 :name \"drill\"}]", "drill\"}]\nuser=>");
    assert_eq!(
        lines_from(&terminal.text(), "[{:id"),
        ["[{:id 1 :name \"anvil\"}", " {:id 2 :name \"drill\"}]", "user=>"]
    );
    terminal.enter("[1 2 3]", "\n[1 2 3]");
}

#[test]
fn typed_text_has_colours_unless_they_are_refused() {
    let painted = "\x1b[32m\"a\"\x1b[0m";
    let mut terminal = Terminal::repl(60, &[], &[]);
    terminal.enter("(str \"a\" 1)", "\n\"a1\"");
    assert!(terminal.raw().contains(painted), "{}", terminal.raw());
    for refusal in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut terminal = Terminal::repl(60, &[], &[refusal]);
        terminal.enter("(str \"a\" 1)", "\n\"a1\"");
        terminal.enter("(foo)", "unbound_var");
        terminal.press("(str\r");
        terminal.press("\"b\")\r");
        terminal.wait_for("\n\"b\"");
        let raw = terminal.raw();
        // Colours are `ESC [ … m`; moving the cursor is none.
        let coloured = raw.match_indices("\x1b[").any(|(at, _)| {
            let end = raw[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            end.starts_with('m')
        });
        assert!(!coloured, "{refusal:?}: {raw:?}");
    }
}

#[test]
fn words_and_commands_help_and_leave() {
    let mut terminal = Terminal::repl(90, &[], &[]);
    terminal.enter("help", ":doc NAME");
    terminal.enter("(def total 7)", "#'total");
    terminal.enter(":vars", "\ntotal");
    terminal.enter(":verbose", "; a keyword; :help lists the commands");
    terminal.enter("(def exit 1)", "#'exit");
    terminal.enter("exit", "exit\n1");
    terminal.press("quit\r");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
}

#[test]
fn tab_completes_names_and_what_the_session_defined() {
    let mut terminal = Terminal::repl(90, &["--context", r#"{"orders": [1, 2]}"#], &[]);
    terminal.press("(group-\t");
    terminal.wait_for("(group-by");
    terminal.press("\x15(count data/or\t");
    terminal.wait_for("(count data/orders");
    terminal.press(")\r");
    terminal.wait_for("\n2\n");
    terminal.press("(str/up\t\t");
    terminal.wait_for("str/upcase");
}

#[test]
fn tab_lists_a_server_when_its_tools_are_asked_for() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("upstreams.json");
    // The command itself is refused as an upstream of its own.
    let server = format!("exec {PTC} demo-upstream store");
    let config = serde_json::json!({"upstreams": {"shop": {"transport": "mcp_stdio", "command": "/bin/sh", "args": ["-c", server]}}});
    std::fs::write(&file, config.to_string()).expect("a file");
    let mut terminal = Terminal::repl(90, &["--upstreams-config", file.to_str().expect("text")], &[]);
    terminal.press("(tool/call {:server \"sh\t");
    terminal.wait_for(":server \"shop");
    // The first Tab has the server listed; how long that takes is the server's.
    terminal.press("\" :tool \"");
    let deadline = Instant::now() + DEADLINE;
    while !terminal.text().contains(":tool \"get") {
        assert!(Instant::now() < deadline, "{}", terminal.text());
        terminal.press("\t");
        if let Ok(bytes) = terminal.output.recv_timeout(Duration::from_millis(100)) {
            terminal.take(&bytes);
        }
    }
    terminal.press("\" :args {:i\t");
    terminal.wait_for(":args {:id");
}

#[test]
fn a_failure_points_into_the_definition_it_happened_in() {
    let mut terminal = Terminal::repl(70, &[], &[]);
    terminal.press("(defn total [m]\r(+ 1 (:a m)))\r");
    terminal.wait_for("#'total");
    terminal.enter("(total {})", "  |          ^");
    let screen = terminal.text();
    let report = lines_from(&screen, "type_error");
    assert_eq!(
        report[..4],
        [
            "type_error: +: invalid argument types: number, nil",
            "in the definition of total:",
            "2 |          (+ 1 (:a m)))",
            "  |          ^",
        ],
        "{screen}"
    );
}

#[test]
fn slow_forms_say_how_long_they_took() {
    let mut terminal = Terminal::repl(70, &["--program-timeout-ms", "20000"], &[]);
    terminal.enter("(+ 1 2)", "\n3");
    terminal.enter("(sleep-ms 1100)", " s\n");
    let screen = terminal.text();
    let told = screen.lines().find(|line| line.starts_with("; 1.")).expect("a time");
    assert!(told.ends_with(" s"), "{told}");
    assert_eq!(screen.matches("; ").count(), 1, "{screen}");
}

#[test]
fn a_server_at_a_terminal_says_what_it_is_and_boot_failures_once() {
    let mut terminal = Terminal::start(100, &["start"], &[]);
    terminal.wait_for("ptc: MCP is spoken here on standard input; to try programs: ptc repl");
    let mut terminal = Terminal::start(100, &["start", "--catalog-mode", "x"], &[]);
    assert_eq!(terminal.end(), Some(1));
    let sentence = "--catalog-mode / PTC_CATALOG_MODE must be auto, inline or lazy, got: \"x\"";
    assert_eq!(terminal.text(), format!("ptc: {sentence}"));
}

#[test]
fn a_bare_command_at_a_terminal_shows_the_help() {
    let mut terminal = Terminal::start(100, &[], &[]);
    assert_eq!(terminal.end(), Some(2));
    assert!(terminal.text().contains("Usage: ptc <COMMAND>"), "{}", terminal.text());
}
