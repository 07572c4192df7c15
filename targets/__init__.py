"""Python web servers that loadgen compares. All of them implement the contract in openapi.yaml."""
