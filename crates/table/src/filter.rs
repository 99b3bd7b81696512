//! Expressions that are true of some rows: `vgprs > 128 || occupancy < 4`.
//!
//! `||`, `&&` and `!` (or `or`, `and` and `not`) join conditions; `=`, `!=`, `<`, `<=`, `>` and `>=` compare; `~` and `!~` look for a
//! regular expression; `+`, `-`, `*` and `/` compute. Numbers may be hexadecimal or end in K, M or G; text stands between quotes.
//! As in SQL, what is not known is neither equal to anything nor different from it; `= null` and `!= null` ask for it.

use std::cmp::Ordering;
use std::ops::Range;

use regex::Regex;

use crate::lexer::{Placed, Word, words};
use crate::problem::ExpressionProblem;
use crate::value::{CellValue, Column, ColumnType};

/// An expression over columns.
///
/// ```
/// use hsaco_table::{Column, RowFilter, ColumnType, CellValue};
/// let columns = [Column::new("vgprs", ColumnType::Number, ""), Column::new("name", ColumnType::Text, "")];
/// let filter = RowFilter::parse("vgprs >= 2 * 64 && name !~ '^test'", &columns)?;
/// let row = [CellValue::from(128_u64), CellValue::from("gemm")];
/// assert!(filter.is_true(|column| row[column].clone()));
/// let problem = RowFilter::parse("vgprs > 'many'", &columns).unwrap_err();
/// assert_eq!(problem.to_string(), "a number is compared with text\n  vgprs > 'many'\n          ^^^^^^");
/// # Ok::<(), hsaco_table::ExpressionProblem>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowFilter {
    condition: Node,
}

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Number,
    Text,
    Null,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Bool => "a condition",
            Kind::Number => "a number",
            Kind::Text => "text",
            Kind::Null => "null",
        }
    }
}

#[derive(Clone, Debug)]
enum Node {
    Column(usize),
    Bool(bool),
    Number(u64),
    Text(String),
    Null,
    Or(Box<[Node; 2]>),
    And(Box<[Node; 2]>),
    Not(Box<Node>),
    Compare(Box<[Node; 2]>, Comparison),
    IsNull(Box<Node>),
    Matches(Box<Node>, Regex),
    Compute(Box<[Node; 2]>, fn(i128, i128) -> Option<i128>),
}

/// What an expression comes to; numbers may be negative on the way.
enum Answer<'v> {
    Unknown,
    Bool(bool),
    Number(i128),
    Text(std::borrow::Cow<'v, str>),
}

impl RowFilter {
    /// Reads an expression over these columns.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str, columns: &[Column]) -> Result<Self, ExpressionProblem> {
        let mut parser = Parser { text, columns, words: words(text)?, at: 0, depth: 0 };
        if let Some(beyond) = parser.words.get(MOST_WORDS) {
            return Err(ExpressionProblem::new(text, beyond.place.clone(), "this is too long"));
        }
        let (condition, kind, place) = parser.either()?;
        if let Some(left) = parser.words.get(parser.at) {
            return Err(ExpressionProblem::new(
                text,
                left.place.clone(),
                "the expression ends before this",
            ));
        }
        match kind {
            Kind::Bool => Ok(Self { condition }),
            _ => {
                let message = format!("{} is no condition; compare it with something", kind.name());
                Err(ExpressionProblem::new(text, place, message))
            }
        }
    }

    /// Whether it is true of a row, whose values `value` gives by the number of the column.
    pub fn is_true<'v>(&self, value: impl Fn(usize) -> CellValue<'v>) -> bool {
        matches!(self.condition.answer(&value), Answer::Bool(true))
    }

    /// The numbers of the columns that it asks for, in their order, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.condition.add_columns(&mut found);
        found
    }
}

