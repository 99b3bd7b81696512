//! Types in the words of C++.

use super::{Keyword, Pointer, PointerKind, Qualifier, TypeId, TypeKind, Types};

/// How deep types within types are shown.
const MAX_DEPTH: usize = 64;

/// How many bytes of text are enough of a type that is made to have no end.
const MAX_LENGTH: usize = 1 << 16;

/// What stands for the rest of a type that is shown no further.
const REST: &str = "…";

/// How to write a type.
///
/// ```
/// use hsaco_dwarf::{DebugSections, SourceMap, Spelling};
/// use hsaco_elf::Elf;
/// # let file = std::fs::read("../../tests/fixtures/types.co")?;
/// let elf = Elf::parse(&file)?;
/// let sections = DebugSections::new(&elf, 1 << 30)?;
/// let map = SourceMap::new(&sections)?;
/// let name = "_Z7aliasesPfPKfN5shape4PairIfEEfm10HasAliases12NamedByAlias";
/// let signature = map.signature_of(&sections, name)?.unwrap();
/// let spell = |spelling| signature.types.spell(signature.parameters[2].ty, spelling);
/// assert_eq!(spell(Spelling::default()), "Twice");
/// let spelling = Spelling { resolve_typedefs: true, keywords: true };
/// assert_eq!(spell(spelling), "struct shape::Pair<float>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spelling {
    /// Write what an alias stands for instead of its name.
    pub resolve_typedefs: bool,
    /// Write `struct`, `class`, `union` and `enum` before the names of those.
    pub keywords: bool,
}

impl Types {
    /// A type as C++ has it: `const float *`, `float[3][4]`, `void (*)(int)`; `void` for none.
    #[must_use]
    pub fn spell(&self, id: Option<TypeId>, spelling: Spelling) -> String {
        let mut writer = Writer { types: self, spelling, length: 0 };
        writer.declare(id, String::new(), 0)
    }
}

struct Writer<'t> {
    types: &'t Types,
    spelling: Spelling,
    /// Bytes that were written so far, in all parts.
    length: usize,
}

