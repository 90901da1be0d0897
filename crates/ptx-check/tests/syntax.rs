//! Tests the reader of PTX: what it returns, where it finds faults, and that it survives any text.

use ptx_check::flow::analysis::{Secrets, analyse};
use ptx_check::flow::program::{Class, Objects};
use ptx_check::flow::ptx::{decode, decode_kernel};
use ptx_check::syntax::{Kind, Operand, Problem, parse};

const TAG: &str = include_str!("data/tag.ptx");

#[test]
fn reads_what_nvcc_writes() {
    let module = parse(TAG).unwrap();
    assert_eq!((module.version, module.target), ("8.4", "sm_80"));
    assert_eq!(module.variables[0].initial, [Operand::Integer(1), Operand::Integer(255)]);
    assert_eq!((module.variables[1].space, module.variables[1].length), ("shared", Some(1)));
    let kernel = &module.functions[0];
    assert_eq!((kernel.name, kernel.is_kernel, kernel.parameters.len()), ("check_tag", true, 4));
    assert_eq!(kernel.code.len(), 25);
    assert_eq!(kernel.labels["$L__BB0_3"], 24);
    let product = &kernel.code[10];
    assert_eq!((product.opcode, &product.modifiers[..]), ("mul", &["wide", "u32"][..]));
    assert_eq!(product.text, "mul.wide.u32 \t%rd7, %r2, 4");
    assert_eq!((product.at.line, product.at.column), (38, 2));
    assert_eq!(module.source(product).unwrap(), "tag.cu:7");
    let Operand::Register(wide) = product.operands[0] else { panic!("no register") };
    assert_eq!((kernel.registers[wide].name, kernel.registers[wide].kind.bits), ("%rd7", 64));
    let branch = &kernel.code[6];
    assert!(branch.guard.is_some_and(|guard| guard.holds));
    assert_eq!(branch.operands, [Operand::Name("$L__BB0_3")]);
    let one = &kernel.code[23];
    assert_eq!(one.operands[1], Operand::Single(1_f32.to_bits()));
    assert!(kernel.registers.iter().any(|register| register.kind.kind == Kind::Predicate));
}

#[test]
fn finds_leaks_of_the_named_parameters_only() {
    let module = parse(TAG).unwrap();
    let program = decode_kernel(&module, &module.functions[0]).unwrap();
    let classes = |parameters| {
        let report = analyse(&program, Secrets::Only(parameters));
        report.findings.iter().map(|finding| finding.class).collect::<Vec<_>>()
    };
    // The content of the key and of the message decide a branch, and so does the number of words.
    for parameter in [0, 1, 3] {
        assert_eq!(classes(Objects::array(parameter)), [Class::Branch], "{parameter}");
    }
    assert_eq!(classes(Objects::array(2)), []);
    assert_eq!(classes(Objects::NONE), []);
}

