//! `cargo xtask mmasim`: the kernels of mmasim-kernels on the emulator, held against MMA-Sim's answers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco::emu::{self, Device, Dispatch};
use hsaco::kernarg::Launch;
use hsaco::load::{Executable, Freeze};

use crate::args::Args;
use crate::process;

const ANSWERS: &str = include_str!("mmasim/answers.py");
const FIND: &str = "import importlib.util; print(*importlib.util.find_spec('mmasim_kernels').submodule_search_locations)";
const HELP: &str = "a Python with mmasim, mmasim-kernels and torch (pip install mmasim==2.1.1 mmasim-kernels==2.1.1 torch ninja), with ninja in $PATH";

/// The generations that the emulator runs: MMA-Sim's name, the file of kernels, its processor.
const GENERATIONS: [(&str, &str, &str); 3] = [
    ("CDNA1", "cdna1.so", "gfx908"),
    ("CDNA2", "cdna2.so", "gfx90a"),
    ("CDNA3", "cdna3.so", "gfx942"),
];

/// Answers of each instruction that the sample keeps.
const SAMPLE: usize = 32;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let count: usize = args.option("--count")?.unwrap_or(1000);
    let seed: u64 = args.option("--seed")?.unwrap_or(1);
    let python: String = args.option("--python")?.unwrap_or_else(|| "python3".to_owned());
    let sample: Option<PathBuf> = args.option("--sample")?;
    args.finish()?;
    let folder = process::target_dir()?.join("mmasim");
    fs::create_dir_all(&folder)?;
    let script = folder.join("answers.py");
    fs::write(&script, ANSWERS)?;
    let found = process::output(Command::new(&python).args(["-c", FIND])).context(HELP)?;
    let kernels = PathBuf::from(String::from_utf8(found)?.trim()).join("amd/kernels");
    let mut lines = String::from("target\tinstruction\ta\tb\tc\td\n");
    let mut differing = 0;
    for (generation, file, target) in GENERATIONS {
        let out = folder.join(generation);
        process::remove_dir(&out)?;
        fs::create_dir_all(&out)?;
        let mut answers = Command::new(&python);
        answers.arg(&script).args([generation, &count.to_string(), &seed.to_string()]).arg(&out);
        process::run(&mut answers).context(HELP)?;
        let bytes = fs::read(kernels.join(file))?;
        for path in answers_in(&out)? {
            let instruction = Instruction::of(&path)?;
            let answers = fs::read(&path)?;
            let different = instruction.compare(&bytes, &answers)?;
            println!("{target} {}: {count} inputs, {different} differ", instruction.suffix);
            differing += different;
            instruction.sample(target, &answers, &mut lines);
        }
    }
    if let Some(path) = sample {
        fs::write(path, lines)?;
    }
    ensure!(differing == 0, "{differing} products differ from MMA-Sim's");
    Ok(())
}

/// The files of answers, by name.
fn answers_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// What an instruction's name says.
struct Instruction {
    suffix: String,
    m: usize,
    n: usize,
    k: usize,
    /// Bytes of elements of A and B, and of C and D.
    input: usize,
    output: usize,
}

impl Instruction {
    fn of(path: &Path) -> Result<Self> {
        let suffix = path.file_stem().and_then(|it| it.to_str()).context("a name")?.to_owned();
        let shape = suffix.split('_').nth(1).context("a shape")?;
        let mut numbers = shape.split('x').map(|it| {
            let end = it.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(it.len());
            it[..end].parse::<usize>()
        });
        let mut number = || numbers.next().context("three numbers")?.context("a number");
        let [m, n, k] = [number()?, number()?, number()?];
        let ends = |names: &[&str]| names.iter().any(|name| suffix.ends_with(name));
        let input = match () {
            () if ends(&["f64"]) => 8,
            () if ends(&["fp8", "bf8"]) => 1,
            () if ends(&["f16", "1k"]) => 2,
            () => 4,
        };
        let output = if suffix.starts_with("f64") { 8 } else { 4 };
        Ok(Self { suffix, m, n, k, input, output })
    }

    /// Bytes of A, B, C and D.
    fn sizes(&self) -> [usize; 4] {
        let c = self.m * self.n * self.output;
        [self.m * self.k * self.input, self.n * self.k * self.input, c, c]
    }

