package recording

import "fmt"

// Config limits the recordings that are kept.
type Config struct {
	Bytes         int `koanf:"bytes" default:"52428800" doc:"bytes of one trace or video; what comes after is left out"`
	BytesPerAgent int `koanf:"bytes_per_agent" default:"268435456" doc:"bytes of all recordings of one agent, at all nodes of a fleet together; the oldest go first"`
	Count         int `koanf:"count" default:"100" doc:"recordings of one agent, at all nodes of a fleet together; the oldest go first"`
}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	switch {
	case c.Bytes <= 0:
		return fmt.Errorf("recording.bytes: %d: accepts a number above 0", c.Bytes)
	case c.BytesPerAgent < c.Bytes:
		return fmt.Errorf("recording.bytes_per_agent: %d: accepts a number not below recording.bytes", c.BytesPerAgent)
	case c.Count <= 0:
		return fmt.Errorf("recording.count: %d: accepts a number above 0", c.Count)
	}
	return nil
}
