"""The report of a run: as an HTML page, in the terminal, as spans of OpenTelemetry, and for MLflow."""
