//! How names are shown: short, as in the source, or mangled.

use std::borrow::Cow;

use hsaco_bytes::Str;
use hsaco_demangle::demangle;

/// How much of a name is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// The function alone: no namespace, no template arguments, no parameters.
    Short,
    /// As in the source.
    #[default]
    Full,
    /// As the linker sees it.
    Mangled,
}

impl Names {
    /// A name, spelt so.
    ///
    /// ```
    /// use hsaco_describe::names::Names;
    /// let name = "_ZN4blas4gemmIfLi16EEEvPKT_i";
    /// assert_eq!(Names::Short.of(name.into()), "gemm");
    /// assert_eq!(Names::Full.of(name.into()), "void blas::gemm<float, 16>(float const*, int)");
    /// assert_eq!(Names::Mangled.of(name.into()), name);
    /// ```
    #[must_use]
    pub fn of(self, name: Str<'_>) -> Cow<'_, str> {
        let written = || demangle(name.as_bytes());
        match self {
            Names::Mangled => name.to_str_lossy(),
            Names::Full => written().map_or_else(|| name.to_str_lossy(), Cow::Owned),
            Names::Short => {
                written().map_or_else(|| name.to_str_lossy(), |it| short(&it).to_owned().into())
            }
        }
    }
}

/// The name of a function without all that stands around it.
fn short(full: &str) -> &str {
    let end = end_of_name(full);
    let head = full.get(..end).unwrap_or(full);
    let start = start_of_name(head);
    match head.get(start..).map(str::trim) {
        Some(name) if !name.is_empty() => name,
        _ => full,
    }
}

/// Brackets that say nothing of where a name ends.
const NAMED: [&str; 2] = ["(anonymous namespace)", "decltype(auto)"];

/// Where template arguments or parameters of the function begin: no name of the path follows them.
fn end_of_name(full: &str) -> usize {
    let mut at = 0;
    while let Some(rest) = full.get(at..).filter(|it| !it.is_empty()) {
        if let Some(named) = NAMED.iter().find(|it| rest.starts_with(**it)) {
            at += named.len();
            continue;
        }
        if let Some(size) = operator_size(full, at) {
            return at + size;
        }
        match rest.chars().next() {
            Some('(') => return at,
            Some('<' | '{' | '[') => {
                let after = at + bracketed(rest);
                if rest.starts_with('<') && !full.get(after..).is_some_and(goes_on) {
                    return at;
                }
                at = after;
            }
            Some(letter) => at += letter.len_utf8(),
            None => break,
        }
    }
    full.len()
}

/// Whether a name goes on after template arguments: a member of a class, or what returns a template.
fn goes_on(rest: &str) -> bool {
    rest.starts_with("::") || rest.starts_with([' ', '*', '&'])
}

/// How long `operator()`, `operator<` and their like are, if one stands here.
fn operator_size(full: &str, at: usize) -> Option<usize> {
    let signs = full.get(at..)?.strip_prefix("operator")?;
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let before = full.get(..at)?.chars().next_back();
    if before.is_some_and(is_word) || signs.starts_with(is_word) {
        return None;
    }
    let known = ["()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];
    let size = known
        .iter()
        .find(|it| signs.starts_with(**it))
        .map_or_else(|| signs.find('(').unwrap_or(signs.len()), |it| it.len());
    Some("operator".len() + size)
}

/// Bytes up to the bracket that closes the first one.
fn bracketed(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if text.get(..at).is_some_and(|it| it.ends_with('-')) => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

/// Where the last name of a path begins: after its namespaces and the type that the function returns.
fn start_of_name(head: &str) -> usize {
    let mut start = 0;
    let mut at = 0;
    while let Some(rest) = head.get(at..).filter(|it| !it.is_empty()) {
        let size = match rest.chars().next() {
            _ if operator_size(head, at).is_some() => break,
            _ if rest.starts_with("::") => {
                start = at + 2;
                2
            }
            Some('<' | '(' | '[' | '{') => bracketed(rest),
            Some(' ' | '*' | '&') => {
                start = at + 1;
                1
            }
            Some(letter) => letter.len_utf8(),
            None => break,
        };
        at += size;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_what_one_would_call_the_kernel() {
        for (full, expected) in [
            ("add(float*, int)", "add"),
            ("void axpy<float, 16u>(float*)", "axpy"),
            ("(anonymous namespace)::kernel(int)", "kernel"),
            ("void a::b<c<d>, (e)1>::run<f>(int (*)(g))", "run"),
            ("std::vector<int> make<int>()", "make"),
            ("int const* first<4>(char)", "first"),
            ("add(float*, int) (.kd)", "add"),
            ("ns::S::operator()(int) const", "operator()"),
            ("bool operator< <int>(A<int> const&, B)", "operator<"),
            ("A::operator bool() const", "operator bool"),
            ("foo::example_function", "example_function"),
            ("void run<main::{lambda(int)#1}>(int)", "run"),
            ("main::{lambda(int)#1}::operator()(int) const", "operator()"),
            ("decltype(auto) pick<int>(int)", "pick"),
            ("operators(int)", "operators"),
            ("", ""),
        ] {
            assert_eq!(short(full), expected, "{full}");
        }
    }
}
