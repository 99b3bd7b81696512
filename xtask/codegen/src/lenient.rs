//! Which bits of each form the hardware ignores although LLVM demands a value of them.
//!
//! `isa-data/fields.tsv` names the fields of the formats and the operands that use them. Where LLVM fixes a field
//! and the form has none of these operands, nothing reads the field. That is looked for in forms of gfx1250 alone: their
//! code ships with other values. What does not follow from it stands in `isa-data/lenient.tsv`.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, Result, bail, ensure};

use crate::facts::{Facts, FieldFact, Instruction};
use crate::tables::split_arguments;

/// The family whose forms ignore the fields that they have no operand for.
const INFERRED: &str = "FeatureGFX1250Insts";

/// The ignored bits of the forms that have any.
pub(crate) fn ignored(facts: &Facts) -> Result<HashMap<&str, u128>> {
    let mut ignored = HashMap::new();
    let families: BTreeSet<&str> = facts.lenient.iter().map(|it| &*it.family).collect();
    for family in families {
        for (name, bits) in of_family(facts, family)? {
            ensure!(ignored.insert(name, bits).is_none(), "{name} is of two families");
        }
    }
    Ok(ignored)
}

/// Those of the processors that have a feature.
fn of_family<'f>(facts: &'f Facts, family: &str) -> Result<HashMap<&'f str, u128>> {
    let forms = forms(facts, family)?;
    let rows: Vec<_> = facts.lenient.iter().filter(|it| it.family == family).collect();
    let mut ignored = HashMap::new();
    for form in &forms {
        let unused = if family == INFERRED { unused(facts, &forms, form) } else { 0 };
        let listed = rows.iter().filter(|it| form.name().starts_with(&it.instructions));
        let bits = listed.fold(unused, |bits, it| bits | it.ignored & form.instruction.mask);
        if bits != 0 {
            ignored.insert(form.name(), bits);
        }
    }
    for row in rows {
        let (prefix, bits) = (&*row.instructions, row.ignored);
        let is_used = |(name, found): (&&str, &u128)| name.starts_with(prefix) && found & bits != 0;
        ensure!(ignored.iter().any(is_used), "lenient.tsv: {prefix}: no form fixes these bits");
    }
    refuse_ambiguity(&forms, &ignored)?;
    Ok(ignored)
}

/// The fields that a form has no operand for, and that tell it from no other.
fn unused(facts: &Facts, forms: &[Form<'_>], form: &Form<'_>) -> u128 {
    let fields = facts.fields.iter().filter(|field| is_unused(field, form.instruction));
    let free = fields.filter(|field| !selects(forms, form, field.bits));
    free.fold(0, |bits, field| bits | field.bits)
}

/// A form and the settings, a bit for each, under which a decoder has it.
struct Form<'a> {
    instruction: &'a Instruction,
    settings: u32,
}

impl<'a> Form<'a> {
    fn name(&self) -> &'a str {
        &self.instruction.name
    }

    /// Whether its encoding has all of these bits.
    fn has(&self, bits: u128) -> bool {
        bits.leading_zeros() + u32::from(self.instruction.size) * 8 >= u128::BITS
    }

    fn may_meet(&self, other: &Form<'_>) -> bool {
        self.name() != other.name() && self.settings & other.settings != 0
    }

    /// Whether an encoding can be both, where these bits may be anything in each.
    fn overlaps(&self, ignored: u128, other: &Form<'_>, other_ignored: u128) -> bool {
        let (one, other) = (self.instruction, other.instruction);
        let fixed = one.mask & !ignored & other.mask & !other_ignored;
        (one.value ^ other.value) & fixed == 0
    }
}

