//! What LLVM's decoder makes of an encoding, operand by operand, and how its printer shows them.

use anyhow::{Context, Result, bail};

use crate::facts::{Facts, Instruction};

/// Where the value at one place of LLVM's operand list comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    /// The operand of that number of the instruction.
    Field(usize),
    /// Put in after decoding.
    Constant(u16),
    /// Put in after decoding: vcc.
    Vcc,
    /// Words after the encoding: which byte of them.
    Extra(u8),
    /// As at another place.
    Same(usize),
}

mod bit {
    pub(super) const SOPK: u32 = 5;
    pub(super) const VOP1: u32 = 7;
    pub(super) const VOP2: u32 = 8;
    pub(super) const VOPC: u32 = 9;
    pub(super) const VOP3: u32 = 10;
    pub(super) const VOP3P: u32 = 12;
    pub(super) const SDWA: u32 = 14;
    pub(super) const DPP: u32 = 15;
    pub(super) const MUBUF: u32 = 17;
    pub(super) const MTBUF: u32 = 18;
    pub(super) const SMRD: u32 = 19;
    pub(super) const MIMG: u32 = 20;
    pub(super) const EXP: u32 = 23;
    pub(super) const FLAT: u32 = 24;
    pub(super) const VINTERP: u32 = 29;
    pub(super) const VOP3_OPSEL: u32 = 42;
    pub(super) const IS_PACKED: u32 = 49;
    pub(super) const IS_ATOMIC_RET: u32 = 58;
    pub(super) const IS_WMMA: u32 = 59;
    pub(super) const IS_SWMMAC: u32 = 63;
}

const GLC: u16 = 1;

/// LLVM's operand list while its decoder works on it.
struct List<'a> {
    instruction: &'a Instruction,
    places: Vec<Place>,
}

impl List<'_> {
    fn has(&self, name: &str) -> bool {
        self.instruction.position(name).is_some()
    }

    fn insert(&mut self, name: &str, place: Place) {
        if let Some(position) = self.instruction.position(name) {
            let position = position.min(self.places.len());
            self.places.insert(position, place);
        }
    }

    /// Inserts where the list is still short.
    fn fill(&mut self, name: &str) {
        if self.places.len() < self.instruction.operands.len() {
            self.insert(name, Place::Constant(0));
        }
    }
}

/// The operand list as LLVM's decoder leaves it.
pub(crate) fn places(facts: &Facts, instruction: &Instruction) -> Vec<Place> {
    let decoded =
        instruction.operands.iter().enumerate().filter(|(_, operand)| !operand.runs.is_empty());
    let mut list = List { instruction, places: decoded.map(|(at, _)| Place::Field(at)).collect() };
    if instruction.is(bit::DPP) {
        dpp(&mut list);
    }
    if is_mac(&instruction.name) {
        list.insert("src2_modifiers", Place::Constant(0));
    }
    if has_cache_policy(instruction) {
        cache_policy(&mut list);
    }
    if instruction.is(bit::MUBUF) || instruction.is(bit::MTBUF) {
        list.insert("swz", Place::Constant(0));
    }
    if instruction.is(bit::MIMG) {
        separate_addresses(&mut list);
    }
    let traverses = instruction
        .image
        .as_ref()
        .and_then(|image| facts.images.get(&image.0))
        .map(|row| row.get("flags"));
    if let Some(flags) = traverses.filter(|flags| flags.split('|').any(|flag| flag == "BVH")) {
        let a16 = flags.split('|').any(|flag| flag == "A16");
        list.places.push(Place::Constant(a16.into()));
    }
    if instruction.is(bit::EXP)
        && (instruction.namespace == "GFX11" || instruction.namespace == "GFX12")
    {
        list.insert("vm", Place::Constant(0));
        list.insert("compr", Place::Constant(0));
    }
    if instruction.is(bit::VINTERP) && instruction.name.contains("_F16_F32_inreg") {
        list.insert("op_sel", Place::Constant(0));
    }
    if instruction.is(bit::SDWA) {
        sdwa(&mut list);
    }
    tied_destination(&mut list);
    if list.has("imm")
        && !instruction.is(bit::SOPK)
        && let Some(imm) = list.instruction.position("imm")
    {
        list.insert("immX", Place::Same(imm));
    }
    list.places
}

