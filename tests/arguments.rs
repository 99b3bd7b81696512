//! The arguments of kernels: types from debug information, places from metadata, and where they differ.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco::analysis::{Argument, Disagreement, KernelArguments, Source};
use hsaco::dwarf::{DebugSections, Encoding, SourceMap, Spelling, Type, TypeId, TypeKind, Types};
use hsaco::object::CodeObject;
use hsaco_tests::fixture;
use hsaco_tests::random::Random;

/// The objects of `types.hip`: as DWARF 5 and 4, and of both with a unit for each type.
const TYPES: [&str; 4] = ["types.co", "types.dwarf4.co", "types.units.co", "types.units4.co"];

/// All objects whose debug information has types.
const TYPED: [&str; 10] = [
    "types.co",
    "types.dwarf4.co",
    "types.units.co",
    "types.units4.co",
    "lines.o",
    "opencl.co",
    "lines.dwarf5.co",
    "lines.dwarf4.co",
    "lines.zlib.co",
    "lines.zstd.co",
];

/// The arguments of every kernel of a file, by the kernel's name.
fn all_arguments(file: &[u8]) -> Vec<(String, KernelArguments)> {
    let object = CodeObject::parse(file).unwrap();
    let Ok(sections) = DebugSections::new(&object, 1 << 24) else { return Vec::new() };
    let map = SourceMap::new(&sections);
    let debug = map.as_ref().ok().map(|map| (map, &sections));
    let index = object.index();
    let arguments = |it| KernelArguments::new(it, debug);
    index.kernels().iter().map(|it| (it.name().to_string(), arguments(it))).collect()
}

fn arguments(name: &str, kernel: &str) -> KernelArguments {
    let file = fs::read(fixture(name)).unwrap();
    let mut fitting = all_arguments(&file).into_iter().filter(|(name, _)| name.contains(kernel));
    let (_, found) = fitting.next().unwrap_or_else(|| panic!("{name}: no kernel {kernel}"));
    assert!(fitting.next().is_none(), "{name}: several kernels {kernel}");
    found
}

fn argument<'a>(all: &'a KernelArguments, name: &str) -> &'a Argument {
    all.arguments.iter().find(|it| it.name.as_deref() == Some(name)).unwrap()
}

fn spelled(types: &Types, ty: Option<TypeId>) -> String {
    types.spell(ty, Spelling::default())
}

fn resolved(types: &Types, ty: Option<TypeId>) -> String {
    types.spell(ty, Spelling { resolve_typedefs: true, ..Spelling::default() })
}

/// The types of an argument, or what a pointer to it points to, without aliases and qualifiers.
fn structure(all: &KernelArguments, name: &str) -> Type {
    let ty = all.types.unqualified(argument(all, name).ty.unwrap()).unwrap();
    match &all.types[ty].kind {
        TypeKind::Pointer(pointer) => {
            all.types[all.types.unqualified(pointer.to.unwrap()).unwrap()].clone()
        }
        _ => all.types[ty].clone(),
    }
}

/// Members as `name type @offset`, with the bits of a bit-field.
fn members(types: &Types, ty: &Type) -> Vec<String> {
    let TypeKind::Record { members, .. } = &ty.kind else { panic!("{ty:?}") };
    let text = |it: &hsaco::dwarf::Member| {
        let name = it.name.as_deref().unwrap_or(if it.base { "base" } else { "-" });
        let bits = it.bits.map_or(String::new(), |bits| format!(" {}:{}", bits.offset, bits.size));
        format!("{} {name} @{}{bits}", spelled(types, it.ty), it.offset.unwrap())
    };
    members.iter().map(text).collect()
}

