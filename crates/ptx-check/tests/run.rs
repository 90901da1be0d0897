//! Tests the interpreter: what instructions compute, how threads work together, and the rules.
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

mod common;

use common::BODY;
use ptx_check::run::{Argument, Array, Broken, Error, Launch, Rule};
use ptx_check::syntax::parse;

/// Returns a kernel with `body`. Before it, `%r3` is the block, and `%rd3` and `%rd4` point to the
/// thread's own words of the arrays.
fn kernel(body: &str) -> String {
    common::kernel(&format!(
        "mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.s32 %r5, %r3, %r4, %r2;
mul.wide.u32 %rd5, %r5, 4;
add.s64 %rd3, %rd1, %rd5;
add.s64 %rd4, %rd2, %rd5;
{body}"
    ))
}

fn words(values: &[u32]) -> Array {
    Array::new(values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn read(array: &Array) -> Vec<u32> {
    array.bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Runs a kernel with this body in blocks of these threads, with a second array of a word for each
/// thread, which is undefined. Returns the second array.
fn run(body: &str, grid: u32, block: u32, first: &[u32], n: u32) -> Result<Vec<u32>, Error> {
    let text = kernel(body);
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let launch = Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        shared_bytes: 1024,
        most_instructions: 1 << 24,
        ..Launch::new(&module, "k")
    };
    let mut arrays = [words(first), Array::undefined(4 * (grid * block) as usize)];
    let arguments = [Argument::Array(0), Argument::Array(1), Argument::Number(n.into())];
    launch.run(&mut arrays, &arguments)?;
    Ok(read(&arrays[1]))
}

#[track_caller]
fn broken(body: &str, grid: u32, block: u32) -> Broken {
    match run(body, grid, block, &[7; 64], 3) {
        Err(Error::Broken(broken)) => *broken,
        other => panic!("{other:?}"),
    }
}

/// Returns what the code leaves in `%r9`. It finds `a` in `%r7` and `b` in `%r8`.
fn computed(code: &str, a: u32, b: u32) -> u32 {
    let body = format!(
        "ld.global.u32 %r7, [%rd1];\nld.global.u32 %r8, [%rd1+4];\n{code}\n\
         st.global.u32 [%rd4], %r9;"
    );
    run(&body, 1, 1, &[a, b], 0).unwrap_or_else(|error| panic!("{code}: {error}"))[0]
}

#[test]
fn integers() {
    let minus = |number: u32| number.wrapping_neg();
    for (code, a, b, expected) in [
        ("add.s32 %r9, %r7, %r8;", u32::MAX, 3, 2),
        ("sub.s32 %r9, %r7, %r8;", 1, 3, minus(2)),
        ("mul.lo.s32 %r9, %r7, %r8;", minus(3), 5, minus(15)),
        ("mul.hi.u32 %r9, %r7, %r8;", 1 << 31, 6, 3),
        ("mul.hi.s32 %r9, %r7, %r8;", minus(1), 6, u32::MAX),
        ("mul.wide.s32 %rd9, %r7, %r8; mov.b64 {_, %r9}, %rd9;", minus(1), 6, u32::MAX),
        ("mad.lo.s32 %r9, %r7, %r8, 4;", 2, 3, 10),
        ("div.s32 %r9, %r7, %r8;", minus(7), 2, minus(3)),
        ("rem.u32 %r9, %r7, %r8;", 7, 0, 7),
        ("min.s32 %r9, %r7, %r8;", minus(7), 2, minus(7)),
        ("min.u32 %r9, %r7, %r8;", minus(7), 2, 2),
        ("abs.s32 %r9, %r7;", minus(7), 0, 7),
        ("shl.b32 %r9, %r7, %r8;", 3, 31, 1 << 31),
        ("shl.b32 %r9, %r7, %r8;", 3, 32, 0),
        ("shr.s32 %r9, %r7, %r8;", minus(4), 99, u32::MAX),
        ("shr.u32 %r9, %r7, %r8;", minus(4), 32, 0),
        ("shf.l.wrap.b32 %r9, %r7, %r7, %r8;", 0x8000_0001, 33, 3),
        ("shf.r.clamp.b32 %r9, %r7, %r8, 32;", 1, 2, 2),
        ("prmt.b32 %r9, %r7, %r8, 0x7410;", 0x0403_0281, 0x0807_0605, 0x0805_0281),
        ("prmt.b32 %r9, %r7, %r8, 0x8;", 0x0403_0281, 0, 0x8181_81ff),
        ("lop3.b32 %r9, %r7, %r8, 1, 0x96;", 12, 10, 7),
        ("bfe.u32 %r9, %r7, 4, 8;", 0xabcd, 0, 0xbc),
        ("bfe.s32 %r9, %r7, 4, 8;", 0xabcd, 0, 0xffff_ffbc),
        ("bfe.s32 %r9, %r7, 28, 8;", 0x8000_0000, 0, 0xffff_fff8),
        ("bfi.b32 %r9, %r7, %r8, 4, 8;", 0xfff, 0x1_0001, 0x1_0ff1),
        ("popc.b32 %r9, %r7;", 0xf0f, 0, 8),
        ("clz.b32 %r9, %r7;", 0xf0f, 0, 20),
        ("brev.b32 %r9, %r7;", 1, 0, 1 << 31),
        ("cvt.u16.u32 %rs1, %r7; cvt.s32.s16 %r9, %rs1;", 0x1_8000, 0, 0xffff_8000),
        ("cvt.s32.s8 %r9, %r7;", 0x80, 0, 0xffff_ff80),
        ("setp.lt.s32 %p1, %r7, %r8; selp.b32 %r9, 1, 2, %p1;", minus(1), 0, 1),
        ("setp.lt.u32 %p1, %r7, %r8; selp.b32 %r9, 1, 2, %p1;", minus(1), 0, 2),
        (
            "setp.eq.s32 %p1, %r7, 1; setp.ne.and.s32 %p2, %r8, 1, !%p1; selp.u32 %r9, 1, 0, %p2;",
            2,
            2,
            1,
        ),
        ("mov.u32 %r9, 1; setp.eq.s32 %p1, %r7, 1; @!%p1 mov.u32 %r9, 2;", 1, 0, 1),
        ("mov.b32 {%rs1, %rs2}, %r7; mov.b32 %r9, {%rs2, %rs1};", 0x1234_5678, 0, 0x5678_1234),
        ("mov.b32 %r9, {%r7};", 9, 0, 9),
        ("add.sat.s32 %r9, %r7, %r8;", i32::MAX as u32, 5, i32::MAX as u32),
        ("mul24.lo.u32 %r9, %r7, %r8;", 0xff00_0003, 4, 12),
        ("mad24.hi.s32 %r9, %r7, %r8, 1;", 0x80_0000, 2, 1_u32.wrapping_sub(256)),
        ("sad.s32 %r9, %r7, %r8, 5;", minus(3), 4, 12),
        ("bfind.u32 %r9, %r7;", 0x10, 0, 4),
        ("bfind.s32 %r9, %r7;", minus(2), 0, 0),
        ("bfind.shiftamt.s32 %r9, %r7;", 0x10, 0, 27),
        ("bfind.u32 %r9, %r7;", 0, 0, u32::MAX),
        ("dp4a.u32.s32 %r9, %r7, %r8, 1;", 0xff01_0101, 0xff02_0304, 10_u32.wrapping_sub(255)),
        ("dp2a.hi.s32.u32 %r9, %r7, %r8, 1;", 0xffff_0003, 0x0402_0000, 3),
        ("cvt.sat.s8.s32 %r9, %r7;", 200, 0, 127),
        ("cvt.sat.u8.s32 %r9, %r7;", minus(7), 0, 0),
        ("add.cc.u32 %r9, %r7, %r8; addc.u32 %r9, 0, 0;", u32::MAX, 1, 1),
        ("sub.cc.u32 %r9, %r7, %r8; subc.u32 %r9, 7, 0;", 1, 2, 6),
        ("mad.lo.cc.u32 %r9, %r7, %r8, -1; madc.hi.u32 %r9, %r7, %r8, 0;", 1 << 31, 2, 1),
        ("mad.lo.cc.u32 %r9, %r7, %r8, 1; madc.hi.u32 %r9, %r7, 1, 0;", u32::MAX, 1, 1),
        ("ld.const.u32 %r9, [table+8];", 0, 0, 7),
        ("mov.u64 %rd9, table; ld.const.u32 %r9, [%rd9];", 0, 0, 5),
    ] {
        assert_eq!(computed(code, a, b), expected, "{code}");
    }
}

#[test]
fn floats() {
    let bits =
        |code: &str, a: f32, b: f32| f32::from_bits(computed(code, a.to_bits(), b.to_bits()));
    assert_eq!(bits("add.f32 %r9, %r7, %r8;", 0.1, 0.2), 0.1 + 0.2);
    assert_eq!(bits("fma.rn.f32 %r9, %r7, %r7, %r8;", 0.1, 0.2), 0.1_f32.mul_add(0.1, 0.2));
    assert_eq!(bits("div.rn.f32 %r9, %r7, %r8;", 1.0, 3.0), 1.0 / 3.0);
    assert_eq!(bits("mul.rn.f32 %r9, %r7, 0f40000000;", 1.5, 0.0), 3.0);
    // Constants take the size of the instruction.
    assert_eq!(bits("mov.f32 %r9, 1.0;", 0.0, 0.0), 1.0);
    assert_eq!(bits("fma.rn.f32 %r9, %r7, 0d4000000000000000, -0.5;", 1.5, 0.0), 2.5);
    assert_eq!(bits("st.global.f32 [%rd2], 1.5; ld.global.u32 %r9, [%rd2];", 0.0, 0.0), 1.5);
    assert_eq!(bits("mov.f64 %rd9, 0f40000000; cvt.rn.f32.f64 %r9, %rd9;", 0.0, 0.0), 2.0);
    assert_eq!(bits("mov.b64 {_, %r9}, 2.0;", 0.0, 0.0), 2.0);
    assert_eq!(computed("cvt.rzi.s32.f32 %r9, %r7;", (-2.7_f32).to_bits(), 0) as i32, -2);
    assert_eq!(computed("cvt.rni.s32.f32 %r9, %r7;", 2.5_f32.to_bits(), 0), 2);
    assert_eq!(computed("cvt.rzi.u32.f32 %r9, %r7;", f32::NAN.to_bits(), 0), 0);
    assert_eq!(bits("cvt.rn.f32.s32 %r9, %r7;", f32::from_bits(16_777_217), 0.0), 16_777_216.0);
    assert_eq!(computed("sub.f32 %r9, %r7, %r7;", f32::INFINITY.to_bits(), 0), 0x7fff_ffff);
    // Other roundings and formats.
    assert_eq!(bits("add.rp.f32 %r9, %r7, %r8;", 1.0, 1e-9), 1.0_f32.next_up());
    assert_eq!(bits("mul.ftz.f32 %r9, %r7, %r8;", 1e-30, 1e-10), 0.0);
    assert_eq!(bits("mul.f32 %r9, %r7, %r8;", 1e-30, 1e-10), 1e-30 * 1e-10);
    assert_eq!(bits("fma.rn.sat.f32 %r9, %r7, %r7, %r8;", 2.0, 0.0), 1.0);
    assert_eq!(bits("min.f32 %r9, %r7, %r8;", 0.0, -0.0).to_bits(), 1 << 31);
    assert_eq!(computed("min.NaN.f32 %r9, %r7, %r8;", f32::NAN.to_bits(), 0), 0x7fff_ffff);
    assert_eq!(bits("max.f32 %r9, %r7, %r8;", f32::NAN, -1.0), -1.0);
    assert_eq!(bits("copysign.f32 %r9, %r7, %r8;", -1.0, 3.0), -3.0);
    assert_eq!(bits("cvt.rmi.f32.f32 %r9, %r7;", -2.5, 0.0), -3.0);
    assert_eq!(
        bits("cvt.rna.tf32.f32 %r9, %r7;", f32::from_bits(0x3f80_1000), 0.0),
        1.0 + 2_f32.powi(-10)
    );
    assert_eq!(bits("ex2.approx.ftz.f32 %r9, %r7;", 3.0, 0.0), 8.0);
    assert_eq!(
        computed("cvt.rn.f16x2.f32 %r9, %r7, %r8;", 1_f32.to_bits(), 2_f32.to_bits()),
        0x3c00_4000
    );
    assert_eq!(
        computed("fma.rn.relu.bf16x2 %r9, %r7, %r8, %r8;", 0x3f80_bf80, 0x4000_4040),
        0x4080_0000
    );
    assert_eq!(computed("cvt.rn.f16.u32 %rs1, %r7; cvt.rpi.s32.f16 %r9, %rs1;", 7, 0), 7);
    let far = "cvt.f64.f32 %rd9, %r7; cvt.rzi.s64.f64 %rd9, %rd9; mov.b64 {_, %r9}, %rd9;";
    assert_eq!(computed(far, f32::NAN.to_bits(), 0), 1 << 31);
    let nan = "setp.ltu.f32 %p1, %r7, %r8; selp.u32 %r9, 1, 0, %p1;";
    assert_eq!(computed(nan, f32::NAN.to_bits(), 0), 1);
    assert_eq!(computed(&nan.replace("ltu", "lt"), f32::NAN.to_bits(), 0), 0);
}

/// Sums words: each warp by shuffles, the block in shared memory, all blocks by an atomic addition.
const SUM: &str = "
ld.global.u32 %r10, [%rd3];
mov.u32 %r11, 16;
$L_loop:
shfl.sync.down.b32 %r12, %r10, %r11, 31, -1;
add.s32 %r10, %r10, %r12;
shr.u32 %r11, %r11, 1;
setp.ne.u32 %p1, %r11, 0;
@%p1 bra $L_loop;
mov.u32 %r13, %laneid;
setp.ne.u32 %p2, %r13, 0;
shr.u32 %r14, %r2, 5;
shl.b32 %r14, %r14, 2;
@!%p2 st.shared.u32 [%r14], %r10;
bar.sync 0;
setp.ne.u32 %p3, %r2, 0;
@%p3 bra $L_end;
ld.shared.v2.u32 {%r15, %r16}, [memory];
add.s32 %r15, %r15, %r16;
atom.global.add.u32 %r17, [%rd1], %r15;
st.global.u32 [%rd4], %r17;
$L_end:
";

#[test]
fn threads_work_together() {
    let first: Vec<u32> = (0..64).collect();
    let result = run(
        &SUM.replace("[%rd1], %r15", "[%rd2+4], %r15").replace(
            "ld.global.u32 %r10",
            "setp.eq.u32 %p4, %r5, 1; @%p4 st.global.u32 [%rd4], 0; ld.global.u32 %r10",
        ),
        1,
        64,
        &first,
        0,
    );
    // Thread 1 sets the word, and thread 0 adds to it behind a barrier and keeps the old value.
    assert_eq!(result.unwrap()[..2], [0, first.iter().sum::<u32>()]);
    // The two lanes of a small block are all that count: none is beyond 9, and none equals another.
    let few = "setp.gt.u32 %p1, %r2, 9; vote.sync.uni.pred %p1, %p1, -1; and.b32 %r8, %r2, 1;
        match.any.sync.b32 %r9, %r8, -1; @%p1 add.s32 %r9, %r9, 8; st.global.u32 [%rd4], %r9;";
    assert_eq!(run(few, 1, 2, &[], 0).unwrap(), [9, 10]);
    let chosen = "elect.sync %r8|%p1, 0xffffffff; @%p1 add.s32 %r8, %r8, 7;
        st.global.u32 [%rd4], %r8;";
    assert_eq!(run(chosen, 1, 32, &[], 0).unwrap()[..2], [7, 0]);
    // A jump by a number, and a call whose threads part.
    let jumps = "$L_table: .branchtargets $L_0, $L_1; and.b32 %r8, %r2, 1; brx.idx %r8, $L_table;
        $L_0: mov.u32 %r9, 10; bra $L_2; $L_1: mov.u32 %r9, 20; $L_2: st.global.u32 [%rd4], %r9;";
    assert_eq!(run(jumps, 1, 4, &[], 0).unwrap(), [10, 20, 10, 20]);
    let broken = broken(&jumps.replace("brx.idx %r8", "brx.idx %r2"), 1, 4);
    assert_eq!((broken.rule, broken.thread), (Rule::NoTarget, [2, 0, 0]));
    let spaces = "mov.u32 %r8, memory; cvt.u64.u32 %rd9, %r8; cvta.shared.u64 %rd9, %rd9;
        isspacep.shared %p1, %rd9; isspacep.global %p2, %rd9; isspacep.global %p3, %rd1;
        selp.b32 %r9, 1, 0, %p1; @%p2 add.s32 %r9, %r9, 2; @%p3 add.s32 %r9, %r9, 4;
        st.u32 [%rd9], %r9; ld.shared.u32 %r9, [memory]; st.global.u32 [%rd4], %r9;";
    assert_eq!(run(spaces, 1, 1, &[], 0).unwrap(), [5]);
    // Lanes that write the same byte do not race, though their registers differ.
    let bytes = "shl.b32 %r9, %r2, 8; st.shared.u8 [memory], %r9; st.global.u32 [%rd4], %r2;";
    assert_eq!(run(bytes, 1, 2, &[], 0).unwrap(), [0, 1]);
    // Half of the warp takes another way, and shuffles among itself.
    let parted = "setp.lt.u32 %p1, %r2, 16; xor.b32 %r8, %r2, 1; @%p1 bra $L_1; \
        shfl.sync.idx.b32 %r9, %r2, %r8, 31, 0xffff0000; bra $L_2; \
        $L_1: shfl.sync.bfly.b32 %r9, %r2, 2, 31, 0xffff; \
        $L_2: bar.warp.sync -1; st.global.u32 [%rd4], %r9;";
    let expected: Vec<u32> = (0..32).map(|i| if i < 16 { i ^ 2 } else { i ^ 1 }).collect();
    assert_eq!(run(parted, 1, 32, &[], 0).unwrap(), expected);
}

#[test]
fn blocks_add_to_one_word() {
    let numbers: Vec<u32> = (0..192).collect();
    let body =
        SUM.replace("[%rd1], %r15", "[%rd2], %r15").replace("st.global.u32 [%rd4], %r17;", "");
    let text = kernel(&body);
    let module = parse(&text).unwrap();
    let launch = Launch {
        grid: [3, 1, 1],
        block: [64, 1, 1],
        shared_bytes: 8,
        most_instructions: 1 << 20,
        ..Launch::new(&module, "k")
    };
    let mut arrays = [words(&numbers), words(&[1000])];
    let arguments = [Argument::Array(0), Argument::Array(1), Argument::Number(0)];
    let count = launch.run(&mut arrays, &arguments).unwrap();
    assert_eq!(read(&arrays[1]), [1000 + numbers.iter().sum::<u32>()]);
    assert!(count > 192 * 40, "{count}");
    let short = Launch { most_instructions: 1000, ..launch };
    let refused = short.run(&mut arrays, &arguments).unwrap_err();
    assert!(matches!(refused, Error::Broken(broken) if broken.rule == Rule::TooLong));
}

#[test]
fn products_of_matrices() {
    // All elements of `a` are 2 and all of `b` are -3, so each of 32 terms is -6.
    let product = "mov.u32 %r10, 0x02020202; mov.u32 %r11, 0xfdfdfdfd; mov.u32 %r12, 1;
        mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r20, %r21, %r22, %r23},
        {%r10, %r10, %r10, %r10}, {%r11, %r11}, {%r12, %r12, %r12, %r12};
        st.global.u32 [%rd4], %r23;";
    assert_eq!(run(product, 1, 32, &[], 0).unwrap(), [1_u32.wrapping_sub(192); 32]);
    // All elements are one half in sums of one half, or of 19 bits, or are the same double.
    for (product, expected) in [
        (
            "mov.u32 %r10, 0x38003800; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16
            {%r20, %r21}, {%r10, %r10}, {%r10}, {%r10, %r10}; st.global.u32 [%rd4], %r21;",
            0x4100_4100,
        ),
        (
            "mov.u32 %r10, 0x3f000fff; mov.u32 %r11, 0;
            mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32
            {%r20, %r21, %r22, %r23}, {%r10, %r10}, {%r10}, {%r11, %r11, %r11, %r11};
            st.global.u32 [%rd4], %r22;",
            1_f32.to_bits(),
        ),
        (
            "mov.b64 %rd9, 0d4000000000000000; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
            {%rd10, %rd11}, {%rd9}, {%rd9}, {%rd9, %rd9}; cvt.rzi.u32.f64 %r9, %rd11;
            st.global.u32 [%rd4], %r9;",
            18,
        ),
        (
            "mov.u32 %r10, 0x80808080; mov.u32 %r11, 0x7fffffff;
            mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32
            {%r20, %r21}, {%r10}, {%r10}, {%r11, %r11}; st.global.u32 [%rd4], %r21;",
            0x7fff_ffff,
        ),
        (
            "mov.u32 %r10, 0xffffffff; mov.u32 %r11, 0x80808080; mov.u32 %r12, 0x80000000;
            mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32
            {%r20, %r21}, {%r10}, {%r11}, {%r12, %r12}; st.global.u32 [%rd4], %r21;",
            0x8000_0000,
        ),
        // The same sum wraps. Then `d` is `c`, and unsigned factors are large.
        (
            "mov.u32 %r10, 0xffffffff; mov.u32 %r11, 0x80808080; mov.u32 %r12, 0x80000000;
            mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32
            {%r20, %r21}, {%r10}, {%r11}, {%r12, %r12}; st.global.u32 [%rd4], %r21;",
            0x8000_0000_u32.wrapping_sub(16 * 255 * 128),
        ),
        (
            "mov.u32 %r10, 0xffffffff; mov.u32 %r20, 5; mov.u32 %r21, 6;
            mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32
            {%r20, %r21}, {%r10}, {%r10}, {%r20, %r21}; st.global.u32 [%rd4], %r21;",
            16 * 255 * 255 + 6,
        ),
    ] {
        assert_eq!(run(product, 1, 32, &[], 0).unwrap(), [expected; 32], "{product}");
    }
    // All lanes take part.
    assert_eq!(broken(product, 1, 16).rule, Rule::Lane(16));
    // A row of 16 bytes for each of 8 lanes; each lane gets a word.
    let load = "shl.b32 %r10, %r2, 2; st.shared.u32 [%r10], %r2; bar.warp.sync -1;
        and.b32 %r11, %r2, 7; shl.b32 %r11, %r11, 4;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12}, [%r11]; st.global.u32 [%rd4], %r12;";
    assert_eq!(run(load, 1, 32, &[], 0).unwrap(), (0..32).collect::<Vec<u32>>());
}

