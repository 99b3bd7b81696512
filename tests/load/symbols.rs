//! Symbols: kinds, attributes, states.

use hsaco::load::{ErrorKind, Executable, Freeze, LoadedSymbolKind};
use hsaco::object::CodeObject;
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

use super::sample::{S1, S3_A, S3_B, TARGETS, frozen, loaded, object, word};

fn kinds(executable: &Executable<'_>) -> Vec<(LoadedSymbolKind, String)> {
    let shown = executable.symbols().filter(|it| it.kind() != LoadedSymbolKind::Absolute);
    let mut kinds: Vec<_> = shown.map(|it| (it.kind(), it.name().to_string())).collect();
    kinds.sort();
    kinds
}

/// Case F36.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn each_symbol_has_its_kind() {
    for target in TARGETS {
        let bytes = object(target, S1);
        let executable = loaded(&[("s1", &bytes)]);
        let expected = [
            (LoadedSymbolKind::Kernel, "foo"),
            (LoadedSymbolKind::Kernel, "ind"),
            (LoadedSymbolKind::Kernel, "none"),
            (LoadedSymbolKind::Variable, "pointer"),
            (LoadedSymbolKind::Function, "helper"),
        ];
        let expected = expected.map(|(kind, name)| (kind, name.to_owned()));
        assert_eq!(kinds(&executable), expected, "{target}");
        let user = loaded(&[("a", &object(target, S3_A))]);
        let externals = user.symbols().filter(|it| it.kind() == LoadedSymbolKind::External);
        let mut names: Vec<String> = externals.map(|it| it.name().to_string()).collect();
        names.sort();
        assert_eq!(names, ["extdev", "extvar"], "{target}");
    }
}

/// Case F43.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_pointer_holds_where_its_function_was_loaded() {
    const BASE: u64 = 0x7f00_0000_0000;
    for target in TARGETS {
        let mut executable = loaded(&[("s1", &object(target, S1))]);
        executable.freeze(Freeze { base: BASE, ..Freeze::default() }).unwrap();
        let helper = executable.symbol("helper").unwrap();
        let pointer = executable.symbol("pointer").unwrap();
        assert_eq!(helper.address(), Some(BASE + helper.value().unwrap()), "{target}");
        assert_eq!(
            Some(word(&executable, pointer.address().unwrap())),
            helper.address(),
            "{target}"
        );
        let [relocation] = executable.relocations().collect::<Vec<_>>()[..] else {
            panic!("{target}")
        };
        assert_eq!(relocation.kind.to_string(), "R_AMDGPU_RELATIVE64");
        assert_eq!(
            (Some(relocation.place), Some(relocation.value)),
            (pointer.address(), helper.address())
        );
        if target == "gfx942" {
            assert_eq!(helper.address(), Some(BASE + 0x1d00));
        }
    }
}

/// Case F53.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_is_frozen_stays_as_it_is() {
    let bytes = object("gfx942", S1);
    let mut executable = loaded(&[("s1", &bytes)]);
    executable.freeze(Freeze::default()).unwrap();
    let frozen = |error: hsaco::load::Error| assert_eq!(error.kind(), ErrorKind::Frozen);
    frozen(executable.load("again", bytes.to_vec()).unwrap_err());
    frozen(executable.define_variable("v", 0x1000, 4).unwrap_err());
    frozen(executable.define_function("f", 0x1000).unwrap_err());
    let errors = executable.freeze(Freeze::default()).unwrap_err();
    assert_eq!(errors[0].kind(), ErrorKind::Frozen);
    assert_eq!(errors[0].kind().hsa_status(), 0x1012);
    assert_eq!(executable.objects().len(), 1);
}

/// Case F54.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn attributes_are_those_of_descriptor_and_metadata() {
    const DATA: &str = "
