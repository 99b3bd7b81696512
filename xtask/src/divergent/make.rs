//! Programs, and how they are made up.

/// Variables that each lane has.
pub(super) const VARIABLES: usize = 6;

/// An expression of 32 bits.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Variable(usize),
    /// The work-item's number.
    Item,
    Constant(u32),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// A function that is called, in which lanes stay for as long as their second argument says.
    Call(Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
    /// By something that is not zero.
    Div,
    Rem,
    Less,
    LessSigned,
    Equal,
    Min,
    /// The upper half of the product.
    MulHigh,
    /// How many bits the first has in common with the second.
    CountOnes,
}

/// What the called function computes.
pub(super) fn called(mut a: u32, mut b: u32) -> u32 {
    while b > 2 {
        a = if b & 1 == 1 { a.wrapping_mul(5).wrapping_add(b) } else { a ^ b };
        b >>= 2 + (a & 3);
    }
    a
}

impl Operator {
    pub(super) const ALL: [Self; 17] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Shl,
        Self::Shr,
        Self::Sar,
        Self::Div,
        Self::Rem,
        Self::Less,
        Self::LessSigned,
        Self::Equal,
        Self::Min,
        Self::MulHigh,
        Self::CountOnes,
    ];

    pub(super) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Shl => a << (b & 31),
            Self::Shr => a >> (b & 31),
            Self::Sar => (a.cast_signed() >> (b & 31)).cast_unsigned(),
            Self::Div => a / (b | 1),
            Self::Rem => a % (b | 1),
            Self::Less => u32::from(a < b),
            Self::LessSigned => u32::from(a.cast_signed() < b.cast_signed()),
            Self::Equal => u32::from(a == b),
            Self::Min => a.min(b),
            Self::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            Self::CountOnes => (a & b).count_ones(),
        }
    }
}

/// What lanes do together; only where all of them are.
#[derive(Clone, Debug)]
pub(super) enum Exchange {
    /// Through LDS: each reads what the one so many further has written.
    Rotate(usize),
    /// Through LDS: each adds to a cell by its value, and reads one.
    Histogram,
    /// Which lanes of the wave have a value that is odd.
    Ballot,
    /// How many of those are below.
    CountBelow,
    Dpp(Dpp),
    ReadLane(usize),
    ReadFirstLane,
    /// From a lane that depends on the value.
    Gather,
    /// Lane numbers in 32 by `and`, `or` and `xor`.
    Swizzle(u32),
    /// A sum over the workgroup by atomics.
    Sum,
}

/// A DPP control that all targets have, with row and bank masks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dpp {
    pub(super) control: u32,
    pub(super) row_mask: u32,
    pub(super) bank_mask: u32,
    pub(super) bound: bool,
}

/// What the lanes of a wave do together that happen to be at one place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meeting {
    /// How many they are.
    Count,
    /// How many of them have a value that is odd.
    CountOdd,
    /// The value of the first of them.
    First,
    /// From lanes that may not be there.
    Dpp(Dpp),
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Assign(usize, Expr),
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// So many times, which lanes may differ in; `while` leaves before.
    Loop {
        times: Expr,
        body: Vec<Statement>,
    },
    Break(Expr),
    Continue(Expr),
    Switch(Expr, Vec<Vec<Statement>>),
    /// Of one variable into another.
    Exchange(usize, usize, Exchange),
    /// Of one variable into another, among the lanes that are here.
    Meeting(usize, usize, Meeting),
    /// So many times for all lanes, exchanges included.
    Repeat(usize, Vec<Statement>),
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) statements: Vec<Statement>,
    /// Lanes for which this is odd end before the last statements.
    pub(super) early: Expr,
    pub(super) last: Vec<Statement>,
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }

    fn word(&mut self) -> u32 {
        (self.below(1 << 16) as u32) << 16 | self.below(1 << 16) as u32
    }
}

impl Program {
    pub(super) fn random(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| {
            random.below(2);
        });
        let mut statements = Vec::new();
        for _ in 0..4 + random.below(5) {
            let mut part = random.block(3, false);
            part.push(random.exchange());
            match random.below(4) {
                0 => statements.push(Statement::Repeat(2 + random.below(3), part)),
                _ => statements.extend(part),
            }
        }
        let early = random.expr(2);
        let last = random.block(2, false);
        Self { statements, early, last }
    }
}

