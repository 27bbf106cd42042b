package tools

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/snapshot"
)

// Prefixes of the URIs to which results link.
const (
	fileURI      = "browserd://file/"
	downloadURI  = "browserd://download/"
	recordingURI = "browserd://recording/"
)

// Limits of Files.
const (
	maxFiles     = 16
	MaxFileBytes = 16 << 20 // of all files together
)

// Files stores the newest pictures and PDFs of one token's results at this node, to which the results link. The
// zero value is for a daemon without a fleet. Any goroutine may call its methods.
type Files struct {
	// FetchFromPeer returns the file that another node of the fleet stores under a URI for the same token. node
	// comes from the client's URI and may be anything. nil: there is no fleet.
	FetchFromPeer func(ctx context.Context, node, uri string) (File, bool)
	// Read runs a command that reads a file, and whose answer the client does not see; nil: commands are run as
	// those of tools are.
	Read Do

	mu   sync.Mutex
	list []File // oldest first
	size int
}

// File is a picture or a PDF.
type File struct {
	URI, MIME string
	Data      []byte
}

// add stores a file and returns its URI, whose id begins with ids. It is empty if the file is too large.
func (f *Files) add(ids, name, mime string, data []byte) string {
	if len(data) > MaxFileBytes {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	uri := fileURI + ids + rand.Text() + "/" + name
	f.list = append(f.list, File{uri, mime, data})
	f.size += len(data)
	for len(f.list) > maxFiles || f.size > MaxFileBytes {
		f.size -= len(f.list[0].Data)
		f.list[0] = File{} // so that the array behind the list does not keep the data in memory
		f.list = f.list[1:]
	}
	return uri
}

// Find returns the file that this node stores under a URI.
func (f *Files) Find(uri string) (File, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.list {
		if one.URI == uri {
			return one, true
		}
	}
	return File{}, false
}

// nodeOf returns the node that a file's URI names, empty if it names none.
func nodeOf(uri string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(uri, fileURI), "/")
	node, _, named := strings.Cut(id, ".")
	if !named {
		return ""
	}
	return node
}

// addLinks adds links to the answer's files. A picture also stays in the answer. A PDF, which a model cannot
// read, is replaced by its link. Finished downloads and recordings are linked to as well.
func (s *server) addLinks(answer *mcp.CallToolResult, cmd *command.Command, result json.RawMessage) {
	var parts []mcp.Content
	add := func(name, kind, uri string, size int) {
		n := int64(size)
		parts = append(parts, &mcp.ResourceLink{URI: uri, Name: name, MIMEType: kind, Size: &n})
	}
	for _, part := range answer.Content {
		switch p := part.(type) {
		case *mcp.ImageContent:
			parts = append(parts, p)
			name := cmd.Name + "." + strings.TrimPrefix(p.MIMEType, "image/")
			if uri := s.files.add(s.ids, name, p.MIMEType, p.Data); uri != "" {
				add(name, p.MIMEType, uri, len(p.Data))
			}
		case *mcp.EmbeddedResource:
			name := cmd.Name + ".pdf"
			if uri := s.files.add(s.ids, name, p.Resource.MIMEType, p.Resource.Blob); uri != "" {
				add(name, p.Resource.MIMEType, uri, len(p.Resource.Blob))
			} else {
				parts = append(parts, p)
			}
		default:
			parts = append(parts, part)
		}
	}
	if cmd == actions.Downloads {
		var r struct {
			Session string              `json:"session"`
			Entries []protocol.Download `json:"entries"`
		}
		json.Unmarshal(result, &r)
		for _, d := range r.Entries {
			if d.State == protocol.DownloadDone {
				add(d.Name, mimeOf(d.Name), downloadURI+url.PathEscape(r.Session)+"/"+url.PathEscape(d.Name), int(d.Bytes))
			}
		}
	}
	if cmd == actions.Recordings || cmd == actions.Trace || cmd == actions.Video {
		var r struct {
			Recordings []recording.Recorded `json:"recordings"`
			Recording  recording.Recorded   `json:"recording"`
		}
		json.Unmarshal(result, &r)
		for _, e := range append(r.Recordings, r.Recording) {
			if e.State == recording.Done {
				add(e.Name, recording.MediaType(e.Name), recordingURI+url.PathEscape(e.Name), int(e.Bytes))
			}
		}
	}
	answer.Content = parts
}

