//! An executable as rows, which programs read as JSON.

use hsaco_bytes::SCHEMA_VERSION;
use serde::Serialize;

use crate::calls::{CallEdge, CallTarget, FunctionRef};
use crate::error::{Error, Errors, Result};
use crate::executable::{AppliedRelocation, Executable};
use crate::id::{LoadedSymbolKind, ObjectId};
use crate::object::KernelInfo;
use crate::raise::{NamedShortage, Raise};
use crate::source::SourceFrame;
use crate::symbol::Symbol;

/// All that is known of an executable.
#[derive(Serialize)]
pub struct ExecutableRows {
    schema_version: u32,
    target: Option<String>,
    /// Whether everything was resolved.
    pub frozen: bool,
    /// Where each object is.
    pub objects: Vec<ObjectRow>,
    symbols: Vec<SymbolRow>,
    /// What was applied.
    pub relocations: Vec<RelocationRow>,
    resources: Vec<RaiseRow>,
    remarks: Vec<String>,
    /// What is wrong.
    pub errors: Vec<ErrorRow>,
    /// Who calls whom, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallRow>>,
    /// What is at the addresses that were asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceRow>,
}

/// Where an object is.
#[derive(Serialize)]
pub struct ObjectRow {
    /// Its name.
    pub name: String,
    /// Where its address 0 is.
    base: Option<u64>,
    /// Its memory.
    pub segments: Vec<SegmentRow>,
}

/// Memory of an object.
#[derive(Serialize)]
pub struct SegmentRow {
    /// Where it is.
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// Bytes that are not zeros of the loader's.
    file_size: usize,
    /// As `readelf` prints them.
    pub permissions: String,
    /// Where it is in the image.
    image_offset: u64,
}

/// A relocation that was applied.
#[derive(Serialize)]
pub struct RelocationRow {
    object: String,
    /// Where the value is.
    pub place: u64,
    /// What it computes.
    #[serde(rename = "type")]
    pub kind: String,
    /// The symbol that it names.
    pub symbol: Option<String>,
    /// The object that provides the symbol.
    pub provider: Option<String>,
    /// What is added.
    pub addend: i64,
    /// What was stored.
    pub value: u64,
    #[serde(rename = "static")]
    is_static: bool,
}

/// Something that is wrong.
#[derive(Serialize)]
pub struct ErrorRow {
    kind: &'static str,
    object: Option<String>,
    message: String,
    help: Option<String>,
}

/// A call.
#[derive(Serialize)]
pub struct CallRow {
    /// Who calls.
    pub caller: String,
    /// Whose that is.
    pub caller_object: String,
    /// Where the call is.
    pub site: u64,
    /// What kind of call it is.
    pub kind: &'static str,
    /// Who is called, if that is known.
    pub callee: Option<String>,
    /// Whose that is.
    pub callee_object: Option<String>,
    /// How that is known.
    pub evidence: &'static str,
    /// Whether the two are of different objects.
    pub crosses_objects: bool,
}

/// What is at an address.
#[derive(Serialize)]
pub struct PlaceRow {
    /// The address.
    pub address: u64,
    /// Whose memory it is.
    pub object: Option<String>,
    object_address: Option<u64>,
    /// What is there.
    pub symbol: Option<String>,
    /// How far in it.
    pub symbol_offset: Option<u64>,
    /// Where it comes from, the innermost function first.
    pub source: Vec<SourceFrame>,
}

/// A symbol; what does not apply is null.
#[derive(Serialize)]
pub struct SymbolRow {
    /// The mangled name.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// What it is.
    pub kind: &'static str,
    /// The object that it is in.
    pub object: Option<String>,
    /// In its object.
    pub value: Option<u64>,
    /// In memory.
    pub address: Option<u64>,
    /// Its bytes.
    pub size: u64,
    /// What its address is a multiple of.
    pub align: Option<u64>,
    /// How names of other objects stand to it.
    pub binding: &'static str,
    /// Who may see it.
    pub visibility: &'static str,
    /// Whether other objects may use it.
    pub exported: bool,
    /// Of a variable, whether it may only be read.
    #[serde(rename = "const")]
    pub is_const: Option<bool>,
    /// Of a kernel, where its code is.
    pub code_address: Option<u64>,
    /// Of a kernel, the bytes of its code.
    pub code_size: Option<u64>,
    /// Who provides an external.
    pub provider: Option<String>,
    kernel: Option<KernelRow>,
    /// Who calls it, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<Vec<String>>,
}

#[derive(Serialize)]
struct KernelRow {
    symbol: String,
    kernarg_size: u64,
    kernarg_align: u64,
    group_size: u32,
    private_size: u32,
    dynamic_stack: bool,
    wavefront_size: u32,
    vgprs: u32,
    accum_offset: Option<u32>,
    sgprs: Option<u32>,
    max_workgroup_size: Option<u64>,
}