#[test]
fn names_the_place_of_a_fault() {
    let place = |from: &str, to: &str| {
        assert!(TAG.contains(from), "{from}");
        parse(&TAG.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert_eq!(place("%tid.x;", "%tid.x"), "32:2: expected ,, found setp.ge.u32");
    assert_eq!(place("[%rd8]", "[%rd12]"), "43:23: %rd12 is not declared");
    // Outside of its braces, a register is a name, which no kernel here has.
    let text = TAG.replace("mov.b32 %r5, t; }", "} mov.b32 %r5, t;");
    let refused = decode(&text).unwrap_err().to_string();
    assert_eq!(refused, "check_tag: 45:40: not understood: mov.b32 %r5, t");
}

#[test]
fn refuses_what_is_no_ptx() {
    let problem = |text: &str| parse(text).unwrap_err().problem;
    let kernel = |body: &str| format!(".entry k()\n{{\n.reg .b32 %r<2>;\n{body}\n}}\n");
    assert_eq!(problem("/* no end"), Problem::Unfinished("a comment"));
    assert_eq!(problem(".file 1 \"a\n"), Problem::Unfinished("a string"));
    assert_eq!(problem("\u{e4}"), Problem::Character('\u{e4}'));
    assert_eq!(problem(&kernel(".reg .b32 %r<3>;")), Problem::Twice("%r".into()));
    assert_eq!(problem(&kernel("$L:\n$L:")), Problem::Twice("$L".into()));
    assert_eq!(problem(&kernel(&"{".repeat(99))), Problem::TooDeep);
    let large = "99999999999999999999";
    assert_eq!(
        problem(&kernel(&format!("mov.b32 %r1, {large};"))),
        Problem::TooLarge(large.into())
    );
    let array = format!(".global .b8 a[{0}][{0}];", u64::MAX);
    assert_eq!(problem(&array), Problem::TooLarge("a".into()));
    assert!(
        matches!(problem(".entry k() {"), Problem::Unexpected { found, .. } if found == "the end")
    );
    for (body, twice) in [
        (".reg .b32 %r1;", "%r1"),
        (".reg .b32 %q1, %q<2>;", "%q"),
        (".reg .b32 %q1; { .reg .b32 %q<2>; }", "%q"),
        (".shared .b32 a; { .shared .b32 a; }", "a"),
        (".shared .b32 a; { .local .b32 a; }", "a"),
    ] {
        assert_eq!(problem(&kernel(body)), Problem::Twice(twice.into()), "{body}");
    }
    for text in [
        ".global .b32 a; .entry k() { .shared .b32 a; }",
        ".global .b32 a; .entry k(.param .b32 a) {}",
        ".entry f() { .shared .b32 a; } .entry k() { .shared .b32 a; }",
        ".func a() { ret; } .entry a() {}",
    ] {
        assert_eq!(problem(text), Problem::Twice("a".into()), "{text}");
    }
    let passed = ".entry k(.param .b32 a) { { .param .b32 b; } { .param .b64 b; } }";
    assert!(parse(passed).is_ok());
    for body in [".reg .b32 %r2;", ".reg .b32 t, t1;", "{ .reg .b32 %q1; } .reg .b32 %q<2>;"] {
        assert!(parse(&kernel(body)).is_ok(), "{body}");
    }
    // Many registers cost nothing until the code names them.
    assert!(parse(".entry k() { .reg .b32 %r<4294967296>; ret; }").is_ok());
}

#[test]
fn registers_in_inner_braces_hide_others() {
    // As nvcc writes `__syncthreads_or`.
    let module = parse(
        ".entry k() { .reg .b32 %r<3>; mov.b32 %r1, 1;
        { .reg .b64 %r1, %r2; mov.b64 %r1, 2; mov.b64 %r2, %r1; } mov.b32 %r2, %r1; }",
    );
    let kernel = &module.unwrap().functions[0];
    let [before, inside, other, after] = &kernel.code[..] else { panic!() };
    assert_eq!(after.operands[1], before.operands[0]);
    assert_eq!(other.operands[1], inside.operands[0]);
    assert_ne!(before.operands[0], inside.operands[0]);
    assert_ne!(after.operands[0], other.operands[0]);
    assert_eq!(kernel.registers.iter().filter(|known| known.kind.bits == 64).count(), 2);
}

#[test]
fn kernels_without_instructions() {
    for text in [".entry k() {}", ".entry k(.param .u64 a) { $L: }"] {
        let program = &decode(text).unwrap()[0];
        let report = analyse(program, Secrets::AllBut(Objects::NONE));
        assert_eq!(report.findings[0].class, Class::NoSecretStore, "{text}");
        assert_eq!(analyse(program, Secrets::Only(Objects::array(0))).findings, []);
    }
    // The body may come later.
    let declared = parse(".func f(); .entry k(); .entry k() { ret; } .entry g();").unwrap();
    assert_eq!(declared.kernels().map(|kernel| kernel.code.len()).collect::<Vec<_>>(), [1]);
}

#[test]
fn lines_hide_no_statements() {
    // ptxas reads all of these statements, and takes `%r01` for `%r1`.
    let line = ".version 7.8 .target sm_90, debug .address_size 64 .file 1 \"a\", 2, 3 \
        .entry k() { .reg .b32 %r<3>; .loc 1 2 3 mov.b32 %r1, 1; \
        .loc 1 4 5, function_name a + 6, inlined_at 1 2 3 mov.b32 %r2, 1; ret; }";
    let module = parse(line).unwrap();
    let code = &module.functions[0].code;
    assert_eq!(code.iter().map(|read| read.opcode).collect::<Vec<_>>(), ["mov", "mov", "ret"]);
    assert_eq!(module.source(&code[1]).unwrap(), "a:4");
    for (from, to) in [("%r1,", "%r01,"), ("1 2 3 mov", "1 2 mov"), ("+ 6", "6")] {
        assert!(parse(&line.replace(from, to)).is_err(), "{to}");
    }
}
