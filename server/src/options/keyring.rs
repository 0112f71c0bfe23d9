//! The key that seals sign-ins, in the keyring of the operating system (auth.md 7.3). The system's own program reads
//! and writes it, without a shell. The key is created at its first use.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ptc_host::sign_in::secret::Secret;
use ptc_host::time;

/// How long to wait for the keyring: it may ask its owner to unlock it.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval of polls whether the program has ended.
const PAUSE: Duration = Duration::from_millis(5);
/// The label of the key in the keyring.
const LABEL: &str = "ptc: seals sign-ins";
/// Most characters of a program's output that are shown.
const MAX_WORDS: usize = 200;
/// A lock file, held while a key is created, so that two processes do not create two keys.
const LOCK: &str = "keyring.lock";

/// The program that accesses the keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyringTool {
    /// The program of the Secret Service (freedesktop.org).
    SecretTool,
    /// The program of macOS.
    Security,
}

const TOOL: KeyringTool =
    if cfg!(target_os = "macos") { KeyringTool::Security } else { KeyringTool::SecretTool };

/// The result of a program.
struct ProgramOutput {
    status: Option<i32>,
    output: Secret,
    words: String,
}

/// The key, which is created if there is none yet. `folder` is the state folder.
///
/// # Errors
/// A sentence that says that the keyring cannot be reached, or is locked.
pub(super) fn state_key(folder: &Path) -> Result<Secret, String> {
    Keyring { tool: TOOL, program: TOOL.program().into() }.key(folder)
}

struct Keyring {
    tool: KeyringTool,
    program: std::path::PathBuf,
}

impl KeyringTool {
    fn program(self) -> &'static str {
        match self {
            KeyringTool::SecretTool => "secret-tool",
            KeyringTool::Security => "security",
        }
    }

    /// The arguments that find the key.
    fn lookup(self) -> &'static [&'static str] {
        match self {
            KeyringTool::SecretTool => &["lookup", "application", "ptc", "use", "state-key"],
            KeyringTool::Security => &["find-generic-password", "-s", "ptc", "-a", "state-key", "-w"],
        }
    }

    /// The arguments that store a key, and the program's input: a secret must not be an argument, which other users
    /// can see.
    fn store(self, key: &str) -> (Vec<&'static str>, String) {
        match self {
            KeyringTool::SecretTool => {
                (vec!["store", "--label", LABEL, "application", "ptc", "use", "state-key"], key.to_owned())
            }
            KeyringTool::Security => {
                (vec!["-i"], format!("add-generic-password -s ptc -a state-key -l \"{LABEL}\" -w {key}\n"))
            }
        }
    }
}

impl Keyring {
    fn key(&self, folder: &Path) -> Result<Secret, String> {
        if let Some(key) = self.find()? {
            return Ok(key);
        }
        let refused = |error: io::Error| self.refused(&format!("{}: {error}", folder.display()));
        let lock = lock(folder).map_err(refused)?;
        // The previous holder of the lock may have created one.
        if let Some(key) = self.find()? {
            return Ok(key);
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| self.refused(&error.to_string()))?;
        let (arguments, input) = self.tool.store(&BASE64_URL_SAFE_NO_PAD.encode(bytes));
        let stored = self.run(&arguments, &input)?;
        let kept = self.find()?;
        drop(lock);
        kept.ok_or_else(|| self.refused(&stored.words))
    }

    /// The key; `None` if there is none yet.
    fn find(&self) -> Result<Option<Secret>, String> {
        let ran = self.run(self.tool.lookup(), "")?;
        let found = ran.output.expose().trim();
        match (self.tool, ran.status) {
            (_, Some(0)) if !found.is_empty() => Ok(Some(Secret::new(found))),
            // The program reports a locked key like a missing one. A new key in its place would sign out everybody.
            (KeyringTool::SecretTool, Some(1)) if ran.words.is_empty() => match self.has_locked_key()? {
                true => Err(self.refused("it is locked")),
                false => Ok(None),
            },
            (KeyringTool::Security, Some(44)) => Ok(None),
            _ => Err(self.refused(&ran.words)),
        }
    }

    /// True if the Secret Service has the key although it did not return it.
    fn has_locked_key(&self) -> Result<bool, String> {
        let ran = self.run(&["search", "application", "ptc", "use", "state-key"], "")?;
        Ok(!ran.output.expose().trim().is_empty())
    }

