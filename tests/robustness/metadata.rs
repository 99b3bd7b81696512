//! Metadata that breaks a rule: each document stands in the note of an otherwise empty object.

use hsaco::object::CodeObject;
use hsaco::object::msgpack::Value;

/// MessagePack, as small as the tests need it.
mod pack {
    pub(super) fn text(text: &str) -> Vec<u8> {
        [&[0xd9, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    pub(super) fn array(items: &[Vec<u8>]) -> Vec<u8> {
        [vec![0xdc, 0, u8::try_from(items.len()).unwrap()], items.concat()].concat()
    }

    pub(super) fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let entries: Vec<_> =
            entries.iter().map(|(key, value)| [text(key), value.clone()].concat()).collect();
        [vec![0xde, 0, u8::try_from(entries.len()).unwrap()], entries.concat()].concat()
    }

    /// An integer below 2^32.
    pub(super) fn number(value: u32) -> Vec<u8> {
        [vec![0xce], value.to_be_bytes().to_vec()].concat()
    }
}

use pack::{array, map, number, text};

/// Where the content of the note begins in [`object`].
const CONTENT: u64 = 64 + 56 + 12 + 8;

/// A code object of nothing but one note.
fn object(content: &[u8]) -> Vec<u8> {
    let note_size = 12 + 8 + content.len() as u64;
    let mut bytes = vec![0; 64 + 56];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"\x7fELF\x02\x01\x01\x40\x04");
    put(16, &[3, 0, 224, 0, 1, 0, 0, 0]);
    put(32, &64u64.to_le_bytes());
    put(48, &0x54cu32.to_le_bytes());
    put(52, &[64, 0, 56, 0, 1, 0, 64, 0]);
    put(64, &[4, 0, 0, 0, 4, 0, 0, 0]);
    put(64 + 8, &120u64.to_le_bytes());
    put(64 + 32, &note_size.to_le_bytes());
    put(64 + 40, &note_size.to_le_bytes());
    put(64 + 48, &4u64.to_le_bytes());
    bytes.extend(7u32.to_le_bytes());
    bytes.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
    bytes.extend(32u32.to_le_bytes());
    bytes.extend(b"AMDGPU\0\0");
    bytes.extend(content);
    bytes
}

fn document(kernels: &[Vec<u8>]) -> Vec<u8> {
    map(&[("amdhsa.version", array(&[number(1), number(2)])), ("amdhsa.kernels", array(kernels))])
}

fn kernel(more: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let named = [(".name", text("k")), (".symbol", text("k.kd"))];
    map(&[&named, more].concat())
}

/// What the whole note gives: its problems, the kernels, and what reading each of them gives.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    problems: Vec<String>,
    kernels: Vec<String>,
    kernel_errors: Vec<String>,
}

fn examine(content: &[u8]) -> Findings {
    let bytes = object(content);
    let object = CodeObject::parse(&bytes).unwrap();
    assert_eq!(object.problems(), []);
    let index = object.index();
    let mut findings = Findings {
        problems: index.problems().iter().map(ToString::to_string).collect(),
        ..Findings::default()
    };
    for kernel in index.kernels() {
        findings.kernels.push(kernel.name().to_string());
        let errors = match kernel.metadata().unwrap().decode() {
            Ok(said) => said.arguments().into_iter().flatten().filter_map(Result::err).collect(),
            Err(error) => vec![error],
        };
        findings.kernel_errors.extend(errors.iter().map(ToString::to_string));
    }
    findings
}

/// A document that is refused as a whole, or from some place on.
#[track_caller]
fn check_refused(content: &[u8], problem: &str, at: u64) {
    let findings = examine(content);
    assert_eq!(findings.problems, [format!("{problem} (at offset {:#x})", CONTENT + at)]);
}

