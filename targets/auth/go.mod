module loadgen/targets/auth

go 1.26.0
