//! Decodes and analyses short kernels with and without leaks.

use std::collections::BTreeSet;

use super::decode::Named;
use super::opcodes::kind;
use super::operand::{File, Name, Text};
use super::{Entry, decode, entries};
use crate::flow::analysis::{Secrets, analyse};
use crate::flow::program::{Class, NotUnderstood, Objects, Program};
use crate::syntax;

/// The beginning of every kernel. R0 is the number of the thread, R1 is a secret, R2 and R3 are the
/// address of an array, and UR4 and UR5 are its descriptor.
const BEGIN: &str = "S2R R0, SR_TID.X
LDC.64 R2, c[0x0][0x210]
ULDC.64 UR4, c[0x0][0x208]
LDG.E R1, desc[UR4][R2.64]
";
/// The end of every kernel.
const END: &str = "STG.E desc[UR4][R2.64], R1
EXIT
.L_x_99:
BRA `(.L_x_99)
NOP
";

fn entry() -> Entry {
    let arrays = vec![(0, Objects::array(0))];
    Entry { name: "a_653".into(), bytes: 12, arrays, has_variables: false }
}

/// Writes the listing of a kernel, with the live ranges that follow from its text.
fn listing(code: &str) -> String {
    let files = [
        (File::General, 64),
        (File::Predicate, 7),
        (File::Uniform, 16),
        (File::UniformPredicate, 7),
    ];
    let row = |text: &str, mark: &dyn Fn(Name) -> char| {
        let mut row = format!("{text:60}// |");
        for (file, count) in files {
            row.push_str("   ");
            row.extend((0..count).map(|number| mark(Name::new(file, number).unwrap())));
            row.push_str("  |");
        }
        row + "\n"
    };
    let mut lines = "//--------------------- .text.a_653 --------------------------\n".to_owned();
    lines += &format!("{:60}// |  GPR  | PRED | UGPR | UPRED |\n", "");
    let digit = |name: Name| char::from(b'0' + name.number % 10);
    lines += &row("", &digit).replace("   0", " # 0");
    let mut address = 0;
    for line in code.lines().map(str::trim) {
        if line.ends_with(':') {
            lines += &row(line, &|_| ' ');
            continue;
        }
        let text = Text::parse(line).ok().filter(|text| !text.is_never_executed());
        let named = text.as_ref().and_then(|text| Named::new(text, kind(text).ok()?).ok());
        let guard = text.and_then(|text| text.guard.0);
        let mark = |name: Name| {
            let Some(named) = &named else { return ' ' };
            let read = guard == Some(name) || named.sources.concat().contains(&name);
            match (named.results.contains(&name), read) {
                (true, true) => 'x',
                (true, false) => '^',
                (false, true) => 'v',
                (false, false) => ' ',
            }
        };
        lines += &row(&format!("        /*{address:04x}*/    {line} ;"), &mark);
        address += 16;
    }
    lines
}

fn decoded(code: &str) -> Result<Program, NotUnderstood> {
    let mut programs = decode(&listing(code), &[entry()], "sm_90");
    assert_eq!(programs.len(), 1);
    programs.remove(0)
}

/// Returns the classes of the findings in a kernel. Adds [`BEGIN`] and [`END`] to its code first.
fn found(code: &str) -> BTreeSet<Class> {
    let program = decoded(&format!("{BEGIN}{code}\n{END}")).unwrap();
    analyse(&program, Secrets::AllBut(Objects::NONE))
        .findings
        .iter()
        .map(|finding| finding.class)
        .collect()
}

#[track_caller]
fn leaks(class: Class, code: &str) {
    assert_eq!(found(code), BTreeSet::from([class]), "{code}");
}

#[track_caller]
fn is_clean(code: &str) {
    assert_eq!(found(code), BTreeSet::new(), "{code}");
}

#[track_caller]
fn is_refused(code: &str, why: &str) {
    let error = decoded(&format!("{BEGIN}{code}\n{END}")).unwrap_err();
    assert!(error.text.contains(why), "{error}");
    assert_eq!(error.kernel, "a_653");
}

#[test]
fn addresses_must_be_public() {
    is_clean("IMAD.WIDE R6, R0, 0x4, R2\nLDG.E R7, desc[UR4][R6.64]");
    is_clean(
        "IADD3 R6, P0, R0, UR6, RZ\n\
        IMAD.X R7, RZ, RZ, c[0x0][0x214], P0\n\
        LDG.E R7, desc[UR4][R6.64]",
    );
    is_clean("LDS R6, [R0.X4+UR6+0x10]\nSTS.64 [R0+0x10], R6");
    leaks(Class::LoadAddress, "IMAD.WIDE R6, R1, 0x4, R2\nLDG.E R7, desc[UR4][R6.64]");
    leaks(
        Class::LoadAddress,
        "IADD3 R6, P0, R1, R2, RZ\nIMAD.X R7, RZ, RZ, R3, P0\nLDG.E R7, desc[UR4][R6.64]",
    );
    // The secret reaches the address only through the carry.
    leaks(
        Class::LoadAddress,
        "IADD3 RZ, P0, R1, R2, RZ\n\
            MOV R6, R2\n\
            IMAD.X R7, RZ, RZ, R3, P0\n\
            LDG.E R9, desc[UR4][R6.64]",
    );
    leaks(Class::StoreAddress, "IMAD.WIDE R6, R1, 0x4, R2\nSTG.E desc[UR4][R6.64], R1");
    leaks(Class::SharedLoadAddress, "LDS R6, [R1]");
    leaks(Class::SharedLoadAddress, "R2UR UR6, R1\nLDS R6, [R0+UR6]");
    leaks(Class::SharedStoreAddress, "LOP3.LUT R6, R1, 0xff, RZ, 0xc0, !PT\nSTS [R6+0x10], R0");
    leaks(Class::ConstantAddress, "LDC R6, c[0x0][R1+0x210]");
    leaks(
        Class::LoadAddress,
        "SEL R6, R2, R0, P0\n\
            ISETP.NE.AND P0, PT, R1, RZ, PT\n\
            SEL R6, R6, R2, P0\n\
            MOV R7, R3\n\
            LDG.E R9, desc[UR4][R6.64]",
    );
    leaks(Class::NoObject, "MOV R6, R0\nMOV R7, RZ\nLDG.E R7, desc[UR4][R6.64]");
}

#[test]
fn tables_are_public_and_only_read() {
    is_clean(
        "LDC.64 R6, c[0x4][0x8]\n\
        IMAD.WIDE R6, R0, 0x4, R6\n\
        LDG.E R8, desc[UR4][R6.64]\n\
        LDS R9, [R8]",
    );
    leaks(
        Class::LoadAddress,
        "LDC.64 R6, c[0x4][0x8]\nIMAD.WIDE R6, R1, 0x4, R6\nLDG.E R8, desc[UR4][R6.64]",
    );
    leaks(Class::TableStore, "LDC.64 R6, c[0x4][0x8]\nSTG.E desc[UR4][R6.64], R1");
    // If the host can write a variable, the address may be that of a secret.
    let entry = Entry { has_variables: true, ..entry() };
    let code = format!("{BEGIN}LDC.64 R6, c[0x4][0x8]\n{END}");
    let refused = decode(&listing(&code), &[entry], "sm_90").remove(0).unwrap_err();
    assert!(refused.text.ends_with("constant bank 4"), "{refused}");
}

#[test]
fn flow_must_be_public() {
    let compare = |register: &str| format!("ISETP.NE.U32.AND P0, PT, {register}, 0x3, PT\n");
    let skip = "@P0 BRA `(.L_x_1)\nMOV R5, R1\n.L_x_1:";
    is_clean(&(compare("R0") + skip));
    leaks(Class::Branch, &(compare("R1") + skip));
    leaks(Class::Branch, &(compare("R1") + "BRA P0, `(.L_x_1)\nMOV R5, R1\n.L_x_1:"));
    leaks(
        Class::Branch,
        "LOP3.LUT P0, RZ, R1, 0x1, RZ, 0xc0, !PT\n\
        @!P0 BRA.U `(.L_x_1)\n\
        NOP\n\
        .L_x_1:",
    );
    leaks(
        Class::Branch,
        "R2UR UR6, R1\nUISETP.NE.AND UP0, UPT, UR6, URZ, UPT\nBRA.U UP0, `(.L_x_1)\nNOP\n.L_x_1:",
    );
    leaks(Class::Branch, &(compare("R1") + "@P0 CALL.REL.NOINC `(.L_x_1)\nNOP\n.L_x_1:"));
    leaks(Class::ExitGuard, &(compare("R1") + "@P0 EXIT"));
    is_clean(&(compare("R0") + "@P0 EXIT"));
    leaks(Class::Barrier, &(compare("R1") + "@P0 BAR.SYNC.DEFER_BLOCKING 0x0"));
    leaks(Class::Barrier, "BAR.SYNC R1");
    leaks(Class::Barrier, "WARPSYNC R1");
    is_clean("BAR.SYNC.DEFER_BLOCKING 0x0\nWARPSYNC 0xffffffff");
}

