//! What an argument holds, by its name in the metadata.

use hsaco_bytes::Str;

use super::Hidden;

/// A kind that keeps no bytes of a file.
pub type OwnedValueKind = ValueKind<Box<str>>;

macro_rules! value_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What an argument holds; `T` is the name of a kind that this crate does not know.
        ///
        /// ```
        /// use hsaco_object::metadata::{Hidden, ValueKind};
        /// let kind = ValueKind::from_name("hidden_heap_v1".into());
        /// assert_eq!(kind, ValueKind::Hidden(Hidden::HeapV1));
        /// assert!(ValueKind::from_name("hidden_news".into()).is_hidden());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ValueKind<T> {
            $($(#[$doc])* $variant,)*
            /// What the runtime supplies.
            Hidden(Hidden),
            /// A kind this crate has no name for.
            Other(T),
        }

        /// The kinds that callers pass.
        const VISIBLE: &[ValueKind<Str<'static>>] = &[$(ValueKind::$variant,)*];

        impl<T> ValueKind<T> {
            /// The name in the metadata, as far as it does not come from a file.
            fn known_name(&self) -> Result<&'static str, &T> {
                match self {
                    $(Self::$variant => Ok($name),)*
                    Self::Hidden(kind) => Ok(kind.name()),
                    Self::Other(name) => Err(name),
                }
            }

            /// The same kind with a name of another type.
            fn map<U>(self, name: impl FnOnce(T) -> U) -> ValueKind<U> {
                match self {
                    $(Self::$variant => ValueKind::$variant,)*
                    Self::Hidden(kind) => ValueKind::Hidden(kind),
                    Self::Other(other) => ValueKind::Other(name(other)),
                }
            }
        }
    };
}

value_kinds! {
    /// The bytes themselves.
    ByValue = "by_value",
    /// A pointer to global memory.
    GlobalBuffer = "global_buffer",
    /// A pointer to LDS whose size the launch decides.
    DynamicSharedPointer = "dynamic_shared_pointer",
    /// A sampler.
    Sampler = "sampler",
    /// An image.
    Image = "image",
    /// An OpenCL pipe.
    Pipe = "pipe",
    /// An OpenCL queue.
    Queue = "queue",
}

impl<'a> ValueKind<Str<'a>> {
    /// Every kind that has a name.
    pub fn all() -> impl Iterator<Item = Self> {
        let hidden = Hidden::ALL.iter().map(|it| ValueKind::Hidden(*it));
        VISIBLE.iter().copied().chain(hidden)
    }

    /// The kind of this name.
    pub fn from_name(name: Str<'a>) -> Self {
        Self::all().find(|it| it.name() == name).unwrap_or(Self::Other(name))
    }

    /// The name in the metadata.
    pub fn name(self) -> Str<'a> {
        self.known_name().map_or_else(|name| *name, Str::from)
    }

    /// True for arguments that the runtime supplies and the caller never sees.
    pub fn is_hidden(self) -> bool {
        self.name().as_bytes().starts_with(b"hidden_")
    }

    /// The same without bytes of the file.
    pub fn to_owned(self) -> OwnedValueKind {
        self.map(|name| name.to_str_lossy().into())
    }
}

impl OwnedValueKind {
    /// The name in the metadata.
    pub fn name(&self) -> &str {
        self.known_name().unwrap_or_else(|name| name)
    }

    /// True for arguments that the runtime supplies and the caller never sees.
    pub fn is_hidden(&self) -> bool {
        self.name().starts_with("hidden_")
    }
}
