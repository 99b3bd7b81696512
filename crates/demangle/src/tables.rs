//! What the codes of the Itanium C++ ABI stand for.

/// How tightly an expression binds, tightest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Precedence {
    Primary,
    Postfix,
    Unary,
    Cast,
    PtrMem,
    Multiplicative,
    Additive,
    Shift,
    Spaceship,
    Relational,
    Equality,
    And,
    Xor,
    Ior,
    AndIf,
    OrIf,
    Conditional,
    Assign,
    Comma,
}

/// How the operands of an operator are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Prefix,
    Postfix,
    Binary,
    Subscript,
    Member,
    New,
    NewArray,
    Delete,
    DeleteArray,
    Call,
    ParenCall,
    CCast,
    Conditional,
    /// May be declared, but has no expression.
    NameOnly,
    NamedCast,
    OfType,
    OfExpression,
}

/// One operator.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) code: [u8; 2],
    pub(crate) kind: Kind,
    pub(crate) precedence: Precedence,
    /// What stands after `operator`, or the word of a cast.
    pub(crate) text: &'static str,
    /// True when a function can have the name.
    pub(crate) nameable: bool,
}

const fn op(code: &[u8; 2], kind: Kind, precedence: Precedence, text: &'static str) -> Operator {
    Operator { code: *code, kind, precedence, text, nameable: true }
}

const fn unnamed(
    code: &[u8; 2],
    kind: Kind,
    precedence: Precedence,
    text: &'static str,
) -> Operator {
    Operator { code: *code, kind, precedence, text, nameable: false }
}

use Kind::{
    Binary, CCast, Call, Delete, DeleteArray, Member, NameOnly, NamedCast, New, NewArray,
    OfExpression, OfType, ParenCall, Subscript,
};
use Precedence::{
    Additive, And, AndIf, Assign, Cast, Comma, Equality, Ior, Multiplicative, OrIf, PtrMem,
    Relational, Shift, Spaceship, Unary, Xor,
};

/// Sorted by code.
pub(crate) static OPERATORS: [Operator; 63] = [
    op(b"aN", Binary, Assign, "&="),
    op(b"aS", Binary, Assign, "="),
    op(b"aa", Binary, AndIf, "&&"),
    op(b"ad", Kind::Prefix, Unary, "&"),
    op(b"an", Binary, And, "&"),
    unnamed(b"at", OfType, Unary, "alignof "),
    op(b"aw", NameOnly, Precedence::Primary, " co_await"),
    unnamed(b"az", OfExpression, Unary, "alignof "),
    unnamed(b"cc", NamedCast, Precedence::Postfix, "const_cast"),
    op(b"cl", Call, Precedence::Postfix, "()"),
    op(b"cm", Binary, Comma, ","),
    op(b"co", Kind::Prefix, Unary, "~"),
    op(b"cp", ParenCall, Precedence::Postfix, "()"),
    op(b"cv", CCast, Cast, ""),
    op(b"dV", Binary, Assign, "/="),
    op(b"da", DeleteArray, Unary, " delete[]"),
    unnamed(b"dc", NamedCast, Precedence::Postfix, "dynamic_cast"),
    op(b"de", Kind::Prefix, Unary, "*"),
    op(b"dl", Delete, Unary, " delete"),
    unnamed(b"ds", Member, PtrMem, ".*"),
    unnamed(b"dt", Member, Precedence::Postfix, "."),
    op(b"dv", Binary, Multiplicative, "/"),
    op(b"eO", Binary, Assign, "^="),
    op(b"eo", Binary, Xor, "^"),
    op(b"eq", Binary, Equality, "=="),
    op(b"ge", Binary, Relational, ">="),
    op(b"gt", Binary, Relational, ">"),
    op(b"ix", Subscript, Precedence::Postfix, "[]"),
    op(b"lS", Binary, Assign, "<<="),
    op(b"le", Binary, Relational, "<="),
    op(b"ls", Binary, Shift, "<<"),
    op(b"lt", Binary, Relational, "<"),
    op(b"mI", Binary, Assign, "-="),
    op(b"mL", Binary, Assign, "*="),
    op(b"mi", Binary, Additive, "-"),
    op(b"ml", Binary, Multiplicative, "*"),
    op(b"mm", Kind::Postfix, Precedence::Postfix, "--"),
    op(b"na", NewArray, Unary, " new[]"),
    op(b"ne", Binary, Equality, "!="),
    op(b"ng", Kind::Prefix, Unary, "-"),
    op(b"nt", Kind::Prefix, Unary, "!"),
    op(b"nw", New, Unary, " new"),
    op(b"oR", Binary, Assign, "|="),
    op(b"oo", Binary, OrIf, "||"),
    op(b"or", Binary, Ior, "|"),
    op(b"pL", Binary, Assign, "+="),
    op(b"pl", Binary, Additive, "+"),
    op(b"pm", Member, PtrMem, "->*"),
    op(b"pp", Kind::Postfix, Precedence::Postfix, "++"),
    op(b"ps", Kind::Prefix, Unary, "+"),
    op(b"pt", Member, Precedence::Postfix, "->"),
    op(b"qu", Kind::Conditional, Precedence::Conditional, "?"),
    op(b"rM", Binary, Assign, "%="),
    op(b"rS", Binary, Assign, ">>="),
    unnamed(b"rc", NamedCast, Precedence::Postfix, "reinterpret_cast"),
    op(b"rm", Binary, Multiplicative, "%"),
    op(b"rs", Binary, Shift, ">>"),
    unnamed(b"sc", NamedCast, Precedence::Postfix, "static_cast"),
    op(b"ss", Binary, Spaceship, "<=>"),
    unnamed(b"st", OfType, Unary, "sizeof "),
    unnamed(b"sz", OfExpression, Unary, "sizeof "),
    unnamed(b"te", OfExpression, Precedence::Postfix, "typeid "),
    unnamed(b"ti", OfType, Precedence::Postfix, "typeid "),
];

