import React from "react"; import { createRoot } from "react-dom/client"; import { Slider } from "@mui/material";
createRoot(document.getElementById("app")).render(<Slider aria-label="Volume" defaultValue={30} step={10} sx={{ width: 200, m: 5 }} onChangeCommitted={(e, v) => report(v)} />);