// mimeOf returns the media type that a name's extension stands for.
func mimeOf(name string) string {
	kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
	if kind == "" {
		kind = "application/octet-stream"
	}
	return kind
}

// errNotKept is the error for a link without a file: the file was replaced by newer ones, its node is gone, it
// belongs to another token, or the link is made up.
var errNotKept = protocol.Errorf(protocol.InvalidParams, "there is no such file, or it is not kept any more").
	Then("send the command again whose result linked to it: that result has the file, and a new link")

// readErrorForClient returns the JSON-RPC error for err, the error of reading that URI.
func readErrorForClient(uri string, err error) error {
	var said *protocol.Error
	var unknown *jsonrpc.Error
	switch {
	case errors.As(err, &said):
	case errors.As(err, &unknown) && unknown.Code == mcp.CodeResourceNotFound:
		said = errNotKept
	default:
		return err
	}
	code := int64(jsonrpc.CodeInternalError)
	if said.Code == protocol.InvalidParams || said.Code == protocol.SessionNotFound {
		code = mcp.CodeResourceNotFound
	}
	data, wrong := json.Marshal(struct {
		URI string `json:"uri"`
		protocol.ErrorData
	}{uri, said.Data()})
	if wrong != nil {
		return wrong
	}
	return &jsonrpc.Error{Code: code, Message: errorText(said), Data: snapshot.EscapeJSON(data)}
}

func (s *server) readFile(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	f, ok := s.files.Find(uri)
	if node := nodeOf(uri); !ok && node != "" && s.files.FetchFromPeer != nil {
		f, ok = s.files.FetchFromPeer(ctx, node, uri)
	}
	if !ok {
		return nil, errNotKept
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: f.MIME, Blob: f.Data}}}, nil
}

// maxDownload is the limit on a file that is read as a resource, in bytes.
const maxDownload = 64 << 20

// readDownload reads a whole download, with the command downloads.
func (s *server) readDownload(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	session, name, ok := strings.Cut(strings.TrimPrefix(req.Params.URI, downloadURI), "/")
	session, wrong := url.PathUnescape(session)
	name, bad := url.PathUnescape(name)
	if !ok || wrong != nil || bad != nil || session == "" || name == "" {
		return nil, errNotKept
	}
	return s.readWhole(ctx, req, actions.Downloads, name, mimeOf(name), map[string]any{"session": session})
}

// readRecording reads a whole recording, with the command recordings.
func (s *server) readRecording(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, recordingURI))
	if err != nil || name == "" {
		return nil, errNotKept
	}
	return s.readWhole(ctx, req, actions.Recordings, name, recording.MediaType(name), map[string]any{})
}

// readWhole reads a file with a command that reads a part of it at a time.
func (s *server) readWhole(ctx context.Context, req *mcp.ReadResourceRequest, cmd *command.Command, name, mime string, of map[string]any) (*mcp.ReadResourceResult, error) {
	var data []byte
	do := s.do
	if s.files.Read != nil {
		do = s.files.Read
	}
	of["name"], of["max_chars"] = name, 4<<20
	for {
		of["offset"] = len(data)
		params, err := json.Marshal(of)
		if err != nil {
			return nil, err
		}
		result, failed := do(ctx, req.Session.ID(), cmd.Name, params)
		if failed != nil {
			return nil, failed
		}
		var r struct {
			Content  string `json:"content"`
			Encoding string `json:"encoding"`
			Next     int    `json:"next_offset"`
		}
		if err := json.Unmarshal(result, &r); err != nil {
			return nil, err
		}
		part := []byte(r.Content)
		if r.Encoding == "base64" {
			if part, err = base64.StdEncoding.DecodeString(r.Content); err != nil {
				return nil, err
			}
		}
		if data = append(data, part...); len(data) > maxDownload {
			return nil, protocol.Errorf(protocol.TooLarge, "%q has more than %d bytes", protocol.Cut(name, 80), maxDownload).
				With("limit", maxDownload).Then("read it in parts, by the tool %s with offset", cmd.Name)
		}
		if r.Next == 0 {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Blob: data}}}, nil
		}
	}
}
