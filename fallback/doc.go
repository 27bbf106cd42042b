// Package fallback is the room of what serves pages where there is no
// Chromium: direct HTTP, the Jina reader, and the static document with its
// links and forms, behind session.Page like the live page. Nothing lives here
// yet: without Chromium the daemon answers chromium_unavailable.
package fallback
