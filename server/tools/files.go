package tools

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
)

// The URIs of what results link to.
const (
	fileURI      = "browserd://file/"
	downloadURI  = "browserd://download/"
	recordingURI = "browserd://recording/"
)

// Bounds of Files, for each agent.
const (
	maxFiles     = 16
	maxFileBytes = 16 << 20 // of all together
)

// Files are the newest pictures and PDFs of one agent's results, for the links to them.
// The zero value is ready; any goroutine may call its methods.
type Files struct {
	mu   sync.Mutex
	list []keptFile // oldest first
	size int
}

type keptFile struct {
	uri, mime string
	data      []byte
}

// keep keeps a file and returns its URI; empty: it is too large to be kept.
func (f *Files) keep(name, mime string, data []byte) string {
	if len(data) > maxFileBytes {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	uri := fileURI + rand.Text() + "/" + name
	f.list = append(f.list, keptFile{uri, mime, data})
	f.size += len(data)
	for len(f.list) > maxFiles || f.size > maxFileBytes {
		f.size -= len(f.list[0].data)
		f.list[0] = keptFile{} // the array behind the list must not hold it
		f.list = f.list[1:]
	}
	return uri
}

func (f *Files) find(uri string) (keptFile, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.list {
		if one.uri == uri {
			return one, true
		}
	}
	return keptFile{}, false
}

// link adds links to the answer's files: a picture stays in it, a PDF, of which a model
// can read nothing, is only linked to, and so are finished downloads.
func (s *server) link(answer *mcp.CallToolResult, cmd *command.Command, result json.RawMessage) {
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
			if uri := s.files.keep(name, p.MIMEType, p.Data); uri != "" {
				add(name, p.MIMEType, uri, len(p.Data))
			}
		case *mcp.EmbeddedResource:
			name := cmd.Name + ".pdf"
			if uri := s.files.keep(name, p.Resource.MIMEType, p.Resource.Blob); uri != "" {
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

func (s *server) readFile(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	f, ok := s.files.find(req.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: f.uri, MIMEType: f.mime, Blob: f.data}}}, nil
}

// maxDownload is how large a download may be that is read as a resource.
const maxDownload = 64 << 20

// readDownload reads a whole download by the command that reads a part of one.
func (s *server) readDownload(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	session, name, ok := strings.Cut(strings.TrimPrefix(req.Params.URI, downloadURI), "/")
	session, wrong := url.PathUnescape(session)
	name, bad := url.PathUnescape(name)
	if !ok || wrong != nil || bad != nil || session == "" || name == "" {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	return s.readWhole(ctx, req, actions.Downloads, name, mimeOf(name), map[string]any{"session": session})
}

// readRecording reads a whole recording by the command that reads a part of one.
func (s *server) readRecording(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, recordingURI))
	if err != nil || name == "" {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	return s.readWhole(ctx, req, actions.Recordings, name, recording.MediaType(name), map[string]any{})
}

// readWhole reads a file by a command that reads a part of one at a time.
func (s *server) readWhole(ctx context.Context, req *mcp.ReadResourceRequest, cmd *command.Command, name, mime string, of map[string]any) (*mcp.ReadResourceResult, error) {
	var data []byte
	of["name"], of["max_chars"] = name, 4<<20
	for {
		of["offset"] = len(data)
		params, err := json.Marshal(of)
		if err != nil {
			return nil, err
		}
		result, failed := s.do(ctx, req.Session.ID(), cmd.Name, params)
		if failed != nil {
			return nil, fmt.Errorf("%s: %s", failed.Code, failed.Message)
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
			return nil, fmt.Errorf("%s: %s has more than %d bytes: read it in parts, by the tool %s with offset", protocol.TooLarge, name, maxDownload, cmd.Name)
		}
		if r.Next == 0 {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Blob: data}}}, nil
		}
	}
}
