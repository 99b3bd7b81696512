//! The committed header is what cbindgen makes of the sources.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_root_or_default(root);
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/lib.rs"))
        .generate()
        .expect("the sources can be read")
        .write(&mut made);
    let made = without_safety(&String::from_utf8_lossy(&made));
    let path = root.join("include/hsaco.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let committed = std::fs::read(&path).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&committed), made, "run BLESS=1 cargo test -p hsaco-capi");
}

/// The header says at its top what Rust's documentation says under "Safety" of each function, for all of them.
fn without_safety(header: &str) -> String {
    let mut kept = Vec::new();
    let mut is_safety = false;
    for line in header.lines() {
        let is_comment = line.starts_with("//");
        if line == "// # Safety" {
            is_safety = true;
            kept.pop_if(|it| *it == "//");
        }
        is_safety &= is_comment;
        if !is_safety {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}
