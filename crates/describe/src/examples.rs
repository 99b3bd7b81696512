//! What help shows of each verb: commands that a test runs.

/// One a line: the verb, the command, and what it is for.
const TABLE: &str = include_str!("examples.txt");

/// The examples of a verb, as help shows them.
///
/// ```
/// assert!(hsaco_describe::examples::of("ls").contains("$ hsaco ls host.so"));
/// ```
#[must_use]
pub fn of(verb: &str) -> String {
    let rows = TABLE.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        (fields.next() == Some(verb)).then(|| (fields.next(), fields.next()))
    });
    let lines = rows.map(|(command, purpose)| {
        format!("  $ {}\n      {}", command.unwrap_or_default(), purpose.unwrap_or_default())
    });
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
