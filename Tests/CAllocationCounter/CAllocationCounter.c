#include "CAllocationCounter.h"
#include <stddef.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

// What does the work: the C library, or a sanitizer that stands before it.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define original(name) __interceptor_##name
#else
#define original(name) __libc_##name
#endif

void *original(malloc)(size_t size);
void *original(calloc)(size_t count, size_t size);
void *original(realloc)(void *memory, size_t size);

static _Thread_local long count;

long allocation_count(void) { return count; }

void *malloc(size_t size) {
    count++;
    return original(malloc)(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    return original(calloc)(number, size);
}

void *realloc(void *memory, size_t size) {
    count++;
    return original(realloc)(memory, size);
}
