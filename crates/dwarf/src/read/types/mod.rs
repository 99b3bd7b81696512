//! The types of a program, as its debug information has them: owned, and referring to one another by number.

mod layout;
mod read;
mod spelling;

pub(super) use read::Gathering;
pub use spelling::Spelling;

use std::sync::Arc;

/// How many aliases and qualifiers a type may have on top of it.
const MAX_CHAIN: usize = 256;

/// Which of the [`Types`] a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

/// Types, and every type that they are made of or point to.
///
/// A type stands in it once, so that one may point to itself. Where a type could be, none is `void`.
///
/// ```
/// use hsaco_dwarf::{DebugSections, SourceMap, Spelling, TypeKind};
/// use hsaco_elf::Elf;
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let elf = Elf::parse(&file)?;
/// let sections = DebugSections::new(&elf, 1 << 30)?;
/// let map = SourceMap::new(&sections)?;
/// let signature = map.signature_of(&sections, "_Z6filledIdLi5EEvPT_N3vec4PairIS0_EE")?.unwrap();
/// let types = &signature.types;
/// let pair = signature.parameters[1].ty.unwrap();
/// assert_eq!(types.spell(Some(pair), Spelling::default()), "vec::Pair<double>");
/// assert_eq!((types[pair].size, types[pair].alignment), (Some(16), Some(8)));
/// let TypeKind::Record { members, .. } = &types[pair].kind else { panic!() };
/// assert_eq!(members[1].name.as_deref(), Some("second"));
/// assert_eq!(members[1].offset, Some(8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Types(Vec<Type>);

/// One type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Type {
    /// Its name with all namespaces and classes around it; none for what has no name of its own.
    pub name: Option<Arc<str>>,
    /// Bytes of a value; none for what has no values, or is only declared.
    pub size: Option<u64>,
    /// What an address of a value is a multiple of: as declared, else as the members ask for.
    ///
    /// Debug information does not say that a structure is packed: it counts as packed where a member or the
    /// size shows it.
    pub alignment: Option<u64>,
    /// What it is.
    pub kind: TypeKind,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeKind {
    /// A type of the language: `int`, `float`, `_Float16`.
    Base(Encoding),
    /// A pointer, reference or pointer to a member.
    Pointer(Pointer),
    /// Another type, with a qualifier.
    Qualified(Qualifier, Option<TypeId>),
    /// A `typedef` or `using`, which is the type's name.
    Alias(Option<TypeId>),
    /// A structure, class or union.
    Record {
        /// The word that declares it.
        keyword: Keyword,
        /// False where only its name is known.
        complete: bool,
        /// Its bases and members, in the order of their declaration.
        members: Vec<Member>,
    },
    /// An enumeration.
    Enumeration {
        /// The type of its values.
        underlying: Option<TypeId>,
        /// Whether it was declared as `enum class`.
        scoped: bool,
        /// Its values.
        enumerators: Vec<Enumerator>,
    },
    /// An array.
    Array {
        /// The type of its elements.
        of: Option<TypeId>,
        /// How many there are, the outermost dimension first; none is not known.
        dimensions: Vec<Option<u64>>,
    },
    /// A vector, as `ext_vector_type` and `vector_size` make them.
    Vector {
        /// The type of its elements.
        of: Option<TypeId>,
        /// How many there are.
        lanes: u64,
    },
    /// A function.
    Function {
        /// What it returns.
        returns: Option<TypeId>,
        /// What it takes.
        parameters: Vec<Option<TypeId>>,
        /// Whether the first parameter is the object that it is called on.
        method: bool,
        /// Whether it takes any number of further arguments.
        variadic: bool,
    },
    /// The type of `nullptr`.
    NullPointer,
    /// A type of which no more is known than its name.
    Unspecified,
    /// A kind that this crate has no name for: the entry's DWARF tag.
    Other(u16),
}

