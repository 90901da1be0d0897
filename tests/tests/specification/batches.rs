//! The seeds of batches (specification, section 11).

use crate::hashes::shake256;

/// Returns the seed of `bytes` bytes of operation `i` of a batch.
fn batch_seed(bytes: u8, master: &[u8; 32], i: u64) -> Vec<u8> {
    let input = [b"ctru batch seed", &[bytes][..], master, &i.to_le_bytes()].concat();
    assert_eq!(input.len(), 56);
    shake256(&input, bytes.into())
}

#[test]
fn examples() {
    let master = std::array::from_fn(|k| k as u8);
    let key_pairs = [
        (
            0,
            "5567129428a30c75a6f44f5a550d12fa587788febc2269ee8ba1436a4addc141",
            "e30177751224c61872e031492262bce9636c1301a4f23a6661b691a59384d57a",
        ),
        (
            1,
            "9765aaf1a4f03275b0b261cc3dcd073ae49fe1be687b5c3694c270b8fcf52f24",
            "8c304edc121bee15392cbd05d9d6e72d4fab0313fe66205993c828dee56a91de",
        ),
        (
            256,
            "347544887f824b5570408af0760a0348602e15741842bb0ccd74154e255118a1",
            "efe3d41c101a12511c5bd1508702666507a54fdac471fc947b050d47604fb273",
        ),
    ];
    for (i, seed, z) in key_pairs {
        let x = batch_seed(64, &master, i);
        assert_eq!([const_hex::encode(&x[..32]), const_hex::encode(&x[32..])], [seed, z]);
    }
    let encapsulations = [
        (0, "bd189f5a6ae30dc3c76ea15f9a80bb22084f620d5f13bd1e24d54b34efe162de"),
        (1, "00e374f2bb5c7c39443e57875b3366a72866a4e131aaf98537a2c0d9fd52ec56"),
        (256, "3b8fcb0bf2171cc919d29c487b4e901d1ab5100c6cb323c0dc95b300132518ac"),
    ];
    for (i, seed) in encapsulations {
        assert_eq!(const_hex::encode(batch_seed(32, &master, i)), seed);
    }
}
