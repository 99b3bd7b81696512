//! HIP programs and ROCm's libraries, built by Debian's hipcc and run unmodified.

use hsaco_tests::rocm::{Client, HIP, LIBRARIES, build_modules};
use hsaco_tests::scratch_dir;

use super::{exec, said};

/// Devices that HIP 5.2 knows: one of each wave size.
const DEVICES: [&str; 2] = ["gfx90a", "gfx1030"];

fn check(client: &Client, devices: &[&str]) {
    let folder = scratch_dir();
    let program = client.build(devices, folder.path()).unwrap();
    if client.name == "module" {
        build_modules(devices, folder.path()).unwrap();
    }
    for device in devices {
        let arguments = client.arguments(folder.path(), device);
        let output = exec(&["--device", device], &program, &arguments);
        assert_eq!(said(&output), client.line(), "{device}");
    }
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(#[test]
        #[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
        fn $name() {
            check(Client::named(stringify!($name)).unwrap(), &DEVICES);
        })*

        #[test]
        fn every_program_is_tested() {
            let tested = [$(stringify!($name)),*];
            let all: Vec<_> = HIP.iter().map(|it| it.name).collect();
            assert_eq!(tested.as_slice(), all);
        }
    };
}

programs! {
    vector_add reduction streams copies memory globals module cooperative printf assert graph fault threads
}

#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn rocm_libraries_give_the_hosts_numbers() {
    // The cheap ones; `cargo xtask rocm` runs all of them on both devices.
    for client in LIBRARIES.iter().filter(|it| it.name == "rocsparse") {
        check(client, &["gfx90a"]);
    }
    let rocrand = Client::named("rocrand").unwrap();
    let folder = scratch_dir();
    let program = rocrand.build(&["gfx90a"], folder.path()).unwrap();
    for generator in ["sobol32", "sobol64"] {
        let output = exec(&["--device", "gfx90a"], &program, &[generator]);
        assert_eq!(
            said(&output),
            "rocrand: 1 generators of version 201009 give the host's numbers\n"
        );
    }
}
