//! Kernel arguments: layouts of real libraries, what compilers lay out, hidden arguments, registers at entry.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use hsaco::container::{EntryKind, HashCheck, WalkOptions, entries};
use hsaco::dwarf::{DebugSections, SourceMap};
use hsaco::isa::Processor;
use hsaco::isa::model::RegisterFile;
use hsaco::isa::target::Generation;
use hsaco::kernarg::{
    AbiMarker, Arguments, CompactLayout, Datum, Declaration, Declared, DispatchPacket, EntryState,
    EntryValue, Inference, Launch, NativeLayout, PacketNeeds, Value, ValueType, Wave,
};
use hsaco::object::metadata::{Hidden, ValueKind};
use hsaco::object::{CodeObject, Kernel};
use hsaco_tests::program::{sh, succeed};
use hsaco_tests::random::Random;
use hsaco_tests::{corpus_dir, fixture, fixtures_dir, scratch_dir};

/// The layout of one kernel of a fixture.
fn layout(name: &str, kernel: &str) -> NativeLayout {
    let file = fs::read(fixture(name)).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let kernel = index.kernels().iter().find(|it| it.name() == kernel).unwrap();
    NativeLayout::new(&Declaration::of(kernel).unwrap()).unwrap()
}

/// The hidden arguments of a packed segment by their names.
fn hidden(layout: &NativeLayout, segment: &[u8]) -> BTreeMap<String, u64> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, it| all << 8 | u64::from(*it));
    let fields = layout.unpack_hidden(segment);
    fields.map(|(field, bytes)| (field.name().to_owned(), number(bytes))).collect()
}

/// Case F29.
#[test]
fn hidden_arguments_of_v5_and_v6() {
    for name in ["s1.v5.co", "s1.gfx942.co"] {
        let layout = layout(name, "ind");
        assert_eq!((layout.size(), layout.explicit_size()), (264, 8));
        for (launch, dims) in [
            (Launch::new(&[100, 3], &[32, 1]).unwrap(), 2),
            (Launch::new(&[100, 3, 1], &[32, 1, 1]).unwrap(), 3),
            (
                Launch::new(&[100, 3], &[32, 1]).unwrap().with_hidden(Hidden::GridDims, 3).unwrap(),
                3,
            ),
        ] {
            let mut segment = vec![0xfd; 264];
            layout.pack(&[Value::Pointer(0x1000)], Some(&launch), &mut segment).unwrap();
            let found = hidden(&layout, &segment);
            let of =
                |kind: &str| ["x", "y", "z"].map(|axis| found[&format!("hidden_{kind}_{axis}")]);
            assert_eq!(of("block_count"), [3, 3, 1]);
            assert_eq!(of("group_size"), [32, 1, 1]);
            assert_eq!(of("remainder"), [4, 0, 0]);
            assert_eq!(of("global_offset"), [0, 0, 0]);
            assert_eq!(found["hidden_grid_dims"], dims);
            // Where LLVM's documentation has the fields, counted from behind the pointer.
            assert_eq!(segment[8..12], 3_u32.to_le_bytes());
            assert_eq!(segment[8 + 12..8 + 14], 32_u16.to_le_bytes());
            assert_eq!(segment[8 + 18..8 + 20], 4_u16.to_le_bytes());
            assert_eq!(segment[8 + 64..8 + 66], (dims as u16).to_le_bytes());
        }
    }
}

