//! The tree of a name: small `Copy` nodes in one vector, their lists in another.

use std::num::NonZeroU32;

use crate::tables::{Precedence, operator};

/// A node's place in the [`Arena`], with two facts about it that printing asks for all the time.
/// The place counts from 1, so that an `Option` takes no more room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Id(NonZeroU32);

impl Id {
    const RIGHT: u32 = 1;
    const COMPOUND: u32 = 2;
    const SHIFT: u32 = 2;

    fn new(count: usize, facts: u32) -> Option<Self> {
        let place = u32::try_from(count).ok()?.checked_mul(1 << Self::SHIFT)?;
        NonZeroU32::new(place | facts).map(Self)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        (self.0.get() >> Self::SHIFT) as usize - 1
    }

    /// Whether something of the node can stand right of the declarator.
    #[inline]
    pub(crate) fn has_right(self) -> bool {
        self.0.get() & Self::RIGHT != 0
    }

    /// Whether the node is an expression that brackets may have to keep together.
    #[inline]
    pub(crate) fn is_compound(self) -> bool {
        self.0.get() & Self::COMPOUND != 0
    }
}

/// The place of some [`Clauses`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClausesId(Id);

/// A piece of the mangled name.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// Several nodes, in order.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct List {
    start: u32,
    len: u32,
}

impl List {
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(self) -> u32 {
        self.len
    }
}

pub(crate) const CONST: u8 = 1;
pub(crate) const VOLATILE: u8 = 2;
pub(crate) const RESTRICT: u8 = 4;
pub(crate) const LVALUE: u8 = 8;
pub(crate) const RVALUE: u8 = 16;

/// The three places a `requires` clause and attributes can stand in, behind one index.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Clauses {
    pub(crate) attributes: Option<List>,
    pub(crate) before: Option<Id>,
    pub(crate) after: Option<Id>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    // Names.
    Source(Span),
    Text(&'static str),
    /// One of the abbreviations of the standard library, by its letter.
    Std {
        letter: u8,
        expanded: bool,
    },
    Scoped {
        scope: Id,
        name: Id,
    },
    Friend {
        scope: Id,
        name: Id,
    },
    Templated {
        name: Id,
        args: Id,
    },
    Args(List),
    Tagged {
        name: Id,
        tag: Span,
    },
    Constructor {
        class: Id,
        destructor: bool,
    },
    Module {
        parent: Option<Id>,
        name: Id,
        partition: bool,
    },
    InModule {
        name: Id,
        module: Id,
    },
    Binding(List),
    Unnamed(Span),
    Closure {
        count: Span,
        declarator: Id,
    },
    Declarator {
        templates: List,
        params: List,
        clauses: ClausesId,
    },
    Operator(u8),
    Suffixed {
        name: Id,
        suffix: Span,
    },
    /// Some words, and a node after them.
    Prefixed {
        prefix: &'static str,
        child: Id,
    },
    ConstructionVtable {
        derived: Id,
        base: Id,
    },
    Encoding {
        result: Option<Id>,
        name: Id,
        params: List,
        qualifiers: u8,
        clauses: Option<ClausesId>,
    },

    // Types.
    Qualified {
        child: Id,
        qualifiers: u8,
    },
    Pointer(Id),
    Reference {
        child: Id,
        rvalue: bool,
    },
    Member {
        class: Id,
        member: Id,
    },
    Array {
        element: Id,
        bound: Option<Id>,
    },
    Function {
        result: Id,
        params: List,
        qualifiers: u8,
        exception: Option<Id>,
    },
    Throws(List),
    Vector {
        element: Id,
        bound: Option<Id>,
    },
    PixelVector(Id),
    BitInt {
        bits: Id,
        unsigned: bool,
    },
    FloatN(Span),
    /// A node, and some words after it.
    Postfixed {
        child: Id,
        postfix: &'static str,
    },
    Vendor {
        child: Id,
        qualifier: Span,
        args: Option<Id>,
    },
    Transformed {
        name: Id,
        base: Id,
    },
    ObjcProtocol {
        child: Id,
        protocol: Span,
    },

    // Template arguments and parameters.
    /// The pack that a parameter stands for: one element at a time.
    Pack(List),
    /// The pack as an argument: all of it.
    ArgPack(List),
    Expansion(Id),
    Forward {
        index: u32,
        target: Option<Id>,
    },
    /// An invented name of a lambda's own template parameter.
    Invented {
        prefix: &'static str,
        index: u32,
    },
    TypeParam(Id),
    ConstrainedParam {
        constraint: Id,
        name: Id,
    },
    ValueParam {
        name: Id,
        of: Id,
    },
    TemplateParam {
        name: Id,
        params: List,
        clauses: ClausesId,
    },
    PackParam(Id),

    // Expressions.
    Binary {
        op: u8,
        left: Id,
        right: Id,
    },
    Prefix {
        op: u8,
        child: Id,
    },
    PostfixOp {
        op: u8,
        child: Id,
    },
    Subscript {
        base: Id,
        index: Id,
    },
    Dot {
        op: u8,
        left: Id,
        right: Id,
    },
    Subobject {
        ty: Id,
        base: Id,
        offset: Span,
    },
    Enclosing {
        words: &'static str,
        child: Id,
        precedence: Precedence,
    },
    Cast {
        op: u8,
        to: Id,
        from: Id,
    },
    SizeofPack(Id),
    Call {
        callee: Id,
        args: List,
        parens: bool,
    },
    New {
        placement: List,
        ty: Id,
        init: List,
        flags: u8,
    },
    Delete {
        child: Id,
        global: bool,
        array: bool,
    },
    Param(Span),
    Conversion {
        to: Id,
        from: List,
    },
    MemberConversion {
        ty: Id,
        child: Id,
    },
    InitList {
        ty: Option<Id>,
        list: List,
    },
    Designator {
        element: Id,
        init: Id,
        array: bool,
    },
    DesignatorRange {
        first: Id,
        last: Id,
        init: Id,
    },
    Fold {
        op: u8,
        left: bool,
        pack: Id,
        init: Option<Id>,
    },
    Conditional {
        condition: Id,
        yes: Id,
        no: Id,
    },
    StringLiteral(Id),
    Lambda(Id),
    Enum {
        ty: Id,
        value: Span,
    },
    Integer {
        code: u8,
        value: Span,
    },
    Float {
        code: u8,
        bits: Span,
    },
    /// Several nodes with commas between.
    Sequence(List),
    Requires {
        params: List,
        requirements: List,
    },
    Requirement {
        child: Id,
        noexcept: bool,
        constraint: Option<Id>,
    },
}

