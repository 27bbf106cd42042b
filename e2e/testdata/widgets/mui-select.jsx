import React, { useState } from "react"; import { createRoot } from "react-dom/client"; import { FormControl, InputLabel, MenuItem, Select } from "@mui/material";
const App = () => { const [v, set] = useState(""); return <FormControl sx={{ width: 200 }}><InputLabel id="l">City</InputLabel><Select labelId="l" label="City" value={v} onChange={(e) => { set(e.target.value); report(e.target.value); }}>{["Oslo", "Bergen"].map((x) => <MenuItem key={x} value={x}>{x}</MenuItem>)}</Select></FormControl>; };
createRoot(document.getElementById("app")).render(<App />);
