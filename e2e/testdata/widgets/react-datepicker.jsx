import React, { useState } from "react"; import { createRoot } from "react-dom/client"; import DatePicker from "react-datepicker"; import "react-datepicker/dist/react-datepicker.css";
const App = () => { const [d, set] = useState(new Date(2026, 2, 1)); return <DatePicker ariaLabel="Day" selected={d} onChange={(x) => { set(x); report(x.getMonth() + 1 + "/" + x.getDate()); }} />; };
createRoot(document.getElementById("app")).render(<App />);