impl KernelRow {
    fn new(symbol: String, info: &KernelInfo) -> Self {
        Self {
            symbol,
            kernarg_size: info.kernarg_size,
            kernarg_align: info.kernarg_align,
            group_size: info.allocation.lds,
            private_size: info.allocation.scratch,
            dynamic_stack: info.allocation.has_dynamic_stack,
            wavefront_size: info.allocation.wave.lanes(),
            vgprs: info.allocation.vgprs,
            accum_offset: info.allocation.accum_offset,
            sgprs: info.allocation.sgprs,
            max_workgroup_size: info.max_workgroup_size,
        }
    }
}

/// A kernel that needs more than it had.
#[derive(Serialize)]
pub struct RaiseRow {
    kernel: String,
    object: String,
    raised: bool,
    shortfalls: Vec<ShortageRow>,
    dynamic_stack: bool,
    workgroup_limit: Option<u64>,
}

/// A resource of which a kernel has less than it needs with all that it calls.
#[derive(Clone, Debug, Serialize)]
pub struct ShortageRow {
    /// Which one.
    pub resource: &'static str,
    /// What the descriptor gives.
    pub allocated: u32,
    /// What the code uses.
    pub needed: u32,
    /// From the kernel to the function that needs it.
    pub by: Vec<String>,
}

impl ExecutableRows {
    /// Of an executable, and of what went wrong when it was frozen; with who calls whom, and with what is at some addresses.
    ///
    /// # Errors
    /// When code or debug information cannot be read.
    pub fn new(
        executable: &Executable<'_>,
        errors: Option<&Errors>,
        with_calls: bool,
        addresses: &[u64],
    ) -> std::result::Result<Self, Errors> {
        let frozen = executable.is_frozen();
        let calls = match with_calls && frozen {
            true => {
                Some(executable.calls()?.iter().map(|it| CallRow::new(executable, it)).collect())
            }
            false => None,
        };
        let places = addresses.iter().map(|it| PlaceRow::new(executable, *it));
        let start = executable.span().start;
        let object = |it| ObjectRow::new(executable, it, start);
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            target: executable.target().map(|it| it.to_string()),
            frozen,
            objects: executable.objects().map(object).collect(),
            symbols: executable.symbols().map(|it| SymbolRow::new(executable, &it)).collect(),
            relocations: executable
                .relocations()
                .map(|it| RelocationRow::new(executable, &it))
                .collect(),
            resources: RaiseRow::all(executable),
            remarks: executable.remarks().to_vec(),
            errors: errors.into_iter().flat_map(|it| it.iter()).map(ErrorRow::new).collect(),
            calls,
            places: places.collect::<Result<_>>()?,
        })
    }
}

impl ObjectRow {
    fn new(executable: &Executable<'_>, id: ObjectId, start: u64) -> Self {
        let image = executable.image(id);
        let segments = image.into_iter().flat_map(|it| &it.segments).map(|it| SegmentRow {
            address: it.address,
            size: it.size,
            file_size: it.bytes.len(),
            permissions: it.permissions(),
            image_offset: it.address - start,
        });
        ObjectRow {
            name: executable.object_name(id).to_owned(),
            base: image.map(|it| it.delta),
            segments: segments.collect(),
        }
    }
}

impl RelocationRow {
    fn new(executable: &Executable<'_>, it: &AppliedRelocation<'_>) -> Self {
        let name = |it| executable.object_name(it).to_owned();
        RelocationRow {
            object: name(it.object),
            place: it.place,
            kind: it.kind.to_string(),
            symbol: it.symbol.map(|symbol| symbol.to_string()),
            provider: it.provider.map(name),
            addend: it.addend,
            value: it.value,
            is_static: it.is_static,
        }
    }
}

impl ErrorRow {
    fn new(error: &Error) -> Self {
        ErrorRow {
            kind: error.kind().name(),
            object: error.object().map(str::to_owned),
            message: error.detail().to_owned(),
            help: error.help().map(str::to_owned),
        }
    }
}

impl CallRow {
    fn new(executable: &Executable<'_>, edge: &CallEdge) -> Self {
        let object = |it: &FunctionRef| executable.object_name(it.object).to_owned();
        let name =
            |it: &FunctionRef| it.name.clone().unwrap_or_else(|| format!("{:#x}", it.address));
        let (callee, callee_object) = match &edge.callee {
            CallTarget::Function(callee) => (Some(name(callee)), Some(object(callee))),
            CallTarget::Defined(name) => (Some(name.clone()), None),
            CallTarget::Unknown => (None, None),
        };
        Self {
            caller: name(&edge.caller),
            caller_object: object(&edge.caller),
            site: edge.site,
            kind: edge.kind.name(),
            callee,
            callee_object,
            evidence: edge.evidence.name(),
            crosses_objects: edge.crosses_objects(),
        }
    }
}

impl PlaceRow {
    fn new(executable: &Executable<'_>, address: u64) -> Result<Self> {
        let located = executable.locate(address);
        let symbol = located.and_then(|it| it.symbol);
        Ok(Self {
            address,
            object: located.map(|it| executable.object_name(it.object).to_owned()),
            object_address: located.map(|it| it.object_address),
            symbol: symbol.map(|(it, _)| it.readable_name()),
            symbol_offset: symbol.map(|(_, offset)| offset),
            source: executable.source(address)?,
        })
    }
}

