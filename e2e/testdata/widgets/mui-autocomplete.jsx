import React from "react"; import { createRoot } from "react-dom/client"; import { Autocomplete, Slider, TextField } from "@mui/material";
createRoot(document.getElementById("app")).render(<Autocomplete options={["Oslo", "Bergen"]} onChange={(e, v) => report(v)} renderInput={(p) => <TextField {...p} label="City" />} sx={{ width: 200 }} />);
