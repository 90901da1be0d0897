//! Extracts single kernels from the PTX text of a module.
//!
//! The driver takes seconds to compile all kernels of a module, but a program needs only some of
//! them.

/// The beginning of a kernel's first line, up to the kernel's name.
const ENTRY: &str = ".visible .entry ";

/// Returns all lines that lie outside of kernels.
pub(super) fn outside_kernels(ptx: &str) -> String {
    lines(ptx).filter(|(kernel, _)| kernel.is_none()).map(|(_, line)| line).collect()
}

/// Returns the lines of kernel `name` together with all lines outside of kernels. Returns `None` if
/// the text has no such kernel.
pub(super) fn of_kernel(ptx: &str, name: &str) -> Option<String> {
    let is_wanted = |kernel: Option<&str>| kernel == Some(name);
    let has_it = lines(ptx).any(|(kernel, _)| is_wanted(kernel));
    let wanted = lines(ptx).filter(|&(kernel, _)| kernel.is_none() || is_wanted(kernel));
    has_it.then(|| wanted.map(|(_, line)| line).collect())
}

/// Returns all lines with their line ends. With each line returns the name of the kernel that
/// contains it, or `None`.
fn lines(ptx: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    ptx.split_inclusive('\n').scan(None, |inside, line| {
        if let Some(entry) = line.strip_prefix(ENTRY) {
            *inside = entry.split(|c: char| c == '(' || c.is_whitespace()).next();
        }
        let kernel = *inside;
        if line.starts_with('}') {
            *inside = None;
        }
        Some((kernel, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 7.0
.visible .entry first(
\t.param .u64 p
)
{
\tret;
}
.global .b8 table[1];
.visible .entry first_and_more (.param .u64 p)
{
\t{
\t}
\tret;
}
// the end
";
    const OUTSIDE: &str = ".version 7.0\n.global .b8 table[1];\n// the end\n";

    #[test]
    fn every_line_belongs_to_a_kernel_or_to_none() {
        let kernels: Vec<_> = lines(TEXT).map(|(kernel, _)| kernel).collect();
        let (first, second) = (Some("first"), Some("first_and_more"));
        let mut expected = vec![None];
        expected.extend([first; 6]);
        expected.push(None);
        expected.extend([second; 6]);
        expected.push(None);
        assert_eq!(kernels, expected);
        assert_eq!(lines(TEXT).map(|(_, line)| line).collect::<String>(), TEXT);
    }

    #[test]
    fn a_kernel_comes_with_what_is_outside() {
        assert_eq!(outside_kernels(TEXT), OUTSIDE);
        let first = of_kernel(TEXT, "first").unwrap();
        assert_eq!(
            first,
            TEXT[..TEXT.find(".visible .entry first_").unwrap()].to_owned() + "// the end\n"
        );
        assert_eq!(of_kernel(TEXT, "firs"), None);
        assert_eq!(of_kernel("", "first"), None);
    }

    #[test]
    fn a_kernel_without_end_takes_the_rest() {
        let cut = &TEXT[..TEXT.find('}').unwrap()];
        assert_eq!(outside_kernels(cut), ".version 7.0\n");
        assert_eq!(of_kernel(cut, "first").as_deref(), Some(cut));
    }
}
