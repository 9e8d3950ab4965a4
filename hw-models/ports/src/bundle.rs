// SPDX-License-Identifier: MIT
//! Named ports, and the macro that declares them.

use crate::{BitReader, BitWriter, Shape};
use bitvec::{order::Lsb0, slice::BitSlice};

/// One port: its name in the RTL, its width and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Name in the RTL, the model, the waveforms and the reports.
    pub name: &'static str,
    /// Width in bits.
    pub width: u32,
    /// What its bits mean.
    pub shape: Shape,
    /// The first line of its documentation.
    pub doc: &'static str,
}

impl PortInfo {
    /// How many 32-bit words hold the port.
    pub const fn words(&self) -> usize {
        self.width.div_ceil(32) as usize
    }
}

/// Words that hold `ports`, each port starting at a word of its own.
pub const fn words_of(ports: &[PortInfo]) -> usize {
    let (mut words, mut i) = (0, 0);
    while i < ports.len() {
        words += ports[i].words();
        i += 1;
    }
    words
}

/// A struct whose fields are ports. Made by [`ports!`](crate::ports!), never by hand.
pub trait Bundle: Copy + Default + PartialEq + std::fmt::Debug + 'static {
    /// The ports, in the order of the fields.
    const PORTS: &'static [PortInfo];
    /// Words that [`write`](Self::write) fills.
    const WORDS: usize = words_of(Self::PORTS);
    /// How many words of entropy [`draw`](Self::draw) takes.
    const DRAWS: usize;

    /// Writes the ports into `words` (`WORDS` of them), each starting at a word of its own.
    fn write(&self, words: &mut [u32]);

    /// Takes the ports back from `words`.
    fn read(words: &[u32]) -> Self;

    /// Draws every port from entropy (`DRAWS` words); see [`Signal::draw`](crate::Signal::draw).
    fn draw(entropy: &[u64]) -> Self;

    /// The words of all ports.
    fn words(&self) -> Vec<u32> {
        let mut words = vec![0; Self::WORDS];
        self.write(&mut words);
        words
    }

    /// The bits of each port.
    fn for_each_port(&self, mut visit: impl FnMut(&PortInfo, &BitSlice<u32, Lsb0>)) {
        for_each_port(Self::PORTS, &self.words(), &mut visit);
    }
}

/// Visits the bits of each port in the words of all: code that does not know the bundle is compiled once.
pub fn for_each_port(
    ports: &[PortInfo],
    words: &[u32],
    visit: &mut dyn FnMut(&PortInfo, &BitSlice<u32, Lsb0>),
) {
    let mut rest = words;
    for port in ports {
        let (bits, tail) = rest.split_at(port.words());
        visit(port, &BitSlice::from_slice(bits)[..port.width as usize]);
        rest = tail;
    }
}

/// For the [`ports!`](crate::ports!) macro: reads and writes a field, then aligns to the next word.
#[doc(hidden)]
pub mod field {
    use super::{BitReader, BitWriter};
    use crate::Signal;

    pub fn write<T: Signal>(value: &T, bits: &mut BitWriter<'_>) {
        value.write(bits);
        bits.align();
    }

    pub fn read<T: Signal>(bits: &mut BitReader<'_>) -> T {
        let value = T::read(bits);
        bits.align();
        value
    }

    /// Takes the next `T::DRAWS` words of `entropy` for one port.
    pub fn entropy<'a, T: Signal>(entropy: &mut &'a [u64], _: &T) -> &'a [u64] {
        let (head, tail) = entropy.split_at(T::DRAWS);
        *entropy = tail;
        head
    }
}

