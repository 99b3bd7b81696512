//! What functions take.

use std::sync::Arc;

use gimli::{DW_AT_decl_line, DW_AT_declaration, DW_AT_name, DW_TAG_formal_parameter};
use hsaco_bytes::Error;

use super::entry::{Entries, Entry, Position};
use super::types::{Gathering, TypeId, Types};
use super::{DebugSections, SourceMap, UnitKind};

/// What a function takes, with the types of it.
///
/// ```
/// use hsaco_dwarf::{DebugSections, SourceMap, Spelling};
/// use hsaco_elf::Elf;
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let elf = Elf::parse(&file)?;
/// let sections = DebugSections::new(&elf, 1 << 30)?;
/// let map = SourceMap::new(&sections)?;
/// let signature = map.signature_at(&sections, 0x2100)?.unwrap();
/// let input = &signature.parameters[1];
/// assert_eq!(input.name.as_deref(), Some("in"));
/// assert_eq!(signature.types.spell(input.ty, Spelling::default()), "const vec::Pair<float> *");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Signature {
    /// The parameters, in their order.
    pub parameters: Vec<Parameter>,
    /// Their types.
    pub types: Types,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// Its type in the signature's types.
    pub ty: Option<TypeId>,
}

impl SourceMap {
    /// What the function takes that has code at an address; none where the object does not say.
    pub fn signature_at(
        &self,
        sections: &DebugSections<'_>,
        address: u64,
    ) -> Result<Option<Signature>, Error> {
        let unit = self.unit_at(address).and_then(|number| self.units.get(number));
        let Some(unit) = unit else { return Ok(None) };
        let Some(function) = unit.functions(sections)?.around(address).last() else {
            return Ok(None);
        };
        let at = Position(unit.offset.saturating_add(function.entry));
        signature(&mut Entries::new(self, sections), at)
    }

    /// What the function takes that the linker knows by a name; none where the object does not say. Looks
    /// through the functions of all units.
    pub fn signature_of(
        &self,
        sections: &DebugSections<'_>,
        linkage_name: &str,
    ) -> Result<Option<Signature>, Error> {
        let dwarf = sections.dwarf();
        let mut entries = Entries::new(self, sections);
        for unit in self.units.iter().filter(|unit| unit.kind != UnitKind::Type) {
            for function in unit.functions(sections)?.outermost() {
                let at = Position(unit.offset.saturating_add(function.entry));
                if function.name(&dwarf, unit.offset).as_deref() == Some(linkage_name)
                    && !entries.entry(at)?.is(DW_AT_declaration)
                {
                    return signature(&mut entries, at);
                }
            }
        }
        Ok(None)
    }
}

fn signature(entries: &mut Entries<'_, '_>, at: Position) -> Result<Option<Signature>, Error> {
    let Some(found) = parameters(entries, at)? else { return Ok(None) };
    let mut gathering = Gathering::new(entries);
    let parameters =
        found.iter().map(|it| parameter(&mut gathering, it)).collect::<Result<_, _>>()?;
    Ok(Some(Signature { parameters, types: gathering.finish()? }))
}

/// What a parameter's entry says, or what it is a copy of.
fn parameter<'s>(
    gathering: &mut Gathering<'_, '_, 's>,
    entry: &Entry<'s>,
) -> Result<Parameter, Error> {
    let mut parameter = Parameter { name: None, ty: None };
    for origin in gathering.entries().origins(entry.position())? {
        if parameter.name.is_none() {
            parameter.name = gathering.entries().text(&origin, DW_AT_name)?;
        }
        if parameter.ty.is_none() {
            parameter.ty = gathering.type_of(&origin)?;
        }
    }
    Ok(parameter)
}

/// The entries of a function's parameters. A copy may lack some that its origin has. None where the function is
/// there for its lines only.
fn parameters<'s>(
    entries: &mut Entries<'_, 's>,
    at: Position,
) -> Result<Option<Vec<Entry<'s>>>, Error> {
    let origins = entries.origins(at)?;
    let mut most = Vec::new();
    for origin in &origins {
        let found = entries.children(origin, &[DW_TAG_formal_parameter])?;
        if found.len() > most.len() {
            most = found;
        }
    }
    let is_described = !most.is_empty() || origins.iter().any(|it| it.has(DW_AT_decl_line));
    Ok(is_described.then_some(most))
}
