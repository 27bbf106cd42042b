import React from "react"; import { createRoot } from "react-dom/client"; import { Tree } from "react-arborist";
createRoot(document.getElementById("app")).render(<Tree initialData={[{ id: "1", name: "Fruit", children: [{ id: "2", name: "Apple" }, { id: "3", name: "Pear" }] }]} openByDefault height={200} width={300} onSelect={(n) => n.length && report(n[0].data.name)} />);
