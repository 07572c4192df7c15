// Command go-proxy is a reverse proxy that asks an authentication server about each request before it forwards the
// request.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	backlog          = 2048
	gracefulShutdown = time.Second
)

func main() {
	host := flag.String("host", "127.0.0.1", "address to listen on")
	port := flag.String("port", "8000", "port to listen on")
	workers := flag.Int("workers", 1, "threads that run Go code at the same time")
	flag.Int("pool-size", 10, "unused: as many connections as requests")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	listener, err := listen(net.JoinHostPort(*host, *port))
	if err != nil {
		log.Fatal(err)
	}
	serve(newGate(addressIn("AUTH_URL"), addressIn("UPSTREAM_URL")), listener)
}

func addressIn(variable string) *url.URL {
	address, err := url.Parse(os.Getenv(variable))
	if err != nil || address.Host == "" {
		log.Fatalf("%s is not set to a URL such as http://127.0.0.1:8001", variable)
	}
	return address
}

// listen opens a port. Go's backlog is net.core.somaxconn. A second listen(2) sets the backlog of the targets.
func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	socket, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	err = socket.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), backlog) })
	return listener, errors.Join(err, failed)
}

// serve accepts connections until SIGTERM, and then gives open requests one second. By default, net/http keeps idle
// connections without a time limit.
func serve(handler http.Handler, listener net.Listener) {
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: handler}
	go func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	<-stopped.Done()
	limit, cancel := context.WithTimeout(context.Background(), gracefulShutdown)
	defer cancel()
	server.Shutdown(limit) // Slower requests end with the process.
}