fn dpp(list: &mut List<'_>) {
    let instruction = list.instruction;
    let old_is_free = list.has("old")
        && !instruction.tied.iter().any(|(left, right)| left == "old" || right == "old");
    if old_is_free {
        list.insert("old", Place::Constant(0));
        list.insert("src2_modifiers", Place::Constant(0));
    }
    let destination_in = |list: &mut List<'_>| {
        if let Some(first) = list.places.first().cloned() {
            list.insert("vdst_in", first);
        }
    };
    if instruction.is(bit::VOP3P) {
        for name in ["vdst_in", "op_sel", "op_sel_hi", "neg_lo", "neg_hi"] {
            list.fill(name);
        }
    } else if instruction.is(bit::VOPC) {
        for name in ["old", "src0_modifiers", "src1_modifiers"] {
            list.fill(name);
        }
    } else if instruction.flags.contains("VOPC64DPP") {
        list.fill("op_sel");
    } else if list.has("dpp8") {
        destination_in(list);
        if list.places.len() < instruction.operands.len() && list.has("op_sel") {
            list.fill("op_sel");
        } else {
            list.fill("src0_modifiers");
            list.fill("src1_modifiers");
        }
    } else if instruction.is(bit::VOP3) {
        destination_in(list);
        list.fill("op_sel");
    }
}

fn is_mac(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("V_") else { return false };
    let Some((operation, generation)) = rest.split_once("_e64_") else { return false };
    let operations = [
        "MAC_F32",
        "MAC_LEGACY_F32",
        "MAC_F16",
        "FMAC_F64",
        "FMAC_F32",
        "FMAC_LEGACY_F32",
        "FMAC_DX9_ZERO_F32",
        "FMAC_F16",
        "FMAC_F16_t16",
        "FMAC_F16_fake16",
        "DOT2C_F32_F16",
        "DOT2C_F32_BF16",
        "DOT2C_I32_I16",
        "DOT4C_I32_I8",
        "DOT8C_I32_I4",
    ];
    operations.contains(&operation)
        && matches!(generation, "vi" | "gfx90a" | "gfx10" | "gfx11" | "gfx12")
}

fn has_cache_policy(instruction: &Instruction) -> bool {
    [bit::MUBUF, bit::FLAT, bit::SMRD].iter().any(|bit| instruction.is(*bit))
}

/// Whether LLVM sets the bit that asks for the value before, whatever the encoding holds.
pub(crate) fn returns_value(instruction: &Instruction) -> bool {
    has_cache_policy(instruction) && instruction.is(bit::IS_ATOMIC_RET)
}

fn cache_policy(list: &mut List<'_>) {
    let Some(position) = list.instruction.position("cpol") else { return };
    let returns = if returns_value(list.instruction) { GLC } else { 0 };
    if list.places.len() <= position {
        list.insert("cpol", Place::Constant(returns));
    }
}

fn separate_addresses(list: &mut List<'_>) {
    let (Some(first), Some(resource)) =
        (list.instruction.position("vaddr0"), list.instruction.position("srsrc"))
    else {
        return;
    };
    for extra in 0..resource - first - 1 {
        list.places.insert(first + 1 + extra, Place::Extra(extra as u8));
    }
}

fn sdwa(list: &mut List<'_>) {
    let before_gfx9 = list.instruction.predicates.iter().any(|p| p == "isGFX8Only")
        || list.instruction.name.ends_with("_sdwa_vi");
    let compares = list.has("sdst");
    match (before_gfx9, compares) {
        (false, true) => list.insert("clamp", Place::Constant(0)),
        (false, false) => {}
        (true, true) => list.insert("sdst", Place::Vcc),
        (true, false) => list.insert("omod", Place::Constant(0)),
    }
}