#[test]
fn copies_arrive_when_they_are_awaited() {
    let copy = "shl.b32 %r10, %r2, 2; cp.async.ca.shared.global [%r10], [%rd3], 4;
        cp.async.commit_group; cp.async.wait_group 0;
        ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd4], %r11;";
    let numbers: Vec<u32> = (100..132).collect();
    assert_eq!(run(copy, 1, 32, &numbers, 0).unwrap(), numbers);
    let early = copy.replace("wait_group 0", "wait_group 1");
    assert!(matches!(broken(&early, 1, 32).rule, Rule::Undefined(0)));
    // The thread writes there while the copy is under way.
    let both = copy.replace("cp.async.wait", "st.shared.u32 [%r10], 7; cp.async.wait");
    assert!(matches!(broken(&both, 1, 32).rule, Rule::Race { is_write: true, byte: 0, .. }));
}

#[test]
fn faults_name_the_thread_and_the_place() {
    let write = "shl.b32 %r10, %r2, 2; st.shared.u32 [%r10], %r2;";
    let far = "xor.b32 %r11, %r10, 128; ld.shared.u32 %r12, [%r11]; st.global.u32 [%rd4], %r12;";
    assert!(run(&format!("{write} bar.sync 0; {far}"), 1, 64, &[], 0).is_ok());
    let race = broken(&format!("{write} {far}"), 1, 64);
    assert!(
        matches!(race.rule, Rule::Undefined(128)) && race.thread == [0, 0, 0],
        "the other warp has written nothing yet: {race}"
    );
    // One warp reads, and then the other one writes without a barrier between.
    let late = "shl.b32 %r10, %r2, 2; st.shared.u32 [%r10], %r2; bar.sync 0; \
        xor.b32 %r11, %r10, 128; setp.lt.u32 %p1, %r2, 32; \
        @%p1 ld.shared.u32 %r12, [%r11]; @!%p1 st.shared.u32 [%r10], %r2;";
    let race = broken(late, 1, 64);
    let Rule::Race { thread, is_write, .. } = race.rule else { panic!("{race}") };
    assert_eq!((race.thread, thread, is_write), ([32, 0, 0], [0, 0, 0], false));
    // Threads of a warp race, too, unless they meet.
    let near = "xor.b32 %r11, %r10, 4; ld.shared.u32 %r12, [%r11]; st.global.u32 [%rd4], %r12;";
    let race = broken(&format!("{write} {near}"), 1, 32);
    assert!(matches!(race.rule, Rule::Race { is_write: true, .. }), "{race}");
    assert!(race.to_string().contains("ld.shared.u32 %r12, [%r11]: race on byte 4"), "{race}");
    assert!(run(&format!("{write} bar.warp.sync -1; {near}"), 1, 32, &[], 0).is_ok());
    // Blocks race on an array.
    let blocks = "st.global.u32 [%rd2], %r3;";
    assert!(matches!(broken(blocks, 2, 1).rule, Rule::Race { block: [0, 0, 0], .. }));
    let atomic = "st.global.u32 [%rd4], %r3; red.global.add.u32 [%rd2], 1;";
    assert!(matches!(broken(atomic, 2, 1).rule, Rule::Race { .. }));
    // The second of two threads writes beside what the first one adds.
    let added = "setp.eq.u32 %p1, %r2, 1; @!%p1 st.shared.u32 [memory], 0; bar.warp.sync -1; \
        red.shared.add.u32 [memory], 1; @%p1 st.shared.u32 [memory], 7;";
    let Rule::Race { thread, .. } = broken(added, 1, 2).rule else { panic!("no race") };
    assert_eq!(thread, [0, 0, 0]);

    for (code, rule) in [
        (
            "st.global.u32 [%rd4+256], %r2;",
            Rule::OutOfBounds { offset: 256, bytes: 4, length: 256 },
        ),
        ("ld.shared.u32 %r9, [1024];", Rule::OutOfBounds { offset: 1024, bytes: 4, length: 1024 }),
        ("ld.global.u32 %r9, [%rd1+2];", Rule::Misaligned { offset: 2, bytes: 4 }),
        ("ld.global.v2.u32 {%r8, %r9}, [%rd1+4];", Rule::Misaligned { offset: 4, bytes: 8 }),
        ("ld.global.u32 %r9, [%rd4];", Rule::Undefined(0)),
        ("ld.shared.u32 %r9, [0];", Rule::Undefined(0)),
        ("ld.global.u32 %r9, [16];", Rule::NoMemory(16)),
        ("setp.lt.u32 %p1, %r2, 8; @%p1 bar.sync 0;", Rule::Divergent),
        ("setp.lt.u32 %p1, %r2, 8; @%p1 bar.warp.sync 0xffff; bar.sync 0;", Rule::Divergent),
        ("bar.warp.sync 2;", Rule::NotInSet),
        (
            "setp.eq.u32 %p1, %r2, 31; @%p1 ret; shfl.sync.idx.b32 %r9, %r2, 31, 31, -1;",
            Rule::Lane(31),
        ),
        ("$L_1: bra $L_1;", Rule::TooLong),
        ("call.uni __assertfail, (%r2);", Rule::Trap),
    ] {
        let broken = broken(code, 1, 64);
        assert_eq!(broken.rule, rule, "{code}");
        assert_eq!((broken.block, &*broken.kernel), ([0, 0, 0], "k"), "{code}");
    }
    let table = "mov.u64 %rd9, table; st.global.u32 [%rd9], %r2;";
    assert_eq!(broken(table, 1, 1).rule, Rule::Constant);
}

