registerPaint('x', class { paint(c, size) { c.fillRect(0, 0, size.width, size.height); } });
