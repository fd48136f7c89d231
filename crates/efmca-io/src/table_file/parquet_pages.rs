//! Pages of a Parquet file, checked before values are made of them.

use parquet::basic::Type as Physical;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// The pages of a column whose dictionaries are as large as their headers say. The parquet crate makes room for all values that a header
/// promises before it looks for the first one.
pub(super) struct CheckedPages {
    pages: Box<dyn PageReader>,
    /// The bytes of a value in a dictionary, at the least.
    smallest: usize,
}

impl CheckedPages {
    pub(super) fn new(pages: Box<dyn PageReader>, column: &ColumnDescriptor) -> CheckedPages {
        let smallest = match column.physical_type() {
            // text begins with its length
            Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            Physical::INT96 => 12,
            Physical::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(1).max(1),
            Physical::BOOLEAN => 1,
        };
        CheckedPages { pages, smallest }
    }

    fn checked(&self, page: Option<Page>) -> Result<Option<Page>> {
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize > buf.len() / self.smallest
        {
            let (bytes, values) = (buf.len(), num_values);
            return Err(ParquetError::General(format!("a dictionary of {bytes} bytes cannot have {values} values")));
        }
        Ok(page)
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.checked(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        self.checked(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
