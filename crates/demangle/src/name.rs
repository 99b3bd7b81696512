//! Names: nested, local, unqualified, operators, constructors, lambdas, modules.

use crate::node::{Clauses, Id, Node, Span};
use crate::parser::{Level, NameState, Parser};
use crate::tables::{Kind, find_operator, operator};

impl Parser<'_> {
    pub(crate) fn name(&mut self, state: Option<&mut NameState>) -> Option<Id> {
        self.deeper(|parser| match parser.peek() {
            b'N' => parser.nested_name(state),
            b'Z' => parser.isolated(|parser| parser.local_name(state)),
            _ => parser.unscoped_or_template_name(state),
        })
    }

    fn unscoped_or_template_name(&mut self, mut state: Option<&mut NameState>) -> Option<Id> {
        let (name, substituted) = self.unscoped_name(state.as_deref_mut())?;
        if self.peek() != b'I' {
            // A substitution alone would name what was named already.
            return (!substituted).then_some(name);
        }
        if !substituted {
            self.substitutable(name);
        }
        let args = self.template_args(state.is_some())?;
        if let Some(state) = state {
            state.ends_with_arguments = true;
        }
        self.add(Node::Templated { name, args })
    }

    /// A name without scope or in `std`, and whether it is a substitution.
    pub(crate) fn unscoped_name(&mut self, state: Option<&mut NameState>) -> Option<(Id, bool)> {
        let scope = if self.eat_str("St") { Some(self.add(Node::Text("std"))?) } else { None };
        let mut module = None;
        if self.peek() == b'S' {
            let id = self.substitution()?;
            match self.node(id) {
                Node::Module { .. } => module = Some(id),
                _ if scope.is_none() => return Some((id, true)),
                _ => return None,
            }
        }
        Some((self.unqualified_name(state, scope, module)?, false))
    }

    fn nested_name(&mut self, mut state: Option<&mut NameState>) -> Option<Id> {
        self.expect(b'N')?;
        if self.eat(b'H') {
            if let Some(state) = state.as_deref_mut() {
                state.explicit_object = true;
            }
        } else {
            let qualifiers = self.cv_qualifiers() | self.ref_qualifier();
            if let Some(state) = state.as_deref_mut() {
                state.qualifiers = qualifiers;
            }
        }
        let mut name = None;
        while !self.eat(b'E') {
            if let Some(state) = state.as_deref_mut() {
                state.ends_with_arguments = false;
            }
            name = self.nested_name_step(state.as_deref_mut(), name)?;
        }
        // The whole name is no component of itself.
        self.forget_substitution()?;
        name
    }

    fn nested_name_step(
        &mut self,
        mut state: Option<&mut NameState>,
        scope: Option<Id>,
    ) -> Option<Option<Id>> {
        let name = match (self.peek(), self.peek_at(1)) {
            (b'T', _) if scope.is_none() => self.template_param()?,
            (b'T', _) => return None,
            (b'I', _) => {
                let name = scope?;
                let args = self.template_args(state.is_some())?;
                if matches!(self.node(name), Node::Templated { .. }) {
                    return None;
                }
                if let Some(state) = state.as_deref_mut() {
                    state.ends_with_arguments = true;
                }
                self.add(Node::Templated { name, args })?
            }
            (b'D', b't' | b'T') if scope.is_none() => self.decltype()?,
            (b'D', b't' | b'T') => return None,
            (b'S', second) => {
                let found = if second == b't' {
                    self.pos += 2;
                    self.add(Node::Text("std"))?
                } else {
                    self.substitution()?
                };
                if !matches!(self.node(found), Node::Module { .. }) {
                    return scope.is_none().then_some(Some(found));
                }
                self.unqualified_name(state, scope, Some(found))?
            }
            _ => self.unqualified_name(state, scope, None)?,
        };
        self.substitutable(name);
        self.eat(b'M');
        Some(Some(name))
    }

    fn local_name(&mut self, state: Option<&mut NameState>) -> Option<Id> {
        self.expect(b'Z')?;
        let scope = self.encoding()?;
        self.expect(b'E')?;
        if self.eat(b's') {
            self.discriminator();
            let name = self.add(Node::Text("string literal"))?;
            return self.add(Node::Scoped { scope, name });
        }
        if self.eat(b'd') {
            self.number(true)?;
            self.expect(b'_')?;
            let name = self.name(state)?;
            return self.add(Node::Scoped { scope, name });
        }
        let name = self.name(state)?;
        self.discriminator();
        self.add(Node::Scoped { scope, name })
    }

    /// Tells equal local names apart, and is not shown. One that is no such thing is left alone.
    fn discriminator(&mut self) {
        let start = self.pos;
        if self.eat(b'_') {
            if self.peek().is_ascii_digit() {
                self.pos += 1;
            } else if !(self.eat(b'_') && self.skip_digits() && self.eat(b'_')) {
                self.pos = start;
            }
        } else if self.peek().is_ascii_digit() {
            self.skip_digits();
            if self.left() != 0 {
                self.pos = start;
            }
        }
    }

    fn skip_digits(&mut self) -> bool {
        while self.peek().is_ascii_digit() {
            self.pos += 1;
        }
        true
    }

    fn unqualified_name(
        &mut self,
        state: Option<&mut NameState>,
        mut scope: Option<Id>,
        module: Option<Id>,
    ) -> Option<Id> {
        let module = self.module_name(module)?;
        let friend = scope.is_some() && self.eat(b'F');
        self.eat(b'L');
        let mut name = match self.peek() {
            b'1'..=b'9' => self.source_name()?,
            b'U' => self.unnamed_type()?,
            b'D' if self.eat_str("DC") => self.structured_binding()?,
            b'C' | b'D' if module.is_none() => {
                let class = self.expanded(scope?)?;
                scope = Some(class);
                self.constructor(class, state)?
            }
            b'C' | b'D' => return None,
            _ => self.operator_name(state)?,
        };
        if let Some(module) = module {
            name = self.add(Node::InModule { name, module })?;
        }
        let name = self.abi_tags(name)?;
        match (scope, friend) {
            (Some(scope), true) => self.add(Node::Friend { scope, name }),
            (Some(scope), false) => self.add(Node::Scoped { scope, name }),
            (None, _) => Some(name),
        }
    }

    /// A constructor's class shows what an abbreviation stands for.
    fn expanded(&mut self, class: Id) -> Option<Id> {
        match self.node(class) {
            Node::Std { letter, .. } => self.add(Node::Std { letter, expanded: true }),
            _ => Some(class),
        }
    }

    pub(crate) fn source_name(&mut self) -> Option<Id> {
        let span = self.bare_source_name()?;
        if self.slice(span)?.starts_with("_GLOBAL__N") {
            return self.add(Node::Text("(anonymous namespace)"));
        }
        self.add(Node::Source(span))
    }

    fn structured_binding(&mut self) -> Option<Id> {
        let mark = self.mark();
        loop {
            let name = self.source_name()?;
            self.push(name);
            if self.eat(b'E') {
                let list = self.list(mark)?;
                return self.add(Node::Binding(list));
            }
        }
    }

    #[inline]
    pub(crate) fn abi_tags(&mut self, mut name: Id) -> Option<Id> {
        while self.eat(b'B') {
            let tag = self.bare_source_name()?;
            name = self.add(Node::Tagged { name, tag })?;
        }
        Some(name)
    }

    #[inline]
    pub(crate) fn module_name(&mut self, mut module: Option<Id>) -> Option<Option<Id>> {
        while self.eat(b'W') {
            let partition = self.eat(b'P');
            let name = self.source_name()?;
            let id = self.add(Node::Module { parent: module, name, partition })?;
            self.substitutable(id);
            module = Some(id);
        }
        Some(module)
    }

    fn constructor(&mut self, class: Id, state: Option<&mut NameState>) -> Option<Id> {
        let destructor = self.peek() == b'D';
        self.pos += 1;
        let inherited = !destructor && self.eat(b'I');
        let known = if destructor {
            matches!(self.peek(), b'0' | b'1' | b'2' | b'4' | b'5')
        } else {
            matches!(self.peek(), b'1'..=b'5')
        };
        if !known {
            return None;
        }
        self.pos += 1;
        let mut own = NameState::default();
        let state = state.unwrap_or(&mut own);
        state.special_member = true;
        if inherited {
            self.name(Some(state))?;
        }
        self.add(Node::Constructor { class, destructor })
    }

    pub(crate) fn operator_name(&mut self, state: Option<&mut NameState>) -> Option<Id> {
        if let Some(index) = find_operator([self.peek(), self.peek_at(1)]) {
            self.pos += 2;
            if operator(index).kind == Kind::CCast {
                return self.conversion_operator(state);
            }
            return if operator(index).nameable { self.add(Node::Operator(index)) } else { None };
        }
        if self.eat_str("li") {
            let child = self.source_name()?;
            return self.prefixed("operator\"\" ", child);
        }
        if self.eat(b'v') {
            if !self.peek().is_ascii_digit() {
                return None;
            }
            self.pos += 1;
            let child = self.source_name()?;
            return self.prefixed("operator ", child);
        }
        None
    }

    fn conversion_operator(&mut self, state: Option<&mut NameState>) -> Option<Id> {
        let arguments = std::mem::replace(&mut self.type_arguments, false);
        let forward = self.forward_references;
        self.forward_references |= state.is_some();
        let child = self.ty()?;
        self.type_arguments = arguments;
        self.forward_references = forward;
        if let Some(state) = state {
            state.special_member = true;
        }
        self.prefixed("operator ", child)
    }

    fn unnamed_type(&mut self) -> Option<Id> {
        if self.eat_str("Ut") {
            let count = self.count()?;
            return self.add(Node::Unnamed(count));
        }
        if self.eat_str("Ul") {
            return self.closure();
        }
        if self.eat_str("Ub") {
            self.count()?;
            return self.add(Node::Text("'block-literal'"));
        }
        None
    }

    fn count(&mut self) -> Option<Span> {
        let count = self.number(false)?;
        self.expect(b'_')?;
        Some(count)
    }

    pub(crate) fn closure(&mut self) -> Option<Id> {
        let outer = self.auto_level.replace(self.levels());
        let depth = self.levels();
        let declarator = self.closure_declarator();
        self.keep_levels(depth);
        self.auto_level = outer;
        let declarator = declarator?;
        self.expect(b'E')?;
        let count = self.count()?;
        self.add(Node::Closure { count, declarator })
    }

    fn closure_declarator(&mut self) -> Option<Id> {
        let depth = self.levels();
        self.push_level(Level::Declared(Vec::new()));
        let mark = self.mark();
        while self.at_template_param_decl() {
            let id = self.template_param_decl(true)?;
            self.push(id);
        }
        let templates = self.list(mark)?;
        if templates.is_empty() {
            self.keep_levels(depth);
        }
        let before = if self.eat(b'Q') { Some(self.constraint()?) } else { None };
        let mark = self.mark();
        if !self.eat(b'v') {
            loop {
                let id = self.ty()?;
                self.push(id);
                if matches!(self.peek(), b'E' | b'Q') {
                    break;
                }
            }
        }
        let params = self.list(mark)?;
        let after = if self.eat(b'Q') { Some(self.constraint()?) } else { None };
        let clauses = Clauses { attributes: None, before, after };
        let clauses = self.buffers.arena.add_clauses(clauses)?;
        self.add(Node::Declarator { templates, params, clauses })
    }
}
