#ifndef CALLOCATION_COUNTER_H
#define CALLOCATION_COUNTER_H

// A program that links this has its own `malloc`, `calloc` and `realloc`, which count and leave the work to the C library.

/// How often this thread has asked for memory since it began, whoever asked in its name.
long allocation_count(void);

/// How many bytes this thread has asked for since it began, given back or not.
long allocated_byte_count(void);

/// How often the Swift runtime did so: for every object, closure, box, and buffer of an array or a string.
///
/// The difference to `allocation_count` in plain Swift code are the frames of coroutines, by which code that is not
/// optimised reads the elements of collections.
long swift_allocation_count(void);

/// How many bytes the program has allocated and not freed, by the C library's own count.
long held_byte_count(void);

/// How many bytes the C library has given to an allocation, which are no fewer than were asked for.
long byte_count_of(const void *memory);

#endif
