//! `hsaco.table` and `hsaco.Table`.
#![expect(
    clippy::needless_pass_by_value,
    reason = "sequences come from Python as vectors and sets"
)]

use std::ffi::OsString;
use std::path::PathBuf;

use hsaco::bytes::{Error, ErrorKind};
use hsaco::container::WalkOptions;
use hsaco::isa::TargetId;
use hsaco_describe::tables::{self, Question};
use hsaco_files::input::inputs;
use hsaco_files::{KernelSelection, ObjectItem, ObjectSelection, Problem, Trouble, Visit, Walk};
use hsaco_table::{CellValue, ColumnType, Format, Order, RowFilter, Rows, TableView, Writer};
use pyo3::exceptions::{PyIOError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::arrow;
use crate::error;

/// Rows with named columns, as `hsaco VERB --format csv` writes them; docs/tables.md has the columns.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Table {
    name: &'static str,
    rows: Rows,
    problems: Vec<(String, Problem)>,
}

/// The rows of a verb's table for files and directories: one for each kernel ("ls", "resources"), symbol ("symbols") or argument
/// ("args"). docs/tables.md has the columns.
///
/// `target` and `device` choose objects, `kernels` names (as written, as mangled, or a regular expression), `where` rows and `sort` their
/// order. `mix` counts instructions, `peak` finds the most live registers and `what_if` asks for occupancy with other amounts, for "resources".
#[pyfunction]
#[pyo3(signature = (sources, of="resources", *, target=None, device=None, kernels=Vec::new(), r#where=None, sort=None, mix=false, peak=false, what_if=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn table(
    py: Python<'_>,
    sources: &Bound<'_, PyAny>,
    of: &str,
    target: Option<&str>,
    device: Option<&str>,
    kernels: Vec<String>,
    r#where: Option<&str>,
    sort: Option<&str>,
    mix: bool,
    peak: bool,
    what_if: Option<&str>,
) -> PyResult<Table> {
    let is_about_needs = mix || peak || what_if.is_some();
    let what_if = what_if.map(str::parse).transpose().map_err(PyValueError::new_err)?;
    let options = hsaco_describe::resources::Options { what_if, curve: false, peak, mix };
    let question = Question::named(of, options).ok_or_else(|| {
        PyValueError::new_err(format!("no table '{of}'; there are {}", Question::NAMES.join(", ")))
    })?;
    if is_about_needs && of != "resources" {
        let detail = format!("mix, peak and what_if are of resources, not of {of}");
        return Err(PyValueError::new_err(detail));
    }
    if !kernels.is_empty() && of == "symbols" {
        return Err(PyValueError::new_err("kernels choose no symbols: use where=\"name = '…'\""));
    }
    let device = device.map(TargetId::of_device).transpose();
    let device = device.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut objects = ObjectSelection::new(device, None);
    if let Some(target) = target {
        objects = objects.or_target(target).map_err(|it| error::target(py, &it))?;
    }
    let reading = Reading { question, objects, kernels: KernelSelection::new(&kernels) };
    let paths = paths(sources)?;
    let table = py.detach(|| reading.table(&paths))?;
    reading.conclude(py, &table)?;
    let table = match r#where {
        Some(filter) => table.r#where(filter)?,
        None => table,
    };
    match sort {
        Some(order) => table.sort(order),
        None => Ok(table),
    }
}

/// A path, or several.
fn paths(sources: &Bound<'_, PyAny>) -> PyResult<Vec<OsString>> {
    if let Ok(path) = sources.extract::<PathBuf>() {
        return Ok(vec![path.into_os_string()]);
    }
    let path = |it: PyResult<Bound<'_, PyAny>>| Ok(it?.extract::<PathBuf>()?.into_os_string());
    sources.try_iter()?.map(path).collect()
}

/// What is asked of files.
struct Reading {
    question: Question,
    objects: ObjectSelection,
    kernels: KernelSelection,
}

