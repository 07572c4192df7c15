"""The Python web servers that loadgen compares, all to the contract in openapi.yaml."""
