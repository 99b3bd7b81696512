//! What a kernel's map says.

use hsaco_bytes::{Result, Str};

use crate::msgpack::{Array, Entry};

use super::argument::Argument;
use super::key::Shape::{Any, Arguments, Boolean, Integer, Integers, Text, Word};
use super::key::{Table, keys};
use super::read::{array, cluster_dims, flag, integer, integers, into, string};

/// The keys of one kernel map. `None` is "not said", never zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KernelMetadata<'a> {
    /// `.name`.
    pub name: Option<Str<'a>>,
    /// `.symbol`.
    pub symbol: Option<Str<'a>>,
    /// `.language`.
    pub language: Option<Str<'a>>,
    /// `.language_version`.
    pub language_version: Option<[u64; 2]>,
    /// `.kind`: normal, init or fini.
    pub kind: Option<Str<'a>>,
    /// `.vec_type_hint`.
    pub vec_type_hint: Option<Str<'a>>,
    /// `.device_enqueue_symbol`.
    pub device_enqueue_symbol: Option<Str<'a>>,
    /// `.kernarg_segment_size`.
    pub kernarg_segment_size: Option<u64>,
    /// `.kernarg_segment_align`.
    pub kernarg_segment_align: Option<u64>,
    /// `.group_segment_fixed_size`: static LDS.
    pub group_segment_fixed_size: Option<u64>,
    /// `.private_segment_fixed_size`: scratch of one work-item.
    pub private_segment_fixed_size: Option<u64>,
    /// `.wavefront_size`.
    pub wavefront_size: Option<u64>,
    /// `.sgpr_count`.
    pub sgpr_count: Option<u64>,
    /// `.vgpr_count`: on gfx90a and later CDNA, AGPRs included.
    pub vgpr_count: Option<u64>,
    /// `.agpr_count`.
    pub agpr_count: Option<u64>,
    /// `.sgpr_spill_count`.
    pub sgpr_spill_count: Option<u64>,
    /// `.vgpr_spill_count`.
    pub vgpr_spill_count: Option<u64>,
    /// `.max_flat_workgroup_size`.
    pub max_flat_workgroup_size: Option<u64>,
    /// `.reqd_workgroup_size`.
    pub reqd_workgroup_size: Option<[u64; 3]>,
    /// `.workgroup_size_hint`.
    pub workgroup_size_hint: Option<[u64; 3]>,
    /// `.max_num_workgroups_x` as compilers write it, `.max_num_work_groups_x` as it is documented.
    pub max_num_work_groups_x: Option<u64>,
    /// `.max_num_workgroups_y` as compilers write it, `.max_num_work_groups_y` as it is documented.
    pub max_num_work_groups_y: Option<u64>,
    /// `.max_num_workgroups_z` as compilers write it, `.max_num_work_groups_z` as it is documented.
    pub max_num_work_groups_z: Option<u64>,
    /// `.cluster_dims`.
    pub cluster_dims: Option<[u64; 3]>,
    /// `.uses_dynamic_stack`.
    pub uses_dynamic_stack: Option<bool>,
    /// `.workgroup_processor_mode`.
    pub workgroup_processor_mode: Option<bool>,
    /// `.uniform_work_group_size`.
    pub uniform_work_group_size: Option<bool>,
    /// Keys this crate has no name for, kept as they stand.
    pub unknown: Vec<Entry<'a>>,
    arguments: Option<Array<'a>>,
}

type Read = for<'a> fn(&mut KernelMetadata<'a>, &Entry<'a>) -> Result<()>;

const LANGUAGES: &[&str] = &["OpenCL C", "OpenCL C++", "HCC", "HIP", "OpenMP", "Assembler"];

/// Some keys have two spellings: as compilers write them, and as they are documented.
#[rustfmt::skip]
pub(super) static KEYS: &Table<Read> = &keys! {
    MAY  ".agpr_count"                 Any,             into!(agpr_count integer);
    MAY  ".args"                       Arguments,       into!(arguments array);
    MAY  ".cluster_dims"               Integers(3),     into!(cluster_dims cluster_dims);
    MAY  ".device_enqueue_symbol"      Text,            into!(device_enqueue_symbol string);
    MUST ".group_segment_fixed_size"   Integer,         into!(group_segment_fixed_size integer);
    MUST ".kernarg_segment_align"      Integer,         into!(kernarg_segment_align integer);
    MUST ".kernarg_segment_size"       Integer,         into!(kernarg_segment_size integer);
    MAY  ".kind"                       Any,             into!(kind string);
    MAY  ".language"                   Word(LANGUAGES), into!(language string);
    MAY  ".language_version"           Integers(2),     into!(language_version integers);
    MUST ".max_flat_workgroup_size"    Integer,         into!(max_flat_workgroup_size integer);
    MAY  ".max_num_work_groups_x"      Any,             into!(max_num_work_groups_x integer);
    MAY  ".max_num_work_groups_y"      Any,             into!(max_num_work_groups_y integer);
    MAY  ".max_num_work_groups_z"      Any,             into!(max_num_work_groups_z integer);
    MAY  ".max_num_workgroups_x"       Any,             into!(max_num_work_groups_x integer);
    MAY  ".max_num_workgroups_y"       Any,             into!(max_num_work_groups_y integer);
    MAY  ".max_num_workgroups_z"       Any,             into!(max_num_work_groups_z integer);
    MUST ".name"                       Text,            into!(name string);
    MUST ".private_segment_fixed_size" Integer,         into!(private_segment_fixed_size integer);
    MAY  ".reqd_workgroup_size"        Integers(3),     into!(reqd_workgroup_size integers);
    MUST ".sgpr_count"                 Integer,         into!(sgpr_count integer);
    MAY  ".sgpr_spill_count"           Integer,         into!(sgpr_spill_count integer);
    MUST ".symbol"                     Text,            into!(symbol string);
    MAY  ".uniform_work_group_size"    Integer,         into!(uniform_work_group_size flag);
    MAY  ".uses_dynamic_stack"         Boolean,         into!(uses_dynamic_stack flag);
    MAY  ".vec_type_hint"              Text,            into!(vec_type_hint string);
    MUST ".vgpr_count"                 Integer,         into!(vgpr_count integer);
    MAY  ".vgpr_spill_count"           Integer,         into!(vgpr_spill_count integer);
    MUST ".wavefront_size"             Integer,         into!(wavefront_size integer);
    MAY  ".workgroup_processor_mode"   Integer,         into!(workgroup_processor_mode flag);
    MAY  ".workgroup_size_hint"        Integers(3),     into!(workgroup_size_hint integers);
};

impl<'a> KernelMetadata<'a> {
    /// `.args`, or `None` when the kernel does not say.
    pub fn arguments(&self) -> Option<impl Iterator<Item = Result<Argument<'a>>> + use<'a>> {
        let (mut reader, mut left) = self.arguments?.items();
        Some(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let start = reader;
            let argument = Argument::read(&mut reader);
            // What one argument breaks is not the next one's fault.
            if argument.is_err() {
                reader = start;
                left = reader.skip().map_or(0, |()| left);
            }
            Some(argument)
        }))
    }
}
