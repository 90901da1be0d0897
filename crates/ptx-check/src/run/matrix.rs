//! Products of matrices, which the threads of a warp compute together.

use super::float::Format;
use super::value::{Lanes, low};

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

    /// The bits of an element of a register.
    const fn of_register(self, register: u64, index: usize) -> u64 {
        low(register >> (self.bits() as usize * index), self.bits())
    }

    fn integer(self, register: u64, index: usize) -> i32 {
        let bits = self.of_register(register, index);
        if self == Self::Signed(8) { (bits as i8).into() } else { bits as i32 }
    }

    fn number(self, register: u64, index: usize) -> f64 {
        match self {
            Self::Float(format) => format.double(self.of_register(register, index)),
            _ => self.integer(register, index).into(),
        }
    }
}

/// Returns the lanes, each with the number of its group of four and its place there.
fn lanes() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..32).map(|lane| (lane, lane / 4, lane % 4))
}

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
        match self.of_sums {
            Elements::Float(format) => {
                let (a, b) = self.factors(registers, Elements::number);
                self.add(registers, |old, row, column| {
                    let old = format.double(old);
                    // A sum with the zeros behind them could lose its sign.
                    let factors = a[row].iter().zip(&b[column]).take(self.depth);
                    match format {
                        Format::DOUBLE => {
                            factors.fold(old, |sum, (a, b)| a.mul_add(*b, sum)).to_bits()
                        }
                        _ => format.of_double(old + factors.map(|(a, b)| a * b).sum::<f64>()),
                    }
                });
            }
            // Factors have 8 bits and sums of products 21, so these operations are exact.
            Elements::Signed(_) | Elements::Unsigned(_) => {
                let (a, b) = self.factors(registers, Elements::integer);
                self.add(registers, |old, row, column| {
                    let products = a[row].iter().zip(&b[column]).map(|(a, b)| a.wrapping_mul(*b));
                    let sum =
                        i64::from(old as i32) + i64::from(products.fold(0, i32::wrapping_add));
                    let ends = sum.clamp(i32::MIN.into(), i32::MAX.into());
                    u64::from(if self.saturates { ends } else { sum } as u32)
                });
            }
        }
    }

    /// Returns the rows of `a` and the columns of `b`, filled up with zeros.
    fn factors<T: Copy + Default>(
        &self,
        registers: &[Lanes],
        value: fn(Elements, u64, usize) -> T,
    ) -> ([[T; 32]; 16], [[T; 32]; 8]) {
        let (mut a, mut b) = ([[T::default(); 32]; 16], [[T::default(); 32]; 8]);
        // Registers alternate between rows 0 to 7 and rows 8 to 15, if there are so many.
        let halves = if self.d.len() * self.of_sums.per_register() == 4 { 2 } else { 1 };
        for (lane, group, place) in lanes() {
            let per = self.of_a.per_register();
            for (number, &register) in self.a.iter().enumerate() {
                let (row, first) = (group + 8 * (number % halves), number / halves * 4 * per);
                for i in 0..per {
                    a[row][first + place * per + i] =
                        value(self.of_a, registers[register][lane], i);
                }
            }
            let per = self.of_b.per_register();
            for (number, &register) in self.b.iter().enumerate() {
                for i in 0..per {
                    b[group][number * 4 * per + place * per + i] =
                        value(self.of_b, registers[register][lane], i);
                }
            }
        }
        (a, b)
    }

    /// Computes `d`. `new` returns an element from the bits of that of `c`, its row and its column.
    fn add(&self, registers: &mut [Lanes], new: impl Fn(u64, usize, usize) -> u64) {
        let (bits, per) = (self.of_sums.bits() as usize, self.of_sums.per_register());
        for (lane, group, place) in lanes() {
            let sum = |i: usize| {
                let (row, column) = (group + 8 * (i / 2), place * 2 + i % 2);
                let old = self.of_sums.of_register(registers[self.c[i / per]][lane], i % per);
                new(old, row, column)
            };
            // A thread holds at most four registers of sums, and perhaps the old ones in the same.
            let sums: [u64; 4] = std::array::from_fn(|number| match number < self.d.len() {
                true => (0..per).fold(0, |all, i| all | sum(number * per + i) << (bits * i)),
                false => 0,
            });
            for (&register, sum) in self.d.iter().zip(sums) {
                registers[register][lane] = sum;
            }
        }
    }
}