#[test]
fn grids_of_every_shape_have_their_counts_and_remainders() {
    let layout = layout("s1.v5.co", "ind");
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let dimensions = 1 + random.below(3);
        let grid: Vec<u32> = (0..dimensions).map(|_| 1 + random.bits() as u32 % 100_000).collect();
        let group: Vec<u32> = (0..dimensions).map(|_| 1 + random.bits() as u32 % 1024).collect();
        let launch = Launch::new(&grid, &group).unwrap();
        let mut segment = vec![0xfd; 264];
        layout.pack(&[Value::Pointer(0)], Some(&launch), &mut segment).unwrap();
        let found = hidden(&layout, &segment);
        for (at, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let (grid, group) = grid.get(at).zip(group.get(at)).map_or((1, 1), |(a, b)| (*a, *b));
            let of = |kind: &str| found[&format!("hidden_{kind}_{axis}")];
            let (count, rest) = (of("block_count"), of("remainder"));
            assert_eq!(count * u64::from(group) + rest, u64::from(grid));
            assert!(rest < u64::from(group));
            assert_eq!(of("group_size"), u64::from(group));
        }
        assert_eq!(found["hidden_grid_dims"], dimensions as u64);
    }
}

/// Case F30.
#[test]
fn hidden_arguments_of_v4() {
    let layout = layout("s1.v4.co", "ind");
    assert_eq!((layout.size(), layout.explicit_size()), (64, 8));
    let launch = Launch::new(&[100, 3], &[32, 1]).unwrap();
    let launch = launch.with_hidden(Hidden::MultigridSyncArg, 0xabc).unwrap();
    let launch = launch.with_hidden(Hidden::GlobalOffsetX, 5).unwrap();
    let mut segment = vec![0xfd; 64];
    let report = layout.pack(&[Value::Pointer(0x1000)], Some(&launch), &mut segment).unwrap();
    let mut expected = vec![0; 64];
    expected[1] = 0x10;
    expected[8] = 5;
    expected[56..58].copy_from_slice(&[0xbc, 0x0a]);
    assert_eq!(segment, expected);
    // The others are the caller's to supply.
    let left: Vec<_> = report.names().collect();
    assert!(left.contains(&"hidden_hostcall_buffer"), "{left:?}");
    assert!(!left.contains(&"hidden_global_offset_y"), "{left:?}");
}

/// Case F31.
#[test]
fn what_is_not_supplied_is_named() {
    let layout = layout("s1.v5.co", "ind");
    let mut segment = vec![0xfd; 264];
    let launch = Launch::new(&[1], &[1]).unwrap();
    let left = |launch: Option<&Launch>, segment: &mut [u8]| -> Vec<String> {
        let report = layout.pack(&[Value::Pointer(1)], launch, segment).unwrap();
        report.names().map(str::to_owned).collect()
    };
    let names = left(Some(&launch), &mut segment);
    assert!(names.contains(&"hidden_hostcall_buffer".to_owned()), "{names:?}");
    assert!(names.contains(&"hidden_heap_v1".to_owned()), "{names:?}");
    assert!(!names.iter().any(|it| it.contains("block_count")), "{names:?}");
    assert_eq!(segment[16 + 8..], segment[16 + 8..].to_vec());
    let supplied = launch.clone().with_hidden(Hidden::HostcallBuffer, 0x77).unwrap();
    let fewer = left(Some(&supplied), &mut segment);
    assert_eq!(fewer.len(), names.len() - 1);
    assert_eq!(segment[88], 0x77);
    // Without a launch nothing is known at all, and nothing is left over from before.
    let all = left(None, &mut segment);
    assert_eq!(all.len(), layout.hidden().len());
    assert!(segment[8..].iter().all(|&it| it == 0));
    assert!(launch.with_hidden(Hidden::GridDims, 1 << 16).is_err());
}

