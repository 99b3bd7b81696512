//! Any bytes as a file to check: by every rule, as it is and as it is launched on a device; findings name what they are about.
#![no_main]

use hsaco_check::{Checker, Device, LaunchFacts, Severity};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let device: Device = "gfx942:xnack-".parse().unwrap();
    let launch = LaunchFacts { workgroup: Some([256, 2, 1]), grid: Some([7, 1, 1]), dynamic_lds: 4096 };
    let own = Checker::new().with_code().file(data, None, &LaunchFacts::default());
    let some = Checker::new().kernel("foo").budget("vgprs <= 4".parse().unwrap(), |_| true);
    for report in [own, some.file(data, Some(&device), &launch)] {
        assert_eq!(report.passes(), report.worst() < Some(Severity::Error));
        for finding in &report.findings {
            let subject = &finding.subject;
            assert!(subject.field.is_some() || subject.kernel.is_some(), "{finding}");
            assert!(!finding.to_string().is_empty());
        }
    }
});
