package script

import "github.com/browserd/browserd/protocol"

// Reading a document.
var (
	// Walk writes a document as lines: a WalkHead in JSON, and a line a node (js/capture.js).
	Walk = function[WalkOptions, string]("walk")
	// OffScope writes in the same way what changed outside of what a walk showed.
	OffScope = function[OffScopeOptions, string]("offScope")
	// WarmUp walks a made-up page, so that V8 has compiled the script.
	WarmUp = function[WarmUpArgs, string]("warmUp")
	// Read returns the content of an element or, with node 0, of the document.
	Read = function[ReadArgs, Content]("read")
	// Find returns the elements that fit a query, and the frames to look into.
	Find = function[Query, []Found]("find")
	// HasText reports whether the document shows a text.
	HasText = function[string, bool]("hasText")
	// RefState reports whether a ref's element is attached and visible.
	RefState = function[Lookup, RefStatus]("refState")
	// Change waits for the next change of the document, at most that many milliseconds.
	Change = promised[int64, bool]("change")
	// Boxes returns where elements are seen, and nil for those that are not.
	Boxes = function[BoxesArgs, []*Box]("boxes")
	// FrameBox returns where the content of a frame's element lies; nil: nowhere.
	FrameBox = function[int, *FrameContent]("frameBox")
	// HitAtPoint returns what is hit at a point of the frame's viewport.
	HitAtPoint = function[Point, PointHit]("hitAtPoint")
	// PersonDrives says whether a person types into the document from now on (package person).
	PersonDrives = function[bool, bool]("personDrives")
	// PersonChooses selects an option of the select that a person has opened (package person).
	PersonChooses = function[int, bool]("personChooses")
	// ContextNow returns an element's context; nil if it has gone.
	ContextNow = function[int, *string]("contextNow")
)

// Finding the element of a ref, and acting on it.
var (
	// Locate finds the element of a ref, waits until it can be acted on, and arms the hit
	// test over it.
	Locate = promised[Lookup, Located]("locate")
	// FindAgain finds the element of a ref that a walk has not found.
	FindAgain = function[Lookup, Located]("findAgain")
	// FrameAt brings a point of a frame's viewport into view in the document that holds the
	// frame.
	FrameAt = function[FrameAtArgs, FramePoint]("frameAt")
	// ScrollIntoView brings an element into view.
	ScrollIntoView = function[int, bool]("scrollIntoView")
	// Middle returns the point at which an element that was found is hit now.
	Middle = function[MiddleArgs, ElementPoint]("middle")
	// HitResult waits until the input is over and says what was hit.
	HitResult = promised[HitResultArgs, Hit]("hitResult")
	// ReleaseHitTest ends the waiting of HitResult.
	ReleaseHitTest = function[None, bool]("releaseHitTest")
	// GiveUp ends the action under way in the document: nothing of it goes on, and it keeps no input from anything.
	GiveUp = function[None, None]("giveUp")
	// EndHitTest lets every input through again, and says what was hit in the document.
	EndHitTest = function[None, Hit]("endHitTest")
	// GuardPress lets no press through to the document but those that are named.
	GuardPress = function[GuardPressArgs, None]("guardPress")
	// IsUnder reports whether what was found at its point is there now (Hit), or what is (By),
	// and whether the pointer has come over it meanwhile (Seen).
	IsUnder = function[None, Hit]("isUnder")
	// GuardKeys lets keys through to one element of the document alone, 0 for none, and
	// tells whether it has the focus. Prepare, Caret, CaretIn and FocusOn do so for theirs.
	// KeysResult ends that.
	GuardKeys  = function[int, bool]("guardKeys")
	KeysResult = promised[KeysResultArgs, KeysResulted]("keysResult")
	// InsertText inserts a text into the field that the keys are for, without any key, and
	// tells whether it could: the field must have the focus.
	InsertText = function[string, bool]("insertText")
	// BeginSettle begins to watch the document, and returns the frame that has the focus,
	// 0 for none.
	BeginSettle = function[int, int]("beginSettle")
	// FocusedFrame returns the frame that has the focus, 0 for none.
	FocusedFrame = function[int, int]("focusedFrame")
	// Settle waits until the document is quiet, and says what happened since BeginSettle.
	Settle = promised[SettleArgs, Settled]("settle")
	// CaretIn readies a text control for the keyboard.
	CaretIn = function[CaretArgs, Prepared]("caretIn")
	// FieldWithin returns what takes text in the document of a frame.
	FieldWithin = function[None, Fields]("fieldWithin")
	// FocusEdited puts the caret into a document that is edited as a whole.
	FocusEdited = function[None, None]("focusEdited")
	// ChooseIn selects options of a select, ChooseOption one of a closed select.
	ChooseIn     = function[ChooseInArgs, Choice]("chooseIn")
	ChooseOption = function[int, Choice]("chooseOption")
	// CheckedNow waits a little for a checkbox to have a state.
	CheckedNow = promised[CheckedNowArgs, CheckState]("checkedNow")
	// ScrollPage scrolls the document; AfterScroll waits for the frame behind it.
	ScrollPage  = promised[ScrollArgs, protocol.Position]("scrollPage")
	AfterScroll = promised[None, bool]("afterScroll")
)

// Called with the element at hand.
var (
	// Prepare sets a control's value, or its caret, where that needs no mouse.
	Prepare = elementFunction[TypeArgs, Prepared]("prepare")
	// Caret readies a text control that was clicked for the keyboard.
	Caret = elementFunction[TypeArgs, Prepared]("caret")
	// Choose selects options of a select.
	Choose = elementFunction[ChooseArgs, Choice]("choose")
	// Checked returns the state of a checkbox.
	Checked = elementFunction[None, CheckState]("checked")
	// FileInput returns the file input that an element is or stands for.
	FileInput = elementFunction[FileInputArgs, FileField]("fileInput")
	// FocusOn gives an element the focus.
	FocusOn = elementFunction[FocusArgs, Focused]("focusOn")
	// ScrollFrom scrolls what scrolls around an element.
	ScrollFrom = elementFunction[ScrollArgs, protocol.Position]("scrollFrom")
)

// What only CDP can see, and remote objects.
var (
	// PendingListeners says what has come of which CDP must be asked: PendingElements,
	// PendingHosts, or nothing.
	PendingListeners = function[None, string]("pendingListeners")
	// ClosedRootHosts returns the elements that may have a closed shadow root, until
	// ClosedRootHostsAsked says that CDP was asked about all of them.
	ClosedRootHosts      = function[None, []Object]("closedRootHosts")
	ClosedRootHostsAsked = function[None, None]("closedRootHostsAsked")
	// Node returns the node with that number.
	Node = function[int, Object]("node")

	// ReportListeners takes elements that have listeners for clicks.
	ReportListeners = method("reportListeners")
	// ReportPressed and ReportMore take those of them that listen for presses, as drags begin
	// with, and for what is more than a plain click: they may mean what is in them.
	ReportPressed = method("reportPressed")
	ReportMore    = method("reportMore")
	// AddClosedRoot takes an element and its closed shadow root.
	AddClosedRoot = method("addClosedRoot")
	// NodeID returns the number of a node.
	NodeID = method("idOf")
)

// The answers of PendingListeners: elements have come, and among them custom elements, which may have a
// closed shadow root.
const (
	PendingElements = "elements"
	PendingHosts    = "hosts"
)
