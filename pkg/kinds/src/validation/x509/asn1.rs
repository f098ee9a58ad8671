//! Checks of DER by the rules of Go's `encoding/asn1`, which reports the first violation in its own words. Upstream
//! returns these texts for certificate requests.

use super::X509Error;

/// Tag of an expected element. `None` in its place means any element.
#[derive(Clone, Copy)]
struct Expected {
    class: u8,
    tag: i64,
    compound: bool,
}

const UNIVERSAL: u8 = 0;
const SEQUENCE: Expected = Expected { class: UNIVERSAL, tag: 16, compound: true };
const SET: Expected = Expected { class: UNIVERSAL, tag: 17, compound: true };
const INTEGER: Expected = Expected { class: UNIVERSAL, tag: 2, compound: false };
const BIT_STRING: Expected = Expected { class: UNIVERSAL, tag: 3, compound: false };
const OBJECT_IDENTIFIER: Expected = Expected { class: UNIVERSAL, tag: 6, compound: false };
/// The attributes of a request have the context-specific tag 0.
const ATTRIBUTES: Expected = Expected { class: 2, tag: 0, compound: true };

/// Go's limit of a length that can still grow by a byte.
const LENGTH_MAX: usize = 1 << 23;
/// Maximum bytes of a number in base 128.
const BASE_128_BYTES_MAX: usize = 5;

struct Header {
    class: u8,
    tag: i64,
    length: usize,
    compound: bool,
}

impl Expected {
    fn matches(self, header: &Header) -> bool {
        (self.class, self.tag, self.compound) == (header.class, header.tag, header.compound)
    }
}

fn syntax(text: &str) -> X509Error {
    X509Error(format!("asn1: syntax error: {text}"))
}

fn structure(text: &str) -> X509Error {
    X509Error(format!("asn1: structure error: {text}"))
}

/// Position in the content of an element.
struct Reader<'d> {
    bytes: &'d [u8],
    offset: usize,
}

impl<'d> Reader<'d> {
    fn new(bytes: &'d [u8]) -> Self {
        Reader { bytes, offset: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }

    fn rest(&self) -> &'d [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.offset).copied()?;
        self.offset += 1;
        Some(byte)
    }

    fn header(&mut self) -> Result<Header, X509Error> {
        let truncated = || syntax("truncated tag or length");
        let first = self.byte().ok_or_else(truncated)?;
        let mut tag = i64::from(first & 0x1f);
        if tag == 0x1f {
            tag = self.base_128()?;
            if tag < 0x1f {
                return Err(syntax("non-minimal tag"));
            }
        }
        let length = match self.byte().ok_or_else(truncated)? {
            short @ 0..=0x7f => usize::from(short),
            0x80 => return Err(syntax("indefinite length found (not DER)")),
            long => self.long_length(long & 0x7f)?,
        };
        Ok(Header { class: first >> 6, tag, length, compound: first & 0x20 != 0 })
    }

    fn long_length(&mut self, bytes: u8) -> Result<usize, X509Error> {
        let mut length = 0;
        for _ in 0..bytes {
            let byte = self.byte().ok_or_else(|| syntax("truncated tag or length"))?;
            if length >= LENGTH_MAX {
                return Err(structure("length too large"));
            }
            length = length << 8 | usize::from(byte);
            if length == 0 {
                return Err(structure("superfluous leading zeros in length"));
            }
        }
        if length < 0x80 { Err(structure("non-minimal length")) } else { Ok(length) }
    }

    fn base_128(&mut self) -> Result<i64, X509Error> {
        let too_large = || structure("base 128 integer too large");
        let mut number = 0;
        for at in 0.. {
            let Some(&byte) = self.bytes.get(self.offset) else { break };
            if at == BASE_128_BYTES_MAX {
                return Err(too_large());
            }
            if at == 0 && byte == 0x80 {
                return Err(syntax("integer is not minimally encoded"));
            }
            self.offset += 1;
            number = number << 7 | i64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return i32::try_from(number).map(i64::from).map_err(|_| too_large());
            }
        }
        Err(syntax("truncated base 128 integer"))
    }

    /// Reads the content of the next element. `name` is the name of the Go type in errors.
    fn element(&mut self, expected: Option<Expected>, name: &str) -> Result<&'d [u8], X509Error> {
        if self.is_at_end() {
            return Err(syntax("sequence truncated"));
        }
        let header = self.header()?;
        if let Some(expected) = expected.filter(|expected| !expected.matches(&header)) {
            return Err(self.mismatch(expected, &header, name));
        }
        self.content(&header).ok_or_else(|| syntax("data truncated"))
    }

    fn content(&mut self, header: &Header) -> Option<&'d [u8]> {
        let end = self.offset.checked_add(header.length)?;
        let content = self.bytes.get(self.offset..end)?;
        self.offset = end;
        Some(content)
    }

    fn mismatch(&self, expected: Expected, found: &Header, name: &str) -> X509Error {
        let Header { class, tag, length, compound } = found;
        // Go prints the address of the tag.
        let tag_pointer = if expected.class == UNIVERSAL { "<nil>" } else { "0xc000000000" };
        structure(&format!(
            "tags don't match ({} vs {{class:{class} tag:{tag} length:{length} isCompound:{compound}}}) \
             {{optional:false explicit:false application:false private:false defaultValue:<nil> tag:{tag_pointer} \
             stringType:0 timeType:0 set:false omitEmpty:false}} {name} @{}",
            expected.tag, self.offset
        ))
    }

    /// Checks the headers of all elements of a list.
    fn check_list(&self, expected: Option<Expected>) -> Result<(), X509Error> {
        let mut list = Reader::new(self.bytes);
        while !list.is_at_end() {
            let header = list.header()?;
            if expected.is_some_and(|expected| !expected.matches(&header)) {
                return Err(structure("sequence tag mismatch"));
            }
            list.content(&header).ok_or_else(|| syntax("truncated sequence"))?;
        }
        Ok(())
    }
}

