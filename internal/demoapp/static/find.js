// The shop's search: suggestions come a moment after the last key.
const field = document.getElementById('product');
const list = document.getElementById('suggestions');
let timer = 0;

field.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const names = await fetch('/suggest?q=' + encodeURIComponent(field.value)).then(r => r.json());
    field.setAttribute('aria-expanded', String(names.length > 0));
    list.replaceChildren(...names.map(name => {
      const option = document.createElement('li');
      option.role = 'option';
      option.textContent = name;
      option.addEventListener('click', () => { location.href = '/product/' + encodeURIComponent(name); });
      return option;
    }));
  }, 150);
});
