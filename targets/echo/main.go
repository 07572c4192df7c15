// Command echo implements the contract with Echo on net/http.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	backlog          = 2048
	gracefulShutdown = time.Second
)

func main() {
	host := flag.String("host", "127.0.0.1", "address to listen on")
	port := flag.String("port", "8000", "port to listen on")
	workers := flag.Int("workers", 1, "threads that run Go code at the same time")
	poolSize := flag.Int("pool-size", 10, "connections to each backend for each worker")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	backends, err := openBackends(*workers * *poolSize)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := listen(net.JoinHostPort(*host, *port))
	if err != nil {
		log.Fatal(err)
	}
	serve(newServer(backends), listener)
}

func newServer(backends *backends) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true

	e.GET("/", func(c echo.Context) error {
		return answer(c, http.StatusOK, map[string]string{"message": "Hello world"})
	})
	e.GET("/health", func(c echo.Context) error {
		if backends.healthy(c.Request().Context()) {
			return answer(c, http.StatusOK, map[string]string{"status": "ok"})
		}
		return answer(c, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
	})
	e.GET("/redis3", func(c echo.Context) error {
		values, err := backends.readValues(c.Request().Context())
		if err != nil {
			return err
		}
		return answer(c, http.StatusOK, map[string][]*string{"values": values})
	})
	e.POST("/items", func(c echo.Context) error {
		body, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, err.Error())
		}
		items, err := parseItems(body)
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, err.Error())
		}
		inserted, err := backends.insert(c.Request().Context(), items)
		if err != nil {
			return err
		}
		return answer(c, http.StatusCreated, map[string]int64{"inserted": inserted})
	})
	return e
}

// answer sends JSON without the line feed that Context.JSON appends, which no other target sends.
func answer(c echo.Context, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.JSONBlob(status, body)
}

// listen opens a port. Go's backlog is net.core.somaxconn. A second listen(2) sets the backlog of the other targets.
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
func serve(e *echo.Echo, listener net.Listener) {
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	e.Listener = listener
	go func() {
		if err := e.Start(""); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	<-stopped.Done()
	limit, cancel := context.WithTimeout(context.Background(), gracefulShutdown)
	defer cancel()
	e.Shutdown(limit) // Slower requests end with the process.
}
