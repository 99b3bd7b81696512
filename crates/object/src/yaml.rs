//! YAML text exactly as LLVM writes it, for tools that read what `llvm-readelf --notes` prints.
//!
//! ```
//! use hsaco_object::yaml::{Node, to_yaml};
//! let version = Node::Array(vec![Node::UInt(1), Node::UInt(2)]);
//! let root = Node::Map(vec![(Node::Str("amdhsa.version".into()), version)]);
//! assert_eq!(to_yaml(&root), "---\namdhsa.version:\n  - 1\n  - 2\n...\n");
//! ```

mod generated;
mod scalar;

use std::cmp::Ordering;

use hsaco_bytes::Str;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// Nothing.
    Nil,
    /// True or false.
    Bool(bool),
    /// An integer that was written as a signed one.
    Int(i64),
    /// An integer that was written as an unsigned one.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// A string; what is not UTF-8 is cut off when it is printed, as LLVM does.
    Str(Str<'a>),
    /// Bytes, which LLVM cannot print; here they are hexadecimal digits with a tag.
    Binary(&'a [u8]),
    /// A list.
    Array(Vec<Node<'a>>),
    /// Keys with values, in any order.
    Map(Vec<(Node<'a>, Node<'a>)>),
}

impl Node<'_> {
    /// The place of the kind in the order of map keys.
    fn rank(&self) -> u8 {
        match self {
            Self::Int(_) => 0,
            Self::UInt(_) => 1,
            Self::Nil => 2,
            Self::Bool(_) => 3,
            Self::Float(_) => 4,
            Self::Str(_) => 5,
            Self::Binary(_) => 6,
            Self::Array(_) => 7,
            Self::Map(_) => 8,
        }
    }

    /// The order of map keys: by kind, then by value.
    fn key_order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::UInt(left), Self::UInt(right)) => left.cmp(right),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(right),
            (Self::Str(left), Self::Str(right)) => left.cmp(right),
            (Self::Binary(left), Self::Binary(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Prints a document, from `---` to `...`.
///
/// Map keys are sorted by kind, then by value. The nesting is followed by recursion: keep documents
/// from outside within a depth.
///
/// ```
/// use hsaco_object::yaml::{Node, to_yaml};
/// assert_eq!(to_yaml(&Node::Array(vec![Node::Str("1".into()), Node::Nil])),
///     "---\n- !str '1'\n- !nil ''\n...\n");
/// ```
pub fn to_yaml(root: &Node<'_>) -> String {
    let mut writer =
        Writer { out: String::from("---"), levels: Vec::new(), padding: Padding::NewLine };
    writer.node(root);
    writer.out.push_str("\n...\n");
    writer.out
}

/// What goes before the next thing.
#[derive(Clone, Copy)]
enum Padding {
    NewLine,
    Spaces(usize),
}

/// A container that is being printed, and whether anything of it has been.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    ArrayStart,
    ArrayRest,
    MapStart,
    MapRest,
}

impl Level {
    fn is_array(self) -> bool {
        matches!(self, Self::ArrayStart | Self::ArrayRest)
    }
}

struct Writer {
    out: String,
    levels: Vec<Level>,
    padding: Padding,
}

impl Writer {
    fn node(&mut self, node: &Node<'_>) {
        match node {
            Node::Array(elements) => self.array(elements),
            Node::Map(entries) => self.map(entries),
            scalar => {
                self.pad();
                scalar::print(scalar, &mut self.out);
                self.padding = Padding::NewLine;
            }
        }
    }

    fn array(&mut self, elements: &[Node<'_>]) {
        if elements.is_empty() {
            // LLVM neither indents these nor gives them the dash of an array that they are in.
            match self.padding {
                Padding::NewLine => self.out.push('\n'),
                Padding::Spaces(_) => self.pad(),
            }
            return self.finish("[]");
        }
        self.levels.push(Level::ArrayStart);
        self.padding = Padding::NewLine;
        for element in elements {
            self.node(element);
            self.leave_start(Level::ArrayRest);
        }
        self.levels.pop();
    }

    fn map(&mut self, entries: &[(Node<'_>, Node<'_>)]) {
        self.levels.push(Level::MapStart);
        if entries.is_empty() {
            self.pad();
            self.finish("{}");
        } else {
            self.padding = Padding::NewLine;
        }
        let mut entries: Vec<_> = entries.iter().collect();
        entries.sort_by(|(left, _), (right, _)| left.key_order(right));
        for (key, value) in entries {
            self.pad();
            let width = scalar::print_key(key, &mut self.out);
            self.padding = Padding::Spaces(16_usize.saturating_sub(width).max(1));
            self.node(value);
            self.leave_start(Level::MapRest);
        }
        self.levels.pop();
    }

    fn finish(&mut self, text: &str) {
        self.out.push_str(text);
        self.padding = Padding::NewLine;
    }

    fn leave_start(&mut self, rest: Level) {
        if let Some(level) = self.levels.last_mut() {
            *level = rest;
        }
    }

    /// Writes what is due before the next thing: spaces after a key, or a line's indentation with
    /// one dash for each array that begins an element here.
    fn pad(&mut self) {
        if let Padding::Spaces(count) = self.padding {
            self.out.extend(std::iter::repeat_n(' ', count));
        } else {
            self.out.push('\n');
            let (indent, dashes) = self.indentation();
            self.out.extend(std::iter::repeat_n("  ", indent - dashes));
            self.out.extend(std::iter::repeat_n("- ", dashes));
        }
        self.padding = Padding::Spaces(0);
    }

    /// The depth of the next line, and how many of its last steps are dashes.
    fn indentation(&self) -> (usize, usize) {
        let Some((&last, outer)) = self.levels.split_last() else { return (0, 0) };
        let (indent, arrays) = match last {
            Level::MapRest => return (outer.len(), 0),
            Level::MapStart => (outer.len(), outer),
            Level::ArrayStart | Level::ArrayRest => (self.levels.len(), self.levels.as_slice()),
        };
        // An array whose first element is an array begins on the same line, and so on outward.
        let mut dashes = 0;
        for level in arrays.iter().rev().take_while(|level| level.is_array()) {
            dashes += 1;
            if *level == Level::ArrayRest {
                break;
            }
        }
        (indent, dashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn text(text: &str) -> Node<'_> {
        Node::Str(text.into())
    }

    fn check(node: &Node<'_>, expected: &Expect) {
        expected.assert_eq(&to_yaml(node));
    }

    #[test]
    fn a_kernel() {
        let argument = Node::Map(vec![
            (text(".value_kind"), text("global_buffer")),
            (text(".size"), Node::UInt(8)),
            (text(".type_name"), text("float*")),
        ]);
        let kernel = Node::Map(vec![
            (text(".name"), text("vector_add")),
            (text(".args"), Node::Array(vec![argument.clone(), argument])),
            (text(".max_flat_workgroup_size"), Node::UInt(1024)),
            (text(".uses_dynamic_stack"), Node::Bool(false)),
        ]);
        let root = Node::Map(vec![
            (text("amdhsa.kernels"), Node::Array(vec![kernel])),
            (text("amdhsa.target"), text("amdgcn-amd-amdhsa--gfx90a:xnack-")),
        ]);
        check(
            &root,
            &expect![[r#"
            ---
            amdhsa.kernels:
              - .args:
                  - .size:           8
                    .type_name:      'float*'
                    .value_kind:     global_buffer
                  - .size:           8
                    .type_name:      'float*'
                    .value_kind:     global_buffer
                .max_flat_workgroup_size: 1024
                .name:           vector_add
                .uses_dynamic_stack: false
            amdhsa.target:   'amdgcn-amd-amdhsa--gfx90a:xnack-'
            ...
        "#]],
        );
    }

    #[test]
    fn keys_of_every_kind() {
        let keys = [
            text("b"),
            text("it's"),
            text("1"),
            text(""),
            Node::Float(1.5),
            Node::Bool(false),
            Node::Nil,
            Node::UInt(200),
            Node::UInt(5),
            Node::Int(-1),
            text("longer than sixteen"),
        ];
        let entries = keys.into_iter().map(|key| (key, Node::UInt(0))).collect();
        check(
            &Node::Map(entries),
            &expect![[r#"
            ---
            '-1':              0
            5:               0
            200:             0
            '':                0
            false:           0
            '1.500000e+00':    0
            '':                0
            1:               0
            b:               0
            'it''s':            0
            longer than sixteen: 0
            ...
        "#]],
        );
    }

    #[test]
    fn nested_arrays_share_a_line_and_empty_ones_stand_alone() {
        let array = Node::Array;
        let one = || Node::UInt(1);
        let inner = array(vec![array(vec![one(), one()]), array(vec![]), Node::Map(vec![])]);
        let map = Node::Map(vec![(text("a"), array(vec![])), (text("b"), Node::Map(vec![]))]);
        check(
            &array(vec![inner, map]),
            &expect![[r#"
            ---
            - - - 1
                - 1
            []
              - {}
            - a:               []
              b:               {}
            ...
        "#]],
        );
    }

    #[test]
    fn strings() {
        let strings = [
            "", "1", "true", "True", "null", "0x10", "0b1", "nan", "a: b", "it's", "a\nb", "é",
            "\u{200b}",
        ];
        let strings = strings.map(text).into_iter().chain([Node::Str(Str::new(b"caf\xe9!"))]);
        check(
            &Node::Array(strings.collect()),
            &expect![[r#"
            ---
            - !str ''
            - !str '1'
            - !str 'true'
            - 'True'
            - 'null'
            - !str '0x10'
            - !str 0b1
            - !str nan
            - 'a: b'
            - 'it''s'
            - "a\nb"
            - "é"
            - "\u200B"
            - "caf�"
            ...
        "#]],
        );
    }

    #[test]
    fn numbers_and_the_rest() {
        let nodes = vec![
            Node::Nil,
            Node::Int(-5),
            Node::UInt(u64::MAX),
            Node::Float(1048576.5),
            Node::Float(1e-100),
            Node::Float(f64::NAN),
            Node::Float(f64::NEG_INFINITY),
            Node::Binary(b"\x00\xff"),
        ];
        check(
            &Node::Array(nodes),
            &expect![[r#"
            ---
            - !nil ''
            - -5
            - 18446744073709551615
            - 1.048576e+06
            - 1.000000e-100
            - nan
            - -INF
            - !bin '00ff'
            ...
        "#]],
        );
    }
}