/// What the bits of a base type mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// `bool`.
    Boolean,
    /// A number in two's complement.
    Signed,
    /// A number that is not negative.
    Unsigned,
    /// A character, signed.
    SignedCharacter,
    /// A character, not signed.
    UnsignedCharacter,
    /// A character of UTF-8, UTF-16 or UTF-32.
    Utf,
    /// A floating-point number.
    Float,
    /// A real and an imaginary floating-point number.
    ComplexFloat,
    /// A number that this crate has no name for, as DWARF encodes it.
    Other(u8),
}

/// A type whose values are addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pointer {
    /// How it is written.
    pub kind: PointerKind,
    /// What is there.
    pub to: Option<TypeId>,
    /// The memory that it points into, if the compiler says so: 1 is any, 3 is LDS, 5 is scratch.
    pub address_class: Option<u64>,
}

/// The kinds of pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointerKind {
    /// `T *`.
    Pointer,
    /// `T &`.
    Reference,
    /// `T &&`.
    RvalueReference,
    /// `T C::*`.
    Member {
        /// The class.
        class: Option<TypeId>,
    },
}

/// What is said of a type on top of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Qualifier {
    /// `const`.
    Const,
    /// `volatile`.
    Volatile,
    /// `__restrict`.
    Restrict,
    /// `_Atomic`.
    Atomic,
}

/// The word that declares a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Keyword {
    /// `struct`.
    Struct,
    /// `class`.
    Class,
    /// `union`.
    Union,
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its name; none for bases and for what is not named.
    pub name: Option<Arc<str>>,
    /// Its type.
    pub ty: Option<TypeId>,
    /// Where it begins, in bytes; none where only the running program knows.
    pub offset: Option<u64>,
    /// Which bits it is, if it is no whole number of bytes.
    pub bits: Option<BitField>,
    /// What is declared of its own alignment.
    pub alignment: Option<u64>,
    /// Whether it is a base class.
    pub base: bool,
}

/// The place of a bit-field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BitField {
    /// Its lowest bit, counted from the lowest of the record.
    pub offset: u64,
    /// How many bits it has.
    pub size: u64,
}

/// A value of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enumerator {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: i128,
}

impl Types {
    /// The type of a number, if it is one of these.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.0.get(id.0 as usize)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (0..).map(TypeId).zip(&self.0)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What an alias stands for, and what that stands for; others are themselves.
    #[must_use]
    pub fn resolve(&self, id: TypeId) -> Option<TypeId> {
        self.strip(id, |kind| match kind {
            TypeKind::Alias(of) => Some(*of),
            _ => None,
        })
    }

    /// A type without aliases and qualifiers.
    #[must_use]
    pub fn unqualified(&self, id: TypeId) -> Option<TypeId> {
        self.strip(id, |kind| match kind {
            TypeKind::Alias(of) | TypeKind::Qualified(_, of) => Some(*of),
            _ => None,
        })
    }

    /// Goes from type to type as long as `next` knows one; what does not come to an end leads to none.
    fn strip(
        &self,
        id: TypeId,
        next: impl Fn(&TypeKind) -> Option<Option<TypeId>>,
    ) -> Option<TypeId> {
        let mut id = id;
        for _ in 0..MAX_CHAIN {
            match next(&self.get(id)?.kind) {
                Some(under) => id = under?,
                None => return Some(id),
            }
        }
        None
    }
}

/// Panics for the number of another table.
impl std::ops::Index<TypeId> for Types {
    type Output = Type;

    #[allow(clippy::indexing_slicing, reason = "as documented")]
    fn index(&self, id: TypeId) -> &Type {
        &self.0[id.0 as usize]
    }
}

impl Keyword {
    /// The word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Class => "class",
            Self::Union => "union",
        }
    }
}

impl Qualifier {
    /// The word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Const => "const",
            Self::Volatile => "volatile",
            Self::Restrict => "__restrict",
            Self::Atomic => "_Atomic",
        }
    }
}
