package event

import cdproto "github.com/chromedp/cdproto/cdp"

// FileChooserOpened is what browserd needs of Page.fileChooserOpened.
type FileChooserOpened struct {
	FrameID       cdproto.FrameID       `json:"frameId"`
	Mode          string                `json:"mode"`
	BackendNodeID cdproto.BackendNodeID `json:"backendNodeId"`
}