    /// How many of the answers differ from what the emulator computes.
    fn compare(&self, host_file: &[u8], answers: &[u8]) -> Result<usize> {
        let kernel = format!("mfma_{}_kernel", self.suffix);
        let file = hsaco::open(host_file);
        let object = file
            .objects()
            .find(|it| it.index().kernels().iter().any(|it| it.name().to_string() == kernel))
            .with_context(|| format!("no kernel {kernel}"))?;
        let mut executable = Executable::new(None);
        executable.load("kernels.co", object.data().to_vec())?;
        if let Err(errors) =
            executable.freeze(Freeze { base: 0x7d00_0000_0000, ..Freeze::default() })
        {
            bail!("{errors:?}");
        }
        let mut device = Device::new(executable.target().context("no target")?, 1 << 30);
        device.load(&executable)?;
        let [size_a, size_b, size_c, size_d] = self.sizes();
        let mut addresses = [0; 4];
        for (address, size) in addresses.iter_mut().zip([size_d, size_a, size_b, size_c]) {
            *address = device.memory.allocate(size as u64)?;
        }
        let [result, operands @ ..] = addresses;
        let mut kernarg: Vec<u8> = addresses.iter().flat_map(|it| it.to_le_bytes()).collect();
        kernarg.resize(512, 0);
        let mut different = 0;
        for (number, answer) in answers.chunks_exact(size_a + size_b + size_c + size_d).enumerate()
        {
            let (a, rest) = answer.split_at(size_a);
            let (b, rest) = rest.split_at(size_b);
            let (c, expected) = rest.split_at(size_c);
            for (address, bytes) in operands.into_iter().zip([a, b, c]) {
                device.memory.write(address, bytes)?;
            }
            let launch = emu::with_apertures(Launch::new(&[64], &[64])?)?;
            Dispatch::new(&mut device, &executable, &kernel, launch, &kernarg)?.run()?;
            let found = device.memory.read(result, size_d)?;
            let wrong = self.first_difference(&found, expected);
            if let Some((at, found, expected)) = wrong {
                different += 1;
                if different <= 3 {
                    let (row, column) = (at / self.n, at % self.n);
                    println!(
                        "  {} input {number}, row {row}, column {column}: {found:x}, not {expected:x}",
                        self.suffix
                    );
                }
            }
        }
        Ok(different)
    }

    /// The first element that differs; all NaNs are one.
    fn first_difference(&self, found: &[u8], expected: &[u8]) -> Option<(usize, u64, u64)> {
        let elements = found.chunks(self.output).zip(expected.chunks(self.output)).enumerate();
        elements
            .map(|(at, (found, expected))| (at, self.element(found), self.element(expected)))
            .find(|(_, found, expected)| found != expected)
    }

    fn element(&self, bytes: &[u8]) -> u64 {
        let value = bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let (infinity, sign) = match self.output {
            8 => (0x7ff0_0000_0000_0000, 1 << 63),
            _ => (0x7f80_0000, 1 << 31),
        };
        if value & !sign > infinity { u64::MAX } else { value }
    }

    /// Sums of a row and the column of the same number, as lines of hexadecimal digits.
    fn sample(&self, target: &str, answers: &[u8], lines: &mut String) {
        let [size_a, size_b, size_c, size_d] = self.sizes();
        // Inputs come in eight kinds.
        let products = answers.chunks_exact(size_a + size_b + size_c + size_d).take(SAMPLE);
        for (number, answer) in products.enumerate() {
            let at = number % self.m;
            let (a, rest) = answer.split_at(size_a);
            let (b, rest) = rest.split_at(size_b);
            let (c, d) = rest.split_at(size_c);
            let (row, one) = (self.k * self.input, self.output);
            let diagonal = (at * self.n + at) * one;
            let _ = writeln!(
                lines,
                "{target}\t{}\t{}\t{}\t{}\t{}",
                self.suffix,
                hex(a, at * row, row, self.input),
                hex(b, at * row, row, self.input),
                hex(c, diagonal, one, one),
                hex(d, diagonal, one, one),
            );
        }
    }
}

/// Numbers of so many bytes from a place on, each with its highest digit first.
fn hex(bytes: &[u8], from: usize, count: usize, size: usize) -> String {
    let mut text = String::new();
    for number in bytes.get(from..from + count).unwrap_or_default().chunks(size) {
        for byte in number.iter().rev() {
            let _ = write!(text, "{byte:02x}");
        }
    }
    text
}
