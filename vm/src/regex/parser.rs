//! Reads patterns: the Perl-compatible dialect of functions.md 22, with Java's additions to it.

use super::classes;
use super::cursor::{Cursor, PatternResult};
use super::syntax::{Assertion, Greed, Pattern, SyntaxNode};

/// The most repetitions that a quantifier may name.
const MAX_REPEAT: u32 = 65_535;

/// Reads `source`.
pub(super) fn parse(source: &str) -> PatternResult<Pattern> {
    let text: Vec<char> = source.chars().collect();
    let (total, names) = survey(&text);
    let mut parser =
        Parser { cursor: Cursor { text, at: 0 }, groups: 0, total, names, flags: Flags::default() };
    let node = parser.alternatives()?;
    if parser.cursor.peek() == Some(')') {
        return Err(parser.cursor.error("unmatched parentheses"));
    }
    Ok(Pattern { node, groups: parser.groups, names: parser.names })
}

/// Flags in force, changed by `(?i)` and the like until the end of the group.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    /// `i`
    ignore_case: bool,
    /// `m`
    multi_line: bool,
    /// `s`
    dot_all: bool,
    /// `x`
    extended: bool,
    /// `U`
    swap_greed: bool,
}

/// Digits of the least and the greatest number of a counted repetition, and the place after it.
type Counts<'t> = (&'t [char], Option<&'t [char]>, usize);

struct Parser {
    cursor: Cursor,
    groups: usize,
    /// Groups in the whole pattern, for references to later ones.
    total: usize,
    names: Vec<(String, usize)>,
    flags: Flags,
}

