//! Tests the findings of the analysis of PTX: a few lines for each class, with and without a leak.

mod common;

use ptx_check::flow::analysis::{Report, Secrets, analyse};
use ptx_check::flow::program::{Class, Objects};
use ptx_check::flow::ptx::decode;

/// Returns a kernel with `body`. Before it, `%r90` and `%p1` hold secrets from the first array, and
/// `%p2` holds a public condition. After it, the kernel stores a secret, because a kernel without
/// such a store is a finding.
fn kernel(body: &str) -> String {
    common::kernel(&format!(
        "setp.lt.u32 %p2, %r2, %r1;
ld.global.b32 %r90, [%rd1];
setp.eq.b32 %p1, %r90, 5;
{body}
{STORE}"
    ))
}

const STORE: &str = "st.global.b32 [%rd2], %r90;";

fn report(body: &str) -> Report {
    let programs = decode(&kernel(body)).unwrap_or_else(|error| panic!("{error}"));
    analyse(&programs[0], Secrets::AllBut(Objects::NONE))
}

#[track_caller]
fn leaks(class: Class, body: &str) {
    let classes: Vec<Class> = report(body).findings.iter().map(|finding| finding.class).collect();
    assert_eq!(classes, [class], "{body}");
}

#[track_caller]
fn passes(body: &str) {
    assert_eq!(report(body).findings, [], "{body}");
}

#[track_caller]
fn refused(statement: &str) {
    let error = decode(&kernel(statement)).expect_err(statement);
    assert_eq!(error.kernel, "k", "{error}");
    assert_eq!(error.text, statement.trim_end_matches(';'), "{error}");
}

#[test]
fn addresses_of_global_memory() {
    passes("mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r3, [%rd4+4];");
    let address = "mul.wide.u32 %rd3, %r90, 4;\nadd.s64 %rd4, %rd1, %rd3;\n";
    leaks(Class::LoadAddress, &format!("{address}ld.global.b32 %r3, [%rd4];"));
    leaks(
        Class::LoadAddress,
        &format!("{address}ld.global.v4.b32 {{%r3, %r4, %r5, %r6}}, [%rd4+16];"),
    );
    leaks(Class::StoreAddress, &format!("{address}st.global.b32 [%rd4], %r90;"));
}

#[test]
fn tables() {
    let address = |index| {
        format!(
            "mul.wide.u32 %rd3, {index}, 4;\nmov.b64 %rd5, variable;\nadd.s64 %rd4, %rd5, %rd3;\n"
        )
    };
    passes(&format!("{}ld.global.nc.b32 %r3, [%rd4];", address("%r2")));
    leaks(Class::LoadAddress, &format!("{}ld.global.nc.b32 %r3, [%rd4];", address("%r90")));
    // The content of a table is public, so it may be an address.
    passes(&format!("{}ld.global.nc.b32 %r3, [%rd4];\nld.shared.u32 %r4, [%r3];", address("%r2")));
    leaks(Class::TableStore, &format!("{}st.global.b32 [%rd4], %r90;", address("%r2")));
}

#[test]
fn variables_that_others_write_are_no_tables() {
    let load = "mov.b64 %rd5, variable;\nld.global.b32 %r3, [%rd5];\nld.shared.u32 %r4, [%r3];";
    passes(load);
    let declared = ".global .align 4 .b8 variable[8] = {1, 0, 0, 0, 2, 0, 0, 0};";
    let text = kernel(load);
    assert!(text.contains(declared));
    // The host finds a variable by its name, or fills one that has no content.
    for other in [
        &*format!(".visible {declared}"),
        &format!(".weak {declared}"),
        ".global .align 4 .b8 variable[8];",
        ".extern .const .align 4 .b8 variable[8];",
    ] {
        let error = decode(&text.replace(declared, other)).expect_err(other);
        assert_eq!(error.text, "mov.b64 %rd5, variable", "{error}");
        // A kernel that does not name it may be checked.
        assert!(decode(&kernel("").replace(declared, other)).is_ok());
    }
}