fn tied_destination(list: &mut List<'_>) {
    let instruction = list.instruction;
    let Some(position) = instruction.position("vdst_in") else { return };
    let tied =
        instruction.tied.iter().find_map(|(left, right)| match (left.as_str(), right.as_str()) {
            (other, "vdst_in") | ("vdst_in", other) => instruction.position(other),
            _ => None,
        });
    if let Some(tied) = tied {
        if list.places.len() > position {
            list.places.remove(position);
        }
        list.insert("vdst_in", Place::Same(tied));
    }
}

/// One step of printing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    Text(String),
    Print(&'static str, usize),
}

/// A mnemonic, its suffix, and the steps that print what follows.
pub(crate) struct Program {
    pub(crate) mnemonic: String,
    pub(crate) suffix: String,
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn program(facts: &Facts, instruction: &Instruction) -> Result<Program> {
    let asm = instruction.asm.replace('}', "");
    let end = asm.find([' ', '$']).unwrap_or(asm.len());
    let (mnemonic, mut rest) = asm.split_at(end);
    // `{_e64_dpp}` stands for a suffix.
    let (mnemonic, suffix) = mnemonic.split_once('{').unwrap_or((mnemonic, ""));
    let mut program =
        Program { mnemonic: mnemonic.to_owned(), suffix: suffix.to_owned(), steps: Vec::new() };
    while !rest.is_empty() {
        let text_end = rest.find('$').unwrap_or(rest.len());
        let (text, after) = rest.split_at(text_end);
        if !text.is_empty() {
            program.steps.push(Step::Text(text.to_owned()));
        }
        let Some(after) = after.strip_prefix('$') else { break };
        let name_end =
            after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, after) = after.split_at(name_end);
        let position = instruction
            .position(name)
            .with_context(|| format!("{}: no operand {name}", instruction.name))?;
        print(facts, instruction, position, &mut program)?;
        rest = after;
    }
    fold_addresses(instruction, &mut program.steps);
    Ok(program)
}

/// `[$vaddr0, $vaddr1]` becomes one step, since how many there are is known only when decoding.
fn fold_addresses(instruction: &Instruction, steps: &mut Vec<Step>) {
    let Some(first) = instruction.position("vaddr0") else { return };
    let Some(start) = steps.iter().position(|step| *step == Step::Print("Operand", first)) else {
        return;
    };
    let Some(Step::Text(before)) = start.checked_sub(1).and_then(|at| steps.get_mut(at)) else {
        return;
    };
    if !before.ends_with('[') {
        return;
    }
    before.pop();
    let closing = |step: &Step| matches!(step, Step::Text(text) if text.starts_with(']'));
    let Some(end) = steps.iter().skip(start).position(closing).map(|at| start + at) else { return };
    if let Some(Step::Text(after)) = steps.get_mut(end) {
        after.remove(0);
    }
    steps.splice(start..end, [Step::Print("Addresses", first)]);
}

