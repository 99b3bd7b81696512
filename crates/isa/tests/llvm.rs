//! The tables against LLVM 22: what its tools write, print, accept and refuse.
//!
//! Skipped with a message where the tools are missing, except under `CI`.
// Helpers of tests may panic like the tests themselves.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hsaco_isa::target::{
    AbiVersion, AccVgprs, EFlags, Feature, FlatScratch, MergeConflict, Setting,
};
use hsaco_isa::{Processor, TargetId};

const ELFOSABI_AMDGPU_HSA: u8 = 64;

/// A directory of its own, and the tools that one test needs.
struct Lab(PathBuf);

impl Lab {
    fn open(name: &str, tools: &[&str]) -> Option<Self> {
        let is_missing = |tool: &&&str| {
            let null = Stdio::null;
            let status = Command::new(tool).arg("--version").stdout(null()).stderr(null()).status();
            !status.is_ok_and(|status| status.success())
        };
        if let Some(tool) = tools.iter().find(is_missing) {
            assert!(std::env::var_os("CI").is_none(), "{tool} is missing");
            println!("{name} skipped: {tool} is missing");
            return None;
        }
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("isa-{name}"));
        fs::create_dir_all(&dir).unwrap();
        Some(Self(dir))
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn run(&self, tool: &str, args: &[&str]) -> Output {
        Command::new(tool).args(args).current_dir(&self.0).output().unwrap()
    }