const GLOBAL int DEFAULT constant[4] = {1, 2, 3, 4};
GLOBAL int DEFAULT written[3] = {1};
GLOBAL int DEFAULT zeros[100];
KERNEL foo(GLOBAL int *out, int n, long offset) { out[offset] = n + written[0] + constant[n] + zeros[n]; }
";
    for target in TARGETS {
        let bytes = object(target, DATA);
        let executable = frozen(&[("data", &bytes)]);
        let file = CodeObject::parse(&bytes).unwrap();
        let index = file.index();
        let described = index.kernels()[0].descriptor().unwrap();
        let generation = file.target().generation().unwrap();
        let foo = executable.symbol("foo").unwrap();
        let info = foo.kernel().unwrap();
        assert_eq!(foo.symbol_name(), "foo.kd");
        assert_eq!(foo.symbol_name().as_bytes().len(), 6);
        assert_eq!(executable.symbol("foo.kd").unwrap().id(), foo.id());
        assert_eq!((info.kernarg_size, info.kernarg_align), (24, 8), "{target}");
        assert_eq!(info.allocation.lds, described.group_segment_fixed_size);
        assert_eq!(info.allocation.scratch, described.private_segment_fixed_size);
        assert_eq!(info.allocation.has_dynamic_stack, described.uses_dynamic_stack());
        assert_eq!(info.allocation.wave.lanes(), described.wavefront_size(generation));
        assert_eq!((foo.size(), foo.align()), (64, 64));
        let facts = |name: &str| {
            let symbol = executable.symbol(name).unwrap();
            (symbol.kind(), symbol.size(), symbol.is_const(), symbol.is_exported())
        };
        assert_eq!(facts("constant"), (LoadedSymbolKind::Variable, 16, true, true), "{target}");
        assert_eq!(facts("written"), (LoadedSymbolKind::Variable, 12, false, true), "{target}");
        assert_eq!(facts("zeros"), (LoadedSymbolKind::Variable, 400, false, true), "{target}");
        for name in ["constant", "written", "zeros"] {
            let symbol = executable.symbol(name).unwrap();
            assert!(symbol.align() >= 4, "{name}: {}", symbol.align());
            assert_eq!(symbol.address().unwrap() % symbol.align(), 0);
        }
        let entry = foo.code().unwrap().0;
        assert_eq!(entry % 256, 0);
        assert_eq!(described.entry(foo.address().unwrap()), Some(entry));
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_stripped_object_has_its_exported_symbols_still() {
    let dir = scratch_dir();
    std::fs::write(dir.path().join("b.co"), &*object("gfx942", S3_B)).unwrap();
    sh(dir.path(), "llvm-strip-22 b.co -o stripped.co");
    sh(dir.path(), "llvm-strip-22 --strip-sections b.co -o bare.co");
    for name in ["stripped.co", "bare.co"] {
        let bytes = std::sync::Arc::new(std::fs::read(dir.path().join(name)).unwrap());
        let executable = frozen(&[("a", &object("gfx942", S3_A)), ("b", &bytes)]);
        let extdev = executable.symbol("extdev").unwrap();
        assert_eq!(
            (extdev.kind(), extdev.is_exported()),
            (LoadedSymbolKind::Function, true),
            "{name}"
        );
        let extvar = executable.symbol("extvar").unwrap();
        assert_eq!(
            (extvar.kind(), extvar.is_const()),
            (LoadedSymbolKind::Variable, false),
            "{name}"
        );
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn names_are_found_as_they_are_written_and_as_people_read_them() {
    let source = "DEFAULT NOINLINE int mangled(int x) __asm__(\"_Z5scalefi\");
DEFAULT NOINLINE int mangled(int x) { return x; }";
    let executable = frozen(&[("m", &object("gfx942", source))]);
    let symbol = executable.symbol("scale(float, int)").unwrap();
    assert_eq!(symbol.name(), "_Z5scalefi");
    assert_eq!(executable.symbol("_Z5scalefi").unwrap().id(), symbol.id());
    assert!(executable.symbol("scale").is_none());
    let located = executable.locate(symbol.address().unwrap() + 4).unwrap();
    let (found, offset) = located.symbol.unwrap();
    assert_eq!((found.id(), offset), (symbol.id(), 4));
}
