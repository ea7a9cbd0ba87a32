// Package pagecheck finds damage to the pages of a bbolt file.
//
// bbolt has no checksums on its pages, and maps the file: damage to a page's header, or a file
// that is too short, shows as other pairs, or as none, or ends the process. But all that a page
// says of itself follows from what bbolt wrote: its number, where its elements are, how many
// pages it takes, which keys can be on it; and each page of the file is in the tree once, or
// free, or part of the list of free pages. File.Check verifies that before bbolt opens the file,
// a Scan while the file is in use, and Paths before pages are changed. What is in the pairs is up to
// the owner of the file.
package pagecheck
