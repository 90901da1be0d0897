//! The text of a kernel for tests.

/// Returns a kernel `k` with this body that takes two arrays and a number. `%rd1` and `%rd2` point
/// to the arrays, `%r1` holds the number and `%r2` the thread.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        ".version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 memory[];
.const .align 4 .u32 table[3] = {{5, 6, 7}};
.global .align 4 .b8 variable[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};
.visible .entry k(.param .u64 .ptr .align 1 a, .param .u64 .ptr .align 1 b, .param .u32 n)
{{
.reg .pred %p<9>;
.reg .b16 %rs<9>;
.reg .b32 %r<99>;
.reg .b64 %rd<20>;
.reg .f32 %f<9>;
ld.param.u64 %rd8, [a];
cvta.to.global.u64 %rd1, %rd8;
ld.param.u64 %rd8, [b];
cvta.to.global.u64 %rd2, %rd8;
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
{body}
ret;
}}
"
    )
}

/// The line on which the body begins.
#[allow(dead_code, reason = "not all tests use it")]
pub(crate) const BODY: usize = 20;
