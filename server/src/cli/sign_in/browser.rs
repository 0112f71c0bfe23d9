//! Opens a link in the person's browser, with a program of the system that is started without a shell.

use std::process::{Command, Stdio};

/// The program that opens a link on this system, and its arguments before the link.
const OPENER: (&str, &[&str]) = if cfg!(target_os = "macos") {
    ("open", &[])
} else if cfg!(windows) {
    ("rundll32", &["url.dll,FileProtocolHandler"])
} else {
    ("xdg-open", &[])
};

/// Starts the system's opener for `link`, and returns whether it started. Only http and https links are opened: a
/// server may also send `file:` or the scheme of some program, which the person must check (CVE-2025-6514).
pub(super) fn open(link: &str) -> bool {
    if !is_of_the_web(link) {
        return false;
    }
    let (program, first) = OPENER;
    // The browser outlives this command, and its output is not ours.
    let nothing = Stdio::null;
    Command::new(program)
        .args(first)
        .arg(link)
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn()
        .is_ok()
}

/// True if `link` is a well-formed address of http or https.
fn is_of_the_web(link: &str) -> bool {
    let of_the_web = |url: url::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    link.bytes().all(|byte| byte.is_ascii_graphic())
        && ["http://", "https://"]
            .iter()
            .any(|scheme| link.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
        && link.parse().is_ok_and(of_the_web)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_of_the_web_are_opened() {
        for link in
            ["https://as.example/authorize?a=1&b=%20", "http://127.0.0.1:33418/", "HTTPS://as.example/"]
        {
            assert!(is_of_the_web(link), "{link}");
        }
        for link in [
            "",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://file/x",
            "http:/as.example",
            "http:as.example",
            "https://",
            "https://as.example/ & calc.exe",
            "https://as.example/\n",
            " https://as.example/",
            "-https://as.example/",
            "\\\\host\\share",
        ] {
            assert!(!is_of_the_web(link) && !open(link), "{link}");
        }
    }
}
