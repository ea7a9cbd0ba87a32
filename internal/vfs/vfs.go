// Package vfs is the file system as the storage packages see it: [FS]. [OS] is the real one, and
// package simdisk one in memory that loses power.
//
// It holds what a crash-safe store needs and no more: what is durable when, and which errors say
// what about a disk. Paths are those of the operating system.
package vfs

import "io"

// FS is a file system. Its methods may be called concurrently.
//
// A full disk is reported as an error that wraps syscall.ENOSPC or EDQUOT, and a missing file
// descriptor as one that descriptors.Missing recognises.
type FS interface {
	// MkdirAll creates the folder and its parents, durably.
	MkdirAll(dir string) error
	// List returns the names in dir, sorted.
	List(dir string) ([]string, error)
	// Create makes an empty file, open for reading and writing; it replaces a file of that
	// name. Durable only after SyncDir.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing. A missing one is fs.ErrNotExist.
	Open(name string) (File, error)
	// Rename replaces newname atomically. Durable only after SyncDir.
	Rename(oldname, newname string) error
	// Remove unlinks a file, which can still be read where it is open. Durable only after
	// SyncDir.
	Remove(name string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock that ends with Close or with the process. If it is taken,
	// the error wraps syscall.EWOULDBLOCK.
	Lock(name string) (io.Closer, error)
}

// File is an open file. ReadAt may be called concurrently with everything else.
//
// It is an alias of an interface without a name, so that package wal can declare the same one for
// its users, who cannot import this package.
type File = interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes all that was written, and the file's size, durable (fdatasync).
	Sync() error
	// Size returns the length of the file in bytes.
	Size() (int64, error)
	// Allocate grows the file to size with zeros that are really written, so that overwriting
	// them later takes no space and changes no metadata. It does not shrink a file. Durable
	// after Sync. After an error the file has its old size.
	Allocate(size int64) error
}
