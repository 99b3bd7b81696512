//! Values as they are packed: typed, and written without an allocation.

use crate::float;

macro_rules! values {
    ($($(#[$doc:meta])* $one:ident, $many:ident: $type:ty;)*) => {
        /// The value of one argument.
        ///
        /// Numbers become values as they are: `7_u32.into()`. Half precision has bits of its own, made by
        /// [`half`](Self::half) and [`brain`](Self::brain). A slice is a vector.
        ///
        /// ```
        /// use hsaco_kernarg::Value;
        /// let value: Value = 7_u32.into();
        /// assert_eq!(value.size(), 4);
        /// let vector = Value::from(&[1.0_f32, 2.0, 3.0, 4.0][..]);
        /// assert_eq!(vector.size(), 16);
        /// assert_eq!(Value::half(1.0), Value::F16(0x3c00));
        /// assert_eq!(Value::brain(1.0), Value::Bf16(0x3f80));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Value<'a> {
            $($(#[$doc])* $one($type),)*
            $(/// The same as a vector.
            $many(&'a [$type]),)*
            /// A pointer to global memory.
            Pointer(u64),
            /// A pointer to LDS.
            SharedPointer(u32),
            /// A boolean, one byte.
            Bool(bool),
            /// Half precision (IEEE 754), as bits.
            F16(u16),
            /// Half precision with the exponent of single precision, as bits.
            Bf16(u16),
            /// Bytes as they stand: a structure, or what the caller has packed.
            Bytes(&'a [u8]),
        }

        $(impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::$one(value)
            }
        }

        impl<'a> From<&'a [$type]> for Value<'a> {
            fn from(values: &'a [$type]) -> Self {
                Self::$many(values)
            }
        })*

        impl Value<'_> {
            /// Its size in bytes.
            pub fn size(&self) -> usize {
                match self {
                    $(Self::$one(_) => size_of::<$type>(),)*
                    $(Self::$many(values) => size_of_val(*values),)*
                    Self::Pointer(_) => 8,
                    Self::SharedPointer(_) => 4,
                    Self::Bool(_) => 1,
                    Self::F16(_) | Self::Bf16(_) => 2,
                    Self::Bytes(bytes) => bytes.len(),
                }
            }

            /// What it is, for messages.
            pub(crate) fn kind(&self) -> &'static str {
                match self {
                    $(Self::$one(_) => stringify!($type),)*
                    $(Self::$many(_) => concat!("a vector of ", stringify!($type)),)*
                    Self::Pointer(_) => "a pointer",
                    Self::SharedPointer(_) => "a pointer to LDS",
                    Self::Bool(_) => "bool",
                    Self::F16(_) => "f16",
                    Self::Bf16(_) => "bf16",
                    Self::Bytes(_) => "bytes",
                }
            }

            /// Writes it over as many bytes as it has; `target` has been cut to its size.
            #[inline]
            pub(crate) fn write(&self, target: &mut [u8]) {
                match *self {
                    $(Self::$one(value) => put(target, &value.to_le_bytes()),)*
                    $(Self::$many(values) => {
                        let places = target.chunks_exact_mut(size_of::<$type>());
                        for (place, value) in places.zip(values) {
                            put(place, &value.to_le_bytes());
                        }
                    })*
                    Self::Pointer(address) => put(target, &address.to_le_bytes()),
                    Self::SharedPointer(offset) => put(target, &offset.to_le_bytes()),
                    Self::Bool(value) => put(target, &[u8::from(value)]),
                    Self::F16(bits) | Self::Bf16(bits) => put(target, &bits.to_le_bytes()),
                    Self::Bytes(bytes) => put(target, bytes),
                }
            }
        }
    };
}

values! {
    /// Eight bits, signed.
    I8, I8s: i8;
    /// Sixteen bits, signed.
    I16, I16s: i16;
    /// Sixteen bits.
    U16, U16s: u16;
    /// Thirty-two bits, signed.
    I32, I32s: i32;
    /// Thirty-two bits.
    U32, U32s: u32;
    /// Sixty-four bits, signed.
    I64, I64s: i64;
    /// Sixty-four bits.
    U64, U64s: u64;
    /// Single precision.
    F32, F32s: f32;
    /// Double precision.
    F64, F64s: f64;
}

#[inline]
fn put(target: &mut [u8], bytes: &[u8]) {
    if let Some(target) = target.get_mut(..bytes.len()) {
        target.copy_from_slice(bytes);
    }
}

impl Value<'_> {
    /// Eight bits.
    pub fn byte(value: u8) -> Self {
        Self::I8(value.cast_signed())
    }

    /// Half precision (IEEE 754), rounded to the nearest.
    pub fn half(value: f64) -> Self {
        Self::F16(float::to_half(value))
    }

    /// Half precision with the exponent of single precision (bfloat16), rounded to the nearest.
    pub fn brain(value: f64) -> Self {
        Self::Bf16(float::to_brain(value))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u8> for Value<'_> {
    fn from(value: u8) -> Self {
        Self::byte(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}
