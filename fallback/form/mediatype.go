package form

import (
	"path"
	"strings"
)

// mediaTypes are the media types by file extension, as in Chromium (net/base/mime_util.cc).
// Others are application/octet-stream.
var mediaTypes = map[string]string{
	"html": "text/html", "htm": "text/html", "css": "text/css", "js": "text/javascript", "mjs": "text/javascript",
	"txt": "text/plain", "text": "text/plain", "csv": "text/csv", "md": "text/markdown", "ics": "text/calendar",
	"xml": "text/xml", "xhtml": "application/xhtml+xml", "json": "application/json", "pdf": "application/pdf",
	"zip": "application/zip", "gz": "application/gzip", "tgz": "application/gzip", "wasm": "application/wasm",
	"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml",
	"avif": "image/avif", "apng": "image/apng", "bmp": "image/bmp", "ico": "image/vnd.microsoft.icon", "tif": "image/tiff", "tiff": "image/tiff",
	"mp3": "audio/mpeg", "mp4": "video/mp4", "m4a": "audio/x-m4a", "wav": "audio/wav", "flac": "audio/flac", "ogg": "audio/ogg", "opus": "audio/ogg",
	"oga": "audio/ogg", "ogv": "video/ogg", "webm": "video/webm", "weba": "audio/webm", "mpg": "video/mpeg", "mpeg": "video/mpeg",
	"doc":  "application/msword",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xls":  "application/vnd.ms-excel",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"ppt":  "application/vnd.ms-powerpoint",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"epub": "application/epub+zip", "rtf": "application/rtf", "eml": "message/rfc822", "swf": "application/x-shockwave-flash",
	"woff": "application/font-woff",
}

func mediaType(name string) string {
	if t, ok := mediaTypes[strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))]; ok {
		return t
	}
	return "application/octet-stream"
}
