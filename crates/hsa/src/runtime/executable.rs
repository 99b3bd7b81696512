//! Code objects, executables and their symbols, by `hsaco-load`.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use hsaco_elf::Elf;
use hsaco_load::{CallTarget, Executable, Freeze, LoadedSymbolKind, ObjectId, Symbol, SymbolId};

use crate::abi::{Answer, Status};
use crate::agent::Agent;
use crate::log;
use crate::pages::{PAGE, Pages};
use crate::runtime::intercept::{self, Unresolved};
use crate::runtime::{self, Runtime};
use crate::space::{Block, Kind};

/// Where the bytes of a code object are from.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) bytes: Vec<u8>,
    pub(crate) storage: Storage,
}

/// What a loader tells of where a code object was.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage {
    Memory { base: u64, size: u64 },
    File { descriptor: i32, offset: u64, size: u64 },
}

/// An object of an executable.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) handle: u64,
    pub(crate) reader: Arc<Reader>,
    pub(crate) id: ObjectId,
    /// Addresses that are kept for it.
    pub(crate) base: u64,
    pub(crate) size: u64,
    pub(crate) uri: String,
}

/// What an executable has for one agent.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) agent: u64,
    pub(crate) executable: Executable<'static>,
    pub(crate) parts: Vec<Part>,
    reserved: Vec<Pages>,
    /// Blocks of the space that hold its memory, once frozen.
    blocks: Vec<u64>,
    /// Handles that were given out.
    symbols: HashMap<SymbolId, u64>,
    /// Callers of each function, by address: found when first asked for.
    callers: OnceLock<BTreeMap<u64, Vec<u64>>>,
    /// What checks found that other objects may put right before all is frozen.
    unresolved: Vec<Unresolved>,
}

/// An executable.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) handle: u64,
    pub(crate) profile: u32,
    pub(crate) rounding: u32,
    pub(crate) inner: Mutex<Inner>,
}

/// What of it changes.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) is_frozen: bool,
    pub(crate) sides: Vec<Side>,
    /// Variables of all agents.
    variables: Vec<(String, u64)>,
}

/// A symbol that a handle stands for.
#[derive(Clone, Debug)]
pub(crate) struct SymbolHandle {
    pub(crate) program: Arc<Program>,
    pub(crate) agent: u64,
    pub(crate) id: SymbolId,
}

/// All executables.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) programs: BTreeMap<u64, Arc<Program>>,
    pub(crate) symbols: HashMap<u64, SymbolHandle>,
    /// The executables of loaded objects.
    pub(crate) parts: HashMap<u64, Arc<Program>>,
}

fn status(error: &hsaco_load::Error) -> Status {
    Status(error.kind().hsa_status())
}

impl Program {
    pub(crate) fn new(handle: u64, profile: u32, rounding: u32) -> Self {
        Self { handle, profile, rounding, inner: Mutex::default() }
    }

    /// Adds an object for an agent.
    pub(crate) fn load(
        &self,
        runtime: &Runtime,
        agent: &Agent,
        reader: &Arc<Reader>,
    ) -> Answer<u64> {
        let mut inner = runtime::lock(&self.inner);
        if inner.is_frozen {
            return Err(Status::FROZEN_EXECUTABLE);
        }
        let variables = inner.variables.clone();
        let side = inner.side(agent, &variables)?;
        let (bytes, unresolved) = intercept::loaded(runtime, agent, reader)?;
        side.unresolved.extend(unresolved);
        let (start, size) = span(&bytes).ok_or(Status::INVALID_CODE_OBJECT)?;
        let reserved =
            Pages::reserve(size + start % PAGE, PAGE * 16).ok_or(Status::OUT_OF_RESOURCES)?;
        let base = reserved.address() + start % PAGE;
        let uri = uri(&reader.storage);
        let loaded = side.executable.load_at(&uri, bytes, base);
        let id = loaded.map_err(|error| {
            log::line(&format!("a code object is refused: {error}"));
            status(&error)
        })?;
        let handle = runtime.handle();
        side.parts.push(Part { handle, reader: Arc::clone(reader), id, base, size, uri });
        side.reserved.push(reserved);
        Ok(handle)
    }