/// A14.
/// Row A14 of docs/kerneldb.md.
#[test]
fn arguments_have_name_type_size_alignment_and_position() {
    for file in TYPES {
        let all = arguments(file, "vector_add");
        let row = |it: &Argument| {
            let name = it.name.clone().unwrap();
            (name, spelled(&all.types, it.ty), it.offset, it.size, it.alignment)
        };
        let explicit = all.arguments.iter().filter(|it| !it.is_hidden());
        let pointer = |name: &str, ty: &str, offset| {
            (name.to_owned(), ty.to_owned(), Some(offset), Some(8), Some(8))
        };
        let expected = [
            pointer("a", "const float *", 0),
            pointer("b", "const float *", 8),
            pointer("c", "float *", 16),
            ("n".to_owned(), "int".to_owned(), Some(24), Some(4), Some(4)),
        ];
        assert_eq!(explicit.map(row).collect::<Vec<_>>(), expected, "{file}");
    }
}

/// A15.
/// Row A15 of docs/kerneldb.md.
#[test]
fn members_are_found_by_value_and_through_a_pointer() {
    for file in TYPES {
        let all = arguments(file, "in_namespace");
        for name in ["out", "by_value"] {
            let point = structure(&all, name);
            assert_eq!(point.name.as_deref(), Some("shape::Point"));
            let expected = ["float x @0", "float y @4", "float z @8"];
            assert_eq!(members(&all.types, &point), expected, "{file}");
        }
        let all = arguments(file, "in_template");
        let tile = structure(&all, "tile");
        let expected =
            ["double[2][4] rows @0", "shape::Pair<shape::Point> corners @64", "char tag @88"];
        assert_eq!(members(&all.types, &tile), expected, "{file}");
    }
}

/// A16.
/// Row A16 of docs/kerneldb.md.
#[test]
fn aliases_are_kept_or_resolved_by_each_call_alone() {
    for file in TYPES {
        let all = arguments(file, "aliases");
        let texts = |spell: fn(&Types, Option<TypeId>) -> String| -> Vec<String> {
            let explicit = all.arguments.iter().filter(|it| !it.is_hidden());
            explicit.map(|it| spell(&all.types, it.ty)).collect()
        };
        let kept =
            ["scalar *", "scalars", "Twice", "scalar", "size_t", "HasAliases", "NamedByAlias"];
        let bare = [
            "float *",
            "const float *",
            "shape::Pair<float>",
            "float",
            "unsigned long",
            "HasAliases",
            "NamedByAlias",
        ];
        assert_eq!(texts(spelled), kept, "{file}");
        assert_eq!(texts(resolved), bare, "{file}");
        assert_eq!(texts(spelled), kept, "{file}");
        let matrix = structure(&all, "has");
        let TypeKind::Record { members, .. } = &matrix.kind else { panic!() };
        assert_eq!(spelled(&all.types, members[1].ty), "Matrix");
        assert_eq!(resolved(&all.types, members[1].ty), "float[3][4]");
    }
}

/// 3.2, b1a6965.
/// Row b1a6965 of docs/kerneldb.md.
#[test]
fn an_alias_of_an_alias_of_a_structure_has_its_size_alignment_and_members() {
    for file in TYPES {
        let all = arguments(file, "aliases");
        let twice = argument(&all, "by_value");
        assert_eq!(spelled(&all.types, twice.ty), "Twice");
        let alias = &all.types[twice.ty.unwrap()];
        assert_eq!((alias.size, alias.alignment), (Some(8), Some(4)));
        let pair = structure(&all, "by_value");
        assert_eq!(members(&all.types, &pair), ["float first @0", "float second @4"]);
    }
}

