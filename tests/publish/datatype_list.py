"""What is special about `list`."""

WRITTEN = "[0.1,-0.00002,1,-0.0,3e+20,2]"
REFUSED = ["[1,2", "1", "[1,true]", "[[1]]", "[null]", '["1"]', "[NaN]", "[1e400]", '{"data":[1]}']
