//! Types from the entries of the debug information, each once, until none refers to one that was not read.
#![allow(non_upper_case_globals, reason = "constants keep the spelling of DWARF")]

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    DW_AT_GNU_vector, DW_AT_address_class, DW_AT_alignment, DW_AT_artificial, DW_AT_bit_offset,
    DW_AT_bit_size, DW_AT_byte_size, DW_AT_const_value, DW_AT_containing_type, DW_AT_count,
    DW_AT_data_bit_offset, DW_AT_data_member_location, DW_AT_declaration, DW_AT_encoding,
    DW_AT_enum_class, DW_AT_external, DW_AT_name, DW_AT_signature, DW_AT_type, DW_AT_upper_bound,
    DW_ATE_UTF, DW_ATE_boolean, DW_ATE_complex_float, DW_ATE_float, DW_ATE_signed,
    DW_ATE_signed_char, DW_ATE_unsigned, DW_ATE_unsigned_char, DW_TAG_array_type,
    DW_TAG_atomic_type, DW_TAG_base_type, DW_TAG_class_type, DW_TAG_const_type,
    DW_TAG_enumeration_type, DW_TAG_enumerator, DW_TAG_formal_parameter, DW_TAG_inheritance,
    DW_TAG_member, DW_TAG_namespace, DW_TAG_pointer_type, DW_TAG_ptr_to_member_type,
    DW_TAG_reference_type, DW_TAG_restrict_type, DW_TAG_rvalue_reference_type,
    DW_TAG_structure_type, DW_TAG_subrange_type, DW_TAG_subroutine_type, DW_TAG_typedef,
    DW_TAG_union_type, DW_TAG_unspecified_parameters, DW_TAG_unspecified_type,
    DW_TAG_volatile_type, DwAt, DwAte, DwTag,
};
use hsaco_bytes::Error;

use crate::read::entry::{Entries, Entry, Position};

use super::{
    BitField, Encoding, Enumerator, Keyword, Member, Pointer, PointerKind, Qualifier, Type, TypeId,
    TypeKind, Types, layout,
};

/// LDS, GDS and scratch have addresses of 32 bits: their address classes.
const SHORT_ADDRESS_CLASSES: [u64; 3] = [2, 3, 5];

/// How the compiler calls the type of `nullptr`.
const NULL_POINTER: &str = "decltype(nullptr)";

/// Types on their way from the debug information.
pub(in crate::read) struct Gathering<'e, 'm, 's> {
    entries: &'e mut Entries<'m, 's>,
    /// Those that are wanted, by their number.
    positions: Vec<Position>,
    numbers: HashMap<Position, TypeId>,
}

impl<'e, 'm, 's> Gathering<'e, 'm, 's> {
    pub(in crate::read) fn new(entries: &'e mut Entries<'m, 's>) -> Self {
        Gathering { entries, positions: Vec::new(), numbers: HashMap::new() }
    }

    pub(in crate::read) fn entries(&mut self) -> &mut Entries<'m, 's> {
        self.entries
    }

    /// The type of an entry: a parameter's, a member's.
    pub(in crate::read) fn type_of(&mut self, entry: &Entry<'s>) -> Result<Option<TypeId>, Error> {
        self.referred(entry, DW_AT_type)
    }

    /// Reads all that were asked for, and all that these ask for.
    pub(in crate::read) fn finish(mut self) -> Result<Types, Error> {
        let mut types = Vec::new();
        while let Some(position) = self.positions.get(types.len()) {
            types.push(self.read(*position)?);
        }
        layout::complete(&mut types);
        Ok(Types(types))
    }

    fn referred(&mut self, entry: &Entry<'s>, name: DwAt) -> Result<Option<TypeId>, Error> {
        let Some(position) = self.entries.reference(entry, name)? else { return Ok(None) };
        if let Some(number) = self.numbers.get(&position) {
            return Ok(Some(*number));
        }
        let referred = self.entries.entry(position)?;
        let definition = self.definition(&referred)?.position();
        let number = self.number(definition);
        self.numbers.insert(position, number);
        Ok(Some(number))
    }

    /// The number of a type that is defined here; it is read in its turn.
    fn number(&mut self, definition: Position) -> TypeId {
        *self.numbers.entry(definition).or_insert_with(|| {
            // A section has no more entries than bytes, and is shorter than 4 GiB in the 32-bit format.
            let number = TypeId(u32::try_from(self.positions.len()).unwrap_or(u32::MAX));
            self.positions.push(definition);
            number
        })
    }

    fn read(&mut self, position: Position) -> Result<Type, Error> {
        let entry = self.entries.entry(position)?;
        let kind = self.kind(&entry)?;
        Ok(Type {
            name: self.full_name(&entry)?,
            size: size(&entry, &kind),
            alignment: entry.number(DW_AT_alignment),
            kind,
        })
    }

