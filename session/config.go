package session

import (
	"fmt"
	"time"
)

// Config holds the limits of sessions.
type Config struct {
	IdleTimeout         time.Duration `koanf:"idle_timeout" workdir:"true" default:"15m" doc:"how long a session stays open without a command"`
	Max                 int           `koanf:"max" default:"100" doc:"sessions open at once in the daemon"`
	MaxPerAgent         int           `koanf:"max_per_agent" default:"100" doc:"sessions open at once for one agent"`
	Queue               int           `koanf:"queue" default:"64" doc:"commands that may wait for their turn in one session"`
	DialogTimeout       time.Duration `koanf:"dialog_timeout" workdir:"true" default:"10s" doc:"how long confirm() and prompt() wait for the command dialog before they are dismissed"`
	MaxTabs             int           `koanf:"max_tabs" default:"16" doc:"tabs open at once in one session; a page that opens more finds them closed"`
	DownloadBytes       int           `koanf:"download_bytes" default:"268435456" doc:"bytes that a session opened with downloads may download, all files together"`
	DownloadFiles       int           `koanf:"download_files" default:"50" doc:"files that such a session may download"`
	UploadBytes         int           `koanf:"upload_bytes" default:"268435456" doc:"bytes of files that the uploads of one session may keep on disk, all together, until the session ends"`
	UploadBytesPerAgent int           `koanf:"upload_bytes_per_agent" default:"1073741824" doc:"bytes of files that the uploads of all sessions of one agent may keep on disk together"`
	UploadDir           string        `koanf:"upload_dir" default:"" doc:"directory whose files upload may name by path; empty: upload accepts base64 contents only"`
}

// Check returns an error that names the first invalid limit.
func (c Config) Check() error {
	switch {
	case c.IdleTimeout <= 0:
		return fmt.Errorf("session.idle_timeout: %v: accepts a duration above 0, such as 15m", c.IdleTimeout)
	case c.Max <= 0:
		return fmt.Errorf("session.max: %d: accepts a number above 0", c.Max)
	case c.MaxPerAgent <= 0:
		return fmt.Errorf("session.max_per_agent: %d: accepts a number above 0", c.MaxPerAgent)
	case c.Queue <= 0:
		return fmt.Errorf("session.queue: %d: accepts a number above 0", c.Queue)
	case c.DialogTimeout <= 0:
		return fmt.Errorf("session.dialog_timeout: %v: accepts a duration above 0, such as 10s", c.DialogTimeout)
	case c.MaxTabs <= 0:
		return fmt.Errorf("session.max_tabs: %d: accepts a number above 0", c.MaxTabs)
	case c.DownloadBytes <= 0:
		return fmt.Errorf("session.download_bytes: %d: accepts a number above 0", c.DownloadBytes)
	case c.UploadBytes <= 0:
		return fmt.Errorf("session.upload_bytes: %d: accepts a number above 0", c.UploadBytes)
	case c.UploadBytesPerAgent <= 0:
		return fmt.Errorf("session.upload_bytes_per_agent: %d: accepts a number above 0", c.UploadBytesPerAgent)
	case c.DownloadFiles <= 0:
		return fmt.Errorf("session.download_files: %d: accepts a number above 0", c.DownloadFiles)
	}
	return nil
}
