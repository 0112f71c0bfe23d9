//! Commands to the REPL itself: lines that begin with `:`.

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplCommand<'l> {
    /// `:help`
    Help,
    /// `:doc NAME`
    Doc(&'l str),
    /// `:find TEXT`, `:apropos TEXT`
    Find(&'l str),
    /// `:tools [TEXT]`
    Tools(Option<&'l str>),
    /// `:vars`
    Vars,
    /// `:quit`, `:q`, `:exit`
    Quit,
    /// A command without the word that it needs.
    Incomplete(&'static str),
}

/// The text of `:help`.
pub(super) const HELP: &str = "\
:doc NAME       what a function, a special form, a definition or a tool (\"server/tool\") does
:find TEXT      names that fit the text; :apropos is the same
:tools [TEXT]   tools of the configured upstreams
:vars           names that this session defines
:quit           leave, as exit and Ctrl-D do; Ctrl-C stops a program that runs
Tab             completes names, servers, tools and their arguments
*1 *2 *3        the last three results";

impl ReplCommand<'_> {
    /// The command in `line`. Any other keyword is a program.
    pub(super) fn parse(line: &str) -> Option<ReplCommand<'_>> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = Some(rest.trim()).filter(|rest| !rest.is_empty());
        Some(match (word, argument) {
            (":help", None) => ReplCommand::Help,
            (":quit" | ":q" | ":exit", None) => ReplCommand::Quit,
            (":vars", None) => ReplCommand::Vars,
            (":tools", query) => ReplCommand::Tools(query),
            (":doc", Some(name)) => ReplCommand::Doc(name),
            (":doc", None) => ReplCommand::Incomplete(":doc needs a name, for instance :doc map"),
            (":find" | ":apropos", Some(text)) => ReplCommand::Find(text),
            (":find" | ":apropos", None) => {
                ReplCommand::Incomplete(":find needs a text, for instance :find group")
            }
            _ => return None,
        })
    }
}

/// The command for a line such as `help`, `exit` or `(quit)`, and the name that must not be defined in the session
/// for that.
pub(super) fn of_word(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim();
    let word = line.strip_prefix('(').and_then(|line| line.strip_suffix(')')).unwrap_or(line);
    let command = match word {
        "help" | "?" => ":help",
        "exit" | "quit" => ":quit",
        _ => return None,
    };
    Some((command, word))
}

/// True if `line` is a single keyword, which a person may have meant as a command.
pub(super) fn looks_like_one(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(':') && line.len() > 1 && !line.contains(char::is_whitespace)
}

/// True if `line` is a command, which is always complete.
pub(super) fn is_command(line: &str) -> bool {
    ReplCommand::parse(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_programs() {
        assert_eq!(ReplCommand::parse(" :doc  map "), Some(ReplCommand::Doc("map")));
        assert_eq!(ReplCommand::parse(":apropos group by"), Some(ReplCommand::Find("group by")));
        assert_eq!(ReplCommand::parse(":tools"), Some(ReplCommand::Tools(None)));
        assert_eq!(ReplCommand::parse(":q"), Some(ReplCommand::Quit));
        assert!(matches!(ReplCommand::parse(":find"), Some(ReplCommand::Incomplete(_))));
        assert_eq!(of_word(" (exit) "), Some((":quit", "exit")));
        assert_eq!(of_word("help"), Some((":help", "help")));
        assert_eq!(of_word("(help x)"), None);
        assert!(looks_like_one(":var ") && !looks_like_one("(:var m)") && !looks_like_one(":a :b"));
        for program in [":key", "(:doc x)", ":helpful", ":quit 1", "", "(+ 1 2)"] {
            assert_eq!(ReplCommand::parse(program), None, "{program:?}");
        }
    }
}
