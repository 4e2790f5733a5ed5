"""What is special about `json`."""

WRITTEN = "[0.1,-0.00002,1,-0.0,3e+20,2]"
REFUSED = ["[1,2", "1", "[1,true]", "[[1]]", "[null]", '["1"]', "[NaN]", "[-Infinity]", "[1e39]"]