/// The index in [`OPERATORS`] of a two-letter code.
pub(crate) fn find_operator(code: [u8; 2]) -> Option<u8> {
    let index = OPERATORS.binary_search_by(|operator| operator.code.cmp(&code)).ok()?;
    u8::try_from(index).ok()
}

/// The operator at an index that [`find_operator`] gave.
pub(crate) fn operator(index: u8) -> &'static Operator {
    static NONE: Operator = op(b"  ", NameOnly, Precedence::Primary, "");
    OPERATORS.get(usize::from(index)).unwrap_or(&NONE)
}

/// A builtin type of one letter.
pub(crate) const fn builtin(code: u8) -> Option<&'static str> {
    Some(match code {
        b'a' => "signed char",
        b'b' => "bool",
        b'c' => "char",
        b'd' => "double",
        b'e' => "long double",
        b'f' => "float",
        b'g' => "__float128",
        b'h' => "unsigned char",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b's' => "short",
        b't' => "unsigned short",
        b'v' => "void",
        b'w' => "wchar_t",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'z' => "...",
        _ => return None,
    })
}

/// A builtin type of two letters, the first of which is `D`.
pub(crate) const fn builtin_d(code: u8) -> Option<&'static str> {
    Some(match code {
        b'a' => "auto",
        b'c' => "decltype(auto)",
        b'd' => "decimal64",
        b'e' => "decimal128",
        b'f' => "decimal32",
        b'h' => "half",
        b'i' => "char32_t",
        b'n' => "std::nullptr_t",
        b's' => "char16_t",
        b'u' => "char8_t",
        _ => return None,
    })
}