    /// The entry itself, or that of the same type in a unit of its own.
    fn definition(&mut self, entry: &Entry<'s>) -> Result<Entry<'s>, Error> {
        match self.entries.reference(entry, DW_AT_signature)? {
            Some(definition) => self.entries.entry(definition),
            None => Ok(entry.clone()),
        }
    }

    fn kind(&mut self, entry: &Entry<'s>) -> Result<TypeKind, Error> {
        Ok(match entry.tag() {
            DW_TAG_base_type => TypeKind::Base(encoding(entry)),
            DW_TAG_pointer_type
            | DW_TAG_reference_type
            | DW_TAG_rvalue_reference_type
            | DW_TAG_ptr_to_member_type => TypeKind::Pointer(self.pointer(entry)?),
            DW_TAG_typedef => TypeKind::Alias(self.type_of(entry)?),
            DW_TAG_structure_type => self.record(entry, Keyword::Struct)?,
            DW_TAG_class_type => self.record(entry, Keyword::Class)?,
            DW_TAG_union_type => self.record(entry, Keyword::Union)?,
            DW_TAG_enumeration_type => self.enumeration(entry)?,
            DW_TAG_array_type => self.array(entry)?,
            DW_TAG_subroutine_type => self.function(entry)?,
            DW_TAG_unspecified_type => self.unspecified(entry)?,
            tag => match qualifier(tag) {
                Some(qualifier) => TypeKind::Qualified(qualifier, self.type_of(entry)?),
                None => TypeKind::Other(tag.0),
            },
        })
    }

    fn pointer(&mut self, entry: &Entry<'s>) -> Result<Pointer, Error> {
        let kind = match entry.tag() {
            DW_TAG_reference_type => PointerKind::Reference,
            DW_TAG_rvalue_reference_type => PointerKind::RvalueReference,
            DW_TAG_ptr_to_member_type => {
                PointerKind::Member { class: self.referred(entry, DW_AT_containing_type)? }
            }
            _ => PointerKind::Pointer,
        };
        let to = self.type_of(entry)?;
        Ok(Pointer { kind, to, address_class: entry.number(DW_AT_address_class) })
    }

    fn record(&mut self, entry: &Entry<'s>, keyword: Keyword) -> Result<TypeKind, Error> {
        let mut members = Vec::new();
        for child in self.entries.children(entry, &[DW_TAG_member, DW_TAG_inheritance])? {
            // What is shared by all values is no part of one.
            if !child.is(DW_AT_external) && !child.is(DW_AT_declaration) {
                members.push(self.member(&child)?);
            }
        }
        Ok(TypeKind::Record { keyword, complete: !entry.is(DW_AT_declaration), members })
    }

    fn member(&mut self, entry: &Entry<'s>) -> Result<Member, Error> {
        let bits = bit_field(entry);
        let location = entry.number(DW_AT_data_member_location);
        // The members of a union need not say where they are; what is computed at run time says it otherwise.
        let is_said = entry.has(DW_AT_data_member_location);
        Ok(Member {
            name: self.entries.text(entry, DW_AT_name)?,
            ty: self.type_of(entry)?,
            offset: match bits {
                Some(bits) => Some(bits.offset / 8),
                None if is_said => location,
                None => Some(0),
            },
            bits,
            alignment: entry.number(DW_AT_alignment),
            base: entry.tag() == DW_TAG_inheritance,
        })
    }

    fn enumeration(&mut self, entry: &Entry<'s>) -> Result<TypeKind, Error> {
        let mut enumerators = Vec::new();
        for child in self.entries.children(entry, &[DW_TAG_enumerator])? {
            let name = self.entries.text(&child, DW_AT_name)?;
            let value = child.signed_number(DW_AT_const_value);
            enumerators.extend(name.zip(value).map(|(name, value)| Enumerator { name, value }));
        }
        let underlying = self.type_of(entry)?;
        Ok(TypeKind::Enumeration { underlying, scoped: entry.is(DW_AT_enum_class), enumerators })
    }

    fn array(&mut self, entry: &Entry<'s>) -> Result<TypeKind, Error> {
        let of = self.type_of(entry)?;
        let ranges = self.entries.children(entry, &[DW_TAG_subrange_type])?;
        let dimensions: Vec<_> = ranges.iter().map(count).collect();
        Ok(match entry.is(DW_AT_GNU_vector) {
            true => {
                let lanes = dimensions.first().copied().flatten().unwrap_or(0);
                TypeKind::Vector { of, lanes }
            }
            false => TypeKind::Array { of, dimensions },
        })
    }

    fn function(&mut self, entry: &Entry<'s>) -> Result<TypeKind, Error> {
        let returns = self.type_of(entry)?;
        let tags = [DW_TAG_formal_parameter, DW_TAG_unspecified_parameters];
        let children = self.entries.children(entry, &tags)?;
        let (taken, further): (Vec<_>, Vec<_>) =
            children.iter().partition(|it| it.tag() == DW_TAG_formal_parameter);
        let method = taken.first().is_some_and(|first| first.is(DW_AT_artificial));
        let parameters = taken.iter().map(|it| self.type_of(it)).collect::<Result<_, _>>()?;
        Ok(TypeKind::Function { returns, parameters, method, variadic: !further.is_empty() })
    }

    fn unspecified(&mut self, entry: &Entry<'s>) -> Result<TypeKind, Error> {
        let name = self.entries.text(entry, DW_AT_name)?;
        Ok(match name.as_deref() == Some(NULL_POINTER) {
            true => TypeKind::NullPointer,
            false => TypeKind::Unspecified,
        })
    }

    /// The name with what is around it; none for a type that has no name.
    fn full_name(&mut self, entry: &Entry<'s>) -> Result<Option<Arc<str>>, Error> {
        let Some(name) = self.entries.text(entry, DW_AT_name)? else { return Ok(None) };
        let scopes = self.entries.scopes_around(entry)?;
        if scopes.is_empty() {
            return Ok(Some(name));
        }
        let mut full = String::new();
        for scope in scopes.iter().rev() {
            let scope = self.definition(scope)?;
            match self.entries.text(&scope, DW_AT_name)? {
                Some(text) => full.push_str(&text),
                None => full.push_str(nameless(scope.tag())),
            }
            full.push_str("::");
        }
        full.push_str(&name);
        Ok(Some(full.into()))
    }
}

/// How compilers call a scope that has no name.
fn nameless(tag: DwTag) -> &'static str {
    match tag {
        DW_TAG_namespace => "(anonymous namespace)",
        DW_TAG_union_type => "(anonymous union)",
        DW_TAG_class_type => "(anonymous class)",
        DW_TAG_enumeration_type => "(anonymous enum)",
        _ => "(anonymous struct)",
    }
}

