//! `grid-limit`: grids that packets cannot say, or that the kernel is not compiled for.

use crate::facts::KernelFacts;
use crate::finding::Findings;
use crate::question::Question;

/// Work-items in one dimension, as a dispatch packet counts them.
const MAX_SIZE: u64 = u32::MAX as u64;
const AXES: [&str; 3] = ["x", "y", "z"];

pub(super) fn check(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    check_clusters(facts, question, findings);
    let launch = question.launch;
    let Some(groups) = launch.grid else { return };
    let sizes = launch.workgroup.unwrap_or([1; 3]);
    let items: Vec<u64> = groups
        .iter()
        .zip(sizes)
        .map(|(&groups, size)| u64::from(groups) * u64::from(size))
        .collect();
    for ((axis, items), (groups, size)) in AXES.iter().zip(&items).zip(groups.iter().zip(sizes)) {
        if *groups == 0 {
            let message = format!("launched with {groups} workgroups in {axis}: nothing to run");
            findings.error(
                facts.absent_field("grid_size"),
                message,
                "use 1 for dimensions that are not used",
            );
        } else if *items > MAX_SIZE {
            let message = format!(
                "launched with {groups} workgroups of {size} in {axis}, {items} work-items, and a \
                 packet counts {MAX_SIZE} at most"
            );
            findings.error(
                facts.absent_field("grid_size"),
                message,
                "launch several grids, or use another dimension",
            );
        }
    }
    let all = items.iter().fold(1_u64, |all, items| all.saturating_mul(*items));
    if all > MAX_SIZE && items.iter().all(|items| *items <= MAX_SIZE) {
        let message = format!(
            "launched with {all} work-items in all, and agents announce {MAX_SIZE} at most"
        );
        findings.warning(facts.absent_field("grid_size"), message, "launch several grids");
    }
    check_declared(facts, groups, findings);
}

/// What the kernel was compiled for.
fn check_declared(facts: &KernelFacts<'_, '_>, groups: [u32; 3], findings: &mut Findings) {
    let Some(said) = facts.said() else { return };
    let most = [
        (".max_num_workgroups_x", said.max_num_work_groups_x),
        (".max_num_workgroups_y", said.max_num_work_groups_y),
        (".max_num_workgroups_z", said.max_num_work_groups_z),
    ];
    for (axis, (groups, (key, most))) in AXES.iter().zip(groups.iter().zip(most)) {
        if let Some(most) = most.filter(|most| u64::from(*groups) > *most) {
            let message = format!(
                "launched with {groups} workgroups in {axis}, and compiled for {most} at most"
            );
            findings.error(
                facts.metadata_field(key),
                message,
                "launch fewer, or compile without amdgpu_max_num_work_groups",
            );
        }
    }
    let Some(cluster) = said.cluster_dims.filter(|dims| dims.iter().all(|dim| *dim > 0)) else {
        return;
    };
    for (axis, (groups, cluster)) in AXES.iter().zip(groups.iter().zip(cluster)) {
        if !u64::from(*groups).is_multiple_of(cluster) {
            let message = format!(
                "launched with {groups} workgroups in {axis}, and clusters have {cluster}: that \
                 does not divide"
            );
            findings.error(facts.metadata_field(".cluster_dims"), message, "launch whole clusters");
        }
    }
}

/// Clusters are for devices that have them.
fn check_clusters(facts: &KernelFacts<'_, '_>, question: &Question<'_>, findings: &mut Findings) {
    let clustered = facts
        .said()
        .and_then(|it| it.cluster_dims)
        .is_some_and(|dims| dims.iter().any(|dim| *dim > 1));
    if let Some(device) = question.device.filter(|device| clustered && !device.limits.clusters) {
        let message = format!("wants clusters of workgroups, and {} has none", device.name);
        findings.warning(
            facts.metadata_field(".cluster_dims"),
            message,
            "compile it for this processor",
        );
    }
}
