//! Names of files that hold wherever a project is checked out.

use std::path::{Component, Path};

/// A file as it is seen from a folder, with slashes. What is no file, such as standard input, stays as it is.
#[must_use]
pub fn seen_from(folder: &Path, name: &str) -> String {
    let (Ok(file), Ok(folder)) = (std::fs::canonicalize(name), std::fs::canonicalize(folder))
    else {
        return name.to_owned();
    };
    let (file, folder) = (components(&file), components(&folder));
    let common = file.iter().zip(&folder).take_while(|(one, other)| one == other).count();
    let up = folder.iter().skip(common).map(|_| "..".to_owned());
    let down = file.into_iter().skip(common);
    up.chain(down).collect::<Vec<_>>().join("/")
}

fn components(path: &Path) -> Vec<String> {
    let text = |it: Component<'_>| it.as_os_str().to_string_lossy().into_owned();
    path.components().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_folder() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = source.join("src/lib.rs").display().to_string();
        assert_eq!(seen_from(source, &file), "src/lib.rs");
        assert_eq!(seen_from(&source.join("src/../../cli"), &file), "../files/src/lib.rs");
        assert_eq!(seen_from(source, "-"), "-");
    }
}
