//! Kernels for keys whose polynomial `h` is packed with 13 bits per coefficient, see
//! [`ctru_math::codec::bits::pack13`].

use ctru_math::Ring;
use ctru_math::kernel::bits::PUBLIC_KEY_WIDTH;

use super::{Encoding, key_kernels};
use crate::kernels::keys;
use crate::kernels::warp;
use crate::simt::Simt;

key_kernels!(Packed13);

/// The encoding with 13 bits per coefficient.
pub(crate) enum Packed13 {}

impl<R: Ring> Encoding<R> for Packed13 {
    const BYTES: u32 = R::PACKED13_BYTES as u32;

    #[inline(always)]
    fn decode<S: Simt>(s: S) -> u32 {
        warp::for_each(s, warp::groups(R::N), |group| {
            let values = warp::unpack_group(s, PUBLIC_KEY_WIDTH, keys::string::<S, R>(s), group);
            warp::store_group(s, keys::list::<S, R>(s), group, values);
        });
        // The bits after the last coefficient, which end the last byte.
        let bits = PUBLIC_KEY_WIDTH * R::N as u32 % 8;
        let last = s.load_shared::<u8>(keys::string::<S, R>(s) + R::PACKED13_BYTES as u32 - 1);
        if bits == 0 { 0 } else { u32::from(last) >> bits }
    }

    #[inline(always)]
    fn encode<S: Simt>(s: S) {
        warp::for_each(s, warp::groups(R::N), |group| {
            let values = warp::load_group(s, keys::list::<S, R>(s), group);
            warp::pack_group(s, PUBLIC_KEY_WIDTH, keys::string::<S, R>(s), group, values);
        });
    }
}
