//! Command-line arguments of a verb, taken one by one.

use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// What is left of the command line.
pub(crate) struct Args(Vec<String>);

impl Args {
    pub(crate) fn from_env() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// Takes the flag `--name`, if given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let found = self.0.iter().position(|arg| arg == name);
        found.map(|index| self.0.remove(index)).is_some()
    }

    /// Takes the option `--name VALUE`, if given.
    pub(crate) fn option<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(index) = self.0.iter().position(|arg| arg == name) else { return Ok(None) };
        self.0.remove(index);
        if index == self.0.len() {
            bail!("{name} wants a value");
        }
        let value = self.0.remove(index);
        match value.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => bail!("{name} does not take `{value}`"),
        }
    }

    /// Takes the first argument that is no option.
    pub(crate) fn positional(&mut self) -> Option<String> {
        let index = self.0.iter().position(|arg| !arg.starts_with("--"))?;
        Some(self.0.remove(index))
    }

    /// Fails when something is left that the verb did not take.
    pub(crate) fn finish(self) -> Result<()> {
        self.0
            .first()
            .map_or(Ok(()), |arg| Err(anyhow::anyhow!("unexpected argument `{arg}`")))
            .context("see `cargo xtask help`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Args {
        Args(text.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_taken_before_positionals() {
        let mut args = args("object --minutes 5 --check");
        assert!(args.flag("--check"));
        assert!(!args.flag("--check"));
        assert_eq!(args.option::<u32>("--minutes").unwrap(), Some(5));
        assert_eq!(args.positional().as_deref(), Some("object"));
        args.finish().unwrap();
    }

    #[test]
    fn bad_values_and_leftovers_are_errors() {
        assert!(args("--minutes").option::<u32>("--minutes").is_err());
        assert!(args("--minutes x").option::<u32>("--minutes").is_err());
        assert!(args("--what").finish().is_err());
    }
}
