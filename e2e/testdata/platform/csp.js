addEventListener('securitypolicyviolation', (e) => parent.postMessage(e.effectiveDirective + ' ' + e.blockedURI, '*'), {once: true});
