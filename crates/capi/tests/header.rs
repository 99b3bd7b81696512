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
    let path = root.join("include/hsaco.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let committed = std::fs::read(&path).unwrap_or_default();
    assert_eq!(
        String::from_utf8_lossy(&committed),
        String::from_utf8_lossy(&made),
        "run BLESS=1 cargo test -p hsaco-capi"
    );
}
