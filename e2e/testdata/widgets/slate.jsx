import React, { useMemo } from "react"; import { createRoot } from "react-dom/client"; import { createEditor, Node } from "slate"; import { Editable, Slate, withReact } from "slate-react";
const App = () => { const editor = useMemo(() => withReact(createEditor()), []); probe(() => editor.children.map((n) => Node.string(n)).join("\n")); return <Slate editor={editor} initialValue={[{ type: "p", children: [{ text: "Old text" }] }]}><Editable aria-label="Note" /></Slate>; };
createRoot(document.getElementById("app")).render(<App />);