impl Random {
    fn variable(&mut self) -> usize {
        self.below(VARIABLES)
    }

    fn expr(&mut self, depth: usize) -> Expr {
        match self.below(if depth == 0 { 4 } else { 10 }) {
            0 | 1 => Expr::Variable(self.variable()),
            2 => Expr::Item,
            3 if self.below(2) == 0 => Expr::Constant(self.below(40) as u32),
            3 => Expr::Constant(self.word()),
            4 if self.below(3) == 0 => {
                Expr::Call(Box::new(self.expr(depth - 1)), Box::new(self.expr(depth - 1)))
            }
            4 => Expr::Select(
                Box::new(self.expr(depth - 1)),
                Box::new(self.expr(depth - 1)),
                Box::new(self.expr(depth - 1)),
            ),
            _ => {
                let operator = Operator::ALL[self.below(Operator::ALL.len())];
                let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
                Expr::Binary(operator, Box::new(a), Box::new(b))
            }
        }
    }

    /// A few bits of an expression.
    fn small(&mut self, mask: u32) -> Expr {
        let value = self.expr(2);
        Expr::Binary(Operator::And, Box::new(value), Box::new(Expr::Constant(mask)))
    }

    fn block(&mut self, depth: usize, in_loop: bool) -> Vec<Statement> {
        (0..1 + self.below(3)).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: usize, in_loop: bool) -> Statement {
        if in_loop && self.below(6) == 0 {
            let when = self.small(7);
            return if self.below(2) == 0 {
                Statement::Break(when)
            } else {
                Statement::Continue(when)
            };
        }
        match self.below(if depth == 0 { 3 } else { 9 }) {
            3 | 4 => {
                let (when, then) = (self.small(3), self.block(depth - 1, in_loop));
                let otherwise =
                    if self.below(2) == 0 { self.block(depth - 1, in_loop) } else { Vec::new() };
                Statement::If(when, then, otherwise)
            }
            5 | 6 => {
                let (times, body) = (self.small(7), self.block(depth - 1, true));
                Statement::Loop { times, body }
            }
            7 => {
                let (by, cases) = (self.small(3), 2 + self.below(3));
                // In a switch, `break` would be of the switch.
                Statement::Switch(by, (0..cases).map(|_| self.block(depth - 1, false)).collect())
            }
            8 if !in_loop => {
                let kind = self.meeting();
                Statement::Meeting(self.variable(), self.variable(), kind)
            }
            _ => Statement::Assign(self.variable(), self.expr(3)),
        }
    }

    fn dpp(&mut self) -> Dpp {
        let controls = [
            self.below(256),
            0x101 + self.below(15),
            0x111 + self.below(15),
            0x121 + self.below(15),
            0x140,
            0x141,
        ];
        Dpp {
            control: controls[self.below(6)] as u32,
            row_mask: if self.below(3) == 0 { self.below(16) as u32 } else { 15 },
            bank_mask: if self.below(3) == 0 { self.below(16) as u32 } else { 15 },
            bound: self.below(2) == 0,
        }
    }

    fn meeting(&mut self) -> Meeting {
        match self.below(4) {
            0 => Meeting::Count,
            1 => Meeting::CountOdd,
            2 => Meeting::First,
            _ => Meeting::Dpp(self.dpp()),
        }
    }

    fn exchange(&mut self) -> Statement {
        let kind = match self.below(11) {
            0 => Exchange::Rotate(1 + self.below(127)),
            1 => Exchange::Histogram,
            2 => Exchange::Ballot,
            3 => Exchange::CountBelow,
            4 | 5 => Exchange::Dpp(self.dpp()),
            6 => Exchange::ReadLane(self.below(32)),
            7 => Exchange::ReadFirstLane,
            8 => Exchange::Gather,
            9 => Exchange::Swizzle(self.below(1 << 15) as u32),
            _ => Exchange::Sum,
        };
        Statement::Exchange(self.variable(), self.variable(), kind)
    }
}
