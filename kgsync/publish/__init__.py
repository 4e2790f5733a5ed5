"""The publishing room: sidecar files and the metadata graph."""