impl Reading {
    /// Fails where nothing was found of what was asked for: an empty table would say that there is none.
    fn conclude(&self, py: Python<'_>, table: &Table) -> PyResult<()> {
        if table.rows.is_empty()
            && let Some((file, problem)) = table.problems.first()
        {
            return Err(error::raised(py, file, &problem.error));
        }
        let (what, names) = match (self.objects.has_found(), self.kernels.has_found()) {
            (false, _) => ("there is no such AMD GPU code object", String::new()),
            (true, false) if !self.kernels.is_all() => {
                ("no kernel fits ", self.kernels.names().collect::<Vec<_>>().join(", "))
            }
            _ => return Ok(()),
        };
        let missing = Error::new(ErrorKind::NotFound, "table", format!("{what}{names}"));
        Err(error::lookup(py, &missing))
    }

    fn table(&self, paths: &[OsString]) -> PyResult<Table> {
        let mut rows = Rows::new(&self.question.columns());
        let mut problems = Vec::new();
        let options = WalkOptions { hash: self.objects.hash_check(), ..WalkOptions::default() };
        for input in inputs(paths) {
            let input = input.map_err(|it| error::unopened(&it.name, &it.error))?;
            let Some(walk) = Walk::new(&input, &options, &self.objects) else { continue };
            let mut visitor = Visitor { reading: self, path: &input.name, rows, problems };
            let Ok(_) = walk.run(&mut visitor);
            Visitor { rows, problems, .. } = visitor;
        }
        Ok(Table { name: self.question.name(), rows, problems })
    }
}

struct Visitor<'v> {
    reading: &'v Reading,
    path: &'v str,
    rows: Rows,
    problems: Vec<(String, Problem)>,
}

impl Visit for Visitor<'_> {
    type Row<'e> = Rows;
    type Error = std::convert::Infallible;

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Rows, Self::Error> {
        let place = tables::Place::new(self.path, item);
        Ok(self.reading.question.rows(place, item, &self.reading.kernels, trouble))
    }

    fn objects(&mut self, rows: Vec<Rows>) -> Result<(), Self::Error> {
        rows.iter().for_each(|it| self.rows.append(it));
        Ok(())
    }

    fn problem(&mut self, problem: &Problem) {
        self.problems.push((self.path.to_owned(), problem.clone()));
    }
}

impl Table {
    /// Other rows of the same table.
    fn with(&self, rows: Rows) -> Self {
        Self { name: self.name, rows, problems: Vec::new() }
    }

    fn column(&self, name: &str) -> PyResult<usize> {
        let found = self.rows.columns().iter().position(|it| it.name == name);
        found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

fn value<'py>(py: Python<'py>, value: CellValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        CellValue::Null => py.None().into_bound(py),
        CellValue::Bool(it) => it.into_pyobject(py)?.to_owned().into_any(),
        CellValue::Number(it) => it.into_pyobject(py)?.into_any(),
        CellValue::Text(it) => it.into_pyobject(py)?.into_any(),
    })
}

#[pymethods]
impl Table {
    /// What the table is of: a verb of the command.
    #[getter]
    fn name(&self) -> &str {
        self.name
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.rows.columns().iter().map(|it| it.name).collect()
    }

    /// What could not be read, as exceptions; the rest was.
    #[getter]
    fn problems(&self, py: Python<'_>) -> Vec<PyErr> {
        self.problems.iter().map(|(file, it)| error::raised(py, file, &it.error)).collect()
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// A column by its name, as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.column(name)?;
        let values: PyResult<Vec<_>> =
            (0..self.rows.len()).map(|row| value(py, self.rows.get(row, column))).collect();
        PyList::new(py, values?)
    }