    /// Defines a variable for an agent, or for all.
    pub(crate) fn define(&self, agent: Option<&Agent>, name: &str, address: u64) -> Answer {
        let mut inner = runtime::lock(&self.inner);
        if inner.is_frozen {
            return Err(Status::FROZEN_EXECUTABLE);
        }
        let Some(agent) = agent else {
            if inner.variables.iter().any(|it| it.0 == name) {
                return Err(Status::VARIABLE_ALREADY_DEFINED);
            }
            inner.variables.push((name.to_owned(), address));
            for side in &mut inner.sides {
                side.executable.define_variable(name, address, 0).map_err(|it| status(&it))?;
            }
            return Ok(());
        };
        let variables = inner.variables.clone();
        let side = inner.side(agent, &variables)?;
        let is_defined = |it: &Symbol<'_>| it.symbol_name() == name && it.is_definition();
        if side.executable.symbols().any(|it| is_defined(&it)) {
            return Err(Status::VARIABLE_ALREADY_DEFINED);
        }
        side.executable.define_variable(name, address, 0).map(drop).map_err(|it| status(&it))
    }

    /// Puts the objects together, and into memory.
    pub(crate) fn freeze(&self, runtime: &Runtime) -> Answer {
        let mut inner = runtime::lock(&self.inner);
        if inner.is_frozen {
            return Err(Status::FROZEN_EXECUTABLE);
        }
        for side in &mut inner.sides {
            side.freeze(runtime, self.handle)?;
        }
        inner.is_frozen = true;
        Ok(())
    }

    /// Takes its memory back.
    pub(crate) fn unload(&self, runtime: &Runtime) {
        let mut inner = runtime::lock(&self.inner);
        for mut side in inner.sides.drain(..) {
            side.tell_unresolved(runtime);
            for base in side.blocks {
                runtime.space.remove(base, &runtime.agents, |it| it.kind == Kind::Code);
            }
        }
        // Kernels of other executables may have called into this one.
        for agent in &runtime.agents {
            if let Some(gpu) = &agent.gpu {
                let mut kernels =
                    gpu.kernels.write().unwrap_or_else(std::sync::PoisonError::into_inner);
                for code in kernels.values() {
                    runtime.summary.count_code(code);
                }
                kernels.clear();
            }
        }
    }
}

impl Inner {
    pub(crate) fn side_of(&mut self, agent: u64) -> Option<&mut Side> {
        self.sides.iter_mut().find(|it| it.agent == agent)
    }

    fn side(&mut self, agent: &Agent, variables: &[(String, u64)]) -> Answer<&mut Side> {
        let gpu = agent.gpu.as_ref().ok_or(Status::INVALID_AGENT)?;
        if let Some(at) = self.sides.iter().position(|it| it.agent == agent.handle) {
            return self.sides.get_mut(at).ok_or(Status::ERROR);
        }
        let mut executable = Executable::new(Some(gpu.model.target));
        for (name, address) in variables {
            executable.define_variable(name, *address, 0).map_err(|it| status(&it))?;
        }
        self.sides.push(Side {
            agent: agent.handle,
            executable,
            parts: Vec::new(),
            reserved: Vec::new(),
            blocks: Vec::new(),
            symbols: HashMap::new(),
            callers: OnceLock::new(),
            unresolved: Vec::new(),
        });
        self.sides.last_mut().ok_or(Status::ERROR)
    }
}

impl Side {
    /// Tells what checks found that no object has put right.
    fn tell_unresolved(&mut self, runtime: &Runtime) {
        let executable = &self.executable;
        let is_defined = |name: &str| {
            let named = executable.symbols_named(name);
            let provides = |it: &Symbol<'_>| it.is_exported() || it.object().is_none();
            named.iter().any(|it| it.symbol_name() == name && it.is_definition() && provides(it))
        };
        for unresolved in std::mem::take(&mut self.unresolved) {
            if !is_defined(unresolved.name()) {
                unresolved.tell(runtime);
            }
        }
    }