#[test]
fn barriers_open_for_as_many_threads_as_they_count() {
    let pairs = "shl.b32 %r10, %r2, 2; st.shared.u32 [%r10], %r2; shr.u32 %r13, %r2, 6; \
        bar.sync %r13, 64; \
        xor.b32 %r11, %r10, 128; ld.shared.u32 %r12, [%r11]; st.global.u32 [%rd4], %r12;";
    let others: Vec<u32> = (0..128).map(|thread| thread ^ 32).collect();
    assert_eq!(run(pairs, 1, 128, &[], 0), Ok(others));
    // The third warp waits for ever, and the two pairs of four warps do not meet.
    let alone = broken(pairs, 1, 96);
    assert_eq!((alone.rule, alone.thread), (Rule::Divergent, [64, 0, 0]));
    let far = pairs.replace("%r10, 128", "%r10, 256");
    assert!(matches!(broken(&far, 1, 128).rule, Rule::Race { is_write: true, .. }));
    // Which two of four warps meet at one barrier?
    assert_eq!(broken(&pairs.replace("bar.sync %r13", "bar.sync 1"), 1, 128).rule, Rule::Divergent);
    for code in [
        "bar.sync 1, 48;",
        "bar.sync 1, 0;",
        "setp.lt.u32 %p1, %r2, 32; @%p1 bar.sync 1, 64; @!%p1 bar.sync 1, 96;",
        // Those that do not wait arrive twice, count others, or are a part of a warp.
        "setp.lt.u32 %p1, %r2, 32; @%p1 bar.arrive 1, 64; @%p1 bar.arrive 1, 64; \
         @!%p1 bar.sync 1, 64;",
        "setp.lt.u32 %p1, %r2, 32; @%p1 bar.arrive 1, 96; @!%p1 bar.sync 1, 64;",
        "setp.lt.u32 %p1, %r2, 31; @%p1 bar.arrive 1, 64; @!%p1 ret; ret;",
        "setp.lt.u32 %p1, %r2, 32; mov.u32 %r9, 0; \
         $L_1: @%p1 barrier.arrive 1, -1; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 99; \
         @%p2 bra $L_1;",
    ] {
        assert_eq!(broken(code, 1, 64).rule, Rule::Divergent, "{code}");
    }
}

