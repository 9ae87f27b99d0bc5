"""Files: model files that hold data and no code, and tables in CSV, TSV, Parquet, NPY and NPZ."""
