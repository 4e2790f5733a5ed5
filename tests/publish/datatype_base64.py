"""What is special about `base64`."""

WRITTEN = "zczMPazFp7cAAIA/AAAAgLEagmEAAABA"
REFUSED = ["!!!!", "AAAA", "zczM PQ==", "AADAfw==", "AACAfw==", "AACA/w==", "zczMPQ"]  # NaN, ±∞
