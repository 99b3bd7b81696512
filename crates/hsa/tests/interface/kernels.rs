//! Kernels through the interface: results, errors of queues, barriers, handlers, locked memory, linked objects.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI64, AtomicU64};

use crate::support::*;
use crate::{hsa, hsa64};

/// The runtime with gfx942, gfx1100 and gfx1250; initialized once for all tests of the process.
pub fn setup() -> Vec<u64> {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: no other thread reads the environment yet: all tests begin here.
        unsafe { std::env::set_var("HSACO_DEVICES", "gfx942,gfx1100,gfx1250") };
        assert_eq!(hsa!(hsa_init()), SUCCESS);
    });
    agents()
}

/// Bytes that a kernel may write, and arguments that name them.
fn arguments(agents: &[u64], words: &[u64]) -> *mut u8 {
    let kernarg = allocate(pools(agents[0])[1], 4096);
    // SAFETY: the memory was allocated just now.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), kernarg.cast(), words.len()) };
    kernarg
}

fn packed(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[test]
fn saxpy_computes_on_two_targets() {
    let agents = setup();
    for (agent, object) in [(agents[1], "run.gfx942.co"), (agents[2], "run.gfx1100.co")] {
        let executable = load(agent, &fixture(object));
        let kernel = about(find(executable, agent, "saxpy.kd"), KERNEL_OBJECT);
        let count = 1000_u32;
        let [x, y] = [0; 2].map(|_| allocate(pools(agent)[0], 4000).cast::<f32>());
        for i in 0..count as usize {
            // SAFETY: both have room for so many.
            unsafe { (*x.add(i), *y.add(i)) = (i as f32, 1.0) };
        }
        let kernarg = arguments(&agents, &[y as u64, x as u64, packed(2.0_f32.to_bits(), count)]);
        let done = signal(1);
        let queue = queue(agent, 64);
        submit(queue, &Launch::new(kernel, kernarg as u64, 1024, 64, done).bytes());
        wait(done);
        // SAFETY: as above.
        let results = unsafe { std::slice::from_raw_parts(y, count as usize) };
        assert!(results.iter().enumerate().all(|(i, it)| *it == 2.0 * i as f32 + 1.0), "{object}");
        let mut times = [0_u64; 2];
        let asked = hsa!(hsa_amd_profiling_get_dispatch_time(agent, done, &raw mut times));
        assert_eq!(asked, SUCCESS);
        assert!(times[0] > 0 && times[0] <= times[1]);
        assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
        assert_eq!(hsa!(hsa_executable_destroy(executable)), SUCCESS);
    }
}

/// Runs a kernel that fails: the status that the queue's callback gets. The process goes on.
fn status_of(kernel: &str, words: &[u64]) -> u32 {
    let agents = setup();
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let object = about(find(executable, agents[1], &format!("{kernel}.kd")), KERNEL_OBJECT);
    let kernarg = arguments(&agents, words);
    static SERIAL: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _serial = SERIAL.lock();
    LAST_ERROR.store(0, SeqCst);
    let queue = queue(agents[1], 64);
    submit(queue, &Launch::new(object, kernarg as u64, 64, 64, 0).bytes());
    for _ in 0..10_000 {
        if LAST_ERROR.load(SeqCst) != 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
    LAST_ERROR.load(SeqCst)
}

#[test]
fn what_a_kernel_does_wrong_is_an_error_of_its_queue() {
    let agents = setup();
    let out = allocate(pools(agents[1])[0], 4096) as u64;
    // Large, so that what is allocated later is not where it began.
    let freed = allocate(pools(agents[1])[0], 64 << 20);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(freed)), SUCCESS);
    // Addresses are given out downwards: nothing is so far below.
    assert_eq!(status_of("past_the_end", &[out, 1 << 31]), 43, "out of all allocations");
    assert_eq!(status_of("past_the_end", &[freed as u64, 0]), 43, "freed");
    assert_eq!(
        status_of("past_the_end", &[&raw const agents as u64, 0]),
        43,
        "memory of the program"
    );
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let object = about(find(executable, agents[1], "aborts.kd"), KERNEL_OBJECT);
    // SAFETY: a descriptor in memory, whose third word is how far away the code is.
    let code = object.wrapping_add(unsafe { *(object as *const u64).add(2) });
    assert_eq!(status_of("past_the_end", &[code, 0]), 43, "code");
    assert_eq!(status_of("aborts", &[out]), 0x1016);
}

