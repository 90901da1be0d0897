//! The table of instructions that the decoder knows.
//!
//! An opcode or modifier that is not in the table is refused. The time of an instruction of
//! [`Kind::Compute`] does not depend on its operands: it runs in the pipelines for integers,
//! floating-point numbers and conversions, which have no slow path for subnormal numbers. There is
//! no instruction for division. Compilers compute it with a [`Kind::Reciprocal`].

use super::operand::{File, Operand, Text};
use crate::flow::program::Space;

/// The kind of an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It computes its results from its operands.
    Compute(Results),
    /// It computes its results from the operands of all threads of the warp.
    Collective(Results),
    /// A matrix product, from the operands of all threads of the warp.
    Matrix,
    /// A reciprocal, which compilers use for division.
    Reciprocal,
    /// It reads a special register.
    Special,
    /// It reads a constant.
    LoadConstant,
    Load(Space),
    Store(Space),
    /// It loads matrices whose rows lie at addresses that the threads of the warp give.
    LoadMatrices,
    /// It reads a register of another thread of the warp.
    Shuffle,
    Branch,
    /// A branch that stores a return address. Nothing returns to that address, because `RET` is
    /// refused.
    Call,
    Exit,
    /// It waits for all threads of the block.
    Barrier,
    /// It waits for threads of the warp.
    WarpBarrier,
    /// It waits for threads of the warp, which then execute the instructions up to `ENDCOLLECTIVE`
    /// together.
    Collect,
    /// It sets a convergence barrier: `BSSY`.
    SetConvergence,
    /// It waits at a convergence barrier: `BSYNC`.
    Converge,
    /// It leaves a convergence barrier: `BREAK`.
    LeaveConvergence,
    /// It has no effect on registers or memory.
    Nothing,
}

/// The operands that are results.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Results {
    /// The first one.
    First,
    /// The first one, and predicates directly after it: the carries of a sum.
    FirstAndPredicates,
    /// The first two, which are predicates, such as a condition and its negation.
    Two,
    /// The first one, and the second one if the first one is a predicate.
    MaybePredicate,
    /// All but the last one.
    AllButLast,
}

/// A row of the table: opcodes, the modifiers that they may have, and their kind.
type Row = (&'static [&'static str], &'static [&'static str], Kind);

const COMPARE: &[&str] =
    &["EQ", "NE", "LT", "LE", "GT", "GE", "NAN", "AND", "OR", "XOR", "EX", "U32", "S64", "U64"];
const CONVERT: &[&str] = &[
    "F32", "S32", "U32", "S64", "U64", "U16", "S16", "U8", "S8", "RP", "FTZ", "TRUNC", "FLOOR",
    "CEIL", "NTZ",
];
const LOAD: &[&str] =
    &["E", "U8", "S8", "U16", "S16", "32", "64", "128", "CONSTANT", "STRONG", "GPU", "SYS", "CTA"];

