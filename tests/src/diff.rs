//! A line diff for test failures: what differs, with a little of what surrounds it.

const CONTEXT: usize = 3;

/// The lines that differ, `-` for expected and `+` for actual, between what both begin and end with.
///
/// Returns an empty string when the texts are equal.
pub fn diff(expected: &str, actual: &str) -> String {
    if expected == actual {
        return String::new();
    }
    let old: Vec<&str> = expected.split_inclusive('\n').collect();
    let new: Vec<&str> = actual.split_inclusive('\n').collect();
    let head = common(old.iter(), new.iter());
    let (old_rest, new_rest) = (tail(&old, head), tail(&new, head));
    let foot = common(old_rest.iter().rev(), new_rest.iter().rev());

    let mut out = format!("@@ line {} @@\n", head + 1);
    push_lines(&mut out, ' ', tail(old.get(..head).unwrap_or(&[]), head.saturating_sub(CONTEXT)));
    push_lines(&mut out, '-', old_rest.get(..old_rest.len() - foot).unwrap_or(&[]));
    push_lines(&mut out, '+', new_rest.get(..new_rest.len() - foot).unwrap_or(&[]));
    let after = tail(old_rest, old_rest.len() - foot);
    push_lines(&mut out, ' ', after.get(..CONTEXT).unwrap_or(after));
    out
}

fn tail<'a, 't>(lines: &'a [&'t str], from: usize) -> &'a [&'t str] {
    lines.get(from..).unwrap_or(&[])
}

fn common<'a>(
    old: impl Iterator<Item = &'a &'a str>,
    new: impl Iterator<Item = &'a &'a str>,
) -> usize {
    old.zip(new).take_while(|(left, right)| left == right).count()
}

fn push_lines(out: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ no newline at the end\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(expected: &str, actual: &str, want: &Expect) {
        want.assert_eq(&diff(expected, actual));
    }

    #[test]
    fn equal_texts_have_no_diff() {
        check("a\nb\n", "a\nb\n", &expect![""]);
    }

    #[test]
    fn a_changed_line_stands_between_its_neighbours() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            &expect![[r#"
                @@ line 5 @@
                 2
                 3
                 4
                -5
                +five
                 6
                 7
                 8
            "#]],
        );
    }

    #[test]
    fn added_lines_and_a_missing_last_newline_show() {
        check(
            "a\n",
            "a\nb",
            &expect![[r#"
                @@ line 2 @@
                 a
                +b
                \ no newline at the end
            "#]],
        );
        check(
            "",
            "a\n",
            &expect![[r#"
                @@ line 1 @@
                +a
            "#]],
        );
    }

    #[test]
    fn repeated_lines_are_not_counted_twice() {
        check(
            "a\na\n",
            "a\na\na\n",
            &expect![[r#"
                @@ line 3 @@
                 a
                 a
                +a
            "#]],
        );
    }
}