/// A fixed-point type, by whether it saturates, its kind (`A` or `R`) and its size.
pub(crate) const fn fixed_point(saturates: bool, kind: u8, size: u8) -> Option<&'static str> {
    Some(match (saturates, kind, size) {
        (false, b'A', b's') => "short _Accum",
        (false, b'A', b't') => "unsigned short _Accum",
        (false, b'A', b'i') => "_Accum",
        (false, b'A', b'j') => "unsigned _Accum",
        (false, b'A', b'l') => "long _Accum",
        (false, b'A', b'm') => "unsigned long _Accum",
        (false, b'R', b's') => "short _Fract",
        (false, b'R', b't') => "unsigned short _Fract",
        (false, b'R', b'i') => "_Fract",
        (false, b'R', b'j') => "unsigned _Fract",
        (false, b'R', b'l') => "long _Fract",
        (false, b'R', b'm') => "unsigned long _Fract",
        (true, b'A', b's') => "_Sat short _Accum",
        (true, b'A', b't') => "_Sat unsigned short _Accum",
        (true, b'A', b'i') => "_Sat _Accum",
        (true, b'A', b'j') => "_Sat unsigned _Accum",
        (true, b'A', b'l') => "_Sat long _Accum",
        (true, b'A', b'm') => "_Sat unsigned long _Accum",
        (true, b'R', b's') => "_Sat short _Fract",
        (true, b'R', b't') => "_Sat unsigned short _Fract",
        (true, b'R', b'i') => "_Sat _Fract",
        (true, b'R', b'j') => "_Sat unsigned _Fract",
        (true, b'R', b'l') => "_Sat long _Fract",
        (true, b'R', b'm') => "_Sat unsigned long _Fract",
        _ => return None,
    })
}

/// How the type of an integer literal shows.
pub(crate) enum IntegerStyle {
    Suffix(&'static str),
    Cast(&'static str),
}

/// The style of literals of a builtin integer type.
pub(crate) const fn integer_style(code: u8) -> Option<IntegerStyle> {
    Some(match code {
        b'i' => IntegerStyle::Suffix(""),
        b'j' => IntegerStyle::Suffix("u"),
        b'l' => IntegerStyle::Suffix("l"),
        b'm' => IntegerStyle::Suffix("ul"),
        b'x' => IntegerStyle::Suffix("ll"),
        b'y' => IntegerStyle::Suffix("ull"),
        b'a' | b'c' | b'h' | b'n' | b'o' | b's' | b't' | b'w' => match builtin(code) {
            Some(name) => IntegerStyle::Cast(name),
            None => return None,
        },
        _ => return None,
    })
}

/// An abbreviated class of the standard library.
pub(crate) struct StdClass {
    /// The abbreviation's own spelling, without `std::`.
    pub(crate) short: &'static str,
    /// The class template's name, which constructors have too.
    pub(crate) class: &'static str,
    /// The template arguments it abbreviates.
    pub(crate) args: &'static str,
}

/// The classes that have a two-letter substitution.
pub(crate) const fn std_class(letter: u8) -> Option<StdClass> {
    const TRAITS: &str = "<char, std::char_traits<char>>";
    Some(match letter {
        b'a' => StdClass { short: "allocator", class: "allocator", args: "" },
        b'b' => StdClass { short: "basic_string", class: "basic_string", args: "" },
        b's' => StdClass {
            short: "string",
            class: "basic_string",
            args: "<char, std::char_traits<char>, std::allocator<char>>",
        },
        b'i' => StdClass { short: "istream", class: "basic_istream", args: TRAITS },
        b'o' => StdClass { short: "ostream", class: "basic_ostream", args: TRAITS },
        b'd' => StdClass { short: "iostream", class: "basic_iostream", args: TRAITS },
        _ => return None,
    })
}

/// What a special name is about.
#[derive(Clone, Copy)]
pub(crate) enum SpecialOf {
    Type,
    Name,
    TemplateArg,
}

/// Special names of two letters and one operand.
pub(crate) const fn special(code: [u8; 2]) -> Option<(&'static str, SpecialOf)> {
    Some(match &code {
        b"TA" => ("template parameter object for ", SpecialOf::TemplateArg),
        b"TH" => ("thread-local initialization routine for ", SpecialOf::Name),
        b"TI" => ("typeinfo for ", SpecialOf::Type),
        b"TS" => ("typeinfo name for ", SpecialOf::Type),
        b"TT" => ("VTT for ", SpecialOf::Type),
        b"TV" => ("vtable for ", SpecialOf::Type),
        b"TW" => ("thread-local wrapper routine for ", SpecialOf::Name),
        b"GV" => ("guard variable for ", SpecialOf::Name),
        _ => return None,
    })
}
