//! Template arguments, parameters and their declarations.

use crate::node::{Clauses, Id, Node};
use crate::parser::{Level, Parser};

impl Parser<'_> {
    /// Arguments in angle brackets; `named` ones are what later template parameters refer to.
    pub(crate) fn template_args(&mut self, named: bool) -> Option<Id> {
        self.expect(b'I')?;
        if named {
            let first = self.first_argument;
            self.buffers.arguments.truncate(first);
            self.keep_levels(0);
            self.push_level(Level::Arguments);
        }
        let mark = self.mark();
        while !self.eat(b'E') {
            let id = if named { self.named_argument()? } else { self.template_arg()? };
            self.push(id);
            if self.eat(b'Q') {
                // The template's own constraint, which is not shown.
                self.constraint()?;
                self.expect(b'E')?;
                break;
            }
        }
        let list = self.list(mark)?;
        self.add(Node::Args(list))
    }

    fn named_argument(&mut self) -> Option<Id> {
        let depth = self.levels();
        let bare_pack = self.peek() == b'J';
        let id = self.template_arg()?;
        self.keep_levels(depth);
        let meaning = match self.node(id) {
            Node::ArgPack(list) if bare_pack => self.add(Node::Pack(list))?,
            _ => id,
        };
        self.buffers.arguments.push(meaning);
        Some(id)
    }

    pub(crate) fn template_arg(&mut self) -> Option<Id> {
        self.deeper(|parser| match parser.peek() {
            b'X' => {
                parser.pos += 1;
                let id = parser.expression()?;
                parser.expect(b'E')?;
                Some(id)
            }
            b'J' => {
                parser.pos += 1;
                let list = parser.until_end(Self::template_arg)?;
                parser.add(Node::ArgPack(list))
            }
            b'L' if parser.peek_at(1) == b'Z' => {
                parser.pos += 2;
                let id = parser.encoding()?;
                parser.expect(b'E')?;
                Some(id)
            }
            b'L' => parser.primary(),
            b'T' if parser.at_template_param_decl() => {
                // The declaration says what the argument is converted to, and is not shown.
                parser.template_param_decl(false)?;
                parser.template_arg()
            }
            _ => parser.ty(),
        })
    }

    pub(crate) fn template_param(&mut self) -> Option<Id> {
        let start = self.pos;
        self.expect(b'T')?;
        let level = if self.eat(b'L') {
            let level = self.integer()?.checked_add(1)?;
            self.expect(b'_')?;
            level
        } else {
            0
        };
        let index = if self.eat(b'_') {
            0
        } else {
            let index = self.integer()?.checked_add(1)?;
            self.expect(b'_')?;
            index
        };
        if self.in_constraint {
            let code = self.span(start, self.pos - 1)?;
            return self.add(Node::Source(code));
        }
        if self.forward_references && level == 0 {
            let index = u32::try_from(index).ok()?;
            let id = self.add(Node::Forward { index, target: None })?;
            self.buffers.forward.push(id);
            return Some(id);
        }
        self.declared_param(level, index).or_else(|| self.auto_param(level))
    }

    fn declared_param(&self, level: usize, index: usize) -> Option<Id> {
        match self.level(level)? {
            Level::Arguments => {
                self.buffers.arguments.get(self.first_argument.checked_add(index)?).copied()
            }
            Level::Declared(names) => names.get(index).copied(),
            Level::Auto => None,
        }
    }

    fn auto_param(&mut self, level: usize) -> Option<Id> {
        if self.auto_level != Some(level) || level > self.levels() {
            return None;
        }
        if level == self.levels() {
            self.push_level(Level::Auto);
        }
        self.add(Node::Text("auto"))
    }

    pub(crate) fn at_template_param_decl(&self) -> bool {
        self.peek() == b'T' && matches!(self.peek_at(1), b'y' | b'p' | b't' | b'n' | b'k')
    }

    /// A declaration of a parameter, that later ones of the innermost level may refer to if it is
    /// `known`.
    pub(crate) fn template_param_decl(&mut self, known: bool) -> Option<Id> {
        self.deeper(|parser| parser.template_param_decl_here(known))
    }

    fn template_param_decl_here(&mut self, known: bool) -> Option<Id> {
        self.expect(b'T')?;
        let kind = self.peek();
        self.pos += 1;
        match kind {
            b'y' => {
                let name = self.invent(0, "$T", known)?;
                self.add(Node::TypeParam(name))
            }
            b'k' => {
                let constraint = self.name(None)?;
                let name = self.invent(0, "$T", known)?;
                self.add(Node::ConstrainedParam { constraint, name })
            }
            b'n' => {
                let name = self.invent(1, "$N", known)?;
                let of = self.ty()?;
                self.add(Node::ValueParam { name, of })
            }
            b't' => {
                let name = self.invent(2, "$TT", known)?;
                self.template_template_param(name)
            }
            b'p' => {
                let child = self.template_param_decl(known)?;
                self.add(Node::PackParam(child))
            }
            _ => None,
        }
    }

    fn template_template_param(&mut self, name: Id) -> Option<Id> {
        let depth = self.levels();
        self.push_level(Level::Declared(Vec::new()));
        let mark = self.mark();
        let mut after = None;
        while !self.eat(b'E') {
            let id = self.template_param_decl(true)?;
            self.push(id);
            if self.eat(b'Q') {
                after = Some(self.constraint()?);
                self.expect(b'E')?;
                break;
            }
        }
        let params = self.list(mark)?;
        self.keep_levels(depth);
        let clauses = Clauses { attributes: None, before: None, after };
        let clauses = self.buffers.arena.add_clauses(clauses)?;
        self.add(Node::TemplateParam { name, params, clauses })
    }

    fn invent(&mut self, kind: usize, prefix: &'static str, known: bool) -> Option<Id> {
        let count = self.invented.get_mut(kind)?;
        let index = *count;
        *count += 1;
        let name = self.add(Node::Invented { prefix, index })?;
        if known && let Some(Level::Declared(names)) = self.last_level() {
            names.push(name);
        }
        Some(name)
    }

    pub(crate) fn constraint(&mut self) -> Option<Id> {
        let outer = std::mem::replace(&mut self.in_constraint, true);
        let id = self.expression();
        self.in_constraint = outer;
        id
    }
}