impl Node {
    /// How tightly a node binds; what is no expression is a word.
    #[inline]
    pub(crate) fn precedence(self) -> Precedence {
        match self {
            Node::Binary { op, .. }
            | Node::Dot { op, .. }
            | Node::Prefix { op, .. }
            | Node::PostfixOp { op, .. }
            | Node::Cast { op, .. } => operator(op).precedence,
            Node::Enclosing { precedence, .. } => precedence,
            Node::Subscript { .. } | Node::Call { .. } => Precedence::Postfix,
            Node::New { .. } | Node::Delete { .. } | Node::MemberConversion { .. } => {
                Precedence::Unary
            }
            Node::Conversion { .. } => Precedence::Cast,
            Node::Conditional { .. } => Precedence::Conditional,
            _ => Precedence::Primary,
        }
    }

    /// Whether something of the node can stand right of the declarator.
    #[inline]
    fn has_right(self) -> bool {
        match self {
            Node::Pointer(child)
            | Node::Qualified { child, .. }
            | Node::Reference { child, .. }
            | Node::Member { member: child, .. } => child.has_right(),
            Node::Encoding { .. }
            | Node::Function { .. }
            | Node::Array { .. }
            | Node::Pack(_)
            | Node::Forward { .. }
            | Node::TypeParam(_)
            | Node::ConstrainedParam { .. }
            | Node::ValueParam { .. }
            | Node::TemplateParam { .. }
            | Node::PackParam(_) => true,
            _ => false,
        }
    }
}

// The arena is read and written a few dozen times for each name.
const _: () = assert!(size_of::<Node>() <= 24);

pub(crate) const NEW_GLOBAL: u8 = 1;
pub(crate) const NEW_ARRAY: u8 = 2;

/// All nodes of one name. Ids and lists are made here only, so a look-up never misses.
#[derive(Default, Debug)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    lists: Vec<Id>,
    clauses: Vec<Clauses>,
    has_forward: bool,
}

impl Arena {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.lists.clear();
        self.clauses.clear();
        self.has_forward = false;
    }

    /// `None` past four thousand million nodes, which no bounded input reaches.
    #[inline]
    pub(crate) fn add(&mut self, node: Node) -> Option<Id> {
        let facts = if node.has_right() { Id::RIGHT } else { 0 }
            | if node.precedence() == Precedence::Primary { 0 } else { Id::COMPOUND };
        self.nodes.push(node);
        Id::new(self.nodes.len(), facts)
    }

    #[inline]
    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes.get(id.index()).copied().unwrap_or(Node::Text(""))
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn add_list(&mut self, items: &[Id]) -> Option<List> {
        let start = u32::try_from(self.lists.len()).ok()?;
        self.lists.extend_from_slice(items);
        Some(List { start, len: u32::try_from(items.len()).ok()? })
    }

    #[inline]
    pub(crate) fn list(&self, list: List) -> &[Id] {
        let start = list.start as usize;
        self.lists.get(start..start + list.len as usize).unwrap_or_default()
    }

    pub(crate) fn add_clauses(&mut self, clauses: Clauses) -> Option<ClausesId> {
        self.clauses.push(clauses);
        Id::new(self.clauses.len(), 0).map(ClausesId)
    }

    pub(crate) fn clauses(&self, id: ClausesId) -> Clauses {
        self.clauses.get(id.0.index()).copied().unwrap_or_default()
    }

    /// Ties a forward reference to the argument it turned out to mean.
    pub(crate) fn resolve(&mut self, id: Id, to: Id) {
        if let Some(Node::Forward { target, .. }) = self.nodes.get_mut(id.index()) {
            *target = Some(to);
            self.has_forward = true;
        }
    }

    /// Whether any node refers to one that came after it, maybe in a circle.
    pub(crate) fn has_forward(&self) -> bool {
        self.has_forward
    }
}