const ROWS: &[Row] = &[
    (&["IADD3", "UIADD3", "IADD", "VIADD"], &["X", "64"], COMPUTE_SUM),
    (&["LEA", "ULEA"], &["HI", "X", "SX32"], COMPUTE_SUM),
    (&["IMAD", "UIMAD"], &["HI", "WIDE", "X", "U32", "MOV", "IADD", "SHL"], COMPUTE_SUM),
    (&["VIMNMX", "IMNMX", "UVIMNMX"], &["U32", "S32", "U16x2", "S16x2"], COMPUTE_SUM),
    (&["VIADDMNMX", "VIMNMX3"], &["U32", "S32"], COMPUTE),
    (&["MOV", "UMOV", "SEL", "USEL"], &["64"], COMPUTE),
    (&["PRMT", "UPRMT", "IABS", "POPC", "UPOPC", "BREV"], &[], COMPUTE),
    (&["SGXT", "USGXT", "BMSK", "FLO"], &["U32", "W", "SH"], COMPUTE),
    (&["SHF", "USHF"], &["L", "R", "W", "HI", "U32", "S32", "U64", "S64"], COMPUTE),
    (&["FADD", "FMUL", "FFMA"], &["FTZ", "RN", "RZ", "RM", "RP", "SAT"], COMPUTE),
    (&["HFMA2"], &["MMA"], COMPUTE),
    (&["I2F", "I2FP", "UI2F", "UI2FP", "F2I"], CONVERT, COMPUTE),
    (&["LOP3", "ULOP3"], &["LUT"], Kind::Compute(Results::MaybePredicate)),
    (&["ISETP", "UISETP", "FSETP"], COMPARE, COMPUTE_CONDITION),
    (&["PLOP3", "UPLOP3"], &["LUT"], COMPUTE_CONDITION),
    (&["P2R", "R2P"], &[], COMPUTE),
    (&["R2UR"], &[], Kind::Collective(Results::First)),
    (&["VOTE", "VOTEU"], &["ANY", "ALL", "EQ"], Kind::Collective(Results::AllButLast)),
    (&["IMMA"], &["16832", "16816", "8816", "S8", "U8"], Kind::Matrix),
    (&["MUFU"], &["RCP"], Kind::Reciprocal),
    (&["S2R", "S2UR", "CS2R"], &["32"], Kind::Special),
    (&["LDC", "ULDC", "LDCU"], &["U8", "S8", "U16", "S16", "32", "64", "128"], Kind::LoadConstant),
    (&["LDG"], LOAD, Kind::Load(Space::Global)),
    (&["STG"], LOAD, Kind::Store(Space::Global)),
    (&["LDS"], LOAD, Kind::Load(Space::Shared)),
    (&["LDSM"], &["16", "M88", "4"], Kind::LoadMatrices),
    (&["STS"], LOAD, Kind::Store(Space::Shared)),
    (&["SHFL"], &["IDX", "UP", "DOWN", "BFLY"], Kind::Shuffle),
    (&["BRA"], &["U", "DIV", "CONV"], Kind::Branch),
    (&["CALL"], &["REL", "NOINC"], Kind::Call),
    (&["EXIT"], &[], Kind::Exit),
    (&["BAR"], &["SYNC", "DEFER_BLOCKING"], Kind::Barrier),
    (&["WARPSYNC"], &["ALL", "COLLECTIVE"], Kind::WarpBarrier),
    (&["BSSY"], &["RECONVERGENT", "RELIABLE"], Kind::SetConvergence),
    (&["BSYNC"], &["RECONVERGENT", "RELIABLE"], Kind::Converge),
    (&["BREAK"], &["RECONVERGENT", "RELIABLE"], Kind::LeaveConvergence),
    (&["NOP", "ENDCOLLECTIVE", "YIELD"], &[], Kind::Nothing),
];

const COMPUTE: Kind = Kind::Compute(Results::First);
const COMPUTE_SUM: Kind = Kind::Compute(Results::FirstAndPredicates);
const COMPUTE_CONDITION: Kind = Kind::Compute(Results::Two);

/// The special registers that hold only numbers of threads and blocks. Clocks are not among them.
pub(super) const SPECIAL: &[&str] = &[
    "SRZ",
    "SR_TID.X",
    "SR_TID.Y",
    "SR_TID.Z",
    "SR_CTAID.X",
    "SR_CTAID.Y",
    "SR_CTAID.Z",
    "SR_LANEID",
    "SR_CgaCtaId",
];

/// Returns the kind of an instruction.
pub(super) fn kind(text: &Text<'_>) -> Result<Kind, String> {
    let (_, modifiers, kind) = ROWS
        .iter()
        .find(|(opcodes, ..)| opcodes.contains(&text.opcode))
        .ok_or_else(|| format!("unknown opcode {}", text.opcode))?;
    if let Some(unknown) = text.modifiers.iter().find(|modifier| !modifiers.contains(modifier)) {
        return Err(format!("unknown modifier {unknown}"));
    }
    Ok(match kind {
        // Only the form with a label is followed by instructions that threads execute together.
        Kind::WarpBarrier if text.is("COLLECTIVE") => Kind::Collect,
        &kind => kind,
    })
}