impl Node {
    fn answer<'n, 'v: 'n>(&'n self, value: &impl Fn(usize) -> CellValue<'v>) -> Answer<'n> {
        match self {
            Node::Column(number) => match value(*number) {
                CellValue::Null => Answer::Unknown,
                CellValue::Bool(it) => Answer::Bool(it),
                CellValue::Number(it) => Answer::Number(it.into()),
                CellValue::Text(it) => Answer::Text(it),
            },
            Node::Bool(it) => Answer::Bool(*it),
            Node::Number(it) => Answer::Number((*it).into()),
            Node::Text(it) => Answer::Text(it.into()),
            Node::Null => Answer::Unknown,
            Node::Or(sides) => joined(sides, value, true),
            Node::And(sides) => joined(sides, value, false),
            Node::Not(it) => match it.answer(value) {
                Answer::Bool(it) => Answer::Bool(!it),
                _ => Answer::Unknown,
            },
            Node::Compare(sides, is) => {
                let [a, b] = sides.each_ref().map(|it| it.answer(value));
                compare(&a, &b).map_or(Answer::Unknown, |it| Answer::Bool(is(it)))
            }
            Node::IsNull(it) => Answer::Bool(matches!(it.answer(value), Answer::Unknown)),
            Node::Matches(it, regex) => match it.answer(value) {
                Answer::Text(it) => Answer::Bool(regex.is_match(&it)),
                _ => Answer::Unknown,
            },
            Node::Compute(sides, compute) => match sides.each_ref().map(|it| it.answer(value)) {
                [Answer::Number(a), Answer::Number(b)] => {
                    compute(a, b).map_or(Answer::Unknown, Answer::Number)
                }
                _ => Answer::Unknown,
            },
        }
    }

    fn add_columns(&self, found: &mut Vec<usize>) {
        match self {
            Node::Column(number) if !found.contains(number) => found.push(*number),
            Node::Or(sides)
            | Node::And(sides)
            | Node::Compare(sides, _)
            | Node::Compute(sides, _) => {
                sides.iter().for_each(|it| it.add_columns(found));
            }
            Node::Not(it) | Node::IsNull(it) | Node::Matches(it, _) => it.add_columns(found),
            _ => {}
        }
    }
}

/// Conditions joined by `||` if `wins` is true, else by `&&`: one side may decide although the other is not known.
fn joined<'n, 'v: 'n>(
    sides: &'n [Node; 2],
    value: &impl Fn(usize) -> CellValue<'v>,
    wins: bool,
) -> Answer<'n> {
    let [a, b] = sides;
    match a.answer(value) {
        Answer::Bool(it) if it == wins => Answer::Bool(wins),
        a => match (a, b.answer(value)) {
            (_, Answer::Bool(it)) if it == wins => Answer::Bool(wins),
            (Answer::Bool(_), Answer::Bool(_)) => Answer::Bool(!wins),
            _ => Answer::Unknown,
        },
    }
}

