import { $createParagraphNode, $createTextNode, $getRoot, createEditor } from "lexical"; import { registerRichText } from "@lexical/rich-text";
const root = document.getElementById("app"); root.contentEditable = "true"; root.setAttribute("aria-label", "Note"); root.setAttribute("role", "textbox");
const editor = createEditor({ namespace: "n", onError: (e) => { throw e; } }); editor.setRootElement(root); registerRichText(editor);
editor.update(() => $getRoot().append($createParagraphNode().append($createTextNode("Old text"))));
probe(() => editor.getEditorState().read(() => $getRoot().getTextContent()));
