//! The functions of a unit, those inlined included.

use std::sync::OnceLock;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_call_column, DW_AT_call_file, DW_AT_call_line,
    DW_AT_linkage_name, DW_AT_name, DW_AT_specification, DW_TAG_inlined_subroutine,
    DW_TAG_subprogram, DebuggingInformationEntry, Dwarf, UnitOffset,
};

use super::line::Place;
use super::{Reader, unit_at_offset};

/// How many entries may refer to one another before a name is reached.
const MAX_REFERENCES: usize = 16;

/// Which functions an instruction is in.
#[derive(Debug, Default)]
pub(super) struct Functions {
    scopes: Vec<Scope>,
    /// From each address on to the next: the innermost scope.
    starts: Vec<(u64, Option<usize>)>,
}

/// A function, or a copy of one inlined into another.
#[derive(Debug)]
pub(super) struct Scope {
    parent: Option<usize>,
    /// Its entry in the unit.
    pub(super) entry: usize,
    /// Where it was called, if it was inlined.
    pub(super) call: Option<Place>,
    name: OnceLock<Option<String>>,
}

impl Scope {
    /// Its name, looked up when it is first asked for.
    pub(super) fn name(&self, dwarf: &Dwarf<Reader<'_>>, unit: usize) -> Option<String> {
        self.name.get_or_init(|| name(dwarf, unit, self.entry)).clone()
    }
}

/// A stretch of a scope's code.
struct Stretch {
    start: u64,
    end: u64,
    scope: usize,
}

impl Functions {
    pub(super) fn read(
        dwarf: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
    ) -> gimli::Result<Self> {
        let mut scopes: Vec<Scope> = Vec::new();
        let mut stretches = Vec::new();
        let mut open: Vec<(isize, usize)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let is_inlined = entry.tag() == DW_TAG_inlined_subroutine;
            if !is_inlined && entry.tag() != DW_TAG_subprogram {
                continue;
            }
            while open.last().is_some_and(|(depth, _)| *depth >= entry.depth()) {
                open.pop();
            }
            let parent = open.last().map(|(_, scope)| *scope).filter(|_| is_inlined);
            let scope = scopes.len();
            let mut ranges = dwarf.die_ranges(unit, entry)?;
            while let Some(range) = ranges.next()? {
                if range.begin < range.end {
                    stretches.push(Stretch { start: range.begin, end: range.end, scope });
                }
            }
            open.push((entry.depth(), scope));
            let call = is_inlined.then(|| call_place(entry));
            scopes.push(Scope { parent, entry: entry.offset().0, call, name: OnceLock::new() });
        }
        Ok(Functions { scopes, starts: innermost(stretches) })
    }

    /// The scopes that an instruction is in, from the inside out.
    pub(super) fn around(&self, address: u64) -> impl Iterator<Item = &Scope> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let innermost = after.checked_sub(1).and_then(|at| self.starts.get(at)).and_then(|it| it.1);
        let scope = |number: usize| self.scopes.get(number);
        std::iter::successors(innermost.and_then(scope), move |it| it.parent.and_then(scope))
    }

    /// All functions, without the copies that were inlined.
    pub(super) fn outermost(&self) -> impl Iterator<Item = &Scope> {
        self.scopes.iter().filter(|scope| scope.call.is_none())
    }
}

fn call_place(entry: &DebuggingInformationEntry<Reader<'_>>) -> Place {
    let number = |name| {
        let value = entry.attr_value(name);
        let value = value.and_then(|value| match value {
            AttributeValue::FileIndex(number) => Some(number),
            other => other.udata_value(),
        });
        value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
    };
    Place {
        file: number(DW_AT_call_file),
        line: number(DW_AT_call_line),
        column: number(DW_AT_call_column),
    }
}

/// The innermost scope from each address on; scopes come in the order of their entries, inner after outer.
fn innermost(mut stretches: Vec<Stretch>) -> Vec<(u64, Option<usize>)> {
    stretches.sort_by_key(|stretch| (stretch.start, stretch.scope));
    let mut sweep = Sweep::default();
    for stretch in stretches {
        sweep.close(stretch.start);
        sweep.open(&stretch);
    }
    sweep.close(u64::MAX);
    sweep.starts
}

/// Goes through code from the lowest address up.
#[derive(Default)]
struct Sweep {
    starts: Vec<(u64, Option<usize>)>,
    /// The stretches that it is in, and where each ends.
    open: Vec<(u64, usize)>,
}

impl Sweep {
    /// What reaches out of the stretch around it ends with that.
    fn open(&mut self, stretch: &Stretch) {
        let end = self.open.last().map_or(stretch.end, |(end, _)| stretch.end.min(*end));
        self.open.push((end, stretch.scope));
        self.mark(stretch.start);
    }

    /// Leaves what ends up to an address.
    fn close(&mut self, address: u64) {
        while let Some((end, _)) = self.open.pop_if(|(end, _)| *end <= address) {
            self.mark(end);
        }
    }

    fn mark(&mut self, at: u64) {
        let scope = self.open.last().map(|(_, scope)| *scope);
        match self.starts.last_mut() {
            Some(last) if last.0 == at => last.1 = scope,
            _ => self.starts.push((at, scope)),
        }
    }
}

/// The name of a function: the linker's, else the source's; its own or that of what it is a copy of.
fn name(dwarf: &Dwarf<Reader<'_>>, unit: usize, entry: usize) -> Option<String> {
    let mut unit = unit_at_offset(dwarf, unit).ok()?;
    let mut offset = UnitOffset(entry);
    let mut short = None;
    for _ in 0..MAX_REFERENCES {
        let entry = unit.entry(offset).ok()?;
        let text = |name| {
            let value = entry.attr_value(name)?;
            Some(dwarf.attr_string(&unit, value).ok()?.to_string_lossy().into_owned())
        };
        if let Some(linkage) = text(DW_AT_linkage_name) {
            return Some(linkage);
        }
        short = short.or_else(|| text(DW_AT_name));
        let reference = [DW_AT_abstract_origin, DW_AT_specification]
            .into_iter()
            .find_map(|name| entry.attr_value(name));
        match reference {
            Some(AttributeValue::UnitRef(other)) => offset = other,
            Some(AttributeValue::DebugInfoRef(other)) => {
                let header = unit_of(dwarf, other)?;
                offset = other.to_unit_offset(&header)?;
                unit = dwarf.unit(header).ok()?;
            }
            _ => break,
        }
    }
    short
}

/// The header of the unit that an entry is in.
fn unit_of<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    entry: gimli::DebugInfoOffset,
) -> Option<gimli::UnitHeader<Reader<'s>>> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        if entry.to_unit_offset(&header).is_some() {
            return Some(header);
        }
    }
    None
}
