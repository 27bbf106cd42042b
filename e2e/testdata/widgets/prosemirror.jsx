import { EditorState } from "prosemirror-state"; import { EditorView } from "prosemirror-view"; import { schema } from "prosemirror-schema-basic"; import { keymap } from "prosemirror-keymap"; import { baseKeymap } from "prosemirror-commands";
const doc = schema.node("doc", null, [schema.node("paragraph", null, [schema.text("Old text")])]);
const view = new EditorView(document.getElementById("app"), { state: EditorState.create({ doc, plugins: [keymap(baseKeymap)] }), attributes: { "aria-label": "Note" } });
probe(() => view.state.doc.textContent);
