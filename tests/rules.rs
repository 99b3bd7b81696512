//! Every example of every rule: in an object of its own, and line by line as LLVM's assembler has it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail them"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::process::Command;

use hsaco::patch::rule::ExampleOutcome;
use hsaco::patch::{Example, Options, Patcher, RuleSet, Verdict};
use hsaco_tests::gfx1250::{self, NewKernel};
use hsaco_tests::golden::Golden;
use hsaco_tests::oracle::Target;
use hsaco_tests::program::hsaco;
use hsaco_tests::rewritten::{patcher, patcher_by, rule_set as set};
use hsaco_tests::{assembly, fixtures_dir, scratch_dir};

/// Every example, with its set and the name of its rule.
fn examples() -> impl Iterator<Item = (&'static RuleSet, &'static str, &'static Example)> {
    let rules = RuleSet::all().iter().flat_map(|set| set.rules().iter().map(move |it| (set, it)));
    rules.flat_map(|(set, rule)| rule.examples.iter().map(move |it| (set, rule.name, it)))
}

fn object(example: &Example) -> Vec<u8> {
    let (sgprs, vgprs) = example.registers;
    let kernel = gfx1250::kernel("k", example.before).unwrap();
    let kernel = NewKernel { sgprs: sgprs.into(), vgprs: vgprs.into(), ..kernel };
    gfx1250::object(&[kernel]).unwrap()
}

/// What becomes of an example; what is wrong with that.
fn patched(
    set: &'static RuleSet,
    rule: &str,
    example: &Example,
) -> Result<Option<Vec<u8>>, String> {
    let mut options = Options::default();
    (example.options)(&mut options);
    let patcher = patcher_by(set, &options);
    let file = object(example);
    let patched = patcher.patch(&file).map_err(|error| error.to_string())?;
    let manifest = &patched.manifest;
    let wrong = |what: String| Err(format!("{rule} {}: {what}", example.name));
    match (&example.after, patched.bytes) {
        (ExampleOutcome::Refused(reason), None) => {
            let refusal = manifest.refusals().next().map(|it| it.1.to_string()).unwrap_or_default();
            if refusal.contains(reason) { Ok(None) } else { wrong(refusal) }
        }
        (ExampleOutcome::Refused(_), Some(_)) => wrong("not refused".to_owned()),
        (ExampleOutcome::Same, None) if matches!(manifest.verdict, Verdict::Unchanged(_)) => {
            Ok(None)
        }
        (_, None) => wrong(format!("{:?}", manifest.remarks)),
        (_, Some(bytes)) => {
            let findings = patcher.verify(&file, &bytes, manifest);
            let again = patcher.patch(&bytes).map_err(|error| error.to_string())?;
            match (findings.is_empty(), again.bytes) {
                (true, None) => Ok(Some(bytes)),
                (true, Some(_)) => wrong(format!("again: {:?}", again.manifest.records)),
                (false, _) => wrong(format!("{findings:?}")),
            }
        }
    }
}

/// All rules have a say, the result holds, and a second run leaves it as it is.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_example_holds_in_an_object() {
    let (mut results, mut wrong) = (Vec::new(), Vec::new());
    for (set, rule, example) in examples() {
        match patched(set, rule, example) {
            Ok(result) => results.extend(result),
            Err(what) => wrong.push(what),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(results.len() > 100, "{}", results.len());
    llvm_decodes(&results);
}

/// LLVM's tools accept every result, and find an instruction everywhere.
fn llvm_decodes(results: &[Vec<u8>]) {
    let folder = scratch_dir();
    let paths: Vec<_> =
        (0..results.len()).map(|at| folder.path().join(format!("{at}.co"))).collect();
    for (path, bytes) in paths.iter().zip(results) {
        std::fs::write(path, bytes).unwrap();
    }
    for (tool, argument) in [("llvm-readelf-22", "-a"), ("llvm-objdump-22", "-d")] {
        let output = Command::new(tool).arg(argument).args(&paths).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{tool}: {:?}", output.stderr);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().find(|line| line.contains(".long")), None);
    }
}

/// What the command makes of all fixtures but two, in which there is nothing for the rules: each is refused, and nothing is written.
#[test]
fn files_of_other_processors_are_refused() {
    let folder = scratch_dir();
    let mut refused = 0;
    for entry in std::fs::read_dir(fixtures_dir()).unwrap() {
        let path = entry.unwrap().path();
        let others = ["steppings.co", "s1.gfx1250.co", "manifest.txt"];
        if !path.is_file() || others.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let result = folder.path().join(path.file_name().unwrap());
        let words: [&OsStr; 4] = ["patch".as_ref(), path.as_ref(), "-o".as_ref(), result.as_ref()];
        let code = hsaco(words).code;
        assert!(!result.exists(), "{}: {code:?}", path.display());
        assert!(code == Some(1) || code == Some(2), "{}: {code:?}", path.display());
        refused += usize::from(code == Some(1));
    }
    assert!(refused > 30, "{refused}");
}

/// Every instruction that LLVM knows and no rule is about, one after the other; words in them may look like those that rules are about.
#[test]
fn instructions_that_no_rule_is_about_stay() {
    let golden = Golden::read("gfx12").unwrap();
    let decoder = gfx1250::assembler().unwrap().decoder().clone();
    let claims = |name: &str| set().rules().iter().any(|rule| rule.claims(name));
    let mut code = Vec::new();
    let mut count = 0;
    for row in golden.rows() {
        let Some(inst) = decoder.decode(&row.bytes) else { continue };
        let name = inst.mnemonic();
        let goes_on = inst.flow() == hsaco::isa::effects::Flow::Next && !name.starts_with("s_set");
        if goes_on && inst.len() == row.bytes.len() && !claims(name) {
            inst.encode(&mut code);
            count += 1;
        }
    }
    assert!(count > 10_000, "{count}");
    code.extend([0x00, 0x00, 0xb0, 0xbf]);
    let all = NewKernel { code, vgprs: 256, sgprs: 106, ..gfx1250::kernel("k", "").unwrap() };
    let patched = patcher(&Options::default()).patch(&gfx1250::object(&[all]).unwrap()).unwrap();
    let nothing = Verdict::Unchanged("no rule has anything to rewrite".to_owned());
    assert_eq!((patched.bytes, patched.manifest.verdict), (None, nothing));
}

/// Eight runs at once, of every example: the same bytes and the same manifest.
#[test]
fn eight_runs_at_once_agree() {
    let shared = Patcher::new(set(), Options::default()).unwrap();
    let files: Vec<Vec<u8>> = examples().map(|(.., example)| object(example)).collect();
    let run = || -> Vec<_> {
        let results = files.iter().map(|file| shared.patch(file).unwrap());
        results.map(|it| (it.bytes, format!("{:?}", it.manifest))).collect()
    };
    let expected = run();
    assert!(expected.iter().filter(|(bytes, _)| bytes.is_some()).count() > 100);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
        runs.into_iter().for_each(|it| assert!(it.join().unwrap() == expected));
    });
}