    fn refused(&self, why: &str) -> String {
        let program = self.tool.program();
        let why = if why.is_empty() { "it gives no reason" } else { why };
        format!(
            "--state-key keyring: the keyring does not open ({program}: {why}); unlock it, or use --state-key-file"
        )
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<ProgramOutput, String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match (error.kind(), self.tool) {
            (io::ErrorKind::NotFound, KeyringTool::SecretTool) => {
                "--state-key keyring needs the program secret-tool (package libsecret-tools); install it, or use \
                 --state-key-file"
                    .to_owned()
            }
            _ => self.refused(&error.to_string()),
        })?;
        let output = child.stdout.take().map(collect);
        let words = child.stderr.take().map(collect);
        if let Some(mut pipe) = child.stdin.take() {
            // A program that does not read its input reports the reason itself.
            let _ = pipe.write_all(input.as_bytes());
        }
        let status = self.wait(&mut child)?;
        let text = |reader: Option<JoinHandle<Vec<u8>>>| {
            let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let output = Secret::new(text(output));
        let words = text(words);
        let line = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let line = line.trim_start_matches("secret-tool: ").trim_start_matches("security: ");
        let words = line.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect();
        Ok(ProgramOutput { status, output, words })
    }

    fn wait(&self, child: &mut Child) -> Result<Option<i32>, String> {
        let end = time::now() + PATIENCE;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.code()),
                Ok(None) if time::now() < end => time::block(PAUSE),
                Ok(None) => {
                    // It may have ended in the meantime.
                    let _ = child.kill();
                    let _ = child.wait();
                    let seconds = PATIENCE.as_secs();
                    return Err(self.refused(&format!("no answer within {seconds} s; it may be locked")));
                }
                Err(error) => return Err(self.refused(&error.to_string())),
            }
        }
    }
}

/// Reads all of a pipe on a thread of its own.
#[expect(clippy::disallowed_methods, reason = "entry point: collect()")]
fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        // Bytes read before an error count.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// The lock file of the state folder, which is created if it is missing.
fn lock(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let flags = nix::fcntl::OFlag::O_NOFOLLOW.bits();
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(folder.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A keyring whose program is a script; `KEYRING` in it is a folder of its own.
    fn keyring(tool: KeyringTool, folder: &Path, script: &str) -> Keyring {
        let program = folder.join(tool.program());
        let script = format!("#!/bin/sh\nKEYRING='{}'\n{script}\n", folder.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        Keyring { tool, program }
    }

    const SECRET_SERVICE: &str = r#"
case "$1" in
  lookup) [ -f "$KEYRING/key" ] && cat "$KEYRING/key" || exit 1 ;;
  search) if [ -f "$KEYRING/key" ]; then echo "[/1]"; fi ;;
  store) cat > "$KEYRING/key" ;;
esac"#;
    const MACOS: &str = r#"
case "$1" in
  find-generic-password) [ -f "$KEYRING/key" ] && cat "$KEYRING/key" || { echo "security: SecKeychainSearchCopyNext: The item could not be found." >&2; exit 44; } ;;
  -i) read -r line; echo "${line##* -w }" > "$KEYRING/key" ;;
esac"#;

    #[test]
    fn a_key_is_made_once_and_found_again() {
        for (tool, script) in [(KeyringTool::SecretTool, SECRET_SERVICE), (KeyringTool::Security, MACOS)] {
            let folder = tempfile::tempdir().unwrap();
            let state = folder.path().join("state");
            let keyring = keyring(tool, folder.path(), script);
            let first = keyring.key(&state).unwrap();
            assert!(first.expose().len() >= 32, "{tool:?}");
            assert_eq!(keyring.key(&state).unwrap().expose(), first.expose(), "{tool:?}");
        }
    }

    #[test]
    fn a_keyring_that_is_locked_or_away_is_told_and_nothing_is_made() {
        for (tool, script, why) in [
            // There is a key, but it is not returned: only a search reveals it.
            (KeyringTool::SecretTool, "[ \"$1\" = search ] && echo '[/1]' && exit 0\nexit 1", "it is locked"),
            (
                KeyringTool::SecretTool,
                "echo 'secret-tool: Cannot autolaunch D-Bus' >&2; exit 1",
                "Cannot autolaunch D-Bus",
            ),
            (
                KeyringTool::SecretTool,
                "[ \"$1\" = search ] && exit 0\n[ \"$1\" = store ] && echo 'secret-tool: Prompt dismissed' >&2\nexit 1",
                "Prompt dismissed",
            ),
            (
                KeyringTool::Security,
                "echo 'security: User interaction is not allowed.' >&2; exit 36",
                "User interaction is not allowed.",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let keyring = keyring(tool, folder.path(), script);
            let program = tool.program();
            let expected = format!(
                "--state-key keyring: the keyring does not open ({program}: {why}); unlock it, or use --state-key-file"
            );
            assert_eq!(keyring.key(folder.path()).err(), Some(expected));
        }
        let absent = Keyring { tool: KeyringTool::SecretTool, program: "/nonexistent/secret-tool".into() };
        let told = absent.key(Path::new("/nonexistent")).err().unwrap();
        assert!(told.starts_with("--state-key keyring needs the program secret-tool"), "{told}");
    }

    #[test]
    fn no_secret_is_an_argument() {
        for tool in [KeyringTool::SecretTool, KeyringTool::Security] {
            let (arguments, input) = tool.store("the-key");
            assert!(
                !arguments.iter().any(|argument| argument.contains("the-key")) && input.contains("the-key")
            );
        }
    }
}
