//! RUN-line test files: `# RUN: hsaco ls %fixtures/s1.gfx942.co | hsaco …`, no shell involved.

use std::fmt;

/// One `RUN` or `FAIL` line: a pipeline of commands and the exit code its last command must have.
#[derive(Debug, PartialEq, Eq)]
pub struct RunLine {
    /// The commands, each fed with the output of the one before it.
    pub commands: Vec<Vec<String>>,
    /// The file given to the first command's standard input by `< FILE`.
    pub stdin: Option<String>,
    /// 0 for `RUN`, the number in parentheses for `FAIL`.
    pub exit_code: i32,
}

/// What is wrong with a test file.
#[derive(Debug, PartialEq, Eq)]
pub struct SyntaxError {
    line: usize,
    message: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Reads all `RUN` and `FAIL` lines of a test file.
pub fn parse(text: &str) -> Result<Vec<RunLine>, SyntaxError> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |message| SyntaxError { line: index + 1, message };
        if let Some((exit_code, command)) = directive(line).map_err(at)? {
            lines.push(pipeline(command, exit_code).map_err(at)?);
        }
    }
    if lines.is_empty() {
        return Err(SyntaxError { line: 1, message: "no `# RUN:` line".to_owned() });
    }
    Ok(lines)
}

fn directive(line: &str) -> Result<Option<(i32, &str)>, String> {
    let Some(comment) = line.strip_prefix('#').map(str::trim_start) else { return Ok(None) };
    if let Some(command) = comment.strip_prefix("RUN:") {
        return Ok(Some((0, command)));
    }
    let Some(rest) = comment.strip_prefix("FAIL") else { return Ok(None) };
    let parts = rest.strip_prefix('(').and_then(|rest| rest.split_once("):"));
    match parts.map(|(code, command)| (code.parse::<i32>(), command)) {
        Some((Ok(code), command)) if code != 0 => Ok(Some((code, command))),
        _ => Err("expected `# FAIL(CODE): command` with a code other than 0".to_owned()),
    }
}

fn pipeline(text: &str, exit_code: i32) -> Result<RunLine, String> {
    let mut commands = vec![Vec::new()];
    let mut stdin = None;
    let mut tokens = tokenize(text)?.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            Token::Pipe => commands.push(Vec::new()),
            Token::Input => match tokens.next() {
                Some(Token::Word(file)) if commands.len() == 1 => stdin = Some(file),
                _ => return Err("`<` wants a file, in the first command".to_owned()),
            },
            Token::Word(word) => {
                if let Some(command) = commands.last_mut() {
                    command.push(word);
                }
            }
        }
    }
    if commands.iter().any(Vec::is_empty) {
        return Err("empty command".to_owned());
    }
    Ok(RunLine { commands, stdin, exit_code })
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Pipe,
    Input,
}

/// Splits at blanks; `'…'` keeps everything, `"…"` and bare text know `\` as the escape.
fn tokenize(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(escaped(&mut chars)?),
            '|' | '<' => {
                tokens.extend(word.take().map(Token::Word));
                tokens.push(if c == '|' { Token::Pipe } else { Token::Input });
            }
            c if c.is_whitespace() => tokens.extend(word.take().map(Token::Word)),
            c => word.get_or_insert_default().push(c),
        }
    }
    tokens.extend(word.map(Token::Word));
    Ok(tokens)
}

fn quoted(quote: char, chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => word.push(escaped(chars)?),
            c => word.push(c),
        }
    }
    Err(format!("no closing {quote}"))
}

fn escaped(chars: &mut std::str::Chars<'_>) -> Result<char, String> {
    chars.next().ok_or_else(|| "nothing after `\\`".to_owned())
}

/// Replaces `%name` by its value in every word; longer names must come first in `variables`.
pub fn expand(word: &str, variables: &[(&str, String)]) -> String {
    variables.iter().fold(word.to_owned(), |word, (name, value)| word.replace(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        pipeline(text, 0).unwrap().commands
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn words_split_at_blanks() {
        assert_eq!(words(" hsaco  ls\ta.co "), [["hsaco", "ls", "a.co"]]);
    }

    #[test]
    fn quotes_and_escapes_keep_blanks() {
        assert_eq!(
            words(r#"hsaco -k 'a b|"c' "d\"e f" g\ h"#),
            [vec!["hsaco", "-k", "a b|\"c", "d\"e f", "g h"]]
        );
        assert_eq!(words("hsaco '' a''b"), [["hsaco", "", "ab"]]);
    }

    #[test]
    fn pipes_and_input() {
        let line = pipeline("hsaco ls - <a.co|hsaco ls", 0).unwrap();
        assert_eq!(line.commands, [vec!["hsaco", "ls", "-"], vec!["hsaco", "ls"]]);
        assert_eq!(line.stdin.as_deref(), Some("a.co"));
    }

    #[test]
    fn files_mix_directives_and_other_lines() {
        let lines = parse("# A test.\n# RUN: hsaco a\n\ntext\n# FAIL(2): hsaco b\n").unwrap();
        let codes: Vec<_> = lines.iter().map(|line| line.exit_code).collect();
        assert_eq!(codes, [0, 2]);
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(error("hello\n"), "line 1: no `# RUN:` line");
        assert_eq!(error("\n# RUN: hsaco 'a"), "line 2: no closing '");
        assert_eq!(error("# RUN: hsaco |"), "line 1: empty command");
        assert_eq!(error("# RUN: hsaco <"), "line 1: `<` wants a file, in the first command");
        assert_eq!(
            error("# FAIL: hsaco"),
            "line 1: expected `# FAIL(CODE): command` with a code other than 0"
        );
    }

    #[test]
    fn variables_expand_inside_words() {
        let variables = [("%fixtures", "fixtures".to_owned()), ("%s", "cli/a.test".to_owned())];
        assert_eq!(expand("--in=%fixtures/a.co", &variables), "--in=fixtures/a.co");
        assert_eq!(expand("%s", &variables), "cli/a.test");
    }
}