#[test]
fn barriers_order_only_those_who_meet() {
    let neighbour = "shl.b32 %r10, %r2, 2; st.shared.u32 [%r10], %r2; xor.b32 %r11, %r10, 4; \
        setp.lt.u32 %p1, %r2, 32; setp.lt.u32 %p2, %r2, 33; BARRIER \
        READER ld.shared.u32 %r12, [%r11];";
    let with = |barrier: &str, reader: &str, threads| {
        let code = neighbour.replace("BARRIER", barrier).replace("READER", reader);
        run(&code, 1, threads, &[], 0)
    };
    let races = |barrier, reader, threads| match with(barrier, reader, threads) {
        Err(Error::Broken(broken)) => matches!(broken.rule, Rule::Race { .. }),
        _ => false,
    };
    assert!(with("barrier.sync 1, 64;", "", 64).is_ok());
    // Those of another barrier, or who do not wait, have not met.
    assert!(races("@%p1 barrier.sync 1, 32; @!%p1 bra $L_1; $L_1:", "@!%p1", 64));
    assert!(races("@%p2 barrier.sync 1, 33;", "@%p2", 64));
    assert!(races("@%p1 bar.arrive 1, 64;", "@%p1", 64));
    assert!(!races("@%p1 barrier.sync 1, 32;", "@%p1", 64));
}