    fn succeed(&self, tool: &str, args: &[&str]) -> String {
        let output = self.run(tool, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tool} {args:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Assembles an empty file and gives the flags found in the object.
    fn assemble(&self, object: &str, triple: &str, cpu: &str, more: &[&str]) -> EFlags {
        let source = self.write("empty.s", "");
        let triple = format!("-triple={triple}");
        let cpu = format!("-mcpu={cpu}");
        let fixed = [&*triple, &cpu, "-filetype=obj", source.to_str().unwrap(), "-o", object];
        self.succeed("llvm-mc-22", &[&fixed[..], more].concat());
        self.flags(object)
    }

    fn flags(&self, object: &str) -> EFlags {
        let bytes = fs::read(self.0.join(object)).unwrap();
        let raw = u32::from_le_bytes(bytes[48..52].try_into().unwrap());
        let abi = AbiVersion::from_byte(bytes[8]);
        if bytes[7] == ELFOSABI_AMDGPU_HSA {
            EFlags::new(raw, abi)
        } else {
            EFlags::non_hsa(raw, abi)
        }
    }

    /// Compares our text with the `Flags:` line of each object.
    fn check_readelf(&self, objects: &[String]) {
        for objects in objects.chunks(500) {
            let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
            let printed = self.succeed("llvm-readelf-22", &[&["-h"], &objects[..]].concat());
            let printed: Vec<&str> =
                printed.lines().filter_map(|line| line.trim().strip_prefix("Flags:")).collect();
            assert_eq!(printed.len(), objects.len());
            for (object, printed) in objects.iter().zip(printed) {
                let flags = self.flags(object);
                let text = flags.readelf_text();
                let comma = if text.is_empty() { "" } else { ", " };
                assert_eq!(printed.trim(), format!("{:#x}{comma}{text}", flags.raw()), "{flags:?}");
            }
        }
    }
}

/// The target with each feature left alone, on and off, and the assembler's word for it.
fn variants(processor: Processor) -> Vec<(TargetId, Option<String>)> {
    let any = TargetId::new(processor);
    let mut variants = vec![(any, None)];
    for feature in Feature::ALL {
        if processor.default_setting(feature) == Setting::Unsupported {
            continue;
        }
        for (setting, sign) in [(Setting::On, '+'), (Setting::Off, '-')] {
            let target = match feature {
                Feature::Xnack => TargetId { xnack: setting, ..any },
                Feature::Sramecc => TargetId { sramecc: setting, ..any },
            };
            variants.push((target, Some(format!("-mattr={sign}{feature}"))));
        }
    }
    variants
}

#[test]
fn every_processor_on_every_system() {
    let Some(lab) = Lab::open("systems", &["llvm-mc-22", "llvm-readelf-22"]) else { return };
    let mut objects = Vec::new();
    for (system, triple) in [
        ("hsa", "amdgcn-amd-amdhsa"),
        ("pal", "amdgcn-amd-amdpal"),
        ("mesa", "amdgcn-mesa-mesa3d"),
        ("none", "amdgcn--"),
    ] {
        for processor in Processor::all() {
            for (i, (target, attribute)) in variants(processor).into_iter().enumerate() {
                let object = format!("{system}-{processor}-{i}.o");
                let attribute: Vec<&str> = attribute.iter().map(String::as_str).collect();
                let flags = lab.assemble(&object, triple, processor.name(), &attribute);
                if system == "hsa" {
                    let version = processor.generic_version();
                    assert_eq!(flags, EFlags::encode(target, AbiVersion::V6, version));
                    assert_eq!(flags.target_id(), Some(target));
                } else {
                    assert_eq!(flags, EFlags::encode_non_hsa(target), "{object}");
                    assert_eq!(flags.processor(), Some(processor));
                }
                if system == "hsa" || !processor.is_generic() {
                    assert_eq!(flags.faults().count(), 0, "{object}");
                }
                objects.push(object);
            }
        }
    }
    lab.check_readelf(&objects);
}

#[test]
fn aliases_name_the_same_processor() {
    let Some(lab) = Lab::open("aliases", &["llvm-mc-22"]) else { return };
    for processor in Processor::all() {
        for alias in processor.aliases() {
            let flags = lab.assemble("alias.o", "amdgcn-amd-amdhsa", alias, &[]);
            assert_eq!(flags.processor(), Some(processor), "{alias}");
        }
    }
}

#[test]
fn no_processor_is_missing() {
    let Some(lab) = Lab::open("list", &["llvm-mc-22"]) else { return };
    let output = Command::new("llvm-mc-22")
        .args(["-triple=amdgcn-amd-amdhsa", "-mcpu=help"])
        .current_dir(&lab.0)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let mut theirs: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with(" processor."))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| !matches!(*name, "generic" | "generic-hsa"))
        .collect();
    let mut ours: Vec<&str> =
        Processor::all().flat_map(|p| [&[p.name()], p.aliases()].concat()).collect();
    theirs.sort_unstable();
    ours.sort_unstable();
    assert_eq!(ours, theirs);
}

#[test]
fn every_code_object_version() {
    let Some(lab) = Lab::open("versions", &["llvm-mc-22", "llvm-readelf-22"]) else { return };
    let mut objects = Vec::new();
    for version in 4..=6 {
        let abi = AbiVersion::from_code_object_version(version).unwrap();
        let option = format!("--amdhsa-code-object-version={version}");
        for processor in Processor::all() {
            let object = format!("v{version}-{processor}.o");
            let flags = lab.assemble(&object, "amdgcn-amd-amdhsa", processor.name(), &[&option]);
            let generic_version = processor.generic_version();
            assert_eq!(flags, EFlags::encode(TargetId::new(processor), abi, generic_version));
            objects.push(object);
        }
    }
    lab.check_readelf(&objects);
}