    /// All rows, as dictionaries.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |at: usize| {
            let row = PyDict::new(py);
            for (column, it) in self.rows.columns().iter().zip(self.rows.row(at)) {
                row.set_item(column.name, value(py, it)?)?;
            }
            Ok(row)
        };
        (0..self.rows.len()).map(row).collect()
    }

    /// The rows of which an expression is true: "vgprs > 128 || occupancy < 4".
    fn r#where(&self, expression: &str) -> PyResult<Self> {
        let filter = RowFilter::parse(expression, self.rows.columns());
        let filter = filter.map_err(|it| PyValueError::new_err(it.to_string()))?;
        Ok(self.with(self.rows.filtered(&filter)))
    }

    /// The rows sorted by columns: "-vgprs,name".
    fn sort(&self, columns: &str) -> PyResult<Self> {
        let order = Order::parse(columns, self.rows.columns());
        let order = order.map_err(|it| PyValueError::new_err(it.to_string()))?;
        Ok(self.with(self.rows.sorted(&order)))
    }

    /// Arrow's PyCapsule interface: a stream of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::stream(py, self.rows.clone())
    }

    /// A table of pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// A DataFrame of pandas, by way of pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// A DataFrame of Polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// The rows as bytes of a file: "csv", "jsonl" or "parquet".
    #[pyo3(signature = (format="csv"))]
    fn to_bytes(&self, format: &str) -> PyResult<Vec<u8>> {
        let format = match format {
            "csv" => Format::Csv,
            "jsonl" => Format::Jsonl,
            "parquet" => Format::Parquet,
            _ => return Err(PyValueError::new_err("expected csv, jsonl or parquet")),
        };
        let writer = Writer::new(self.name, self.rows.columns(), format, TableView::default());
        let mut writer = writer.map_err(|it| PyValueError::new_err(it.to_string()))?;
        let mut out = Vec::new();
        let written = writer.write(&self.rows, &mut out);
        let written = written.and_then(|()| writer.finish(&mut out));
        written.map_err(|error| PyIOError::new_err(error.to_string()))?;
        Ok(out)
    }

    /// Pickled as its name, its columns and its rows; problems stay behind.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Restored)> {
        let (py, this) = (slf.py(), slf.get());
        let restore = py.get_type::<Self>().getattr("_restore")?;
        let columns = this.rows.columns().iter().map(|it| it.name.to_owned()).collect();
        let rows = this.to_bytes("jsonl")?;
        Ok((restore, (this.name.to_owned(), columns, rows)))
    }

    /// What `pickle` calls.
    #[staticmethod]
    fn _restore(name: &str, columns: Vec<String>, rows: Vec<u8>) -> PyResult<Self> {
        let broken = || PyValueError::new_err("this is no table of this version");
        let known = tables::all().into_iter().find(|it| it.table == name).ok_or_else(broken)?;
        let find = |it: &String| known.columns.iter().find(|known| known.name == it).copied();
        let columns: Vec<_> = columns.iter().map(find).collect::<Option<_>>().ok_or_else(broken)?;
        let (missing, mut restored) = (serde_json::Value::Null, Rows::new(&columns));
        for line in rows.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
            let row: serde_json::Value = serde_json::from_slice(line).map_err(|_| broken())?;
            restored.push(columns.iter().map(|it| {
                match (it.ty, row.get(it.name).unwrap_or(&missing)) {
                    (ColumnType::Bool, serde_json::Value::Bool(it)) => CellValue::Bool(*it),
                    (ColumnType::Number | ColumnType::Address, it) => it.as_u64().into(),
                    (ColumnType::Text, it) => it.as_str().map(str::to_owned).into(),
                    _ => CellValue::Null,
                }
            }));
        }
        Ok(Self { name: known.table, rows: restored, problems: Vec::new() })
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import(pyo3::intern!(slf.py(), "hsaco._html"))?;
        module.call_method1("table", (slf,))
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.rows.len(), self.rows.columns().len());
        format!("<Table {}: {rows} rows, {columns} columns>", self.name)
    }
}

/// What a pickle has of a table.
type Restored = (String, Vec<String>, Vec<u8>);