/// Structure of a certificate request.
pub(super) struct RequestOutline<'d> {
    /// Content of the subject, without its header.
    subject: &'d [u8],
    /// True for a subject that is a sequence.
    subject_header: Result<(), X509Error>,
    /// Bytes after the request.
    pub(super) rest: &'d [u8],
}

/// Checks the structure of a certificate request. The contents of subject, keys and attributes are not checked.
///
/// # Errors
/// Go's first error.
pub(super) fn request_outline(der: &[u8]) -> Result<RequestOutline<'_>, X509Error> {
    let mut outer = Reader::new(der);
    let mut request = Reader::new(outer.element(Some(SEQUENCE), "certificateRequest")?);
    let mut info = Reader::new(request.element(Some(SEQUENCE), "tbsCertificateRequest")?);
    check_integer(info.element(Some(INTEGER), "int")?)?;
    let before_subject = info.rest();
    info.element(None, "RawValue")?;
    let mut subject = Reader::new(before_subject);
    let content = subject.element(Some(SEQUENCE), "RDNSequence");
    let mut key = Reader::new(info.element(Some(SEQUENCE), "publicKeyInfo")?);
    check_algorithm(key.element(Some(SEQUENCE), "AlgorithmIdentifier")?)?;
    check_bit_string(key.element(Some(BIT_STRING), "BitString")?)?;
    Reader::new(info.element(Some(ATTRIBUTES), "")?).check_list(None)?;
    check_algorithm(request.element(Some(SEQUENCE), "AlgorithmIdentifier")?)?;
    check_bit_string(request.element(Some(BIT_STRING), "BitString")?)?;
    let (subject, subject_header) = match content {
        Ok(content) => (content, Ok(())),
        Err(error) => (Default::default(), Err(error)),
    };
    Ok(RequestOutline { subject, subject_header, rest: outer.rest() })
}

impl RequestOutline<'_> {
    /// Checks the subject, which Go reads last.
    ///
    /// # Errors
    /// Go's first error.
    pub(super) fn check_subject(self) -> Result<(), X509Error> {
        self.subject_header?;
        let mut names = Reader::new(self.subject);
        names.check_list(Some(SET))?;
        while !names.is_at_end() {
            let mut attributes = Reader::new(names.element(Some(SET), "RelativeDistinguishedNameSET")?);
            attributes.check_list(Some(SEQUENCE))?;
            while !attributes.is_at_end() {
                let mut pair = Reader::new(attributes.element(Some(SEQUENCE), "AttributeTypeAndValue")?);
                check_object_identifier(pair.element(Some(OBJECT_IDENTIFIER), "ObjectIdentifier")?)?;
                check_value(&mut pair)?;
            }
        }
        Ok(())
    }
}

fn check_integer(content: &[u8]) -> Result<(), X509Error> {
    match content {
        [] => Err(structure("empty integer")),
        [0, next, ..] if next & 0x80 == 0 => Err(structure("integer not minimally-encoded")),
        [0xff, next, ..] if next & 0x80 != 0 => Err(structure("integer not minimally-encoded")),
        _ if content.len() > size_of::<i64>() => Err(structure("integer too large")),
        _ => Ok(()),
    }
}

fn check_bit_string(content: &[u8]) -> Result<(), X509Error> {
    let Some((&padding, bits)) = content.split_first() else { return Err(syntax("zero length BIT STRING")) };
    let unused = bits.last().map_or(0, |last| u16::from(*last) & ((1 << padding.min(8)) - 1));
    if padding > 7 || bits.is_empty() && padding > 0 || unused != 0 {
        return Err(syntax("invalid padding bits in BIT STRING"));
    }
    Ok(())
}

fn check_object_identifier(content: &[u8]) -> Result<(), X509Error> {
    if content.is_empty() {
        return Err(syntax("zero length OBJECT IDENTIFIER"));
    }
    let mut arcs = Reader::new(content);
    while !arcs.is_at_end() {
        arcs.base_128()?;
    }
    Ok(())
}

/// Checks an algorithm: its identifier and optional parameters of any type.
fn check_algorithm(content: &[u8]) -> Result<(), X509Error> {
    let mut algorithm = Reader::new(content);
    check_object_identifier(algorithm.element(Some(OBJECT_IDENTIFIER), "ObjectIdentifier")?)?;
    if !algorithm.is_at_end() {
        algorithm.element(None, "RawValue")?;
    }
    Ok(())
}

