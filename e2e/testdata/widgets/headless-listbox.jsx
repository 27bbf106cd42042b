import React, { useState } from "react"; import { createRoot } from "react-dom/client"; import { Listbox, ListboxButton, ListboxOption, ListboxOptions } from "@headlessui/react";
const App = () => { const [v, set] = useState("Oslo"); return <Listbox value={v} onChange={(x) => { set(x); report(x); }}><ListboxButton>{v}</ListboxButton><ListboxOptions anchor="bottom">{["Oslo", "Bergen"].map((x) => <ListboxOption key={x} value={x}>{x}</ListboxOption>)}</ListboxOptions></Listbox>; };
createRoot(document.getElementById("app")).render(<App />);
