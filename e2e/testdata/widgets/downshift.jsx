import React, { useState } from "react"; import { createRoot } from "react-dom/client"; import { useSelect } from "downshift";
const App = () => { const s = useSelect({ items: ["Oslo", "Bergen"], onSelectedItemChange: (c) => report(c.selectedItem) }); return <div><label {...s.getLabelProps()}>City</label><div {...s.getToggleButtonProps()}>{s.selectedItem || "Choose"}</div><ul {...s.getMenuProps()}>{s.isOpen && ["Oslo", "Bergen"].map((x, index) => <li key={x} {...s.getItemProps({ item: x, index })}>{x}</li>)}</ul></div>; };
createRoot(document.getElementById("app")).render(<App />);
