//! Calling a kernel with buffers and values, as a program would call a function.

use hsaco_dwarf::DebugInfo;
use hsaco_kernarg::{Arguments, Inference, Launch, NativeLayout, Value};
use hsaco_load::Executable;
use hsaco_object::CodeObject;

use crate::device::Device;
use crate::dispatch::{Dispatch, Outcome};
use crate::error::{Error, ErrorKind, Result};

/// A kernel of an executable, with what is known of its arguments.
#[derive(Clone, Debug)]
pub struct LoadedKernel {
    /// Its name, as the linker knows it.
    pub name: String,
    /// Where its descriptor is in memory.
    pub descriptor: u64,
    /// Where its arguments go, with names and types of the debug information where there is any.
    pub layout: NativeLayout,
}

/// What a kernel is called with.
#[derive(Debug)]
pub enum CallArgument<'a> {
    /// A value, whose size must be the argument's.
    Value(Value<'a>),
    /// Memory that the kernel gets the address of: copied to the device, and back afterwards.
    Buffer(&'a mut [u8]),
}

impl LoadedKernel {
    /// The kernel of a name, mangled or readable, of a frozen executable.
    ///
    /// # Errors
    /// There is none, or its arguments are not known.
    pub fn find(executable: &Executable<'_>, name: &str) -> Result<Self> {
        let setup = |detail: String| Error::new(ErrorKind::Setup, detail);
        let missing = || setup(format!("there is no kernel {name}"));
        let symbol = executable.symbol(name).ok_or_else(missing)?;
        let object = symbol.object().filter(|_| symbol.kernel().is_some()).ok_or_else(missing)?;
        let descriptor =
            symbol.address().ok_or_else(|| setup("the executable is not frozen".to_owned()))?;
        let object = CodeObject::parse(executable.object_bytes(object))
            .map_err(|error| setup(error.to_string()))?;
        let index = object.index();
        let kernel = index.kernels().iter().find(|it| it.name() == symbol.name());
        let kernel = kernel.ok_or_else(missing)?;
        // Debug information that cannot be read gives no names.
        let debug = DebugInfo::open(&object).ok();
        let debug = debug.as_ref().map(|it| (it.map(), it.sections()));
        let arguments = Arguments::new(&object, &index, kernel, debug, Inference::Off);
        let layout = arguments.native.map_err(|error| setup(error.to_string()))?;
        Ok(Self { name: symbol.name().to_string(), descriptor, layout })
    }

    /// The bytes of its arguments, hidden ones included.
    ///
    /// # Errors
    /// There are more or fewer of them, or one does not fit.
    pub fn pack(&self, values: &[Value<'_>], launch: &Launch) -> Result<Vec<u8>> {
        let mut segment = vec![0; self.layout.size() as usize];
        self.layout
            .pack(values, Some(launch), &mut segment)
            .map_err(|error| Error::new(ErrorKind::Setup, error.to_string()))?;
        Ok(segment)
    }
}

impl Device {
    /// Runs a kernel: copies buffers to the device, runs the dispatch that is made of it as `run` says, and copies them
    /// back, also where the program stopped.
    ///
    /// ```
    /// use hsaco_emu::{CallArgument, Device, Dispatch, LoadedKernel};
    /// use hsaco_kernarg::{Launch, Value};
    /// use hsaco_load::{Executable, Freeze};
    /// let mut executable = Executable::new(None);
    /// executable.load("run.co", std::fs::read("../../tests/fixtures/run.gfx942.co")?)?;
    /// executable.freeze(Freeze::default())?;
    /// let mut device = Device::new("gfx942".parse()?, 1 << 30);
    /// device.load(&executable)?;
    /// let saxpy = LoadedKernel::find(&executable, "saxpy")?;
    /// let mut y: Vec<u8> = [1.0_f32, 2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    /// let mut x = y.clone();
    /// let mut arguments = [
    ///     CallArgument::Buffer(&mut y),
    ///     CallArgument::Buffer(&mut x),
    ///     CallArgument::Value(Value::F32(10.0)),
    ///     CallArgument::Value(Value::I32(2)),
    /// ];
    /// let launch = Launch::of_workgroups(&[1], &[64])?;
    /// let outcome = device.call(&saxpy, launch, &mut arguments, |dispatch| dispatch.run())?;
    /// assert_eq!(outcome.waves, 1);
    /// assert_eq!(y, [11.0_f32, 22.0].map(f32::to_le_bytes).concat());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The arguments do not fit the kernel, there is no memory, or the program stopped; the error says where.
    pub fn call(
        &mut self,
        kernel: &LoadedKernel,
        launch: Launch,
        arguments: &mut [CallArgument<'_>],
        run: impl FnOnce(Dispatch<'_>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let launch = self.equip(launch, &kernel.layout)?;
        let mut addresses = Vec::new();
        let ran = self.call_with(kernel, launch, arguments, &mut addresses, run);
        for address in addresses {
            self.memory.free(address);
        }
        ran
    }

    fn call_with(
        &mut self,
        kernel: &LoadedKernel,
        launch: Launch,
        arguments: &mut [CallArgument<'_>],
        addresses: &mut Vec<u64>,
        run: impl FnOnce(Dispatch<'_>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in &*arguments {
            values.push(match argument {
                CallArgument::Value(value) => *value,
                CallArgument::Buffer(bytes) => {
                    let address = self.memory.allocate(bytes.len() as u64)?;
                    addresses.push(address);
                    self.memory.write(address, bytes)?;
                    Value::Pointer(address)
                }
            });
        }
        let kernarg = kernel.pack(&values, &launch)?;
        drop(values);
        let dispatch = Dispatch::at(self, &kernel.name, kernel.descriptor, launch, &kernarg)?;
        let ran = run(dispatch);
        let buffers = arguments.iter_mut().filter_map(|it| match it {
            CallArgument::Buffer(bytes) => Some(bytes),
            CallArgument::Value(_) => None,
        });
        for (bytes, address) in buffers.zip(addresses) {
            self.memory.read_into(*address, bytes)?;
        }
        ran
    }
}
