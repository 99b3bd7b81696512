//! What went wrong with kernelDB's lazy loading, by the commit that mended it.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::sync::Barrier;
use std::thread;

use hsaco::bytes::ErrorKind;
use hsaco::db::Database;
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::{Assembler, Processor};
use hsaco_tests::program::{hsaco_command, run};
use hsaco_tests::random::Random;
use hsaco_tests::{corpus_file, fixture};
use serde_json::Value;

use super::{assembled, database, kernel_source, names, texts};

/// Row 4d319f3 of docs/kerneldb.md.
#[test]
fn listed_names_are_found_before_and_after_loading() {
    let database = database(&["lines.dwarf5.co", "mangled.co", "odd-names.co", "v2.co"]);
    let all: Vec<_> = database.kernels().collect();
    for _ in 0..2 {
        for kernel in &all {
            for name in [kernel.name().to_string(), kernel.readable_name()] {
                assert!(database.kernels_named(&name).contains(kernel), "{name}");
            }
        }
        all.iter().for_each(|it| _ = it.instructions().map(|it| it.len()));
    }
}

/// Row 43a64b7 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn one_kernel_of_a_thousand_decodes_its_bytes_alone() {
    let source: String =
        (0..1000).map(|at| kernel_source(&format!("k{at}"), "s_nop 1\ns_endpgm")).collect();
    let database = Database::new();
    database.add("many", assembled(&source)).unwrap();
    for (at, name) in ["k500", "k3"].iter().enumerate() {
        assert_eq!(texts(&database.kernel(name).unwrap()).len(), 2);
        assert_eq!(database.counts().decoded_bytes, 8 * (at as u64 + 1));
    }
}

/// Row cc748e9 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn names_that_a_shell_would_read_are_names() {
    let name = "a()<> 'b'$;&|`c`";
    let source = kernel_source("plain", "s_endpgm").replace("plain", &format!("\"{name}\""));
    let database = Database::new();
    database.add("odd", assembled(&source)).unwrap();
    assert_eq!(texts(&database.kernel(name).unwrap()), ["s_endpgm"]);
    for kernel in super::database(&["odd-names.co"]).kernels() {
        assert!(kernel.instructions().unwrap().len() > 0, "{kernel:?}");
    }
}

/// Row 1ade35d of docs/kerneldb.md.
#[test]
fn names_with_commas_are_one_name() {
    let database = database(&["lines.dwarf5.co"]);
    let [readable, mangled] =
        ["void filled<int, 3>(int*, vec::Pair<int>)", "_Z6filledIiLi3EEvPT_N3vec4PairIS0_EE"]
            .map(|name| database.kernel(name).unwrap());
    assert_eq!(readable, mangled);
    assert!(readable.instructions().unwrap().len() > 0);
}

/// Row bc652ec of docs/kerneldb.md.
#[test]
fn every_spelling_is_the_same_kernel_with_instructions() {
    let database = database(&["lines.dwarf5.co"]);
    let readable = "kernel_two(float*, vec::Pair<float>)";
    let mangled = "_Z10kernel_twoPfN3vec4PairIfEE";
    let spellings = [
        readable.to_owned(),
        mangled.to_owned(),
        format!("{mangled}.kd"),
        format!("{readable} [clone .kd]"),
    ];
    for name in spellings {
        let kernel = database.kernel(&name).unwrap();
        assert_eq!(kernel.name().to_string(), mangled);
        assert!(kernel.instructions().unwrap().len() > 5);
    }
}

