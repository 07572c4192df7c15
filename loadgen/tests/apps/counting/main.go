// Counts its requests: `main MODE PORT CERT KEY`, where MODE is https (with HTTP/2 for those who offer it) or h2c.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
)

func main() {
	mode, port, cert, key := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	var seen atomic.Int64
	server := &http.Server{Addr: "127.0.0.1:" + port}
	server.Handler = http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/" {
			seen.Add(1)
		}
		fmt.Fprint(response, seen.Load())
	})
	var err error
	if mode == "h2c" {
		server.Protocols = new(http.Protocols)
		server.Protocols.SetUnencryptedHTTP2(true)
		err = server.ListenAndServe()
	} else {
		err = server.ListenAndServeTLS(cert, key)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