/// Case F34.
#[test]
fn a_packet_is_these_bytes() {
    let needs = PacketNeeds {
        static_lds: 0x100,
        lds_limit: 65536,
        private_segment: 0x40,
        kernel_object: 0x7f12_3456_7840,
        kernarg_address: 0x7f00_0000_1230,
        completion_signal: 0x1122_3344_5566_7788,
        ..PacketNeeds::default()
    };
    let launch = Launch::new(&[1000, 5], &[256, 2]).unwrap().with_dynamic_lds(0x200);
    let bytes = DispatchPacket::new(&launch, &needs).unwrap().to_bytes();
    let golden = "0215 0200 0001 0200 0100 0000 e8030000 05000000 01000000 40000000 00030000 \
                  407856341 27f0000 301200000 07f0000 0000000000000000 8877665544332211";
    let text = bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    assert_eq!(text, golden.replace(' ', ""));
    let refused =
        |needs: PacketNeeds| DispatchPacket::new(&launch, &needs).unwrap_err().to_string();
    assert!(refused(PacketNeeds { kernarg_address: 8, ..needs }).contains("no multiple of 16"));
    assert!(refused(PacketNeeds { kernel_object: 0, ..needs }).contains("no multiple of 64"));
    assert!(refused(PacketNeeds { max_workgroup: 511, ..needs }).contains("512 work-items"));
    assert!(refused(PacketNeeds { lds_limit: 0x2ff, ..needs }).contains("LDS"));
    assert!(Launch::of_workgroups(&[1 << 24], &[256]).is_err());
    assert!(Launch::new(&[1], &[65536]).is_err());
    assert!(Launch::new(&[1], &[0]).is_err());
    assert!(Launch::new(&[0], &[1]).is_err());
    assert!(Launch::new(&[1; 4], &[1; 4]).is_err());
}

