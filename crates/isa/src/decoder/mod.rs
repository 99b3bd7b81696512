//! The decoder: bytes to instructions, and what there is to say of an instruction, each by the layer that knows it.

mod cache;

use std::fmt;
use std::sync::Arc;

pub use crate::model::options::{DecodeOptions, Mode, UnsupportedProcessor};
pub use cache::DecoderCache;

use crate::decode::Matcher;
use crate::effects::hazard::Hazards;
use crate::effects::{Effects, QuickSlots};
use crate::model::{Arch, Form, Inst, Model, Operand, OperandValue, RegisterFile, VgprMsb};
use crate::print::{Page, Printer, Token};
use crate::target::Processor;

/// Decodes and prints the instructions of one processor.
///
/// ```
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
/// assert_eq!(inst.len(), 4);
/// assert_eq!(decoder.text(&inst), "v_add_u32_e32 v3, v1, v2");
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone)]
pub struct Decoder {
    machine: Arc<Machine>,
    /// What prints, where the text is another decoder's.
    text: Option<Arc<Machine>>,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decoder").field(&self.machine.model.arch).finish()
    }
}

/// The layers for one processor, each with what it has worked out.
struct Machine {
    model: Arc<Model>,
    matcher: Matcher,
    printer: Printer,
    quick: QuickSlots,
}

impl Decoder {
    /// A strict decoder with LLVM 22's settings for the processor.
    pub fn new(processor: Processor) -> Result<Self, UnsupportedProcessor> {
        Self::with_options(processor, DecodeOptions::default())
    }

    /// A decoder with settings of its own.
    pub fn with_options(
        processor: Processor,
        options: DecodeOptions,
    ) -> Result<Self, UnsupportedProcessor> {
        let model = Arc::new(Model::new(processor, options)?);
        let machine = Machine {
            matcher: Matcher::new(Arc::clone(&model), options.mode),
            printer: Printer::new(Arc::clone(&model)),
            quick: QuickSlots::new(),
            model,
        };
        Ok(Decoder { machine: Arc::new(machine), text: None })
    }

    /// The same decoder with the text of another. Analyses decode with the wave size and registers that code really
    /// has; its text is what LLVM's defaults print. What the other decoder does not decode keeps its own text.
    ///
    /// ```
    /// use hsaco_isa::decoder::DecodeOptions;
    /// use hsaco_isa::target::WaveSize;
    /// use hsaco_isa::{Decoder, Processor};
    /// let gfx1030 = Processor::from_name("gfx1030").unwrap();
    /// let wave64 = DecodeOptions { wave_size: Some(WaveSize::Wave64), ..DecodeOptions::default() };
    /// let wave64 = Decoder::with_options(gfx1030, wave64)?;
    /// let llvm = Decoder::new(gfx1030)?;
    /// let inst = wave64.decode(&[0x01, 0x05, 0x84, 0x7d]).unwrap();
    /// assert_eq!(wave64.text(&inst), "v_cmp_eq_u32_e32 vcc, v1, v2");
    /// assert_eq!(wave64.with_text_of(&llvm).text(&inst), "v_cmp_eq_u32_e32 vcc_lo, v1, v2");
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn with_text_of(&self, other: &Decoder) -> Self {
        let is_other = |it: &&Arc<Machine>| it.model.features != self.machine.model.features;
        let text = Some(&other.machine).filter(is_other);
        Decoder { machine: Arc::clone(&self.machine), text: text.cloned() }
    }

