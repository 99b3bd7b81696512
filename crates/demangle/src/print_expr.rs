//! Writing expressions.

use crate::float::hexadecimal;
use crate::node::{Id, NEW_ARRAY, NEW_GLOBAL, Node, Span};
use crate::print::Printer;
use crate::tables::{IntegerStyle, Precedence, integer_style, operator};

impl Printer<'_> {
    pub(crate) fn expression(&mut self, node: Node) {
        match node {
            Node::Binary { op, left, right } => self.binary(op, left, right),
            Node::Prefix { op, child } => {
                self.push(operator(op).text);
                self.operand(child, operator(op).precedence, false);
            }
            Node::PostfixOp { op, child } => {
                self.operand(child, Precedence::Postfix, true);
                self.push(operator(op).text);
            }
            Node::Subscript { base, index } => {
                self.operand(base, Precedence::Postfix, false);
                self.open("[");
                self.print(index);
                self.close("]");
            }
            Node::Dot { op, left, right } => {
                let precedence = operator(op).precedence;
                self.operand(left, precedence, true);
                self.push(operator(op).text);
                self.operand(right, precedence, false);
            }
            Node::Enclosing { words, child, .. } => {
                self.push(words);
                self.bracketed(child);
            }
            Node::Cast { op, to, from } => {
                self.push(operator(op).text);
                self.angled(|printer| printer.left(to));
                self.bracketed(from);
            }
            _ => self.call_expression(node),
        }
    }

    /// Calls, conversions, and what is written like them.
    fn call_expression(&mut self, node: Node) {
        match node {
            Node::SizeofPack(pack) => {
                self.push("sizeof...");
                self.open("(");
                self.expansion(pack);
                self.close(")");
            }
            Node::Call { callee, args, parens } => {
                if parens {
                    self.bracketed(callee);
                } else {
                    self.print(callee);
                }
                self.params(args);
            }
            Node::Conditional { condition, yes, no } => {
                self.operand(condition, Precedence::Conditional, false);
                self.push(" ? ");
                self.print(yes);
                self.push(" : ");
                self.operand(no, Precedence::Assign, true);
            }
            Node::Conversion { to, from } => {
                self.bracketed(to);
                self.params(from);
            }
            Node::MemberConversion { ty, child } => {
                self.bracketed(ty);
                self.bracketed(child);
            }
            _ => self.initialization(node),
        }
    }

    /// Objects that are made, and what they are made of.
    fn initialization(&mut self, node: Node) {
        match node {
            Node::New { placement, ty, init, flags } => {
                self.push(if flags & NEW_GLOBAL != 0 { "::new" } else { "new" });
                if flags & NEW_ARRAY != 0 {
                    self.push("[]");
                }
                if !placement.is_empty() {
                    self.params(placement);
                }
                self.push(" ");
                self.print(ty);
                if !init.is_empty() {
                    self.params(init);
                }
            }
            Node::Delete { child, global, array } => {
                self.push(if global { "::delete" } else { "delete" });
                self.push(if array { "[] " } else { " " });
                self.print(child);
            }
            Node::Param(number) => {
                self.push("fp");
                self.push_span(number);
            }
            Node::InitList { ty, list } => {
                if let Some(ty) = ty {
                    self.print(ty);
                }
                self.push("{");
                self.commas(list);
                self.push("}");
            }
            Node::Designator { element, init, array } => {
                if array {
                    self.push("[");
                    self.print(element);
                    self.push("]");
                } else {
                    self.push(".");
                    self.print(element);
                }
                self.initializer(init);
            }
            Node::DesignatorRange { first, last, init } => {
                self.push("[");
                self.print(first);
                self.push(" ... ");
                self.print(last);
                self.push("]");
                self.initializer(init);
            }
            _ => self.constraint(node),
        }
    }

    /// Folds, and what templates require.
    fn constraint(&mut self, node: Node) {
        match node {
            Node::Fold { op, left, pack, init } => {
                self.open("(");
                self.fold(operator(op).text, left, pack, init);
                self.close(")");
            }
            Node::Requires { params, requirements } => {
                self.push("requires");
                if !params.is_empty() {
                    self.push(" ");
                    self.params(params);
                }
                self.push(" ");
                self.open("{");
                let arena = self.arena;
                for &id in arena.list(requirements) {
                    self.print(id);
                    self.push(";");
                }
                self.push(" ");
                self.close("}");
            }
            Node::Requirement { child, noexcept, constraint } => {
                self.requirement(child, noexcept, constraint);
            }
            _ => self.literal(node),
        }
    }

    fn literal(&mut self, node: Node) {
        match node {
            Node::StringLiteral(ty) => {
                self.push("\"<");
                self.print(ty);
                self.push(">\"");
            }
            Node::Lambda(closure) => {
                self.push("[]");
                if let Node::Closure { declarator, .. } = self.arena.node(closure) {
                    self.print(declarator);
                }
                self.push("{...}");
            }
            Node::Enum { ty, value } => {
                self.bracketed(ty);
                self.push_number(value);
            }
            Node::Float { code, bits } => {
                let text = hexadecimal(code, self.slice(bits));
                self.push(&text);
            }
            Node::Subobject { ty, base, offset } => {
                self.print(base);
                self.push(".<");
                self.print(ty);
                self.push(" at offset ");
                if offset.len == 0 {
                    self.push("0");
                } else {
                    self.push_number(offset);
                }
                self.push(">");
            }
            _ => {}
        }
    }

    pub(crate) fn integer(&mut self, code: u8, value: Span) {
        match integer_style(code) {
            Some(IntegerStyle::Suffix(suffix)) => {
                self.push_number(value);
                self.push(suffix);
            }
            Some(IntegerStyle::Cast(ty)) => {
                self.push("(");
                self.push(ty);
                self.push(")");
                self.push_number(value);
            }
            None => {}
        }
    }

    fn binary(&mut self, op: u8, left: Id, right: Id) {
        let operator = operator(op);
        let greater = self.greater_is_ambiguous() && matches!(operator.text, ">" | ">>");
        if greater {
            self.open("(");
        }
        let assigns = operator.precedence == Precedence::Assign;
        if assigns {
            self.operand(left, Precedence::OrIf, false);
        } else {
            self.operand(left, operator.precedence, true);
        }
        if operator.text != "," {
            self.push(" ");
        }
        self.push(operator.text);
        self.push(" ");
        self.operand(right, operator.precedence, assigns);
        if greater {
            self.close(")");
        }
    }

    fn initializer(&mut self, init: Id) {
        if !matches!(self.arena.node(init), Node::Designator { .. } | Node::DesignatorRange { .. })
        {
            self.push(" = ");
        }
        self.print(init);
    }

    fn fold(&mut self, text: &'static str, left: bool, pack: Id, init: Option<Id>) {
        if left {
            if let Some(init) = init {
                self.operand(init, Precedence::Cast, true);
                self.infix(text);
            }
            self.push("...");
            self.infix(text);
            self.fold_pack(pack);
        } else {
            self.fold_pack(pack);
            self.infix(text);
            self.push("...");
            if let Some(init) = init {
                self.infix(text);
                self.operand(init, Precedence::Cast, true);
            }
        }
    }

    fn infix(&mut self, text: &str) {
        self.push(" ");
        self.push(text);
        self.push(" ");
    }

    fn fold_pack(&mut self, pack: Id) {
        self.open("(");
        self.expansion(pack);
        self.close(")");
    }

    fn requirement(&mut self, child: Id, noexcept: bool, constraint: Option<Id>) {
        self.push(" ");
        let braces = noexcept || constraint.is_some();
        if braces {
            self.open("{");
        }
        self.print(child);
        if braces {
            self.close("}");
        }
        if noexcept {
            self.push(" noexcept");
        }
        if let Some(constraint) = constraint {
            self.push(" -> ");
            self.print(constraint);
        }
    }
}