/// Checks a value of any type. Texts must have the characters of their type.
fn check_value(pair: &mut Reader<'_>) -> Result<(), X509Error> {
    if pair.is_at_end() {
        return Err(syntax("sequence truncated"));
    }
    let header = pair.header()?;
    let content = pair.content(&header).ok_or_else(|| syntax("data truncated"))?;
    if header.compound || header.class != UNIVERSAL {
        return Ok(());
    }
    match header.tag {
        1 if !matches!(content, [0 | 0xff]) => Err(syntax("invalid boolean")),
        2 => check_integer(content),
        3 => check_bit_string(content),
        6 => check_object_identifier(content),
        12 if std::str::from_utf8(content).is_err() => {
            Err(X509Error("asn1: invalid UTF-8 string".to_owned()))
        }
        18 if !content.iter().all(|byte| byte.is_ascii_digit() || *byte == b' ') => {
            Err(syntax("NumericString contains invalid character"))
        }
        19 if !content.iter().all(|byte| is_printable(*byte)) => {
            Err(syntax("PrintableString contains invalid character"))
        }
        22 if !content.is_ascii() => Err(syntax("IA5String contains invalid character")),
        30 if !is_bmp(content) => Err(X509Error("invalid BMPString".to_owned())),
        _ => Ok(()),
    }
}

/// True for a character of a PrintableString. Go also accepts `*` and `&`, which some authorities use.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(&byte)
}

/// True for a text of two-byte characters without surrogates and reserved characters.
fn is_bmp(content: &[u8]) -> bool {
    let content =
        content.strip_suffix(&[0, 0]).filter(|_| content.len().is_multiple_of(2)).unwrap_or(content);
    let (characters, odd) = content.as_chunks::<2>();
    odd.is_empty()
        && characters.iter().all(|bytes| {
            !matches!(u16::from_be_bytes(*bytes), 0xfffe | 0xffff | 0xfdd0..=0xfdef | 0xd800..=0xdfff)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(check: Result<(), X509Error>) -> String {
        check.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn first_violation_has_gos_text() {
        let check = |der: &[u8], expected: &str| {
            let outcome = request_outline(der).and_then(RequestOutline::check_subject);
            assert_eq!(text(outcome), format!("asn1: {expected}"), "{der:x?}");
        };
        check(&[], "syntax error: sequence truncated");
        check(&[0x30], "syntax error: truncated tag or length");
        check(&[0x30, 0x82, 1], "syntax error: truncated tag or length");
        check(&[0x30, 0x80, 0, 0], "syntax error: indefinite length found (not DER)");
        check(&[0x30, 0x81, 5], "structure error: non-minimal length");
        check(&[0x30, 0x82, 0, 5], "structure error: superfluous leading zeros in length");
        check(&[0x30, 0x84, 255, 255, 255, 255], "structure error: length too large");
        check(&[0x3f, 0x1e, 0], "syntax error: non-minimal tag");
        check(&[0x3f, 0x80, 0], "syntax error: integer is not minimally encoded");
        check(&[0x3f, 0x81], "syntax error: truncated base 128 integer");
        check(&[0x30, 5, 0], "syntax error: data truncated");
        check(&[0x30, 2, 0x30, 0], "syntax error: sequence truncated");
        check(&[0x30, 4, 0x30, 2, 2, 0], "structure error: empty integer");
        let parameters = "{optional:false explicit:false application:false private:false defaultValue:<nil> \
                          tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}";
        let vs = "{class:0 tag:2 length:1 isCompound:false}";
        check(
            &[0x30, 3, 2, 1, 0],
            &format!("structure error: tags don't match (16 vs {vs}) {parameters} tbsCertificateRequest @2"),
        );
    }

    #[test]
    fn contents_have_gos_texts() {
        assert_eq!(text(check_integer(&[0, 1])), "asn1: structure error: integer not minimally-encoded");
        assert_eq!(text(check_integer(&[1; 9])), "asn1: structure error: integer too large");
        assert_eq!(text(check_bit_string(&[])), "asn1: syntax error: zero length BIT STRING");
        for malformed in [&[8, 0][..], &[1], &[1, 1]] {
            let padding = "asn1: syntax error: invalid padding bits in BIT STRING";
            assert_eq!(text(check_bit_string(malformed)), padding, "{malformed:?}");
        }
        assert_eq!(text(check_object_identifier(&[])), "asn1: syntax error: zero length OBJECT IDENTIFIER");
        let value = |der: &[u8]| text(check_value(&mut Reader::new(der)));
        assert_eq!(value(&[19, 1, b'@']), "asn1: syntax error: PrintableString contains invalid character");
        assert_eq!(value(&[12, 1, 0xff]), "asn1: invalid UTF-8 string");
        assert_eq!(value(&[30, 1, 0]), "invalid BMPString");
        assert_eq!(value(&[30, 2, 0, b'a']), "");
    }
}