impl SymbolRow {
    /// Of a symbol.
    #[must_use]
    pub fn new(executable: &Executable<'_>, symbol: &Symbol<'_>) -> Self {
        let is_variable = symbol.kind() == LoadedSymbolKind::Variable;
        let name = |it: ObjectId| executable.object_name(it).to_owned();
        let provider = symbol.provider().filter(|it| it.id() != symbol.id());
        let provider =
            provider.map(|it| it.object().map_or_else(|| "the command line".to_owned(), name));
        let kernel =
            symbol.kernel().map(|info| KernelRow::new(symbol.symbol_name().to_string(), &info));
        Self {
            name: symbol.name().to_string(),
            demangled: symbol.readable_name(),
            kind: symbol.kind().name(),
            object: symbol.object().map(name),
            value: symbol.value(),
            address: symbol.address(),
            size: symbol.size(),
            align: Some(symbol.align()).filter(|align| *align != 0),
            binding: symbol.binding().name(),
            visibility: symbol.visibility().name(),
            exported: symbol.is_exported(),
            is_const: is_variable.then(|| symbol.is_const()),
            code_address: symbol.code().map(|it| it.0),
            code_size: symbol.code().map(|it| it.1),
            provider,
            kernel,
            callers: None,
        }
    }

    /// Where it is in its object.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        self.value
    }

    /// In bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Kind, binding, visibility.
    #[must_use]
    pub fn words(&self) -> [&'static str; 3] {
        [self.kind, self.binding, self.visibility]
    }

    /// The name, and what else there is to say of it.
    #[must_use]
    pub fn text(&self, is_mangled: bool) -> String {
        let mut text = if is_mangled { &self.name } else { &self.demangled }.clone();
        if self.is_const == Some(true) {
            text += " (const)";
        }
        if let Some(callers) = &self.callers {
            let callers =
                if callers.is_empty() { "no known caller".to_owned() } else { callers.join(", ") };
            text += &format!(" <- {callers}");
        }
        text
    }
}

/// What was linked into one object.
#[derive(Serialize)]
pub struct LinkRow {
    schema_version: u32,
    /// The file.
    pub output: String,
    size: usize,
    /// What it is for.
    pub target: Option<String>,
    /// What it is made of.
    pub objects: Vec<String>,
    /// How many of these it defines.
    pub kernels: usize,
    /// How many of these it defines.
    pub functions: usize,
    /// How many of these it defines.
    pub variables: usize,
    /// How many were applied.
    pub relocations: usize,
    resources: Vec<RaiseRow>,
    remarks: Vec<String>,
}

impl LinkRow {
    /// Sums up an executable that became a file of so many bytes.
    #[must_use]
    pub fn new(executable: &Executable<'_>, output: String, size: usize) -> Self {
        let kinds = |kind| {
            executable.symbols().filter(|it| it.kind() == kind && it.is_definition()).count()
        };
        Self {
            schema_version: SCHEMA_VERSION,
            output,
            size,
            target: executable.target().map(|it| it.to_string()),
            objects: executable.objects().map(|it| executable.object_name(it).to_owned()).collect(),
            kernels: kinds(LoadedSymbolKind::Kernel),
            functions: kinds(LoadedSymbolKind::Function),
            variables: kinds(LoadedSymbolKind::Variable),
            relocations: executable.relocations().count(),
            resources: RaiseRow::all(executable),
            remarks: executable.remarks().to_vec(),
        }
    }
}

impl RaiseRow {
    /// Every kernel that needs more than it had.
    #[must_use]
    pub fn all(executable: &Executable<'_>) -> Vec<Self> {
        executable.raises().iter().map(|it| Self::new(executable, it)).collect()
    }

    fn new(executable: &Executable<'_>, raise: &Raise) -> Self {
        let shortfall = |it: &NamedShortage| ShortageRow {
            resource: it.resource.name(),
            allocated: it.allocated,
            needed: it.needed,
            by: it.way.clone(),
        };
        Self {
            kernel: raise.kernel.clone(),
            object: executable.object_name(raise.object).to_owned(),
            raised: raise.is_applied,
            shortfalls: raise.shortages.iter().map(shortfall).collect(),
            dynamic_stack: raise.needs_dynamic_stack,
            workgroup_limit: raise.workgroup_limit,
        }
    }
}

impl Executable<'_> {
    /// What kernels needed, in a line each.
    #[must_use]
    pub fn needs_lines(&self) -> Vec<String> {
        let raised = self.raises().iter().map(|raise| {
            let done = if raise.is_applied { "raised" } else { "short" };
            format!("{done}: {}: {raise}", self.object_name(raise.object))
        });
        raised.chain(self.remarks().iter().map(|it| format!("unknown: {it}"))).collect()
    }
}