#[test]
fn unknown_instructions_are_named() {
    for statement in [
        "ex2.f32 %r9, %r8;",
        "max.f32 %r9, %r6, %r7, %r8;",
        "add.u32 %r9, %r8;",
        "lop3.b32 %r9, %r8, %r8, %r8;",
        "setp.lt.and.u32 %p1, %r8, %r9;",
        "setp.lt.u32 %p1, %r8, %r9, %p2;",
        "cvt.rn.f16x2.f32 %r9, %r8;",
        "neg.s32 %r9, %r8, %r8;",
        "mov.b32 %r9, 1.0;",
        "add.f16 %rs1, %rs2, 1.0;",
        "cvt.f16.f32 %rs1, %r8;",
        "cvt.rn.satfinite.e4m3x2.f32 %rs1, %r7, %r8;",
        "add.sat.u32 %r9, %r8, 1;",
        "div.f32 %r9, %r8, %r8;",
        "bar.sync 16;",
        "call (%r9), f, (%r8);",
        "call.uni k;",
        "brx.idx %r9, $L_table;",
        "atom.global.add.f32.v2 %r9, [%rd1], %r8;",
        "wgmma.fence.sync.aligned;",
        "tex.1d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [a, {%r5}];",
        "mov.u32 %r9, %smid;",
        "cvt.u32.b128 %r9, %r8;",
        "ldmatrix.sync.aligned.m8n8.x5.shared.b16 {%r1, %r2, %r3, %r4, %r5}, [%r6];",
    ] {
        let text = statement.trim_end_matches(';');
        match run(statement, 1, 1, &[], 0) {
            Err(Error::Unknown { text: named, at, .. }) => {
                assert_eq!((&*named, at.line), (text, BODY + 6));
            }
            other => panic!("{statement}: {other:?}"),
        }
    }
}

