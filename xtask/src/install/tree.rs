//! What an installation holds, and where. The tests of the C API include this file, and install what they were built with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The version of the library's interface: the number in its soname and of its symbols, `HSACO_1`. It changes when a
/// function or structure of `hsaco.h` does so that programs must be compiled again.
const INTERFACE: &str = "1";

/// Headers, and the folders that they go to.
const HEADERS: [(&str, &str); 3] = [
    ("hsaco.h", "include"),
    ("hsaco.hpp", "include"),
    ("kernelDB.h", "include/hsaco-kerneldb/include"),
];

/// Shells, with the places where they look for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/hsaco"),
    ("zsh", "share/zsh/site-functions/_hsaco"),
    ("fish", "share/fish/vendor_completions.d/hsaco.fish"),
];

/// What cargo has built.
pub(crate) struct Artifacts {
    /// The command.
    pub(crate) command: PathBuf,
    /// The static library, of which the shared one is made too.
    pub(crate) archive: PathBuf,
}

/// What templates say instead of `@NAME@`.
struct Words {
    version: String,
    shared: String,
    soname: String,
}

impl Artifacts {
    /// Installs under a prefix, and tells what.
    pub(crate) fn install(&self, workspace: &Path, prefix: &Path) -> Result<Vec<PathBuf>> {
        let mut tree = Tree { prefix, installed: Vec::new() };
        let capi = workspace.join("crates/capi");
        let version = version(&workspace.join("Cargo.toml"))?;
        let soname = format!("libhsaco.so.{INTERFACE}");
        let words = Words { shared: format!("{soname}.{version}"), soname, version };
        let command = tree.copy(&self.command, "bin/hsaco")?;
        for (name, folder) in HEADERS {
            tree.copy(&capi.join("include").join(name), &format!("{folder}/{name}"))?;
        }
        tree.copy(&self.archive, "lib/libhsaco.a")?;
        self.link(&capi.join("install/hsaco.map"), &words, &mut tree)?;
        let templates = capi.join("install");
        for (name, to) in [
            ("hsaco.pc", "lib/pkgconfig"),
            ("hsaco-kerneldb.pc", "lib/pkgconfig"),
            ("hsaco-config.cmake", "lib/cmake/hsaco"),
            ("hsaco-config-version.cmake", "lib/cmake/hsaco"),
        ] {
            let template = read(&templates.join(format!("{name}.in")))?;
            tree.write(&format!("{to}/{name}"), &words.fill(&template))?;
        }
        tree.generate(&command)?;
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            tree.copy(&workspace.join(name), &format!("share/doc/hsaco/{name}"))?;
        }
        Ok(tree.installed)
    }

    /// Makes the shared library of the static one: so its symbols have versions, which rustc's own list of exports excludes.
    fn link(&self, map: &Path, words: &Words, tree: &mut Tree<'_>) -> Result<()> {
        let library = tree.place(&format!("lib/{}", words.shared))?;
        let mut cc = Command::new("cc");
        cc.arg("-shared").arg("-o").arg(&library).arg(format!("-Wl,-soname,{}", words.soname));
        cc.arg(format!("-Wl,--version-script={}", map.display()));
        cc.arg("-Wl,--whole-archive").arg(&self.archive).arg("-Wl,--no-whole-archive");
        cc.args(["-Wl,--gc-sections", "-Wl,-z,defs", "-lpthread", "-ldl", "-lm"]);
        output(&mut cc)?;
        tree.link(&words.soname, &words.shared)?;
        tree.link("libhsaco.so", &words.soname)
    }
}

impl Words {
    fn fill(&self, template: &str) -> String {
        let mut parts = self.version.split('.');
        let (major, minor) = (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
        // Relative to the file itself, so that an installation can be moved.
        let prefix = "${pcfiledir}/../..";
        let words = [
            ("PREFIX", prefix),
            ("VERSION", &self.version),
            ("MAJOR", major),
            ("MINOR", minor),
            ("SHARED", &self.shared),
            ("SONAME", &self.soname),
        ];
        let fill =
            |text: String, (name, word): (&str, &str)| text.replace(&format!("@{name}@"), word);
        words.into_iter().fold(template.to_owned(), fill)
    }
}

/// An installation in the making.
struct Tree<'p> {
    prefix: &'p Path,
    installed: Vec<PathBuf>,
}

impl Tree<'_> {
    /// A place for a file, with its folder.
    fn place(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.prefix.join(name);
        let folder = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        // Programs that run from it keep what they have.
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
        self.installed.push(path.clone());
        Ok(path)
    }

    fn copy(&mut self, from: &Path, name: &str) -> Result<PathBuf> {
        let path = self.place(name)?;
        fs::copy(from, &path).with_context(|| from.display().to_string())?;
        Ok(path)
    }

    fn write(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.place(name)?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn link(&mut self, name: &str, to: &str) -> Result<()> {
        let path = self.place(&format!("lib/{name}"))?;
        std::os::unix::fs::symlink(to, &path).with_context(|| path.display().to_string())
    }

    /// Manual pages and completions, which the command makes.
    fn generate(&mut self, command: &Path) -> Result<()> {
        let manual = self.prefix.join("share/man/man1");
        output(Command::new(command).args(["generate", "man", "-o"]).arg(&manual))?;
        for page in fs::read_dir(&manual)? {
            self.installed.push(page?.path());
        }
        for (shell, name) in COMPLETIONS {
            let path = self.place(name)?;
            output(Command::new(command).args(["generate", shell, "-o"]).arg(&path))?;
        }
        Ok(())
    }
}

/// The version of the workspace.
fn version(manifest: &Path) -> Result<String> {
    let text = read(manifest)?;
    let line = text.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line.context("the workspace has no version")?.trim_matches('"').to_owned())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// What a command prints that must succeed.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    Ok(output.stdout)
}