/// The forms of a family.
fn forms<'f>(facts: &'f Facts, family: &str) -> Result<Vec<Form<'f>>> {
    let settings = settings(facts, family);
    let mut forms = Vec::new();
    for instruction in &facts.instructions {
        let mut found = 0;
        for (number, features) in settings.iter().enumerate() {
            let has = is_in_a_table(facts, instruction, features)
                && are_fulfilled(facts, &instruction.predicates, features)
                    .with_context(|| instruction.name.clone())?;
            found |= u32::from(has) << number;
        }
        if found != 0 {
            forms.push(Form { instruction, settings: found });
        }
    }
    Ok(forms)
}

/// The features of each processor of the family, with halves of registers and without.
fn settings<'f>(facts: &'f Facts, family: &str) -> Vec<BTreeSet<&'f str>> {
    let family = facts.processors.values().filter(|it| it.iter().any(|it| it == family));
    let each = family.flat_map(|features| {
        let mut without: BTreeSet<&str> = features.iter().map(String::as_str).collect();
        without.insert("FeatureWavefrontSize32");
        without.remove("FeatureRealTrue16Insts");
        let mut with = without.clone();
        with.insert("FeatureRealTrue16Insts");
        [without, with]
    });
    each.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The features that code for a processor may be decoded with: waves of either size, halves of registers or none.
pub(crate) fn settings_of<'f>(facts: &'f Facts, processor: &str) -> Vec<BTreeSet<&'f str>> {
    let features = facts.processors.get(processor).into_iter().flatten();
    let bare: BTreeSet<&str> = features.map(String::as_str).collect();
    let wave32 = "FeatureWavefrontSize32";
    let mut settings = vec![bare.clone()];
    if bare.contains("FeatureTrue16BitInsts") {
        settings.push(bare.iter().copied().chain(["FeatureRealTrue16Insts"]).collect());
        settings.push(bare.iter().copied().filter(|it| *it != "FeatureRealTrue16Insts").collect());
    }
    let wide = settings.clone();
    settings.extend(wide.into_iter().map(|it| it.into_iter().chain([wave32]).collect()));
    settings
}

/// Whether a decoder with these features has the instruction.
pub(crate) fn is_of(
    facts: &Facts,
    instruction: &Instruction,
    features: &BTreeSet<&str>,
) -> Result<bool> {
    Ok(is_in_a_table(facts, instruction, features)
        && are_fulfilled(facts, &instruction.predicates, features)?)
}

fn is_in_a_table(facts: &Facts, instruction: &Instruction, features: &BTreeSet<&str>) -> bool {
    facts.order.iter().any(|row| {
        let when = row.get("when");
        row.get("namespace") == instruction.namespace
            && row.get("bytes") == instruction.size.to_string()
            && (when.is_empty() || when.split('|').any(|feature| features.contains(feature)))
    })
}