fn print(
    facts: &Facts,
    instruction: &Instruction,
    position: usize,
    program: &mut Program,
) -> Result<()> {
    let operand = &instruction.operands[position];
    let kind = facts
        .operands
        .get(&operand.kind)
        .with_context(|| format!("no operand kind {}", operand.kind))?;
    let method = kind.get("print").split(' ').next().unwrap_or_default();
    let name = instruction.name.as_str();
    let mut step = |what, at| program.steps.push(Step::Print(what, at));
    match method {
        "printVOPDst" | "printVINTRPDst" => {
            if position == 0 {
                program.suffix =
                    if method == "printVINTRPDst" { "_e32" } else { suffix(instruction) }
                        .to_owned();
                program.steps.push(Step::Text(" ".into()));
            }
            program.steps.push(Step::Print("Operand", position));
            if carries_in(name, &["e32", "sdwa", "dpp", "dpp8"]) {
                program.steps.push(Step::Print("Vcc", 0));
            }
        }
        "" | "printOperand" | "printRegularOperand" => {
            if operand.kind == "VersionImm" {
                step("Version", position);
                return Ok(());
            }
            if method != "printRegularOperand" && prints_vcc_first(instruction, position) {
                step("VccFirst", 0);
            }
            step("Operand", position);
            after_operand(instruction, position, program);
        }
        "printOperandAndFPInputMods" | "printOperandAndIntInputMods" => {
            if position == 0 && implies_vcc(instruction) && instruction.is(bit::DPP) {
                step("VccFirst", 0);
            }
            let float = method == "printOperandAndFPInputMods";
            step(if float { "FloatModifiers" } else { "IntModifiers" }, position);
            let is_src1 = instruction.position("src1") == Some(position + 1);
            let listed = if float {
                matches!(
                    name,
                    "V_CNDMASK_B32_sdwa_gfx10"
                        | "V_CNDMASK_B32_dpp_gfx10"
                        | "V_CNDMASK_B32_dpp_gfx11"
                )
            } else {
                carries_in(name, &["sdwa"]) && name.ends_with("gfx10")
            };
            // The operand itself may be one that prints vcc after it, inside its modifiers.
            if after_operand(instruction, position + 1, program) {
                program.steps.truncate(program.steps.len() - 2);
                program.steps.push(Step::Print(
                    if float { "FloatModifiersVcc" } else { "IntModifiers" },
                    position,
                ));
                if !float {
                    program.steps.push(Step::Print("Vcc", 0));
                }
            }
            if listed && is_src1 {
                program.steps.push(Step::Print("Vcc", 0));
            }
        }
        "printU16ImmOperand" if operand.kind == "VersionImm" => step("Version", position),
        // Printed after the offset register.
        "printFORMAT" => {}
        "printOpSel" => step(op_sel(name), position),
        "printBLGP" => step(if is_double_matrix(name) { "BlgpNeg" } else { "Blgp" }, position),
        "printNamedBit" if operand.name == "gds" => step("Gds", position),
        _ => {
            step(simple(method).with_context(|| format!("{name}: no printer {method}"))?, position);
        }
    }
    Ok(())
}

fn suffix(instruction: &Instruction) -> &'static str {
    let flag = |name: &str| instruction.flags.contains(name);
    match () {
        () if instruction.is(bit::VOP3) && instruction.is(bit::DPP) => "_e64_dpp",
        () if instruction.is(bit::VOP3) => {
            if flag("VOP3Pair") {
                "_e64"
            } else {
                ""
            }
        }
        () if instruction.is(bit::DPP) => "_dpp",
        () if instruction.is(bit::SDWA) => "_sdwa",
        () if instruction.is(bit::VOP1) && flag("VOP1Pair")
            || instruction.is(bit::VOP2) && flag("VOP2Pair") =>
        {
            "_e32"
        }
        () => "",
    }
}

/// Additions and subtractions with carry of gfx10 and later, whose vcc is not in the template.
fn carries_in(name: &str, encodings: &[&str]) -> bool {
    let Some(rest) = name.strip_prefix("V_") else { return false };
    let Some((operation, rest)) = rest.split_once("_CO_CI_U32_") else { return false };
    let Some((encoding, generation)) = rest.split_once('_') else { return false };
    matches!(operation, "ADD" | "SUB" | "SUBREV")
        && encodings.contains(&encoding)
        && matches!(generation, "gfx10" | "gfx11" | "gfx12")
}

fn implies_vcc(instruction: &Instruction) -> bool {
    instruction.is(bit::VOPC)
        && (instruction.defs.contains("VCC") || instruction.defs.contains("VCC_LO"))
}

