"""Building named-graph versions from raw data sets, and loading them with their metadata."""
