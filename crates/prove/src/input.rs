//! What kernels are launched with: what the caller gives, or what seeds make of the layout of the arguments.
#![allow(clippy::cast_possible_truncation, reason = "random numbers are cut")]

use hsaco_emu::LoadedKernel;
use hsaco_kernarg::{Float, Launch, ValueType};
use hsaco_object::metadata::KernelMetadata;

/// What one argument is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Its bytes.
    Value(Vec<u8>),
    /// The address of a buffer, which has this content.
    Buffer(Vec<u8>),
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Input {
    /// How to name it in reports: `seed 3`.
    pub label: String,
    /// The grid.
    pub launch: Launch,
    /// Workgroups of a cluster in each dimension.
    pub cluster: [u32; 3],
    /// A value for each of the explicit arguments.
    pub arguments: Vec<Given>,
}

/// Bytes of a buffer.
const BUFFER: usize = 1 << 20;
/// LDS beside what kernels declare, every other time.
const DYNAMIC_LDS: u32 = 8192;

/// Numbers that look random and are the same every time.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.next() % end.max(1)
    }

    fn pick<T: Copy>(&mut self, all: &[T], other: T) -> T {
        let at = self.below(u32::try_from(all.len()).unwrap_or(u32::MAX));
        all.get(at as usize).copied().unwrap_or(other)
    }

    /// Any bits; now and then what is special as a float.
    fn bits(&mut self) -> u32 {
        const SPECIAL: [u32; 8] =
            [0, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000, 0x7f80_0001];
        let sign = self.next() & 0x8000_0000;
        match self.below(8) {
            0 => self.pick(&SPECIAL, 0) | sign,
            // As numbers that small formats have.
            1..4 => self.next() & 0x007f_ffff | (106 + self.below(40)) << 23 | sign,
            _ => self.next(),
        }
    }

    /// Between -2 and 2.
    fn float(&mut self) -> f32 {
        (self.next() >> 8) as f32 / (1 << 22) as f32 - 2.0
    }
}

/// What is in buffers: kernels may take it for numbers or for places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Floats,
    Small,
    Bits,
    Whole,
}

impl Input {
    /// A launch that a seed chooses; none where no grid fits the kernel.
    ///
    /// The first seeds are what most kernels are written for: a count of as many elements as there are work-items,
    /// then one that is a little smaller.
    pub(crate) fn generate(
        kernel: &LoadedKernel,
        metadata: Option<&KernelMetadata<'_>>,
        seed: u64,
    ) -> Option<Self> {
        let mut random = Random::new(seed);
        let launch = launch(metadata, seed, &mut random)?;
        let items: u32 = launch.work_items().iter().product();
        let count = match seed {
            0 => Some(items),
            1 => Some(items.saturating_sub(3)),
            _ => None,
        };
        let content = match seed % 4 {
            0 => Content::Whole,
            1 => Content::Floats,
            2 => Content::Small,
            _ => Content::Bits,
        };
        let mut values = Values { random, count, seed };
        let arguments = kernel.layout.parameters().iter().map(|slot| match &slot.ty {
            ValueType::Pointer { size: 8 } => Given::Buffer(values.buffer(content)),
            ty => Given::Value(values.bytes(ty)),
        });
        let arguments = arguments.collect();
        Some(Self { label: format!("seed {seed}"), launch, cluster: [1; 3], arguments })
    }
}

/// A small grid: some workgroups of a size that the kernel allows.
fn launch(metadata: Option<&KernelMetadata<'_>>, seed: u64, random: &mut Random) -> Option<Launch> {
    let most = metadata.and_then(|it| it.max_flat_workgroup_size).unwrap_or(256).clamp(1, 1024);
    let most = u32::try_from(most).unwrap_or(1024);
    let required = metadata.and_then(|it| it.reqd_workgroup_size);
    let workgroup: Vec<u32> = match required {
        Some(sizes) => sizes.iter().map(|it| u32::try_from(*it).unwrap_or(1).max(1)).collect(),
        None if seed % 5 == 4 && most >= 64 => vec![8, most.min(128) / 8],
        None => {
            let sizes: Vec<u32> = [64, 32, 128, 256].into_iter().filter(|it| *it <= most).collect();
            vec![if seed < 2 { most.min(64) } else { random.pick(&sizes, most) }]
        }
    };
    let groups = if seed < 2 { 2 } else { 1 + random.below(3) };
    let counts: Vec<u32> =
        workgroup.iter().enumerate().map(|(at, _)| if at == 0 { groups } else { 1 }).collect();
    let launch = Launch::of_workgroups(&counts, &workgroup).ok()?;
    Some(if seed.is_multiple_of(2) { launch } else { launch.with_dynamic_lds(DYNAMIC_LDS) })
}

/// Values for the arguments of one launch.
struct Values {
    random: Random,
    count: Option<u32>,
    seed: u64,
}

impl Values {
    /// A number that makes loops run and stays inside buffers.
    fn integer(&mut self) -> u32 {
        if let Some(count) = self.count {
            return count;
        }
        match self.random.below(8) {
            0 => 0,
            1 | 2 => 1 << self.random.below(10),
            3 => self.random.below(8),
            _ => 1 + self.random.below(1024),
        }
    }

    fn bytes(&mut self, ty: &ValueType) -> Vec<u8> {
        let mut bytes = match ty {
            ValueType::Bool => vec![(self.random.next() & 1) as u8],
            ValueType::Float(Float::F16 | Float::Bf16) => vec![0, 0x3c],
            ValueType::Float(Float::F64) => f64::from(self.random.float()).to_le_bytes().to_vec(),
            ValueType::Float(_) => self.random.float().to_le_bytes().to_vec(),
            ValueType::Array { of, count, .. } => {
                (0..*count).flat_map(|_| self.bytes(of)).collect()
            }
            // What is not known is a float in every third launch.
            ValueType::Opaque { size: 4 } if self.seed % 3 == 2 => {
                self.random.float().to_le_bytes().to_vec()
            }
            ValueType::Opaque { size: 8 } if self.seed % 6 == 5 => {
                f64::from(self.random.float()).to_le_bytes().to_vec()
            }
            ty => {
                let words = if ty.size() == 8 { 1 } else { ty.size().div_ceil(4) };
                (0..words).flat_map(|_| self.integer().to_le_bytes()).collect()
            }
        };
        bytes.resize(ty.size() as usize, 0);
        bytes
    }

    fn buffer(&mut self, content: Content) -> Vec<u8> {
        let random = &mut self.random;
        let word = |_| match content {
            Content::Floats => random.float().to_bits(),
            Content::Whole => (random.below(17) as f32 - 8.0).to_bits(),
            Content::Small => random.below(64),
            Content::Bits => random.bits(),
        };
        (0..BUFFER / 4).map(word).flat_map(u32::to_le_bytes).collect()
    }
}
