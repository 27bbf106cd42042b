package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/browserd/browserd/server/tools"
)

// filePath is the path at which nodes ask each other for a file to which an MCP result links. The request is a
// linkedFile, the answer is the file. Clients cannot reach it.
const filePath = "/fleet/file"

// linkedFile names a file by its URI. The URI is looked up among the files of the client's token
// (forwardedRequest), and is never a path.
type linkedFile struct{ URI string }

// fileTimeout is how long another node may take to send a file.
const fileTimeout = 8 * time.Second

// fetchFile asks another node of the fleet for a file that it has kept for the same token. node comes
// from a client: it is asked only if it is a member of the fleet and has its lease.
func fetchFile(ctx context.Context, t *tunnel, who holder, node, uri string) (tools.File, bool) {
	if t.node == nil || !t.isOtherNode(node) || len(uri) > maxForm/2 {
		return tools.File{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	answer, err := t.post(ctx, node, filePath, forwardedRequest{Agent: who.agent, Role: who.role, Autonomy: who.autonomy, Number: who.number, TokenID: who.id}, linkedFile{uri})
	if err != nil {
		t.log.Print("a file of another node: ", err)
		return tools.File{}, false
	}
	defer answer.Body.Close()
	if answer.ContentLength < 0 || answer.ContentLength > tools.MaxFileBytes {
		return tools.File{}, false
	}
	data := make([]byte, answer.ContentLength)
	if _, err := io.ReadFull(answer.Body, data); err != nil {
		t.log.Print("a file of another node: ", err)
		return tools.File{}, false
	}
	return tools.File{URI: uri, MIME: answer.Header.Get("Content-Type"), Data: data}, true
}

// serveFile answers another node with a file that is kept here for a token.
func serveFile(s *Server, w http.ResponseWriter, r *http.Request, who holder) {
	var of linkedFile
	if json.NewDecoder(io.LimitReader(r.Body, maxForm)).Decode(&of) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f, kept := s.mcp.file(who, of.URI)
	if !kept {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime(s.cfg.WriteTimeout, len(f.Data))))
	w.Header().Set("Content-Type", f.MIME)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	io.Copy(w, bytes.NewReader(f.Data))
}

// file returns a file that is kept here for a token.
func (m *mcpTransport) file(who holder, uri string) (tools.File, bool) {
	m.mu.Lock()
	agent := m.agents[who]
	m.mu.Unlock()
	if agent == nil {
		return tools.File{}, false
	}
	return agent.files.Find(uri)
}