/// Counts the groups and collects their names, so that references may point forwards.
fn survey(text: &[char]) -> (usize, Vec<(String, usize)>) {
    let (mut total, mut names, mut at, mut in_class) = (0, Vec::new(), 0, false);
    while at < text.len() {
        match text[at] {
            '\\' => at += 1,
            '[' if !in_class => {
                in_class = true;
                // A `]` right after the opening is literal.
                at += usize::from(text.get(at + 1) == Some(&'^'));
                at += usize::from(text.get(at + 1) == Some(&']'));
            }
            ']' => in_class = false,
            '(' if !in_class => {
                let rest = &text[at + 1..];
                let named = match rest {
                    ['?', 'P', '<', name @ ..] | ['?', '\'', name @ ..] => Some(name),
                    ['?', '<', next, ..] if *next != '=' && *next != '!' => Some(&rest[2..]),
                    _ => None,
                };
                if let Some(name) = named {
                    total += 1;
                    let name = name.iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
                    names.push((name, total));
                } else if rest.first() != Some(&'?') && rest.first() != Some(&'*') {
                    total += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (total, names)
}

impl Parser {
    /// `a|b|c` up to `)` or the end; flags set inside end there.
    fn alternatives(&mut self) -> PatternResult<SyntaxNode> {
        let outer = self.flags;
        let mut branches = vec![self.sequence()?];
        while self.cursor.accept("|") {
            branches.push(self.sequence()?);
        }
        self.flags = outer;
        Ok(if branches.len() == 1 { branches.remove(0) } else { SyntaxNode::Alternate(branches) })
    }

    fn sequence(&mut self) -> PatternResult<SyntaxNode> {
        let mut parts = Vec::new();
        loop {
            self.skip_extended();
            match self.cursor.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {}
            }
            let Some((node, repeatable)) = self.atom(&mut parts)? else { continue };
            let node = self.quantified(node, repeatable)?;
            parts.push(node);
        }
        Ok(match parts.len() {
            0 => SyntaxNode::Empty,
            1 => parts.remove(0),
            _ => SyntaxNode::Concat(parts),
        })
    }

    /// White space and comments, where `x` is in force.
    fn skip_extended(&mut self) {
        while self.flags.extended {
            match self.cursor.peek() {
                Some(c) if c.is_whitespace() => self.cursor.at += 1,
                Some('#') => {
                    while self.cursor.peek().is_some_and(|c| c != '\n') {
                        self.cursor.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    fn literal(&self, char: char) -> SyntaxNode {
        SyntaxNode::Char { char, ignore_case: self.flags.ignore_case }
    }

    fn class(&self, text: String) -> SyntaxNode {
        SyntaxNode::Class { text, ignore_case: self.flags.ignore_case }
    }

    /// One thing that may be repeated, and whether it really may. `None` for syntax without a node: comments, flags; `\Q…\E`
    /// puts all but its last character into `parts` itself.
    fn atom(&mut self, parts: &mut Vec<SyntaxNode>) -> PatternResult<Option<(SyntaxNode, bool)>> {
        let Some(c) = self.cursor.peek() else { return Ok(None) };
        Ok(Some(match c {
            '(' => return self.group(),
            '[' => {
                let text = classes::parse_class(&mut self.cursor)?;
                (self.class(text), true)
            }
            '.' => {
                self.cursor.at += 1;
                (SyntaxNode::Any { newline: self.flags.dot_all }, true)
            }
            '^' => {
                self.cursor.at += 1;
                let place = if self.flags.multi_line { Assertion::LineStart } else { Assertion::Start };
                (SyntaxNode::Assertion(place), false)
            }
            '$' => {
                self.cursor.at += 1;
                let place = if self.flags.multi_line { Assertion::LineEnd } else { Assertion::EndOfText };
                (SyntaxNode::Assertion(place), false)
            }
            '*' | '+' | '?' => return Err(self.cursor.error("nothing to repeat")),
            '{' if self.counts().is_some() => return Err(self.cursor.error("nothing to repeat")),
            '\\' => return self.escape(parts),
            c => {
                self.cursor.at += 1;
                (self.literal(c), true)
            }
        }))
    }

    /// The counts of a `{2}`, `{2,}`, `{2,5}` that begins here, and where it ends; anything else is literal text.
    fn counts(&self) -> Option<Counts<'_>> {
        let rest = &self.cursor.text[self.cursor.at + 1..];
        let close = rest.iter().position(|c| *c == '}')?;
        let inner = &rest[..close];
        let digits = |part: &[char]| !part.is_empty() && part.iter().all(char::is_ascii_digit);
        let end = self.cursor.at + close + 2;
        match inner.iter().position(|c| *c == ',') {
            None => digits(inner).then_some((inner, Some(inner), end)),
            Some(comma) => {
                let (min, max) = (&inner[..comma], &inner[comma + 1..]);
                if !digits(min) {
                    None
                } else if max.is_empty() {
                    Some((min, None, end))
                } else {
                    digits(max).then_some((min, Some(max), end))
                }
            }
        }
    }

    /// `node` with the quantifier that follows it, if one does.
    fn quantified(&mut self, node: SyntaxNode, repeatable: bool) -> PatternResult<SyntaxNode> {
        self.skip_extended();
        let (min, max) = match self.cursor.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts() {
                Some((min, max, end)) => {
                    let read = |digits: &[char]| {
                        let text: String = digits.iter().collect();
                        text.parse().ok().filter(|n| *n <= MAX_REPEAT)
                    };
                    let too_big = || {
                        self.cursor.error_at(
                            self.cursor.at + 1,
                            format!("number too big in {{}} quantifier (at most {MAX_REPEAT})"),
                        )
                    };
                    let min = read(min).ok_or_else(too_big)?;
                    let max = max.map(|max| read(max).ok_or_else(too_big)).transpose()?;
                    if max.is_some_and(|max| max < min) {
                        return Err(self.cursor.error_at(end - 1, "numbers out of order in {} quantifier"));
                    }
                    if !repeatable {
                        return Err(self.cursor.error("nothing to repeat"));
                    }
                    self.cursor.at = end - 1;
                    (min, max)
                }
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        if !repeatable {
            return Err(self.cursor.error("nothing to repeat"));
        }
        self.cursor.at += 1;
        let greed = if self.cursor.accept("+") {
            Greed::Possessive
        } else if self.cursor.accept("?") != self.flags.swap_greed {
            Greed::Lazy
        } else {
            Greed::Greedy
        };
        Ok(SyntaxNode::Repeat { node: Box::new(node), min, max, greed })
    }

    fn group(&mut self) -> PatternResult<Option<(SyntaxNode, bool)>> {
        let open = self.cursor.at;
        self.cursor.at += 1;
        if self.cursor.looking_at("*") {
            return Err(self.cursor.error("verbs such as (*FAIL) are not supported"));
        }
        if !self.cursor.accept("?") {
            return self.capture(open, None);
        }
        if self.cursor.accept("#") {
            while !self.cursor.accept(")") {
                if self.cursor.peek().is_none() {
                    return Err(self.cursor.error("missing ) after comment"));
                }
                self.cursor.at += 1;
            }
            return Ok(None);
        }
        if self.cursor.accept("P=") {
            let group = self.named_reference(')')?;
            return Ok(Some((self.backreference(group), true)));
        }
        if self.cursor.accept(":") {
            return self.body(open, |node| node);
        }
        if self.cursor.accept("|") {
            return Err(self.cursor.error_at(open, "branch reset groups (?| are not supported"));
        }
        if self.cursor.accept(">") {
            return self.body(open, |node| SyntaxNode::Atomic(Box::new(node)));
        }
        for (mark, behind, negative) in
            [("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true)]
        {
            if self.cursor.accept(mark) {
                return self.look(open, behind, negative);
            }
        }
        for (mark, end) in [("P<", '>'), ("<", '>'), ("'", '\'')] {
            if self.cursor.accept(mark) {
                let name = self.name(end)?;
                return self.capture(open, Some(name));
            }
        }
        if self.cursor.peek().is_some_and(|c| c == 'R' || c == '&' || c == '+' || c.is_ascii_digit())
            || self.cursor.looking_at("P>")
        {
            return Err(self.cursor.error_at(open, "recursion into groups is not supported"));
        }
        if self.cursor.looking_at("(") {
            return Err(self.cursor.error_at(open, "conditional groups are not supported"));
        }
        self.flag_group(open)
    }

    fn look(
        &mut self,
        open: usize,
        behind: bool,
        negative: bool,
    ) -> PatternResult<Option<(SyntaxNode, bool)>> {
        let (node, _) = self.close(open)?;
        if behind && node.width().1.is_none_or(|widest| widest > 255) {
            return Err(self.cursor.error("lookbehind assertion is not fixed length"));
        }
        Ok(Some((SyntaxNode::Look { node: Box::new(node), behind, negative }, true)))
    }

    fn capture(&mut self, open: usize, name: Option<String>) -> PatternResult<Option<(SyntaxNode, bool)>> {
        self.groups += 1;
        let number = self.groups;
        if let Some(name) = name {
            let first = self.names.iter().find(|(known, _)| *known == name);
            if first.is_some_and(|(_, n)| *n != number) {
                return Err(self.cursor.error("two named subpatterns have the same name"));
            }
        }
        self.body(open, |node| SyntaxNode::Capture(number, Box::new(node)))
    }

    fn body(
        &mut self,
        open: usize,
        wrap: impl FnOnce(SyntaxNode) -> SyntaxNode,
    ) -> PatternResult<Option<(SyntaxNode, bool)>> {
        let (node, repeatable) = self.close(open)?;
        Ok(Some((wrap(node), repeatable)))
    }

    /// The inside of a group and its `)`.
    fn close(&mut self, _open: usize) -> PatternResult<(SyntaxNode, bool)> {
        let node = self.alternatives()?;
        if !self.cursor.accept(")") {
            return Err(self.cursor.error("missing )"));
        }
        Ok((node, true))
    }

    /// `(?i)`, `(?m-s)`, `(?i:…)`
    fn flag_group(&mut self, open: usize) -> PatternResult<Option<(SyntaxNode, bool)>> {
        let outer = self.flags;
        let mut on = true;
        loop {
            let flags = &mut self.flags;
            match self.cursor.text.get(self.cursor.at) {
                Some('i') => flags.ignore_case = on,
                Some('m') => flags.multi_line = on,
                Some('s') => flags.dot_all = on,
                Some('x') => flags.extended = on,
                Some('U') => flags.swap_greed = on,
                // Unicode case and unix lines are how we match anyway; duplicate names stay refused.
                Some('u' | 'd' | 'J') => {}
                Some('-') if on => on = false,
                Some(')') => {
                    self.cursor.at += 1;
                    return Ok(None);
                }
                Some(':') => {
                    self.cursor.at += 1;
                    let node = self.body(open, |node| node);
                    self.flags = outer;
                    return node;
                }
                None => return Err(self.cursor.error("missing )")),
                Some(_) => return Err(self.cursor.error("unrecognized character after (? or (?-")),
            }
            self.cursor.at += 1;
        }
    }

    /// A group's name up to `end`.
    fn name(&mut self, end: char) -> PatternResult<String> {
        let mut name = String::new();
        while let Some(c) = self.cursor.peek().filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            self.cursor.at += 1;
        }
        if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
            return Err(self.cursor.error("subpattern name expected"));
        }
        if self.cursor.peek() != Some(end) {
            return Err(self.cursor.error("syntax error in subpattern name (missing terminator)"));
        }
        self.cursor.at += 1;
        Ok(name)
    }

    fn named_reference(&mut self, end: char) -> PatternResult<usize> {
        let name = self.name(end)?;
        match self.names.iter().find(|(known, _)| *known == name) {
            Some((_, group)) => Ok(*group),
            None => Err(self.cursor.error("reference to non-existent subpattern")),
        }
    }

    fn backreference(&self, group: usize) -> SyntaxNode {
        SyntaxNode::Backreference { group, ignore_case: self.flags.ignore_case }
    }

    /// Syntax that begins with a backslash, outside classes.
    fn escape(&mut self, parts: &mut Vec<SyntaxNode>) -> PatternResult<Option<(SyntaxNode, bool)>> {
        let start = self.cursor.at;
        self.cursor.at += 1;
        let Some(c) = self.cursor.peek() else {
            return Err(self.cursor.error("\\ at end of pattern"));
        };
        let place = |place| Ok(Some((SyntaxNode::Assertion(place), false)));
        match c {
            'Q' => {
                self.cursor.at += 1;
                return Ok(self.quoted(parts).map(|node| (node, true)));
            }
            'E' => {
                self.cursor.at += 1;
                return Ok(None);
            }
            'A' => self.cursor.at += 1,
            'z' | 'Z' | 'b' | 'B' | 'G' => self.cursor.at += 1,
            'R' | 'X' | 'K' => {
                self.cursor.at += 1;
                return Ok(Some(match c {
                    'R' => (SyntaxNode::LineBreak, true),
                    'X' => (SyntaxNode::Grapheme, true),
                    _ => (SyntaxNode::Keep, false),
                }));
            }
            'k' => {
                self.cursor.at += 1;
                for (open, end) in [("<", '>'), ("'", '\''), ("{", '}')] {
                    if self.cursor.accept(open) {
                        let group = self.named_reference(end)?;
                        return Ok(Some((self.backreference(group), true)));
                    }
                }
                return Err(self.cursor.error("\\k is not followed by a name such as <name>"));
            }
            'g' => {
                self.cursor.at += 1;
                let group = self.group_reference()?;
                return Ok(Some((self.backreference(group), true)));
            }
            '1'..='9' => {
                if let Some(group) = self.numbered_reference()? {
                    return Ok(Some((self.backreference(group), true)));
                }
                // Too large for a group: an octal character code.
                let c = classes::escaped_char(&mut self.cursor, start)?;
                return Ok(Some((self.literal(c), true)));
            }
            'C' => return Err(self.cursor.error("\\C is not supported")),
            _ => {
                if let Some(text) = classes::class_escape(&mut self.cursor)? {
                    return Ok(Some((self.class(format!("[{text}]")), true)));
                }
                let c = classes::escaped_char(&mut self.cursor, start)?;
                return Ok(Some((self.literal(c), true)));
            }
        }
        match c {
            'A' => place(Assertion::Start),
            'z' => place(Assertion::End),
            'Z' => place(Assertion::EndOfText),
            'b' => place(Assertion::WordBoundary),
            'B' => place(Assertion::NoWordBoundary),
            _ => place(Assertion::SearchStart),
        }
    }

    /// The text of `\Q…\E`: all characters but the last go to `parts`.
    fn quoted(&mut self, parts: &mut Vec<SyntaxNode>) -> Option<SyntaxNode> {
        let mut last = None;
        while self.cursor.peek().is_some() && !self.cursor.accept("\\E") {
            parts.extend(last.take());
            last = self.cursor.peek().map(|c| self.literal(c));
            self.cursor.at += 1;
        }
        last
    }

    /// `\1` to `\9` always refer to a group, larger numbers only if there are that many groups.
    fn numbered_reference(&mut self) -> PatternResult<Option<usize>> {
        let digits: String =
            self.cursor.text[self.cursor.at..].iter().take_while(|c| c.is_ascii_digit()).take(5).collect();
        let group: usize = digits.parse().unwrap_or(usize::MAX);
        if group >= 10 && group > self.total {
            return Ok(None);
        }
        self.cursor.at += digits.len();
        if group > self.total {
            return Err(self.cursor.error("reference to non-existent subpattern"));
        }
        Ok(Some(group))
    }

    /// The reference after `\g`: `1`, `{1}`, `{-1}`, `{name}`.
    fn group_reference(&mut self) -> PatternResult<usize> {
        let braces = self.cursor.accept("{");
        if braces && self.cursor.peek().is_some_and(char::is_alphabetic) {
            return self.named_reference('}');
        }
        let back = self.cursor.accept("-");
        let digits: String =
            self.cursor.text[self.cursor.at..].iter().take_while(|c| c.is_ascii_digit()).take(5).collect();
        self.cursor.at += digits.len();
        if digits.is_empty() || (braces && !self.cursor.accept("}")) {
            return Err(self.cursor.error("a numbered reference must not be zero"));
        }
        let number: usize = digits.parse().unwrap_or(usize::MAX);
        let group = if back { (self.groups + 1).checked_sub(number) } else { Some(number) };
        match group {
            Some(group) if group >= 1 && group <= self.total && number > 0 => Ok(group),
            _ => Err(self.cursor.error("reference to non-existent subpattern")),
        }
    }
}