impl Writer<'_> {
    /// A declaration of `declared`, which is written from its name outwards: `*`, `(*)[4]`, `const`.
    fn declare(&mut self, id: Option<TypeId>, declared: String, depth: usize) -> String {
        self.length = self.length.saturating_add(declared.len());
        if depth > MAX_DEPTH || self.length > MAX_LENGTH {
            return joined(REST, &declared);
        }
        let (qualifiers, id) = self.qualifiers(id);
        let Some(ty) = id.and_then(|id| self.types.get(id)) else {
            return qualified(&qualifiers, "void", &declared);
        };
        let name = match &ty.kind {
            TypeKind::Pointer(pointer) => {
                let declared = joined(&qualifiers.join(" "), &declared);
                return self.pointer(*pointer, &declared, depth);
            }
            TypeKind::Array { of, dimensions } => {
                let declared = declared + &brackets(dimensions);
                let text = self.declare(*of, declared, depth + 1);
                return joined(&qualifiers.join(" "), &text);
            }
            function @ TypeKind::Function { .. } => {
                let text = self.function(function, &declared, false, depth);
                return joined(&qualifiers.join(" "), &text);
            }
            TypeKind::Vector { of, lanes } => {
                let element = self.declare(*of, String::new(), depth + 1);
                format!("{element} __attribute__((ext_vector_type({lanes})))")
            }
            _ => self.name(id),
        };
        self.length = self.length.saturating_add(name.len());
        qualified(&qualifiers, &name, &declared)
    }

    /// A declaration of a pointer, whose own qualifiers `declared` begins with.
    fn pointer(&mut self, pointer: Pointer, declared: &str, depth: usize) -> String {
        let sign = self.sign(pointer, depth);
        let declared = match self.is_suffixed(pointer.to) {
            true => format!("({sign}{declared})"),
            false => format!("{sign}{declared}"),
        };
        let to = pointer.to.and_then(|to| self.types.get(to)).map(|to| &to.kind);
        match (pointer.kind, to) {
            (PointerKind::Member { .. }, Some(method @ TypeKind::Function { .. })) => {
                self.function(method, &declared, true, depth)
            }
            _ => self.declare(pointer.to, declared, depth + 1),
        }
    }

    /// The qualifiers of a type in their usual order, and what they are of.
    fn qualifiers(&self, id: Option<TypeId>) -> (Vec<&'static str>, Option<TypeId>) {
        let mut found: Vec<Qualifier> = Vec::new();
        let mut id = id;
        for _ in 0..=MAX_DEPTH {
            match id.and_then(|id| self.types.get(id)).map(|ty| &ty.kind) {
                Some(TypeKind::Qualified(qualifier, of)) => {
                    found.push(*qualifier);
                    id = *of;
                }
                Some(TypeKind::Alias(of))
                    if self.spelling.resolve_typedefs && self.is_resolvable(*of) =>
                {
                    id = *of;
                }
                _ => break,
            }
        }
        found.sort_unstable();
        found.dedup();
        (found.into_iter().map(Qualifier::name).collect(), id)
    }

    /// Whether an alias has something to stand for that is no name for something else without one.
    fn is_resolvable(&self, of: Option<TypeId>) -> bool {
        let Some(ty) = of.and_then(|of| self.types.get(of)) else { return true };
        ty.name.is_some()
            || !matches!(ty.kind, TypeKind::Record { .. } | TypeKind::Enumeration { .. })
    }

    fn sign(&mut self, pointer: Pointer, depth: usize) -> String {
        match pointer.kind {
            PointerKind::Pointer => "*".to_owned(),
            PointerKind::Reference => "&".to_owned(),
            PointerKind::RvalueReference => "&&".to_owned(),
            PointerKind::Member { class } => {
                let keywords = std::mem::take(&mut self.spelling.keywords);
                let class = self.declare(class, String::new(), depth + 1);
                self.spelling.keywords = keywords;
                format!("{class}::*")
            }
        }
    }

    /// Whether the text of a type goes on after what is declared, so that a pointer to it needs brackets.
    fn is_suffixed(&self, id: Option<TypeId>) -> bool {
        let (_, id) = self.qualifiers(id);
        let kind = id.and_then(|id| self.types.get(id)).map(|ty| &ty.kind);
        matches!(kind, Some(TypeKind::Array { .. } | TypeKind::Function { .. }))
    }

    /// A function; of a method only what is between the brackets.
    fn function(
        &mut self,
        kind: &TypeKind,
        declared: &str,
        of_class: bool,
        depth: usize,
    ) -> String {
        let TypeKind::Function { returns, parameters, method, variadic } = kind else {
            return declared.to_owned();
        };
        let of_class = of_class && *method;
        let (this, shown) = parameters.split_at(usize::from(of_class).min(parameters.len()));
        let mut texts = Vec::new();
        for parameter in shown {
            if self.length > MAX_LENGTH {
                break;
            }
            texts.push(self.declare(*parameter, String::new(), depth + 1));
        }
        if *variadic {
            texts.push("...".to_owned());
        }
        let this = this.first().and_then(|this| self.types.get((*this)?));
        let suffix = match this.map(|this| &this.kind) {
            Some(TypeKind::Pointer(pointer)) => self.qualifiers(pointer.to).0,
            _ => Vec::new(),
        };
        let declared = joined(&format!("{declared}({})", texts.join(", ")), &suffix.join(" "));
        self.declare(*returns, declared, depth + 1)
    }

    /// The name of a type that has or should have one.
    fn name(&self, id: Option<TypeId>) -> String {
        let Some(ty) = id.and_then(|id| self.types.get(id)) else { return "void".to_owned() };
        let keyword = match &ty.kind {
            TypeKind::Record { keyword, .. } => Keyword::name(*keyword),
            TypeKind::Enumeration { .. } => "enum",
            TypeKind::NullPointer => return "std::nullptr_t".to_owned(),
            _ => "",
        };
        match &ty.name {
            Some(name) if self.spelling.keywords => joined(keyword, name),
            Some(name) => name.to_string(),
            None if keyword.is_empty() => REST.to_owned(),
            None => format!("(anonymous {keyword})"),
        }
    }
}

/// `[3][4]`.
fn brackets(dimensions: &[Option<u64>]) -> String {
    let one = |count: &Option<u64>| match count {
        Some(count) => format!("[{count}]"),
        None => "[]".to_owned(),
    };
    dimensions.iter().map(one).collect()
}

/// Two words with a blank between them, unless one is none.
fn joined(first: &str, second: &str) -> String {
    match (first, second) {
        ("", one) | (one, "") => one.to_owned(),
        _ => format!("{first} {second}"),
    }
}

/// `const float *`: brackets of arrays follow without a blank.
fn qualified(qualifiers: &[&str], name: &str, declared: &str) -> String {
    let name = joined(&qualifiers.join(" "), name);
    match declared.starts_with('[') {
        true => name + declared,
        false => joined(&name, declared),
    }
}
