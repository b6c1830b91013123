/* Allocations of Python's, or of what NumPy's arrays hold, are counted, and one of them fails. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_long count;
static long failing;

static int fails(void) { return atomic_fetch_add(&count, 1) + 1 == failing; }

/* Python's three allocators: raw, of memory, of objects (PyMemAllocatorEx). */
typedef struct {
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Allocator;

void PyMem_GetAllocator(int, Allocator *);
void PyMem_SetAllocator(int, Allocator *);
static Allocator real[3];

static void *take(void *of, size_t n) {
    Allocator *a = of;
    return fails() ? NULL : a->malloc(a->context, n);
}
static void *take_clear(void *of, size_t k, size_t n) {
    Allocator *a = of;
    return fails() ? NULL : a->calloc(a->context, k, n);
}
static void *take_again(void *of, void *at, size_t n) {
    Allocator *a = of;
    return fails() ? NULL : a->realloc(a->context, at, n);
}
static void give_back(void *of, void *at) {
    Allocator *a = of;
    a->free(a->context, at);
}

/* From now on the `number`th allocation fails, from 1; 0 for none. */
void begin_python(long number) {
    failing = number;
    atomic_store(&count, 0);
    for (int domain = 0; domain < 3; domain++) {
        PyMem_GetAllocator(domain, &real[domain]);
        Allocator counted = {&real[domain], take, take_clear, take_again, give_back};
        PyMem_SetAllocator(domain, &counted);
    }
}

long end_python(void) {
    for (int domain = 0; domain < 3; domain++) PyMem_SetAllocator(domain, &real[domain]);
    return atomic_load(&count);
}

/* A handler of NumPy's (PyDataMem_Handler), which `PyDataMem_SetHandler` takes. */
static void *array_take(void *of, size_t n) { (void)of; return fails() ? NULL : malloc(n); }
static void *array_take_clear(void *of, size_t k, size_t n) { (void)of; return fails() ? NULL : calloc(k, n); }
static void *array_take_again(void *of, void *at, size_t n) { (void)of; return fails() ? NULL : realloc(at, n); }
static void array_give_back(void *of, void *at, size_t n) { (void)of, (void)n; free(at); }

typedef struct {
    char name[127];
    unsigned char version;
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
} Handler;

static Handler counted_arrays = {
    "counted", 1, NULL, array_take, array_take_clear, array_take_again, array_give_back};

Handler *begin_arrays(long number) {
    failing = number;
    atomic_store(&count, 0);
    return &counted_arrays;
}

long end_arrays(void) { return atomic_load(&count); }