#[test]
fn numbers_without_marks_are_no_arrays() {
    let text = ".version 7.0\n.visible .entry k(.param .u64 seed, .param .u64 out)
        { .reg .pred %p<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [seed]; ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd3, %rd2;
        and.b64 %rd4, %rd1, 1; setp.eq.s64 %p1, %rd4, 0; @%p1 bra L;
        st.global.u64 [%rd3], %rd1; L: ret; }";
    let classes = |text: &str, parameter| {
        let report = analyse(&decode(text).unwrap()[0], Secrets::Only(Objects::array(parameter)));
        report.findings.iter().map(|finding| finding.class).collect::<Vec<_>>()
    };
    assert_eq!(classes(text, 0), [Class::Branch]);
    assert_eq!(classes(text, 1), []);
    // The value goes through another register, and then the first one holds a pointer.
    let again = text
        .replace("ld.param.u64 %rd2", "mov.u64 %rd5, %rd1; ld.param.u64 %rd1")
        .replace("%rd3, %rd2", "%rd3, %rd1")
        .replace("%rd4, %rd1", "%rd4, %rd5");
    assert_eq!(classes(&again, 0), [Class::Branch]);
    // An address that nothing converts has no known array.
    let plain = text.replace("cvta.to.global.u64 %rd3, %rd2", "add.s64 %rd3, %rd2, 8");
    assert_eq!(classes(&plain, 1), [Class::StoreAddress, Class::NoObject]);
    assert_eq!(classes(&plain, 0), [Class::Branch, Class::NoObject]);
}

#[test]
fn indices_of_parameters() {
    let load = |index| {
        format!(
            "mov.b64 %rd3, a;\nmul.wide.u32 %rd4, {index}, 8;
            add.s64 %rd5, %rd3, %rd4;\nld.param.b32 %r3, [%rd5];"
        )
    };
    passes(&load("%r2"));
    leaks(Class::ConstantAddress, &load("%r90"));
}

#[test]
fn what_arrays_hold_is_no_address() {
    leaks(
        Class::LoadAddress,
        "ld.global.b64 %rd5, [%rd1];\nadd.s64 %rd6, %rd1, %rd5;\nld.global.b32 %r3, [%rd6];",
    );
    let pointer = report("ld.global.b64 %rd5, [%rd1];\nld.global.b32 %r3, [%rd5];");
    let classes: Vec<_> = pointer.findings.iter().map(|finding| finding.class).collect();
    assert_eq!(classes, [Class::LoadAddress, Class::NoObject]);
    leaks(Class::NoObject, "cvt.u64.u32 %rd5, %r2;\nld.global.b32 %r3, [%rd5];");
}

#[test]
fn shared_memory() {
    passes(
        "st.shared.u32 [%r2], %r90;\nbar.sync 0;\nld.shared.u32 %r3, [%r2];\n\
            st.global.b32 [%rd2], %r3;",
    );
    leaks(Class::SharedStoreAddress, "st.shared.u32 [%r90], %r2;");
    leaks(Class::SharedLoadAddress, "ld.shared.u32 %r3, [%r90];");
    // Shared memory is one object, which may hold secrets of earlier blocks.
    leaks(Class::SharedLoadAddress, "ld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [%r3];");
    let through =
        "st.shared.u32 [%r2], %r90;\nld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [%r3];";
    leaks(Class::SharedLoadAddress, through);
    leaks(
        Class::SharedLoadAddress,
        "$L_1:\nld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [%r3];\nst.shared.u32 [%r2], %r90;\n\
            @%p2 bra $L_1;",
    );
}

#[test]
fn arrays_written_and_read_again() {
    leaks(
        Class::LoadAddress,
        "st.global.b32 [%rd2], %r90;\nld.global.b32 %r3, [%rd2];\nmul.wide.u32 %rd3, %r3, 4;
        add.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r4, [%rd4];",
    );
}

#[test]
fn branches_guards_and_exits() {
    passes("@%p2 bra $L_1;\nadd.s32 %r3, %r2, 1;\n$L_1:");
    leaks(Class::Branch, "@%p1 bra $L_1;\nadd.s32 %r3, %r2, 1;\n$L_1:");
    leaks(Class::Branch, "@!%p1 bra $L_1;\nadd.s32 %r3, %r2, 1;\n$L_1:");
    passes("@%p2 ld.global.b32 %r3, [%rd1];\n@%p2 st.shared.u32 [%r2], %r90;");
    leaks(Class::AccessGuard, "@%p1 ld.global.b32 %r3, [%rd1];");
    leaks(Class::AccessGuard, "@%p1 st.global.b32 [%rd2], %r90;");
    leaks(Class::AccessGuard, "@!%p1 st.shared.u32 [%r2], %r2;");
    passes("@%p2 ret;");
    leaks(Class::ExitGuard, "@%p1 ret;");
    // The time of arithmetic does not depend on its guard, but its result does.
    passes("@%p1 add.s32 %r3, %r2, 1;\nst.global.b32 [%rd2], %r3;");
    leaks(
        Class::SharedLoadAddress,
        "mov.b32 %r3, %r2;\n@%p1 mov.b32 %r3, %r1;\nld.shared.u32 %r4, [%r3];",
    );
    // A condition that is computed from a secret condition is secret.
    leaks(Class::Branch, "and.pred %p3, %p1, %p2;\nnot.pred %p4, %p3;\n@%p4 bra $L_1;\n$L_1:");
    leaks(Class::Branch, "setp.lt.and.u32 %p3, %r2, %r1, %p1;\n@%p3 bra $L_1;\n$L_1:");
}

