//! `to_yaml` against what `llvm-readelf --notes` prints of the same document.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod llvm;
#[path = "../../../tests/src/random.rs"]
mod random;

use std::fmt::Write as _;

use hsaco_bytes::Str;
use hsaco_object::yaml::{Node, to_yaml};
use llvm::{Scratch, run, tools};
use random::Random;
use rmpv::Value;

const TOOLS: &[&str] = &["yaml2obj-22", "llvm-readelf-22"];

/// Strings near every border of the quoting and tagging rules.
const STRINGS: &[&str] = &[
    "",
    "1",
    "-1",
    "+1",
    "0",
    "00",
    "007",
    "08",
    "0x",
    "0x10",
    "0X1F",
    "0xg",
    "0b101",
    "0b2",
    "0B1",
    "0o17",
    "0O17",
    "0o8",
    "-0x10",
    "1.",
    ".5",
    ".",
    "..",
    "-.5",
    "+.",
    "1e5",
    "1e",
    "1e+",
    "1e+5",
    "1.e5",
    ".e5",
    "e5",
    "1.5.2",
    "0x1p3",
    "0x1p",
    "0x.8p1",
    "0x.p1",
    "0x1.8",
    "-0X1P-3",
    "inf",
    "-inf",
    "INFINITY",
    "infinit",
    ".inf",
    "-.INF",
    "+.Inf",
    ".nan",
    ".NaN",
    "nan",
    "-nan",
    "nan(1a_)",
    "nan(",
    "nan(-)",
    "NaN",
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "False",
    "FALSE",
    "yes",
    "no",
    "y",
    "n",
    "on",
    "null",
    "Null",
    "NULL",
    "nULL",
    "~",
    "~a",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "9223372036854775808",
    "-0",
    "--1",
    "1 ",
    " 1",
    "\t1",
    "\n1",
    "1\n",
    "\u{b}1",
    "1\0",
    "\0",
    "1\0x",
    "x\0",
    " ",
    "\t",
    "a b",
    " a",
    "a ",
    "a\tb",
    "\ta",
    "a\nb",
    "a\rb",
    "it's",
    "'",
    "''",
    "\"",
    "a\"b",
    "\\",
    "a\\b",
    "a/b",
    "a:b",
    "a: b",
    ":",
    "a#b",
    "#a",
    "-",
    "-a",
    "?",
    "?a",
    ",",
    ",a",
    "a,b",
    "[",
    "]",
    "{",
    "}",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%",
    "@a",
    "`",
    "a`b",
    "a=b",
    "a+b",
    "a*b",
    "(a)",
    "a<b>",
    "a;b",
    "a$b",
    "^",
    "_",
    "a.b",
    "\u{1}",
    "\u{7}",
    "\u{8}",
    "\u{b}",
    "\u{c}",
    "\u{1b}[0m",
    "\u{1f}",
    "\u{7f}",
    "a\u{7f}\"",
    "é",
    "\u{85}",
    "\u{a0}",
    "\u{ad}",
    "\u{378}",
    "\u{200b}",
    "\u{2028}",
    "\u{2029}",
    "\u{e000}",
    "\u{fdd0}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{1f600}",
    "\u{10ffff}",
    "日本語",
    "a\u{301}",
    "_Z3addPfS_",
    "vector_add.kd",
    "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
    "unsigned int*",
    "OpenCL C",
    "1:1:4:%d\\n",
    "float const* __restrict__",
];

