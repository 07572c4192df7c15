// Command auth is the authentication server of the lab. It answers every request with 200 and an empty body, after an
// optional delay.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
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
	flag.Int("pool-size", 10, "unused: no backends")
	delayMs := flag.Int("delay-ms", 0, "milliseconds to wait before each answer")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	listener, err := listen(net.JoinHostPort(*host, *port))
	if err != nil {
		log.Fatal(err)
	}
	serve(permit(time.Duration(*delayMs)*time.Millisecond), listener)
}

// permit returns a handler that answers 200. The handler waits without a thread.
func permit(delay time.Duration) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-request.Context().Done():
			}
		}
	}
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