#[test]
fn choices_between_addresses() {
    let choice = |condition| {
        format!(
            "add.s64 %rd3, %rd1, 64;\nselp.b64 %rd4, %rd1, %rd3, {condition};\n\
                ld.global.b32 %r3, [%rd4];"
        )
    };
    passes(&choice("%p2"));
    leaks(Class::LoadAddress, &choice("%p1"));
    // A choice between two arrays.
    leaks(Class::LoadAddress, "selp.b64 %rd4, %rd1, %rd2, %p1;\nld.global.b32 %r3, [%rd4];");
    // One between an array and a number, which may be the address of anything.
    leaks(
        Class::NoObject,
        "cvt.u64.u32 %rd5, %r2;\nselp.b64 %rd4, %rd1, %rd5, %p2;\nld.global.b32 %r3, [%rd4];",
    );
    leaks(
        Class::NoObject,
        "mov.b64 %rd4, %rd1;\n@%p2 bra $L_1;\ncvt.u64.u32 %rd4, %r2;\n$L_1:
        ld.global.b32 %r3, [%rd4];",
    );
    passes("@%p2 mov.b64 %rd4, %rd1;\n@%p2 ld.global.b32 %r3, [%rd4];");
    passes(
        "mov.b64 %rd4, %rd1;\n$L_1: ld.global.b32 %r3, [%rd4];\nadd.s64 %rd4, %rd4, 8;\n\
            @%p2 bra $L_1;",
    );
    // A choice between two values, as constant-time kernels make it.
    passes(
        "ld.global.b32 %r3, [%rd1];\nld.global.b32 %r4, [%rd1+64];\nselp.b32 %r5, %r3, %r4, %p1;\n\
            st.global.b32 [%rd2], %r5;",
    );
}

#[test]
fn what_threads_do_together() {
    passes("bar.sync 0;\nbar.warp.sync -1;");
    leaks(Class::Barrier, "@%p1 bar.sync 0;");
    leaks(Class::Barrier, "bar.warp.sync %r90;");
    passes("shfl.sync.idx.b32 %r3, %r90, %r2, 31, -1;\nst.global.b32 [%rd2], %r3;");
    passes("shfl.sync.idx.b32 %r3|%p3, %r90, 0, 31, -1;");
    leaks(Class::ShuffleLane, "shfl.sync.idx.b32 %r3, %r2, %r90, 31, -1;");
    leaks(Class::ShuffleLane, "shfl.sync.idx.b32 %r3, %r2, %r1, %r90, -1;");
    leaks(Class::ShuffleLane, "shfl.sync.idx.b32 %r3, %r2, %r1, 31, %r90;");
    leaks(Class::ShuffleGuard, "@%p1 shfl.sync.idx.b32 %r3, %r2, %r1, 31, -1;");
    // A value from another thread is as secret as it was in that thread.
    leaks(
        Class::SharedLoadAddress,
        "shfl.sync.idx.b32 %r3, %r90, %r2, 31, -1;\nld.shared.u32 %r4, [%r3];",
    );
    let product = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, \
        {%r2, %r2, %r2, %r2}, {%r90, %r2}, {%r1, %r1, %r1, %r1};";
    passes(product);
    leaks(Class::SharedLoadAddress, &format!("{product}\nld.shared.u32 %r4, [%r13];"));
    leaks(Class::MatrixGuard, &format!("@%p1 {product}"));
    let matrices = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r2];";
    let stored = format!("st.shared.u32 [%r2], %r90;\n{matrices}");
    passes(&stored);
    leaks(Class::SharedLoadAddress, &format!("{stored}\nld.shared.u32 %r4, [%r13];"));
    leaks(Class::SharedLoadAddress, &matrices.replace("%r2]", "%r90]"));
    leaks(Class::AccessGuard, &format!("@%p1 {matrices}"));
}