/// Every kernel of every library of the corpus.
fn each_real_kernel(mut look: impl FnMut(&str, &CodeObject<'_>, &Kernel<'_>)) -> usize {
    let mut files: Vec<_> = ["bitsandbytes", "debian", "triton"]
        .iter()
        .flat_map(|folder| fs::read_dir(corpus_dir().join(folder)).unwrap())
        .map(|it| it.unwrap().path())
        .filter(|it| it.is_file() && it.extension().is_none_or(|it| it != "txt"))
        .collect();
    files.sort();
    let mut count = 0;
    for path in files {
        let name = path.file_name().unwrap().display().to_string();
        let bytes = fs::read(&path).unwrap();
        let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
        for entry in entries(&bytes, &options).map(Result::unwrap) {
            if entry.kind != EntryKind::CodeObject {
                continue;
            }
            let object = CodeObject::parse(&entry.data).unwrap();
            for kernel in object.index().kernels() {
                look(&name, &object, kernel);
                count += 1;
            }
        }
    }
    count
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn layouts_of_real_libraries_are_what_their_metadata_says() {
    let mut random = Random::new(8);
    let (mut compact_count, mut hidden_count) = (0, 0);
    let count = each_real_kernel(|file, object, kernel| {
        let place = || format!("{file}: {} {}", object.target(), kernel.name());
        let declaration = Declaration::of(kernel).unwrap();
        assert_eq!(declaration.remarks, [], "{}", place());
        let layout =
            NativeLayout::new(&declaration).unwrap_or_else(|it| panic!("{}: {it}", place()));
        let declared = declaration.arguments.as_ref().unwrap();
        let ours = layout.parameters().iter().map(|it| (it.offset, it.size));
        let ours: Vec<_> =
            ours.chain(layout.hidden().iter().map(|it| (it.offset, it.size))).collect();
        let theirs: Vec<_> = declared.iter().map(|it| (it.offset as u32, it.size as u32)).collect();
        assert_eq!(ours, theirs, "{}", place());
        let mut end = 0;
        for (offset, size) in ours {
            assert!(offset >= end, "{}", place());
            end = offset + size;
        }
        assert!(end <= layout.size() && u64::from(layout.size()) == declaration.size.unwrap());
        hidden_count += usize::from(!layout.hidden().is_empty());
        native_round_trip(&layout, &mut random);
        if let Ok(compact) = CompactLayout::new(&declaration, Some(AbiMarker::seen())) {
            compact_round_trip(&compact, &layout, &mut random);
            compact_count += 1;
        }
        if let Some(processor) = object.target().id().map(|it| it.processor) {
            let entry = EntryState::new(processor, &kernel.descriptor().unwrap());
            entry.unwrap_or_else(|it| panic!("{}: {it}", place()));
        }
    });
    assert!(count > 100_000, "{count}");
    println!(
        "{count} kernels, {compact_count} of them compact, {hidden_count} with hidden arguments"
    );
}

fn random_bytes(random: &mut Random, size: usize) -> Vec<u8> {
    (0..size).map(|_| random.bits() as u8).collect()
}

/// What is packed comes back, in a segment that was dirty before and is not written behind.
fn native_round_trip(layout: &NativeLayout, random: &mut Random) {
    let values: Vec<_> =
        layout.parameters().iter().map(|it| random_bytes(random, it.size as usize)).collect();
    let given: Vec<_> = values.iter().map(|it| Value::Bytes(it)).collect();
    let launch = Launch::new(&[1 + random.bits() as u32 % 9999], &[64]).unwrap();
    let mut segment = vec![0xfd; layout.size() as usize + 8];
    layout.pack(&given, Some(&launch), &mut segment).unwrap();
    assert_eq!(segment[layout.size() as usize..], [0xfd; 8]);
    let back: Vec<_> = layout.unpack(&segment).unwrap().map(|(_, it)| it.to_vec()).collect();
    assert_eq!(back, values);
    for (field, bytes) in layout.unpack_hidden(&segment) {
        let expected = field.kind.and_then(|kind| launch.hidden_value(kind)).unwrap_or(0);
        let mut expected = expected.to_le_bytes().to_vec();
        expected.resize(field.size as usize, 0);
        assert_eq!(bytes, expected);
    }
    // Values by their types are the same bytes.
    for (parameter, bytes) in layout.unpack(&segment).unwrap() {
        assert_eq!(parameter.ty.encode(&parameter.ty.decode(bytes)).unwrap(), bytes);
    }
    let buffer = layout.prepacked(segment[..layout.required() as usize].into()).unwrap();
    let mut again = vec![0xfd; layout.size() as usize];
    layout.write_prepacked(&buffer, Some(&launch), &mut again).unwrap();
    // Only padding between arguments, which a buffer may fill with anything, could differ.
    assert_eq!(again, segment[..layout.size() as usize]);
}

fn compact_round_trip(compact: &CompactLayout, native: &NativeLayout, random: &mut Random) {
    let bindings: Vec<u64> = compact.bindings().iter().map(|_| random.bits()).collect();
    let constants = random_bytes(random, compact.constant_size() as usize);
    let mut segment = vec![0xfd; compact.segment_size() as usize + 8];
    compact.pack(&bindings, &constants, None, &mut segment).unwrap();
    assert_eq!(segment[compact.segment_size() as usize..], [0xfd; 8]);
    assert_eq!(compact.unpack(&segment).unwrap(), (bindings.clone(), constants.clone()));
    // Both projections fill the same segment.
    let (mut bindings, mut constants) = (bindings.iter(), &constants[..]);
    let mut values = Vec::new();
    for parameter in native.parameters() {
        if parameter.kind == ValueKind::GlobalBuffer {
            values.push(Value::Pointer(*bindings.next().unwrap()));
        } else {
            let (bytes, rest) = constants.split_at(parameter.size as usize);
            values.push(Value::Bytes(bytes));
            constants = rest;
        }
    }
    let mut again = vec![0; native.size() as usize];
    native.pack(&values, None, &mut again).unwrap();
    assert_eq!(again, segment[..again.len()]);
}

#[test]
fn random_layouts_pack_and_unpack_to_the_same() {
    let mut random = Random::new(21);
    let mut compact_count = 0;
    for _ in 0..5000 {
        let mut arguments = Vec::new();
        let mut end = 0_u64;
        for _ in 0..random.below(12) {
            let (kind, size) = match random.below(3) {
                0 => (ValueKind::GlobalBuffer, 8),
                _ => (ValueKind::ByValue, 1 + random.below(40) as u64),
            };
            let alignment = if kind == ValueKind::GlobalBuffer { 8 } else { 1 << random.below(5) };
            end = (end + random.below(3) as u64).next_multiple_of(alignment);
            arguments.push(Declared::new(end, size, kind));
            end += size;
        }
        if random.below(2) == 0 {
            end = end.next_multiple_of(4);
            for &kind in Hidden::ALL.iter().filter(|it| !it.name().contains("block_count")) {
                if random.below(3) == 0 {
                    let size = u64::from(kind.size().unwrap_or(1 + random.below(9) as u32));
                    end += random.below(5) as u64;
                    arguments.push(Declared::new(end, size, ValueKind::Hidden(kind)));
                    end += size;
                }
            }
        }
        let declaration = Declaration::new(end + random.below(16) as u64, arguments);
        let layout = NativeLayout::new(&declaration).unwrap();
        native_round_trip(&layout, &mut random);
        if let Ok(compact) = CompactLayout::new(&declaration, Some(AbiMarker::seen())) {
            compact_round_trip(&compact, &layout, &mut random);
            compact_count += 1;
        }
    }
    assert!(compact_count > 4900, "{compact_count}");
}

/// Declarations of anything at all: errors or layouts that hold their promises.
#[test]
fn declarations_that_make_no_sense_do_no_harm() {
    let mut random = Random::new(22);
    let mut numbers: Vec<u64> = vec![0, 1, 4, 8, 16, 200, u64::from(u32::MAX), u64::MAX, 1 << 32];
    numbers.extend(u64::MAX - 8..u64::MAX);
    let mut made = 0;
    for _ in 0..20_000 {
        let number = |random: &mut Random| match random.below(3) {
            0 => random.pick(&numbers),
            _ => random.below(64) as u64,
        };
        let count = random.below(6);
        let mut arguments = Vec::new();
        for _ in 0..count {
            let kind = match random.below(6) {
                0 => ValueKind::GlobalBuffer,
                1 | 2 => ValueKind::ByValue,
                3 => ValueKind::Other("odd".into()),
                4 => ValueKind::Other("hidden_odd".into()),
                _ => ValueKind::Hidden(random.pick(Hidden::ALL)),
            };
            arguments.push(Declared::new(number(&mut random), number(&mut random), kind));
        }
        let mut declaration = Declaration::new(number(&mut random), arguments);
        declaration.alignment = Some(number(&mut random));
        if let Ok(layout) = NativeLayout::new(&declaration)
            && layout.size() < 1 << 16
        {
            native_round_trip(&layout, &mut random);
            made += 1;
        }
        if let Ok(compact) = CompactLayout::new(&declaration, Some(AbiMarker::seen()))
            && compact.segment_size() < 1 << 16
        {
            let native = NativeLayout::new(&declaration).unwrap();
            compact_round_trip(&compact, &native, &mut random);
        }
    }
    assert!(made > 100, "{made}");
}

/// The next value of a count, as `layouts.cpp` fills types with them.
fn counted(ty: &ValueType, next: &mut i32) -> Datum {
    let mut number = || {
        *next += 1;
        *next
    };
    match ty {
        ValueType::Bool => Datum::Bool(number() & 1 == 1),
        ValueType::Integer { .. } | ValueType::Pointer { .. } => {
            Datum::Integer(i128::from(number()))
        }
        ValueType::Float(_) => Datum::Float(f64::from(number()) + 0.5),
        ValueType::Array { of, count, .. } => {
            Datum::List((0..*count).map(|_| counted(of, next)).collect())
        }
        ValueType::Record(record) => {
            let mut members = Vec::new();
            for member in &record.members {
                let value = match member.bits {
                    Some((_, width)) if member.name.is_some() => {
                        *next += 1;
                        Datum::Integer(i128::from(*next) & ((1 << width) - 1))
                    }
                    Some(_) => continue,
                    None => counted(&member.ty, next),
                };
                match (&member.name, value) {
                    (Some(name), value) => members.push((name.to_string(), value)),
                    (None, Datum::Record(inner)) => members.extend(inner),
                    (None, other) => panic!("{other:?}"),
                }
                if record.is_union {
                    break;
                }
            }
            Datum::Record(members)
        }
        other => panic!("the type is not known: {other}"),
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn packed_bytes_are_those_that_the_host_compiler_lays_out() {
    let folder = scratch_dir();
    for name in ["layouts.h", "layouts.hip", "layouts.cpp", "hip.h"] {
        fs::copy(fixtures_dir().join("src").join(name), folder.path().join(name)).unwrap();
    }
    sh(folder.path(), "clang-22 -x c++ -std=c++17 layouts.cpp -o host");
    let host = succeed(folder.path(), folder.path().join("host").to_str().unwrap(), &[""; 0]);
    let host: BTreeMap<&str, &str> = host.lines().map(|it| it.split_once(' ').unwrap()).collect();
    assert_eq!(host.len(), 30);
    sh(
        folder.path(),
        "clang-22 -x hip -nogpuinc -nogpulib -nostdinc -O1 -g --cuda-device-only --no-gpu-bundle-output \
         --offload-arch=gfx942 -c layouts.hip -o layouts.co",
    );
    let file = fs::read(folder.path().join("layouts.co")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let sections = DebugSections::new(&object, 1 << 24).unwrap();
    let map = SourceMap::new(&sections).unwrap();
    let mut compared = 0;
    for kernel in index.kernels() {
        let name = kernel.name().to_string();
        let debug = Some((&map, &sections));
        let arguments = Arguments::new(&object, &index, kernel, debug, Inference::Off);
        let layout = arguments.native.unwrap();
        let mut next = 0;
        let values: Vec<_> = layout
            .parameters()
            .iter()
            .enumerate()
            .map(|(at, it)| layout.encode(at, &counted(&it.ty, &mut next)).unwrap())
            .collect();
        let names: Vec<_> = layout.parameters().iter().map(|it| it.name.clone().unwrap()).collect();
        // By name, backwards: the order is the layout's.
        let named: Vec<_> =
            names.iter().zip(&values).rev().map(|(name, it)| (&**name, Value::Bytes(it))).collect();
        let mut segment = vec![0xfd; layout.size() as usize];
        layout.pack_named(&named, None, &mut segment).unwrap();
        let ours =
            segment[..layout.required() as usize].iter().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").unwrap();
                text
            });
        let theirs = host[&name[..]];
        assert_eq!(ours, theirs[..ours.len()], "{name}");
        // What the structure has behind the last argument is padding.
        assert!(theirs[ours.len()..].bytes().all(|it| it == b'0'), "{name}: {theirs}");
        compared += 1;
    }
    assert_eq!(compared, 30);
}

const REGISTERS: &str = include_str!("fixtures/src/registers.ll");

/// What llc calls the values of registers at entry.
fn llvm_value(key: &str) -> Option<EntryValue> {
    Some(match key {
        "privateSegmentBuffer" => EntryValue::PrivateSegmentBuffer,
        "dispatchPtr" => EntryValue::DispatchPtr,
        "queuePtr" => EntryValue::QueuePtr,
        "kernargSegmentPtr" => EntryValue::KernargSegmentPtr,
        "dispatchID" => EntryValue::DispatchId,
        "flatScratchInit" => EntryValue::FlatScratchInit,
        "privateSegmentSize" => EntryValue::PrivateSegmentSize,
        "firstKernArgPreloadReg" => EntryValue::PreloadedKernargs,
        "workGroupIDX" => EntryValue::WorkgroupId(0),
        "workGroupIDY" => EntryValue::WorkgroupId(1),
        "workGroupIDZ" => EntryValue::WorkgroupId(2),
        "workGroupInfo" => EntryValue::WorkgroupInfo,
        "privateSegmentWaveByteOffset" => EntryValue::PrivateSegmentWaveOffset,
        "workItemIDX" => EntryValue::WorkitemId(0),
        "workItemIDY" => EntryValue::WorkitemId(1),
        "workItemIDZ" => EntryValue::WorkitemId(2),
        _ => return None,
    })
}

/// A value, the register that holds it, and which of its bits.
type Held = (EntryValue, String, Option<u32>);

/// The first register and the mask of each value, by kernel, of llc's machine code before registers are chosen.
fn llvm_registers(mir: &str) -> BTreeMap<String, Vec<Held>> {
    let mut found: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let (mut kernel, mut inside) = (String::new(), false);
    for line in mir.lines() {
        if let Some(name) = line.strip_prefix("name:") {
            kernel = name.trim().to_owned();
            found.entry(kernel.clone()).or_default();
        }
        if line.trim() == "argumentInfo:" {
            inside = true;
            continue;
        }
        inside &= line.starts_with("    ");
        if !inside {
            continue;
        }
        let (key, value) = line.trim().split_once(':').unwrap();
        let value_of = |what: &str| {
            let (_, rest) = value.split_once(what)?;
            Some(rest.trim_matches([' ', '\'', '}']).split([',', '\'', ' ']).next()?.to_owned())
        };
        let register = value_of("reg: '$").unwrap();
        let first = register.split('_').next().unwrap();
        let short = first.replace("sgpr", "s").replace("vgpr", "v");
        let mask = value_of("mask:").map(|it| it.trim().parse().unwrap());
        let holds = llvm_value(key).unwrap_or_else(|| panic!("{line}"));
        found.get_mut(&kernel).unwrap().push((holds, short, mask));
    }
    found
}

/// The same of a descriptor.
fn our_registers(entry: &EntryState) -> Vec<Held> {
    let row = |it: &hsaco::kernarg::EntryRegister| {
        let file = match it.register.file {
            RegisterFile::Sgpr => "s",
            RegisterFile::Vgpr => "v",
            _ => "ttmp",
        };
        let mask = it.bits.map(|(low, width)| ((1_u32 << width) - 1) << low);
        (it.holds, format!("{file}{}", it.register.first), mask)
    };
    entry.registers().iter().map(row).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn registers_at_entry_are_those_that_llvm_reads() {
    let folder = scratch_dir();
    fs::write(folder.path().join("registers.ll"), REGISTERS).unwrap();
    let mut compared = 0;
    for processor in Processor::all() {
        let llc = |arguments: &str| {
            let line = format!(
                "llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu={processor} registers.ll {arguments}"
            );
            sh(folder.path(), &line)
        };
        let mir = llvm_registers(&llc("-stop-after=finalize-isel -o -"));
        llc("-filetype=obj -o registers.o");
        let file = fs::read(folder.path().join("registers.o")).unwrap();
        compared += compare_registers(processor, &mir, &CodeObject::parse(&file).unwrap());
        if processor.generation() >= Generation::Gfx12 {
            check_trap_registers(folder.path(), processor);
        }
    }
    assert!(compared > 3000, "{compared}");
}

fn compare_registers(
    processor: Processor,
    mir: &BTreeMap<String, Vec<Held>>,
    object: &CodeObject<'_>,
) -> usize {
    let mut compared = 0;
    for kernel in object.index().kernels() {
        let name = kernel.name().to_string();
        let entry = EntryState::new(processor, &kernel.descriptor().unwrap());
        let entry = entry.unwrap_or_else(|it| panic!("{processor} {name}: {it}"));
        let mut ours = our_registers(&entry);
        // Registers of the trap handler are not in llc's list.
        ours.retain(|it| !it.1.starts_with("ttmp"));
        let mut theirs = mir[&name].clone();
        // The last register is kept for the offset of scratch until it is known that there is no scratch.
        let no_scratch = ours.iter().all(|it| it.0 != EntryValue::PrivateSegmentWaveOffset);
        theirs.retain(|it| it.0 != EntryValue::PrivateSegmentWaveOffset || !no_scratch);
        // The first work-item number is there whether it is read or not.
        let is_read = |it: &Held| {
            it.0 != EntryValue::WorkitemId(0) || theirs.iter().any(|other| other.0 == it.0)
        };
        ours.retain(is_read);
        let order = |it: &Held| it.0.name();
        ours.sort_by_key(order);
        theirs.sort_by_key(order);
        assert_eq!(ours, theirs, "{processor} {name}");
        compared += ours.len();
    }
    compared
}

/// From gfx12 on llc reads numbers of workgroups from registers of the trap handler.
fn check_trap_registers(folder: &Path, processor: Processor) {
    let kernel = |function: &str| {
        let reads = format!("declare i32 @llvm.amdgcn.{function}()\n");
        reads
            + "define amdgpu_kernel void @k(ptr addrspace(1) %out) {\n"
            + &format!("  %r = call i32 @llvm.amdgcn.{function}()\n")
            + "  store i32 %r, ptr addrspace(1) %out\n  ret void\n}\n"
    };
    let mut expected = vec![
        ("workgroup.id.x", "ttmp9"),
        ("workgroup.id.y", "ttmp7"),
        ("workgroup.id.z", "ttmp7, 16"),
        ("wave.id", "ttmp8, 0x50019"),
    ];
    if processor.generation() == Generation::Gfx125 {
        expected.extend([
            ("cluster.workgroup.id.x", "ttmp6, 15"),
            ("cluster.workgroup.id.y", "ttmp6, 0x40004"),
            ("cluster.workgroup.id.z", "ttmp6, 0x40008"),
            ("cluster.workgroup.max.id.x", "ttmp6, 0x4000c"),
            ("cluster.workgroup.max.id.y", "ttmp6, 0x40010"),
            ("cluster.workgroup.max.id.z", "ttmp6, 0x40014"),
            ("cluster.workgroup.max.flat.id", "ttmp6, 0x40018"),
        ]);
    }
    for (function, field) in expected {
        fs::write(folder.join("trap.ll"), kernel(function)).unwrap();
        let line = format!("llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu={processor} trap.ll -o -");
        assert!(sh(folder, &line).contains(field), "{processor} {function}");
    }
}

/// The values of one wave: what the launch says, in the registers that the descriptor says.
#[test]
fn a_wave_begins_with_these_values() {
    let file = fs::read(fixture("s1.gfx1250.co")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let kernel = index.kernels().iter().find(|it| it.name() == "foo").unwrap();
    let processor = object.target().id().unwrap().processor;
    let entry = EntryState::new(processor, &kernel.descriptor().unwrap()).unwrap();
    let launch = Launch::new(&[256, 8, 8], &[32, 2, 2]).unwrap();
    let kernarg = [7; 24];
    let wave = Wave {
        workgroup: [5, 2, 3],
        wave: 1,
        cluster: [2, 1, 1],
        kernarg_address: Some(0x1_2345_6780),
        ..Wave::first(&launch, &kernarg)
    };
    let values: BTreeMap<String, Option<u32>> = entry
        .scalar_values(&wave)
        .into_iter()
        .map(|(register, it)| (register.to_string(), it))
        .collect();
    let pointer = entry.registers().iter().find(|it| it.holds == EntryValue::KernargSegmentPtr);
    let first = pointer.unwrap().register.first;
    assert_eq!(values[&format!("s{first}")], Some(0x2345_6780));
    assert_eq!(values[&format!("s{}", first + 1)], Some(1));
    assert_eq!(values["ttmp9"], Some(2), "the cluster's number");
    assert_eq!(values["ttmp8"], Some(1 << 25));
    assert_eq!(values["ttmp6"], Some(1 | 1 << 12 | 1 << 24));
}
