package recording

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"
)

// Elements of Matroska (RFC 9559) that a WebM file of key frames needs.
const (
	idEBML          = 0x1A45DFA3
	idEBMLVersion   = 0x4286
	idEBMLRead      = 0x42F7
	idEBMLMaxID     = 0x42F2
	idEBMLMaxSize   = 0x42F3
	idDocType       = 0x4282
	idDocVersion    = 0x4287
	idDocRead       = 0x4285
	idSegment       = 0x18538067
	idSeekHead      = 0x114D9B74
	idSeek          = 0x4DBB
	idSeekID        = 0x53AB
	idSeekPosition  = 0x53AC
	idInfo          = 0x1549A966
	idTimestamp     = 0x2AD7B1
	idDuration      = 0x4489
	idMuxingApp     = 0x4D80
	idWritingApp    = 0x5741
	idTitle         = 0x7BA9
	idTracks        = 0x1654AE6B
	idTrackEntry    = 0xAE
	idTrackNumber   = 0xD7
	idTrackUID      = 0x73C5
	idTrackType     = 0x83
	idFlagLacing    = 0x9C
	idCodecID       = 0x86
	idVideo         = 0xE0
	idPixelWidth    = 0xB0
	idPixelHeight   = 0xBA
	idCluster       = 0x1F43B675
	idClusterTime   = 0xE7
	idBlockGroup    = 0xA0
	idBlock         = 0xA1
	idBlockDuration = 0x9B
	idCues          = 0x1C53BB6B
	idCuePoint      = 0xBB
	idCueTime       = 0xB3
	idCuePositions  = 0xB7
	idCueTrack      = 0xF7
	idCueCluster    = 0xF1
	idChapters      = 0x1043A770
	idEdition       = 0x45B9
	idChapterAtom   = 0xB6
	idChapterUID    = 0x73C4
	idChapterStart  = 0x91
	idChapterEnd    = 0x92
	idChapterShown  = 0x80
	idChapterText   = 0x85
	idChapterLang   = 0x437C
)

// element is an element with its content.
func element(id uint32, content ...[]byte) []byte {
	size := 0
	for _, c := range content {
		size += len(c)
	}
	out := identifier(id)
	out = append(out, 0x01, byte(size>>48), byte(size>>40), byte(size>>32), byte(size>>24), byte(size>>16), byte(size>>8), byte(size))
	for _, c := range content {
		out = append(out, c...)
	}
	return out
}

func identifier(id uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, id)
	for b[0] == 0 {
		b = b[1:]
	}
	return b
}

// number is an element of an unsigned number, of eight bytes.
func number(id uint32, n uint64) []byte { return element(id, binary.BigEndian.AppendUint64(nil, n)) }

func words(id uint32, text string) []byte { return element(id, []byte(text)) }

// chapter is a part of a video.
type chapter struct {
	text     string
	from, to time.Duration
}

// webm writes a WebM file of VP8 key frames. One goroutine at a time uses it.
type webm struct {
	to      io.Writer
	patch   io.WriterAt
	at      int64 // bytes written
	segment int64 // where its content begins
	// Where numbers stand that are known at the end: of the segment's size, of the duration, and
	// of the places of the chapters and the cues.
	size, duration, chapters, cues int64
	width, height                  int    // of the first frame
	held                           []byte // the newest frame, which has no end yet
	since                          time.Duration
	points                         []byte // cues
	frames                         int
}

var errNoFrame = errors.New("it is no VP8 key frame")

