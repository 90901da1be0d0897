//! Runs the threads of one block, each as a coroutine, from barrier to barrier.

use core::cell::{Cell, RefCell};
use core::mem::MaybeUninit;
use core::panic::Location;
use core::{hint, ptr};
use std::rc::Rc;
use std::vec::Vec;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::Emulate;
use super::fault::Fault;
use super::launch::Launch;
use super::memory::Buffer;
use super::thread::{Block, Event, Operands, Request, Thread, Wait};
use crate::descriptor::{Batch, Kernel};
use crate::simt::WARP;

/// Bytes of stack per thread. Kernels keep a few hundred numbers, but unoptimised builds hold many
/// copies of them.
const STACK_BYTES: usize = 256 << 10;

std::thread_local! {
    /// Stacks of finished emulated threads. Mapping and unmapping a stack for each emulated thread
    /// took a quarter of the emulator's time.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The state of a thread.
#[derive(Copy, Clone)]
enum State {
    /// The thread can continue. The number is the answer to its last request.
    Ready(u32),
    Waiting(Wait),
    Returned,
}

impl State {
    fn location(&self) -> Option<&'static Location<'static>> {
        match self {
            Self::Waiting(wait) => Some(wait.location),
            Self::Ready(_) | Self::Returned => None,
        }
    }

    /// Returns whether both threads make the same request at the same source line, or neither of
    /// them waits.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Waiting(own), Self::Waiting(other)) => {
                // Comparing addresses first saves comparing the names of files.
                own.request == other.request
                    && (ptr::eq(own.location, other.location) || own.location == other.location)
            }
            (Self::Waiting(_), _) | (_, Self::Waiting(_)) => false,
            _ => true,
        }
    }
}

/// Runs one block of a grid to its end. Returns the number of operations of its threads, and their
/// accesses if the launch is traced.
pub(super) fn run(
    (kernel, emulate): (&Kernel, Emulate),
    (number, grid): (u32, [u32; 3]),
    launch: Launch,
    buffers: &Rc<[Buffer]>,
    batch: Batch,
) -> Result<(u64, Vec<Event>), Fault> {
    let block = Rc::new(Block::new(kernel, number, grid, launch));
    let no_stack = |_| Fault::NoStack { kernel: block.kernel, block: number };
    let mut coroutines = (0..kernel.shape().threads())
        .map(|thread| {
            let stack = match STACKS.with_borrow_mut(Vec::pop) {
                Some(stack) => stack,
                None => DefaultStack::new(STACK_BYTES).map_err(no_stack)?,
            };
            let (block, buffers) = (Rc::clone(&block), Rc::clone(buffers));
            Ok(Coroutine::with_stack(stack, move |yielder, _| {
                let arguments: Vec<&Buffer> = buffers.iter().collect();
                let thread = Thread { block: &block, yielder, number: thread };
                spread(thread.number % 16, &mut || emulate(thread, &arguments, batch));
            }))
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let mut states = std::vec![State::Ready(0); coroutines.len()];

    loop {
        for (warp, states) in states.chunks_mut(WARP as usize).enumerate() {
            let coroutines = &mut coroutines[warp * WARP as usize..];
            loop {
                for (state, coroutine) in states.iter_mut().zip(coroutines.iter_mut()) {
                    if let State::Ready(answer) = *state {
                        *state = match coroutine.resume(answer) {
                            CoroutineResult::Yield(wait) => State::Waiting(wait),
                            CoroutineResult::Return(()) => State::Returned,
                        };
                        if let Some(fault) = block.fault.borrow_mut().take() {
                            return Err(*fault);
                        }
                    }
                }
                together(&block, warp * WARP as usize, states)?;
                if !meet_in_warp(&block, warp, states) {
                    break;
                }
            }
        }
        // Every warp has returned or waits at a barrier of the block.
        together(&block, 0, &states)?;
        if matches!(states[0], State::Returned) {
            let stacks = coroutines.into_iter().map(Coroutine::into_stack);
            STACKS.with_borrow_mut(|free| free.extend(stacks));
            return Ok((block.operations.get(), block.events.take().concat()));
        }
        block.block_barriers.set(block.block_barriers.get() + 1);
        states.fill(State::Ready(0));
    }
}

/// Calls a function after `steps` further calls, each of which takes more than 128 bytes of the
/// stack. Stacks begin at multiples of a page, so that without this the same part of each would be
/// in the same few lines of the processor's cache. Sixteen different numbers of steps are enough.
#[inline(never)]
fn spread(steps: u32, function: &mut dyn FnMut()) {
    let mut taken = [const { MaybeUninit::<u8>::uninit() }; 128];
    hint::black_box(&mut taken);
    if steps == 0 {
        function();
    } else {
        spread(steps - 1, function);
    }
    hint::black_box(&mut taken);
}

/// Checks that all threads make the same request at the same source line, or that all threads have
/// returned.
fn together(block: &Block, first: usize, states: &[State]) -> Result<(), Fault> {
    match states.iter().position(|state| !state.meets(&states[0])) {
        None => Ok(()),
        Some(other) => Err(Fault::Divergence {
            kernel: block.kernel,
            block: block.number,
            thread: first as u32,
            at: states[0].location(),
            other: (first + other) as u32,
            other_at: states[other].location(),
        }),
    }
}

/// Returns the set of the threads of a warp for which `is_in` holds, with bit `i` for lane `i`.
fn lanes(operands: &[Cell<Operands>], is_in: impl Fn(Operands) -> bool) -> u32 {
    let bit = |(lane, own): (usize, &Cell<Operands>)| u32::from(is_in(own.get())) << lane;
    operands.iter().enumerate().fold(0, |set, own| set | bit(own))
}

/// Answers a request that all threads of a warp make together. Returns false if the warp waits at a
/// barrier of the block or has returned.
fn meet_in_warp(block: &Block, warp: usize, states: &mut [State]) -> bool {
    let State::Waiting(Wait { request, .. }) = states[0] else { return false };
    let first = warp * WARP as usize;
    let operands = &block.operands[first..][..states.len()];
    match request {
        Request::SyncWarp => {
            let barriers = &block.warp_barriers[warp];
            barriers.set(barriers.get() + 1);
            states.fill(State::Ready(0));
        }
        Request::Shuffle => {
            for (state, own) in states.iter_mut().zip(operands) {
                let lane = own.get().lane;
                // On a GPU, a shuffle from a lane that does not exist returns an undefined value.
                // Here it returns the complement of the lane's number.
                let answer = operands.get(lane as usize).map_or(!lane, |other| other.get().value);
                *state = State::Ready(answer);
            }
        }
        Request::Ballot => {
            states.fill(State::Ready(lanes(operands, |other| other.value != 0)));
        }
        Request::Match => {
            for (state, own) in states.iter_mut().zip(operands) {
                let value = own.get().value;
                *state = State::Ready(lanes(operands, |other| other.value == value));
            }
        }
        Request::Multiply(factors) => {
            factors.multiply(&mut block.fragments.borrow_mut()[first..][..states.len()]);
            states.fill(State::Ready(0));
        }
        Request::SyncBlock | Request::Stop => return false,
    }
    true
}