fn compare(a: &Answer<'_>, b: &Answer<'_>) -> Option<Ordering> {
    match (a, b) {
        (Answer::Bool(a), Answer::Bool(b)) => Some(a.cmp(b)),
        (Answer::Number(a), Answer::Number(b)) => Some(a.cmp(b)),
        (Answer::Text(a), Answer::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Expressions may have so many words,
const MOST_WORDS: usize = 1000;
/// and be nested so deep.
const MOST_DEPTH: usize = 64;

struct Parser<'p> {
    text: &'p str,
    columns: &'p [Column],
    words: Vec<Placed>,
    at: usize,
    depth: usize,
}

/// A part of an expression: what it is, and where.
type Part = (Node, Kind, Range<usize>);

/// How two numbers become one.
type Compute = fn(i128, i128) -> Option<i128>;

/// What is said of how two values compare.
type Comparison = fn(Ordering) -> bool;

const COMPARISONS: [(&str, Comparison); 7] = [
    ("==", Ordering::is_eq),
    ("=", Ordering::is_eq),
    ("!=", Ordering::is_ne),
    ("<=", Ordering::is_le),
    (">=", Ordering::is_ge),
    ("<", Ordering::is_lt),
    (">", Ordering::is_gt),
];

const SUMS: [(&str, Compute); 2] = [("+", i128::checked_add), ("-", i128::checked_sub)];
const PRODUCTS: [(&str, Compute); 2] = [("*", i128::checked_mul), ("/", i128::checked_div)];

impl Parser<'_> {
    fn either(&mut self) -> Result<Part, ExpressionProblem> {
        let mut left = self.both()?;
        while self.takes("||") || self.takes_word("or") {
            let right = self.both()?;
            left = self.join(left, right, Node::Or)?;
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Part, ExpressionProblem> {
        let mut left = self.negated()?;
        while self.takes("&&") || self.takes_word("and") {
            let right = self.negated()?;
            left = self.join(left, right, Node::And)?;
        }
        Ok(left)
    }

    fn join(
        &self,
        a: Part,
        b: Part,
        node: fn(Box<[Node; 2]>) -> Node,
    ) -> Result<Part, ExpressionProblem> {
        for (_, kind, place) in [&a, &b] {
            self.want(*kind, Kind::Bool, place)?;
        }
        Ok((node(Box::new([a.0, b.0])), Kind::Bool, a.2.start..b.2.end))
    }

    fn negated(&mut self) -> Result<Part, ExpressionProblem> {
        let start = self.place().start;
        if self.takes("!") || self.takes_word("not") {
            let (node, kind, place) = self.nested(Self::negated)?;
            self.want(kind, Kind::Bool, &place)?;
            return Ok((Node::Not(Box::new(node)), Kind::Bool, start..place.end));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Part, ExpressionProblem> {
        let left = self.sum()?;
        if self.takes("~") {
            return self.matching(left, false);
        }
        if self.takes("!~") {
            return self.matching(left, true);
        }
        let found = COMPARISONS.into_iter().find(|(sign, _)| self.takes(sign));
        let Some((sign, is)) = found else { return Ok(left) };
        let right = self.sum()?;
        let place = left.2.start..right.2.end;
        let node = match (left, right) {
            ((node, ..), (Node::Null, ..)) | ((Node::Null, ..), (node, ..)) => {
                let is_null = Node::IsNull(Box::new(node));
                match sign {
                    "=" | "==" => is_null,
                    "!=" => Node::Not(Box::new(is_null)),
                    _ => {
                        let message = "null is neither more nor less than anything; use = or !=";
                        return Err(ExpressionProblem::new(self.text, place, message));
                    }
                }
            }
            ((_, of_a, _), (_, of_b, place)) if of_a != of_b => {
                let message = format!("{} is compared with {}", of_a.name(), of_b.name());
                return Err(ExpressionProblem::new(self.text, place, message));
            }
            ((a, ..), (b, ..)) => Node::Compare(Box::new([a, b]), is),
        };
        Ok((node, Kind::Bool, place))
    }

    /// The regular expression after `~`.
    fn matching(
        &mut self,
        (node, kind, place): Part,
        negated: bool,
    ) -> Result<Part, ExpressionProblem> {
        self.want(kind, Kind::Text, &place)?;
        let at = self.place();
        let Some(Word::Text(pattern)) = self.next() else {
            let message = "after ~ stands a regular expression between quotes";
            return Err(ExpressionProblem::new(self.text, at, message));
        };
        let regex = Regex::new(&pattern).map_err(|error| {
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            ExpressionProblem::new(self.text, at.clone(), format!("no regular expression: {last}"))
        })?;
        let node = Node::Matches(Box::new(node), regex);
        let node = if negated { Node::Not(Box::new(node)) } else { node };
        Ok((node, Kind::Bool, place.start..at.end))
    }

    /// Sums of products of values.
    fn sum(&mut self) -> Result<Part, ExpressionProblem> {
        self.computed(&SUMS, Self::product)
    }

    fn product(&mut self) -> Result<Part, ExpressionProblem> {
        self.computed(&PRODUCTS, Self::value)
    }

    fn computed(
        &mut self,
        signs: &[(&str, Compute)],
        operand: fn(&mut Self) -> Result<Part, ExpressionProblem>,
    ) -> Result<Part, ExpressionProblem> {
        let mut left = operand(self)?;
        while let Some((_, compute)) = signs.iter().find(|(sign, _)| self.takes(sign)) {
            let right = operand(self)?;
            for (_, kind, place) in [&left, &right] {
                self.want(*kind, Kind::Number, place)?;
            }
            let place = left.2.start..right.2.end;
            left = (Node::Compute(Box::new([left.0, right.0]), *compute), Kind::Number, place);
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Part, ExpressionProblem> {
        let place = self.place();
        let (node, kind) = match self.next() {
            Some(Word::Number(it)) => (Node::Number(it), Kind::Number),
            Some(Word::Text(it)) => (Node::Text(it), Kind::Text),
            Some(Word::Name(name)) => match name.as_str() {
                "true" => (Node::Bool(true), Kind::Bool),
                "false" => (Node::Bool(false), Kind::Bool),
                "null" => (Node::Null, Kind::Null),
                _ => self.column(&name, place.start)?,
            },
            Some(Word::Sign("(")) => {
                let (node, kind, _) = self.nested(Self::either)?;
                let end = self.place();
                if !self.takes(")") {
                    return Err(ExpressionProblem::new(self.text, place, "this ( has no )"));
                }
                return Ok((node, kind, place.start..end.end));
            }
            _ => {
                let message = "a column, a number or text is missing here";
                return Err(ExpressionProblem::new(self.text, place, message));
            }
        };
        Ok((node, kind, place))
    }

    fn column(&self, name: &str, at: usize) -> Result<(Node, Kind), ExpressionProblem> {
        let number = ExpressionProblem::find_column(self.text, at, name, self.columns)?;
        let kind = match self.columns.get(number).map(|it| it.ty) {
            Some(ColumnType::Bool) => Kind::Bool,
            Some(ColumnType::Text) => Kind::Text,
            _ => Kind::Number,
        };
        Ok((Node::Column(number), kind))
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Part, ExpressionProblem>,
    ) -> Result<Part, ExpressionProblem> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(ExpressionProblem::new(self.text, self.place(), "this is nested too deep"));
        }
        let part = read(self)?;
        self.depth -= 1;
        Ok(part)
    }

    fn want(
        &self,
        kind: Kind,
        wanted: Kind,
        place: &Range<usize>,
    ) -> Result<(), ExpressionProblem> {
        match kind == wanted || kind == Kind::Null {
            true => Ok(()),
            false => {
                let message = format!("{} stands where {} should", kind.name(), wanted.name());
                Err(ExpressionProblem::new(self.text, place.clone(), message))
            }
        }
    }

    /// Where the next word is.
    fn place(&self) -> Range<usize> {
        let end = self.text.len();
        self.words.get(self.at).map_or(end..end, |it| it.place.clone())
    }

    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.at)?.word.clone();
        self.at += 1;
        Some(word)
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.takes_if(|it| matches!(it, Word::Sign(it) if *it == sign))
    }

    fn takes_if(&mut self, is_meant: impl Fn(&Word) -> bool) -> bool {
        let is_it = self.words.get(self.at).is_some_and(|it| is_meant(&it.word));
        self.at += usize::from(is_it);
        is_it
    }

    fn takes_word(&mut self, name: &str) -> bool {
        self.takes_if(|it| matches!(it, Word::Name(it) if it == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::new("vgprs", ColumnType::Number, ""),
        Column::new("name", ColumnType::Text, ""),
        Column::new("complete", ColumnType::Bool, ""),
        Column::new("spills", ColumnType::Number, ""),
    ];

    /// Whether an expression is true of vgprs 128, name "gemm 'x'", complete, and spills that are not known.
    fn is_true(text: &str) -> bool {
        let filter = RowFilter::parse(text, &COLUMNS).unwrap_or_else(|it| panic!("{it}"));
        let row = [128_u64.into(), "gemm 'x'".into(), true.into(), CellValue::Null];
        let row: [CellValue<'_>; 4] = row;
        filter.is_true(|column| row[column].clone())
    }

    #[test]
    fn conditions_are_as_in_c_and_nulls_as_in_sql() {
        for (text, expected) in [
            ("vgprs = 128", true),
            ("vgprs == 0x80 and complete", true),
            ("vgprs >= 1K", false),
            ("vgprs < 4 || vgprs > 100 && complete", true),
            ("(vgprs < 4 || vgprs > 100) && !complete", false),
            ("vgprs - 129 < 0", true),
            ("2 + 3 * 4 = 14 && (2 + 3) * 4 = 20", true),
            ("vgprs / 0 = 1 || vgprs / 0 != 1", false),
            ("name ~ '^gemm' && name !~ 'test'", true),
            ("name = 'gemm ''x'''", true),
            ("name = \"gemm 'x'\"", true),
            ("name < 'h'", true),
            ("spills > 0", false),
            ("!(spills > 0)", false),
            ("spills > 0 || complete", true),
            ("complete || spills > 0", true),
            ("spills > 0 && !complete || spills = null", true),
            ("spills != null", false),
            ("not complete", false),
            ("complete = true", true),
        ] {
            assert_eq!(is_true(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, offset, message) in [
            ("", 0, "a column, a number or text is missing here"),
            ("vgprs >", 7, "a column, a number or text is missing here"),
            ("vgprs > 1 2", 10, "the expression ends before this"),
            ("vgprs", 0, "a number is no condition; compare it with something"),
            ("vgprs > 1 && name", 13, "text stands where a condition should"),
            ("vgpr > 1", 0, "there is no column 'vgpr'; did you mean 'vgprs'?"),
            (
                "waves_of_it > 1",
                0,
                "there is no column 'waves_of_it'; there are vgprs, name, complete, spills",
            ),
            ("name > 1", 7, "text is compared with a number"),
            ("name + 1 > 1", 0, "text stands where a number should"),
            ("vgprs ~ '1'", 0, "a number stands where text should"),
            ("name ~ '('", 7, "no regular expression: unclosed group"),
            ("name ~ vgprs", 7, "after ~ stands a regular expression between quotes"),
            ("name = 'x", 7, "this text has no ' at its end"),
            ("(vgprs > 1", 0, "this ( has no )"),
            ("vgprs > 12x", 8, "'12x' is no number such as 128, 0x80 or 64K"),
            ("vgprs # 1", 6, "'#' means nothing here"),
            ("vgprs < null", 0, "null is neither more nor less than anything; use = or !="),
            ("!vgprs", 1, "a number stands where a condition should"),
        ] {
            let problem = RowFilter::parse(text, &COLUMNS).unwrap_err();
            assert_eq!(problem.offset(), offset, "{text}: {problem}");
            assert_eq!(problem.to_string().lines().next(), Some(message), "{text}");
        }
        let deep = format!("{}vgprs = 1{}", "(".repeat(100), ")".repeat(100));
        assert!(RowFilter::parse(&deep, &COLUMNS).is_err());
        for part in ["!", "complete || "] {
            let long = format!("{}complete", part.repeat(100_000));
            assert!(RowFilter::parse(&long, &COLUMNS).is_err());
        }
    }

    #[test]
    fn columns_that_are_asked_for_are_known() {
        let filter = RowFilter::parse("spills = null || vgprs + spills > 3", &COLUMNS).unwrap();
        assert_eq!(filter.columns(), [3, 0]);
    }
}
