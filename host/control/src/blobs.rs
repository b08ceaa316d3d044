//! Files that the workspace holds: what people and programs put there for a
//! call, and what answers left.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_store::{BLOB_LIMIT_BYTES, BlobReader, BlobRow, BlobWriter, Digest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::clock::rfc3339;
use crate::control::Shared;
use crate::page::{Page, PageQuery, cursor};
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// The largest file that is taken.
pub const UPLOAD_LIMIT_BYTES: u64 = BLOB_LIMIT_BYTES;

/// Bytes of one file that a program reads or makes.
const PROGRAM_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// The same of all files of one run.
const PROGRAM_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of a file that are read at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Bytes of an upload after which the disk is looked at again.
const CHECKED_BYTES: usize = 4 * 1024 * 1024;
/// Characters of a media type.
const MEDIA_TYPE_LIMIT: usize = 255;

/// A file, as it stands in arguments and results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct BlobView {
    /// Its reference: `blob:` and the SHA-256 of its bytes.
    #[serde(rename = "$file")]
    pub reference: String,
    /// Its size in bytes.
    pub size: u64,
    /// The name that it was last given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type that it was last given.
    #[serde(rename = "mediaType", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// A file in the list of them all.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BlobItem {
    /// The file.
    #[serde(flatten)]
    pub blob: BlobView,
    /// When it was first stored.
    pub created_at: String,
}

/// What is said of a file beside its bytes.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct BlobName {
    /// Its name. Of a path the last part counts.
    pub name: Option<String>,
}

/// A file that is being taken. Dropping it leaves nothing.
pub struct Upload {
    writer: BlobWriter,
    shared: Arc<Shared>,
    /// Bytes since the disk was looked at.
    unchecked_bytes: usize,
}

impl Upload {
    /// Adds bytes.
    ///
    /// # Errors
    /// When it would be larger than [`UPLOAD_LIMIT_BYTES`], or would take of
    /// the disk what is needed to record what runs.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.unchecked_bytes = self.unchecked_bytes.saturating_add(bytes.len());
        if self.unchecked_bytes > CHECKED_BYTES {
            self.shared.check_disk()?;
            self.unchecked_bytes = 0;
        }
        Ok(self.writer.append(bytes)?)
    }

    /// Completes it: when this answers, it is synced.
    ///
    /// # Errors
    /// When it could not be written.
    pub async fn finish(self) -> Result<BlobView, Problem> {
        let now_ms = self.shared.now_ms();
        Ok(view(self.writer.finish(now_ms).await?))
    }
}

/// A file's bytes, read piece by piece.
#[derive(Debug)]
pub struct BlobContent {
    reader: BlobReader,
}

impl BlobContent {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.reader.size()
    }

    /// Its name, where it was given one.
    pub fn name(&self) -> Option<&str> {
        self.reader.row().name.as_deref()
    }

    /// Its media type, where it was given one.
    pub fn media_type(&self) -> Option<&str> {
        self.reader.row().media_type.as_deref()
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Result<Vec<u8>, Problem> {
        let mut bytes = Vec::new();
        loop {
            let piece = self.read(bytes.len() as u64)?;
            if piece.is_empty() {
                return Ok(bytes);
            }
            bytes.extend_from_slice(&piece);
        }
    }

    /// The next bytes from `offset` on; none at the end. Blocks for as long as
    /// the disk takes.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn read(&self, offset: u64) -> Result<Vec<u8>, Problem> {
        Ok(self.reader.read(offset, PIECE_BYTES)?)
    }
}

/// `blobs.text(file)` and `blobs.bytes(file)` of a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadBlob {
    pub(crate) file: String,
}

/// `blobs.put(data, { name, mediaType })` of a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutBlob {
    data: Data,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "mediaType")]
    media_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "blobs.put takes a string, or bytes such as a Uint8Array")]
enum Data {
    Text(String),
    Bytes(Encoded),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoded {
    #[serde(rename = "$bytes")]
    base64: String,
}

impl PutBlob {
    /// About how many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        match &self.data {
            Data::Text(text) => text.len() as u64,
            Data::Bytes(encoded) => encoded.base64.len() as u64 / 4 * 3,
        }
    }
}

/// What a program gets as bytes.
pub(crate) fn as_bytes(bytes: &[u8]) -> Value {
    json!({"$bytes": BASE64.encode(bytes)})
}

/// What it gets as a text.
pub(crate) fn as_text(bytes: Vec<u8>) -> Result<Value, Problem> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Problem::new(
            ProblemKind::Unprocessable,
            "invalid-text",
            format!("the file is no UTF-8 text: see byte {place}"),
        )
        .hint("blobs.bytes(file) gives its bytes")
    })?;
    Ok(json!({"text": text}))
}

/// Refuses a file that is too large for a program.
pub(crate) fn expect_small(size: u64) -> Result<(), Problem> {
    if size <= PROGRAM_FILE_BYTES {
        return Ok(());
    }
    let message = format!("a program reads and makes files of at most {PROGRAM_FILE_BYTES} bytes");
    Err(Problem::new(ProblemKind::Unprocessable, "too-large", message)
        .hint("pass larger ones on as they are, { $file }, to the tool that takes them"))
}