#[test]
fn variables_hold_constants_of_their_size() {
    let text = kernel("ld.const.f32 %r9, [table+4]; st.global.u32 [%rd4], %r9;")
        .replace(".u32 table[3] = {5, 6, 7}", ".f32 table[3] = {1.0, 2.5, 0f3F800000}");
    let module = parse(&text).unwrap();
    let mut arrays = [words(&[]), Array::undefined(4)];
    let arguments = [Argument::Array(0), Argument::Array(1), Argument::Number(0)];
    Launch::new(&module, "k").run(&mut arrays, &arguments).unwrap();
    assert_eq!(read(&arrays[1]), [2.5_f32.to_bits()]);
}

#[test]
fn atomic_stores_define_memory() {
    for order in ["relaxed", "release"] {
        let body = format!("st.{order}.gpu.global.u32 [%rd4], %r2;");
        assert_eq!(run(&body, 1, 2, &[], 0), Ok(vec![0, 1]));
    }
    // Several are no race, and one beside others is.
    assert_eq!(
        run(
            "st.relaxed.gpu.global.u32 [%rd2], 7; st.relaxed.gpu.global.u32 [%rd2+4], 8;",
            2,
            1,
            &[],
            0
        ),
        Ok(vec![7, 8])
    );
    let beside = "st.relaxed.gpu.global.u32 [%rd2], %r3; st.global.u32 [%rd2], %r3;";
    assert!(matches!(broken(beside, 2, 1).rule, Rule::Race { .. }));
    let early = "atom.global.add.u32 %r9, [%rd4], 1;";
    assert_eq!(broken(early, 1, 1).rule, Rule::Undefined(0));
}