    /// The instruction at the start of `bytes`, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        self.machine.matcher.decode(bytes)
    }

    /// The instruction at the start of `bytes` that LLVM decodes and then refuses; it remarks on its operands all
    /// the same ([`print_remarks`](Self::print_remarks)).
    #[must_use]
    pub fn refused(&self, bytes: &[u8]) -> Option<Inst> {
        self.machine.matcher.refused(bytes)
    }

    /// What the first four bytes of instructions of these names look like: pairs of a mask and the value
    /// under it. A search for few instructions in much code starts from these. All names are looked for at once.
    ///
    /// ```
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let nop = decoder.first_words(&["s_nop"]);
    /// assert!(nop.iter().any(|(mask, value)| 0xbf80_0000 & mask == *value));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn first_words(&self, mnemonics: &[&str]) -> Vec<(u32, u32)> {
        let mut words = self.machine.matcher.first_words(|form| {
            mnemonics.contains(&form.mnemonic()) || mnemonics.contains(&form.full_mnemonic())
        });
        words.sort_unstable();
        words.dedup();
        words
    }

    /// The forms that the processor has, in the order in which they are tried.
    ///
    /// ```
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// assert!(decoder.forms().any(|form| form.mnemonic() == "v_mfma_f32_32x32x8_f16"));
    /// assert!(decoder.forms().all(|form| form.mnemonic() != "v_wmma_f32_16x16x16_f16"));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn forms(&self) -> impl Iterator<Item = Form> {
        self.machine.model.forms().map(|(_, number, _)| Form::new(number))
    }

    /// Whether the processor has a form: [`forms`](Self::forms) lists it.
    #[must_use]
    pub fn has(&self, form: Form) -> bool {
        self.machine.model.has(form.number())
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.machine.model
    }

    /// What prints an instruction, and the instruction as that decodes it.
    #[inline]
    fn printer(&self, inst: &Inst) -> (&Printer, Inst) {
        match &self.text {
            None => (&self.machine.printer, *inst),
            Some(text) => self.printer_of(text, inst),
        }
    }

    #[cold]
    fn printer_of<'t>(&'t self, text: &'t Machine, inst: &Inst) -> (&'t Printer, Inst) {
        let bytes = inst.bytes();
        let own = bytes.get(..inst.len()).unwrap_or_default();
        match text.matcher.decode(own).filter(|it| it.len() == inst.len()) {
            Some(read) => (&text.printer, read),
            None => (&self.machine.printer, *inst),
        }
    }
}

impl Decoder {
    /// Appends an instruction's text, to the letter as LLVM 22 prints it.
    pub fn print(&self, inst: &Inst, out: &mut Vec<u8>) {
        self.print_after(inst, VgprMsb::default(), out);
    }

    /// The same where `s_set_vgpr_msb` came before.
    pub fn print_after(&self, inst: &Inst, state: VgprMsb, out: &mut Vec<u8>) {
        let (printer, inst) = self.printer(inst);
        printer.print_after(&inst, state, out);
    }

    /// The same, on a page.
    #[inline]
    pub fn print_on(&self, inst: &Inst, state: VgprMsb, page: &mut Page<'_>) {
        match &self.text {
            None => self.machine.printer.print_on(inst, state, page),
            Some(text) => {
                let (printer, inst) = self.printer_of(text, inst);
                printer.print_on(&inst, state, page);
            }
        }
    }

    /// The same, and where each token starts: they follow one another and cover the text.
    pub fn print_tokens(
        &self,
        inst: &Inst,
        state: VgprMsb,
        out: &mut Vec<u8>,
        tokens: &mut Vec<(Token, usize)>,
    ) {
        let (printer, inst) = self.printer(inst);
        printer.print_tokens(&inst, state, out, tokens);
    }

