//! How an MPD says that segments are encrypted: `ContentProtection` (ISO/IEC 23009-1, 5.8.4.1; ISO/IEC 23001-7, 11; DASH-IF
//! IOP, part 6). AES-128 has no such element: players of DASH do not know it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::encryption::{Announcement, COMMON_SYSTEM, KeyId};
use crate::manifest_text::{escaped, push};

/// ClearKey as DASH-IF names it.
const CLEAR_KEY: &str = "e2719d58-a985-b3c9-781a-b030af78d30e";

/// Writes what an adaptation set is protected with.
pub(super) fn write_protection(text: &mut String, announcement: &Announcement) {
    if !announcement.scheme.is_common() {
        return;
    }
    push!(
        text,
        "      <ContentProtection schemeIdUri=\"urn:mpeg:dash:mp4protection:2011\" value=\"{}\" \
             xmlns:cenc=\"urn:mpeg:cenc:2013\" cenc:default_KID=\"{}\"/>\n",
        announcement.scheme,
        announcement.key_id
    );
    if let Some(address) = &announcement.licence_url {
        write_clear_key(text, address);
    }
    for pssh in &announcement.systems {
        // Of what only names the key, the first element has told all that there is.
        if pssh.system() == KeyId(COMMON_SYSTEM) {
            continue;
        }
        push!(
            text,
            "      <ContentProtection schemeIdUri=\"urn:uuid:{}\" xmlns:cenc=\"urn:mpeg:cenc:2013\">\n        \
                 <cenc:pssh>{}</cenc:pssh>\n      </ContentProtection>\n",
            pssh.system(),
            STANDARD.encode(pssh.bytes())
        );
    }
}

/// The address stands there twice: as DASH-IF writes it today, and as it did at first, which is what some players read.
fn write_clear_key(text: &mut String, address: &str) {
    let address = escaped(address);
    push!(
        text,
        "      <ContentProtection schemeIdUri=\"urn:uuid:{CLEAR_KEY}\" value=\"ClearKey1.0\">\n        \
             <dashif:Laurl xmlns:dashif=\"https://dashif.org/CPS\">{address}</dashif:Laurl>\n        \
             <clearkey:Laurl xmlns:clearkey=\"http://dashif.org/guidelines/clearKey\" \
             Lic_type=\"EME-1.0\">{address}</clearkey:Laurl>\n      </ContentProtection>\n"
    );
}
