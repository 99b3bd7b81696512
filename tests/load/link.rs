//! Linking: at load, and into one object.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use hsaco::isa::target::{AbiVersion, EFlags};
use hsaco::load::{CallTarget, ErrorKind, Executable, Freeze, LoadedSymbolKind, Symbol};
use hsaco::object::CodeObject;
use hsaco_tests::program::{run, sh};
use hsaco_tests::scratch_dir;

use super::sample::{S1, S2, S3_A, S3_B, S4, TARGETS, compile, frozen, loaded, object, word};

/// What memory holds of an object, whatever its place: bytes, with addresses told by what they point to.
fn contents(executable: &Executable<'_>, name: &str) -> Vec<String> {
    let object = executable.objects().find(|it| executable.object_name(*it) == name).unwrap();
    let image = executable.image(object).unwrap();
    let mut segments: Vec<Vec<u8>> = image.segments.iter().map(|it| it.bytes.clone()).collect();
    let mut lines = Vec::new();
    for relocation in executable.relocations().filter(|it| it.object == object) {
        let place = relocation.place - image.delta;
        let goal = executable.locate(relocation.value).unwrap();
        let goal = format!("{}+{:#x}", executable.object_name(goal.object), goal.object_address);
        lines.push(format!("{place:#x} {} {:?} {goal}", relocation.kind, relocation.symbol));
        for (segment, bytes) in image.segments.iter().zip(&mut segments) {
            if segment.range().contains(&relocation.place) {
                let at = usize::try_from(relocation.place - segment.address).unwrap();
                bytes[at..at + 8].fill(0);
            }
        }
    }
    lines.extend(segments.iter().map(|bytes| format!("{bytes:?}")));
    lines
}