/// A kernel that is listed, and has one mistake when it is read.
#[track_caller]
fn check_kernel(more: &[(&'static str, Vec<u8>)], error: &str) {
    let findings = examine(&document(&[kernel(more)]));
    assert_eq!(
        (findings.problems.len(), findings.kernels.as_slice()),
        (0, ["k".to_owned()].as_slice())
    );
    let [found] = findings.kernel_errors.as_slice() else { panic!("{findings:?}") };
    assert!(found.starts_with(error) && found.contains(" (at offset 0x"), "{found}");
}

#[test]
fn a_good_document() {
    let findings = examine(&document(&[kernel(&[])]));
    assert_eq!(findings, Findings { kernels: vec!["k".to_owned()], ..Findings::default() });
}

/// The index passes over what is too deep; reading it is refused.
#[test]
fn containers_64_deep_and_no_deeper() {
    let deep = |depth: usize| {
        let nested = [vec![0x91; depth - 2], vec![0x90]].concat();
        [vec![0x81], text("deep"), nested].concat()
    };
    assert!(Value::parse(&deep(64)).is_ok());
    for depth in [64, 65, 1_000_000] {
        assert_eq!(examine(&deep(depth)), Findings::default());
    }
    for depth in [65, 1_000_000] {
        let error = Value::parse(&deep(depth)).unwrap_err();
        let expected = "limit exceeded: MessagePack: nested deeper than 64 levels (at offset 0x47)";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn keys_that_stand_twice() {
    let twice = map(&[("amdhsa.printf", array(&[])), ("amdhsa.printf", array(&[]))]);
    let second = 3 + 15 + 3;
    check_refused(&twice, "malformed: metadata: key 'amdhsa.printf' twice", second);
    check_kernel(
        &[(".sgpr_count", number(1)), (".sgpr_count", number(2))],
        "malformed: metadata: key '.sgpr_count' twice",
    );
    check_kernel(
        &[("vendor.key", number(1)), ("vendor.key", number(2))],
        "malformed: metadata: key 'vendor.key' twice",
    );
    let argument = map(&[
        (".offset", number(0)),
        (".size", number(8)),
        (".value_kind", text("by_value")),
        (".offset", number(8)),
    ]);
    check_kernel(&[(".args", array(&[argument]))], "malformed: metadata: key '.offset' twice");
}

#[test]
fn keys_that_are_no_strings() {
    for key in [array(&[]), map(&[]), number(1)] {
        let findings = examine(&[vec![0x81], key, number(2)].concat());
        let [problem] = findings.problems.as_slice() else { panic!("{findings:?}") };
        assert!(problem.starts_with("malformed: MessagePack: "), "{problem}");
        assert!(problem.contains("key"), "{problem}");
    }
}

#[test]
fn bytes_after_the_end() {
    let mut content = document(&[kernel(&[])]);
    let end = content.len() as u64;
    content.push(0xc0);
    check_refused(&content, "malformed: MessagePack: 1 bytes after the end of the document", end);
    assert_eq!(examine(&content).kernels, ["k"]);
}

#[test]
fn roots_and_kernels_of_the_wrong_kind() {
    check_refused(&array(&[]), "malformed: metadata: the root is not a map", 0);
    let kernels = map(&[("amdhsa.kernels", number(1))]);
    check_refused(&kernels, "malformed: metadata: amdhsa.kernels is not an array", 3 + 16);
    let mixed = document(&[number(1), kernel(&[])]);
    let findings = examine(&mixed);
    assert_eq!(
        (findings.problems.len(), findings.kernels.as_slice()),
        (1, ["k".to_owned()].as_slice())
    );
    assert!(findings.problems[0].starts_with("malformed: metadata: a kernel is not a map"));
}

/// Not said is not the same as none.
#[test]
fn a_kernel_without_arguments_said() {
    let bytes = object(&document(&[kernel(&[]), kernel(&[(".args", array(&[]))])]));
    let parsed = CodeObject::parse(&bytes).unwrap();
    let metadata = parsed.metadata();
    let counts: Vec<_> = metadata
        .kernels()
        .iter()
        .map(|it| it.decode().unwrap().arguments().map(Iterator::count))
        .collect();
    assert_eq!(counts, [None, Some(0)]);
}

#[test]
fn values_out_of_range() {
    check_kernel(
        &[(".uniform_work_group_size", number(2))],
        "malformed: metadata: .uniform_work_group_size is ",
    );
    for dims in [vec![1, 1], vec![0, 1, 1], vec![1, 256, 1], vec![1, 1, 1, 1]] {
        let dims: Vec<_> = dims.into_iter().map(number).collect();
        check_kernel(&[(".cluster_dims", array(&dims))], "malformed: metadata: .cluster_dims is ");
    }
    let dims = [2, 255, 1].map(number);
    let fine = examine(&document(&[kernel(&[(".cluster_dims", array(&dims))])]));
    assert_eq!((fine.problems.len(), fine.kernel_errors.len()), (0, 0));
    check_kernel(&[(".vgpr_count", vec![0xff])], "malformed: metadata: .vgpr_count is ");
    check_kernel(&[(".args", number(1))], "malformed: metadata: .args is ");
}

#[test]
fn arguments_that_lack_something() {
    let whole = [(".offset", number(0)), (".size", number(8)), (".value_kind", text("by_value"))];
    for missing in 0..whole.len() {
        let mut keys = whole.to_vec();
        let (key, _) = keys.remove(missing);
        let error = format!("malformed: metadata: an argument has no {key}");
        check_kernel(&[(".args", array(&[map(&keys)]))], &error);
    }
    check_kernel(&[(".args", array(&[number(1)]))], "malformed: metadata: an argument is ");
}

/// What is unknown is kept.
#[test]
fn unknown_keys_and_kinds() {
    let argument = map(&[
        (".offset", number(0)),
        (".size", number(8)),
        (".value_kind", text("hidden_from_the_future")),
        (".vendor", number(1)),
    ]);
    let bytes = object(&document(&[kernel(&[(".args", array(&[argument])), ("x.y", number(3))])]));
    let parsed = CodeObject::parse(&bytes).unwrap();
    assert_eq!(parsed.index().problems(), []);
    let said = parsed.metadata().kernels()[0].decode().unwrap();
    assert_eq!(said.unknown.iter().map(|it| it.key.to_string()).collect::<Vec<_>>(), ["x.y"]);
    let argument = said.arguments().unwrap().next().unwrap().unwrap();
    assert_eq!(argument.value_kind.name(), "hidden_from_the_future");
    assert_eq!(argument.unknown.len(), 1);
}
