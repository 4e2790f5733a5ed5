"""What is special about `tensor`."""

WRITTEN = '{"type":"float32","shape":[2,3],"data":[0.1,-0.00002,1,-0.0,3e+20,2]}'
REFUSED = ["[1]", '{"shape":[1]}', '{"data":1}', '{"data":{"0":1}}', '{"data":[Infinity]}']
