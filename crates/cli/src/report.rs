//! What goes to standard error, and what that makes of the exit code.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use hsaco::bytes::{Error, ErrorKind};
pub(crate) use hsaco_files::Trouble;

use hsaco::bytes::escape::shown;

/// How a run ended; the largest of all files wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Nothing to say.
    #[default]
    Fine,
    /// The input was read, and something is wrong with what it says.
    Findings,
    /// Part of the input is of a kind that hsaco does not handle.
    Unsupported,
    /// Usage, or input that could not be read.
    Unreadable,
}

impl Status {
    /// The worse of two.
    pub(crate) fn note(&mut self, other: Self) {
        *self = (*self).max(other);
    }

    /// What the process ends with.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Unsupported => 3,
            Self::Unreadable => 2,
        }
    }
}

/// Prints one line that begins with the program's name.
pub(crate) fn error(message: &str) {
    let style = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
    tell(&format!("{style}hsaco:{style:#} {}", shown_lines(message)));
}

/// The same for what is no error.
pub(crate) fn note(message: &str) {
    tell(&format!("hsaco: {}", shown_lines(message)));
}

/// Prints one line that begins with a place in a text, as compilers do.
pub(crate) fn line(place: &str, message: &str) {
    let style = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
    tell(&format!("{}: {style}error:{style:#} {}", shown(place), shown_lines(message)));
}

/// A message may have several lines; none but the first can be taken for one that the command began.
fn shown_lines(message: &str) -> String {
    let lines: Vec<_> = message.split('\n').map(shown).collect();
    lines.join("\n  ").replace("\n  \n", "\n\n")
}

/// The exit code says that something is wrong also where standard error takes no more.
fn tell(line: &str) {
    hsaco_files::progress::aside(|| drop(writeln!(anstream::stderr(), "{line}")));
}

/// Collects what is wrong with one input after the other.
#[derive(Debug, Default)]
pub(crate) struct Report {
    status: Status,
    file: String,
    first: Option<String>,
    /// Whether a file was looked into; those of folders are not if they are none of ours.
    any: bool,
}

impl Report {
    /// Begins a file; the problems that follow are its own.
    pub(crate) fn begin(&mut self, file: &str) {
        file.clone_into(&mut self.file);
        self.first = None;
    }

    /// Notes that the file is one of ours.
    pub(crate) fn look_into(&mut self) {
        self.any = true;
    }

    /// Says that the file, which was named as an argument, has nothing to look into.
    pub(crate) fn no_code(&mut self) {
        let text = "it holds no AMD GPU code; hsaco ls says what files hold";
        self.tell(text.to_owned(), Status::Unreadable);
    }

    /// How the run over these arguments ended, which is not fine if there was no file to look into.
    pub(crate) fn conclude(&self, arguments: &[OsString]) -> Status {
        if self.any || self.status != Status::Fine {
            return self.status;
        }
        let names: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
        error(&format!("{}: no file in it holds AMD GPU code", names.join(", ")));
        Status::Unreadable
    }

    /// Says what is wrong with a part of the file that `place` names, or with all of it.
    pub(crate) fn problem(&mut self, place: &str, problem: &Error) {
        let text = match place {
            "" => problem.to_string(),
            place => format!("{place}: {problem}"),
        };
        self.tell(
            text,
            match problem.kind() {
                ErrorKind::Unsupported => Status::Unsupported,
                _ => Status::Unreadable,
            },
        );
    }

    /// Says what is wrong with an object.
    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        for problem in trouble {
            self.problem(&problem.place, &problem.error);
        }
    }

    /// Says why the file could not be opened.
    pub(crate) fn failure(&mut self, error: &dyn Display) {
        self.tell(format!("{error:#}"), Status::Unreadable);
    }

    fn tell(&mut self, text: String, status: Status) {
        error(&format!("{}: {text}", self.file));
        self.first.get_or_insert(text);
        self.status.note(status);
    }

    /// The first problem of the file that was begun last.
    pub(crate) fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// How the run ended.
    pub(crate) fn status(&self) -> Status {
        self.status
    }
}
