//! Expressions, which stand in template arguments, array bounds, `decltype` and constraints.

use crate::node::{Id, NEW_ARRAY, NEW_GLOBAL, Node};
use crate::parser::Parser;
use crate::tables::{Kind, Precedence, find_operator, integer_style, operator};

impl Parser<'_> {
    pub(crate) fn expression(&mut self) -> Option<Id> {
        self.deeper(|parser| {
            let global = parser.eat_str("gs");
            match find_operator([parser.peek(), parser.peek_at(1)]) {
                Some(op) => {
                    parser.pos += 2;
                    parser.operation(op, global)
                }
                None => parser.other_expression(global),
            }
        })
    }

    fn operation(&mut self, op: u8, global: bool) -> Option<Id> {
        let kind = operator(op).kind;
        match kind {
            Kind::Prefix => {
                let child = self.expression()?;
                self.add(Node::Prefix { op, child })
            }
            Kind::Postfix => {
                let before = self.eat(b'_');
                let child = self.expression()?;
                self.add(if before {
                    Node::Prefix { op, child }
                } else {
                    Node::PostfixOp { op, child }
                })
            }
            Kind::Binary | Kind::Member | Kind::Subscript => {
                let left = self.expression()?;
                let right = self.expression()?;
                self.add(match kind {
                    Kind::Binary => Node::Binary { op, left, right },
                    Kind::Member => Node::Dot { op, left, right },
                    _ => Node::Subscript { base: left, index: right },
                })
            }
            Kind::New | Kind::NewArray => self.new_expression(kind == Kind::NewArray, global),
            Kind::Delete | Kind::DeleteArray => {
                let child = self.expression()?;
                self.add(Node::Delete { child, global, array: kind == Kind::DeleteArray })
            }
            Kind::Call | Kind::ParenCall => {
                let callee = self.expression()?;
                let args = self.until_end(Self::expression)?;
                self.add(Node::Call { callee, args, parens: kind == Kind::ParenCall })
            }
            Kind::CCast => self.conversion(),
            Kind::Conditional => {
                let condition = self.expression()?;
                let yes = self.expression()?;
                let no = self.expression()?;
                self.add(Node::Conditional { condition, yes, no })
            }
            Kind::NamedCast => {
                let to = self.ty()?;
                let from = self.expression()?;
                self.add(Node::Cast { op, to, from })
            }
            Kind::OfType | Kind::OfExpression => {
                let child = if kind == Kind::OfType { self.ty()? } else { self.expression()? };
                let (words, precedence) = (operator(op).text, operator(op).precedence);
                self.add(Node::Enclosing { words, child, precedence })
            }
            Kind::NameOnly => None,
        }
    }

    fn new_expression(&mut self, array: bool, global: bool) -> Option<Id> {
        let mark = self.mark();
        while !self.eat(b'_') {
            let id = self.expression()?;
            self.push(id);
        }
        let placement = self.list(mark)?;
        let ty = self.ty()?;
        let has_init = self.eat_str("pi");
        let init = self.until_end(Self::expression)?;
        if !has_init && !init.is_empty() {
            return None;
        }
        let flags = if array { NEW_ARRAY } else { 0 } | if global { NEW_GLOBAL } else { 0 };
        self.add(Node::New { placement, ty, init, flags })
    }

    fn conversion(&mut self) -> Option<Id> {
        let arguments = std::mem::replace(&mut self.type_arguments, false);
        let to = self.ty();
        self.type_arguments = arguments;
        let to = to?;
        let from = if self.eat(b'_') {
            self.until_end(Self::expression)?
        } else {
            let mark = self.mark();
            let id = self.expression()?;
            self.push(id);
            self.list(mark)?
        };
        self.add(Node::Conversion { to, from })
    }

    fn other_expression(&mut self, global: bool) -> Option<Id> {
        if self.left() < 2 {
            return None;
        }
        match (self.peek(), self.peek_at(1)) {
            (b'L', _) => self.primary(),
            (b'T', _) => self.template_param(),
            (b'f', b'p') => self.function_param(),
            (b'f', b'L') if self.peek_at(2).is_ascii_digit() => self.function_param(),
            (b'f', _) => self.fold(),
            (b'u', _) => self.vendor_expression(),
            (first, second) => {
                let start = self.pos;
                self.pos += 2;
                if let Some(found) = self.coded_expression([first, second]) {
                    return found;
                }
                self.pos = start;
                self.unresolved_name(global)
            }
        }
    }

    /// The inner result is the expression's; `None` outside when the code begins none.
    fn coded_expression(&mut self, code: [u8; 2]) -> Option<Option<Id>> {
        Some(match &code {
            b"il" => self.init_list(None),
            b"tl" => self.ty().and_then(|ty| self.init_list(Some(ty))),
            b"mc" => self.member_conversion(),
            b"nx" => self.enclosed("noexcept ", Precedence::Unary),
            b"so" => self.subobject(),
            b"sp" => self.expression().and_then(|child| self.add(Node::Expansion(child))),
            b"sZ" => self.sizeof_pack(),
            b"sP" => self.sizeof_args(),
            b"tr" => self.add(Node::Text("throw")),
            b"tw" => self.expression().and_then(|child| self.prefixed("throw ", child)),
            b"rq" => self.requires_expression(false),
            b"rQ" => self.requires_expression(true),
            _ => return None,
        })
    }

    fn enclosed(&mut self, words: &'static str, precedence: Precedence) -> Option<Id> {
        let child = self.expression()?;
        self.add(Node::Enclosing { words, child, precedence })
    }

    fn init_list(&mut self, ty: Option<Id>) -> Option<Id> {
        let list = self.until_end(Self::braced)?;
        self.add(Node::InitList { ty, list })
    }

    fn braced(&mut self) -> Option<Id> {
        self.deeper(|parser| {
            if parser.eat_str("di") {
                let element = parser.source_name()?;
                let init = parser.braced()?;
                return parser.add(Node::Designator { element, init, array: false });
            }
            if parser.eat_str("dx") {
                let element = parser.expression()?;
                let init = parser.braced()?;
                return parser.add(Node::Designator { element, init, array: true });
            }
            if parser.eat_str("dX") {
                let first = parser.expression()?;
                let last = parser.expression()?;
                let init = parser.braced()?;
                return parser.add(Node::DesignatorRange { first, last, init });
            }
            parser.expression()
        })
    }

    fn member_conversion(&mut self) -> Option<Id> {
        let ty = self.ty()?;
        let child = self.expression()?;
        self.number(true)?;
        self.expect(b'E')?;
        self.add(Node::MemberConversion { ty, child })
    }

    /// A part of an object: its type, where it is, and which members of unions were taken.
    fn subobject(&mut self) -> Option<Id> {
        let ty = self.ty()?;
        let base = self.expression()?;
        let offset = self.number(true)?;
        while self.eat(b'_') {
            self.number(false)?;
        }
        self.eat(b'p');
        self.expect(b'E')?;
        self.add(Node::Subobject { ty, base, offset })
    }

    fn sizeof_pack(&mut self) -> Option<Id> {
        if self.peek() == b'T' {
            let pack = self.template_param()?;
            return self.add(Node::SizeofPack(pack));
        }
        let child = self.function_param()?;
        let precedence = Precedence::Primary;
        self.add(Node::Enclosing { words: "sizeof... ", child, precedence })
    }

    fn sizeof_args(&mut self) -> Option<Id> {
        let list = self.until_end(Self::template_arg)?;
        let child = self.add(Node::Sequence(list))?;
        let precedence = Precedence::Primary;
        self.add(Node::Enclosing { words: "sizeof... ", child, precedence })
    }

    fn function_param(&mut self) -> Option<Id> {
        if self.eat_str("fpT") {
            return self.add(Node::Text("this"));
        }
        if self.eat_str("fL") {
            self.some_number(false)?;
            self.expect(b'p')?;
        } else if !self.eat_str("fp") {
            return None;
        }
        self.cv_qualifiers();
        let number = self.number(false)?;
        self.expect(b'_')?;
        self.add(Node::Param(number))
    }

    fn fold(&mut self) -> Option<Id> {
        self.expect(b'f')?;
        let (left, has_init) = match self.peek() {
            b'l' => (true, false),
            b'r' => (false, false),
            b'L' => (true, true),
            b'R' => (false, true),
            _ => return None,
        };
        self.pos += 1;
        let op = find_operator([self.peek(), self.peek_at(1)])?;
        self.pos += 2;
        let folds = match operator(op).kind {
            Kind::Binary => true,
            Kind::Member => operator(op).text.ends_with('*'),
            _ => false,
        };
        if !folds {
            return None;
        }
        let mut pack = self.expression()?;
        let mut init = if has_init { Some(self.expression()?) } else { None };
        if left && let Some(init) = &mut init {
            std::mem::swap(&mut pack, init);
        }
        self.add(Node::Fold { op, left, pack, init })
    }

    fn vendor_expression(&mut self) -> Option<Id> {
        self.expect(b'u')?;
        let span = self.bare_source_name()?;
        let callee = self.add(Node::Source(span))?;
        let mark = self.mark();
        // Older compilers wrote the kind of operand of this one where arguments stand.
        let uuid = self.slice(span)? == "__uuidof";
        let args = if uuid && self.eat(b't') {
            let id = self.ty()?;
            self.push(id);
            self.list(mark)?
        } else if uuid && self.eat(b'z') {
            let id = self.expression()?;
            self.push(id);
            self.list(mark)?
        } else {
            self.until_end(Self::template_arg)?
        };
        self.add(Node::Call { callee, args, parens: false })
    }

    // Names in expressions, which depend on template arguments.

    fn unresolved_name(&mut self, global: bool) -> Option<Id> {
        if self.eat_str("srN") {
            return self.unresolved_nested();
        }
        if !self.eat_str("sr") {
            let name = self.base_unresolved_name()?;
            return if global { self.prefixed("::", name) } else { Some(name) };
        }
        let scope = if self.peek().is_ascii_digit() {
            let mut scope = self.simple_id()?;
            if global {
                scope = self.prefixed("::", scope)?;
            }
            self.qualifier_levels(scope)?
        } else {
            let ty = self.unresolved_type()?;
            if self.peek() == b'I' { self.templated(ty)? } else { ty }
        };
        let name = self.base_unresolved_name()?;
        self.add(Node::Scoped { scope, name })
    }

    fn unresolved_nested(&mut self) -> Option<Id> {
        let mut scope = self.unresolved_type()?;
        if self.peek() == b'I' {
            scope = self.templated(scope)?;
        }
        scope = self.qualifier_levels(scope)?;
        let name = self.base_unresolved_name()?;
        self.add(Node::Scoped { scope, name })
    }

    fn qualifier_levels(&mut self, mut scope: Id) -> Option<Id> {
        while !self.eat(b'E') {
            let name = self.simple_id()?;
            scope = self.add(Node::Scoped { scope, name })?;
        }
        Some(scope)
    }

    fn templated(&mut self, name: Id) -> Option<Id> {
        let args = self.template_args(false)?;
        self.add(Node::Templated { name, args })
    }

    fn simple_id(&mut self) -> Option<Id> {
        let name = self.source_name()?;
        if self.peek() == b'I' { self.templated(name) } else { Some(name) }
    }

    fn unresolved_type(&mut self) -> Option<Id> {
        let id = match self.peek() {
            b'T' => self.template_param()?,
            b'D' if matches!(self.peek_at(1), b't' | b'T') => self.decltype()?,
            b'D' => return None,
            _ => return self.substitution(),
        };
        self.substitutable(id);
        Some(id)
    }

    fn base_unresolved_name(&mut self) -> Option<Id> {
        if self.peek().is_ascii_digit() {
            return self.simple_id();
        }
        if self.eat_str("dn") {
            let child = if self.peek().is_ascii_digit() {
                self.simple_id()?
            } else {
                self.unresolved_type()?
            };
            return self.prefixed("~", child);
        }
        self.eat_str("on");
        let name = self.operator_name(None)?;
        if self.peek() == b'I' { self.templated(name) } else { Some(name) }
    }

    // Literals.

    pub(crate) fn primary(&mut self) -> Option<Id> {
        self.expect(b'L')?;
        let code = self.peek();
        if integer_style(code).is_some() {
            self.pos += 1;
            let value = self.some_number(true)?;
            self.expect(b'E')?;
            return self.add(Node::Integer { code, value });
        }
        match code {
            b'b' if self.eat_str("b0E") => self.add(Node::Text("false")),
            b'b' if self.eat_str("b1E") => self.add(Node::Text("true")),
            b'f' => self.float(8),
            b'd' => self.float(16),
            b'e' => self.float(20),
            b'_' => {
                if !self.eat_str("_Z") {
                    return None;
                }
                let id = self.encoding()?;
                self.expect(b'E')?;
                Some(id)
            }
            b'A' => {
                let ty = self.ty()?;
                self.expect(b'E')?;
                self.add(Node::StringLiteral(ty))
            }
            b'D' => {
                if !self.eat_str("Dn") {
                    return None;
                }
                self.eat(b'0');
                self.expect(b'E')?;
                self.add(Node::Text("nullptr"))
            }
            // A boolean is 0 or 1, and older compilers forgot to substitute the parameter.
            b'b' | b'T' => None,
            b'U' => self.lambda(),
            _ => {
                let ty = self.ty()?;
                let value = self.some_number(true)?;
                self.expect(b'E')?;
                self.add(Node::Enum { ty, value })
            }
        }
    }

    fn lambda(&mut self) -> Option<Id> {
        if !self.eat_str("Ul") {
            return None;
        }
        let closure = self.closure()?;
        self.expect(b'E')?;
        self.add(Node::Lambda(closure))
    }

    fn float(&mut self, digits: usize) -> Option<Id> {
        let code = self.peek();
        self.pos += 1;
        let bits = self.span(self.pos, self.pos + digits)?;
        let text = self.slice(bits)?;
        if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        self.pos += digits;
        self.expect(b'E')?;
        self.add(Node::Float { code, bits })
    }

    // Constraints.

    fn requires_expression(&mut self, has_params: bool) -> Option<Id> {
        let mark = self.mark();
        if has_params {
            while !self.eat(b'_') {
                let id = self.ty()?;
                self.push(id);
            }
        }
        let params = self.list(mark)?;
        let mark = self.mark();
        loop {
            let id = self.requirement()?;
            self.push(id);
            if self.eat(b'E') {
                break;
            }
        }
        let requirements = self.list(mark)?;
        self.add(Node::Requires { params, requirements })
    }

    fn requirement(&mut self) -> Option<Id> {
        if self.eat(b'X') {
            let child = self.expression()?;
            let noexcept = self.eat(b'N');
            let constraint = if self.eat(b'R') { Some(self.name(None)?) } else { None };
            return self.add(Node::Requirement { child, noexcept, constraint });
        }
        if self.eat(b'T') {
            let child = self.ty()?;
            return self.prefixed(" typename ", child);
        }
        if self.eat(b'Q') {
            let child = self.constraint()?;
            return self.prefixed(" requires ", child);
        }
        None
    }
}