#[test]
fn the_rest_of_a_page_can_be_written_as_on_hardware() {
    let agents = setup();
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agents[1], "past_the_end.kd"), KERNEL_OBJECT);
    let out = allocate(pools(agents[1])[0], 8).cast::<i32>();
    let (queue, done) = (queue(agents[1], 64), signal(1));
    let kernarg = arguments(&agents, &[out as u64, 2]);
    submit(queue, &Launch::new(kernel, kernarg as u64, 64, 64, done).bytes());
    wait(done);
    // SAFETY: pages are allocated whole.
    let words = unsafe { std::slice::from_raw_parts(out, 67) };
    assert_eq!(words, [&[0; 2][..], &[1; 64], &[0]].concat());
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
}

#[test]
fn locked_memory_that_the_program_cannot_write_is_protected_from_kernels() {
    setup();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new page, which can only be read.
    let page = unsafe { libc::mmap(null_mut(), 4096, libc::PROT_READ, flags, -1, 0) };
    let mut pointer: *mut u8 = null_mut();
    let none = null::<u64>();
    assert_eq!(hsa!(hsa_amd_memory_lock(page, 4096, none, 0, &raw mut pointer)), SUCCESS);
    assert_eq!(status_of("past_the_end", &[pointer as u64, 0]), 43);
    assert_eq!(hsa!(hsa_amd_memory_unlock(page)), SUCCESS);
}

#[test]
fn memory_faults_are_told_to_handlers_of_events() {
    static ADDRESS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn fault(event: *const u64, _: *mut c_void) -> u32 {
        // SAFETY: the event of a fault has its address in the third word.
        ADDRESS.store(unsafe { *event.add(2) }, SeqCst);
        0
    }
    let agents = setup();
    let handler = fault as *const () as usize;
    assert_eq!(hsa!(hsa_amd_register_system_event_handler(handler, null_mut::<c_void>())), SUCCESS);
    let out = allocate(pools(agents[1])[0], 4096) as u64;
    assert_eq!(status_of("past_the_end", &[out, 4096]), 43);
    assert_eq!(ADDRESS.load(SeqCst), out + 4096 * 4);
}

#[test]
fn a_running_kernel_sees_what_the_host_writes_and_ends_with_its_queue() {
    let agents = setup();
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agents[1], "endless.kd"), KERNEL_OBJECT);
    let flag = allocate(pools(agents[0])[0], 64);
    let kernarg = arguments(&agents, &[flag as u64]);
    let (first, second) = (queue(agents[1], 64), queue(agents[1], 64));
    let done = signal(1);
    submit(first, &Launch::new(kernel, kernarg as u64, 64, 64, done).bytes());
    std::thread::sleep(std::time::Duration::from_millis(20));
    // Memory comes and goes while it runs.
    let more = allocate(pools(agents[1])[0], 1 << 20);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(more)), SUCCESS);
    // SAFETY: the flag is memory that was allocated, which the kernel reads as the host writes it.
    unsafe { (*flag.cast::<std::sync::atomic::AtomicU32>()).store(1, SeqCst) };
    wait(done);
    // SAFETY: as above.
    unsafe { (*flag.cast::<std::sync::atomic::AtomicU32>()).store(0, SeqCst) };
    submit(second, &Launch::new(kernel, kernarg as u64, 64, 64, done).bytes());
    for queue in [first, second] {
        assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
    }
}

/// An executable of several objects, and the status of freezing it.
pub fn load_together(agent: u64, objects: &[&str]) -> (u64, u32) {
    let executable = load_unfrozen(agent, objects);
    (executable, hsa!(hsa_executable_freeze(executable, null::<u8>())))
}

/// An executable of several objects.
pub fn load_unfrozen(agent: u64, objects: &[&str]) -> u64 {
    let (mut executable, none) = (0_u64, null::<u8>());
    assert_eq!(hsa!(hsa_executable_create_alt(1, 0, none, &raw mut executable)), SUCCESS);
    for name in objects {
        let (mut reader, bytes) = (0_u64, fixture(name));
        let (base, size) = (bytes.as_ptr(), bytes.len());
        assert_eq!(
            hsa!(hsa_code_object_reader_create_from_memory(base, size, &raw mut reader)),
            SUCCESS
        );
        let loaded = hsa!(hsa_executable_load_agent_code_object(
            executable,
            agent,
            reader,
            none,
            null_mut::<u64>()
        ));
        assert_eq!(loaded, SUCCESS);
    }
    executable
}

