//! Records as bytes and back.

use hsaco_object::Resources;

use super::{FileRecord, KernelRecord, ObjectRecord, Stamp, SymbolRecord};

/// Bytes that are written to.
pub(super) trait Write {
    /// A number: seven bits a byte, the highest bit on all but the last.
    fn number(&mut self, value: u64);
    /// Bytes, after how many there are.
    fn text(&mut self, text: &[u8]);
    /// A number or none.
    fn maybe(&mut self, value: Option<u64>);
    /// Bytes or none.
    fn maybe_text(&mut self, text: Option<&[u8]>);
}

impl Write for Vec<u8> {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            let [low, ..] = value.to_le_bytes();
            self.push(low | 0x80);
            value >>= 7;
        }
        let [last, ..] = value.to_le_bytes();
        self.push(last);
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.extend_from_slice(text);
    }

    fn maybe(&mut self, value: Option<u64>) {
        self.push(u8::from(value.is_some()));
        value.into_iter().for_each(|it| self.number(it));
    }

    fn maybe_text(&mut self, text: Option<&[u8]>) {
        self.push(u8::from(text.is_some()));
        text.into_iter().for_each(|it| self.text(it));
    }
}

/// Bytes that are read from; nothing where they end.
pub(super) struct Read<'b>(&'b [u8]);

impl<'b> Read<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Read(bytes)
    }

    pub(super) fn rest(&self) -> &'b [u8] {
        self.0
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (found, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*found)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn text(&mut self) -> Option<Vec<u8>> {
        let size = self.size()?;
        let (text, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(text.to_vec())
    }

    pub(super) fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?).ok()
    }

    /// A value or none, by the byte before it.
    fn maybe<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }

    /// So many values as the number before them says. Each has a byte at least: no number is believed that the bytes
    /// could not fulfil.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.size().filter(|count| *count <= self.0.len())?;
        (0..count).map(|_| read(self)).collect()
    }
}

impl Stamp {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.number(self.size);
        out.extend(self.modified.to_le_bytes());
        out.number(self.identity);
    }

    pub(super) fn read(input: &mut Read<'_>) -> Option<Self> {
        Some(Stamp {
            size: input.number()?,
            modified: u128::from_le_bytes(input.array()?),
            identity: input.number()?,
        })
    }
}

impl FileRecord {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.maybe_text(self.container.as_deref().map(str::as_bytes));
        out.number(self.objects.len() as u64);
        self.objects.iter().for_each(|it| it.write(out));
        out.number(self.others.len() as u64);
        for (id, offset, size) in &self.others {
            out.maybe_text(id.as_deref().map(str::as_bytes));
            out.maybe(*offset);
            out.number(*size);
        }
    }

    pub(super) fn read(input: &mut Read<'_>) -> Option<Self> {
        Some(FileRecord {
            container: input.maybe(Read::string)?,
            objects: input.list(ObjectRecord::read_bytes)?,
            others: input.list(|input| {
                Some((input.maybe(Read::string)?, input.maybe(Read::number)?, input.number()?))
            })?,
        })
    }
}

impl ObjectRecord {
    fn write(&self, out: &mut Vec<u8>) {
        out.number(self.number as u64);
        out.maybe_text(self.entry_id.as_deref().map(str::as_bytes));
        let member = self.member.as_ref();
        out.maybe_text(member.map(|(path, _)| path.as_bytes()));
        out.maybe_text(member.map(|(_, container)| container.as_bytes()));
        out.maybe(self.offset);
        out.number(self.size);
        out.maybe_text(self.target.as_deref().map(str::as_bytes));
        out.push(self.generic_version);
        out.text(self.kind.as_bytes());
        out.text(self.version.as_bytes());
        out.maybe(self.abi_version.map(u64::from));
        out.maybe(self.code_object_version.map(u64::from));
        out.number(self.kernels.len() as u64);
        self.kernels.iter().for_each(|it| it.write(out));
        for symbols in [&self.functions, &self.variables, &self.lds_variables, &self.externals] {
            out.number(symbols.len() as u64);
            symbols.iter().for_each(|it| it.write(out));
        }
    }

    fn read_bytes(input: &mut Read<'_>) -> Option<Self> {
        let small = |value: Option<u64>| match value {
            Some(value) => u8::try_from(value).ok().map(Some),
            None => Some(None),
        };
        Some(ObjectRecord {
            number: input.size()?,
            entry_id: input.maybe(Read::string)?,
            member: input.maybe(Read::string)?.zip(input.maybe(Read::string)?),
            offset: input.maybe(Read::number)?,
            size: input.number()?,
            target: input.maybe(Read::string)?,
            generic_version: input.byte()?,
            kind: input.string()?,
            version: input.string()?,
            abi_version: small(input.maybe(Read::number)?)?,
            code_object_version: small(input.maybe(Read::number)?)?,
            kernels: input.list(KernelRecord::read)?,
            functions: input.list(SymbolRecord::read)?,
            variables: input.list(SymbolRecord::read)?,
            lds_variables: input.list(SymbolRecord::read)?,
            externals: input.list(SymbolRecord::read)?,
        })
    }
}

impl KernelRecord {
    fn write(&self, out: &mut Vec<u8>) {
        out.text(&self.name);
        out.maybe_text(self.symbol.as_deref());
        let it = &self.resources;
        let numbers = [
            [self.descriptor, self.entry, self.code_size, it.vgprs],
            [it.agprs, it.sgprs, it.lds, it.scratch],
        ];
        let rest = [it.kernarg_size, it.wavefront_size, it.max_workgroup_size];
        numbers.iter().flatten().chain(&rest).for_each(|it| out.maybe(*it));
    }

    fn read(input: &mut Read<'_>) -> Option<Self> {
        let name = input.text()?;
        let symbol = input.maybe(Read::text)?;
        let mut number = || input.maybe(Read::number);
        let (descriptor, entry, code_size) = (number()?, number()?, number()?);
        let mut resources = Resources::default();
        for field in [
            &mut resources.vgprs,
            &mut resources.agprs,
            &mut resources.sgprs,
            &mut resources.lds,
            &mut resources.scratch,
            &mut resources.kernarg_size,
            &mut resources.wavefront_size,
            &mut resources.max_workgroup_size,
        ] {
            *field = number()?;
        }
        Some(KernelRecord { name, symbol, descriptor, entry, code_size, resources })
    }
}

impl SymbolRecord {
    fn write(&self, out: &mut Vec<u8>) {
        out.text(&self.name);
        out.number(self.address);
        out.number(self.size);
    }

    fn read(input: &mut Read<'_>) -> Option<Self> {
        Some(SymbolRecord { name: input.text()?, address: input.number()?, size: input.number()? })
    }
}