/// Case F45.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_library_is_found_in_whatever_order_objects_come() {
    for target in TARGETS {
        let (a, b) = (object(target, S3_A), object(target, S3_B));
        let ab = frozen(&[("a", &a), ("b", &b)]);
        let ba = frozen(&[("b", &b), ("a", &a)]);
        assert_eq!(contents(&ab, "a"), contents(&ba, "a"), "{target}");
        assert_eq!(contents(&ab, "b"), contents(&ba, "b"), "{target}");
        let slots: BTreeMap<String, u64> = ab
            .relocations()
            .filter(|it| ab.object_name(it.object) == "a")
            .map(|it| (it.symbol.unwrap().to_string(), word(&ab, it.place)))
            .collect();
        for name in ["extdev", "extvar"] {
            let provider = ab.symbol(name).unwrap();
            assert_eq!(ab.object_name(provider.object().unwrap()), "b");
            assert_eq!(Some(slots[name]), provider.address(), "{target} {name}");
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_call_crosses_objects() {
    for target in TARGETS {
        let executable = frozen(&[("a", &object(target, S3_A)), ("b", &object(target, S3_B))]);
        let calls = executable.calls().unwrap();
        let crossing: Vec<_> = calls.iter().filter(|it| it.crosses_objects()).collect();
        let [edge] = crossing[..] else { panic!("{target}: {calls:?}") };
        assert_eq!(edge.caller.name.as_deref(), Some("user"));
        let CallTarget::Function(callee) = &edge.callee else { panic!("{target}") };
        let extdev = executable.symbol("extdev").unwrap();
        assert_eq!(
            (Some(callee.address), callee.object),
            (extdev.address(), extdev.object().unwrap())
        );
        let inner = calls.iter().filter(|it| it.caller.name.as_deref() == Some("extdev"));
        let names: Vec<_> = inner
            .map(|it| match &it.callee {
                CallTarget::Function(callee) => callee.name.clone().unwrap(),
                other => panic!("{target}: {other:?}"),
            })
            .collect();
        assert_eq!(names, ["inner"], "{target}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_the_caller_defines_is_called_at_its_address() {
    let mut executable = Executable::new(Some("gfx942".parse().unwrap()));
    executable.define_function("extdev", 0x1234_5600).unwrap();
    executable.define_variable("extvar", 0x5555_0000, 4).unwrap();
    executable.load("a", object("gfx942", S3_A).to_vec()).unwrap();
    executable.freeze(Freeze::default()).unwrap();
    let values: BTreeMap<String, u64> =
        executable.relocations().map(|it| (it.symbol.unwrap().to_string(), it.value)).collect();
    assert_eq!((values["extdev"], values["extvar"]), (0x1234_5600, 0x5555_0000));
    assert_eq!(executable.symbol("extdev").unwrap().kind(), LoadedSymbolKind::Function);
    assert_eq!(executable.remarks().len(), 1, "{:?}", executable.remarks());
    assert!(executable.remarks()[0].contains("kernel `user` calls `extdev`"));
    let calls = executable.calls().unwrap();
    assert!(calls.iter().any(|it| it.callee == CallTarget::Defined("extdev".to_owned())));
}

fn symbols(bytes: &[u8]) -> Vec<(String, String, String, String)> {
    let object = CodeObject::parse(bytes).unwrap();
    let table = object.symbol_table().unwrap().unwrap();
    let mut symbols: Vec<_> = table
        .iter()
        .flatten()
        .filter(|it| it.name != "_DYNAMIC")
        .map(|it| {
            let kind = hsaco::object::SymbolKind::of(&it, false).name().to_owned();
            let (binding, visibility) = (it.binding.name(), it.visibility.name());
            (it.name.to_string(), kind, binding.to_owned(), visibility.to_owned())
        })
        .collect();
    symbols.sort();
    symbols
}

/// Case F51.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn one_object_of_two_has_what_a_linker_makes_of_them() {
    for target in TARGETS {
        let dir = scratch_dir();
        let path = dir.path();
        compile(path, target, S3_A, "a");
        compile(path, target, S3_B, "b");
        sh(path, "ld.lld-22 -shared a.o -o a.co");
        sh(path, "ld.lld-22 -shared b.o -o b.co");
        sh(path, "ld.lld-22 -shared a.o b.o -o lld.co");
        let read = |name: &str| Arc::new(fs::read(path.join(name)).unwrap());
        let mut executable = loaded(&[("a.co", &read("a.co")), ("b.co", &read("b.co"))]);
        executable.freeze(Freeze { fix_resources: false, ..Freeze::default() }).unwrap();
        let linked = executable.link().unwrap();
        fs::write(path.join("ours.co"), &linked).unwrap();
        assert_eq!(symbols(&linked), symbols(&read("lld.co")), "{target}");
        check_with_llvm(path, "ours.co");
        let object = CodeObject::parse(&linked).unwrap();
        assert_eq!(object.problems(), []);
        assert_eq!(object.metadata().documents(), 1);
        assert_eq!(object.index().kernels().len(), 1);
        assert_eq!(object.target(), CodeObject::parse(&read("lld.co")).unwrap().target());
        let notes = |name: &str| sh(path, &format!("llvm-readelf-22 -n {name}"));
        assert_eq!(notes("ours.co"), notes("a.co"), "{target}");
        same_when_loaded(&executable, linked);
    }
}

/// LLVM's tools take the object without a complaint, know every word of it, and see nothing unresolved.
fn check_with_llvm(path: &std::path::Path, name: &str) {
    let readelf = run(Command::new("llvm-readelf-22").args(["--all", name]).current_dir(path));
    assert_eq!((readelf.code, readelf.stderr.as_str()), (Some(0), ""));
    let listing = sh(path, &format!("llvm-objdump-22 -d {name}"));
    assert!(listing.contains("<user>:") && listing.contains("<extdev>:"), "{listing}");
    assert!(!listing.contains(".long") && !listing.contains("<unknown>"), "{listing}");
    let relocations = sh(path, &format!("llvm-readelf-22 -rW {name}"));
    let mut kinds = relocations.split_whitespace().filter(|it| it.starts_with("R_AMDGPU"));
    assert!(kinds.all(|it| it == "R_AMDGPU_RELATIVE64"), "{relocations}");
    let symbols = sh(path, &format!("llvm-readelf-22 -sW {name}"));
    assert_eq!(
        symbols.matches(" UND ").count(),
        2,
        "only the null symbol of each table\n{symbols}"
    );
}

/// Every symbol has the same bytes, and points to the same symbols, loaded from one object or from many.
fn same_when_loaded(many: &Executable<'_>, linked: Vec<u8>) {
    let mut one = Executable::new(None);
    one.load("linked", linked).unwrap();
    one.freeze(Freeze::default()).unwrap();
    for symbol in many.symbols().filter(Symbol::is_definition) {
        let Some(address) = symbol.address() else { continue };
        let same = one
            .symbols_named(&symbol.symbol_name().to_string())
            .into_iter()
            .find(|it| (it.kind(), it.size()) == (symbol.kind(), symbol.size()));
        let same = same.unwrap_or_else(|| panic!("{symbol:?}"));
        assert_eq!(same.kernel(), symbol.kernel(), "{symbol:?}");
        assert_eq!((same.is_const(), same.binding()), (symbol.is_const(), symbol.binding()));
        if symbol.kind() == LoadedSymbolKind::Absolute {
            assert_eq!(same.value(), symbol.value());
            continue;
        }
        // What holds addresses is compared below, by what these point to.
        let is_relocated = |it: hsaco::load::AppliedRelocation<'_>| {
            (address..address + symbol.size()).contains(&it.place)
        };
        if many.relocations().any(is_relocated) {
            continue;
        }
        let image = many.image(symbol.object().unwrap()).unwrap();
        let other = one.image(same.object().unwrap()).unwrap();
        let size = usize::try_from(symbol.size()).unwrap();
        let there = other.bytes_at(same.address().unwrap(), size);
        assert_eq!(there, image.bytes_at(address, size), "{symbol:?}");
    }
    let goals = |executable: &Executable<'_>| {
        let mut goals: Vec<String> = executable
            .relocations()
            .map(|it| match executable.locate(it.value).and_then(|it| it.symbol) {
                Some((symbol, offset)) => format!("{}+{offset:#x}", symbol.name()),
                None => format!("{:#x}", it.value),
            })
            .collect();
        goals.sort();
        goals
    };
    assert_eq!(goals(&one), goals(many));
    let edges = |executable: &Executable<'_>| {
        let name = |it: &hsaco::load::FunctionRef| it.name.clone().unwrap_or_default();
        let mut edges: Vec<_> = executable
            .calls()
            .unwrap()
            .iter()
            .map(|it| match &it.callee {
                CallTarget::Function(callee) => (name(&it.caller), name(callee)),
                other => (name(&it.caller), format!("{other:?}")),
            })
            .collect();
        edges.sort();
        edges
    };
    assert_eq!(edges(&one), edges(many));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn many_objects_become_one() {
    for target in TARGETS {
        let s2 = object(target, &S2.replace("foo", "user"));
        let objects = [("s1", object(target, S1)), ("s2", s2), ("s3", object(target, S3_B))];
        let objects: Vec<(&str, &Arc<Vec<u8>>)> =
            objects.iter().map(|(name, it)| (*name, it)).collect();
        let executable = frozen(&objects);
        let linked = executable.link().unwrap();
        let dir = scratch_dir();
        fs::write(dir.path().join("ours.co"), &linked).unwrap();
        check_with_llvm(dir.path(), "ours.co");
        let kernels = CodeObject::parse(&linked).unwrap();
        let kernels =
            kernels.index().kernels().iter().map(|it| it.name().to_string()).collect::<Vec<_>>();
        assert_eq!(kernels, ["foo", "none", "ind", "user"], "{target}");
        same_when_loaded(&executable, linked);
    }
}

/// Case F52.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn targets_go_together_where_a_linker_says_so() {
    let dir = scratch_dir();
    let path = dir.path();
    let targets =
        ["gfx942", "gfx942:xnack+", "gfx942:xnack-", "gfx942:sramecc+", "gfx90a", "gfx1100"];
    for (number, target) in targets.iter().enumerate() {
        for name in ["one", "two"] {
            compile(path, target, &S4.replace("NAME", name), &format!("{name}{number}"));
            sh(path, &format!("ld.lld-22 -shared {name}{number}.o -o {name}{number}.co"));
        }
    }
    let mut verdicts = [0, 0];
    for first in 0..targets.len() {
        for second in 0..targets.len() {
            let (one, two) = (format!("one{first}"), format!("two{second}"));
            let arguments = ["-shared", &format!("{one}.o"), &format!("{two}.o"), "-o", "lld.co"];
            let said = run(Command::new("ld.lld-22").args(arguments).current_dir(path)).stderr;
            let read = |name: &str| fs::read(path.join(name)).unwrap();
            let mut executable = Executable::new(None);
            executable.load("one", read(&format!("{one}.co"))).unwrap();
            let state = |it: &Executable<'_>| {
                let symbols: Vec<String> = it.symbols().map(|it| format!("{it:?}")).collect();
                (it.objects().len(), it.e_flags(), it.target(), symbols)
            };
            let before = state(&executable);
            let loaded = executable.load("two", read(&format!("{two}.co")));
            let pair = format!("{} and {}", targets[first], targets[second]);
            verdicts[usize::from(loaded.is_ok())] += 1;
            match loaded {
                Ok(_) => {
                    assert_eq!(said, "", "{pair}");
                    executable.freeze(Freeze::default()).unwrap();
                    let linked = executable.link().unwrap();
                    let flags = |bytes: &[u8]| CodeObject::parse(bytes).unwrap().e_flags();
                    assert_eq!(flags(&linked), flags(&read("lld.co")), "{pair}");
                    let target = CodeObject::parse(&linked).unwrap().target().to_string();
                    let linked = CodeObject::parse(&linked).unwrap();
                    let said = linked.metadata().target().unwrap().to_string();
                    assert_eq!(said, format!("amdgcn-amd-amdhsa--{target}"), "{pair}");
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::TargetMismatch, "{pair}");
                    assert!(!said.is_empty(), "{pair}: {error}");
                    assert_eq!(state(&executable), before, "{pair}");
                }
            }
        }
    }
    assert_eq!(verdicts, [20, 16]);
    let any = EFlags::new(0x54c, AbiVersion::V6);
    assert!(any.merge(EFlags::new(0x74c, AbiVersion::V6)).is_ok());
}