/// Strings that are not UTF-8.
const BROKEN: &[&[u8]] =
    &[b"\xff", b"a\xffb", b"caf\xe9", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"];

const FLOATS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    1.5,
    -2.25,
    0.1,
    1e-5,
    1e5,
    1e15,
    1e16,
    1e100,
    1e-100,
    1e300,
    5e-324,
    1048576.5,
    1048577.5,
    999999.95,
    9999999.5,
    0.000_099_999_95,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The document as MessagePack holds it.
fn pack(node: &Node<'_>) -> Value {
    match node {
        Node::Nil => Value::Nil,
        Node::Bool(value) => Value::Boolean(*value),
        Node::Int(value) => Value::from(*value),
        Node::UInt(value) => Value::from(*value),
        Node::Float(value) => Value::F64(*value),
        Node::Str(text) => Value::from(std::str::from_utf8(text.as_bytes()).unwrap()),
        Node::Binary(bytes) => Value::Binary(bytes.to_vec()),
        Node::Array(elements) => Value::Array(elements.iter().map(pack).collect()),
        Node::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (pack(key), pack(value))).collect())
        }
    }
}

fn encode(node: &Node<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &pack(node)).unwrap();
    bytes
}

/// An object with one note section per document.
fn object(documents: &[Vec<u8>]) -> String {
    let mut yaml = String::from(
        "--- !ELF\nFileHeader:\n  Class: ELFCLASS64\n  Data: ELFDATA2LSB\n  \
         OSABI: ELFOSABI_AMDGPU_HSA\n  ABIVersion: 3\n  Type: ET_DYN\n  Machine: EM_AMDGPU\n  \
         Flags: [ EF_AMDGPU_MACH_AMDGCN_GFX942 ]\nSections:\n",
    );
    for (index, document) in documents.iter().enumerate() {
        let hex: String = document.iter().map(|byte| format!("{byte:02X}")).collect();
        writeln!(
            yaml,
            "  - Name: .note{index}\n    Type: SHT_NOTE\n    AddressAlign: 4\n    Notes:\n      \
             - Name: AMDGPU\n        Type: 32\n        Desc: '{hex}'"
        )
        .unwrap();
    }
    yaml
}

/// What the tool prints of each document.
fn readelf(scratch: &Scratch, documents: &[Vec<u8>]) -> Vec<String> {
    let source = scratch.write("notes.yaml", object(documents).as_bytes());
    let object = scratch.path("notes.o");
    run("yaml2obj-22", &[source.as_os_str(), "-o".as_ref(), object.as_os_str()]);
    let text = run("llvm-readelf-22", &["--notes".as_ref(), object.as_os_str()]);
    let start = "    AMDGPU Metadata:\n        ";
    let printed: Vec<_> = text
        .split(start)
        .skip(1)
        .map(|rest| {
            let end = rest.find("\n...\n").expect("the end of a document") + 5;
            rest[..end].to_owned()
        })
        .collect();
    assert_eq!(printed.len(), documents.len(), "documents printed");
    printed
}

/// Compares documents, all in one object.
fn compare(scratch: &Scratch, documents: &[Node<'_>]) {
    let encoded: Vec<_> = documents.iter().map(encode).collect();
    for (document, expected) in documents.iter().zip(readelf(scratch, &encoded)) {
        assert_eq!(to_yaml(document), expected, "{document:?}");
    }
}

/// Puts a value into a document with the keys that one of the HSA kind must have.
fn root(body: Node<'_>) -> Node<'_> {
    Node::Map(vec![
        (text("amdhsa.version"), Node::Array(vec![Node::UInt(1), Node::UInt(2)])),
        (text("amdhsa.kernels"), Node::Array(vec![])),
        (text("body"), body),
    ])
}

fn text(text: &str) -> Node<'_> {
    Node::Str(text.into())
}

fn random_string(random: &mut Random) -> &'static str {
    STRINGS[random.below(STRINGS.len())]
}

fn random_scalar(random: &mut Random) -> Node<'static> {
    match random.below(10) {
        0 => Node::Nil,
        1 => Node::Bool(random.below(2) == 0),
        2 => Node::Int(-(i64::try_from(random.bits() >> 1 >> random.below(64)).unwrap()) - 1),
        3 | 4 => Node::UInt(random.bits() >> random.below(64)),
        5 => Node::Float(FLOATS[random.below(FLOATS.len())]),
        6 => Node::Float(f64::from_bits(random.bits())),
        _ => text(random_string(random)),
    }
}