#[test]
fn guards_of_accesses_must_be_public() {
    for (register, guarded) in [
        ("R0", "@P0 LDG.E R6, desc[UR4][R2.64]"),
        ("R0", "@!P0 STG.E desc[UR4][R2.64], R1"),
        ("R0", "@P0 LDS R6, [R0]\n@P0 STS [R0], R1"),
    ] {
        is_clean(&format!("ISETP.NE.U32.AND P0, PT, {register}, 0x3, PT\n{guarded}"));
        leaks(Class::AccessGuard, &format!("ISETP.NE.U32.AND P0, PT, R1, 0x3, PT\n{guarded}"));
        // The secret reaches the guard through another predicate.
        let through = "ISETP.NE.U32.AND P1, PT, R1, 0x3, PT\n\
            ISETP.NE.U32.OR P2, PT, R0, 0x3, P1\n\
            PLOP3.LUT P0, PT, P2, PT, PT, 0x80, 0x8\n";
        leaks(Class::AccessGuard, &format!("{through}{guarded}"));
    }
}

#[test]
fn warps_work_together_on_public_lanes() {
    is_clean("SHFL.IDX PT, R6, R1, R0, 0x1f");
    leaks(Class::ShuffleLane, "SHFL.IDX PT, R6, R0, R1, 0x1f");
    leaks(Class::ShuffleLane, "SHFL.IDX P1, R6, R0, R0, R1");
    leaks(
        Class::ShuffleGuard,
        "ISETP.NE.AND P0, PT, R1, RZ, PT\n\
        @P0 SHFL.IDX PT, R6, R0, R0, 0x1f",
    );
    leaks(Class::SharedLoadAddress, "SHFL.IDX PT, R6, R1, R0, 0x1f\nLDS R7, [R6]");
    leaks(
        Class::MatrixGuard,
        "ISETP.NE.AND P0, PT, R1, RZ, PT\n@P0 IMMA.16832.S8.S8 R12, R16.ROW, R20.COL, R12",
    );
    leaks(Class::SharedLoadAddress, "LDSM.16.M88.4 R12, [R1]");
    leaks(Class::SharedLoadAddress, "STS [R0], R1\nLDSM.16.M88.4 R12, [R0]\nLDS R7, [R15]");
    leaks(Class::AccessGuard, "ISETP.NE.AND P0, PT, R1, RZ, PT\n@P0 LDSM.16.M88.4 R12, [R0]");
    leaks(
        Class::SharedLoadAddress,
        "IMMA.16832.S8.S8 R12, R16.ROW, R20.COL, R12\n\
            MOV R19, R1\n\
            IMMA.16832.S8.S8 R12, R16.ROW, R20.COL, R12\n\
            LDS R7, [R15]",
    );
    leaks(
        Class::Branch,
        "ISETP.NE.AND P0, PT, R1, RZ, PT\nVOTEU.ANY UP0, P0\nBRA.U UP0, `(.L_x_1)\nNOP\n.L_x_1:",
    );
    // Threads whose predicate is false have moved a secret to the register that is shuffled.
    leaks(
        Class::SharedLoadAddress,
        "ISETP.NE.AND P0, PT, R0, RZ, PT
         MOV R6, R0
         @!P0 MOV R6, R1
         SHFL.IDX PT, R7, R6, R0, 0x1f
         @P0 LDS R8, [R7]",
    );
}