fn prints_vcc_first(instruction: &Instruction, position: usize) -> bool {
    let second = position == 1
        && instruction.is(bit::DPP)
        && instruction.position("src0_modifiers").is_some();
    (position == 0 || second) && implies_vcc(instruction)
}

/// vcc after the last source of selects and carries, and the format of typed buffers after the offset register.
/// Whether it was vcc.
fn after_operand(instruction: &Instruction, position: usize, program: &mut Program) -> bool {
    let name = instruction.name.as_str();
    let selects = matches!(
        name,
        "V_CNDMASK_B32_e32_gfx10"
            | "V_CNDMASK_B32_dpp8_gfx10"
            | "V_CNDMASK_B32_e32_gfx11"
            | "V_CNDMASK_B32_dpp8_gfx11"
            | "V_CNDMASK_B32_e32_gfx12"
            | "V_CNDMASK_B32_dpp_gfx12"
            | "V_CNDMASK_B32_dpp8_gfx12"
            | "V_CNDMASK_B32_e32_vi"
    );
    let prints_vcc = (selects || carries_in(name, &["e32", "dpp", "dpp8"]))
        && instruction.position("src1") == Some(position);
    if prints_vcc {
        program.steps.push(Step::Print(if position == 0 { "VccFirst" } else { "Vcc" }, 0));
    }
    if instruction.is(bit::MTBUF)
        && instruction.position("soffset") == Some(position)
        && let Some(format) = instruction.position("format")
    {
        program.steps.push(Step::Print("BufferFormat", format));
    }
    prints_vcc
}

fn op_sel(name: &str) -> &'static str {
    let lanes =
        ["V_PERMLANE16_B32", "V_PERMLANEX16_B32", "V_PERMLANE16_VAR_B32", "V_PERMLANEX16_VAR_B32"];
    let lanes = lanes.iter().any(|l| {
        name.strip_prefix(l).is_some_and(|rest| !rest.contains("dpp") && rest.starts_with("_"))
    });
    let bytes = [
        "V_CVT_F32_BF8_e64",
        "V_CVT_F32_FP8_e64",
        "V_CVT_PK_F32_BF8_fake16_e64",
        "V_CVT_PK_F32_FP8_fake16_e64",
        "V_CVT_PK_F32_BF8_t16_e64",
        "V_CVT_PK_F32_FP8_t16_e64",
    ];
    let bytes = name.ends_with("_gfx12") && bytes.iter().any(|b| name.starts_with(b));
    match () {
        () if lanes => "OpSelLanes",
        () if bytes => "OpSelByte",
        () => "OpSel",
    }
}

fn is_double_matrix(name: &str) -> bool {
    matches!(
        name,
        "V_MFMA_F64_16X16X4F64_gfx940_acd"
            | "V_MFMA_F64_16X16X4F64_gfx940_vcd"
            | "V_MFMA_F64_4X4X4F64_gfx940_acd"
            | "V_MFMA_F64_4X4X4F64_gfx940_vcd"
    )
}

