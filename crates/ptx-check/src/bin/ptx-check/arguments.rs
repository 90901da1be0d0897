//! The arguments of a kernel, as the command line names them.

use std::path::{Path, PathBuf};

use ptx_check::run::{Argument, Array};
use ptx_check::syntax::{Kind, Type, Variable};

use crate::{Error, npy};

/// The arrays and arguments of a launch.
#[derive(Default)]
pub(crate) struct Passed {
    pub(crate) arrays: Vec<Array>,
    pub(crate) arguments: Vec<Argument>,
    outputs: Vec<Output>,
}

/// A file to which an array is written after the launch.
struct Output {
    array: usize,
    path: PathBuf,
    /// What comes before the elements.
    header: Vec<u8>,
}

impl Passed {
    /// Reads an argument for a parameter.
    pub(crate) fn read(&mut self, text: &str, parameter: &Variable<'_>) -> Result<(), Error> {
        let number = self.arguments.len() + 1;
        let wrong = |why: String| Error::Argument { number, text: text.to_owned(), why };
        let argument = match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(fields) => self.fields(fields, &wrong)?,
            None => self.one(text, Some(parameter.kind), &wrong)?.0,
        };
        self.arguments.push(argument);
        Ok(())
    }

    /// Reads the fields of a struct, each of which is aligned to its own size.
    fn fields(&mut self, text: &str, wrong: &dyn Fn(String) -> Error) -> Result<Argument, Error> {
        let (mut bytes, mut addresses) = (Vec::new(), Vec::new());
        for field in text.split(',') {
            let (argument, size) = self.one(field.trim(), None, wrong)?;
            bytes.resize(bytes.len().next_multiple_of(size), 0);
            match argument {
                Argument::Array(index) => {
                    addresses.push((bytes.len(), index));
                    bytes.extend([0; 8]);
                }
                Argument::Number(value) => bytes.extend(&value.to_le_bytes()[..size]),
                Argument::Bytes { .. } => return Err(wrong("a struct in a struct".to_owned())),
            }
        }
        Ok(Argument::Bytes { bytes, addresses })
    }

    /// Reads an array or a number. Returns it, and the bytes that it takes in a struct.
    fn one(
        &mut self,
        text: &str,
        kind: Option<Type>,
        wrong: &dyn Fn(String) -> Error,
    ) -> Result<(Argument, usize), Error> {
        let mut parts = text.split(':');
        let (how, what, file) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        if parts.next().is_some() {
            return Err(wrong("too many colons".to_owned()));
        }
        let output = file.map(PathBuf::from);
        match (how, what) {
            ("read" | "update", Some(path)) => {
                let path = Path::new(path);
                let mut content = crate::read(path)?;
                let mut header = Vec::new();
                if is_numpy(path) {
                    let length = npy::header_of(&content);
                    let length = length.ok_or_else(|| Error::NotNumpy(path.to_owned()))?;
                    header = content.drain(..length).collect();
                }
                if (how == "update") != output.is_some() {
                    let forms = "the forms are read:FILE and update:FILE:FILE";
                    return Err(wrong(forms.to_owned()));
                }
                Ok(self.array(Array::new(content), output, header))
            }
            ("new" | "zero", Some(shape)) => {
                let (kind, shape) = shaped(shape).map_err(wrong)?;
                let bytes = shape.iter().try_fold(kind.1, |all, &size| all.checked_mul(size));
                // A limit on memory comes later.
                let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
                let bytes = bytes.filter(|&bytes| bytes <= 1 << 36);
                let bytes = bytes.ok_or_else(|| wrong("an array that is too large".to_owned()))?;
                let mut header = Vec::new();
                if output.as_deref().is_some_and(is_numpy) {
                    let made = npy::header(kind.0, &shape);
                    header = made.ok_or_else(|| wrong(format!("numpy has no {}", kind.0)))?;
                }
                let array = match how {
                    "new" => Array::undefined(bytes),
                    _ => Array::new(vec![0; bytes]),
                };
                Ok(self.array(array, output, header))
            }
            (name, Some(value)) if output.is_none() => {
                let kind = Type::parse(name).filter(|kind| (8..=64).contains(&kind.bits));
                let kind = kind.ok_or_else(|| wrong(format!("{name} is no type of a number")))?;
                value_of(value, kind).map_err(wrong)
            }
            (value, None) => {
                let no_type = || wrong("a field of a struct needs a type, as in u32:5".to_owned());
                value_of(value, kind.ok_or_else(no_type)?).map_err(wrong)
            }
            _ => Err(wrong(format!("{how} is not known"))),
        }
    }

    fn array(
        &mut self,
        array: Array,
        output: Option<PathBuf>,
        header: Vec<u8>,
    ) -> (Argument, usize) {
        let index = self.arrays.len();
        self.arrays.push(array);
        self.outputs.extend(output.map(|path| Output { array: index, path, header }));
        (Argument::Array(index), 8)
    }

    /// Writes the arrays that the command line names files for.
    pub(crate) fn write(&self) -> Result<(), Error> {
        self.outputs.iter().try_for_each(|Output { array, path, header }| {
            crate::write(path, &[header, &self.arrays[*array].bytes[..]].concat())
        })
    }
}

fn is_numpy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// Reads a type and a shape, such as `f32[16x8]`. Returns the name of the type, the size of an
/// element and the shape.
fn shaped(text: &str) -> Result<((&str, u64), Vec<u64>), String> {
    let form = || format!("{text} has not the form of f32[16x8]");
    let (name, shape) = text.strip_suffix(']').and_then(|t| t.split_once('[')).ok_or_else(form)?;
    let kind = Type::parse(name).filter(|kind| kind.bits >= 8);
    let bytes = kind.ok_or_else(|| format!("{name} is no type of numbers"))?.bytes();
    let sizes: Result<Vec<u64>, _> = shape.split('x').map(str::parse).collect();
    Ok(((name, bytes), sizes.map_err(|_| form())?))
}

/// Reads a number of a type. Returns it with its size.
fn value_of(text: &str, kind: Type) -> Result<(Argument, usize), String> {
    let float = |text: &str| text.parse::<f64>().map_err(|_| format!("{text} is no number"));
    let value = match (kind.kind, kind.bits) {
        (Kind::Float, 32) => u64::from((float(text)? as f32).to_bits()),
        (Kind::Float, 64) => float(text)?.to_bits(),
        (Kind::Float, _) => return Err("a half is passed by its bits, as in b16:15360".to_owned()),
        (_, bits) => {
            let (digits, radix) = match text.strip_prefix("0x") {
                Some(digits) => (digits, 16),
                None => (text, 10),
            };
            let value = i128::from_str_radix(digits, radix);
            let value = value.map_err(|_| format!("{text} is no whole number"))?;
            let (least, most) = (-1_i128 << (bits - 1), (1_i128 << bits) - 1);
            if !(least..=most).contains(&value) {
                return Err(format!("{text} has more than {bits} bits"));
            }
            value as u64
        }
    };
    Ok((Argument::Number(value), kind.bytes() as usize))
}
