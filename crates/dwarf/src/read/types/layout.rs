//! Sizes and alignments that the debug information leaves to be worked out.

use super::{Encoding, Member, Pointer, PointerKind, Type, TypeId, TypeKind};

/// No type of the language asks for more.
const MAX_NATURAL: u64 = 16;

/// Bytes of an address that can be any.
const ADDRESS_SIZE: u64 = 8;

/// Works out what is not said, of what a type is made of before the type itself.
pub(super) fn complete(types: &mut [Type]) {
    for number in innermost_first(types) {
        let Some(ty) = types.get(number) else { continue };
        let size = ty.size.or_else(|| computed_size(types, &ty.kind));
        let alignment = alignment(types, ty, size);
        if let Some(ty) = types.get_mut(number) {
            (ty.size, ty.alignment) = (size, alignment);
        }
    }
}

/// The types in an order in which each comes after what it is made of; those that are made of themselves come
/// in any.
fn innermost_first(types: &[Type]) -> Vec<usize> {
    let mut order = Vec::with_capacity(types.len());
    let mut seen = vec![false; types.len()];
    for start in 0..types.len() {
        // A type is left when it comes up again, after all that it is made of.
        let mut open = vec![(start, false)];
        while let Some((number, is_left)) = open.pop() {
            if is_left {
                order.push(number);
                continue;
            }
            match seen.get_mut(number) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            open.push((number, true));
            let Some(ty) = types.get(number) else { continue };
            let parts = parts(&ty.kind).map(|it| it.0 as usize);
            open.extend(parts.filter(|it| seen.get(*it) == Some(&false)).map(|it| (it, false)));
        }
    }
    order
}

/// The types whose values are part of a value of this one.
fn parts(kind: &TypeKind) -> Box<dyn Iterator<Item = TypeId> + '_> {
    match kind {
        TypeKind::Qualified(_, of)
        | TypeKind::Alias(of)
        | TypeKind::Array { of, .. }
        | TypeKind::Vector { of, .. }
        | TypeKind::Enumeration { underlying: of, .. } => Box::new(of.iter().copied()),
        TypeKind::Record { members, .. } => Box::new(members.iter().filter_map(|it| it.ty)),
        _ => Box::new(std::iter::empty()),
    }
}

fn computed_size(types: &[Type], kind: &TypeKind) -> Option<u64> {
    let part = |of: Option<TypeId>| types.get(of?.0 as usize)?.size;
    match kind {
        TypeKind::Qualified(_, of)
        | TypeKind::Alias(of)
        | TypeKind::Enumeration { underlying: of, .. } => part(*of),
        TypeKind::Array { of, dimensions } => {
            let size = part(*of)?;
            dimensions.iter().try_fold(size, |size, count| size.checked_mul((*count)?))
        }
        TypeKind::Pointer(Pointer { kind: PointerKind::Member { .. }, to, .. }) => {
            let to = to.and_then(|to| types.get(to.0 as usize)).map(|to| &to.kind);
            // A method is its address and what to add to the object's.
            let is_method = matches!(to, Some(TypeKind::Function { .. }));
            Some(if is_method { 2 * ADDRESS_SIZE } else { ADDRESS_SIZE })
        }
        TypeKind::Vector { of, lanes } => {
            part(*of)?.checked_mul(*lanes)?.checked_next_power_of_two()
        }
        _ => None,
    }
}

fn alignment(types: &[Type], ty: &Type, size: Option<u64>) -> Option<u64> {
    let part = |of: Option<TypeId>| types.get(of?.0 as usize)?.alignment;
    match &ty.kind {
        // Less than what the members need is asked for in vain.
        TypeKind::Record { complete: true, members, .. } => {
            ty.alignment.max(record_alignment(types, members, size))
        }
        _ if ty.alignment.is_some() => ty.alignment,
        TypeKind::Qualified(_, of) | TypeKind::Alias(of) | TypeKind::Array { of, .. } => part(*of),
        TypeKind::Base(Encoding::ComplexFloat) => natural(size? / 2),
        TypeKind::Vector { .. } => size?.checked_next_power_of_two(),
        TypeKind::Pointer(_) => Some(size?.min(ADDRESS_SIZE)),
        TypeKind::Base(_) | TypeKind::NullPointer | TypeKind::Enumeration { .. } => natural(size?),
        _ => None,
    }
}

/// The alignment of a number of this size.
fn natural(size: u64) -> Option<u64> {
    Some(size.max(1).checked_next_power_of_two()?.min(MAX_NATURAL))
}

/// What the members need. Where one stands, and the size of it all, show whether they were packed.
fn record_alignment(types: &[Type], members: &[Member], size: Option<u64>) -> Option<u64> {
    let mut alignment = 1;
    for member in members {
        let own = types.get(member.ty?.0 as usize)?.alignment;
        let needed = member.alignment.max(own)?;
        let is_packed =
            |offset: u64| member.bits.is_none() && offset.checked_rem(needed) != Some(0);
        if !member.offset.is_some_and(is_packed) {
            alignment = alignment.max(needed);
        }
    }
    while alignment > 1 && size? % alignment != 0 {
        alignment /= 2;
    }
    Some(alignment)
}
