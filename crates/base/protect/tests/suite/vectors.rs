//! Vectors of RFC 7748, of the specification of GCM (McGrew and Viega, 2005, as in NIST SP 800-38D), of NIST's CAVP, and
//! of RFC 8439.

use weir_protect::{AeadKey, EphemeralKey, Protection, Unauthentic};

fn hex<const N: usize>(text: &str) -> [u8; N] {
    bytes(text).try_into().unwrap()
}

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn x25519_of_rfc_7748_section_5_2() {
    for (scalar, coordinate, result) in [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ] {
        let shared = EphemeralKey::new(hex(scalar)).agree(hex(coordinate)).unwrap();
        assert_eq!(shared.as_bytes(), &hex(result));
    }
}

#[test]
fn x25519_repeated_as_in_rfc_7748_section_5_2() {
    let mut base = [0; 32];
    base[0] = 9;
    let (mut scalar, mut coordinate) = (base, base);
    for round in 1..=1_000 {
        let result = *EphemeralKey::new(scalar).agree(coordinate).unwrap().as_bytes();
        (scalar, coordinate) = (result, scalar);
        if round == 1 {
            assert_eq!(
                scalar,
                hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
            );
        }
    }
    assert_eq!(
        scalar,
        hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
    );
}

#[test]
fn both_sides_agree_and_points_of_low_order_are_refused() {
    let [here, there] = [3, 4].map(|byte| EphemeralKey::new([byte; 32]));
    let shared = [
        here.agree(there.public()).unwrap(),
        there.agree(here.public()).unwrap(),
    ];
    assert_eq!(shared[0].as_bytes(), shared[1].as_bytes());
    // RFC 7748 section 6.1: 0, 1, and two points of order 8.
    let one = std::array::from_fn(|at| u8::from(at == 0));
    for point in [
        [0; 32],
        one,
        hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    ] {
        assert!(here.agree(point).is_err(), "{point:?}");
    }
}

struct Vector {
    protection: Protection,
    key: &'static str,
    nonce: &'static str,
    aad: &'static str,
    plain: &'static str,
    sealed: &'static str,
    tag: &'static str,
}

const GCM_PLAIN: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b1\
                         6aedf5aa0de657ba637b39";
const GCM_AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";

const AEAD: [Vector; 4] = [
    // Test case 4 of the specification of GCM.
    Vector {
        protection: Protection::Aes128Gcm,
        key: "feffe9928665731c6d6a8f9467308308",
        nonce: "cafebabefacedbaddecaf888",
        aad: GCM_AAD,
        plain: GCM_PLAIN,
        sealed: "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b39\
                 6a0aac973d58e091",
        tag: "5bc94fbc3221a5db94fae95ae7121a47",
    },
    // Test case 16.
    Vector {
        protection: Protection::Aes256Gcm,
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        nonce: "cafebabefacedbaddecaf888",
        aad: GCM_AAD,
        plain: GCM_PLAIN,
        sealed: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e63\
                 93ba7a0abcc9f662",
        tag: "76fc6ece0f4e1768cddf8853bb2d551b",
    },
    // RFC 8439 section 2.8.2.
    Vector {
        protection: Protection::ChaCha20Poly1305,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        nonce: "070000004041424344454647",
        aad: "50515253c0c1c2c3c4c5c6c7",
        plain: "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966204920636f756c64206f\
                6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73637265656e20776f756c6420\
                62652069742e",
        sealed: "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a\
                 9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9d\
                 e576d26586cec64b6116",
        tag: "1ae10b594f09e26a7e902ecbd0600691",
    },
    // CAVP, gcmEncryptExtIV128: no plaintext, 128 bits of associated data. Here these are the payload.
    Vector {
        protection: Protection::Auth,
        key: "77be63708971c4e240d1cb79e8d77feb",
        nonce: "e0e00f19fed7ba0136a797f3",
        aad: "",
        plain: "7a43ec1d9c0a5a78a0b16533a6213cab",
        sealed: "7a43ec1d9c0a5a78a0b16533a6213cab",
        tag: "209fcc8d3675ed938e9c7166709dd946",
    },
];

#[test]
fn aead_of_gcm_s_specification_cavp_and_rfc_8439() {
    for vector in AEAD {
        let mut key = [0; 32];
        let given = bytes(vector.key);
        key[..given.len()].copy_from_slice(&given);
        let (key, nonce, aad) = (
            AeadKey::new(vector.protection, &key),
            hex(vector.nonce),
            bytes(vector.aad),
        );
        let mut text = bytes(vector.plain);
        assert_eq!(key.seal(nonce, &aad, &mut text), hex(vector.tag), "{key:?}");
        assert_eq!(text, bytes(vector.sealed), "{key:?}");
        let mut wrong = text.clone();
        wrong[3] ^= 1;
        assert_eq!(
            key.open(nonce, &aad, hex(vector.tag), &mut wrong),
            Err(Unauthentic)
        );
        assert_eq!(key.open(nonce, &aad, hex(vector.tag), &mut text), Ok(()));
        assert_eq!(text, bytes(vector.plain), "{key:?}");
    }
}
