//! Reads and writes arrays in the format of numpy (`.npy`).

const MAGIC: &[u8] = b"\x93NUMPY";
/// The length of the magic word, the version and the length of the description in version 1.
const PREFIX: usize = 10;

/// Returns the length of the header in front of the elements, or `None` if it is none that numpy
/// writes for plain elements.
pub(crate) fn header_of(file: &[u8]) -> Option<usize> {
    let version = *file.strip_prefix(MAGIC)?.first()?;
    let length = |from: usize, to: usize| {
        let mut bytes = [0; 4];
        bytes[..to - from].copy_from_slice(file.get(from..to)?);
        Some(to + u32::from_le_bytes(bytes) as usize)
    };
    let end = match version {
        1 => length(8, PREFIX)?,
        2 | 3 => length(8, 12)?,
        _ => return None,
    };
    let description = std::str::from_utf8(file.get(PREFIX..end)?.split(|&b| b == b'{').nth(1)?);
    // Elements of numbers in the order of bytes that GPUs have. Others are objects or structs.
    let kind = description.ok()?.split("'descr':").nth(1)?.trim_start().strip_prefix('\'')?;
    let is_plain = kind.starts_with(['<', '|']) && !kind.starts_with("|O");
    is_plain.then_some(end)
}

/// Returns a header for elements of a type such as `f32`, or `None` if numpy does not have it.
pub(crate) fn header(kind: &str, shape: &[u64]) -> Option<Vec<u8>> {
    let (class, bits) = kind.split_at_checked(1)?;
    let class = match class {
        "u" | "f" => class,
        "s" => "i",
        _ => return None,
    };
    let bytes = bits.parse::<u32>().ok()? / 8;
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let order = if bytes == 1 { '|' } else { '<' };
    let mut text = format!(
        "{{'descr': '{order}{class}{bytes}', 'fortran_order': False, 'shape': ({sizes}), }}"
    );
    // The elements begin at a multiple of 64 bytes.
    while !(PREFIX + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let length = u16::try_from(text.len()).ok()?.to_le_bytes();
    Some([MAGIC, &[1, 0], &length, text.as_bytes()].concat())
}
