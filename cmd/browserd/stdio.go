package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/protocol"
)

// messages is an MCP client's standard input and output. Each line of the input is
// one message (MCP, stdio transport); one that is none is answered here and not handed
// on, since the library would end the server for it.
//
// One goroutine reads; any may write, a message at a time.
type messages struct {
	in   *bufio.Reader
	end  io.Closer
	rest []byte // of the line that is being handed on

	mu  sync.Mutex
	out io.Writer
}

func stdio(in io.ReadCloser, out io.Writer) mcp.Transport {
	m := &messages{in: bufio.NewReader(in), end: in, out: out}
	return &mcp.IOTransport{Reader: m, Writer: answers{m}}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if len(line) == 0 && err != nil {
			return 0, err
		}
		switch id, fault := faultOf(line); {
		case fault != nil:
			m.answer(id, fault)
		case len(line) > 0:
			m.rest = append(line, '\n')
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line returns the next line without the white space around it. Of one that is too long
// it is as much as shows that.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return bytes.Trim(line, " \t\r\n"), err
		}
	}
}

// maxLine is how long a message may be: somewhat less than the library takes.
const maxLine = mcp.DefaultMaxLineLength - 1<<10

// faultOf says why a line is no message, and what to answer with: the id that it has,
// or null. An empty line is nothing.
func faultOf(line []byte) (id json.RawMessage, fault *protocol.Error) {
	none := json.RawMessage("null")
	switch {
	case len(line) == 0:
		return nil, nil
	case len(line) > maxLine:
		return none, protocol.Errorf(protocol.TooLarge, "the message has more than %d bytes", maxLine).With("limit", maxLine).Then("send less")
	case !utf8.Valid(line) || !json.Valid(line):
		return none, protocol.Errorf(protocol.ParseError, "the line is not JSON").Then("send one JSON object a line")
	case line[0] != '{':
		return none, protocol.Errorf(protocol.InvalidRequest, "the line is no JSON object").Then("send one request a line; for several commands use batch")
	}
	var envelope struct {
		ID json.RawMessage `json:"id"`
	}
	json.Unmarshal(line, &envelope)
	if id = envelope.ID; len(id) > 0 && id[0] != '"' {
		// The library would answer 1.5 as 1.
		if _, err := strconv.ParseInt(string(id), 10, 64); err != nil {
			return none, protocol.Errorf(protocol.InvalidRequest, "id: accepts a string or a whole number")
		}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		if id == nil {
			id = none
		}
		return id, protocol.Errorf(protocol.InvalidRequest, "the line is no JSON-RPC 2.0 message: %w", err)
	}
	return nil, nil
}

func (m *messages) answer(id json.RawMessage, fault *protocol.Error) {
	text, err := json.Marshal(fault.RPC())
	if err == nil {
		fmt.Fprintf(answers{m}, `{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", id, text)
	}
}

func (m *messages) Close() error { return m.end.Close() }

// answers is the output of messages.
type answers struct{ *messages }

func (a answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Write(p)
}

// Close leaves the output open, which is this program's.
func (answers) Close() error { return nil }