/// B11.
#[test]
fn without_debug_information_the_metadata_is_there() {
    let file = fs::read(fixture("s1.gfx942.co")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let sections = DebugSections::new(&object, 1 << 20).unwrap();
    let map = SourceMap::new(&sections).unwrap();
    let index = object.index();
    let kernel = index.kernels().iter().find(|it| it.name() == "foo").unwrap();
    for debug in [None, Some((&map, &sections))] {
        let all = KernelArguments::new(kernel, debug);
        assert!(all.arguments.len() >= 3 && all.types.is_empty());
        assert_eq!((all.disagreements, all.problems), (vec![], vec![]));
        let places: Vec<_> = all.arguments.iter().map(|it| (it.offset, it.size)).collect();
        assert_eq!(places[..3], [(Some(0), Some(8)), (Some(8), Some(4)), (Some(16), Some(8))]);
        assert!(all.arguments.iter().all(|it| it.source == Source::Metadata && it.ty.is_none()));
    }
    // Lines alone are no statement about parameters.
    for (kernel, all) in all_arguments(&fs::read(fixture("lines.tables.co")).unwrap()) {
        assert!(!all.arguments.is_empty(), "{kernel}");
        assert!(all.arguments.iter().all(|it| it.source == Source::Metadata));
        assert_eq!(all.disagreements, []);
    }
}

/// B12.
/// Row B12 of docs/kerneldb.md.
#[test]
fn kernels_in_namespaces_and_classes_have_arguments() {
    for file in TYPES {
        for (kernel, expected) in [
            ("in_namespace", ["shape::Point *out", "shape::Point by_value"]),
            ("in_anonymous", ["long *out", "(anonymous namespace)::Hidden hidden"]),
            ("in_class", ["shape::Owner::Inner *out", "shape::Owner::Inner inner"]),
            ("in_template", ["double *out", "shape::Tile<double, 2> tile"]),
            ("c_name", ["int *out", "const shape::Point point"]),
        ] {
            let all = arguments(file, kernel);
            let text = |it: &Argument| {
                let ty = spelled(&all.types, it.ty);
                let blank = if ty.ends_with('*') { "" } else { " " };
                format!("{ty}{blank}{}", it.name.as_ref().unwrap())
            };
            let texts: Vec<_> = all.arguments.iter().take(2).map(text).collect();
            assert_eq!(texts, expected, "{file}: {kernel}");
        }
    }
}

/// A record of `types.hip`: name, size, alignment, members with their places.
type Record = (&'static str, u64, u64, &'static [(&'static str, u64)]);

/// The numbers that `types.hip` asserts, and those that follow.
const RECORDS: &[Record] = &[
    ("shape::Point", 12, 4, &[("x", 0), ("y", 4), ("z", 8)]),
    ("shape::Tile<double, 2>", 96, 8, &[("rows", 0), ("corners", 64), ("tag", 88)]),
    ("shape::Pair<shape::Pair<double> >", 32, 8, &[("first", 0), ("second", 16)]),
    ("shape::Owner::Inner", 8, 4, &[("a", 0), ("b", 4)]),
    ("(anonymous namespace)::Hidden", 16, 8, &[("c", 0), ("l", 8)]),
    (
        "Base",
        64,
        16,
        &[
            ("flag", 0),
            ("sc", 1),
            ("us", 2),
            ("ll", 8),
            ("half", 16),
            ("brain", 18),
            ("d", 24),
            ("wide", 32),
            ("huge", 48),
        ],
    ),
    ("BaseTail", 80, 16, &[("base", 0), ("tail", 64)]),
    ("Node", 24, 8, &[("next", 0), ("all", 8), ("value", 16)]),
    (
        "Linked",
        80,
        8,
        &[
            ("reference", 0),
            ("moved", 8),
            ("function", 16),
            ("member", 24),
            ("method", 32),
            ("null", 48),
            ("nothing", 56),
            ("const_nothing", 64),
            ("row", 72),
        ],
    ),
    ("HasAliases", 64, 8, &[("pair", 0), ("matrix", 8), ("pointer", 56)]),
    ("Word", 4, 4, &[("bits", 0), ("number", 0), ("bytes", 0)]),
    ("Variant", 16, 8, &[("tag", 0), ("-", 8)]),
    ("Empty", 1, 1, &[]),
    ("First", 8, 4, &[("a", 0), ("b", 4)]),
    ("Single", 12, 4, &[("base", 0), ("d", 8)]),
    ("Many", 24, 8, &[("base", 0), ("base", 8), ("base", 0), ("e", 16)]),
    ("Private", 24, 8, &[("base", 0), ("base", 0), ("f", 20)]),
    (
        "Bits",
        16,
        8,
        &[("low", 0), ("middle", 0), ("far", 4), ("wide", 8), ("flag", 13), ("color", 13)],
    ),
    ("Vectors", 64, 16, &[("c", 0), ("three", 16), ("two", 32), ("four", 40)]),
    ("Wide", 32, 32, &[("a", 0)]),
    ("MemberAligned", 48, 16, &[("a", 0), ("b", 16), ("c", 17)]),
    ("OnlyArrays", 96, 32, &[("a", 0), ("wide", 32)]),
    ("AlignedAlias", 32, 16, &[("a", 0), ("b", 16)]),
    ("Packed", 7, 1, &[("a", 0), ("b", 1), ("c", 5)]),
];

/// Types of `types.hip` that are no records: spelling, size, alignment.
const OTHERS: &[(&str, u64, u64)] = &[
    ("float", 4, 4),
    ("__int128", 16, 16),
    ("_Float16", 2, 2),
    ("__bf16", 2, 2),
    ("bool", 1, 1),
    ("Old", 4, 4),
    ("Scoped", 1, 1),
    ("Signed", 8, 8),
    ("std::nullptr_t", 8, 8),
    ("int Node::*", 8, 8),
    ("int (Node::*)(int) const", 16, 8),
    ("const float &", 8, 8),
    ("Node &&", 8, 8),
    ("int (*)(const Node *, float)", 8, 8),
    ("float *const __restrict", 8, 8),
    ("const volatile int", 4, 4),
    ("double[2][4]", 64, 8),
    ("char[2][3][5]", 30, 1),
    ("Matrix", 48, 4),
    ("scalar[3][4]", 48, 4),
    ("float2", 8, 8),
    ("float3", 16, 16),
    ("float4", 16, 16),
    ("half8", 16, 16),
    ("int4v", 16, 16),
    ("uchar4", 4, 4),
    ("uchar4[3]", 12, 4),
    ("Wide[2]", 64, 32),
];

/// B13.
/// Row B13 of docs/kerneldb.md.
#[test]
fn sizes_places_and_alignments_are_those_that_the_compiler_asserts() {
    for name in TYPES {
        let (mut records, mut others) = (HashMap::new(), HashMap::new());
        for (_, all) in all_arguments(&fs::read(fixture(name)).unwrap()) {
            for (id, ty) in all.types.iter() {
                let text = spelled(&all.types, Some(id));
                if let TypeKind::Record { members, .. } = &ty.kind {
                    let place = |it: &hsaco::dwarf::Member| {
                        let name = it.name.as_deref();
                        let name = name.unwrap_or(if it.base { "base" } else { "-" });
                        (name.to_owned(), it.offset.unwrap())
                    };
                    let places: Vec<_> = members.iter().map(place).collect();
                    records.insert(text.clone(), (ty.size, ty.alignment, places));
                }
                others.insert(text, (ty.size, ty.alignment));
            }
        }
        for (record, size, alignment, places) in RECORDS {
            let places: Vec<_> = places.iter().map(|it| (it.0.to_owned(), it.1)).collect();
            let expected = (Some(*size), Some(*alignment), places);
            assert_eq!(records.get(*record), Some(&expected), "{name}: {record}");
        }
        for (text, size, alignment) in OTHERS {
            let expected = (Some(*size), Some(*alignment));
            assert_eq!(others.get(*text), Some(&expected), "{name}: {text}");
        }
        // What an alias asks for is not written in DWARF 4.
        let is_dwarf4 = ["types.dwarf4.co", "types.units4.co"].contains(&name);
        let alignment = if is_dwarf4 { 4 } else { 16 };
        assert_eq!(others.get("aligned_int"), Some(&(Some(4), Some(alignment))), "{name}");
    }
}

#[test]
fn bit_fields_unions_enumerations_and_nameless_members_are_told() {
    for file in TYPES {
        let all = arguments(file, "structures");
        let bits = structure(&all, "bits");
        let expected = [
            "unsigned int low @0 0:3",
            "unsigned int middle @0 5:20",
            "int far @4 32:9",
            "unsigned long long wide @8 64:40",
            "bool flag @13 104:1",
            "Old color @13 105:4",
        ];
        assert_eq!(members(&all.types, &bits), expected, "{file}");
        let variant = structure(&all, "variant");
        assert_eq!(members(&all.types, &variant), ["char tag @0", "(anonymous union) - @8"]);
        let TypeKind::Record { members: parts, .. } = &variant.kind else { panic!() };
        let inner = &all.types[parts[1].ty.unwrap()];
        assert_eq!(members(&all.types, inner), ["double d @0", "(anonymous struct) - @0"]);
        let all = arguments(file, "bases");
        let enumeration = |name| match structure(&all, name).kind {
            TypeKind::Enumeration { underlying, scoped, enumerators } => {
                let values = enumerators.iter().map(|it| (it.name.to_string(), it.value)).collect();
                (spelled(&all.types, underlying), scoped, values)
            }
            other => panic!("{other:?}"),
        };
        let named = |values: &[(&str, i128)]| -> Vec<_> {
            values.iter().map(|it| (it.0.to_owned(), it.1)).collect()
        };
        let old = named(&[("red", 0), ("green", 7), ("blue", 8)]);
        assert_eq!(enumeration("old"), ("unsigned int".to_owned(), false, old));
        let scoped = named(&[("one", 1), ("high", 255)]);
        assert_eq!(enumeration("scoped"), ("unsigned char".to_owned(), true, scoped));
        let lowest = named(&[("lowest", i128::from(i64::MIN))]);
        assert_eq!(enumeration("is_signed"), ("long long".to_owned(), false, lowest));
        assert_eq!(structure(&all, "half").kind, TypeKind::Base(Encoding::Float));
    }
}

#[test]
fn a_list_node_points_to_itself() {
    for file in TYPES {
        let all = arguments(file, "pointers");
        let TypeKind::Pointer(list) = all.types[argument(&all, "list").ty.unwrap()].kind else {
            panic!()
        };
        let node = all.types.unqualified(list.to.unwrap()).unwrap();
        let TypeKind::Record { members, .. } = &all.types[node].kind else { panic!() };
        let TypeKind::Pointer(next) = all.types[members[0].ty.unwrap()].kind else { panic!() };
        assert_eq!(next.to, Some(node));
        assert_eq!(spelled(&all.types, members[1].ty), "const Node *const *volatile");
    }
}

#[test]
fn types_are_written_as_cpp_has_them() {
    let all = arguments("types.co", "pointers");
    let texts: Vec<_> = all.arguments.iter().map(|it| spelled(&all.types, it.ty)).collect();
    let expected = [
        "const float *__restrict",
        "float *const __restrict",
        "volatile int *",
        "const Node *",
        "Node *const *",
        "const Linked",
        "float (*)[4]",
        "void (*)(int, ...)",
        "const volatile int",
        "std::nullptr_t",
    ];
    assert_eq!(texts[..expected.len()], expected);
    let keywords = Spelling { keywords: true, ..Spelling::default() };
    let with_keywords = |name: &str| all.types.spell(argument(&all, name).ty, keywords);
    assert_eq!(with_keywords("list"), "const struct Node *");
    assert_eq!(with_keywords("rows"), "float (*)[4]");
    let linked = structure(&all, "linked");
    let TypeKind::Record { members, .. } = &linked.kind else { panic!() };
    assert_eq!(all.types.spell(members[3].ty, keywords), "int Node::*");
    let vectors = arguments("types.co", "alignments");
    let three = argument(&vectors, "three").ty;
    assert_eq!(spelled(&vectors.types, three), "float3");
    assert_eq!(resolved(&vectors.types, three), "float __attribute__((ext_vector_type(3)))");
}

/// B14: for every kernel the offsets that follow from the types are those of the metadata.
/// Row B14 of docs/kerneldb.md.
#[test]
fn metadata_and_debug_information_agree() {
    for name in TYPED {
        let mut explicit = 0;
        for (kernel, all) in all_arguments(&fs::read(fixture(name)).unwrap()) {
            assert_eq!(all.disagreements, [], "{name}: {kernel}");
            assert_eq!(all.problems, [], "{name}: {kernel}");
            for argument in all.arguments.iter().filter(|it| !it.is_hidden()) {
                assert_eq!(argument.source, Source::Both, "{name}: {kernel}");
                let ty = &all.types[argument.ty.unwrap()];
                assert_eq!(argument.size, ty.size, "{name}: {kernel}");
                explicit += 1;
            }
        }
        assert!(explicit >= if name.starts_with("types") { 60 } else { 7 }, "{name}: {explicit}");
    }
}

/// The debug information of a pipe has the type of its packets, which says nothing about the argument.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn opencl_pipes_are_addresses_whatever_their_packets_are() {
    let folder = tempfile::tempdir().unwrap();
    let source = "kernel void pipes(read_only pipe int in, global int *out, write_only pipe float4 wide,\n\
                  char last) { *out = last; }\n";
    fs::write(folder.path().join("pipes.cl"), source).unwrap();
    let mut clang = Command::new("clang-22");
    clang.args([
        "-target",
        "amdgcn-amd-amdhsa",
        "-mcpu=gfx942",
        "-cl-std=CL2.0",
        "-nogpulib",
        "-g",
    ]);
    clang.args(["-Xclang", "-finclude-default-header", "-O2", "pipes.cl", "-o", "pipes.co"]);
    assert!(clang.current_dir(&folder).status().unwrap().success());
    let file = fs::read(folder.path().join("pipes.co")).unwrap();
    let all = all_arguments(&file).remove(0).1;
    assert_eq!(all.disagreements, []);
    let explicit: Vec<_> = all.arguments.iter().filter(|it| !it.is_hidden()).collect();
    let shown = |it: &&Argument| {
        (it.name.clone().unwrap(), it.kind.as_ref().unwrap().name().to_owned(), it.size.unwrap())
    };
    let shown: Vec<_> = explicit.iter().map(shown).collect();
    let expected = [
        ("in", "pipe", 8),
        ("out", "global_buffer", 8),
        ("wide", "pipe", 8),
        ("last", "by_value", 1),
    ];
    assert_eq!(shown, expected.map(|(name, kind, size)| (name.to_owned(), kind.to_owned(), size)));
    assert_eq!(explicit[0].alignment, None);
}

#[test]
fn opencl_arguments_have_the_same_names_and_short_addresses_of_lds() {
    let all = arguments("opencl.co", "opencl");
    let row = |it: &Argument| {
        let name = it.name.clone().unwrap();
        let space = it.address_space.clone().unwrap_or_default();
        format!(
            "{} {name} @{}:{} {space}",
            spelled(&all.types, it.ty),
            it.offset.unwrap(),
            it.size.unwrap()
        )
    };
    let rows: Vec<_> = all.arguments.iter().filter(|it| !it.is_hidden()).map(row).collect();
    let expected = [
        "float *__restrict out @0:8 global",
        "const float4 * in @8:8 global",
        "int * scratch @16:4 local",
        "int * table @24:8 constant",
        "Settings settings @32:48 ",
        "char small @80:1 ",
        "opencl_image2d_ro_t * image @88:8 ",
        "sampler_t sampler @96:8 ",
        "ulong8 large @128:64 ",
    ];
    assert_eq!(rows, expected);
    let settings = structure(&all, "settings");
    assert_eq!((settings.size, settings.alignment), (Some(48), Some(16)));
    let places = ["float x @0", "int3 three @16", "int * shared @32"];
    assert_eq!(members(&all.types, &settings), places);
}

#[test]
fn without_metadata_arguments_are_where_the_compiler_puts_them() {
    let places = |name: &str| -> Vec<_> {
        let file = fs::read(fixture(name)).unwrap();
        let kernels = all_arguments(&file).into_iter().map(|(kernel, all)| {
            let explicit = all.arguments.iter().filter(|it| !it.is_hidden());
            let place = |it: &Argument| (it.name.clone(), it.offset, it.size, it.alignment);
            (kernel, explicit.map(place).collect::<Vec<_>>())
        });
        let mut kernels: Vec<_> = kernels.collect();
        kernels.sort();
        kernels
    };
    assert_eq!(places("types.no-note.co"), places("types.co"));
    let all = arguments("types.no-note.co", "alignments");
    assert!(all.arguments.iter().all(|it| it.source == Source::Debug && it.kind.is_none()));
}

/// Row B14 of docs/kerneldb.md.
#[test]
fn disagreements_are_told_with_both_numbers() {
    let all = arguments("odd-types.co", "copied");
    let name = Disagreement::Name { position: 1, metadata: "shared".into(), debug: "b".into() };
    let offset = Disagreement::Offset { position: 2, metadata: 12, debug: 8 };
    let size = Disagreement::Size { position: 2, metadata: 4, debug: 8 };
    assert_eq!(all.disagreements, [name, offset, size]);
    // Launching goes by the metadata.
    let last = &all.arguments[2];
    assert_eq!((last.offset, last.size, last.source), (Some(12), Some(4), Source::Both));
    let text: Vec<_> = all.disagreements.iter().map(ToString::to_string).collect();
    assert_eq!(text[2], "argument 2 has 4 bytes in the metadata, its type has 8");

    let all = arguments("odd-types.co", "circles");
    assert_eq!(all.disagreements, [Disagreement::Count { metadata: 2, debug: 3 }]);
    let joined: Vec<_> = all.arguments.iter().map(|it| (it.source, it.ty.is_some())).collect();
    assert_eq!(joined, [(Source::Metadata, false), (Source::Both, true)]);
}

/// A byte of the note that makes an argument shorter is noticed.
#[test]
fn changed_metadata_is_noticed() {
    let mut file = fs::read(fixture("types.co")).unwrap();
    let size_12 = b"\xa5.size\x0c";
    let at = file.windows(size_12.len()).position(|it| it == size_12).unwrap();
    file[at + size_12.len() - 1] = 11;
    let told: Vec<_> =
        all_arguments(&file).into_iter().flat_map(|(_, it)| it.disagreements).collect();
    assert_eq!(told[0], Disagreement::Size { position: 1, metadata: 11, debug: 12 });
}

#[test]
fn parameters_of_a_copy_are_those_of_its_origin() {
    let file = fs::read(fixture("odd-types.co")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let sections = DebugSections::new(&object, 1 << 20).unwrap();
    let map = SourceMap::new(&sections).unwrap();
    let index = object.index();
    let kernel = index.kernels().iter().find(|it| it.name() == "copied").unwrap();
    let by_address = map.signature_at(&sections, kernel.entry().unwrap()).unwrap().unwrap();
    let by_name = map.signature_of(&sections, "_Z6copiediPiS_").unwrap().unwrap();
    assert_eq!(by_address.parameters, by_name.parameters);
    let names: Vec<_> = by_name.parameters.iter().map(|it| it.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    // A pointer into LDS has 32 bits.
    let sizes = by_name.parameters.iter().map(|it| by_name.types[it.ty.unwrap()].size);
    assert_eq!(sizes.collect::<Vec<_>>(), [Some(4), Some(4), Some(8)]);
    assert!(map.signature_of(&sections, "nobody").unwrap().is_none());
}

#[test]
fn types_that_are_made_of_themselves_come_to_an_end() {
    let file = fs::read(fixture("odd-types.co")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let sections = DebugSections::new(&object, 1 << 20).unwrap();
    let map = SourceMap::new(&sections).unwrap();
    let circles = map.signature_of(&sections, "circles").unwrap().unwrap();
    let ty = |at: usize| circles.parameters[at].ty.unwrap();
    assert_eq!(circles.types[ty(0)].size, Some(16));
    assert_eq!(circles.types.resolve(ty(1)), None);
    assert_eq!(circles.types.unqualified(ty(2)), None);
    assert_eq!(circles.types[ty(2)].size, None);
    assert_eq!(resolved(&circles.types, Some(ty(0))), "Itself");
    assert!(spelled(&circles.types, Some(ty(2))).starts_with("const "));

    let kinds = map.signature_of(&sections, "kinds").unwrap().unwrap();
    let ty = |at: usize| kinds.parameters[at].ty.unwrap();
    let dwarf_2 = &kinds.types[ty(0)];
    assert_eq!(members(&kinds.types, dwarf_2), ["int low @4 32:3", "int high @7 59:5"]);
    let elsewhere = &kinds.types[ty(1)];
    assert_eq!(elsewhere.name.as_deref(), Some("apart::Moved"));
    assert_eq!(members(&kinds.types, elsewhere), ["int here @4"]);
    assert_eq!(kinds.types[ty(2)].size, None);
    assert!(spelled(&kinds.types, Some(ty(3))).len() < 1 << 20);
}

/// Bytes of the debug sections changed at random: errors or other answers, never a panic, and no more types than
/// there are bytes.
/// Row B16 of docs/kerneldb.md.
#[test]
fn broken_debug_sections_do_no_harm() {
    let mut random = Random::new(17);
    for name in TYPES.into_iter().chain(["odd-types.co", "lines.zstd.co", "lines.o"]) {
        let mut file = fs::read(fixture(name)).unwrap();
        let debug: Vec<_> = {
            let elf = CodeObject::parse(&file).unwrap().elf().clone();
            let wanted = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_str_offsets"];
            let sections =
                elf.sections().iter().filter(|it| wanted.iter().any(|name| it.name == *name));
            sections.map(|it| (it.offset as usize, it.size as usize)).collect()
        };
        for _ in 0..700 {
            let (start, size) = random.pick(&debug);
            let at = start + random.below(size);
            let before = std::mem::replace(&mut file[at], random.bits() as u8);
            for (_, all) in all_arguments(&file) {
                assert!(all.types.len() < file.len());
                for ty in all.arguments.iter().map(|it| it.ty) {
                    assert!(spelled(&all.types, ty).len() < 1 << 22);
                    assert!(resolved(&all.types, ty).len() < 1 << 22);
                }
            }
            if random.below(4) != 0 {
                file[at] = before;
            }
        }
    }
}

/// What llvm-dwarfdump calls the types of parameters and members. It loses what is restricted, cannot tell a vector
/// from an array, and has no words for what has no name.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn types_are_called_what_llvm_dwarfdump_calls_them() {
    for name in TYPES.into_iter().chain(["lines.dwarf5.co", "lines.dwarf4.co"]) {
        let theirs = dumped(&fixture(name));
        let mut compared = 0;
        for (_, all) in all_arguments(&fs::read(fixture(name)).unwrap()) {
            let of_arguments = all.arguments.iter().filter(|it| !it.is_hidden());
            let mut ours: Vec<(String, Option<TypeId>)> =
                of_arguments.map(|it| (it.name.clone().unwrap(), it.ty)).collect();
            for (_, ty) in all.types.iter() {
                let TypeKind::Record { members, .. } = &ty.kind else { continue };
                let named = members.iter().filter_map(|it| Some((it.name.as_deref()?, it.ty)));
                ours.extend(named.map(|(name, ty)| (name.to_owned(), ty)));
            }
            for (variable, ty) in ours {
                let text = spelled(&all.types, ty);
                if text.contains("__restrict") || text.contains("(anonymous ") {
                    continue;
                }
                let known = theirs.get(&variable).unwrap_or_else(|| panic!("{name}: {variable}"));
                assert!(known.contains(&text), "{name}: {variable}: {text} is none of {known:?}");
                compared += 1;
            }
        }
        assert!(compared > if name.starts_with("types") { 140 } else { 15 }, "{name}: {compared}");
    }
}

/// The types of parameters and members by their names.
fn dumped(path: &Path) -> HashMap<String, Vec<String>> {
    let mut command = Command::new("llvm-dwarfdump-22");
    let output = command.args(["--debug-info", "--debug-types"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    let mut name = None;
    let mut ty = None;
    for line in text.lines() {
        if line.contains("DW_TAG_") || line.is_empty() {
            if let (Some(name), Some(ty)) = (name.take(), ty.take()) {
                found.entry(name).or_default().push(ty);
            }
        } else if line.contains("DW_AT_name\t") {
            name = quoted(line);
        } else if line.contains("DW_AT_type\t") {
            ty = quoted(line);
        }
    }
    found
}