    /// An instruction's text.
    #[must_use]
    pub fn text(&self, inst: &Inst) -> String {
        let mut out = Vec::with_capacity(64);
        self.print(inst, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the remark that `llvm-objdump` puts after the encoding, ` ; Warning: …`, where it has one.
    #[inline]
    pub fn print_remarks(&self, inst: &Inst, out: &mut Vec<u8>) {
        self.machine.printer.print_remarks(inst, out);
    }
}

impl Decoder {
    /// Whether waves have 32 lanes.
    #[must_use]
    pub fn is_wave32(&self) -> bool {
        self.machine.model.arch.has(Arch::WAVE32)
    }

    /// Whether 16-bit operands name halves of registers.
    #[must_use]
    pub fn names_halves(&self) -> bool {
        self.machine.model.arch.has(Arch::REAL_TRUE16)
    }

    /// Whether there are VGPR MSBs, which `s_set_vgpr_msb` sets: on gfx1250.
    #[must_use]
    pub fn has_vgpr_msb(&self) -> bool {
        self.machine.model.arch.has(Arch::GFX1250)
    }

    /// Whether `s_set_gpr_idx_on` can make the numbers of vector registers relative to M0: on gfx8 and gfx9.
    #[must_use]
    pub fn has_gpr_index_mode(&self) -> bool {
        let arch = self.machine.model.arch;
        arch.has(Arch::GFX8) || arch.has(Arch::GFX9)
    }

    /// What an instruction does, where `state` holds the VGPR MSBs (the default, but on gfx1250).
    ///
    /// ```
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
    /// assert_eq!(decoder.text(&inst), "v_add_u32_e32 v3, v1, v2");
    /// let effects = decoder.effects(&inst, VgprMsb::default());
    /// let reads: Vec<String> = effects.reads().map(|register| register.to_string()).collect();
    /// let writes: Vec<String> = effects.writes().map(|register| register.to_string()).collect();
    /// assert_eq!(reads, ["v1", "v2", "exec"]);
    /// assert_eq!(writes, ["v3"]);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn effects<'a>(&'a self, inst: &'a Inst, state: VgprMsb) -> Effects<'a> {
        Effects::new(&self.machine.model, &self.machine.quick, inst, state)
    }

    /// The hazards of the processor: which instructions must stand apart, and how far.
    #[must_use]
    pub fn hazards(&self) -> Hazards {
        Hazards::of(self.machine.model.arch)
    }
}

impl Decoder {
    /// The operands of an instruction: outputs first, then inputs, each source after its modifiers.
    ///
    /// ```
    /// use hsaco_isa::model::OperandValue;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
    /// let registers: Vec<String> = decoder
    ///     .operands(&inst)
    ///     .filter_map(|operand| match operand.value {
    ///         OperandValue::Register(register) => Some(format!("{}={register}", operand.name)),
    ///         _ => None,
    ///     })
    ///     .collect();
    /// assert_eq!(registers, ["vdst=v3", "src0=v1", "src1=v2"]);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn operands(&self, inst: &Inst) -> impl Iterator<Item = Operand> + use<'_> {
        let inst = *inst;
        inst.slots().iter().filter_map(move |slot| self.machine.model.typed(&inst, slot))
    }

    /// The same, where `state` holds the upper bits of vector register numbers: on gfx1250.
    ///
    /// ```
    /// use hsaco_isa::model::{OperandValue, VgprMsb};
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx1250").unwrap())?;
    /// let inst = decoder.decode(&0x7e02_0302_u32.to_le_bytes()).unwrap();
    /// assert_eq!(decoder.text(&inst), "v_mov_b32_e32 v1, v2");
    /// let first = decoder.operands_in(&inst, VgprMsb::new(0x40)).next().unwrap();
    /// assert!(matches!(first.value, OperandValue::Register(it) if it.first == 257));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn operands_in(
        &self,
        inst: &Inst,
        state: VgprMsb,
    ) -> impl Iterator<Item = Operand> + use<'_> {
        let inst = *inst;
        inst.slots().iter().filter_map(move |slot| {
            let mut operand = self.machine.model.typed(&inst, slot)?;
            if let OperandValue::Register(register) = &mut operand.value
                && register.file == RegisterFile::Vgpr
            {
                register.first += state.upper(slot);
            }
            Some(operand)
        })
    }

    /// The operand of that name.
    #[must_use]
    pub fn operand(&self, inst: &Inst, name: &str) -> Option<OperandValue> {
        inst.named(name)
            .and_then(|slot| self.machine.model.typed(inst, slot))
            .map(|operand| operand.value)
    }
}