#[test]
fn version_3_by_its_symbolic_names() {
    let Some(lab) = Lab::open("v3", &["yaml2obj-22", "llvm-readelf-22"]) else { return };
    let mut objects = Vec::new();
    for processor in Processor::all() {
        let name = processor.name().to_uppercase().replace('-', "_");
        for (i, (target, _)) in variants(processor).into_iter().enumerate() {
            let mut flags = format!("EF_AMDGPU_MACH_AMDGCN_{name}");
            for feature in Feature::ALL {
                if matches!(target.setting(feature), Setting::On | Setting::Any) {
                    let feature = feature.name().to_uppercase();
                    flags += &format!(", EF_AMDGPU_FEATURE_{feature}_V3");
                }
            }
            let yaml = format!(
                "--- !ELF\nFileHeader:\n  Class: ELFCLASS64\n  Data: ELFDATA2LSB\n  \
                 OSABI: ELFOSABI_AMDGPU_HSA\n  ABIVersion: 1\n  Type: ET_DYN\n  \
                 Machine: EM_AMDGPU\n  Flags: [ {flags} ]\n"
            );
            let object = format!("{processor}-{i}.o");
            lab.write("object.yaml", yaml);
            lab.succeed("yaml2obj-22", &["object.yaml", "-o", &object]);
            assert_eq!(lab.flags(&object), EFlags::encode(target, AbiVersion::V3, 0), "{object}");
            objects.push(object);
        }
    }
    lab.check_readelf(&objects);
}

/// A bare ELF header with that word in it.
fn header(os_abi: u8, abi: u8, flags: u32) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi]);
    header[16..24].copy_from_slice(&[3, 0, 224, 0, 1, 0, 0, 0]);
    header[48..52].copy_from_slice(&flags.to_le_bytes());
    header[52..56].copy_from_slice(&[64, 0, 0, 0]);
    header[58] = 64;
    header
}

#[test]
fn any_word_prints_alike() {
    let Some(lab) = Lab::open("words", &["llvm-readelf-22"]) else { return };
    let machs = 0..=0xff;
    let features = (0..16).map(|bits| bits << 8 | 0x4c);
    let odd = [0xff00_0041, 0x0100_054c, 0x0080_f54c, 0x1041, 0x1000, 0xffff_ffff, 0x0200_0f27];
    let words: Vec<u32> = machs.chain(features).chain(odd).collect();
    let mut objects = Vec::new();
    for os_abi in [0, ELFOSABI_AMDGPU_HSA, 65, 66] {
        for abi in 0..=6 {
            for flags in &words {
                let object = format!("{os_abi}-{abi}-{flags:x}");
                lab.write(&object, header(os_abi, abi, *flags));
                objects.push(object);
            }
        }
    }
    lab.check_readelf(&objects);
}

#[test]
fn lld_merges_alike() {
    let Some(lab) = Lab::open("merge", &["llvm-mc-22", "ld.lld-22"]) else { return };
    lab.assemble("base.o", "amdgcn-amd-amdhsa", "gfx942", &[]);
    let base = fs::read(lab.0.join("base.o")).unwrap();
    let words = [
        0x54c,
        0x74c,
        0x64c,
        0x44c,
        0x94c,
        0xd4c,
        0x14c,
        0xf4c,
        0xa4c,
        0x154c,
        0x54f,
        0x41,
        0x0100_0054,
        0x0200_0054,
        0x54,
        0x0100_0041,
        0,
        0x27,
    ];
    let abis = [(1, 1), (2, 2), (3, 3), (4, 4), (0, 0), (3, 4), (4, 3), (1, 4), (4, 1), (5, 5)];
    let mut verdicts = 0;
    for (first_abi, second_abi) in abis {
        // Every pair in the version that says most, a few in the others.
        let some = if (first_abi, second_abi) == (4, 4) { words.len() } else { 6 };
        for first in words.into_iter().take(some) {
            for second in words.iter().take(some) {
                let objects = [("1.o", first_abi, first), ("2.o", second_abi, *second)];
                let [a, b] = objects.map(|(name, abi, flags)| {
                    let mut bytes = base.clone();
                    bytes[8] = abi;
                    bytes[48..52].copy_from_slice(&u32::to_le_bytes(flags));
                    lab.write(name, bytes);
                    lab.flags(name)
                });
                let output = lab.run("ld.lld-22", &["-shared", "1.o", "2.o", "-o", "out"]);
                let errors = String::from_utf8(output.stderr).unwrap();
                match a.merge(b) {
                    Ok(merged) => {
                        assert_eq!(errors, "", "{a:?} {b:?}");
                        assert_eq!(lab.flags("out"), merged, "{a:?} {b:?}");
                    }
                    Err(conflict) => {
                        let expected = match conflict {
                            MergeConflict::UnknownAbi { .. } => "unknown abi version".to_owned(),
                            MergeConflict::Abi { .. } => "incompatible ABI version".to_owned(),
                            MergeConflict::Flags { .. } => "incompatible e_flags".to_owned(),
                            MergeConflict::Mach { .. } => "incompatible mach".to_owned(),
                            MergeConflict::GenericVersion { .. } => {
                                "incompatible generic version".to_owned()
                            }
                            MergeConflict::Feature { feature, .. } => {
                                format!("incompatible {feature}")
                            }
                            other => panic!("{other:?}"),
                        };
                        assert!(errors.contains(&expected), "{a:?} {b:?}: {errors} / {conflict}");
                    }
                }
                verdicts += 1;
            }
        }
    }
    assert!(verdicts > 600);
}