#[test]
fn a_function_of_one_object_is_called_by_another() {
    let agents = setup();
    let (executable, frozen) = load_together(agents[1], &["scale-user.co", "scale-library.co"]);
    assert_eq!(frozen, SUCCESS);
    let function = find(executable, agents[1], "scale");
    let (kind, address, size) =
        (about(function, 0) as u32, about(function, 23), about(function, 0x4853_0002));
    assert_eq!(kind, 2, "an indirect function");
    assert!(address != 0 && size > 0);
    assert_eq!(about(function, 0x4853_0003) as u32, 1, "callers");
    let mut caller = [0_u64; 1];
    assert_eq!(
        hsa!(hsa_executable_symbol_get_info(function, 0x4853_0004, &raw mut caller)),
        SUCCESS
    );
    let kernel = find(executable, agents[1], "apply.kd");
    assert_eq!(caller[0], kernel);
    let factor = about(find(executable, agents[1], "factor"), 21) as *mut i32;
    // SAFETY: the variable of the loaded object is there.
    unsafe {
        assert_eq!(*factor, 3);
        *factor = 5;
    }
    let out = allocate(pools(agents[1])[0], 4096).cast::<i32>();
    let kernarg = arguments(&agents, &[out as u64, 7]);
    let (done, queue) = (signal(1), queue(agents[1], 64));
    let object = about(kernel, KERNEL_OBJECT);
    submit(queue, &Launch::new(object, kernarg as u64, 1, 1, done).bytes());
    wait(done);
    // SAFETY: the kernel has written it. `wide` gives its argument and one more.
    let result = unsafe { *out };
    assert_eq!(result % 5, 0, "{result}");
    assert!(result > 5, "{result}");
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
}

#[test]
fn barriers_wait_for_signals() {
    let agents = setup();
    let queue = queue(agents[1], 64);
    let (gate, other, done) = (signal(1), signal(1), signal(3));
    let barrier = |kind: u16, signals: &[u64]| {
        let mut bytes = [0; 64];
        bytes[..2].copy_from_slice(&(kind | 1 << 8).to_le_bytes());
        for (at, signal) in signals.iter().enumerate() {
            bytes[8 + at * 8..16 + at * 8].copy_from_slice(&signal.to_le_bytes());
        }
        bytes[56..].copy_from_slice(&done.to_le_bytes());
        bytes
    };
    submit(queue, &barrier(5, &[gate, 0, other]));
    submit(queue, &barrier(3, &[gate, other]));
    let mut value_barrier = [0_u8; 64];
    value_barrier[..2].copy_from_slice(&(1_u16 << 8).to_le_bytes());
    value_barrier[2] = 2;
    value_barrier[8..16].copy_from_slice(&gate.to_le_bytes());
    value_barrier[16..24].copy_from_slice(&4_u64.to_le_bytes());
    value_barrier[24..32].copy_from_slice(&6_u64.to_le_bytes());
    value_barrier[56..].copy_from_slice(&done.to_le_bytes());
    submit(queue, &value_barrier);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(hsa64!(hsa_signal_load_relaxed(done)), 3);
    hsa!(hsa_signal_store_relaxed(other, 0));
    let until = |value: u64| {
        const EQ: u64 = 0;
        hsa64!(hsa_signal_wait_scacquire(done, EQ, value, 10_000_000_000_u64, 0))
    };
    assert_eq!(until(2), 2);
    hsa!(hsa_signal_store_relaxed(gate, 0));
    assert_eq!(until(1), 1);
    hsa!(hsa_signal_store_relaxed(gate, 0xd));
    assert_eq!(until(0), 0);
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
}

