//! The cursor over a mangled name, and what a whole name is: encodings and special names.

use crate::node::{Arena, Clauses, Id, LVALUE, List, Node, RVALUE, Span};
use crate::tables::{SpecialOf, special};

/// Deepest nesting that is followed; real names stay below a hundred.
const MAX_DEPTH: u32 = 512;

/// What the template parameters of one level stand for.
#[derive(Debug)]
pub(crate) enum Level {
    /// The arguments of the name that is being read, which are in `Parser::arguments`.
    Arguments,
    /// A generic lambda's, which have no declaration: each is `auto`.
    Auto,
    /// Declared by a lambda or a template template parameter.
    Declared(Vec<Id>),
}

/// The memory that parsing needs, to be used again for the next name.
#[derive(Default, Debug)]
pub(crate) struct Buffers {
    pub(crate) arena: Arena,
    substitutions: Vec<Id>,
    pub(crate) arguments: Vec<Id>,
    levels: Vec<Level>,
    pub(crate) forward: Vec<Id>,
    /// Lists that are not complete yet, one after another.
    pending: Vec<Id>,
    /// For the printer.
    pub(crate) written: Vec<Span>,
}

impl Buffers {
    fn clear(&mut self) {
        self.arena.clear();
        self.substitutions.clear();
        self.arguments.clear();
        self.levels.clear();
        self.forward.clear();
        self.pending.clear();
    }
}