fn simple(method: &str) -> Option<&'static str> {
    Some(match method {
        "printNamedInt" => "NamedInt",
        "printNamedBit" => "NamedBit",
        "printCPol" => "CachePolicy",
        "printU16ImmOperand" => "U16",
        "printU32ImmOperand" => "U32",
        "printFP64ImmOperand" => "F64",
        "printSMEMOffset" => "ScalarOffset",
        "printOffset" => "Offset",
        "printFlatOffset" => "FlatOffset",
        "printOModSI" => "OutputModifier",
        "printDppFI" => "DppFetchInvalid",
        "printDppBoundCtrl" => "DppBoundCtrl",
        "printDPPCtrl" => "DppCtrl",
        "printDPP8" => "Dpp8",
        "printSDWADstSel" => "SdwaDst",
        "printSDWASrc0Sel" => "SdwaSrc0",
        "printSDWASrc1Sel" => "SdwaSrc1",
        "printSDWADstUnused" => "SdwaUnused",
        "printR128A16" => "R128A16",
        "printOpSelHi" => "OpSelHi",
        "printNegLo" => "NegLo",
        "printNegHi" => "NegHi",
        "printMatrixAFMT" => "MatrixAFormat",
        "printMatrixBFMT" => "MatrixBFormat",
        "printMatrixAScale" => "MatrixAScale",
        "printMatrixBScale" => "MatrixBScale",
        "printMatrixAScaleFmt" => "MatrixAScaleFormat",
        "printMatrixBScaleFmt" => "MatrixBScaleFormat",
        "printInterpSlot" => "InterpSlot",
        "printInterpAttr" => "InterpAttr",
        "printInterpAttrChan" => "InterpAttrChan",
        "printIndexKey8bit" | "printIndexKey16bit" | "printIndexKey32bit" => "IndexKey",
        "printHwreg" => "HwReg",
        "printGPRIdxMode" => "GprIdxMode",
        "printExpTgt" => "ExportTarget",
        "printExpSrc0" => "ExportSource0",
        "printExpSrc1" => "ExportSource1",
        "printExpSrc2" => "ExportSource2",
        "printExpSrc3" => "ExportSource3",
        "printEndpgm" => "EndPgm",
        "printDim" => "Dim",
        "printDepCtr" => "DepCtr",
        "printBitOp3" => "BitOp3",
        "printSwizzle" => "Swizzle",
        "printSendMsg" => "SendMsg",
        "printSWaitCnt" => "WaitCnt",
        "printSDelayALU" => "DelayAlu",
        "printAVLdSt32Align2RegOp" => "FirstRegister",
        _ => return None,
    })
}

/// The slots whose modifiers `op_sel` and the like list; `None` for a source without modifiers.
pub(crate) fn packed(instruction: &Instruction) -> Vec<Option<usize>> {
    let modifiers = |n: usize| instruction.position(&format!("src{n}_modifiers"));
    if instruction.is(bit::IS_WMMA) || instruction.is(bit::IS_SWMMAC) {
        return (0..3).map(modifiers).collect();
    }
    let has = |n: usize| instruction.position(&format!("src{n}")).is_some();
    let count = (0..3).take_while(|n| has(*n)).count();
    if count == 1 && has(2) {
        return vec![modifiers(0), None, modifiers(2)];
    }
    (0..count).map(modifiers).collect()
}

pub(crate) fn selects_half(instruction: &Instruction) -> bool {
    let has_destination =
        instruction.position("vdst").is_some() || instruction.position("sdst").is_some();
    has_destination && instruction.is(bit::VOP3_OPSEL)
}

pub(crate) fn is_packed(instruction: &Instruction) -> bool {
    instruction.is(bit::IS_PACKED)
}

/// How a field becomes an operand, and its width in bits.
pub(crate) fn source(kind: &str, decoder: &str) -> Result<(&'static str, u16)> {
    let (name, width) = match decoder.split_once('<') {
        Some((name, width)) => (name, width.trim_end_matches('>').parse()?),
        None => (decoder, 0),
    };
    Ok(match name {
        "" | "decodeSOPPBrTarget" | "decodeVersionImm" | "decodeDpp8FI" => ("Immediate", 0),
        "decodeSMEMOffset" => ("ScalarOffset", 0),
        "decodeOperand_KImmFP" => ("Literal", 32),
        "decodeOperand_KImmFP64" => ("Literal", 64),
        "decodeSrcRegOrImm9" | "decodeSrcReg9" | "decodeSrcAV10" => ("Any", width),
        "decodeOperand_VSrc_f64" => ("Any", 64),
        "decodeSplitBarrier" => ("Any", 32),
        "decodeAVLdSt" | "decodeAV10" => ("Vector", width),
        "decodeSrcRegOrImmA9" | "decodeSrcA9" => ("Accumulator", width),
        "decodeBoolReg" => ("Mask", 0),
        "decodeOperand_VSrcT16" => ("AnyHalf", 16),
        "decodeOperand_VSrcT16_Lo128" => ("AnyHalfLow", 16),
        "DecodeVGPR_32_Lo128RegisterClass" => ("VgprLow", 32),
        "DecodeVGPR_16RegisterClass" | "decodeOperand_VGPR_16" => ("Half", 16),
        "DecodeVGPR_16_Lo128RegisterClass" => ("HalfLow", 16),
        "decodeSDWASrc32" => ("Sdwa", 32),
        "decodeSDWASrc16" => ("Sdwa", 16),
        "decodeSDWAVopcDst" => ("SdwaMask", 0),
        "decodeOperandVOPDDstY" => ("DualDestination", 32),
        _ => default_register_class(name).with_context(|| format!("{kind}: no decoder {name}"))?,
    })
}

