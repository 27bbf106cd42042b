import React from "react"; import { createRoot } from "react-dom/client"; import Creatable from "react-select/creatable";
const options = ["red", "green"].map((x) => ({ value: x, label: x }));
createRoot(document.getElementById("app")).render(<Creatable isMulti aria-label="Tags" options={options} onChange={(l) => report(l.map((o) => o.value).join())} />);
