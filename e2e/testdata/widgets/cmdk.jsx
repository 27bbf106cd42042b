import React from "react"; import { createRoot } from "react-dom/client"; import { Command } from "cmdk";
createRoot(document.getElementById("app")).render(<Command label="Commands"><Command.Input placeholder="Search" /><Command.List>{["New file", "Open file", "Quit"].map((x) => <Command.Item key={x} onSelect={() => report(x)}>{x}</Command.Item>)}</Command.List></Command>);