#[test]
fn clang_takes_the_same_target_ids() {
    let Some(lab) = Lab::open("ids", &["clang-22"]) else { return };
    lab.write("empty.c", "");
    let mut ids: Vec<String> = [
        "gfx942:xnack+:sramecc-",
        "gfx90a:xnack+:xnack+",
        "gfx90a:xnack+:xnack-",
        "gfx90a:xnack",
        "gfx90a:sram-ecc+",
        "gfx90a:foo+",
        "gfx90a:+",
        "GFX90A",
        "gfx943",
        "stoney:xnack-",
    ]
    .map(str::to_owned)
    .into();
    for processor in Processor::all() {
        ids.extend(Feature::ALL.map(|feature| format!("{processor}:{feature}+")));
    }
    for id in ids {
        let cpu = format!("-mcpu={id}");
        let fixed = ["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-###", "-c", "empty.c"];
        let output = lab.run("clang-22", &[&fixed[..], &[&cpu]].concat());
        let is_refused = String::from_utf8_lossy(&output.stderr).contains("invalid target ID");
        assert_eq!(id.parse::<TargetId>().is_err(), is_refused, "{id}");
    }
}

#[test]
fn llc_allots_the_same_registers_and_memory() {
    let Some(lab) = Lab::open("limits", &["llc-22"]) else { return };
    let counts = [1, 5, 24, 25, 33, 48, 52, 64, 65, 72, 84, 97, 100, 128, 129, 168, 192, 255];
    let mut module = String::new();
    for count in counts {
        module += &format!(
            "define amdgpu_kernel void @k{count}() \"amdgpu-flat-work-group-size\"=\"1,32\" {{ \
             call void asm sideeffect \"\", \"~{{v{}}}\"() ret void }}\n",
            count - 1
        );
    }
    lab.write("registers.ll", module);
    for processor in Processor::all() {
        let limits = processor.limits();
        // A fixed number of SGPRs for every wave is what counts there.
        let by_sgprs = limits.sgpr_file.map_or(u32::MAX, |file| file / limits.max_sgprs);
        let most = if limits.max_sgprs == 96 { by_sgprs } else { u32::MAX };
        let cpu = format!("-mcpu={processor}");
        for wave in processor.wave_sizes() {
            let size = format!("-mattr=+wavefrontsize{}", wave.lanes());
            let args = ["-mtriple=amdgcn-amd-amdhsa", &cpu, &size, "registers.ll", "-o", "-"];
            let assembly = lab.succeed("llc-22", &args);
            let theirs: Vec<u32> = assembly
                .lines()
                .filter_map(|line| line.strip_prefix("; Occupancy: ")?.parse().ok())
                .collect();
            let ours: Vec<u32> = counts
                .iter()
                .map(|count| limits.waves_with_vgprs(wave, *count).unwrap().min(most))
                .collect();
            assert_eq!(ours, theirs, "{processor} {wave:?}");
        }
        for (bytes, fits) in [(limits.lds_bytes, true), (limits.lds_bytes + 4, false)] {
            lab.write(
                "lds.ll",
                format!(
                    "@lds = internal addrspace(3) global [{bytes} x i8] poison, align 4\n\
                     define amdgpu_kernel void @k() {{ \
                     store volatile i8 0, ptr addrspace(3) @lds ret void }}\n"
                ),
            );
            let args = ["-mtriple=amdgcn-amd-amdhsa", &cpu, "lds.ll", "-o", "lds.s"];
            assert_eq!(lab.run("llc-22", &args).status.success(), fits, "{processor} {bytes}");
        }
    }
}

