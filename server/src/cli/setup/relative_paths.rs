//! Finds words of a command line that depend on the current folder.

use std::path::Path;

/// The first word that names a path below `folder`: one that exists, begins with a dot, or looks like a file name. A
/// command without a slash is looked up along the search path, and does not count.
pub(super) fn relative_word<'w>(words: impl IntoIterator<Item = &'w str>, folder: &Path) -> Option<&'w str> {
    words.into_iter().enumerate().find_map(|(at, word)| {
        let value =
            if word.starts_with('-') { word.split_once('=').map(|(_, value)| value) } else { Some(word) };
        let value = value.filter(|value| at != 0 || value.contains(['/', '\\']))?;
        is_relative(value, folder).then_some(word)
    })
}

fn is_relative(text: &str, folder: &Path) -> bool {
    let begins = |start: &str| {
        text.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
    };
    if begins(".") || begins("..") {
        return true;
    }
    // `@scope/name` is a package, and `a:b` an address or a drive.
    if text.is_empty() || text.starts_with(['/', '\\', '~', '@', '$', '{']) || text.contains([':', ' ', '\n'])
    {
        return false;
    }
    is_file_name(text) || folder.join(text).exists()
}

/// True if a text ends like the name of a file: `shop.db`, but not `1.2.3` or `name@1.0`.
fn is_file_name(text: &str) -> bool {
    let letters = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    !text.contains('@')
        && text.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end.len() <= 6 && letters(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_packages_and_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        let relative =
            |words: &[&str]| relative_word(words.iter().copied(), folder.path()).map(str::to_owned);
        for words in [
            &["npx", "-y", "@modelcontextprotocol/server-filesystem", "."][..],
            &["node", "./build/index.js"],
            &["npx", "x", ".."],
            &["npx", "x", "docs"],
            &["uvx", "mcp-server-sqlite", "--db-path", "shop.db"],
            &["npx", "x", "--root=../docs"],
            &["./srv"],
            &["bin/srv.sh"],
        ] {
            assert_eq!(relative(words).as_deref(), words.last().copied(), "{words:?}");
        }
        for words in [
            &["npx", "-y", "@scope/server"][..],
            &["uvx", "mcp-server-time@1.2.3", "--local-timezone=Europe/Berlin"],
            &["docs"],
            &["docker", "run", "-i", "--rm", "ghcr.io/github/github-mcp-server"],
            &["npx", "mcp-remote", "https://h/mcp"],
            &["/usr/bin/srv", "/abs/docs", "1.2", "--port=80"],
            &["sh", "-c", "exit"],
        ] {
            assert_eq!(relative(words), None, "{words:?}");
        }
    }
}