#[test]
fn collectives_may_be_skipped() {
    let collective = "BRA.DIV UR6, `(.L_x_1)
        SHFL.IDX PT, R6, R1, R0, 0x1f
        .L_x_3:
        STS [R0], R6
        BRA `(.L_x_2)
        .L_x_1:
        WARPSYNC.COLLECTIVE R9, `(.L_x_4)
        SHFL.IDX P4, R6, R1, R0, R7
        ENDCOLLECTIVE
        .L_x_4:
        BRA `(.L_x_3)
        .L_x_2:";
    is_clean(collective);
    is_refused(&collective.replace("ENDCOLLECTIVE", "NOP"), "ENDCOLLECTIVE");
    leaks(Class::Barrier, &collective.replace("BRA.DIV", "MOV R9, R1\nBRA.DIV"));
    leaks(Class::Branch, &collective.replace("BRA.DIV", "R2UR UR6, R1\nBRA.DIV"));
    let converged = collective.replace("BRA.DIV", "BRA.CONV");
    is_clean(&converged);
    leaks(Class::Branch, &converged.replace("BRA.CONV", "R2UR UR6, R1\nBRA.CONV"));
}

#[test]
fn divisions_are_of_public_numbers() {
    is_clean("I2F.U32.RP R6, R0\nMUFU.RCP R6, R6\nF2I.FTZ.U32.TRUNC.NTZ R7, R6");
    leaks(Class::Division, "I2F.U32.RP R6, R1\nMUFU.RCP R6, R6");
    is_clean(
        "I2FP.F32.S32 R6, R1\n\
        FMUL R6, R6, 12582912\n\
        FFMA R6, R6, R6, -R6\n\
        F2I.TRUNC.NTZ R6, R6",
    );
}

#[test]
fn complementary_writes_join_clean() {
    // Each side of a public condition writes a public address.
    is_clean(
        "ISETP.NE.AND P0, PT, R0, RZ, PT
         MOV R6, R1
         @P0 MOV R6, R0
         @!P0 IADD3 R6, R0, 0x4, RZ
         LDS R7, [R6]",
    );
    // The register holds a public value if a public condition holds, and a secret otherwise.
    let under =
        |code: &str| format!("ISETP.NE.AND P0, PT, R0, RZ, PT\nMOV R6, R1\n@P0 MOV R6, R0\n{code}");
    let is_secret = |code: &str| leaks(Class::SharedLoadAddress, &under(code));
    is_secret("LDS R7, [R6]");
    // The access has the condition as its guard, or a guard that implies the condition.
    is_clean(&under("@P0 LDS R7, [R6]"));
    is_secret("@!P0 LDS R7, [R6]");
    is_clean(&under("ISETP.GT.AND P1, PT, R0, 0x7, P0\n@P1 LDS R7, [R6]"));
    is_secret("ISETP.GT.OR P1, PT, R0, 0x7, P0\n@P1 LDS R7, [R6]");
    // The predicate was overwritten before the access.
    is_secret("ISETP.NE.AND P0, PT, R0, 0x7, PT\n@P0 LDS R7, [R6]");
    // The register tells which move was the last one to be executed, and so tells the secret.
    leaks(
        Class::SharedLoadAddress,
        "ISETP.NE.AND P0, PT, R1, RZ, PT
         MOV R6, 0x10
         @P0 MOV R6, RZ
         LDS R7, [R6]",
    );
}

#[test]
fn halves_of_registers_are_told_apart() {
    // The register holds a public half beside an old secret half.
    is_clean("PRMT R6, R0, 0x5410, R1\nLOP3.LUT R6, R6, 0xffff, RZ, 0xc0, !PT\nLDS R7, [R6]");
    is_clean("PRMT R6, R1, 0x5410, R0\nSHF.R.U32.HI R6, RZ, 0x10, R6\nLDS R7, [R6]");
    is_clean("PRMT R6, R0, 0x5410, R1\nPRMT R7, R6, 0x9910, RZ\nLDS R7, [R7]");
    leaks(Class::SharedLoadAddress, "PRMT R6, R0, 0x5410, R1\nLDS R7, [R6]");
    leaks(
        Class::SharedLoadAddress,
        "PRMT R6, R1, 0x5410, R0\nLOP3.LUT R6, R6, 0xffff, RZ, 0xc0, !PT\nLDS R7, [R6]",
    );
    leaks(
        Class::SharedLoadAddress,
        "PRMT R6, R0, 0x5410, R1\n\
        PRMT R7, R6, 0xbb32, RZ\n\
        LDS R7, [R7]",
    );
}

#[test]
fn registers_are_clean_after_overwriting() {
    is_clean("MOV R6, R1\nMOV R6, R0\nLDS R7, [R6]");
    is_clean("LDG.E.64 R6, desc[UR4][R2.64]\nCS2R R6, SRZ\nLDS R7, [R7]");
    leaks(Class::SharedLoadAddress, "LDG.E.64 R6, desc[UR4][R2.64]\nMOV R6, RZ\nLDS R7, [R7]");
    leaks(Class::SharedLoadAddress, "LDG.E.128 R8, desc[UR4][R2.64]\nLDS R7, [R11]");
    leaks(Class::SharedLoadAddress, "IMAD.WIDE R6, R1, 0x4, RZ\nLDS R7, [R7]");
    // A kernel may not read a clock.
    is_refused("CS2R R6, SR_CLOCKLO", "SR_CLOCKLO");
}

#[test]
fn predicates_keep_secrets_in_registers() {
    let kept = "ISETP.NE.AND P1, PT, R1, RZ, PT
        ISETP.NE.AND P0, PT, R0, RZ, PT
        P2R R6, PR, RZ, 0x2
        R2P PR, R6, 0x4
        @P0 LDS R7, [R0]";
    is_clean(kept);
    leaks(Class::AccessGuard, &kept.replace("@P0", "@P1"));
    leaks(Class::AccessGuard, &kept.replace("@P0", "@P2"));
    is_clean(&kept.replace("@P0", "@P2").replace("RZ, 0x2", "RZ, 0x1"));
    leaks(Class::AccessGuard, &kept.replace("@P0", "@P2").replace("RZ, 0x2", "R1, 0x1"));
}

#[test]
fn shared_memory_keeps_secrets() {
    is_clean("STS [R0], R1\nLDS R6, [R0]\nSTS [R0], R6");
    // Shared memory also holds secrets of earlier blocks.
    leaks(Class::SharedLoadAddress, "STS [R0], R0\nLDS R6, [R0]\nLDS R7, [R6]");
    leaks(Class::SharedLoadAddress, "STS [R0], R1\nLDS R6, [R0]\nLDS R7, [R6]");
    // The store comes later in the text, but it is executed before the load of the next iteration.
    leaks(
        Class::SharedLoadAddress,
        "MOV R8, RZ
         .L_x_1:
         LDS R6, [R0]
         LDS R7, [R6]
         STS [R0], R1
         IADD3 R8, R8, 0x1, RZ
         ISETP.NE.AND P0, PT, R8, 0x8, PT
         @P0 BRA `(.L_x_1)",
    );
}

