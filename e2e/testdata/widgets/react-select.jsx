import React from "react"; import { createRoot } from "react-dom/client"; import Select from "react-select";
const options = ["Oslo", "Bergen", "Tromsø"].map((x) => ({ value: x, label: x }));
createRoot(document.getElementById("app")).render(<Select inputId="s" aria-label="City" options={options} onChange={(o) => report(o.value)} />);