/// What the entry or the kind alone say of the size.
fn size(entry: &Entry<'_>, kind: &TypeKind) -> Option<u64> {
    let bits = entry.number(DW_AT_bit_size).map(|bits| bits.div_ceil(8));
    let said = entry.number(DW_AT_byte_size).or(bits);
    let implied = match kind {
        // What a pointer to a member takes depends on the member.
        TypeKind::Pointer(Pointer { kind: PointerKind::Member { .. }, .. }) => None,
        TypeKind::Pointer(Pointer { address_class: Some(class), .. })
            if SHORT_ADDRESS_CLASSES.contains(class) =>
        {
            Some(4)
        }
        TypeKind::Pointer(_) | TypeKind::NullPointer => Some(entry.address_size()),
        _ => None,
    };
    said.or(implied)
}

fn encoding(entry: &Entry<'_>) -> Encoding {
    let number = entry.number(DW_AT_encoding).and_then(|it| u8::try_from(it).ok()).unwrap_or(0);
    match DwAte(number) {
        DW_ATE_boolean => Encoding::Boolean,
        DW_ATE_signed => Encoding::Signed,
        DW_ATE_unsigned => Encoding::Unsigned,
        DW_ATE_signed_char => Encoding::SignedCharacter,
        DW_ATE_unsigned_char => Encoding::UnsignedCharacter,
        DW_ATE_UTF => Encoding::Utf,
        DW_ATE_float => Encoding::Float,
        DW_ATE_complex_float => Encoding::ComplexFloat,
        DwAte(other) => Encoding::Other(other),
    }
}

fn qualifier(tag: DwTag) -> Option<Qualifier> {
    Some(match tag {
        DW_TAG_const_type => Qualifier::Const,
        DW_TAG_volatile_type => Qualifier::Volatile,
        DW_TAG_restrict_type => Qualifier::Restrict,
        DW_TAG_atomic_type => Qualifier::Atomic,
        _ => return None,
    })
}

/// How many elements a dimension has; what begins at another number than 0 is not C++.
fn count(range: &Entry<'_>) -> Option<u64> {
    let last = range.number(DW_AT_upper_bound);
    range.number(DW_AT_count).or_else(|| last?.checked_add(1))
}

/// The bits of a member, in the way of DWARF 4 and later, or in that of DWARF 2.
fn bit_field(entry: &Entry<'_>) -> Option<BitField> {
    let size = entry.number(DW_AT_bit_size)?;
    let start = entry.number(DW_AT_data_member_location).unwrap_or(0).checked_mul(8)?;
    let offset = match (entry.number(DW_AT_data_bit_offset), entry.number(DW_AT_bit_offset)) {
        (Some(offset), _) => start.checked_add(offset)?,
        // Counted from the highest bit of what holds it.
        (None, Some(from_top)) => {
            let storage = entry.number(DW_AT_byte_size)?.checked_mul(8)?;
            start.checked_add(storage.checked_sub(from_top)?.checked_sub(size)?)?
        }
        (None, None) => start,
    };
    Some(BitField { offset, size })
}
