const said = [];
try { document.querySelector('p').innerHTML = '<i></i>'; said.push('plain taken'); } catch (e) { said.push('plain ' + e.name); }
const policy = trustedTypes.createPolicy('own', {createHTML: (s) => s});
document.querySelector('p').innerHTML = policy.createHTML('<b></b>');
said.push(document.querySelector('p').firstChild.localName);
try { said.push('eval ' + eval('1')); } catch (e) { said.push('eval ' + e.name); }
parent.postMessage(said.join(', '), '*');