/// Declares a unit's ports: the only place where they stand in Rust.
///
/// ```
/// use pimlico_ports::{ports, stimulus::one_in, Bundle};
///
/// ports! {
///     /// An accumulator of bytes.
///     unit Accumulator: "accumulator" {
///         inputs AccumulatorIn {
///             /// Take `byte_i` in this cycle.
///             valid_i: bool,
///             /// Start from zero. Rare in random stimulus.
///             clear_i: bool => one_in(8),
///             /// The byte.
///             byte_i: u8,
///         }
///         outputs AccumulatorOut {
///             /// The sum so far.
///             sum_o: u16,
///         }
///         probes AccumulatorProbe {}
///     }
/// }
///
/// assert_eq!(AccumulatorIn::PORTS[2].name, "byte_i");
/// assert_eq!(AccumulatorOut::PORTS[0].width, 16);
/// ```
///
/// `clk_i` and `rst_ni` are not declared: every unit has them. Another clock, whose edges are edges of
/// `clk_i`, is declared as an input `clk_..._i: bool`, which is set where it has an edge. *Probes* are registers inside the
/// RTL module that lockstep compares too, so that a fault cannot hide behind a later rounding.
/// A unit may have type parameters, `unit BankPu<F: Format, A: Format = F>: "bank_pu"`.
///
/// The macro makes the three structs, each a [`Bundle`](crate::Bundle). The unit's struct and its
/// [`Unit`](crate::Unit) follow by hand beside it.
#[macro_export]
macro_rules! ports {
    (
        $(#[$unit_doc:meta])*
        unit $unit:ident $(<$($g:ident: $bound:path $(= $default:ty)?),+>)? : $module:literal {
            inputs $in:ident $inputs:tt
            outputs $out:ident $outputs:tt
            probes $probe:ident $probes:tt
        }
    ) => {
        $crate::ports!(@bundle "Inputs of", $module,
            $in $(<$($g: $bound $(= $default)?),+>)?, $inputs);
        $crate::ports!(@bundle "Outputs of", $module,
            $out $(<$($g: $bound $(= $default)?),+>)?, $outputs);
        $crate::ports!(@bundle "Registers inside", $module,
            $probe $(<$($g: $bound $(= $default)?),+>)?, $probes);
    };
    (@bundle $what:literal, $module:literal,
        $name:ident $(<$($g:ident: $bound:path $(= $default:ty)?),+>)?, {$(
        $(#[doc = $doc:literal])+
        $port:ident: $ty:ty $(=> $draw:expr)?
    ),* $(,)?}) => {
        #[doc = concat!($what, " `", $module, "`.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name $(<$($g: $bound $(= $default)?),+>)? {
            $($(#[doc = $doc])+ pub $port: $ty,)*
            $(#[doc(hidden)] pub _parameters: ::std::marker::PhantomData<($($g,)+)>,)?
        }

        impl $(<$($g: $bound),+>)? $crate::Bundle for $name $(<$($g),+>)? {
            const PORTS: &'static [$crate::PortInfo] = &[$($crate::PortInfo {
                name: stringify!($port),
                width: <$ty as $crate::Signal>::WIDTH,
                shape: <$ty as $crate::Signal>::SHAPE,
                doc: [$($doc),+][0],
            }),*];
            const DRAWS: usize = 0 $(+ <$ty as $crate::Signal>::DRAWS)*;

            #[allow(unused_variables, unused_mut)]
            fn write(&self, words: &mut [u32]) {
                let mut bits = $crate::BitWriter::new(words);
                $($crate::field::write(&self.$port, &mut bits);)*
            }

            #[allow(unused_variables, unused_mut)]
            fn read(words: &[u32]) -> Self {
                let mut bits = $crate::BitReader::new(words);
                Self {
                    $($port: $crate::field::read(&mut bits),)*
                    $(_parameters: ::std::marker::PhantomData::<($($g,)+)>,)?
                }
            }

            #[allow(unused_variables, unused_mut)]
            fn draw(entropy: &[u64]) -> Self {
                let mut entropy = entropy;
                let mut drawn = Self::default();
                $(
                    let own = $crate::field::entropy(&mut entropy, &drawn.$port);
                    drawn.$port = $crate::ports!(@draw $ty, own $(, $draw)?);
                )*
                drawn
            }
        }
    };
    (@draw $ty:ty, $entropy:ident) => { <$ty as $crate::Signal>::draw($entropy) };
    (@draw $ty:ty, $entropy:ident, $draw:expr) => { ($draw)($entropy) };
}