#[test]
fn functions_inside_one_another_have_limits() {
    // Function `i` calls the next one, some of them twice. None has another instruction.
    let calls = |count: usize, times: usize| -> String {
        let mut text = format!(".func f{count}() {{ ret; }}\n");
        for i in (0..count).rev() {
            let call = format!("call f{};", i + 1).repeat(times);
            text += &format!(".func f{i}() {{ {call} }}\n");
        }
        text + ".entry k() { call f0; }"
    };
    let launch = |text: &str| {
        let module = parse(text).unwrap();
        Launch::new(&module, "k").run(&mut [], &[])
    };
    assert!(launch(&calls(40, 1)).is_ok());
    assert!(matches!(launch(&calls(1000, 1)), Err(Error::Unknown { .. })));
    let empty = calls(40, 2).replace(".func f40() { ret; }", ".func f40() {}");
    assert!(matches!(launch(&empty), Err(Error::Unknown { .. })));
}

#[test]
fn launches_that_cannot_begin() {
    let text = kernel("");
    let module = parse(&text).unwrap();
    let launch = Launch { most_instructions: 100, ..Launch::new(&module, "k") };
    let refused = |launch: &Launch<'_>, arguments: &[Argument]| {
        launch.run(&mut [words(&[1])], arguments).unwrap_err()
    };
    let arguments = [Argument::Array(0), Argument::Array(0), Argument::Number(0)];
    assert_eq!(launch.run(&mut [words(&[1])], &arguments), Ok(13));
    assert!(matches!(refused(&launch, &arguments[..2]), Error::Count { takes: 3, given: 2, .. }));
    let [a, ..] = &arguments;
    for (index, arguments) in [
        (1, [a.clone(), Argument::Array(1), Argument::Number(0)]),
        (2, [a.clone(), a.clone(), a.clone()]),
        (2, [a.clone(), a.clone(), Argument::Bytes { bytes: vec![0; 5], addresses: vec![] }]),
        (
            0,
            [
                Argument::Bytes { bytes: vec![0; 8], addresses: vec![(1, 0)] },
                a.clone(),
                Argument::Number(0),
            ],
        ),
    ] {
        let error = refused(&launch, &arguments);
        assert!(matches!(error, Error::Argument { index: i, .. } if i == index), "{error}");
    }
    for (grid, block) in [([0, 1, 1], [1; 3]), ([1; 3], [1025, 1, 1]), ([u32::MAX; 3], [1; 3])] {
        let launch = Launch { grid, block, ..launch.clone() };
        assert_eq!(refused(&launch, &arguments), Error::Shape);
    }
    let other = Launch { kernel: "other", ..launch.clone() };
    assert_eq!(refused(&other, &arguments), Error::NoKernel("other".into()));
    let large = Launch { shared_bytes: u32::MAX, ..launch.clone() };
    assert!(matches!(refused(&large, &arguments), Error::Memory { what: "shared memory", .. }));
    let small = Launch { most_bytes: 1 << 12, ..launch.clone() };
    let error = launch.run(&mut [Array::undefined(1000)], &arguments).and(Ok(()));
    assert_eq!(error, Ok(()));
    let error = small.run(&mut [Array::undefined(1000)], &arguments).unwrap_err();
    assert!(matches!(error, Error::Memory { what: "all memory", .. }), "{error}");
    // Registers take memory, too.
    let names: String = (0..999).map(|i| format!("mov.u32 %q{i}, 0; ")).collect();
    let text = kernel(&format!(".reg .b32 %q<999>; {names}"));
    let module = parse(&text).unwrap();
    let registers = Launch { most_bytes: 1 << 22, ..Launch::new(&module, "k") };
    assert!(registers.run(&mut [words(&[1])], &arguments).is_ok());
    let registers = Launch { block: [1024, 1, 1], ..registers };
    assert!(matches!(refused(&registers, &arguments), Error::Memory { what: "all memory", .. }));
    let text = kernel("$L_1: bra $L_1;");
    let module = parse(&text).unwrap();
    let forever = Launch {
        most_time: Some(std::time::Duration::from_millis(20)),
        ..Launch::new(&module, "k")
    };
    let Error::Broken(broken) = refused(&forever, &arguments) else { panic!() };
    assert_eq!(broken.rule, Rule::TooSlow);
}

