//! The registers that the hardware defines.

/// A thread of a launch.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Thread {
    pub(super) thread: [u32; 3],
    pub(super) threads: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) blocks: [u32; 3],
    pub(super) lane: u32,
    pub(super) warp: u32,
    pub(super) warps: u32,
}

impl Thread {
    /// Returns what a register holds for this thread, or `None` if it is not known.
    pub(super) fn special(&self, name: &str) -> Option<u32> {
        if let Some((base, axis)) = name.split_once('.') {
            let sizes = match base {
                "%tid" => self.thread,
                "%ntid" => self.threads,
                "%ctaid" => self.block,
                "%nctaid" => self.blocks,
                _ => return None,
            };
            return Some(sizes[["x", "y", "z"].iter().position(|known| *known == axis)?]);
        }
        let own = 1_u32 << self.lane;
        Some(match name {
            "%laneid" => self.lane,
            "%warpid" => self.warp,
            "%nwarpid" => self.warps,
            "WARP_SZ" => 32,
            "%lanemask_eq" => own,
            "%lanemask_lt" => own - 1,
            "%lanemask_le" => own | (own - 1),
            "%lanemask_gt" => !(own | (own - 1)),
            "%lanemask_ge" => !(own - 1),
            _ => return None,
        })
    }
}
