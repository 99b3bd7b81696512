//! Types.

use crate::node::{Id, Node};
use crate::parser::Parser;
use crate::tables::{Precedence, builtin, builtin_d, fixed_point};

/// Whether a type may be substituted later.
type Type = (Id, bool);

impl Parser<'_> {
    pub(crate) fn ty(&mut self) -> Option<Id> {
        if let Some(text) = builtin(self.peek()) {
            self.pos += 1;
            return self.add(Node::Text(text));
        }
        let (id, component) = self.deeper(Self::any_type)?;
        if component {
            self.substitutable(id);
        }
        Some(id)
    }

    fn any_type(&mut self) -> Option<Type> {
        let id = match self.peek() {
            b'r' | b'V' | b'K' if self.at_function() => self.function_type()?,
            b'r' | b'V' | b'K' | b'U' => self.qualified_type()?,
            b'D' => return self.d_type(),
            b'F' => self.function_type()?,
            b'A' => self.array_type()?,
            b'M' => {
                self.pos += 1;
                let class = self.ty()?;
                let member = self.ty()?;
                self.add(Node::Member { class, member })?
            }
            b'P' => {
                let child = self.operand()?;
                self.add(Node::Pointer(child))?
            }
            b'R' => {
                let child = self.operand()?;
                self.add(Node::Reference { child, rvalue: false })?
            }
            b'O' => {
                let child = self.operand()?;
                self.add(Node::Reference { child, rvalue: true })?
            }
            b'C' => {
                let child = self.operand()?;
                self.add(Node::Postfixed { child, postfix: " complex" })?
            }
            b'G' => {
                let child = self.operand()?;
                self.add(Node::Postfixed { child, postfix: " imaginary" })?
            }
            b'T' => self.t_type()?,
            b'S' if self.peek_at(1) != b't' => return self.substituted_type(),
            b'u' => self.vendor_type()?,
            _ => self.name(None)?,
        };
        Some((id, true))
    }

    fn operand(&mut self) -> Option<Id> {
        self.pos += 1;
        self.ty()
    }

    fn at_function(&self) -> bool {
        let mut ahead = 0;
        for code in [b'r', b'V', b'K'] {
            ahead += usize::from(self.peek_at(ahead) == code);
        }
        match self.peek_at(ahead) {
            b'F' => true,
            b'D' => matches!(self.peek_at(ahead + 1), b'o' | b'O' | b'w' | b'x'),
            _ => false,
        }
    }

    fn qualified_type(&mut self) -> Option<Id> {
        if self.eat(b'U') {
            return self.deeper(Self::vendor_qualified_type);
        }
        let qualifiers = self.cv_qualifiers();
        let child = self.ty()?;
        if qualifiers == 0 {
            return Some(child);
        }
        self.add(Node::Qualified { child, qualifiers })
    }

    fn vendor_qualified_type(&mut self) -> Option<Id> {
        let qualifier = self.bare_source_name()?;
        if self.slice(qualifier)?.starts_with("objcproto") {
            return self.objc_protocol(qualifier);
        }
        let args = if self.peek() == b'I' { Some(self.template_args(false)?) } else { None };
        let child = self.qualified_type()?;
        self.add(Node::Vendor { child, qualifier, args })
    }

    /// `U <len>objcproto <len><protocol>`: one identifier inside the other.
    fn objc_protocol(&mut self, qualifier: super::node::Span) -> Option<Id> {
        let end = self.pos;
        self.pos = qualifier.start as usize + "objcproto".len();
        let protocol = self.bare_source_name().filter(|_| self.pos <= end)?;
        self.pos = end;
        let child = self.qualified_type()?;
        self.add(Node::ObjcProtocol { child, protocol })
    }

    fn d_type(&mut self) -> Option<Type> {
        let second = self.peek_at(1);
        if let Some(text) = builtin_d(second) {
            self.pos += 2;
            return Some((self.add(Node::Text(text))?, false));
        }
        let id = match second {
            b'A' | b'R' | b'S' => return Some((self.fixed_point()?, false)),
            b'F' => return Some((self.float_n()?, false)),
            b'B' | b'U' => self.bit_int()?,
            b'k' | b'K' => return Some((self.constrained_auto()?, false)),
            b't' | b'T' => self.decltype()?,
            b'v' => self.vector_type()?,
            b'p' => {
                self.pos += 2;
                let child = self.ty()?;
                self.add(Node::Expansion(child))?
            }
            b'o' | b'O' | b'w' | b'x' => self.function_type()?,
            _ => return None,
        };
        Some((id, true))
    }

    fn fixed_point(&mut self) -> Option<Id> {
        let saturates = self.eat_str("DS");
        self.expect(b'D')?;
        let text = fixed_point(saturates, self.peek(), self.peek_at(1))?;
        self.pos += 2;
        self.add(Node::Text(text))
    }

    fn float_n(&mut self) -> Option<Id> {
        if self.eat_str("DF16b") {
            return self.add(Node::Text("std::bfloat16_t"));
        }
        self.pos += 2;
        let bits = self.number(false)?;
        self.expect(b'_')?;
        self.add(Node::FloatN(bits))
    }

    fn bit_int(&mut self) -> Option<Id> {
        let unsigned = self.peek_at(1) == b'U';
        self.pos += 2;
        let bits = if self.peek().is_ascii_digit() {
            let bits = self.number(false)?;
            self.add(Node::Source(bits))?
        } else {
            self.expression()?
        };
        self.expect(b'_')?;
        self.add(Node::BitInt { bits, unsigned })
    }

    fn constrained_auto(&mut self) -> Option<Id> {
        let postfix = if self.peek_at(1) == b'k' { " auto" } else { " decltype(auto)" };
        self.pos += 2;
        let child = self.name(None)?;
        self.add(Node::Postfixed { child, postfix })
    }

    pub(crate) fn decltype(&mut self) -> Option<Id> {
        self.pos += 2;
        let child = self.expression()?;
        self.expect(b'E')?;
        self.add(Node::Enclosing { words: "decltype", child, precedence: Precedence::Primary })
    }

    fn vector_type(&mut self) -> Option<Id> {
        self.pos += 2;
        let bound = if matches!(self.peek(), b'1'..=b'9') {
            let bound = self.number(false)?;
            self.expect(b'_')?;
            let bound = self.add(Node::Source(bound))?;
            if self.eat(b'p') {
                return self.add(Node::PixelVector(bound));
            }
            Some(bound)
        } else if self.eat(b'_') {
            None
        } else {
            let bound = self.expression()?;
            self.expect(b'_')?;
            Some(bound)
        };
        let element = self.ty()?;
        self.add(Node::Vector { element, bound })
    }

    fn array_type(&mut self) -> Option<Id> {
        self.pos += 1;
        let bound = if self.peek().is_ascii_digit() {
            let bound = self.number(false)?;
            self.expect(b'_')?;
            Some(self.add(Node::Source(bound))?)
        } else if self.eat(b'_') {
            None
        } else {
            let bound = self.expression()?;
            self.expect(b'_')?;
            Some(bound)
        };
        let element = self.ty()?;
        self.add(Node::Array { element, bound })
    }

    fn function_type(&mut self) -> Option<Id> {
        let mut qualifiers = self.cv_qualifiers();
        let exception = self.exception()?;
        self.eat_str("Dx");
        self.expect(b'F')?;
        self.eat(b'Y');
        let result = self.ty()?;
        let mark = self.mark();
        loop {
            if self.eat(b'E') {
                break;
            }
            if self.eat(b'v') {
                continue;
            }
            if matches!(self.peek(), b'R' | b'O') && self.peek_at(1) == b'E' {
                qualifiers |= self.ref_qualifier();
                self.pos += 1;
                break;
            }
            let param = self.ty()?;
            self.push(param);
        }
        let params = self.list(mark)?;
        self.add(Node::Function { result, params, qualifiers, exception })
    }

    fn exception(&mut self) -> Option<Option<Id>> {
        if self.eat_str("Do") {
            return self.add(Node::Text("noexcept")).map(Some);
        }
        if self.eat_str("DO") {
            let child = self.expression()?;
            self.expect(b'E')?;
            let precedence = Precedence::Primary;
            return self.add(Node::Enclosing { words: "noexcept", child, precedence }).map(Some);
        }
        if self.eat_str("Dw") {
            let list = self.until_end(Self::ty)?;
            return self.add(Node::Throws(list)).map(Some);
        }
        Some(None)
    }

    /// A type that begins with `T`: a template parameter, or a tag with its keyword.
    fn t_type(&mut self) -> Option<Id> {
        let keyword = match self.peek_at(1) {
            b's' => "struct ",
            b'u' => "union ",
            b'e' => "enum ",
            _ => return self.parameter_type(),
        };
        self.pos += 2;
        let child = self.name(None)?;
        self.prefixed(keyword, child)
    }

    fn parameter_type(&mut self) -> Option<Id> {
        let name = self.template_param()?;
        if !(self.type_arguments && self.peek() == b'I') {
            return Some(name);
        }
        self.substitutable(name);
        let args = self.template_args(false)?;
        self.add(Node::Templated { name, args })
    }

    fn substituted_type(&mut self) -> Option<Type> {
        let (name, substituted) = self.unscoped_name(None)?;
        if self.peek() == b'I' && (!substituted || self.type_arguments) {
            if !substituted {
                self.substitutable(name);
            }
            let args = self.template_args(false)?;
            return Some((self.add(Node::Templated { name, args })?, true));
        }
        Some((name, !substituted))
    }

    fn vendor_type(&mut self) -> Option<Id> {
        self.pos += 1;
        let span = self.bare_source_name()?;
        let name = self.add(Node::Source(span))?;
        if !self.eat(b'I') {
            return Some(name);
        }
        let base = self.ty()?;
        self.expect(b'E')?;
        self.add(Node::Transformed { name, base })
    }
}
