//! The code of an object: the one way from a file to its instructions.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_dwarf::DebugInfo;
use hsaco_isa::target::WaveSize;
use hsaco_isa::{Decoder, Processor};
use hsaco_object::{CodeMap, CodeObject, CodeRange, Index, Kernel};

use crate::decoders::Decoders;
use crate::function::{Function, Functions};
use crate::stream::Stream;

/// An object's code: its ranges, the decoder of each function, and the functions themselves.
///
/// Every analysis starts here, so that all of them agree on which bytes are code, how they are decoded and how long a
/// kernel is.
///
/// ```
/// use hsaco_analysis::Code;
/// use hsaco_object::CodeObject;
/// # let file = include_bytes!("../../../tests/fixtures/s1.gfx942.co");
/// let code = Code::of(&CodeObject::parse(file)?)?;
/// for function in code.functions().as_slice() {
///     let decoder = code.decoder(function);
///     let stream = function.decode(&decoder);
///     println!("{:#x}: {} instructions", function.address, stream.len());
/// }
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Code<'a> {
    object: CodeObject<'a>,
    index: Index<'a>,
    map: CodeMap<'a>,
    decoders: Decoders,
    functions: Functions<'a>,
}

impl<'a> Code<'a> {
    /// Finds the functions of an object. What symbols do not name is decoded for that; on gfx11 and later all code is, to
    /// see whether 16-bit operands name halves of registers.
    ///
    /// # Errors
    /// When the processor is not known, or there are no tables of its instructions.
    pub fn of(object: &CodeObject<'a>) -> Result<Self> {
        let unsupported =
            |detail: String| Error::new(ErrorKind::Unsupported, "instructions", detail);
        let target = object.target();
        let processor = target.id().map(|it| it.processor);
        let processor =
            processor.ok_or_else(|| unsupported(format!("those of {target} are not known")))?;
        let index = object.index();
        let map = CodeMap::new(object, &index);
        let decoders = Decoders::new(&index, &map, processor);
        let decoders = decoders.map_err(|error| unsupported(error.to_string()))?;
        let functions = Functions::new(&map, decoders.usual());
        Ok(Self { object: object.clone(), index, map, decoders, functions })
    }

    /// The object.
    #[must_use]
    pub fn object(&self) -> &CodeObject<'a> {
        &self.object
    }

    /// What the object defines by name.
    #[must_use]
    pub fn index(&self) -> &Index<'a> {
        &self.index
    }

    /// The processor that the code is for.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.decoders.processor()
    }

    /// All code, by address.
    #[must_use]
    pub fn ranges(&self) -> &[CodeRange<'a>] {
        self.map.ranges()
    }

    /// Addresses and lengths, as far as they are known without decoding.
    #[must_use]
    pub fn map(&self) -> &CodeMap<'a> {
        &self.map
    }

    /// The functions, by address.
    #[must_use]
    pub fn functions(&self) -> &Functions<'a> {
        &self.functions
    }

    /// The function that is the code of a kernel.
    #[must_use]
    pub fn kernel(&self, kernel: &Kernel<'_>) -> Option<&Function<'a>> {
        let entry = self.map.entry(kernel)?;
        self.functions.as_slice().get(self.functions.index_of(entry)?)
    }

    /// The decoder of a function: of its wave size, and with or without halves of registers.
    #[must_use]
    pub fn decoder(&self, function: &Function<'_>) -> Decoder {
        self.decoders.of(function)
    }

    /// The decoder of most functions.
    #[must_use]
    pub fn usual_decoder(&self) -> &Decoder {
        self.decoders.usual()
    }

    /// The wave size of most kernels.
    #[must_use]
    pub fn usual_wave_size(&self) -> WaveSize {
        self.decoders.usual_size()
    }

    /// The entries of kernels whose waves have the other size, by address.
    #[must_use]
    pub fn unusual_entries(&self) -> &[u64] {
        self.decoders.unusual()
    }

    /// Where the code comes from, as debug information says it.
    ///
    /// # Errors
    /// When the debug information cannot be read.
    pub fn debug(&self) -> Result<DebugInfo<'a>> {
        DebugInfo::open(&self.object)
    }

    /// The instructions of a function.
    #[must_use]
    pub fn stream<'f>(&self, function: &Function<'f>) -> Stream<'f> {
        function.decode(&self.decoder(function))
    }
}
