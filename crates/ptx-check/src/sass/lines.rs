//! Reads the source lines in the output of `nvdisasm -c --print-line-info`.

use std::collections::HashMap;

/// Returns the source line of each instruction as `file:line`, by kernel and address.
pub(super) fn sources(listing: &str) -> HashMap<&str, HashMap<usize, String>> {
    let mut kernels: HashMap<&str, HashMap<usize, String>> = HashMap::new();
    let (mut kernel, mut source) = (None, None);
    for line in listing.lines() {
        let code = line.trim();
        if let Some(section) = line.strip_prefix("//--------------------- ") {
            kernel = section.split(' ').next().and_then(|name| name.strip_prefix(".text."));
            source = None;
        } else if let Some(place) = code.strip_prefix("//## File ") {
            source = place.split_once(", line ").map(|(file, line)| {
                let digits = line.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
                format!("{}:{digits}", file.trim_matches('"'))
            });
        } else if let (Some(kernel), Some(source)) = (kernel, &source)
            && let Some((address, _)) =
                code.strip_prefix("/*").and_then(|rest| rest.split_once("*/"))
            && let Ok(address) = usize::from_str_radix(address, 16)
        {
            kernels.entry(kernel).or_default().insert(address, source.clone());
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_lines_of_instructions() {
        let listing = "\
//--------------------- .text.a_653 --------------------------
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File \"/planted\", line 7
        /*0010*/                   LDG.E R5, desc[UR4][R2.64] ;
        /*0020*/                   NOP ;
	//## File \"/planted\", line 1 inlined at \"/other\", line 3
        /*0030*/                   EXIT ;
//--------------------- .text.b_653 --------------------------
        /*0000*/                   EXIT ;
";
        let sources = sources(listing);
        let expected = [(0x10, "/planted:7"), (0x20, "/planted:7"), (0x30, "/planted:1")];
        assert_eq!(sources["a_653"], expected.map(|(at, line)| (at, line.to_owned())).into());
        assert!(!sources.contains_key("b_653"));
    }
}
