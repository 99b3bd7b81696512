//! `hsaco demo`: a tour of the verbs, on code objects that are part of the program.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anstyle::Style;
use anyhow::{Context, Result};

use crate::args::Color;
use crate::report::Status;

/// Shows what hsaco does, on code objects that it carries with it
///
/// What is shown is what the commands print: they are run, in a directory of their own that is gone
/// afterwards.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

/// The files that the steps work on.
const FILES: [(&str, &[u8]); 8] = [
    ("demo.co", include_bytes!("../../demo/demo.co")),
    ("calls.co", include_bytes!("../../demo/calls.co")),
    ("flow.co", include_bytes!("../../demo/flow.co")),
    ("demo.bundle", include_bytes!("../../demo/demo.bundle")),
    ("demo.so", include_bytes!("../../demo/demo.so")),
    ("steppings.co", include_bytes!("../../demo/steppings.co")),
    ("apply.co", include_bytes!("../../demo/apply.co")),
    ("library.co", include_bytes!("../../demo/library.co")),
];

/// One thing to show.
struct Step {
    says: &'static str,
    /// The words after `hsaco`.
    command: &'static [&'static str],
    /// How many lines are enough of a long answer.
    lines: Option<usize>,
}

const STEPS: [Step; 18] = [
    Step {
        says: "Which kernels are in a code object, and what they use",
        command: &["ls", "demo.co"],
        lines: None,
    },
    Step {
        says: "Which targets a host library has code for, compressed or not",
        command: &["ls", "demo.so"],
        lines: None,
    },
    Step {
        says: "Everything about one kernel: registers, arguments, descriptor",
        command: &["info", "--kernel", "plain", "demo.co"],
        lines: Some(28),
    },
    Step {
        says: "Where the bytes of its arguments go, and what its registers hold when it begins",
        command: &["kernarg", "--registers", "--kernel", "plain", "demo.co"],
        lines: Some(24),
    },
    Step {
        says: "Its instructions, byte for byte as llvm-objdump prints them",
        command: &["disasm", "--kernel", "plain", "demo.co"],
        lines: Some(14),
    },
    Step {
        says: "How many registers are live before each instruction",
        command: &["disasm", "--live", "--kernel", "nested", "flow.co"],
        lines: Some(16),
    },
    Step {
        says: "What runs after what: blocks, branches, loops",
        command: &["cfg", "--kernel", "nested", "flow.co"],
        lines: Some(14),
    },
    Step {
        says: "The same as a picture",
        command: &["cfg", "--kernel", "nested", "--format", "svg", "flow.co", "-o", "nested.svg"],
        lines: None,
    },
    Step {
        says: "Who calls whom",
        command: &["calls", "--kernel", "far", "calls.co"],
        lines: None,
    },
    Step {
        says: "What kernels need with all they call, and how many of their waves run at once",
        command: &["resources", "demo.co"],
        lines: None,
    },
    Step {
        says: "What a kernel and a library of functions become in memory, and who calls whom across them",
        command: &["load", "--calls", "apply.co", "library.co"],
        lines: None,
    },
    Step {
        says: "The two as one object, the kernel with the registers that the library needs",
        command: &["link", "apply.co", "library.co", "-o", "linked.co"],
        lines: None,
    },
    Step {
        says: "Which devices would take a library, and why the others would not",
        command: &["check", "--all-devices", "demo.so"],
        lines: None,
    },
    Step {
        says: "The code objects as files, with what it takes to pack them again",
        command: &["extract", "demo.bundle", "-o", "objects"],
        lines: None,
    },
    Step {
        says: "The bundle from those files: byte for byte the same if nothing was changed",
        command: &["bundle", "objects", "-o", "again.bundle"],
        lines: None,
    },
    Step {
        says: "The library with code for one target only, nothing moved",
        command: &["extract", "--keep-target", "gfx942", "demo.so", "-o", "small.so"],
        lines: None,
    },
    Step {
        says: "Code for one stepping, rewritten for another: what changes, where it goes, and why",
        command: &["patch", "steppings.co", "-o", "rewritten.co", "--manifest", "rewritten.json"],
        lines: None,
    },
    Step {
        says: "What is different now",
        command: &["diff", "steppings.co", "rewritten.co"],
        lines: Some(24),
    },
];

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let directory = tempfile::tempdir().context("no directory for the demo's files")?;
    for (name, bytes) in FILES {
        std::fs::write(directory.path().join(name), bytes).context(name)?;
    }
    let _inside = Inside::enter(directory.path())?;
    let mut status = Status::Fine;
    for step in STEPS {
        // That files differ is what the step is about.
        match step.show()? {
            Status::Findings if step.command.first() == Some(&"diff") => {}
            other => status.note(other),
        }
    }
    Ok(status)
}

impl Step {
    fn show(&self) -> Result<Status> {
        let bold = Style::new().bold();
        let command = self.command.join(" ");
        let pipe = self.lines.map(|it| format!(" | head -{it}")).unwrap_or_default();
        say(&format!("# {}\n{bold}$ hsaco {command}{pipe}{bold:#}\n", self.says))?;
        let words = std::iter::once(&"hsaco").chain(self.command).map(OsString::from);
        let status = match self.lines {
            None => crate::task(words.collect())?()?,
            Some(lines) => {
                let status =
                    crate::task(words.chain(["-o", ANSWER].map(OsString::from)).collect())?()?;
                let text = std::fs::read_to_string(ANSWER)?;
                say(&text.split_inclusive('\n').take(lines).collect::<String>())?;
                status
            }
        };
        say("\n")?;
        Ok(status)
    }
}

/// Where a long answer goes, to be shown in part.
const ANSWER: &str = "answer.txt";

fn say(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The current directory changed, until the value is dropped: a directory that is in use cannot be
/// removed everywhere.
struct Inside {
    before: PathBuf,
}

impl Inside {
    fn enter(directory: &Path) -> Result<Self> {
        let before = std::env::current_dir().context("no current directory")?;
        std::env::set_current_dir(directory)?;
        Ok(Self { before })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // The demo is over and no file is opened after it, so that failing changes nothing.
        drop(std::env::set_current_dir(&self.before));
    }
}