/// Returns the number of results. They are the first operands.
pub(super) fn results(kind: Kind, operands: &[Operand<'_>]) -> usize {
    let is_predicate = |operand: &Operand<'_>| matches!(operand, Operand::Predicate(_, true));
    match kind {
        Kind::Compute(results) | Kind::Collective(results) => match results {
            Results::First => 1,
            Results::Two => 2,
            Results::AllButLast => operands.len().saturating_sub(1),
            Results::FirstAndPredicates => {
                1 + operands.iter().skip(1).take(2).take_while(|one| is_predicate(one)).count()
            }
            Results::MaybePredicate => 1 + usize::from(operands.first().is_some_and(is_predicate)),
        },
        Kind::Shuffle => 2,
        Kind::Matrix
        | Kind::Reciprocal
        | Kind::Special
        | Kind::LoadConstant
        | Kind::Load(_)
        | Kind::LoadMatrices => 1,
        _ => 0,
    }
}

/// Returns the number of consecutive registers, or of constants of 32 bits, that the operand at
/// `index` stands for. The text names only the first of them.
pub(super) fn width(text: &Text<'_>, kind: Kind, index: usize) -> u8 {
    let file = match text.operands.get(index) {
        Some(Operand::Register(Some(name), _)) => name.file,
        Some(Operand::Constant { .. }) => File::General,
        _ => return 1,
    };
    // The position of this operand among those that are no predicates.
    let is_register = |operand: &&Operand<'_>| !matches!(operand, Operand::Predicate(..));
    let position = text.operands[..index].iter().filter(is_register).count();
    let by_size = if text.is("128") {
        4
    } else if text.is("64") {
        2
    } else {
        1
    };
    let is_long = text.is("U64") || text.is("S64");
    match kind {
        Kind::LoadConstant | Kind::Load(_) | Kind::Store(_) => by_size,
        Kind::LoadMatrices if text.is("4") => 4,
        Kind::Special if text.opcode == "CS2R" && !text.is("32") => 2,
        // Positions 0 and 3 are the result and the matrix to add, 1 is the matrix of rows, and 2
        // is the matrix of columns.
        Kind::Matrix => match (text.is("16832"), position) {
            (true, 0 | 1 | 3) => 4,
            (true, _) => 2,
            (false, 0 | 3) if text.is("16816") => 4,
            (false, 1) if text.is("16816") => 2,
            (false, 0 | 3) => 2,
            (false, _) => 1,
        },
        Kind::Compute(_) => match text.opcode {
            "IMAD" | "UIMAD" if text.is("WIDE") && matches!(position, 0 | 3) => 2,
            "IMAD" | "UIMAD" if text.is("HI") && position == 3 => 2,
            "ISETP" | "UISETP" if is_long => 2,
            "I2F" | "UI2F" if is_long && position == 1 => 2,
            "F2I" if is_long && position == 0 => 2,
            "SHF" | "USHF" => 1,
            _ if matches!(file, File::General | File::Uniform) => by_size,
            _ => 1,
        },
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(text: &str) -> Vec<u8> {
        let text = Text::parse(text).unwrap();
        let kind = kind(&text).unwrap();
        (0..text.operands.len()).map(|index| width(&text, kind, index)).collect()
    }

    #[test]
    fn knows_the_widths_of_operands() {
        assert_eq!(widths("IMAD R1, R2, R3, R4"), [1, 1, 1, 1]);
        assert_eq!(widths("IMAD.WIDE.U32 R2, P0, R4, 0x5, R6"), [2, 1, 1, 1, 2]);
        assert_eq!(widths("IMAD.HI.U32 R2, R4, R5, R6"), [1, 1, 1, 2]);
        assert_eq!(widths("IMMA.16832.S8.S8 R12, R48.ROW, R4.reuse.COL, R16"), [4, 4, 2, 4]);
        assert_eq!(widths("IMMA.16816.S8.S8 R12, R48.ROW, R4.COL, R16"), [4, 2, 1, 4]);
        assert_eq!(widths("LDSM.16.M88.4 R4, [R2+0x10]"), [4, 1]);
        assert_eq!(widths("SEL.64 R4, R6, RZ, P0"), [2, 2, 1, 1]);
        assert_eq!(widths("SHF.R.S64 R4, R6, 0x3, R7"), [1, 1, 1, 1]);
        assert_eq!(widths("STG.E.128 desc[UR6][R8.64], R4"), [1, 4]);
        assert_eq!(widths("CS2R R4, SRZ"), [2, 1]);
    }

    #[test]
    fn knows_the_results() {
        let count = |text: &str| {
            let text = Text::parse(text).unwrap();
            results(kind(&text).unwrap(), &text.operands)
        };
        assert_eq!(count("IADD3.X R1, P0, PT, R2, R3, RZ, P0, !PT"), 3);
        assert_eq!(count("IADD3.X R1, R2, R3, RZ, P0, !PT"), 1);
        assert_eq!(count("SEL R1, R2, R3, P0"), 1);
        assert_eq!(count("LOP3.LUT P0, RZ, R1, R2, RZ, 0xc0, !PT"), 2);
        assert_eq!(count("ISETP.NE.AND P0, PT, R1, RZ, PT"), 2);
        assert_eq!(count("STS [R1], R2"), 0);
        assert_eq!(count("VOTEU.ANY UP0, P3"), 1);
        assert_eq!(count("VOTE.ANY R4, PT, P3"), 2);
    }
}
