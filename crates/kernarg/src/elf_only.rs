//! Kernels that only symbols know: in quarantine, as nothing is known of their arguments.

use std::collections::HashSet;

use hsaco_bytes::{Error, ErrorKind, Result, Str};
use hsaco_elf::symbol::{Binding, STT_FUNC, Symbol};
use hsaco_object::descriptor::KernelDescriptor;
use hsaco_object::{CodeObject, Index, Kernel};

use crate::CONTEXT;
use crate::declaration::Declaration;
use crate::launch::Launch;
use crate::native::NativeLayout;
use crate::prepacked::DirectLayout;

/// A kernel without metadata: a descriptor and a function, both for others to see.
///
/// It takes prepacked buffers only, and its caller must know the size of its workgroups.
///
/// ```
/// use hsaco_object::CodeObject;
/// # let file = std::fs::read("../../tests/fixtures/s1.no-note.co")?;
/// let object = CodeObject::parse(&file)?;
/// let index = object.index();
/// let kernels = hsaco_kernarg::elf_only(&object, &index)?;
/// assert_eq!(kernels[0].layout().size(), Some(24));
/// assert!(kernels[0].launch(&[64], None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ElfOnlyKernel<'a> {
    name: Str<'a>,
    descriptor: KernelDescriptor,
}

/// Whether a kernel's arguments may be taken from another kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Inference {
    /// Never.
    #[default]
    Off,
    /// If there is exactly one kernel to take them from, and its segment is as large. This is a guess, and the caller's
    /// to answer for.
    FromOnlyTemplate,
}

/// A layout that was taken from another kernel. There is no compact one: runtimes must not pack by a guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    layout: NativeLayout,
    template: String,
}

impl Inferred {
    /// The layout, which is a guess.
    pub fn layout(&self) -> &NativeLayout {
        &self.layout
    }

    /// The kernel that it was taken from.
    pub fn template(&self) -> &str {
        &self.template
    }
}

/// The kernels of an object that metadata does not know.
///
/// Such a kernel is a descriptor `x.kd` and a function `x`, both defined and global or weak; a descriptor alone is not
/// enough.
pub fn elf_only<'a>(object: &CodeObject<'a>, index: &Index<'a>) -> Result<Vec<ElfOnlyKernel<'a>>> {
    let candidates = || index.kernels().iter().filter(|it| it.metadata().is_none());
    let count = candidates().count();
    let mut found = Vec::new();
    // An object may have tens of thousands of kernels; no memory for the list is an error like any other.
    found.try_reserve_exact(count).map_err(|_| {
        let detail = format!("no memory for {count} kernels without metadata");
        Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
    })?;
    if count == 0 {
        return Ok(found);
    }
    let functions = functions(object);
    let metadata = index.metadata().kernels();
    let named: HashSet<Str<'a>> =
        metadata.iter().flat_map(|it| [it.name(), it.base_name()]).collect();
    let is_kernel = |kernel: &&Kernel<'a>| {
        kernel.descriptor_symbol().is_some_and(is_exported)
            && functions.contains(&kernel.name())
            && !named.contains(&kernel.name())
    };
    let kernel =
        |it: &Kernel<'a>| Some(ElfOnlyKernel { name: it.name(), descriptor: it.descriptor()? });
    found.extend(candidates().filter(is_kernel).filter_map(kernel));
    Ok(found)
}

fn functions<'a>(object: &CodeObject<'a>) -> HashSet<Str<'a>> {
    let table = object.symbol_table().ok().flatten();
    let symbols = table.into_iter().flat_map(|it| it.iter().flatten());
    symbols.filter(|it| it.kind == STT_FUNC && is_exported(it)).map(|it| it.name).collect()
}

fn is_exported(symbol: &Symbol<'_>) -> bool {
    symbol.is_defined() && matches!(symbol.binding, Binding::Global | Binding::Weak)
}

impl<'a> ElfOnlyKernel<'a> {
    /// Its name.
    pub fn name(&self) -> Str<'a> {
        self.name
    }

    /// Its own descriptor, the only source of what it needs.
    pub fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// What takes its prepacked buffers.
    pub fn layout(&self) -> DirectLayout {
        DirectLayout::new(self.descriptor.kernarg_segment_size())
    }

    /// A launch; the size of workgroups, which nothing in the file says, is required.
    pub fn launch(&self, grid: &[u32], workgroup: Option<&[u32]>) -> Result<Launch> {
        let workgroup = workgroup.ok_or_else(|| {
            let detail =
                format!("{} has no metadata: the size of a workgroup must be given", self.name);
            Error::new(ErrorKind::NotFound, CONTEXT, detail)
        })?;
        Launch::new(grid, workgroup)
    }

    /// A layout from the only kernel that has metadata, if that is allowed.
    pub fn infer(&self, index: &Index<'_>, inference: Inference) -> Result<Inferred> {
        let refuse = |detail: String| Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail));
        let name = self.name;
        if inference == Inference::Off {
            return refuse(format!("{name} has no metadata: prepacked buffers only"));
        }
        let mut templates = index.kernels().iter().filter(|it| it.metadata().is_some());
        let template = match (templates.next(), templates.next()) {
            (Some(template), None) => template,
            (None, _) => return refuse(format!("{name}: no kernel has metadata to infer from")),
            (Some(_), Some(_)) => {
                let count = templates.count().saturating_add(2);
                return refuse(format!("{name}: {count} kernels have metadata, and only one may"));
            }
        };
        let declaration = Declaration::of(template)?;
        let (own, other) = (self.descriptor.kernarg_segment_size(), declaration.size);
        if own.map(u64::from) != other || own.is_none() {
            let shown = |size: Option<u64>| size.map_or("no".to_owned(), |it| it.to_string());
            return refuse(format!(
                "{name} has a segment of {} bytes, and {} one of {}",
                shown(own.map(u64::from)),
                template.name(),
                shown(other)
            ));
        }
        let layout = NativeLayout::new(&declaration)?;
        Ok(Inferred { layout, template: template.name().to_string() })
    }
}
