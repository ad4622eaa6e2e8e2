//! The field's formats, in and out: WARC, WACZ and ARC files become captures, captures become WARC, WACZ and CDXJ files.

mod assemble;
mod export;
mod header;
mod import;
mod record;
mod revisit;

pub use export::{ExportReport, Format, Selection, Source, export};
pub use import::{ImportOptions, ImportProgress, ImportReport, import};
pub use record::WarcRecords;
pub use revisit::original_in;
