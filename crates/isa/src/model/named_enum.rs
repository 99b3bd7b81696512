//! Enums whose variants have names.

/// An enum that lists each variant once, with its name: gives `ALL` and `name`.
macro_rules! named_enum {
    ($(#[$meta:meta])* $Type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "named as the assembler names them")]
        pub enum $Type { $($variant),* }

        impl $Type {
            /// All of them.
            pub const ALL: [$Type; [$($name),*].len()] = [$($Type::$variant),*];

            /// The assembler's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($Type::$variant => $name),* }
            }
        }
    };
}

pub(crate) use named_enum;
