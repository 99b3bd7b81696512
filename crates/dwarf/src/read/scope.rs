//! Which namespaces and types the types of a unit are declared in.
#![allow(non_upper_case_globals, reason = "constants keep the spelling of DWARF")]

use gimli::{
    DW_TAG_class_type, DW_TAG_enumeration_type, DW_TAG_interface_type, DW_TAG_lexical_block,
    DW_TAG_namespace, DW_TAG_structure_type, DW_TAG_subprogram, DW_TAG_typedef, DW_TAG_union_type,
    Dwarf,
};

use super::Reader;

/// How many scopes a name is shown with: more than people write.
const MAX_SCOPES: usize = 64;

/// The scopes of a unit, by their entries.
#[derive(Debug, Default)]
pub(super) struct Scopes(Vec<Scope>);

#[derive(Debug)]
struct Scope {
    entry: usize,
    /// The number of the scope around it.
    parent: Option<usize>,
}

impl Scopes {
    pub(super) fn read(
        _: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
    ) -> gimli::Result<Self> {
        let mut scopes: Vec<Scope> = Vec::new();
        // Depth and scope of what the cursor is in; a function's types have short names.
        let mut open: Vec<(isize, Option<usize>)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let is_code = matches!(entry.tag(), DW_TAG_subprogram | DW_TAG_lexical_block);
            let is_scope = matches!(
                entry.tag(),
                DW_TAG_namespace
                    | DW_TAG_structure_type
                    | DW_TAG_class_type
                    | DW_TAG_interface_type
                    | DW_TAG_union_type
                    | DW_TAG_enumeration_type
                    | DW_TAG_typedef
            );
            if !is_code && !is_scope {
                continue;
            }
            while open.pop_if(|(depth, _)| *depth >= entry.depth()).is_some() {}
            let parent = open.last().and_then(|(_, scope)| *scope);
            open.push((entry.depth(), is_scope.then_some(scopes.len())));
            if is_scope {
                scopes.push(Scope { entry: entry.offset().0, parent });
            }
        }
        Ok(Scopes(scopes))
    }

    /// The entries around one, from the inside out.
    pub(super) fn around(&self, entry: usize) -> impl Iterator<Item = usize> {
        let own = self.0.binary_search_by_key(&entry, |scope| scope.entry).ok();
        let parent = |number: usize| self.0.get(number)?.parent;
        std::iter::successors(own.and_then(parent), move |number| parent(*number))
            .filter_map(|number| Some(self.0.get(number)?.entry))
            .take(MAX_SCOPES)
    }
}
