import { EditorState } from "@codemirror/state"; import { EditorView, keymap, lineNumbers } from "@codemirror/view"; import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete"; import { defaultKeymap } from "@codemirror/commands"; import { javascript } from "@codemirror/lang-javascript";
const view = new EditorView({ parent: document.getElementById("app"), state: EditorState.create({ doc: "let old = 1;\nlet b;", extensions: [lineNumbers(), javascript(), closeBrackets(), keymap.of([...closeBracketsKeymap, ...defaultKeymap])] }) });
probe(() => view.state.doc.toString());