fn are_fulfilled(facts: &Facts, predicates: &[String], features: &BTreeSet<&str>) -> Result<bool> {
    for predicate in predicates {
        let Some(condition) = facts.predicates.get(predicate) else { continue };
        if !holds(condition, features).with_context(|| predicate.clone())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether `(all_of A, (not B))` and the like is true of features.
fn holds(condition: &str, features: &BTreeSet<&str>) -> Result<bool> {
    let condition = condition.trim();
    let Some(inner) = condition.strip_prefix('(') else { return Ok(features.contains(condition)) };
    let inner = inner.strip_suffix(')').context("unbalanced")?;
    let (operator, arguments) = inner.split_once(' ').context("no argument")?;
    let truths = split_arguments(arguments).into_iter().map(|it| holds(it, features));
    let truths: Vec<bool> = truths.collect::<Result<_>>()?;
    Ok(match operator {
        "all_of" => truths.iter().all(|it| *it),
        "any_of" => truths.iter().any(|it| *it),
        "not" => !truths.iter().any(|it| *it),
        other => bail!("no operator {other}"),
    })
}

/// Whether LLVM fixes a field that the instruction has no operand for.
fn is_unused(field: &FieldFact, instruction: &Instruction) -> bool {
    let is_of_format = field.bytes.contains(&instruction.size)
        && instruction.mask & field.mask == field.mask
        && instruction.value & field.mask == field.value;
    is_of_format
        && instruction.mask & field.bits == field.bits
        && field.operands.iter().all(|name| instruction.position(name).is_none())
}

/// Whether bits tell a form from another that is alike in all others: then the hardware reads them.
fn selects(forms: &[Form<'_>], form: &Form<'_>, bits: u128) -> bool {
    let in_bits = |it: &Form<'_>| (it.instruction.mask & bits, it.instruction.value & bits);
    forms.iter().any(|other| {
        form.may_meet(other)
            && other.has(bits)
            && form.overlaps(bits, other, bits)
            && in_bits(form) != in_bits(other)
    })
}

/// No encoding may become two forms that LLVM tells apart.
fn refuse_ambiguity(forms: &[Form<'_>], ignored: &HashMap<&str, u128>) -> Result<()> {
    let of = |form: &Form<'_>| ignored.get(form.name()).copied().unwrap_or_default();
    for (number, one) in forms.iter().enumerate() {
        for other in &forms[number + 1..] {
            let is_new = one.may_meet(other)
                && one.overlaps(of(one), other, of(other))
                && !one.overlaps(0, other, 0);
            ensure!(!is_new, "{} and {} become alike", one.name(), other.name());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    /// The ignored bits of a form of LLVM's.
    fn of(name: &str) -> u128 {
        static FOUND: LazyLock<HashMap<String, u128>> = LazyLock::new(|| {
            let facts = Facts::read(&crate::root().join("isa-data")).unwrap();
            let ignored = ignored(&facts).unwrap();
            let bits = |it: &Instruction| ignored.get(&*it.name).copied().unwrap_or_default();
            facts.instructions.iter().map(|it| (it.name.clone(), bits(it))).collect()
        });
        FOUND[name]
    }

    #[test]
    fn what_selects_a_form_is_not_ignored() {
        let addresses = 0xffff_u128 << 80;
        assert_eq!(of("TENSOR_LOAD_TO_LDS_D2_gfx1250") & addresses, 0);
        // No scalar address is what this one is about; an instruction without any address has none to choose.
        assert_eq!(of("GLOBAL_LOAD_DWORD_gfx12") & 0x7f, 0);
        assert_eq!(of("GLOBAL_INV_gfx12") & 0x7f, 0x7f);
        assert_eq!(of("SCRATCH_LOAD_DWORD_gfx12") >> 49 & 1, 0);
    }

    #[test]
    fn a_shorter_form_selects_nothing_beyond_its_end() {
        assert_eq!(of("V_WMMA_SCALE_F32_16X16X128_F8F6F4_f8_f8_w32_gfx1250") >> 79 & 1, 1);
    }

    #[test]
    fn modifiers_that_old_compilers_set_are_ignored() {
        let [abs, neg] = [7_u128 << 8, 7 << 61];
        for name in ["V_PERMLANE16_B32_gfx10", "V_PERMLANEX16_B32_e64_gfx11"] {
            assert_eq!(of(name), abs | neg, "{name}");
        }
        assert_eq!(of("V_ADD_F32_e64_gfx10"), 0);
    }

    #[test]
    fn operands_decide_which_fields_are_read() {
        // A third source, though it is the destination's register, has its modifiers.
        assert_eq!(of("V_FMAC_F32_e64_gfx12") & 1 << 63, 0);
        assert_eq!(of("V_ADD_F32_e64_gfx12") & 1 << 63, 1 << 63);
        assert_eq!(of("DS_READ_B32_gfx12"), 0xffff << 40);
    }

    #[test]
    fn conditions_hold_of_features() {
        let features = BTreeSet::from(["A", "B"]);
        for (condition, expected) in [
            ("A", true),
            ("C", false),
            ("(all_of A, (not C))", true),
            ("(any_of C, (not B))", false),
        ] {
            assert_eq!(holds(condition, &features).unwrap(), expected, "{condition}");
        }
        assert!(holds("(none_of A)", &features).is_err());
    }
}
