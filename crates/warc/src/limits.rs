//! Every number that bounds a reader, with its reason.

/// What a reader refuses, so that no file can make it hold or decode without end.
#[derive(Clone, Debug)]
pub struct ReadLimits {
    /// The longest WARC header block, or ARC header line, in bytes. Real ones are 0.3 to 4 KiB.
    pub header_bytes_max: usize,
    /// The longest block that a record may announce. A longer one is skipped.
    pub record_bytes_max: u64,
    /// Decoded bytes per compressed byte that one gzip or zstd member may reach, once it has decoded
    /// `expansion_free_bytes`. Deflate cannot exceed 1032; text compresses 3 to 20 times.
    pub expansion_max: u64,
    /// What a member may decode to before its expansion is looked at: a page of zeros is not an attack.
    pub expansion_free_bytes: u64,
    /// The largest zstd window, as a power of two. 27 is what `zstd -d` accepts unasked: 128 MiB of memory.
    pub zstd_window_log_max: u32,
    /// The largest zstd dictionary, decoded. Those in use hold 0.1 to 1 MiB.
    pub dictionary_bytes_max: usize,
    /// The most entries that a WACZ may list: its directory is held in memory.
    pub wacz_entries_max: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            header_bytes_max: 64 << 10,
            record_bytes_max: 64 << 30,
            expansion_max: 1000,
            expansion_free_bytes: 64 << 20,
            zstd_window_log_max: 27,
            dictionary_bytes_max: 16 << 20,
            wacz_entries_max: 100_000,
        }
    }
}

/// Bytes read from the file at a time.
pub(crate) const SOURCE_BYTES: usize = 128 << 10;
/// Decoded bytes held: an ordinary record, whole, so that its checksum is known before its first byte is handed out. Half of what long
/// manuals hold is in pages of more than 256 KiB.
pub(crate) const DECODED_BYTES: usize = 1 << 20;
/// Input that a look at a possible gzip member may use. The tables of a deflate block take at most 0.6 KiB.
pub(crate) const GZIP_PROBE_BYTES: usize = 2 << 10;
/// The same for a zstd frame: one whole block, 128 KiB at most, and its headers.
pub(crate) const ZSTD_PROBE_BYTES: usize = (128 << 10) + 64;
/// The longest gzip member header (its name, comment and extra field) that is believed.
pub(crate) const GZIP_HEADER_BYTES_MAX: usize = 128 << 10;
/// The longest ARC header line looked at while searching for the next record.
pub(crate) const ARC_LINE_BYTES_MAX: usize = 8 << 10;
/// Reading again what was read before, in search of records behind damage, may cost this many times the file's size
/// and `RESCAN_FREE_BYTES` in all. Files made to be searched forever end here.
pub(crate) const RESCAN_FACTOR: u64 = 16;
pub(crate) const RESCAN_FREE_BYTES: u64 = 256 << 20;
