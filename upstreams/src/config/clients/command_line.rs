//! A command that includes its arguments, as clients with a shell accept it: `"npx -y foo"`.

use std::path::Path;

use crate::child::resolve_command;
use ptc_base::environment::ProcessEnv;

/// The words of `command`: the whole if it is a program, or if only a shell could interpret it.
pub(super) fn words_of(command: String, folder: Option<&Path>, env: &ProcessEnv) -> Vec<String> {
    let path = env.get("PATH");
    if !command.contains(char::is_whitespace) || resolve_command(&command, folder, path).is_some() {
        return vec![command];
    }
    // A path with blanks that is not there may be meant as a whole.
    let starts = |word: &str| !word.contains(['/', '\\']) || resolve_command(word, folder, path).is_some();
    match split(&command) {
        Some(words) if words.first().is_some_and(|word| starts(word)) => words,
        _ => vec![command],
    }
}

/// The words between blanks, with quotes as a shell has them; `None` where there is more for a shell to do.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) if c == '$' || c == '\\' || c == '`' => return None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None if "$`\\|&;<>()*?".contains(c) => return None,
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_arguments_is_taken_apart_where_no_shell_is_needed() {
        let env = ProcessEnv::from_iter([("PATH", "/usr/bin:/bin")]);
        let words = |text: &str| words_of(text.to_owned(), None, &env);
        assert_eq!(words("npx -y foo"), ["npx", "-y", "foo"]);
        assert_eq!(words("  npx\t'a b' c\"d e\" ''"), ["npx", "a b", "cd e", ""]);
        assert_eq!(words("/bin/sh -c x"), ["/bin/sh", "-c", "x"]);
        for whole in ["npx", "/no such/server", "a | b", "a 'b", "a $HOME", "FOO=1 && b"] {
            assert_eq!(words(whole), [whole]);
        }
    }
}
