//! A file of a package, by its path.

use hsaco_bytes::{Error, ErrorKind, Result, memory, slice};

use crate::package::{Source as _, Stream};
use crate::rpm::Rpm;
use crate::sequence::{self, Sequence};
use crate::{Container, WalkOptions, archive, zip, zip_write};

const CONTEXT: &str = "package";

/// The bytes of a file in a package, by the path that [`Trail::path`](crate::Trail::path) gives it.
///
/// ```
/// use hsaco_container::{WalkOptions, member};
/// let package = std::fs::read("../../tests/fixtures/nested.tar.xz").unwrap();
/// let file = member(&package, "dist/wheel.whl/demo/__init__.py", &WalkOptions::default())?;
/// assert_eq!(file, b"\"\"\"Kernels.\"\"\"\n");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// When there is no such file, or it cannot be read.
pub fn member(package: &[u8], path: &str, options: &WalkOptions) -> Result<Vec<u8>> {
    let finder = Finder { cap: options.max_size, depth: options.max_depth };
    finder
        .find(package, path, 0)?
        .ok_or_else(|| Error::new(ErrorKind::NotFound, CONTEXT, format!("no file {path} in it")))
}

struct Finder {
    cap: u64,
    depth: usize,
}

impl Finder {
    /// The file, if there is one; the path is empty when these bytes are it.
    fn find(&self, data: &[u8], path: &str, depth: usize) -> Result<Option<Vec<u8>>> {
        if path.is_empty() {
            return memory::copy(data, CONTEXT).map(Some);
        }
        if depth >= self.depth {
            let detail = format!("more than {} containers within each other", self.depth);
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
        }
        let depth = depth + 1;
        match Container::detect(data) {
            Some(Container::Zip) => {
                let read = |it: &zip::Member| zip_write::content(data, it, self.cap);
                self.among(zip::members(data), |it| &it.name, read, path, depth)
            }
            Some(container @ (Container::Tar | Container::Cpio)) => {
                let read = |it: &sequence::Member| self.copy(data, it.offset, it.size);
                self.among(sequence::members(container, data), |it| &it.name, read, path, depth)
            }
            Some(Container::Archive) => {
                let read = |it: &archive::Member| self.copy(data, it.offset, it.size);
                self.among(archive::members(data), |it| &it.name, read, path, depth)
            }
            Some(Container::Rpm) => {
                let payload = Rpm::parse(data)?.payload;
                let size = (data.len() as u64).saturating_sub(payload);
                self.find(slice(data, payload, size, CONTEXT)?, path, depth)
            }
            Some(container) => self.in_stream(container, data, path, depth),
            None => Ok(None),
        }
    }

    fn copy(&self, data: &[u8], offset: u64, size: u64) -> Result<Vec<u8>> {
        memory::copy(slice(data, offset, size, CONTEXT)?, CONTEXT)
    }

    /// The file in one of the members whose name the path begins with. One that cannot be read matters if no other is it.
    fn among<M>(
        &self,
        members: Vec<Result<M>>,
        name: impl Fn(&M) -> &str,
        read: impl Fn(&M) -> Result<Vec<u8>>,
        path: &str,
        depth: usize,
    ) -> Result<Option<Vec<u8>>> {
        let mut broken = None;
        for member in members {
            match member {
                Ok(member) => {
                    let Some(rest) = below(path, name(&member)) else { continue };
                    if let Some(found) = self.find(&read(&member)?, rest, depth)? {
                        return Ok(Some(found));
                    }
                }
                Err(error) => broken = broken.or(Some(error)),
            }
        }
        broken.map_or(Ok(None), Err)
    }

    fn in_stream(
        &self,
        container: Container,
        data: &[u8],
        path: &str,
        depth: usize,
    ) -> Result<Option<Vec<u8>>> {
        let Some(codec) = container.codec() else { return Ok(None) };
        let mut stream = Stream::new(codec, data)?;
        let inner = Container::detect(stream.prefix());
        let Some(mut sequence) = inner.and_then(Sequence::of) else {
            let content = stream.all(self.cap)?;
            return self.find(&content, path, depth);
        };
        while let Some(head) = sequence.next(&mut stream)? {
            match below(path, &head.name) {
                Some(rest) if head.size <= self.cap => {
                    if let Some(found) = self.find(&stream.take(head.size)?, rest, depth)? {
                        return Ok(Some(found));
                    }
                    stream.skip(head.padding)?;
                }
                _ => {
                    stream.skip(head.size.saturating_add(head.padding))?;
                }
            }
        }
        Ok(None)
    }
}

/// What is left of a path below a file; nothing if the path names another.
fn below<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
