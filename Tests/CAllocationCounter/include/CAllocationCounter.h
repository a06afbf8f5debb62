#ifndef CALLOCATION_COUNTER_H
#define CALLOCATION_COUNTER_H

/// How often this thread has asked for memory since it began: everything that Swift and C code allocate on the heap.
///
/// A program that links this has its own `malloc`, `calloc` and `realloc`, which count and leave the work to the C library.
long allocation_count(void);

#endif
