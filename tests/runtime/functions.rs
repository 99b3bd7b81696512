//! Device functions are symbols of an executable, and kernels of other objects call them by address.

use hsaco_tests::rocm::{build_hsa_client, build_objects};
use hsaco_tests::scratch_dir;

use super::{exec, said};

/// One of each family, and one that no HIP of Debian knows.
const DEVICES: [&str; 6] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn a_kernel_calls_the_functions_of_another_object() {
    let folder = scratch_dir();
    let program = build_hsa_client("functions", folder.path()).unwrap();
    for device in DEVICES {
        let objects = build_objects(device, folder.path()).unwrap();
        let output = exec(&["--device", device], &program, &objects);
        assert_eq!(
            said(&output),
            format!("functions: 3 functions of another object on 200 values on {device}\n")
        );
    }
}
