package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// More than the users of a measurement. Go's default of 2 would open a connection for almost every request.
	idleConnections = 16_384
	// Less than the 75 seconds after which some targets close an idle connection, so that no request meets the close.
	idleTimeout = 60 * time.Second
	bufferSize  = 32 * 1024
)

// Headers that concern one connection, not a request. ReverseProxy removes the same.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// gate forwards a request if the authentication server answers 2xx, and otherwise sends its answer.
type gate struct {
	auth      string
	transport *http.Transport
	upstream  *httputil.ReverseProxy
}

func newGate(auth, upstream *url.URL) *gate {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConns = 0 // No limit beyond that of each host.
	transport.MaxIdleConnsPerHost = idleConnections
	transport.IdleConnTimeout = idleTimeout
	transport.DisableCompression = true
	return &gate{auth.String(), transport, &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(upstream)
			request.SetXForwarded()
		},
		Transport:  transport,
		BufferPool: &buffers{},
		ErrorLog:   log.New(io.Discard, "", 0),
		ErrorHandler: func(response http.ResponseWriter, _ *http.Request, _ error) {
			response.WriteHeader(http.StatusBadGateway)
		},
	}}
}

func (g *gate) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	answer, err := g.ask(request)
	if err != nil {
		response.WriteHeader(http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		removeHopByHop(answer.Header)
		for key, values := range answer.Header {
			response.Header()[key] = values
		}
		response.WriteHeader(answer.StatusCode)
		io.Copy(response, answer.Body)
		return
	}
	io.Copy(io.Discard, answer.Body) // Only a connection whose response is read is used again.
	g.upstream.ServeHTTP(response, request)
}

// ask sends the headers of a request to the authentication server. The method and the URI are in headers.
func (g *gate) ask(request *http.Request) (*http.Response, error) {
	question, err := http.NewRequestWithContext(request.Context(), http.MethodGet, g.auth, nil)
	if err != nil {
		return nil, err
	}
	question.Header = request.Header.Clone()
	removeHopByHop(question.Header)
	question.Header.Del("Content-Length") // The question has no body.
	question.Header.Del("Expect")
	client, _, _ := net.SplitHostPort(request.RemoteAddr)
	question.Header.Set("X-Forwarded-For", client)
	question.Header.Set("X-Forwarded-Host", request.Host)
	question.Header.Set("X-Forwarded-Proto", "http")
	question.Header.Set("X-Forwarded-Method", request.Method)
	question.Header.Set("X-Forwarded-Uri", request.RequestURI)
	return g.transport.RoundTrip(question) // A http.Client would follow redirects.
}

func removeHopByHop(header http.Header) {
	for _, options := range header.Values("Connection") {
		for option := range strings.SplitSeq(options, ",") {
			header.Del(strings.TrimSpace(option))
		}
	}
	for _, key := range hopByHop {
		header.Del(key)
	}
}

// buffers lends the memory through which responses are copied. Without it, ReverseProxy allocates 32 kB for each.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
