package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/browserd/browserd/protocol"
)

var (
	errDeadline = errors.New("the exchange's time is over")
	errHeaders  = errors.New("header too long")
)

// ended returns the error that ended an exchange with its code: ctx's cause if the caller ended
// it, err if it has a code, else that of failure.
func ended(ctx, own context.Context, err error, host string, timeout time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var e *protocol.Error
	if errors.As(err, &e) {
		return e
	}
	if own.Err() != nil || isTimeout(err) {
		return protocol.Errorf(protocol.Timeout, "%s did not answer within %s", host, timeout.Round(time.Millisecond)).
			With("reason", "timeout").With("host", host).With("waited_for", map[string]any{"host": host})
	}
	return failure(err, host)
}

// failure returns the NavigationFailed for a transport's error. details.reason is one of
// name_not_resolved, connection_refused, connection_reset, unreachable,
// certificate, tls, headers_too_large, content_coding, empty_response and
// malformed_response.
func failure(err error, host string) *protocol.Error {
	var (
		dns      *net.DNSError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		alert    tls.AlertError
	)
	switch {
	case errors.As(err, &dns):
		return failed("name_not_resolved", host, "the name of %s cannot be resolved", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed("connection_refused", host, "%s refuses the connection", host)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return failed("unreachable", host, "%s cannot be reached", host)
	case errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &verify):
		return failed("certificate", host, "the certificate of %s is not valid for it", host).Then(protocol.NextCertificate)
	case errors.As(err, &record), errors.As(err, &alert):
		return failed("tls", host, "%s does not speak TLS as asked", host)
	case errors.Is(err, errHeaders), strings.Contains(err.Error(), "server response headers exceeded"):
		return failed("headers_too_large", host, "%s sends more than %d KiB of headers", host, MaxHeaderBytes>>10)
	case errors.Is(err, errCoding):
		return failed("content_coding", host, "%s packs its answer in a way that is not read: one of %s is", host, acceptEncoding)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return failed("connection_reset", host, "%s ended the connection", host)
	case isEOF(err):
		return failed("empty_response", host, "%s ended the connection before it answered", host)
	}
	f := failed("malformed_response", host, "%s answers with something that is not HTTP", host)
	f.Cause = err
	return f
}

func failed(reason, host, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.NavigationFailed, format, args...).With("reason", reason).With("host", host)
}