#[test]
fn loops_carry_secrets_around() {
    let turn = |first: &str, last: &str| {
        format!(
            "MOV R6, RZ
             MOV R8, RZ
             .L_x_1:
             {first}
             IADD3 R8, R8, 0x1, RZ
             ISETP.NE.AND P0, PT, R8, 0x8, PT
             {last}
             @P0 BRA `(.L_x_1)"
        )
    };
    is_clean(&turn("LDS R7, [R6]", "MOV R6, R8"));
    leaks(Class::SharedLoadAddress, &turn("LDS R7, [R6]", "MOV R6, R1"));
    leaks(Class::Branch, &turn("NOP", "IADD3 R8, R8, R1, RZ"));
}

#[test]
fn threads_meet_where_they_should() {
    let parted = "ISETP.NE.AND P0, PT, R0, RZ, PT
        BSSY B0, `(.L_x_1)
        @P0 BRA `(.L_x_2)
        MOV R6, R1
        BREAK B1
        .L_x_2:
        BSYNC B0
        .L_x_1:
        LDS R7, [R0]";
    is_clean(parted);
    leaks(Class::SharedLoadAddress, &parted.replace("[R0]", "[R6]"));
    is_clean(&parted.replace("BREAK B1", "@P0 BREAK !P0, B1"));
    leaks(
        Class::Barrier,
        &parted.replace("BREAK B1", "ISETP.NE.AND P1, PT, R1, RZ, PT\n        BREAK P1, B1"),
    );
    is_refused(&parted.replace("BSSY B0, `(.L_x_1)", "BSSY B0, `(.L_x_99)"), "meet elsewhere");
    is_refused(&parted.replace("BSSY B0", "BSSY B2"), "meet elsewhere");
    is_refused(&parted.replace("BSYNC B0", "@P0 BSYNC B0"), "another kind");
}

#[test]
fn other_sides_of_branches_are_looked_at() {
    // After a branch with a second condition, nothing is known about the guard.
    leaks(
        Class::SharedLoadAddress,
        "ISETP.NE.AND P0, PT, R0, RZ, PT
         MOV R6, R0
         @P0 MOV R6, R1
         @P0 BRA P1, `(.L_x_1)
         LDS R7, [R6]
         .L_x_1:",
    );
    is_clean(
        "ISETP.NE.AND P0, PT, R0, RZ, PT
         MOV R6, R0
         @P0 MOV R6, R1
         @P0 BRA `(.L_x_1)
         LDS R7, [R6]
         .L_x_1:",
    );
    leaks(Class::Unreached, "BRA `(.L_x_1)\nMOV R6, R1\n.L_x_1:");
}

#[test]
fn refuses_what_it_does_not_understand() {
    for (code, why) in [
        ("LD.E R6, [R2.64]", "opcode LD"),
        ("LDL R6, [R0]", "opcode LDL"),
        ("STL [R0], R6", "opcode STL"),
        ("ATOMG.E.ADD PT, R6, desc[UR4][R2.64], R1", "opcode ATOMG"),
        ("LDGSTS.E [R0], desc[UR4][R2.64]", "opcode LDGSTS"),
        ("RED.E.ADD desc[UR4][R2.64], R1", "opcode RED"),
        ("DADD R2, R4, R6", "opcode DADD"),
        ("BRX R2", "opcode BRX"),
        ("BRX R6 -0x10", "operand"),
        ("RET.REL.NODEC R2", "opcode RET"),
        ("RET.REL.NODEC R6 `(a_653)", "operand"),
        ("CALL.REL.NOINC `($elsewhere)", "not in this kernel"),
        ("CALL.ABS.NOINC R6", "modifier ABS"),
        ("R2P PR, R6, 0xff", "no mask"),
        ("MOV R6, SR_CLOCKLO", "another kind"),
        ("IADD3 R6, R7, [R8], RZ", "another kind"),
        ("MUFU.SIN R6, R0", "modifier SIN"),
        ("LDS.SOMETHING R6, [R0]", "modifier SOMETHING"),
        ("LDS.U.16 R1, [R2]", "modifier U"),
        ("LDSM.16.MT88.4 R4, [R2]", "modifier MT88"),
        ("I2F.F64 R2, R4", "modifier F64"),
        ("IMAD.SOMETHING R1, R2, R3, R4", "modifier SOMETHING"),
        ("LDG.E R6, P0, desc[UR4][R2.64]", "another kind"),
        ("LDC R6, c[0x3][0x0]", "constant bank 3"),
        ("LDC R6, c[0x0][0x220]", "no parameter"),
        ("LDC.64 R6, c[0x0][0x20c]", "no parameter"),
        ("S2R R6, SR_CLOCKLO", "special register"),
        ("IADD3 R6, R7, R8.H2, RZ", "operand R8.H2"),
        ("BRA `(.L_x_98)", "not in this kernel"),
    ] {
        is_refused(code, why);
    }
    let behind = decoded(&format!("{BEGIN}MOV R6, R1")).unwrap_err();
    assert!(behind.text.contains("behind the kernel"), "{behind}");
}

#[test]
fn live_ranges_must_agree_with_the_text() {
    let text = listing(&format!("{BEGIN}IMAD.WIDE R6, R0, 0x4, R2\n{END}"));
    let (before, after) = text.split_once("IMAD.WIDE").unwrap();
    let (line, rest) = after.split_once('\n').unwrap();
    let of = |line: String| {
        decode(
            &format!(
                "{before}IMAD.WIDE{line}\n\
            {rest}"
            ),
            &[entry()],
            "sm_90",
        )
        .remove(0)
    };
    assert!(of(line.to_owned()).is_ok());
    for (good, bad) in [("^^", "^ "), ("^^", "^x"), ("v vv", "v v "), ("v vv", "vvvv")] {
        assert!(line.contains(good), "{line}");
        let error = of(line.replacen(good, bad, 1)).unwrap_err();
        assert!(error.text.contains("by the live ranges"), "{error}");
    }
}

#[test]
fn kernels_and_entry_points_must_agree() {
    let text = listing(&format!("{BEGIN}{END}"));
    let other = Entry { name: "b_653".into(), ..entry() };
    let results = decode(&text, &[entry(), other], "sm_90");
    assert!(results[0].is_ok());
    assert_eq!(results[1].as_ref().unwrap_err().kernel, "b_653");
    assert!(decode(&text, &[], "sm_90")[0].is_err());
    assert!(decode(&text, &[entry()], "sm_75")[0].is_err());
    // The offset of the parameters depends on the architecture: sm_80 has none at 0x210.
    assert!(decode(&text, &[entry()], "sm_80")[0].is_err());
}

#[test]
fn reads_entry_points() {
    let ptx = ".visible .entry a_653(
\t.param .u64 .ptr .align 1 a_653_param_0,
\t.param .u32 a_653_param_1,
\t.param .u64 .ptr .global .align 4 a_653_param_2,
\t.param .u8 a_653_param_3
)
{
\tret;
}
.visible .entry b_653()
{
}
.visible .entry c_653(
\t.param .align 8 .b8 c_653_param_0[16],
\t.param .u64 .ptr .align 1 c_653_param_1
)
{
}
.visible .entry d_653(
\t.param .b8 d_653_param_0[16]
)
{
}
";
    let arrays = vec![(0, Objects::array(0)), (16, Objects::array(2))];
    let first = Entry { name: "a_653".into(), bytes: 25, arrays, has_variables: false };
    let module = syntax::parse(ptx).unwrap();
    let second = Entry { name: "b_653".into(), ..Entry::default() };
    assert_eq!(entries(&module), [first, second]);
    let variable = format!(".visible .global .u32 key;\n{ptx}");
    let module = syntax::parse(&variable).unwrap();
    assert!(entries(&module).iter().all(|entry| entry.has_variables));
}
