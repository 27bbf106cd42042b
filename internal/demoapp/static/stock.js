// The shop's stock: a table that is filtered and sorted here, and exported as it is shown.
const category = document.getElementById('category');
const body = document.querySelector('tbody');
let all = [];
let sort = '';

function show() {
  const shown = all.filter(a => category.value === 'All' || a.Category === category.value);
  if (sort === 'price') shown.sort((a, b) => a.Price - b.Price);
  if (sort === 'name') shown.sort((a, b) => a.Name.localeCompare(b.Name));
  body.replaceChildren(...shown.map(a => {
    const row = document.createElement('tr');
    for (const text of [a.Name, a.Category, a.Price.toFixed(2)]) row.insertCell().textContent = text;
    return row;
  }));
  document.getElementById('export').search = new URLSearchParams({ category: category.value, sort });
}

category.addEventListener('change', show);
for (const by of ['name', 'price']) document.getElementById(by).addEventListener('click', () => { sort = by; show(); });
fetch('/stock.json').then(r => r.json()).then(list => { all = list; show(); });