#[test]
fn divisions() {
    passes("rem.u32 %r3, %r2, %r1;");
    leaks(Class::Division, "rem.u32 %r3, %r90, %r1;");
    leaks(Class::Division, "div.u32 %r3, %r2, %r90;");
    leaks(Class::Division, "div.rn.f32 %f3, %f1, %r90;");
    leaks(Class::Division, "@%p1 div.u32 %r3, %r2, %r1;");
    passes("@%p2 div.u32 %r3, %r2, %r1;");
}

#[test]
fn registers_that_are_used_again() {
    // A register that was never written may hold a secret of another kernel.
    leaks(Class::SharedLoadAddress, "ld.shared.u32 %r4, [%r50];");
    passes(
        "mov.b32 %r3, %r90;\nst.global.b32 [%rd2], %r3;\nmov.b32 %r3, %r2;\n\
            ld.shared.u32 %r4, [%r3];",
    );
    // A copy at the end of a loop reaches its start.
    leaks(
        Class::SharedLoadAddress,
        "mov.b32 %r3, %r2;\n$L_1:\nld.shared.u32 %r4, [%r3];\nmov.b32 %r3, %r90;\n@%p2 bra $L_1;",
    );
    // The register holds a secret on one of two paths.
    leaks(
        Class::SharedLoadAddress,
        "mov.b32 %r3, %r2;\n@%p2 bra $L_1;\nmov.b32 %r3, %r90;\n$L_1:\nld.shared.u32 %r4, [%r3];",
    );
    passes("xor.b32 %r3, %r90, %r90;\nld.shared.u32 %r4, [%r3];");
    leaks(Class::SharedLoadAddress, "xor.b32 %r3, %r90, %r2;\nld.shared.u32 %r4, [%r3];");
    // Statements split a register of 64 bits into two of 32 bits.
    leaks(
        Class::SharedLoadAddress,
        "{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd5; }\nld.global.b64 %rd5, [%rd1];\n\
            mov.b64 {%r3, %r4}, %rd5;\nld.shared.u32 %r5, [%r4];",
    );
}

#[test]
fn registers_under_a_condition() {
    let load = "ld.shared.u32 %r4, [%r3];";
    let two = |first, second, guard| {
        format!(
            "mov.b32 %r3, {first};\n@%p2 bra $L_1;\nmov.b32 %r3, {second};\n$L_1:\n{guard} {load}"
        )
    };
    // Only the first path goes where the condition holds, and only the second one elsewhere.
    passes(&two("%r2", "%r90", "@%p2"));
    leaks(Class::SharedLoadAddress, &two("%r2", "%r90", "@!%p2"));
    passes(&two("%r90", "%r2", "@!%p2"));
    leaks(Class::SharedLoadAddress, &two("%r90", "%r2", "@%p2"));
    // A block of code ends with an instruction that has the condition, and is no branch.
    leaks(
        Class::SharedLoadAddress,
        &format!("mov.b32 %r3, %r2;\n@%p2 mov.b32 %r3, %r90;\n$L_1:\n@%p2 {load}\n@%p2 bra $L_1;"),
    );
}

#[test]
fn what_the_analysis_does_not_reach() {
    leaks(Class::Unreached, "bra $L_1;\nadd.s32 %r3, %r2, 1;\n$L_1:");
    leaks(Class::PublicStore, "st.global.b32 [%rd2], %r2;");
    let text = kernel("").replace(STORE, "");
    let report = analyse(&decode(&text).unwrap()[0], Secrets::AllBut(Objects::NONE));
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].class, Class::NoSecretStore);
}

#[test]
fn large_kernels_are_not_checked() {
    let text: String =
        (0..9000).map(|i| format!("mov.u32 %q{i}, 0;\n@%p2 bra $L_{i};\n$L_{i}:\n")).collect();
    let report = report(&format!(".reg .b32 %q<9000>;\n{text}"));
    assert!(report.findings.iter().all(|finding| finding.class != Class::Branch));
    assert_eq!(report.findings[0].class, Class::Unreached);
}

#[test]
fn public_arrays() {
    let text = kernel(
        "mul.wide.u32 %rd3, %r90, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.b32 %r3, [%rd4];\n\
            st.global.b32 [%rd2], %r3;",
    );
    let program = &decode(&text).unwrap()[0];
    let count = |public| {
        let of_addresses = |report: Report| {
            report.findings.iter().filter(|f| f.class == Class::LoadAddress).count()
        };
        of_addresses(analyse(program, Secrets::AllBut(public)))
    };
    assert_eq!((count(Objects::NONE), count(Objects::array(0))), (1, 0));
}

