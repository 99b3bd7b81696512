//! Writing the tree of a name as C++.
//!
//! A type is written around its declarator, as C++ wants it: what stands left of it
//! (`int (*`), then what stands right (`)(float)`).

use crate::node::{
    Arena, CONST, Clauses, ClausesId, Id, LVALUE, List, Node, RESTRICT, RVALUE, Span, VOLATILE,
};
use crate::tables::{Precedence, operator, std_class};

/// Longest text of one name: substitutions can make a short name explode.
const MAX_LENGTH: usize = 1 << 16;

/// Most nodes that are written for one name, as those that write nothing must end too.
const MAX_STEPS: u32 = 1 << 18;

/// Deepest nesting that is written.
const MAX_DEPTH: u32 = 1024;

/// Which part of the pack that is being expanded is written.
#[derive(Clone, Copy)]
struct PackState {
    index: u32,
    /// `None` until a pack is met, which tells how many parts there are.
    len: Option<u32>,
}

pub(crate) struct Printer<'a> {
    pub(crate) text: &'a str,
    pub(crate) arena: &'a Arena,
    pub(crate) out: &'a mut String,
    start: usize,
    depth: u32,
    steps: u32,
    failed: bool,
    /// How many brackets inside template arguments make a `>` mean "greater"; `None` outside.
    brackets: Option<u32>,
    pack: PackState,
    /// Where in the output the names are that were written already, by their place in the arena:
    /// long names repeat, and copying is faster than writing again.
    written: &'a mut Vec<Span>,
    /// Counts what was written that may be written otherwise at another place.
    variable: u32,
    /// References that are being written, which must not contain themselves.
    active: Vec<Id>,
}