    fn freeze(&mut self, runtime: &Runtime, program: u64) -> Answer {
        self.tell_unresolved(runtime);
        self.executable.freeze(Freeze::default()).map_err(|errors| {
            errors
                .iter()
                .for_each(|it| log::line(&format!("an executable cannot be frozen: {it}")));
            errors.iter().next().map_or(Status::ERROR, status)
        })?;
        let agent = runtime.agent(self.agent)?;
        let reserved = std::mem::take(&mut self.reserved);
        for (part, pages) in self.parts.iter().zip(reserved) {
            let image = self.executable.image(part.id).ok_or(Status::ERROR)?;
            if !pages.protect(pages.address(), pages.size(), libc::PROT_READ | libc::PROT_WRITE) {
                return Err(Status::OUT_OF_RESOURCES);
            }
            let keeper = Arc::new(crate::space::Keeper::Pages(pages));
            for (at, segment) in image.segments.iter().enumerate().filter(|it| it.1.size > 0) {
                let count = segment.bytes.len();
                // SAFETY: the image is inside the pages that were kept for it, which no other thread knows of yet.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        segment.bytes.as_ptr(),
                        segment.address as *mut u8,
                        count,
                    );
                }
                // Instructions are fetched, and scalars loaded, a little past the end.
                let end = segment.range().end;
                let limit =
                    image.segments.get(at + 1).map_or(end.next_multiple_of(PAGE), |it| it.address);
                let block = Block {
                    base: segment.address,
                    host: segment.address,
                    size: segment.size,
                    kind: Kind::Code,
                    pool: program,
                    owner: agent.node,
                    flags: crate::abi::flag::COARSE_GRAINED,
                    agents: 0,
                    // Devices protect no memory, and HIP 6 writes constants by a kernel. Code stays as it was translated.
                    is_writable: segment.flags & 1 == 0,
                    reach: segment.size,
                    slack: limit.saturating_sub(end).min(PAGE),
                    user_data: 0,
                    farewells: Vec::new(),
                    keeper: Arc::clone(&keeper),
                };
                self.blocks.push(runtime.space.add(block, [agent])?);
            }
        }
        Ok(())
    }

    /// The symbol of a name as the file has it; what is defined comes before what is wanted.
    pub(crate) fn symbol(&self, name: &str) -> Option<SymbolId> {
        let found = self.executable.symbols_named(name);
        let exact = found.iter().filter(|it| it.symbol_name() == name && is_shown(it));
        exact.max_by_key(|it| (it.is_definition(), it.is_exported())).map(Symbol::id)
    }

    /// The symbols that a program is shown.
    pub(crate) fn symbols(&self) -> Vec<SymbolId> {
        self.executable.symbols().filter(is_shown).map(|it| it.id()).collect()
    }

    /// The handle of a symbol: always the same.
    pub(crate) fn handle(
        &mut self,
        runtime: &Runtime,
        program: &Arc<Program>,
        id: SymbolId,
    ) -> u64 {
        if let Some(handle) = self.symbols.get(&id) {
            return *handle;
        }
        let handle = runtime.handle();
        self.symbols.insert(id, handle);
        let symbol = SymbolHandle { program: Arc::clone(program), agent: self.agent, id };
        let loaded =
            &mut *runtime.loaded.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        loaded.symbols.insert(handle, symbol);
        handle
    }

    /// Addresses of kernels and functions that call the one at an address.
    pub(crate) fn callers(&self, address: u64) -> &[u64] {
        let callers = self.callers.get_or_init(|| {
            let mut callers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for edge in self.executable.calls().unwrap_or_default() {
                if let CallTarget::Function(callee) = edge.callee {
                    let list = callers.entry(callee.address).or_default();
                    if !list.contains(&edge.caller.address) {
                        list.push(edge.caller.address);
                    }
                }
            }
            callers
        });
        callers.get(&address).map_or(&[], Vec::as_slice)
    }

    /// The name of the kernel whose descriptor is at an address.
    pub(crate) fn kernel_name(&self, address: u64) -> Option<String> {
        let located = self.executable.locate(address)?;
        let (symbol, offset) = located.symbol?;
        (offset == 0 && symbol.kernel().is_some()).then(|| symbol.name().to_string())
    }
}

