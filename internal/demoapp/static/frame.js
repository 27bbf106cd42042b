// The framed document: a form of its own, in its own document.
document.getElementById('subscribe').addEventListener('submit', event => {
  event.preventDefault();
  const email = new FormData(event.target).get('email');
  document.getElementById('said').textContent = `Subscribed ${email}`;
});
