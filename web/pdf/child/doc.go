// Package child is the process that reads one PDF: PDFium, the library that Chromium shows
// PDFs with, as WebAssembly, in which a fault of the library stays in its own memory.
//
// A program that imports this package and is started under the name Name prepares PDFium,
// gives up what it does not need (package contain), reads one PDF from standard input,
// writes what it holds to standard output (Message), and ends. Preparing takes five seconds
// of processor time once for each machine and a tenth of a second from then on: the
// compiled code is kept in the directory that the first argument names.
package child
