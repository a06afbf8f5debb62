#define _GNU_SOURCE
#include "CAllocationCounter.h"
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

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
static _Thread_local long byte_count;
static _Thread_local long swift_count;

// The one function through which the Swift runtime allocates.
extern void *swift_slowAlloc(size_t size, size_t alignment_mask);
static uintptr_t swift_function;
static uintptr_t swift_function_size;

__attribute__((constructor)) static void find_swift_function(void) {
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (dladdr1((void *)swift_slowAlloc, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL) return;
    swift_function = (uintptr_t)info.dli_saddr;
    swift_function_size = symbol->st_size;
}

long allocation_count(void) { return count; }

long allocated_byte_count(void) { return byte_count; }

long swift_allocation_count(void) { return swift_count; }

long held_byte_count(void) {
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}

long byte_count_of(const void *memory) { return (long)malloc_usable_size((void *)memory); }

void *malloc(size_t size) {
    count++;
    byte_count += size;
    if ((uintptr_t)__builtin_return_address(0) - swift_function < swift_function_size) swift_count++;
    return original(malloc)(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    byte_count += number * size;
    return original(calloc)(number, size);
}

void *realloc(void *memory, size_t size) {
    count++;
    byte_count += size;
    return original(realloc)(memory, size);
}