// frameOf returns the VP8 frame of a WebP picture, and its size. A key frame begins with
// its tag, a start code and its size (RFC 6386, 9.1).
func frameOf(webp []byte) (frame []byte, width, height int, err error) {
	if len(webp) < 12 || string(webp[:4]) != "RIFF" || string(webp[8:12]) != "WEBP" {
		return nil, 0, 0, errNoFrame
	}
	for rest := webp[12:]; len(rest) >= 8; {
		size := int(binary.LittleEndian.Uint32(rest[4:]))
		if size < 0 || size > len(rest)-8 {
			break
		}
		if frame := rest[8 : 8+size]; string(rest[:4]) == "VP8 " && size >= 10 && frame[0]&1 == 0 && string(frame[3:6]) == "\x9d\x01\x2a" {
			return frame, int(binary.LittleEndian.Uint16(frame[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(frame[8:]) & 0x3fff), nil
		}
		rest = rest[min(len(rest), 8+size+size%2):]
	}
	return nil, 0, 0, errNoFrame
}

func (w *webm) write(parts ...[]byte) error {
	for _, p := range parts {
		n, err := w.to.Write(p)
		w.at += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// begin writes what stands before the frames.
func (w *webm) begin(width, height int, app, title string) error {
	w.width, w.height = width, height
	head := element(idEBML, number(idEBMLVersion, 1), number(idEBMLRead, 1), number(idEBMLMaxID, 4), number(idEBMLMaxSize, 8),
		words(idDocType, "webm"), number(idDocVersion, 4), number(idDocRead, 2))
	segment := element(idSegment)
	w.size = int64(len(head) + len(segment) - 8)
	w.segment = int64(len(head) + len(segment))
	seek := func(id uint32) []byte {
		return element(idSeek, element(idSeekID, identifier(id)), number(idSeekPosition, 0))
	}
	chapters, cues := seek(idChapters), seek(idCues)
	seeks := element(idSeekHead, chapters, cues)
	w.cues = w.segment + int64(len(seeks)) - 8
	w.chapters = w.cues - int64(len(cues))
	duration := element(idDuration, make([]byte, 8))
	info := element(idInfo, number(idTimestamp, uint64(time.Millisecond)), duration, words(idMuxingApp, app), words(idWritingApp, app), words(idTitle, title))
	// The duration follows the head of info (four bytes and eight) and the timestamp scale.
	w.duration = w.segment + int64(len(seeks)) + 12 + int64(len(number(idTimestamp, 0))+len(duration)) - 8
	tracks := element(idTracks, element(idTrackEntry, number(idTrackNumber, 1), number(idTrackUID, 1), number(idTrackType, 1), number(idFlagLacing, 0),
		words(idCodecID, "V_VP8"), element(idVideo, number(idPixelWidth, uint64(width)), number(idPixelHeight, uint64(height)))))
	return w.write(head, segment, seeks, info, tracks)
}

// add adds a frame, which is shown from then on.
func (w *webm) add(frame []byte, at time.Duration) error {
	err := w.flush(at)
	w.held, w.since = frame, at
	return err
}

// flush writes the newest frame, which is shown until then.
func (w *webm) flush(until time.Duration) error {
	if w.held == nil {
		return nil
	}
	from, lasts := uint64(w.since.Milliseconds()), uint64(max((until-w.since).Milliseconds(), 1))
	w.points = append(w.points, element(idCuePoint, number(idCueTime, from), element(idCuePositions, number(idCueTrack, 1), number(idCueCluster, uint64(w.at-w.segment))))...)
	block := append([]byte{0x81, 0, 0, 0}, w.held...) // track 1, at the cluster's time, no flags
	w.held = nil
	w.frames++
	return w.write(element(idCluster, number(idClusterTime, from), element(idBlockGroup, element(idBlock, block), number(idBlockDuration, lasts))))
}

// ending returns how many bytes end needs beside the newest frame.
func (w *webm) ending(chapters []chapter) int {
	n := len(w.points) + 1024
	for _, c := range chapters {
		n += len(c.text) + 128
	}
	return n
}

// end writes what stands behind the frames.
func (w *webm) end(at time.Duration, chapters []chapter) error {
	if err := w.flush(at); err != nil {
		return err
	}
	var atoms []byte
	for i, c := range chapters {
		atoms = append(atoms, element(idChapterAtom, number(idChapterUID, uint64(i+1)), number(idChapterStart, uint64(c.from)), number(idChapterEnd, uint64(max(c.to, c.from+1))),
			element(idChapterShown, words(idChapterText, c.text), words(idChapterLang, "und")))...)
	}
	places := [2]int64{w.at - w.segment}
	var err error
	if len(chapters) > 0 {
		err = w.write(element(idChapters, element(idEdition, atoms)))
	}
	places[1] = w.at - w.segment
	err = errors.Join(err, w.write(element(idCues, w.points)))
	set := func(at int64, n uint64) {
		_, failed := w.patch.WriteAt(binary.BigEndian.AppendUint64(nil, n), at)
		err = errors.Join(err, failed)
	}
	set(w.size, 1<<56|uint64(w.at-w.segment))
	set(w.duration, math.Float64bits(float64(at.Milliseconds())))
	set(w.chapters, uint64(places[0]))
	set(w.cues, uint64(places[1]))
	return err
}
