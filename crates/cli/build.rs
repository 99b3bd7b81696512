//! How the command is linked.

/// At a fixed address, where that is known to work: to relocate some ten thousand pointers takes a tenth of the time of a
/// short run. What reads files is safe Rust, which addresses that are known do not help to attack.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let target = ["OS", "ENV", "ARCH"].map(target);
    if target == ["linux", "gnu", "x86_64"] {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