#[test]
fn what_a_kernel_stores_to_public_arrays_is_public() {
    let text = kernel(
        "st.global.b32 [%rd2], %r90;\nld.global.b32 %r3, [%rd2];\nmul.wide.u32 %rd3, %r3, 4;\n\
            add.s64 %rd4, %rd2, %rd3;\nld.global.b32 %r4, [%rd4];\nst.global.b32 [%rd2], %r90;",
    );
    let program = &decode(&text).unwrap()[0];
    let leaks = |public| {
        let report = analyse(program, Secrets::AllBut(public));
        report.findings.iter().any(|finding| finding.class == Class::LoadAddress)
    };
    assert_eq!(
        [Objects::NONE, Objects::array(0), Objects::array(1)].map(leaks),
        [true, true, false]
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    for statement in [
        "trap;",
        "call.uni foo, ();",
        "brx.idx %r2, $L_1;",
        "ld.local.b32 %r3, [%rd1];",
        "ld.b32 %r3, [%rd1];",
        "ld.relaxed.gpu.global.b32 %r3, [%rd1];",
        "ld.const.b32 %r3, [table];",
        "st.local.b32 [%rd1], %r2;",
        "atom.global.add.u32 %r3, [%rd1], 1;",
        "red.global.add.u32 [%rd1], 1;",
        "mov.u64 %rd3, %clock64;",
        "mov.u32 %r3, %smid;",
        "mov.b64 %rd3, unknown_table;",
        "vote.sync.any.pred %p3, %p2, -1;",
        "sqrt.rn.f32 %f1, %f2;",
        "add.s32 %r3, %r2, foo;",
        "ld.param.b32 %r3, [other_param_0];",
    ] {
        refused(statement);
    }
    for (statement, why) in [
        ("add.s32 %x1, %r2, 1;", "23:9: not understood: %x1 is not declared"),
        ("ld.global.b32 %r3, [%rd1+%r2];", "expected a number, found %r2"),
        ("{ .reg .b32 %r; }", "%r is declared twice"),
        (".reg .b32 %q1; { .reg .b32 %q<9>; }", "%q is declared twice"),
        ("$L_1:\n$L_1:", "$L_1 is declared twice"),
    ] {
        let error = decode(&kernel(statement)).expect_err(statement).to_string();
        assert!(error.contains(why), "{error}");
    }
    let pragma = ".pragma \"nounroll\"; @%p1 bra $L_1;\n$L_1:";
    leaks(Class::Branch, pragma);
    leaks(
        Class::Branch,
        "sub.ftz.f32 %f2, %r90, %r90;\nsetp.nan.f32 %p3, %f2, %f2;\n@%p3 bra $L_1;\n$L_1:",
    );
    leaks(
        Class::Branch,
        "sub.rn.bf16x2 %r4, %r90, %r90;\nsetp.ne.u32 %p3, %r4, 0;\n@%p3 bra $L_1;\n$L_1:",
    );
    let no_label = decode(&kernel("bra $L_9;")).expect_err("no such label");
    assert_eq!(no_label.text, "bra $L_9");
    assert!(decode(&kernel("").replace("\n}\n", "\n")).is_err(), "a kernel without end");
    assert!(decode(".func foo()\n").is_err());
}

#[test]
fn chains_lead_back_to_the_array() {
    let report = report(
        "add.s32 %r3, %r90, 1;\nst.shared.u32 [%r2], %r3;\nld.shared.u32 %r4, [%r2];\n\
            ld.shared.u32 %r5, [%r4];",
    );
    let text = report.findings[0].to_string();
    for step in [
        "k: address of a shared load: ",
        "%r4 <- ",
        "shared memory <- ",
        "%r3 <- ",
        "%r90 <- ",
        "array 0: its content is secret",
    ] {
        assert!(text.contains(step), "{step} is not in\n{text}");
    }
}

#[test]
fn only_the_first_findings_have_chains() {
    // Each leads back through all before it: ten times as many would take half a minute.
    let branches = (0..2000).map(|i| format!("@%p1 bra $L_{i};\n$L_{i}:\n"));
    let findings = report(&branches.collect::<String>()).findings;
    assert_eq!(findings.len(), 2000);
    assert!(!findings[0].chain.is_empty() && findings[1999].chain.is_empty());
}