/// What a name says about the function it names.
#[derive(Default)]
pub(crate) struct NameState {
    pub(crate) qualifiers: u8,
    pub(crate) special_member: bool,
    pub(crate) ends_with_arguments: bool,
    pub(crate) explicit_object: bool,
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    pub(crate) pos: usize,
    depth: u32,
    pub(crate) buffers: &'a mut Buffers,
    /// Where the arguments of the encoding at hand begin in `Buffers::arguments`.
    pub(crate) first_argument: usize,
    /// Where its levels of template parameters begin in `Buffers::levels`.
    first_level: usize,
    /// Off where `<type> <template-args>` would be ambiguous.
    pub(crate) type_arguments: bool,
    /// On in conversion operators, whose type may use arguments that come later.
    pub(crate) forward_references: bool,
    /// The level whose undeclared parameters are `auto`.
    pub(crate) auto_level: Option<usize>,
    /// On in constraints, whose template parameters are not tracked.
    pub(crate) in_constraint: bool,
    /// How many names of each kind (type, value, template) were invented.
    pub(crate) invented: [u32; 3],
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, buffers: &'a mut Buffers) -> Self {
        buffers.clear();
        Self {
            text,
            pos: 0,
            depth: 0,
            buffers,
            first_argument: 0,
            first_level: 0,
            type_arguments: true,
            forward_references: false,
            auto_level: None,
            in_constraint: false,
            invented: [0; 3],
        }
    }

    /// The whole name, to its last byte.
    pub(crate) fn symbol(&mut self) -> Option<Id> {
        if self.eat_str("_Z") || self.eat_str("__Z") {
            let encoding = self.encoding()?;
            let id = self.suffix(encoding)?;
            return (self.left() == 0).then_some(id);
        }
        if self.eat_str("___Z") || self.eat_str("____Z") {
            return self.block_invocation();
        }
        None
    }

    fn suffix(&mut self, name: Id) -> Option<Id> {
        if self.peek() != b'.' {
            return Some(name);
        }
        let suffix = self.span(self.pos, self.text.len())?;
        self.pos = self.text.len();
        self.add(Node::Suffixed { name, suffix })
    }

    fn block_invocation(&mut self) -> Option<Id> {
        let child = self.encoding()?;
        if !self.eat_str("_block_invoke") {
            return None;
        }
        let numbered = self.eat(b'_');
        if self.number(false)?.len == 0 && numbered {
            return None;
        }
        if self.peek() == b'.' {
            self.pos = self.text.len();
        }
        if self.left() != 0 {
            return None;
        }
        self.prefixed("invocation function for block in ", child)
    }

    /// A function with its parameters, a variable, or a special name.
    pub(crate) fn encoding(&mut self) -> Option<Id> {
        self.deeper(|parser| parser.isolated(Self::encoding_in_scope))
    }

    /// Runs a rule that sees no template parameters from outside, and lets none out.
    pub(crate) fn isolated(&mut self, rule: impl FnOnce(&mut Self) -> Option<Id>) -> Option<Id> {
        let (argument, level) = (self.first_argument, self.first_level);
        self.first_argument = self.buffers.arguments.len();
        self.first_level = self.buffers.levels.len();
        let id = rule(self);
        self.buffers.arguments.truncate(self.first_argument);
        self.buffers.levels.truncate(self.first_level);
        (self.first_argument, self.first_level) = (argument, level);
        id
    }

    fn encoding_in_scope(&mut self) -> Option<Id> {
        if matches!(self.peek(), b'G' | b'T') {
            return self.special_name();
        }
        let mut state = NameState::default();
        let first_forward = self.buffers.forward.len();
        let name = self.name(Some(&mut state))?;
        self.resolve_forward(first_forward)?;
        if self.at_end_of_encoding() {
            return Some(name);
        }
        let attributes = self.enable_if()?;
        let result = if !state.special_member && state.ends_with_arguments {
            Some(self.ty()?)
        } else {
            None
        };
        let params = self.params(&state)?;
        let after = if self.eat(b'Q') { Some(self.constraint()?) } else { None };
        let clauses = if attributes.is_some() || after.is_some() {
            Some(self.buffers.arena.add_clauses(Clauses { attributes, before: None, after })?)
        } else {
            None
        };
        let qualifiers = state.qualifiers;
        self.add(Node::Encoding { result, name, params, qualifiers, clauses })
    }

    fn params(&mut self, state: &NameState) -> Option<List> {
        if self.eat(b'v') {
            return Some(List::default());
        }
        let mark = self.mark();
        loop {
            let mut param = self.ty()?;
            if state.explicit_object && self.mark() == mark {
                param = self.prefixed("this ", param)?;
            }
            self.push(param);
            if self.at_end_of_encoding() || self.peek() == b'Q' {
                return self.list(mark);
            }
        }
    }

    fn at_end_of_encoding(&self) -> bool {
        self.left() == 0 || matches!(self.peek(), b'E' | b'.' | b'_')
    }

    fn enable_if(&mut self) -> Option<Option<List>> {
        if !self.eat_str("Ua9enable_ifI") {
            return Some(None);
        }
        self.until_end(Self::template_arg).map(Some)
    }

    fn resolve_forward(&mut self, first: usize) -> Option<()> {
        while self.buffers.forward.len() > first {
            let id = self.buffers.forward.pop()?;
            let Node::Forward { index, .. } = self.node(id) else { return None };
            if !matches!(self.level(0), Some(Level::Arguments)) {
                return None;
            }
            let argument = self.first_argument.checked_add(index as usize)?;
            let target = *self.buffers.arguments.get(argument)?;
            self.buffers.arena.resolve(id, target);
        }
        Some(())
    }

    fn special_name(&mut self) -> Option<Id> {
        if let Some((prefix, of)) = special([self.peek(), self.peek_at(1)]) {
            self.pos += 2;
            let child = match of {
                SpecialOf::Type => self.ty()?,
                SpecialOf::Name => self.name(None)?,
                SpecialOf::TemplateArg => self.template_arg()?,
            };
            return self.prefixed(prefix, child);
        }
        if self.eat_str("TC") {
            return self.construction_vtable();
        }
        if self.eat_str("Tc") {
            self.call_offset()?;
            self.call_offset()?;
            let child = self.encoding()?;
            return self.prefixed("covariant return thunk to ", child);
        }
        if self.eat_str("GR") {
            return self.reference_temporary();
        }
        if self.eat_str("GI") {
            let module = self.module_name(None)??;
            return self.prefixed("initializer for module ", module);
        }
        self.thunk()
    }

    fn thunk(&mut self) -> Option<Id> {
        if !self.eat(b'T') {
            return None;
        }
        let virtual_thunk = self.peek() == b'v';
        self.call_offset()?;
        let child = self.encoding()?;
        self.prefixed(
            if virtual_thunk { "virtual thunk to " } else { "non-virtual thunk to " },
            child,
        )
    }

    fn construction_vtable(&mut self) -> Option<Id> {
        let derived = self.ty()?;
        self.some_number(true)?;
        self.expect(b'_')?;
        let base = self.ty()?;
        self.add(Node::ConstructionVtable { derived, base })
    }

    fn reference_temporary(&mut self) -> Option<Id> {
        let child = self.name(None)?;
        let numbered = self.sequence_number().is_some();
        if !self.eat(b'_') && numbered {
            return None;
        }
        self.prefixed("reference temporary for ", child)
    }

    fn call_offset(&mut self) -> Option<()> {
        if self.eat(b'h') {
            self.some_number(true)?;
            return self.expect(b'_');
        }
        self.expect(b'v')?;
        self.some_number(true)?;
        self.expect(b'_')?;
        self.some_number(true)?;
        self.expect(b'_')
    }

    pub(crate) fn cv_qualifiers(&mut self) -> u8 {
        use crate::node::{CONST, RESTRICT, VOLATILE};
        let mut qualifiers = 0;
        for (code, bit) in [(b'r', RESTRICT), (b'V', VOLATILE), (b'K', CONST)] {
            if self.eat(code) {
                qualifiers |= bit;
            }
        }
        qualifiers
    }

    pub(crate) fn ref_qualifier(&mut self) -> u8 {
        if self.eat(b'O') {
            RVALUE
        } else if self.eat(b'R') {
            LVALUE
        } else {
            0
        }
    }

    // Template parameters.

    /// How many levels of template parameters can be seen.
    #[inline]
    pub(crate) fn levels(&self) -> usize {
        self.buffers.levels.len() - self.first_level
    }

    pub(crate) fn level(&self, level: usize) -> Option<&Level> {
        self.buffers.levels.get(self.first_level.checked_add(level)?)
    }

    pub(crate) fn last_level(&mut self) -> Option<&mut Level> {
        self.buffers.levels.last_mut()
    }

    pub(crate) fn push_level(&mut self, level: Level) {
        self.buffers.levels.push(level);
    }

    /// Forgets all levels but the first few.
    pub(crate) fn keep_levels(&mut self, count: usize) {
        self.buffers.levels.truncate(self.first_level + count);
    }

    // Substitutions.

    /// Makes a component available to later `S_` codes.
    #[inline]
    pub(crate) fn substitutable(&mut self, id: Id) {
        self.buffers.substitutions.push(id);
    }

    pub(crate) fn forget_substitution(&mut self) -> Option<()> {
        self.buffers.substitutions.pop().map(|_| ())
    }

    pub(crate) fn substitution(&mut self) -> Option<Id> {
        self.expect(b'S')?;
        if self.peek().is_ascii_lowercase() {
            let letter = self.peek();
            super::tables::std_class(letter)?;
            self.pos += 1;
            let class = self.add(Node::Std { letter, expanded: false })?;
            let tagged = self.abi_tags(class)?;
            if tagged != class {
                self.substitutable(tagged);
            }
            return Some(tagged);
        }
        let index = if self.eat(b'_') {
            0
        } else {
            let number = self.sequence_number()?;
            self.expect(b'_')?;
            number.checked_add(1)?
        };
        self.buffers.substitutions.get(index).copied()
    }

    fn sequence_number(&mut self) -> Option<usize> {
        let mut value: Option<usize> = None;
        while let digit @ (b'0'..=b'9' | b'A'..=b'Z') = self.peek() {
            let digit = if digit <= b'9' { digit - b'0' } else { digit - b'A' + 10 };
            let number = value.unwrap_or(0).saturating_mul(36).saturating_add(usize::from(digit));
            value = Some(number);
            self.pos += 1;
        }
        value
    }

    // The cursor.

    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.text.len() - self.pos
    }

    /// The next byte; 0 at the end.
    #[inline]
    pub(crate) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    #[inline]
    pub(crate) fn peek_at(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.left() != 0 && self.peek() == byte;
        self.pos += usize::from(found);
        found
    }

    #[inline]
    pub(crate) fn eat_str(&mut self, wanted: &str) -> bool {
        let rest = self.text.as_bytes().get(self.pos..).unwrap_or_default();
        let found = rest.starts_with(wanted.as_bytes());
        if found {
            self.pos += wanted.len();
        }
        found
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    #[inline]
    pub(crate) fn span(&self, start: usize, end: usize) -> Option<Span> {
        let len = u32::try_from(end.checked_sub(start)?).ok()?;
        Some(Span { start: u32::try_from(start).ok()?, len })
    }

    /// Decimal digits, maybe none, after an `n` if it may be negative.
    pub(crate) fn number(&mut self, negative: bool) -> Option<Span> {
        let start = self.pos;
        if negative {
            self.eat(b'n');
        }
        let digits = self.pos;
        while self.peek().is_ascii_digit() {
            self.pos += 1;
        }
        if digits == self.pos { Some(Span::default()) } else { self.span(start, self.pos) }
    }

    /// At least one digit.
    pub(crate) fn some_number(&mut self, negative: bool) -> Option<Span> {
        self.number(negative).filter(|span| span.len != 0)
    }

    /// The value of decimal digits, of which there must be one.
    pub(crate) fn integer(&mut self) -> Option<usize> {
        let mut value: Option<usize> = None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.peek() - b'0');
            value = Some(value.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            self.pos += 1;
        }
        value
    }

    /// The `<length> <text>` of an identifier.
    pub(crate) fn bare_source_name(&mut self) -> Option<Span> {
        let len = self.integer()?;
        if len == 0 || len > self.left() {
            return None;
        }
        let span = self.span(self.pos, self.pos + len)?;
        self.pos += len;
        self.slice(span).map(|_| span)
    }

    /// `None` when a length cut a character in two.
    #[inline]
    pub(crate) fn slice(&self, span: Span) -> Option<&'a str> {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize)
    }

    // Nodes and lists.

    #[inline]
    pub(crate) fn add(&mut self, node: Node) -> Option<Id> {
        self.buffers.arena.add(node)
    }

    #[inline]
    pub(crate) fn node(&self, id: Id) -> Node {
        self.buffers.arena.node(id)
    }

    pub(crate) fn prefixed(&mut self, prefix: &'static str, child: Id) -> Option<Id> {
        self.add(Node::Prefixed { prefix, child })
    }

    /// Begins a list; [`list`](Self::list) with the mark ends it.
    #[inline]
    pub(crate) fn mark(&self) -> usize {
        self.buffers.pending.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, id: Id) {
        self.buffers.pending.push(id);
    }

    pub(crate) fn list(&mut self, mark: usize) -> Option<List> {
        let items = self.buffers.pending.get(mark..).unwrap_or_default();
        let list = self.buffers.arena.add_list(items);
        self.buffers.pending.truncate(mark);
        list
    }

    /// Items up to an `E`.
    pub(crate) fn until_end(&mut self, item: fn(&mut Self) -> Option<Id>) -> Option<List> {
        let mark = self.mark();
        while !self.eat(b'E') {
            let id = item(self)?;
            self.push(id);
        }
        self.list(mark)
    }

    /// Runs a rule one level deeper, or refuses.
    pub(crate) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }
}