fn random_node(random: &mut Random, depth: usize) -> Node<'static> {
    if depth == 0 {
        return random_scalar(random);
    }
    match random.below(3) {
        0 => Node::Array((0..random.below(4)).map(|_| random_node(random, depth - 1)).collect()),
        1 => random_map(random, depth),
        _ => random_scalar(random),
    }
}

/// A map with keys of every kind, no two of them equal.
fn random_map(random: &mut Random, depth: usize) -> Node<'static> {
    let mut entries: Vec<(Node<'_>, Node<'_>)> = Vec::new();
    for _ in 0..random.below(5) {
        let key = random_scalar(random);
        let is_nan = matches!(key, Node::Float(value) if value.is_nan());
        if !is_nan && entries.iter().all(|(other, _)| *other != key) {
            entries.push((key, random_node(random, depth - 1)));
        }
    }
    Node::Map(entries)
}

#[test]
fn strings_and_numbers() {
    let Some(scratch) = tools(TOOLS, "yaml-scalars") else { return };
    let strings = STRINGS.iter().map(|it| text(it)).collect();
    let floats = FLOATS.iter().map(|&it| Node::Float(it)).collect();
    let integers = [0, 1, 127, 128, u64::MAX].map(Node::UInt).into_iter();
    let integers = integers.chain([-1, -32, -33, i64::MIN].map(Node::Int)).collect();
    let keys = STRINGS.iter().map(|it| (text(it), Node::Nil)).collect();
    compare(
        &scratch,
        &[Node::Array(strings), Node::Array(floats), Node::Array(integers), Node::Map(keys)]
            .map(root),
    );
}

#[test]
fn strings_that_are_not_utf8() {
    let Some(scratch) = tools(TOOLS, "yaml-broken") else { return };
    let documents: Vec<_> = BROKEN.iter().map(|bytes| root(Node::Str(Str::new(bytes)))).collect();
    let encoded: Vec<_> = BROKEN
        .iter()
        .map(|bytes| {
            let mut document = encode(&root(text("")));
            assert_eq!(document.pop(), Some(0xa0), "an empty string");
            document.push(0xa0 | u8::try_from(bytes.len()).unwrap());
            document.extend_from_slice(bytes);
            document
        })
        .collect();
    for (document, expected) in documents.iter().zip(readelf(&scratch, &encoded)) {
        assert_eq!(to_yaml(document), expected);
    }
}

#[test]
fn random_documents() {
    let Some(scratch) = tools(TOOLS, "yaml-random") else { return };
    let mut random = Random::new(42);
    for _ in 0..8 {
        let documents: Vec<_> = (0..100).map(|_| root(random_node(&mut random, 5))).collect();
        compare(&scratch, &documents);
    }
}

/// The tool prints any container, and leaves alone what has no `amdhsa.` in it.
#[test]
fn random_roots() {
    let Some(scratch) = tools(TOOLS, "yaml-roots") else { return };
    let mut random = Random::new(43);
    let is_container = |node: &Node<'_>| matches!(node, Node::Array(_) | Node::Map(_));
    let nodes = std::iter::repeat_with(|| random_node(&mut random, 4));
    let is_clean = |node: &Node<'_>| !to_yaml(node).contains("amdhsa.");
    let documents: Vec<_> = nodes.filter(is_container).filter(is_clean).take(200).collect();
    compare(&scratch, &documents);
}

/// The table of unprintable characters is what the tool says of every one.
#[test]
fn every_character() {
    let Some(scratch) = tools(TOOLS, "yaml-characters") else { return };
    let characters: Vec<String> = ('\u{80}'..=char::MAX).map(String::from).collect();
    let lists = characters
        .chunks(40_000)
        .map(|chunk| Node::Array(chunk.iter().map(|it| text(it)).collect()));
    compare(&scratch, &lists.map(root).collect::<Vec<_>>());
}
