//! Programs of ROCm, whose sources are in `tests/runtime`: built by its compiler, run on hsaco's runtime.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::workspace_root;

/// A program that checks its own numbers, and says so in one line.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its source is `FOLDER/NAME.hip`.
    pub folder: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The libraries that it is linked with.
    pub libraries: &'static [&'static str],
    /// What it says if all is right.
    pub says: &'static str,
}

/// Programs of HIP alone.
pub const HIP: &[Client] = &[
    hip("vector_add", "10007 sums"),
    hip("reduction", "20000 values in 5 ways"),
    hip("streams", "6 streams, 5000 launches in order"),
    hip("copies", "6 sizes of every kind, rectangles, boxes, sets"),
    hip("memory", "managed, pinned in 4 ways, registered; out of memory is an error"),
    hip("globals", "5 variables from both sides"),
    hip("module", "2 kernels of a file and of memory"),
    hip("cooperative", "8 workgroups met 5 times"),
    hip("printf", "66 lines"),
    hip("assert", "told and ended by SIGABRT"),
    hip("graph", "of nodes and captured, 3 launches each"),
    hip("fault", "4 kinds, each an error of the queue"),
    hip("threads", "8 threads, 200 launches"),
];

/// Programs of ROCm's libraries.
pub const LIBRARIES: &[Client] = &[
    Client {
        folder: "rocm",
        name: "rocrand",
        libraries: &["rocrand"],
        says: "6 generators of version 201009 give the host's numbers",
    },
    Client {
        folder: "rocm",
        name: "rocsparse",
        libraries: &["rocsparse"],
        says: "SpMV, SpMM and sort of 7697 entries",
    },
    Client {
        folder: "rocm",
        name: "rocprim",
        libraries: &[],
        says: "reduce, scan, sort, select of 3 sizes",
    },
];

const fn hip(name: &'static str, says: &'static str) -> Client {
    Client { folder: "hip", name, libraries: &[], says }
}

/// The folder of the sources.
pub fn sources() -> PathBuf {
    workspace_root().join("tests/runtime")
}

impl Client {
    /// The one of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<&'static Self> {
        let mut all = HIP.iter().chain(LIBRARIES);
        all.find(|it| it.name == name).with_context(|| format!("no program `{name}`"))
    }

    /// The compiler and its arguments: from a folder with the sources, into a folder for programs.
    pub fn compilation(&self, sources: &str, targets: &[&str], folder: &str) -> Vec<String> {
        let mut words = vec!["hipcc".to_owned(), "-std=c++17".to_owned()];
        words.extend(targets.iter().map(|it| format!("--offload-arch={it}")));
        words.push(format!("{sources}/{}/{}.hip", self.folder, self.name));
        words.extend(["-o".to_owned(), format!("{folder}/{}", self.name)]);
        words.extend(self.libraries.iter().map(|it| format!("-l{it}")));
        words
    }

    /// Builds it for these targets.
    ///
    /// # Errors
    /// The compiler refuses it.
    pub fn build(&self, targets: &[&str], folder: &Path) -> Result<PathBuf> {
        let words = self.compilation(
            &sources().display().to_string(),
            targets,
            &folder.display().to_string(),
        );
        compile(&words)?;
        Ok(folder.join(self.name))
    }

    /// The line that it says if all is right.
    pub fn line(&self) -> String {
        format!("{}: {}\n", self.name, self.says)
    }

    /// What it is told on a device, of the files of a folder.
    pub fn arguments(&self, folder: &Path, device: &str) -> Vec<OsString> {
        match self.name {
            "module" => vec![folder.join(format!("module.{device}.co")).into()],
            _ => Vec::new(),
        }
    }
}

/// The compiler and its arguments for the code object that `module` loads.
pub fn module_compilation(sources: &str, target: &str, folder: &str) -> Vec<String> {
    let source = format!("{sources}/hip/module_kernels.hip");
    let object = format!("{folder}/module.{target}.co");
    words(&format!("hipcc --genco --offload-arch={target}"), &[&source, "-o", &object])
}

/// Builds the code object that `module` loads, for these targets.
///
/// # Errors
/// The compiler refuses it.
pub fn build_modules(targets: &[&str], folder: &Path) -> Result<()> {
    let [sources, folder] = [&sources(), folder].map(|it| it.display().to_string());
    targets.iter().try_for_each(|it| compile(&module_compilation(&sources, it, &folder)))
}

/// The objects `caller.TARGET.co` and `library.TARGET.co` of `tests/runtime/hsa`, by LLVM 22.
///
/// # Errors
/// The compiler refuses them.
pub fn build_objects(target: &str, folder: &Path) -> Result<[PathBuf; 2]> {
    Ok([build_object("caller", target, folder)?, build_object("library", target, folder)?])
}

/// The object `NAME.TARGET.co` of `tests/runtime/hsa/NAME.c`, by LLVM 22.
///
/// # Errors
/// The compiler refuses it.
pub fn build_object(name: &str, target: &str, folder: &Path) -> Result<PathBuf> {
    let source = sources().join(format!("hsa/{name}.c")).display().to_string();
    let [relocatable, object] =
        ["o", "co"].map(|it| folder.join(format!("{name}.{target}.{it}")).display().to_string());
    let clang = format!("clang-22 -x c --target=amdgcn-amd-amdhsa -mcpu={target} -nogpulib -O2");
    compile(&words(&format!("{clang} -Wall -Wextra -Werror -c"), &[&source, "-o", &relocatable]))?;
    compile(&words("ld.lld-22 -shared", &[&relocatable, "-o", &object]))?;
    Ok(object.into())
}

/// Builds a client of the HSA interface alone, `tests/runtime/hsa/NAME.c`.
///
/// # Errors
/// The compiler refuses it.
pub fn build_hsa_client(name: &str, folder: &Path) -> Result<PathBuf> {
    let source = sources().join(format!("hsa/{name}.c")).display().to_string();
    let program = folder.join(name);
    let files = [&source, "-o", &program.display().to_string(), "-lhsa-runtime64"];
    compile(&words("cc -std=gnu11 -O1 -Wall -Wextra -Werror", &files))?;
    Ok(program)
}

/// A command whose first words have no spaces in them.
fn words(first: &str, files: &[&str]) -> Vec<String> {
    first.split(' ').chain(files.iter().copied()).map(str::to_owned).collect()
}

fn compile(words: &[String]) -> Result<()> {
    let (program, arguments) = words.split_first().context("no compiler")?;
    let output = Command::new(program).args(arguments).output().with_context(|| program.clone())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}\n{complaint}", words.join(" "));
    Ok(())
}