fn default_register_class(name: &str) -> Option<(&'static str, u16)> {
    let class = name.strip_prefix("Decode")?.strip_suffix("RegisterClass")?;
    let class = class.strip_suffix("_AlignTarget").unwrap_or(class);
    let mut parts = class.split('_');
    let bank = parts.next()?;
    let width = parts.next()?.parse().ok()?;
    Some(match bank {
        "VGPR" | "VReg" => ("Vgpr", width),
        "AGPR" | "AReg" => ("Agpr", width),
        "SReg" => ("Any", width),
        _ => return None,
    })
}

/// How LLVM reads a constant's encoding at a place of that operand type.
pub(crate) fn constant_type(name: &str) -> Result<&'static str> {
    Ok(match name {
        "OPERAND_KIMM16" | "OPERAND_KIMM32" => "Int32",
        "OPERAND_KIMM64" | "OPERAND_IMMEDIATE" | "OPERAND_UNKNOWN" | "OPERAND_PCREL" => "None",
        _ => operand_type(name)?,
    })
}

/// LLVM's operand type, shortened to what changes a constant's reading.
pub(crate) fn operand_type(name: &str) -> Result<&'static str> {
    Ok(match name.trim_start_matches("OPERAND_") {
        "" | "INPUT_MODS" | "KIMM16" | "KIMM32" | "KIMM64" | "SDWA_VOPC_DST" => "None",
        "REGISTER" => "Register",
        "REG_IMM_INT16" | "REG_INLINE_C_INT16" => "Int16",
        "REG_IMM_INT32"
        | "REG_INLINE_C_INT32"
        | "REG_INLINE_AC_INT32"
        | "REG_IMM_V2INT32"
        | "INLINE_SPLIT_BARRIER_INT32" => "Int32",
        "REG_IMM_INT64" | "REG_INLINE_C_INT64" => "Int64",
        "REG_IMM_FP16" | "REG_INLINE_C_FP16" => "F16",
        "REG_IMM_BF16" | "REG_INLINE_C_BF16" => "BF16",
        "REG_IMM_FP32" | "REG_INLINE_C_FP32" | "REG_INLINE_AC_FP32" | "REG_IMM_V2FP32" => "F32",
        "REG_IMM_FP64" | "REG_INLINE_C_FP64" | "REG_INLINE_AC_FP64" => "F64",
        "REG_IMM_V2INT16" => "V2Int16",
        "REG_IMM_V2FP16" => "V2F16",
        "REG_IMM_V2FP16_SPLAT" => "V2F16Splat",
        "REG_IMM_NOINLINE_V2FP16" => "V2F16NoInline",
        "REG_IMM_V2BF16" => "V2BF16",
        "REG_INLINE_C_V2FP16" => "V2InlineF16",
        "REG_INLINE_C_V2BF16" => "V2InlineBF16",
        "PCREL" => "PcRelative",
        "UNKNOWN" => "Unknown",
        "IMMEDIATE" => "Immediate",
        other => bail!("no operand type {other}"),
    })
}
