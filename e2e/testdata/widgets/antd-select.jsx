import React from "react"; import { createRoot } from "react-dom/client"; import { Select } from "antd";
createRoot(document.getElementById("app")).render(<Select aria-label="City" style={{ width: 200 }} options={["Oslo", "Bergen", "Tromsø"].map((x) => ({ value: x, label: x }))} onChange={(v) => report(v)} />);
