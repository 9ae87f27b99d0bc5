"""What `gramian.io` offers, for editors and type checkers; at run time everything is imported on first use."""

from gramian.estimators.table_preprocessor import TablePreprocessor as TablePreprocessor
from gramian.io.table import ReadOptions as ReadOptions
from gramian.io.table_model import TableModel as TableModel
from gramian.io.tables import read_table as read_table
from gramian.io.tables import write_table as write_table
from gramian.tables.preprocessing import Preprocessing as Preprocessing
from gramian.tables.table import Table as Table
from gramian.tables.table import TableError as TableError

__all__: list[str]
