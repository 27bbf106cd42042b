var imported = 'by importScripts';