/// Runs on this many threads of the CPU.
fn on<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(job)
}

#[test]
fn blocks_on_several_threads_do_as_one_by_one() {
    let waste = "mov.u32 %r20, 0; $L_1: add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, 400; \
        @%p5 bra $L_1;";
    let numbers: Vec<u32> = (0..64 * 32).collect();
    for (code, ends) in [
        // Each block has its own words, and all read the same.
        ("ld.global.u32 %r9, [%rd1+4]; add.u32 %r9, %r9, %r5; st.global.u32 [%rd4], %r9;", true),
        // All blocks change a word, by atomic operations or by others.
        ("st.global.u32 [%rd4], %r5; red.global.add.u32 [%rd1], 1;", true),
        ("atom.global.add.u32 %r9, [%rd1], 1; st.global.u32 [%rd4], %r9;", true),
        ("st.global.u32 [%rd1], %r5;", false),
        // Each block waits for the one before, which would never end if it could not see it.
        (
            "setp.eq.u32 %p2, %r2, 0; @!%p2 bra $L_3; \
             $L_2: ld.relaxed.gpu.global.u32 %r9, [%rd1]; setp.lt.u32 %p1, %r9, %r3; \
             @%p1 bra $L_2; atom.global.add.u32 %r9, [%rd1], 1; \
             $L_3: bar.sync 0; st.global.u32 [%rd4], %r5;",
            true,
        ),
        // Only block 47 writes what the others read.
        (
            "setp.eq.u32 %p1, %r3, 47; @%p1 st.global.u32 [%rd1], 5; \
             @!%p1 ld.global.u32 %r9, [%rd1];",
            false,
        ),
        ("setp.eq.u32 %p1, %r3, 47; @%p1 st.global.u32 [%rd1+16384], %r5;", false),
        // Two blocks read bytes of a word, and a third one writes the second of them.
        (
            "setp.eq.u32 %p1, %r3, 1; @%p1 ld.global.u8 %r9, [%rd1]; \
             setp.eq.u32 %p1, %r3, 6; @%p1 ld.global.u8 %r9, [%rd1+1]; \
             setp.eq.u32 %p1, %r3, 11; @%p1 st.global.u8 [%rd1+1], 5;",
            false,
        ),
        // A block reads a byte of a word, two read the next one, and a fourth one writes that.
        (
            "setp.eq.u32 %p1, %r3, 1; @%p1 ld.global.u8 %r9, [%rd1]; \
             setp.eq.u32 %p1, %r3, 6; @%p1 ld.global.u8 %r9, [%rd1+1]; \
             setp.eq.u32 %p1, %r3, 11; @%p1 ld.global.u8 %r9, [%rd1+1]; \
             setp.eq.u32 %p1, %r3, 20; @%p1 st.global.u8 [%rd1+1], 5;",
            false,
        ),
    ] {
        let job = || {
            let text = kernel(&format!("{waste} {code}"));
            let module = parse(&text).unwrap();
            let launch =
                Launch { grid: [64, 1, 1], block: [32, 1, 1], ..Launch::new(&module, "k") };
            let mut arrays = [words(&numbers), Array::undefined(4 * 64 * 32)];
            let arguments = [Argument::Array(0), Argument::Array(1), Argument::Number(0)];
            (launch.run(&mut arrays, &arguments), arrays)
        };
        let alone = on(1, job);
        assert_eq!(alone.0.is_ok(), ends, "{code}: {:?}", alone.0);
        assert!(on(3, job) == alone, "{code}");
    }
}