#[test]
fn handlers_run_once_and_again_while_they_want() {
    static CALLS: AtomicI64 = AtomicI64::new(0);
    extern "C" fn handler(value: i64, argument: *mut c_void) -> bool {
        CALLS.fetch_add(1000 + value, SeqCst);
        hsa!(hsa_signal_store_relaxed(argument as u64, 5));
        value == 0
    }
    setup();
    let (watched, told) = (signal(5), signal(0));
    let callback = handler as *const () as usize;
    const LT: u64 = 2;
    assert_eq!(hsa!(hsa_amd_signal_async_handler(watched, LT, 5, callback, watched)), SUCCESS);
    let _ = told;
    for value in [0_u64, 4] {
        hsa!(hsa_signal_store_relaxed(watched, value));
        const EQ: u64 = 0;
        assert_eq!(hsa64!(hsa_signal_wait_scacquire(watched, EQ, 5, 10_000_000_000_u64, 0)), 5);
    }
    std::thread::sleep(std::time::Duration::from_millis(10));
    hsa!(hsa_signal_store_relaxed(watched, 1));
    std::thread::sleep(std::time::Duration::from_millis(20));
    // The second call answered no: there is no third.
    assert_eq!(CALLS.load(SeqCst), 2004);
}

#[test]
fn locked_memory_has_another_address_and_the_same_bytes() {
    let agents = setup();
    let mut buffer = vec![1_u8; 1003];
    let mut pointer: *mut u8 = null_mut();
    let host = buffer[3..].as_mut_ptr();
    let pool = pools(agents[0])[0];
    let locked =
        hsa!(hsa_amd_memory_lock_to_pool(host, 1000, null::<u64>(), 0, pool, 0, &raw mut pointer));
    assert_eq!(locked, SUCCESS);
    assert_ne!(pointer, host);
    assert_eq!(pointer as u64 % 4096, host as u64 % 4096);
    let device = allocate(pools(agents[1])[0], 1000);
    let done = signal(1);
    let copied = hsa!(hsa_amd_memory_async_copy(
        device,
        agents[1],
        pointer,
        agents[0],
        1000,
        0,
        null::<u64>(),
        done
    ));
    assert_eq!(copied, SUCCESS);
    wait(done);
    // SAFETY: the memory was allocated, and copied to.
    assert_eq!(unsafe { std::slice::from_raw_parts(device, 1000) }, &buffer[3..]);
    let mut info = [0_u64; 7];
    info[0] = 56;
    let none = null_mut::<u32>();
    let asked = hsa!(hsa_amd_pointer_info(pointer, &raw mut info, 0, none, null_mut::<u64>()));
    assert_eq!(asked, SUCCESS);
    assert_eq!((info[0] >> 32, info[1], info[2], info[3]), (2, pointer as u64, host as u64, 1000));
    assert_eq!(hsa!(hsa_amd_memory_unlock(host)), SUCCESS);
    buffer.clear();
}

#[test]
fn memory_of_handles_is_where_it_is_mapped() {
    let agents = setup();
    let (mut address, mut handle): (*mut u8, u64) = (null_mut(), 0);
    assert_eq!(hsa!(hsa_amd_vmem_address_reserve(&raw mut address, 8192, 0, 0)), SUCCESS);
    assert_eq!(
        hsa!(hsa_amd_vmem_handle_create(pools(agents[1])[0], 4096, 1, 0, &raw mut handle)),
        SUCCESS
    );
    // SAFETY: the address is inside the reservation.
    let second = unsafe { address.add(4096) };
    for place in [address, second] {
        assert_eq!(hsa!(hsa_amd_vmem_map(place, 4096, 0, handle, 0)), SUCCESS);
        let access = [3_u64, agents[1]];
        assert_eq!(hsa!(hsa_amd_vmem_set_access(place, 4096, access.as_ptr(), 1)), SUCCESS);
    }
    // SAFETY: both are the same memory, mapped twice.
    unsafe {
        *address = 77;
        assert_eq!(*second, 77);
    }
    let mut access = 0_u32;
    assert_eq!(hsa!(hsa_amd_vmem_get_access(address, &raw mut access, agents[1])), SUCCESS);
    assert_eq!(access, 3);
    assert_ne!(hsa!(hsa_amd_vmem_address_free(address, 8192)), SUCCESS, "mapped");
    for place in [address, second] {
        assert_eq!(hsa!(hsa_amd_vmem_unmap(place, 4096)), SUCCESS);
    }
    assert_eq!(hsa!(hsa_amd_vmem_handle_release(handle)), SUCCESS);
    assert_ne!(hsa!(hsa_amd_vmem_handle_release(handle)), SUCCESS);
    assert_eq!(hsa!(hsa_amd_vmem_address_free(address, 8192)), SUCCESS);
}