/// Refuses more than one run may read and make.
pub(crate) fn expect_few(bytes: u64) -> Result<(), Problem> {
    if bytes <= PROGRAM_BYTES {
        return Ok(());
    }
    let message = format!("all files that one run reads and makes have at most {PROGRAM_BYTES} bytes");
    Err(Problem::new(ProblemKind::Unprocessable, "too-large", message))
}

impl Workspace {
    /// Keeps a file that a program made.
    pub(crate) async fn put_blob(&self, made: PutBlob) -> Result<BlobView, Problem> {
        let bytes = match made.data {
            Data::Text(text) => text.into_bytes(),
            Data::Bytes(encoded) => BASE64
                .decode(&encoded.base64)
                .map_err(|error| Problem::invalid(format!("the bytes of the file are none: {error}")))?,
        };
        let mut upload = self.begin_upload(&BlobName { name: made.name }, made.media_type.as_deref())?;
        upload.append(&bytes)?;
        upload.finish().await
    }

    /// Begins to take a file.
    ///
    /// # Errors
    /// When the media type is none, or nothing can be written.
    pub fn begin_upload(&self, name: &BlobName, media_type: Option<&str>) -> Result<Upload, Problem> {
        if let Some(media_type) = media_type
            && !is_media_type(media_type)
        {
            return Err(Problem::invalid("the file's media type is none").hint("as `text/plain`"));
        }
        self.shared.check_disk()?;
        let name = name.name.as_deref().and_then(file_name);
        let writer = self.store.blobs().create(name.as_deref(), media_type)?;
        Ok(Upload { writer, shared: self.shared.clone(), unchecked_bytes: 0 })
    }

    /// A file by its reference.
    ///
    /// # Errors
    /// When the workspace has none of that reference, or its bytes are damaged.
    pub fn blob(&self, reference: &str) -> Result<BlobContent, Problem> {
        let reader = self.store.blobs().open_reference(reference)?;
        let reader = reader.ok_or_else(|| {
            Problem::not_found("file", reference).hint(
                "a file is named by its reference, `blob:` and 64 digits, in the workspace that holds it",
            )
        })?;
        Ok(BlobContent { reader })
    }

    /// A page of the files, the newest first.
    ///
    /// # Errors
    /// When the cursor is none of this list.
    pub fn blobs_page(&self, query: &PageQuery) -> Result<Page<BlobItem>, Problem> {
        let after = match query.place::<String>()? {
            None => None,
            Some(place) => Some(parse_place(&place).ok_or_else(|| {
                Problem::invalid("the cursor belongs to another list")
                    .hint("a cursor is the next_cursor of the page before, as it is")
            })?),
        };
        let limit = query.limit();
        let mut rows = self.store.blobs().list(after, limit + 1)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let place = |row: &BlobRow| cursor(format_args!("{} {}", row.created_ms, row.digest.hex()));
        let next_cursor = rows.last().filter(|_| more).map(place);
        let item = |row: BlobRow| BlobItem { created_at: rfc3339(row.created_ms), blob: view(row) };
        Ok(Page { items: rows.into_iter().map(item).collect(), next_cursor })
    }
}

fn parse_place(place: &str) -> Option<(i64, Digest)> {
    let (created_ms, digest) = place.split_once(' ')?;
    Some((created_ms.parse().ok()?, Digest::parse(digest).ok()?))
}

fn view(row: BlobRow) -> BlobView {
    BlobView { reference: row.reference(), size: row.size, name: row.name, media_type: row.media_type }
}

/// A name without its directories and what no name should have. It is told to
/// upstreams and saved under by people, and leads nowhere.
fn file_name(given: &str) -> Option<String> {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let odd = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name: String = last.chars().filter(|character| !odd(*character)).collect();
    let name = name.trim();
    (!name.is_empty() && name != "." && name != "..").then(|| name.to_owned())
}

/// `type/subtype`, with parameters where there are some (RFC 9110, 8.3.1).
fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let visible = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let named = essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype));
    text.len() <= MEDIA_TYPE_LIMIT && visible && named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere() {
        let check =
            |given: &str, expect: Option<&str>| assert_eq!(file_name(given).as_deref(), expect, "{given:?}");
        check("up.txt", Some("up.txt"));
        check("../../etc/passwd", Some("passwd"));
        check("C:\\x\\a b.png", Some("a b.png"));
        check("a\u{202e}gpj.exe\r\nX: y", Some("agpj.exeX: y"));
        for nothing in ["", "/", "..", "a/..", ".", " ", "a/"] {
            check(nothing, None);
        }
    }

    #[test]
    fn a_media_type_has_two_parts() {
        for good in ["text/plain", "text/plain; charset=utf-8", "image/svg+xml", "application/vnd.a.b+json"] {
            assert!(is_media_type(good), "{good}");
        }
        for wrong in [
            "",
            "text",
            "text/",
            "/x",
            "a b/c",
            "text/plain\r\nx: y",
            "é/x",
            &format!("a/{}", "x".repeat(300)),
        ] {
            assert!(!is_media_type(wrong), "{wrong}");
        }
    }
}