/// A kernel descriptor with that many vector registers and one more directive.
fn descriptor(processor: Processor, vgprs: u32, directive: &str) -> String {
    let is_unified = processor.limits().acc_vgprs == AccVgprs::Unified;
    let accum_offset = if is_unified { ".amdhsa_accum_offset 4" } else { "" };
    format!(
        ".amdhsa_kernel k{vgprs}\n.amdhsa_next_free_vgpr {vgprs}\n.amdhsa_next_free_sgpr 1\n\
         {accum_offset}\n{directive}\n.end_amdhsa_kernel\n"
    )
}

#[test]
fn descriptors_count_registers_alike() {
    let Some(lab) = Lab::open("granules", &["llvm-mc-22", "llvm-objcopy-22"]) else { return };
    let counts = [1, 4, 5, 8, 9, 16, 17, 24, 33, 64, 128, 256];
    for processor in Processor::all() {
        for wave in processor.wave_sizes() {
            let has_choice = processor.limits().wave32.is_some();
            let size = format!(".amdhsa_wavefront_size32 {}", u32::from(wave.lanes() == 32));
            let size = if has_choice { &*size } else { "" };
            lab.write("k.s", counts.map(|count| descriptor(processor, count, size)).concat());
            let cpu = format!("-mcpu={processor}");
            let args = ["-triple=amdgcn-amd-amdhsa", &cpu, "-filetype=obj", "k.s", "-o", "k.o"];
            lab.succeed("llvm-mc-22", &args);
            let args = ["-O", "binary", "--only-section=.text", "k.o", "k.bin"];
            lab.succeed("llvm-objcopy-22", &args);
            let descriptors = fs::read(lab.0.join("k.bin")).unwrap();
            // The low six bits of compute_pgm_rsrc1.
            let theirs: Vec<u32> =
                descriptors.chunks(64).map(|bytes| u32::from(bytes[48] & 0x3f)).collect();
            let granule = processor.limits().vgprs(wave).unwrap().encoding_granule;
            assert_eq!(theirs, counts.map(|count| count.div_ceil(granule) - 1), "{processor}");
        }
    }
}

#[test]
fn descriptors_have_the_same_fields() {
    let Some(lab) = Lab::open("fields", &["llvm-mc-22"]) else { return };
    for processor in Processor::all() {
        let limits = processor.limits();
        let is_architected = limits.flat_scratch == FlatScratch::Architected;
        for (directive, is_taken) in [
            (".amdhsa_tg_split 1", limits.tgsplit),
            (".amdhsa_user_sgpr_kernarg_preload_length 1", limits.kernarg_preload),
            (".amdhsa_workgroup_processor_mode 1", limits.wgp_mode),
            (".amdhsa_wavefront_size32 1", limits.wave32.is_some()),
            (".amdhsa_enable_private_segment 1", is_architected),
        ] {
            lab.write("k.s", descriptor(processor, 1, directive));
            let cpu = format!("-mcpu={processor}");
            let args = ["-triple=amdgcn-amd-amdhsa", &cpu, "-filetype=obj", "k.s", "-o", "k.o"];
            let is_ok = lab.run("llvm-mc-22", &args).status.success();
            assert_eq!(is_ok, is_taken, "{processor} {directive}");
        }
    }
}
