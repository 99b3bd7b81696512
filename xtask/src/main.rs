//! `cargo xtask VERB`: everything a developer types, one file per verb.

mod apt;
mod args;
mod bench;
mod bless;
mod browser;
mod codegen;
mod compiled;
mod corpus;
mod coverage;
mod csmith;
mod divergent;
mod faults;
mod fixtures;
mod fleet;
mod fuzz;
mod golden;
mod house;
mod install;
mod llvm;
mod mmasim;
mod mutate;
mod oracle;
mod package;
mod pip;
mod process;
mod python;
mod rocm;
mod roots;
mod sanitize;
mod schema;
mod second_opinion;
mod test;
mod threads;
mod triton;
mod wheels;

use std::process::ExitCode;

use anyhow::{Result, bail};
use args::Args;

struct Verb {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(Args) -> Result<()>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "test",
        usage: "[--quick]",
        about: "set up what is needed, then format, lint, test and document; --quick leaves out corpus and docs",
        run: test::run,
    },
    Verb {
        name: "corpus",
        usage: "",
        about: "download real libraries and compile kernels into target/corpus ($HSACO_CORPUS)",
        run: corpus::run,
    },
    Verb {
        name: "fixtures",
        usage: "[--check]",
        about: "rebuild tests/fixtures from its sources with LLVM 22, or check that it is current",
        run: fixtures::run,
    },
    Verb {
        name: "golden",
        usage: "decode|assemble DIR",
        about: "pack oracle tables DIR/TARGET.tsv or .tsv.xz into tests/isa",
        run: golden::run,
    },
    Verb {
        name: "fleet",
        usage: "[--least BYTES]",
        about: "scan the corpus with Dask, Ray and Spark, a worker killed and garbage among the files, and compare with `hsaco table`",
        run: fleet::run,
    },
    Verb {
        name: "wheels",
        usage: "[--no-source]",
        about: "build the Python package for every platform whose standard library is installed, and from its source distribution",
        run: wheels::run,
    },
    Verb {
        name: "oracle",
        usage: "golden|asm|decode|disasm|exact|reassemble [--target T[,FEATURES]] [--limit N] [FILE...]",
        about: "show where hsaco differs from LLVM 22: on golden files, on --count N random encodings, \
                on the code objects of FILEs",
        run: oracle::run,
    },
    Verb {
        name: "bless",
        usage: "[FILTER]",
        about: "accept what the command line prints now as the expected output",
        run: bless::run,
    },
    Verb {
        name: "bench",
        usage: "[--filter NAME] [--runs N]",
        about: "time hsaco against the incumbents, side by side",
        run: bench::run,
    },
    Verb {
        name: "faults",
        usage: "[--seeds A..B] [--jobs N] [FILE...]",
        about: "count what `missing-wait`, `missing-barrier` and `hazard` say of the corpus and of random C programs at -O0 to -O3; an error is one too many",
        run: faults::run,
    },
    Verb {
        name: "mutate",
        usage: "[--seeds A..B] [--most N] [--targets T,...] [--static] [--bless]",
        about: "delete waits, no-ops and barriers of kernels, shift their accesses, and count what `check --code` and `run --sanitize` find; --most of each \
                kind in a function of random C programs; --static runs nothing; --bless puts the table into docs/mutations.md",
        run: mutate::run,
    },
    Verb {
        name: "house",
        usage: "[--check]",
        about: "count lines, exports and long functions of each crate, list modules that use each other and names that two crates \
                export; --check wants none of these",
        run: house::run,
    },
    Verb {
        name: "schema",
        usage: "[--check]",
        about: "make docs/hsaco.schema.json from the types that write JSON, or check that it is current",
        run: schema::run,
    },
    Verb {
        name: "codegen",
        usage: "[--check]",
        about: "make the instruction tables of hsaco-isa from isa-data, or check that they are current",
        run: codegen::run,
    },
    Verb {
        name: "coverage",
        usage: "[--folder NAME]",
        about: "list the instructions of the corpus that the emulator does not run",
        run: coverage::run,
    },
    Verb {
        name: "csmith",
        usage: "[--seeds A..B] [--targets T,...] [--levels 0,1,2,3] [--jobs N] [--any-build] [--report]",
        about: "run random C programs on the emulator and compare their checksums with the host's; what this build \
                (or --any-build) has run is not run again, --report only counts it",
        run: csmith::run,
    },
    Verb {
        name: "divergent",
        usage: "[--seeds A..B] [--targets T,...] [--levels 0,1,2,3]",
        about: "run random kernels whose lanes part and meet on the emulator and compare every lane with a model",
        run: divergent::run,
    },
    Verb {
        name: "mmasim",
        usage: "[--count N] [--seed S] [--python PATH] [--sample FILE]",
        about: "run the kernels of mmasim-kernels on the emulator and compare with MMA-Sim; --sample keeps some answers",
        run: mmasim::run,
    },
    Verb {
        name: "second-opinion",
        usage: "[--targets T,...] [--count N] [--seed S]",
        about: "run random instructions on the emulator and on the reference interpreter, and show where they differ",
        run: second_opinion::run,
    },
    Verb {
        name: "import-isa",
        usage: "RECORDS REGISTERS",
        about: "condense LLVM's TableGen records into isa-data/llvm",
        run: codegen::import,
    },
    Verb {
        name: "triton",
        usage: "[--targets T,...] [--cases NAME,...]",
        about: "run the corpus's Triton kernels on the emulator and compare with what numpy computes",
        run: triton::run,
    },
    Verb {
        name: "rocm",
        usage: "[--devices T,...] [--programs NAME,...]",
        about: "run programs of HIP and of ROCm's libraries on hsaco's HSA runtime, with Debian 12's packages",
        run: rocm::run,
    },
    Verb {
        name: "threads",
        usage: "",
        about: "run the HSA runtime's signals and queues between threads under ThreadSanitizer; needs nightly with rust-src",
        run: threads::run,
    },
    Verb {
        name: "roots",
        usage: "[--suite trixie|sid] [--programs NAME,...] [--tests NAME,...] [--tests-only]",
        about: "run them, and rocRAND's own tests, with the packages of newer releases of Debian, in roots that debootstrap makes",
        run: roots::run,
    },
    Verb {
        name: "python",
        usage: "[--release]",
        about: "build the Python package, test it in an empty environment and check its types",
        run: python::run,
    },
    Verb {
        name: "install",
        usage: "--prefix DIR [--profile NAME]",
        about: "install the command, libhsaco (static and shared), headers, pkg-config and CMake files, manual pages and completions",
        run: install::run,
    },
    Verb {
        name: "package",
        usage: "[crates|deb] [--profile NAME]",
        about: "make what users install: crates as they would be published, and a Debian package, which is unpacked and tried",
        run: package::run,
    },
    Verb {
        name: "fuzz",
        usage: "[TARGET] [--minutes N]",
        about: "fuzz one target, or all, starting from fixtures and golden files",
        run: fuzz::run,
    },
];

fn main() -> ExitCode {
    match dispatch(Args::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut args: Args) -> Result<()> {
    let Some(name) = args.positional() else { return help() };
    if name == "help" {
        return help();
    }
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(args),
        None if name == bench::reference::VERB => bench::reference::run(args),
        None if name == bench::database::VERB => bench::database::run(args),
        None if name == bench::mix::VERB => bench::mix::run(args),
        None if name == bench::rate::VERB => bench::rate::run(args),
        None if name == bench::kernarg::VERB => bench::kernarg::run(args),
        None if name == bench::load::VERB => bench::load::run(args),
        None => bail!("no verb `{name}`; `cargo xtask help` lists them"),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "stands where verbs stand")]
fn help() -> Result<()> {
    println!("cargo xtask VERB\n");
    for verb in VERBS {
        println!("  {}", format!("{} {}", verb.name, verb.usage).trim_end());
        println!("      {}", verb.about);
    }
    Ok(())
}