/// Whether programs may ask for a symbol: kernels, variables and functions that others may see.
fn is_shown(symbol: &Symbol<'_>) -> bool {
    let is_kind = !matches!(symbol.kind(), LoadedSymbolKind::Lds | LoadedSymbolKind::Absolute);
    let is_kernel = symbol.kind() == LoadedSymbolKind::Kernel;
    is_kind && (is_kernel || symbol.is_exported() || symbol.object().is_none())
}

/// The first address of an object, and how many bytes follow it in memory.
fn span(bytes: &[u8]) -> Option<(u64, u64)> {
    let elf = Elf::parse_amdgpu(bytes).ok()?;
    let start = elf.loads().map(|it| it.address).min()?;
    let end = elf.loads().map(|it| it.address.saturating_add(it.memory_size)).max()?;
    /// No address space has room for more.
    const MOST: u64 = 1 << 40;
    Some((start, end.checked_sub(start)?)).filter(|it| it.1 < MOST)
}

fn uri(storage: &Storage) -> String {
    match storage {
        Storage::Memory { base, size } => {
            format!("memory://{}#offset={base:#x}&size={size}", std::process::id())
        }
        Storage::File { descriptor, offset, size } => {
            let link = std::fs::read_link(format!("/proc/self/fd/{descriptor}"));
            let path = link.map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
            let escaped: String = path.bytes().map(escape).collect();
            format!("file://{escaped}#offset={offset}&size={size}")
        }
    }
}

/// As file names are written in a URI.
fn escape(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'_' | b'.' | b'~' | b'-' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    }
}

impl Runtime {
    pub(crate) fn program(&self, handle: u64) -> Answer<Arc<Program>> {
        let loaded = self.loaded.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        loaded.programs.get(&handle).cloned().ok_or(Status::INVALID_EXECUTABLE)
    }

    /// The name of the kernel whose descriptor is at an address, on an agent.
    pub(crate) fn kernel_name(&self, agent: u64, address: u64) -> Option<String> {
        let programs: Vec<_> = {
            let loaded = self.loaded.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            loaded.programs.values().cloned().collect()
        };
        programs.iter().find_map(|it| {
            let mut inner = runtime::lock(&it.inner);
            inner.side_of(agent).and_then(|side| side.kernel_name(address))
        })
    }
}

/// The bytes of a code object that a program has in memory.
///
/// # Safety
/// There are so many.
pub(crate) unsafe fn read_memory(base: *const c_void, size: usize) -> Answer<Reader> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { crate::value::slice(base.cast::<u8>(), size) }?;
    if bytes.is_empty() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let storage = Storage::Memory { base: base as u64, size: size as u64 };
    Ok(Reader { bytes: bytes.to_vec(), storage })
}

/// The bytes of a code object in an open file.
pub(crate) fn read_file(descriptor: i32, offset: u64, size: Option<u64>) -> Answer<Reader> {
    use std::io::{Read, Seek, SeekFrom};
    // A file of our own: the program's stays where it is.
    let file = std::fs::File::open(format!("/proc/self/fd/{descriptor}"));
    let mut file = file.map_err(|_| Status::INVALID_FILE)?;
    let all = file.metadata().map_err(|_| Status::INVALID_FILE)?.len();
    let left = all.checked_sub(offset).ok_or(Status::INVALID_ARGUMENT)?;
    let size = size.unwrap_or(left);
    if size > left || size == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    file.seek(SeekFrom::Start(offset)).map_err(|_| Status::INVALID_FILE)?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(|_| Status::INVALID_FILE)?;
    Ok(Reader { bytes, storage: Storage::File { descriptor, offset, size } })
}
