//! Products of matrices, which the threads of a warp compute together.

use super::float::Format;
use super::value::low;

/// A product `d = a b + c` of 8 or 16 rows and 8 columns. Each thread of the warp holds some
/// elements, as "PTX ISA" says under "Matrix Fragments".
#[derive(Debug)]
pub(super) struct Product {
    d: Vec<usize>,
    a: Vec<usize>,
    b: Vec<usize>,
    c: Vec<usize>,
    /// The number of columns of `a`.
    depth: usize,
    of_a: Elements,
    of_b: Elements,
    of_sums: Elements,
    /// Ends at the smallest and the largest integer.
    saturates: bool,
}

/// The type of elements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Elements {
    Signed(u32),
    Unsigned(u32),
    Float(Format),
}

impl Elements {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "s8" => Self::Signed(8),
            "u8" => Self::Unsigned(8),
            "s32" => Self::Signed(32),
            name => Self::Float(Format::parse(name)?),
        })
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Signed(bits) | Self::Unsigned(bits) => bits,
            Self::Float(format) => format.bits(),
        }
    }

    /// The number of elements in a register.
    const fn per_register(self) -> usize {
        (if self.bits() > 32 { 1 } else { 32 / self.bits() }) as usize
    }

    fn value(self, register: u64, index: usize) -> f64 {
        let bits = low(register >> (self.bits() as usize * index), self.bits());
        match self {
            Self::Signed(8) => f64::from(bits as i8),
            Self::Signed(_) => f64::from(bits as i32),
            Self::Unsigned(_) => bits as f64,
            Self::Float(format) => format.double(bits),
        }
    }
}

/// The value of a register in each lane.
type Lanes = [u64; 32];

impl Product {
    pub(super) fn new(shape: &str, kinds: &[&str], [d, a, b, c]: [Vec<usize>; 4]) -> Option<Self> {
        let (saturates, kinds) = match kinds {
            ["satfinite", kinds @ ..] => (true, kinds),
            kinds => (false, kinds),
        };
        let [of_d, of_a, of_b, of_c] = *kinds else { return None };
        let (rows, depth) = match (shape, of_a, of_b, of_d) {
            ("m8n8k4", "f64", "f64", "f64") => (8, 4),
            ("m16n8k8" | "m16n8k16", "f16", "f16", "f16" | "f32")
            | ("m16n8k8" | "m16n8k16", "bf16", "bf16", "f32")
            | ("m16n8k4" | "m16n8k8", "tf32", "tf32", "f32")
            | ("m16n8k16" | "m16n8k32", "s8" | "u8", "s8" | "u8", "s32") => {
                (16, shape[6..].parse().ok()?)
            }
            ("m8n8k16", "s8" | "u8", "s8" | "u8", "s32") => (8, 16),
            _ => return None,
        };
        let [of_a, of_b, of_sums] = [of_a, of_b, of_d].map(Elements::parse);
        let (of_a, of_b, of_sums) = (of_a?, of_b?, of_sums?);
        let registers = |rows: usize, columns: usize, elements: Elements| {
            rows * columns / 32 / elements.per_register()
        };
        let sums = registers(rows, 8, of_sums);
        let lengths = [sums, registers(rows, depth, of_a), registers(depth, 8, of_b), sums];
        let is_right = [d.len(), a.len(), b.len(), c.len()] == lengths && of_c == of_d;
        let is_integer = matches!(of_sums, Elements::Signed(_));
        let known = is_right && (is_integer || !saturates);
        known.then_some(Self { d, a, b, c, depth, of_a, of_b, of_sums, saturates })
    }

    /// Computes the product in the registers of a warp.
    pub(super) fn multiply(&self, registers: &mut [Lanes]) {
        let (mut a, mut b) = ([[0.0; 32]; 16], [[0.0; 8]; 32]);
        let places = || (0..32).map(|lane: usize| (lane, lane / 4, lane % 4));
        // Registers alternate between rows 0 to 7 and rows 8 to 15, if there are so many.
        let halves = if self.d.len() * self.of_sums.per_register() == 4 { 2 } else { 1 };
        for (lane, group, place) in places() {
            let per = self.of_a.per_register();
            for (number, &register) in self.a.iter().enumerate() {
                let (row, first) = (group + 8 * (number % halves), number / halves * 4 * per);
                for i in 0..per {
                    let value = self.of_a.value(registers[register][lane], i);
                    a[row][first + place * per + i] = value;
                }
            }
            let per = self.of_b.per_register();
            for (number, &register) in self.b.iter().enumerate() {
                for i in 0..per {
                    let value = self.of_b.value(registers[register][lane], i);
                    b[number * 4 * per + place * per + i][group] = value;
                }
            }
        }
        let per = self.of_sums.per_register();
        for (lane, group, place) in places() {
            let sum = |i: usize| {
                let (row, column) = (group + 8 * (i / 2), place * 2 + i % 2);
                let old = self.of_sums.value(registers[self.c[i / per]][lane], i % per);
                let products = (0..self.depth).map(|k| (a[row][k], b[k][column]));
                match self.of_sums {
                    // Sums of products of 8 bits are exact in this type.
                    Elements::Signed(_) | Elements::Unsigned(_) => {
                        let sum = old + products.map(|(a, b)| a * b).sum::<f64>();
                        let wraps = sum as i64 as u32;
                        let ends = sum as i32 as u32;
                        u64::from(if self.saturates { ends } else { wraps })
                    }
                    Elements::Float(Format::DOUBLE) => {
                        products.fold(old, |sum, (a, b)| a.mul_add(b, sum)).to_bits()
                    }
                    Elements::Float(format) => {
                        format.of_double(old + products.map(|(a, b)| a * b).sum::<f64>())
                    }
                }
            };
            let bits = self.of_sums.bits();
            let sums: Vec<u64> = (0..self.d.len())
                .map(|number| {
                    (0..per).fold(0, |all, i| all | sum(number * per + i) << (bits as usize * i))
                })
                .collect();
            for (&register, sum) in self.d.iter().zip(sums) {
                registers[register][lane] = sum;
            }
        }
    }
}