/// What decides where brackets and spaces go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Array,
    Function,
    /// Not an array or a function, but has something to the right of the declarator.
    RightSide,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(
        text: &'a str,
        arena: &'a Arena,
        written: &'a mut Vec<Span>,
        out: &'a mut String,
    ) -> Self {
        let start = out.len();
        written.clear();
        written.resize(arena.len(), Span::default());
        Self {
            text,
            arena,
            out,
            start,
            depth: 0,
            steps: 0,
            failed: false,
            brackets: None,
            pack: PackState { index: 0, len: None },
            written,
            variable: 0,
            active: Vec::new(),
        }
    }

    /// Writes a whole name; on failure the output is as it was.
    pub(crate) fn write(mut self, id: Id) -> bool {
        self.print(id);
        self.failed |= self.out.len() - self.start > MAX_LENGTH;
        if self.failed {
            self.out.truncate(self.start);
        }
        !self.failed
    }

    /// The length is looked at once for each node, which is often enough.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    #[inline]
    pub(crate) fn push_span(&mut self, span: Span) {
        self.push(self.slice(span));
    }

    #[inline]
    pub(crate) fn slice(&self, span: Span) -> &'a str {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// A number, with its sign in front.
    pub(crate) fn push_number(&mut self, span: Span) {
        let text = self.slice(span);
        if let Some(digits) = text.strip_prefix('n') {
            self.push("-");
            self.push(digits);
        } else {
            self.push(text);
        }
    }

    #[inline]
    pub(crate) fn open(&mut self, bracket: &str) {
        self.brackets = self.brackets.map(|depth| depth + 1);
        self.push(bracket);
    }

    #[inline]
    pub(crate) fn close(&mut self, bracket: &str) {
        self.brackets = self.brackets.map(|depth| depth.saturating_sub(1));
        self.push(bracket);
    }

    /// Angle brackets around something, in which `>` would end them.
    pub(crate) fn angled(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = self.brackets;
        self.brackets.get_or_insert(0);
        self.push("<");
        write(self);
        self.push(">");
        self.brackets = outer;
    }

    /// Whether a `>` would be read as the end of template arguments. LLVM fears so outside of
    /// them too.
    pub(crate) fn greater_is_ambiguous(&mut self) -> bool {
        self.variable += 1;
        self.brackets.unwrap_or(0) == 0
    }

    #[inline]
    pub(crate) fn print(&mut self, id: Id) {
        self.left(id);
        self.right(id);
    }

    pub(crate) fn bracketed(&mut self, id: Id) {
        self.open("(");
        self.print(id);
        self.close(")");
    }

    /// Writes an operand, in brackets unless it binds tighter than `limit` (or as tight, if
    /// `or_equal`).
    pub(crate) fn operand(&mut self, id: Id, limit: Precedence, or_equal: bool) {
        if id.is_compound() {
            let precedence = self.arena.node(id).precedence();
            if precedence > limit || (precedence == limit && !or_equal) {
                return self.bracketed(id);
            }
        }
        self.print(id);
    }

    /// Items with commas between; those that write nothing (empty packs) take no comma.
    pub(crate) fn commas(&mut self, list: List) {
        let arena = self.arena;
        let mut first = true;
        for &id in arena.list(list) {
            let before = self.out.len();
            if !first {
                self.push(", ");
            }
            let after = self.out.len();
            self.operand(id, Precedence::Comma, false);
            if self.out.len() == after {
                self.out.truncate(before);
            } else {
                first = false;
            }
        }
    }

    /// False when the name is too deep or too long to go on.
    #[inline]
    fn enter(&mut self) -> bool {
        self.steps += 1;
        let long = self.out.len() - self.start > MAX_LENGTH;
        if self.failed || long || self.depth == MAX_DEPTH || self.steps > MAX_STEPS {
            self.failed = true;
            return false;
        }
        self.depth += 1;
        true
    }

    #[inline]
    pub(crate) fn left(&mut self, id: Id) {
        // Half of all nodes are mere words.
        match self.arena.node(id) {
            Node::Text(text) => self.push(text),
            Node::Source(span) => self.push_span(span),
            node => self.left_of_compound(node, id),
        }
    }

    #[inline(never)]
    fn left_of_compound(&mut self, node: Node, id: Id) {
        if self.enter() {
            self.left_of(node, id);
            self.depth -= 1;
        }
    }

    #[inline]
    pub(crate) fn right(&mut self, id: Id) {
        if id.has_right() && self.enter() {
            self.right_of(self.arena.node(id), id);
            self.depth -= 1;
        }
    }

    fn left_of(&mut self, node: Node, id: Id) {
        match node {
            Node::Scoped { scope, name } => self.once(id, |printer| {
                printer.print(scope);
                printer.push("::");
                printer.print(name);
            }),
            Node::Templated { name, args } => self.once(id, |printer| {
                printer.print(name);
                printer.print(args);
            }),
            Node::Args(list) => self.angled(|printer| printer.commas(list)),
            Node::Pointer(child) => self.pointer_left(child),
            Node::Qualified { child, qualifiers } => {
                self.left(child);
                self.qualifiers(qualifiers);
            }
            Node::Reference { child, rvalue } => {
                self.guarded(id, |printer| printer.reference_left(child, rvalue));
            }
            Node::Encoding { result, name, .. } => {
                if let Some(result) = result {
                    self.left(result);
                    if self.shape(result) == Shape::Plain {
                        self.push(" ");
                    }
                }
                self.print(name);
            }
            Node::Function { result, .. } => {
                self.left(result);
                self.push(" ");
            }
            Node::Array { element, .. } => self.left(element),
            Node::Integer { code, value } => self.integer(code, value),
            Node::Member { class, member } => {
                self.left(member);
                let brackets = self.takes_brackets(member);
                self.push(if brackets { "(" } else { " " });
                self.print(class);
                self.push("::*");
            }
            Node::Pack(list) => {
                if let Some(part) = self.part(list) {
                    self.left(part);
                }
            }
            Node::ArgPack(list) | Node::Sequence(list) => self.commas(list),
            Node::Expansion(child) => self.expansion(child),
            Node::Forward { target: Some(target), .. } => {
                self.guarded(id, |printer| printer.left(target));
            }
            _ => self.left_of_name(node),
        }
    }

    /// Writes a node, or copies what was written for it before.
    #[inline]
    fn once(&mut self, id: Id, write: impl FnOnce(&mut Self)) {
        let span = self.written.get(id.index()).copied().unwrap_or_default();
        if span.len != 0 {
            let start = self.start + span.start as usize;
            self.out.extend_from_within(start..start + span.len as usize);
            return;
        }
        let (start, variable) = (self.out.len(), self.variable);
        write(self);
        if self.variable == variable
            && let Some(span) = self.written.get_mut(id.index())
            && let Ok(begin) = u32::try_from(start - self.start)
            && let Ok(len) = u32::try_from(self.out.len() - start)
        {
            *span = Span { start: begin, len };
        }
    }

    fn left_of_name(&mut self, node: Node) {
        match node {
            Node::Std { letter, expanded } => self.std_class(letter, expanded),
            Node::Friend { scope, name } => {
                self.print(scope);
                self.push("::friend ");
                self.print(name);
            }
            Node::Tagged { name, tag } => {
                self.left(name);
                self.push("[abi:");
                self.push_span(tag);
                self.push("]");
            }
            Node::Constructor { class, destructor } => {
                if destructor {
                    self.push("~");
                }
                self.base_name(class);
            }
            Node::Module { parent, name, partition } => {
                if let Some(parent) = parent {
                    self.print(parent);
                }
                if parent.is_some() || partition {
                    self.push(if partition { ":" } else { "." });
                }
                self.print(name);
            }
            Node::InModule { name, module } => {
                self.print(name);
                self.push("@");
                self.print(module);
            }
            Node::Binding(list) => {
                self.open("[");
                self.commas(list);
                self.close("]");
            }
            _ => self.left_of_special_name(node),
        }
    }

    /// Closures, operators, and names that compilers add.
    fn left_of_special_name(&mut self, node: Node) {
        match node {
            Node::Unnamed(count) => {
                self.push("'unnamed");
                self.push_span(count);
                self.push("'");
            }
            Node::Closure { count, declarator } => {
                self.push("'lambda");
                self.push_span(count);
                self.push("'");
                self.print(declarator);
            }
            Node::Declarator { templates, params, clauses } => {
                let Clauses { before, after, .. } = self.arena.clauses(clauses);
                if !templates.is_empty() {
                    self.angled(|printer| printer.commas(templates));
                }
                self.requires(before);
                if before.is_some() {
                    self.push(" ");
                }
                self.params(params);
                self.requires(after);
            }
            Node::Operator(op) => {
                self.push("operator");
                self.push(operator(op).text);
            }
            Node::Suffixed { name, suffix } => {
                self.print(name);
                self.push(" (");
                self.push_span(suffix);
                self.push(")");
            }
            Node::Prefixed { prefix, child } => {
                self.push(prefix);
                self.print(child);
            }
            Node::ConstructionVtable { derived, base } => {
                self.push("construction vtable for ");
                self.print(base);
                self.push("-in-");
                self.print(derived);
            }
            _ => self.left_of_type(node),
        }
    }

    fn left_of_type(&mut self, node: Node) {
        match node {
            Node::Throws(list) => {
                self.push("throw");
                self.params(list);
            }
            Node::Vector { element, bound } => {
                self.print(element);
                self.vector(bound);
            }
            Node::PixelVector(bound) => {
                self.push("pixel");
                self.vector(Some(bound));
            }
            Node::BitInt { bits, unsigned } => {
                self.push(if unsigned { "unsigned _BitInt" } else { "_BitInt" });
                self.bracketed(bits);
            }
            Node::FloatN(bits) => {
                self.push("_Float");
                self.push_span(bits);
            }
            Node::Postfixed { child, postfix } => {
                self.left(child);
                self.push(postfix);
            }
            Node::Vendor { child, qualifier, args } => {
                self.print(child);
                self.push(" ");
                self.push_span(qualifier);
                if let Some(args) = args {
                    self.print(args);
                }
            }
            Node::Transformed { name, base } => {
                self.print(name);
                self.push("(");
                self.print(base);
                self.push(")");
            }
            Node::ObjcProtocol { child, protocol } => {
                self.print(child);
                self.push("<");
                self.push_span(protocol);
                self.push(">");
            }
            _ => self.left_of_param(node),
        }
    }

    fn left_of_param(&mut self, node: Node) {
        match node {
            Node::Invented { prefix, index } => {
                self.push(prefix);
                if let Some(index) = index.checked_sub(1) {
                    self.push(&index.to_string());
                }
            }
            Node::TypeParam(_) => self.push("typename "),
            Node::ConstrainedParam { constraint, .. } => {
                self.print(constraint);
                self.push(" ");
            }
            Node::ValueParam { of, .. } => {
                self.left(of);
                if self.shape(of) == Shape::Plain {
                    self.push(" ");
                }
            }
            Node::TemplateParam { params, .. } => {
                self.push("template");
                self.angled(|printer| printer.commas(params));
                self.push(" typename ");
            }
            Node::PackParam(child) => {
                self.left(child);
                self.push("...");
            }
            _ => self.expression(node),
        }
    }

    fn right_of(&mut self, node: Node, id: Id) {
        match node {
            Node::Pointer(child) if !self.is_objc_object(child) => {
                self.close_declarator(child);
                self.right(child);
            }
            Node::Qualified { child, .. } | Node::PackParam(child) => self.right(child),
            Node::Reference { child, rvalue } => {
                self.guarded(id, |printer| printer.reference_right(child, rvalue));
            }
            Node::Encoding { result, params, qualifiers, clauses, .. } => {
                self.params(params);
                if let Some(result) = result {
                    self.right(result);
                }
                self.qualifiers(qualifiers);
                self.encoding_clauses(clauses);
            }
            Node::Function { result, params, qualifiers, exception } => {
                self.params(params);
                self.right(result);
                self.qualifiers(qualifiers);
                if let Some(exception) = exception {
                    self.push(" ");
                    self.print(exception);
                }
            }
            Node::Array { element, bound } => {
                if !self.ends_with(b']') {
                    self.push(" ");
                }
                self.push("[");
                if let Some(bound) = bound {
                    self.print(bound);
                }
                self.push("]");
                self.right(element);
            }
            Node::Member { member, .. } => {
                self.close_declarator(member);
                self.right(member);
            }
            Node::Pack(list) => {
                if let Some(part) = self.part(list) {
                    self.right(part);
                }
            }
            Node::Forward { target: Some(target), .. } => {
                self.guarded(id, |printer| printer.right(target));
            }
            _ => self.right_of_param(node),
        }
    }

    fn right_of_param(&mut self, node: Node) {
        match node {
            Node::TypeParam(name) | Node::ConstrainedParam { name, .. } => self.print(name),
            Node::ValueParam { name, of } => {
                self.print(name);
                self.right(of);
            }
            Node::TemplateParam { name, clauses, .. } => {
                self.print(name);
                let after = self.arena.clauses(clauses).after;
                self.requires(after);
            }
            _ => {}
        }
    }

    fn encoding_clauses(&mut self, clauses: Option<ClausesId>) {
        let Some(clauses) = clauses else { return };
        let Clauses { attributes, after, .. } = self.arena.clauses(clauses);
        if let Some(attributes) = attributes {
            self.push(" [enable_if:");
            self.commas(attributes);
            self.push("]");
        }
        self.requires(after);
    }

    fn requires(&mut self, constraint: Option<Id>) {
        if let Some(constraint) = constraint {
            self.push(" requires ");
            self.print(constraint);
        }
    }

    pub(crate) fn params(&mut self, params: List) {
        self.open("(");
        self.commas(params);
        self.close(")");
    }

    fn qualifiers(&mut self, qualifiers: u8) {
        const TEXTS: [(u8, &str); 5] = [
            (CONST, " const"),
            (VOLATILE, " volatile"),
            (RESTRICT, " restrict"),
            (LVALUE, " &"),
            (RVALUE, " &&"),
        ];
        if qualifiers == 0 {
            return;
        }
        for (bit, text) in TEXTS {
            if qualifiers & bit != 0 {
                self.push(text);
            }
        }
    }

    fn vector(&mut self, bound: Option<Id>) {
        self.push(" vector[");
        if let Some(bound) = bound {
            self.print(bound);
        }
        self.push("]");
    }

    fn ends_with(&self, byte: u8) -> bool {
        self.out.as_bytes().get(self.start..).and_then(<[u8]>::last) == Some(&byte)
    }

    fn std_class(&mut self, letter: u8, expanded: bool) {
        let Some(class) = std_class(letter) else { return };
        self.push("std::");
        if expanded {
            self.push(class.class);
            self.push(class.args);
        } else {
            self.push(class.short);
        }
    }

    /// Writes what a class's constructor is called, which is nothing for what has no name.
    fn base_name(&mut self, mut id: Id) {
        loop {
            let node = self.arena.node(id);
            id = match node {
                Node::Scoped { name, .. }
                | Node::Templated { name, .. }
                | Node::Tagged { name, .. }
                | Node::Friend { name, .. }
                | Node::InModule { name, .. } => name,
                Node::Std { letter, expanded } => {
                    if let Some(class) = std_class(letter) {
                        self.push(if expanded { class.class } else { class.short });
                    }
                    return;
                }
                Node::Text(_) | Node::Source(_) | Node::Operator(_) => return self.left(id),
                _ => return,
            };
        }
    }

    // Declarators.

    fn is_objc_object(&self, child: Id) -> bool {
        match self.arena.node(child) {
            Node::ObjcProtocol { child, .. } => match self.arena.node(child) {
                Node::Source(span) => self.slice(span) == "objc_object",
                _ => false,
            },
            _ => false,
        }
    }

    fn pointer_left(&mut self, child: Id) {
        if let Node::ObjcProtocol { protocol, .. } = self.arena.node(child)
            && self.is_objc_object(child)
        {
            self.push("id<");
            self.push_span(protocol);
            self.push(">");
            return;
        }
        self.left(child);
        self.open_declarator(child);
        self.push("*");
    }

    fn reference_left(&mut self, child: Id, rvalue: bool) {
        let Some((child, rvalue)) = self.collapse(child, rvalue) else { return };
        self.left(child);
        self.open_declarator(child);
        self.push(if rvalue { "&&" } else { "&" });
    }

    fn reference_right(&mut self, child: Id, rvalue: bool) {
        let Some((child, _)) = self.collapse(child, rvalue) else { return };
        self.close_declarator(child);
        self.right(child);
    }

    fn open_declarator(&mut self, child: Id) {
        match self.shape(child) {
            Shape::Array => self.push(" ("),
            Shape::Function => self.push("("),
            Shape::Plain | Shape::RightSide => {}
        }
    }

    fn close_declarator(&mut self, child: Id) {
        if self.takes_brackets(child) {
            self.push(")");
        }
    }

    fn takes_brackets(&mut self, child: Id) -> bool {
        matches!(self.shape(child), Shape::Array | Shape::Function)
    }

    /// References to references are one reference: `&` wins over `&&`.
    fn collapse(&mut self, mut child: Id, mut rvalue: bool) -> Option<(Id, bool)> {
        // Each step goes down the tree, except through forward references, which may go round.
        for _ in 0..MAX_DEPTH {
            match self.arena.node(self.resolved(child)) {
                Node::Reference { child: inner, rvalue: inner_rvalue } => {
                    rvalue &= inner_rvalue;
                    child = inner;
                }
                _ => return Some((child, rvalue)),
            }
        }
        None
    }

    /// The node behind parameters.
    fn resolved(&mut self, mut id: Id) -> Id {
        for _ in 0..MAX_DEPTH {
            id = match self.arena.node(id) {
                Node::Forward { target: Some(target), .. } => target,
                Node::Pack(list) => match self.part(list) {
                    Some(part) => part,
                    None => return id,
                },
                _ => return id,
            };
        }
        id
    }

    #[inline]
    fn shape(&mut self, id: Id) -> Shape {
        if id.has_right() { self.shape_of(id) } else { Shape::Plain }
    }

    fn shape_of(&mut self, mut id: Id) -> Shape {
        let mut inside = false;
        for _ in 0..MAX_DEPTH {
            id = match self.arena.node(id) {
                Node::Array { .. } if !inside => return Shape::Array,
                Node::Function { .. } | Node::Encoding { .. } if !inside => return Shape::Function,
                Node::Array { .. }
                | Node::Function { .. }
                | Node::Encoding { .. }
                | Node::TypeParam(_)
                | Node::ConstrainedParam { .. }
                | Node::ValueParam { .. }
                | Node::TemplateParam { .. }
                | Node::PackParam(_) => return Shape::RightSide,
                Node::Qualified { child, .. } => child,
                Node::Pointer(child)
                | Node::Reference { child, .. }
                | Node::Member { member: child, .. } => {
                    inside = true;
                    child
                }
                Node::Forward { target: Some(target), .. } if !self.active.contains(&id) => target,
                Node::Pack(list) => match self.part(list) {
                    Some(part) => part,
                    None => return Shape::Plain,
                },
                _ => return Shape::Plain,
            };
        }
        Shape::Plain
    }

    /// Writes a node unless it is being written; only forward references can make it so.
    #[inline]
    fn guarded(&mut self, id: Id, write: impl FnOnce(&mut Self)) {
        if !self.arena.has_forward() {
            return write(self);
        }
        self.variable += 1;
        if !self.active.contains(&id) {
            self.active.push(id);
            write(self);
            self.active.pop();
        }
    }

    // Packs.

    /// The part of a pack that is to be written; the first pack met sets how many there are.
    fn part(&mut self, list: List) -> Option<Id> {
        self.variable += 1;
        if self.pack.len.is_none() {
            self.pack = PackState { index: 0, len: Some(list.len()) };
        }
        self.arena.list(list).get(self.pack.index as usize).copied()
    }

    /// Writes a pattern once for each part of the packs in it.
    pub(crate) fn expansion(&mut self, child: Id) {
        let outer = std::mem::replace(&mut self.pack, PackState { index: 0, len: None });
        let start = self.out.len();
        self.print(child);
        match self.pack.len {
            None => self.push("..."),
            Some(0) => {
                self.out.truncate(start);
                self.written.fill(Span::default());
            }
            Some(len) => {
                for index in 1..len {
                    if self.failed {
                        break;
                    }
                    self.push(", ");
                    self.pack = PackState { index, len: Some(len) };
                    self.print(child);
                }
            }
        }
        self.pack = outer;
    }
}
