import React from "react"; import { createRoot } from "react-dom/client"; import { FixedSizeList } from "react-window";
createRoot(document.getElementById("app")).render(<FixedSizeList height={200} width={300} itemSize={40} itemCount={5000}>{({ index, style }) => <div style={style}><button onClick={() => report(index)}>Row {index}</button></div>}</FixedSizeList>);
