module loadgen/targets/go-proxy

go 1.26.0