/// Row e368f69 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn objects_without_code_are_no_trouble() {
    let database = Database::new();
    database.add("empty", assembled("")).unwrap();
    assert_eq!(database.kernels().count(), 0);
    let source = kernel_source("k", "s_endpgm").replace(".size k, .-k", "");
    database.add("no size", assembled(&source)).unwrap();
    assert_eq!(texts(&database.kernel("k").unwrap())[0], "s_endpgm");
    // Cut before the code: what describes it is there.
    let mut cut = fs::read(fixture("s1.no-sections.co")).unwrap();
    let start = {
        let whole = super::database(&["s1.no-sections.co"]);
        let object = &whole.objects()[0];
        let codes = object.kernels().map(|it| it.code().unwrap().as_ptr() as usize);
        codes.min().unwrap() - object.data().unwrap().as_ptr() as usize
    };
    cut.truncate(start);
    let database = Database::new();
    database.add("cut", cut).unwrap();
    assert_eq!(database.kernels().count(), 3);
    for kernel in database.kernels() {
        assert_eq!(kernel.instructions().map(|_| ()).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

/// Row af065a9 of docs/kerneldb.md.
#[test]
fn any_bytes_are_decoded_to_their_end() {
    let mut random = Random::new(7);
    for name in ["s1.gfx942.co", "s1.gfx1100.co", "s1.gfx1250.co"] {
        let mut file = fs::read(fixture(name)).unwrap();
        let ranges: Vec<_> = {
            let database = database(&[name]);
            let object = &database.objects()[0];
            let base = object.data().unwrap().as_ptr() as usize;
            let range = |code: &[u8]| {
                code.as_ptr() as usize - base..code.as_ptr() as usize - base + code.len()
            };
            object.kernels().map(|it| range(&it.code().unwrap())).collect()
        };
        for _ in 0..50 {
            for range in &ranges {
                file[range.clone()].iter_mut().for_each(|it| *it = random.bits().to_le_bytes()[0]);
            }
            let database = Database::new();
            database.add(name, file.clone()).unwrap();
            for kernel in database.kernels() {
                let size: usize = kernel.instructions().unwrap().map(|it| it.bytes().len()).sum();
                assert_eq!(size, kernel.code().unwrap().len());
                texts(&kernel);
            }
        }
    }
}

/// Row 6164517 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn branches_to_anywhere_are_branches() {
    let before = ".text\ns_nop 7\n.p2align 8\n";
    let own = kernel_source("own", "s_branch own\ns_endpgm");
    let far = kernel_source("far", "s_cbranch_scc0 0x7000\ns_branch 0x8000\ns_endpgm");
    let database = Database::new();
    database.add("odd", assembled(&format!("{before}{own}{far}"))).unwrap();
    let own = database.kernel("own").unwrap();
    let target = own.instructions().unwrap().next().unwrap().branch_target();
    assert_eq!(target, own.entry());
    let far = database.kernel("far").unwrap();
    assert_eq!(texts(&far).len(), 3);
    assert!(!far.blocks().unwrap().blocks().is_empty());
}

/// Row 6d7ff8a of docs/kerneldb.md.
#[test]
fn threads_that_ask_for_one_kernel_share_it() {
    const THREADS: usize = 32;
    let database = database(&["lines.dwarf5.co"]);
    let start = Barrier::new(THREADS);
    let texts: BTreeSet<String> = thread::scope(|scope| {
        let ask = || {
            let kernel = database.kernel("_Z10kernel_twoPfN3vec4PairIfEE").unwrap();
            start.wait();
            kernel.instructions().unwrap().next().unwrap().text()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!((texts.len(), database.counts().decoded_kernels), (1, 1));
}

/// Row a8b87df of docs/kerneldb.md.
#[test]
fn a_failure_is_remembered() {
    let mut file = fs::read(fixture("lines.dwarf5.co")).unwrap();
    file[48] = 0xfe;
    let database = Database::new();
    database.add("unknown", file).unwrap();
    for kernel in database.kernels() {
        let errors = [(); 3].map(|()| kernel.instructions().map(|_| ()).unwrap_err());
        assert!(errors.iter().all(|it| it.kind() == ErrorKind::Unsupported));
        assert!(errors.iter().all(|it| it.to_string() == errors[0].to_string()));
    }
}

/// Row d2ec18f of docs/kerneldb.md.
#[test]
fn bundles_behind_the_first_are_not_lost() {
    let host = names(&database(&["host.so"]));
    assert!((1..=5).all(|unit| host.iter().any(|it| it.contains(&format!("unit_{unit}")))));
    let [one, two] =
        ["plain.bundle", "back-to-back.bundle"].map(|it| database(&[it]).kernels().count());
    assert_eq!(two, 2 * one);
}

/// Row c023a62 of docs/kerneldb.md.
#[test]
fn a_missing_source_leaves_its_lines() {
    let mut command = hsaco_command();
    command.args(["source", "-k", "kernel_two", "--format", "json"]);
    let ran = run(command.arg(fixture("lines.dwarf5.co")));
    assert_eq!(ran.code, Some(0));
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let stretches = &answer["files"][0]["objects"][0]["kernels"][0]["stretches"];
    assert!(stretches.as_array().unwrap().iter().any(|it| it["line"] == 270));
    assert!(stretches.as_array().unwrap().iter().all(|it| it["source"].is_null()));
}

/// Row 98a2bfa of docs/kerneldb.md.
#[test]
fn a_file_without_gpu_code_is_an_error_that_says_so() {
    let database = Database::new();
    let program = fs::read(env::current_exe().unwrap()).unwrap();
    let error = database.add("program", program).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(database.kernels().count(), 0);
}

/// Row 4e899dc of docs/kerneldb.md.
#[test]
fn without_debug_information_there_is_the_rest() {
    for kernel in database(&["mangled.co"]).kernels() {
        assert!(!texts(&kernel).is_empty() && !kernel.blocks().unwrap().blocks().is_empty());
        assert!(kernel.arguments().unwrap().arguments.iter().all(|it| it.offset.is_some()));
    }
}

/// Row c0eb9a1 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn objects_of_several_compilers_are_read() {
    for version in ["64", "70", "72"] {
        let name = format!("bitsandbytes/libbitsandbytes_rocm{version}.so");
        let path = corpus_file(&name);
        let database = Database::new();
        database.add(&name, fs::read(path).unwrap()).unwrap();
        let mut kernels = database.kernels().step_by(97).take(20);
        assert!(
            kernels.all(|it| it.instructions().unwrap().all(|it| it.inst().is_some())),
            "{name}"
        );
    }
}

/// Row 587a1a4 of docs/kerneldb.md.
#[test]
fn an_instruction_without_a_line_has_none() {
    let mut without = 0;
    for kernel in database(&["lines.dwarf5.co"]).kernels() {
        for instruction in kernel.instructions().unwrap() {
            let place = instruction.location().unwrap();
            assert_ne!(place.and_then(|it| it.line), Some(0));
            without += usize::from(place.is_none_or(|it| it.line.is_none()));
        }
    }
    assert!(without > 0);
}

/// Row 6b5bc6b of docs/kerneldb.md.
#[test]
fn modifiers_are_all_there() {
    for (target, line) in [
        ("gfx90a", "global_load_dword v0, v[2:3], off offset:16 glc slc"),
        ("gfx942", "global_load_dword v0, v[2:3], off offset:-8 sc0 nt sc1"),
        ("gfx1100", "global_load_b32 v0, v[2:3], off offset:8 glc slc dlc"),
        ("gfx942", "buffer_store_dword v0, v1, s[0:3], s4 offen offset:4095 nt"),
    ] {
        let processor = Processor::from_name(target).unwrap();
        let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
        let inst = assembler.assemble(line).unwrap();
        assert_eq!(assembler.decoder().text(&inst).trim(), line);
    }
}
