//! Detects whether a browser is available where the command runs, and advises a person who has none here.

use ptc_host::config::ProcessEnv;

/// Facts about the machine and its terminal, from the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// The terminal is that of another machine.
    remote: bool,
    /// Linux under Windows, whose browser belongs to Windows.
    under_windows: bool,
    /// A program can show a window.
    display: bool,
}

impl Surroundings {
    /// Reads the variables of this process.
    pub(super) fn of(env: &ProcessEnv) -> Self {
        let is_set = |names: &[&str]| names.iter().any(|name| env.text(name).is_some());
        let remote = is_set(&["SSH_CONNECTION", "SSH_TTY"]);
        let under_windows = is_set(&["WSL_DISTRO_NAME", "WSL_INTEROP"]);
        let display = if cfg!(any(target_os = "macos", windows)) {
            !remote
        } else {
            under_windows || is_set(&["DISPLAY", "WAYLAND_DISPLAY"])
        };
        Surroundings { remote, under_windows, display }
    }

    /// True if a browser may be available.
    pub(super) fn may_have_browser(self) -> bool {
        self.display
    }

    /// Advice before the link is used, if the browser may not find its way back to `port` of this machine.
    pub(super) fn notice(self, upstream: &str, port: u16) -> Option<String> {
        let other_ways =
            format!("or sign in with `ptc login {upstream} --paste` or `ptc login {upstream} --device`");
        if self.remote {
            return Some(format!(
                "This is a remote machine (SSH): the browser must reach its port {port}. On the machine with the \
                 browser run `ssh -N -L {port}:127.0.0.1:{port} HOST` first, {other_ways}."
            ));
        }
        if self.under_windows {
            return Some(format!(
                "This is Linux under Windows: if the browser cannot open http://127.0.0.1:{port}, {}.",
                other_ways.trim_start_matches("or ")
            ));
        }
        (!self.display).then(|| {
            format!("No display was found here: open the link in a browser on this machine, {other_ways}.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Surroundings {
        Surroundings::of(&ProcessEnv::from_iter(variables.iter().copied()))
    }

    #[test]
    fn a_desktop_needs_no_word() {
        if cfg!(target_os = "linux") {
            for variable in ["DISPLAY", "WAYLAND_DISPLAY"] {
                let desktop = of(&[(variable, ":0")]);
                assert!(desktop.may_have_browser());
                assert_eq!(desktop.notice("linear", 33418), None);
            }
            assert!(!of(&[("DISPLAY", "")]).may_have_browser());
        }
    }

    #[test]
    fn whoever_has_no_browser_here_is_told_the_other_ways() {
        let bare = of(&[]);
        let remote = of(&[("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")]);
        let terminal = of(&[("SSH_TTY", "/dev/pts/1"), ("DISPLAY", "localhost:10.0")]);
        let windows = of(&[("WSL_DISTRO_NAME", "Debian")]);
        assert!(!remote.may_have_browser() && windows.may_have_browser());
        for (there, first) in [
            (remote, "This is a remote machine (SSH): the browser must reach its port 33418. "),
            (terminal, "This is a remote machine (SSH): the browser must reach its port 33418. "),
            (
                windows,
                "This is Linux under Windows: if the browser cannot open http://127.0.0.1:33418, sign in ",
            ),
        ] {
            let notice = there.notice("linear", 33418).unwrap();
            assert!(notice.starts_with(first), "{notice}");
            assert!(notice.contains("`ptc login linear --paste`"), "{notice}");
            assert!(notice.contains("`ptc login linear --device`"), "{notice}");
        }
        assert!(remote.notice("linear", 33418).unwrap().contains("`ssh -N -L 33418:127.0.0.1:33418 HOST`"));
        if cfg!(target_os = "linux") {
            assert!(bare.notice("linear", 1).unwrap().starts_with("No display was found here: "));
        }
    }
}
