"""What fills a table: its columns and their laws, the choice of the model on hidden cells, calibration, and draws."""