/// The lines that rules make are the bytes that LLVM makes of them.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn llvm_assembles_every_example_alike() {
    let assembler = gfx1250::assembler().unwrap();
    let mut lines: Vec<&str> = Vec::new();
    for (.., example) in examples() {
        let after = if let ExampleOutcome::Code(after) = example.after { after } else { "" };
        lines.extend(example.before.lines().chain(after.lines()).map(str::trim));
    }
    lines.retain(|line| !line.is_empty() && !line.starts_with(".long"));
    lines.sort_unstable();
    lines.dedup();
    let target: Target = "gfx1250".parse().unwrap();
    let answers = assembly::llvm_mc(&target, &lines).unwrap();
    for (line, answer) in lines.iter().zip(answers) {
        let ours = assembler.assemble(line).ok().map(|inst| inst.bytes()[..inst.len()].to_vec());
        assert_eq!(ours, answer, "{line}");
    }
    assert!(lines.len() > 300, "{}", lines.len());
}

/// Sums of 16 bits are converted, which flushes denormals where the descriptor says so; the product keeps them.
#[test]
fn descriptors_that_flush_denormals_of_16_bits_are_seen() {
    let lines = "v_wmma_f16_16x16x128_fp8_fp8 v[20:23], v[0:15], v[24:39], v[20:23]";
    let patcher = Patcher::new(set(), Options::default()).unwrap();
    let verdict = |kernels: &[NewKernel]| {
        let manifest = patcher.patch(&gfx1250::object(kernels).unwrap()).unwrap().manifest;
        let refusal = manifest.refusals().next().map(|it| it.1.to_string());
        (manifest.verdict, refusal.unwrap_or_default())
    };
    let with = |denormals| NewKernel { denormals, ..gfx1250::kernel("k", lines).unwrap() };
    let keeping = gfx1250::kernel("keeping", "s_nop 0").unwrap();
    let flushing = NewKernel { denormals: 0, name: "flushing".to_owned(), ..keeping.clone() };
    for denormals in 0..3 {
        let (verdict, reason) = verdict(&[with(denormals), keeping.clone()]);
        assert_eq!(verdict, Verdict::Refused, "{denormals}");
        assert!(reason.contains("MODE may have denormals flushed"), "{reason}");
    }
    // What other kernels begin with does not matter to a kernel, and does to what any of them may call.
    assert_eq!(verdict(&[with(3), flushing.clone()]).0, Verdict::Changed);
    let device = NewKernel { is_device: true, ..with(3) };
    assert_eq!(verdict(&[device.clone(), keeping.clone()]).0, Verdict::Changed);
    assert_eq!(verdict(&[device.clone(), keeping, flushing]).0, Verdict::Refused);
    let setting = gfx1250::kernel("setting", "s_denorm_mode 0").unwrap();
    assert_eq!(verdict(&[device, setting]).0, Verdict::Refused);
}

/// Every page of the folder is that of one rule, of `hsaco check` or of `hsaco patch`, which `hsaco explain` shows; `hsaco rules` shows those of its own.
#[test]
fn every_page_is_that_of_a_rule_and_is_shown() {
    let rules = RuleSet::all().iter().flat_map(RuleSet::rules);
    let patches: BTreeSet<&str> = rules.map(|rule| rule.name).collect();
    let checks: BTreeSet<&str> = hsaco::check::Rule::all().map(|rule| rule.name).collect();
    assert_eq!(patches.intersection(&checks).next(), None);
    let folder = std::fs::read_dir(hsaco_tests::workspace_root().join("docs/rules")).unwrap();
    let names = folder.map(|it| it.unwrap().file_name().into_string().unwrap());
    let pages: BTreeSet<String> = names.map(|it| it.trim_end_matches(".md").to_owned()).collect();
    let rules: BTreeSet<String> = patches.union(&checks).map(|it| (*it).to_owned()).collect();
    assert_eq!(pages, rules);
    let run = |verb: &str, rule: &str| hsaco([verb, rule, "-o", "/dev/null"]).code;
    assert!(patches.iter().all(|it| run("rules", it) == Some(0) && run("explain", it) == Some(0)));
    assert!(checks.iter().all(|it| run("explain", it) == Some(0) && run("rules", it) == Some(2)));
}
