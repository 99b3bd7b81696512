//! LLVM's disassembler as a process that answers many encodings at once.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::oracle::{Answer, Target};
use hsaco_tests::workspace_root;

use super::generate::Encoding;
use crate::process;

const SOURCE: &str = include_str!("disassembler.cpp");

/// The program in `disassembler.cpp`.
pub(crate) struct Disassembler {
    program: PathBuf,
}

impl Disassembler {
    /// Compiles the program unless it is there.
    pub(crate) fn build() -> Result<Self> {
        let folder = workspace_root().join("target/oracle");
        let [program, source] = ["disassembler", "disassembler.cpp"].map(|it| folder.join(it));
        if !program.exists() || fs::read_to_string(&source).ok().as_deref() != Some(SOURCE) {
            fs::create_dir_all(&folder)?;
            fs::write(&source, SOURCE)?;
            let mut clang = Command::new("clang++-22");
            clang.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(&source);
            clang.args(llvm_config(&["--cppflags"])?);
            clang.args(llvm_config(&["--ldflags", "--libs", "--link-shared"])?);
            process::output(&mut clang).context("needs clang-22 and llvm-22-dev")?;
        }
        Ok(Self { program })
    }

    /// What LLVM makes of each encoding.
    pub(crate) fn ask(&self, target: &Target, encodings: &[Encoding]) -> Result<Answers> {
        let mut command = Command::new(&self.program);
        command.arg(target.processor.name()).arg(&target.features);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let records: Vec<u8> = encodings.iter().flat_map(Encoding::record).collect();
        // The program reads all of them before it writes.
        process.stdin.take().context("no standard input")?.write_all(&records)?;
        let output = process.wait_with_output()?;
        ensure!(output.status.success(), "{}: {}", process::describe(&command), output.status);
        Ok(Answers(output.stdout))
    }
}

fn llvm_config(arguments: &[&str]) -> Result<Vec<String>> {
    let output = process::output(Command::new("llvm-config-22").args(arguments))?;
    Ok(String::from_utf8(output)?.split_whitespace().map(str::to_owned).collect())
}

/// What the program printed.
pub(crate) struct Answers(Vec<u8>);

impl Answers {
    /// The answers, in the order of the encodings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Answer<'_>> {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (&[size, low, high], after) = rest.split_first_chunk()?;
            let (text, after) = after.split_at_checked(u16::from_le_bytes([low, high]).into())?;
            rest = after;
            Some(match size {
                0 => Answer::Refused,
                u8::MAX => Answer::Crashed,
                _ => Answer::Instruction { size: size.into(), text: String::from_utf8_lossy(text) },
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hsaco_tests::golden::{FAMILIES, Golden};

    /// The golden files are llvm-objdump's own answers.
    #[test]
    #[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
    fn answers_are_those_of_llvm_objdump() {
        let disassembler = Disassembler::build().unwrap();
        for family in FAMILIES {
            let golden = Golden::read(family).unwrap();
            let encodings: Vec<_> = golden.rows().map(|row| Encoding::new(&row.slot())).collect();
            for (index, target) in golden.targets.iter().enumerate() {
                let answers = disassembler.ask(target, &encodings).unwrap();
                assert_eq!(answers.iter().count(), encodings.len());
                for (row, answer) in golden.rows().zip(answers.iter()) {
                    let expected = row.answers().nth(index).unwrap();
                    let expected = expected.without_bank_comments().unwrap_or(expected);
                    assert_eq!(answer, expected, "{target}: {:x?}", row.bytes);
                }
            }
        }
    }
}
