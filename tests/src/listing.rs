//! The JSON of `hsaco ls`: read, held to its documented shape, and asked.
#![allow(clippy::panic, reason = "test helpers: failing the test is the point")]

use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use crate::program::{Ran, hsaco};

const FILE_KEYS: &[&str] = &["container", "error", "objects", "other_entries", "path"];
const OBJECT_KEYS: &[&str] = &[
    "abi_version",
    "code_object_version",
    "entry_id",
    "functions",
    "index",
    "kernels",
    "offset",
    "size",
    "target",
    "type",
    "variables",
];
const KERNEL_KEYS: &[&str] = &[
    "agprs",
    "code_size",
    "demangled",
    "descriptor",
    "entry",
    "kernarg_size",
    "lds",
    "max_workgroup_size",
    "name",
    "scratch",
    "sgprs",
    "symbol",
    "vgprs",
    "wavefront_size",
];
const FUNCTION_KEYS: &[&str] = &["address", "demangled", "name", "size"];
const VARIABLE_KEYS: &[&str] = &["address", "name", "size"];

/// Lists files that nothing is wrong with: their answers, in order.
///
/// # Panics
/// Panics when `hsaco` complains, or when its JSON has another shape than documented.
pub fn files(folder: &Path, names: &[String]) -> Vec<Value> {
    let paths = names.iter().map(|name| folder.join(name).into_os_string());
    let arguments = ["ls", "--format", "json"].map(OsString::from);
    let ran = hsaco(arguments.into_iter().chain(paths));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let files = parse(&ran);
    assert_eq!(files.len(), names.len());
    files
}

/// The one object of a file that nothing is wrong with.
///
/// # Panics
/// Panics as [`files`] does, and when there is not exactly one object.
pub fn object(file: &Path) -> Value {
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let files = files(folder, &[name.unwrap_or_default()]);
    match files.first().map(|file| array(file, "objects")) {
        Some([object]) => object.clone(),
        other => panic!("not one object: {other:?}"),
    }
}

/// The files of an answer of `hsaco ls --format json`, each of the documented shape.
///
/// # Panics
/// Panics when the shape is another.
pub fn parse(ran: &Ran) -> Vec<Value> {
    let answer: Value = match serde_json::from_slice(&ran.stdout) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&ran.stdout)),
    };
    assert_eq!(keys(&answer), ["files", "schema_version"]);
    assert_eq!(answer.get("schema_version"), Some(&Value::from(1)));
    let files = array(&answer, "files").to_vec();
    files.iter().for_each(check_file);
    files
}

fn check_file(file: &Value) {
    assert_eq!(keys(file), FILE_KEYS);
    for object in array(file, "objects") {
        // Where it is in a package, if it is in one.
        let own: Vec<_> = keys(object).into_iter().filter(|it| *it != "member").collect();
        assert_eq!(own, OBJECT_KEYS);
        let rows =
            [("kernels", KERNEL_KEYS), ("functions", FUNCTION_KEYS), ("variables", VARIABLE_KEYS)];
        for (rows, expected) in rows {
            for row in array(object, rows) {
                assert_eq!(keys(row), expected);
            }
        }
    }
}

/// The keys of a map, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().into_iter().flatten().map(|(key, _)| &**key).collect();
    keys.sort_unstable();
    keys
}

/// The array under a key.
///
/// # Panics
/// Panics when there is none.
pub fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    match value.get(key).and_then(Value::as_array) {
        Some(array) => array,
        None => panic!("no array {key} in {value}"),
    }
}

/// The text under a key.
///
/// # Panics
/// Panics when there is none.
pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    match value.get(key).and_then(Value::as_str) {
        Some(text) => text,
        None => panic!("no text {key} in {value}"),
    }
}

/// The number under a key, `None` when it is null.
///
/// # Panics
/// Panics when there is neither a number nor null.
pub fn number(value: &Value, key: &str) -> Option<u64> {
    match value.get(key) {
        Some(Value::Null) => None,
        Some(Value::Number(number)) => number.as_u64(),
        _ => panic!("no number {key} in {value}"),
    }
}

/// The names in a list of rows, sorted.
pub fn names(value: &Value, key: &str) -> Vec<String> {
    let mut names: Vec<_> =
        array(value, key).iter().map(|row| text(row, "name").to_owned()).collect();
    names.sort();
    names
}
