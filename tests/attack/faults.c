/* A disk that fails: calls of the C library on files below one folder are counted, and one of them fails.
 *
 * Loaded before the library (LD_PRELOAD), so that calls of Python, NumPy, Arrow and TensorStore are all seen.
 * Not seen: what the library calls inside itself (fopen, fread), and pages of files that are mapped.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[4096];
static size_t length;
static int log_file = -1, error_number;
static long failing;
static atomic_long count;
static int from_there_on;

/* Count calls below `path`, and write their names to a file; the `call`th, from 1, ends in `error`. With
 * `lasting`, so do all calls behind it that write. */
void begin_faults(const char *path, int log, long call, int error, int lasting) {
    strncpy(folder, path, sizeof folder - 1);
    length = strlen(folder);
    log_file = log, failing = call, error_number = error, from_there_on = lasting;
    atomic_store(&count, 0);
}

long end_faults(void) {
    length = 0;
    return atomic_load(&count);
}

static int fails_at(const char *name, const char *path, int writes) {
    char line[4400];
    if (strncmp(path, folder, length) || (path[length] && path[length] != '/')) return 0;
    long number = atomic_fetch_add(&count, 1) + 1;
    int size = snprintf(line, sizeof line, "%ld\t%s\t%d\t%s\n", number, name, writes, path + length);
    if (log_file >= 0) syscall(SYS_write, log_file, line, (size_t)size);
    if (number != failing && !(from_there_on && writes && failing && number > failing)) return 0;
    errno = error_number;
    return 1;
}

static int fails_in(const char *name, int file, int writes) {
    char link[64], path[4096];
    if (!length || file < 0 || file == log_file) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long size = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return fails_at(name, path, writes);
}

static int fails_on(const char *name, int at, const char *path, int writes) {
    char link[64], whole[8192];
    if (!length || !path) return 0;
    if (*path == '/') return fails_at(name, path, writes);
    if (!*path) return fails_in(name, at, writes);
    long size;
    if (at == AT_FDCWD) {
        if (syscall(SYS_getcwd, whole, 4096) <= 0) return 0;
        size = (long)strlen(whole);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        size = syscall(SYS_readlink, link, whole, 4095);
        if (size <= 0) return 0;
    }
    snprintf(whole + size, sizeof whole - (size_t)size, "/%s", path);
    return fails_at(name, whole, writes);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define ON_FILE(kind, name, said, writes, takes, ...) \
    kind name takes { REAL(name); return fails_in(said, file, writes) ? -1 : real(__VA_ARGS__); }
#define ON_PATH(kind, name, said, at, path, writes, takes, ...) \
    kind name takes { REAL(name); return fails_on(said, at, path, writes) ? -1 : real(__VA_ARGS__); }

#define OPENS(how) ((how) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) ? 1 : 0)
#define MODE(how) int mode = 0; \
    if ((how) & (O_CREAT | __O_TMPFILE)) { \
        va_list more; va_start(more, how); mode = va_arg(more, int); va_end(more); }
#define OPEN(name) int name(const char *path, int how, ...) { REAL(name); MODE(how); \
    return fails_on("open", AT_FDCWD, path, OPENS(how)) ? -1 : real(path, how, mode); }
#define OPEN_AT(name) int name(int at, const char *path, int how, ...) { REAL(name); MODE(how); \
    return fails_on("open", at, path, OPENS(how)) ? -1 : real(at, path, how, mode); }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

ON_FILE(ssize_t, read, "read", 0, (int file, void *to, size_t size), file, to, size)
ON_FILE(ssize_t, pread, "read", 0, (int file, void *to, size_t size, off_t at), file, to, size, at)
ON_FILE(ssize_t, pread64, "read", 0, (int file, void *to, size_t size, off64_t at), file, to, size, at)
ON_FILE(ssize_t, readv, "read", 0, (int file, const struct iovec *to, int n), file, to, n)
ON_FILE(ssize_t, write, "write", 1, (int file, const void *from, size_t size), file, from, size)
ON_FILE(ssize_t, pwrite, "write", 1, (int file, const void *from, size_t size, off_t at),
        file, from, size, at)
ON_FILE(ssize_t, pwrite64, "write", 1, (int file, const void *from, size_t size, off64_t at),
        file, from, size, at)
ON_FILE(ssize_t, writev, "write", 1, (int file, const struct iovec *from, int n), file, from, n)
ON_FILE(int, fsync, "sync", 1, (int file), file)
ON_FILE(int, fdatasync, "sync", 1, (int file), file)
ON_FILE(int, ftruncate, "truncate", 1, (int file, off_t size), file, size)
ON_FILE(int, ftruncate64, "truncate", 1, (int file, off64_t size), file, size)
ON_FILE(int, fchmod, "chmod", 1, (int file, mode_t mode), file, mode)
ON_FILE(int, flock, "lock", 0, (int file, int how), file, how)
ON_FILE(off_t, lseek, "seek", 0, (int file, off_t at, int from), file, at, from)
ON_FILE(off64_t, lseek64, "seek", 0, (int file, off64_t at, int from), file, at, from)
ON_FILE(ssize_t, copy_file_range, "write", 1, (int in, off64_t *a, int file, off64_t *b, size_t n, unsigned f),
        
        in, a, file, b, n, f)
ssize_t sendfile(int, int, off_t *, size_t);
ssize_t sendfile64(int, int, off64_t *, size_t);
ON_FILE(ssize_t, sendfile, "write", 1, (int file, int in, off_t *at, size_t n), file, in, at, n)
ON_FILE(ssize_t, sendfile64, "write", 1, (int file, int in, off64_t *at, size_t n), file, in, at, n)
ON_FILE(int, fstat, "stat", 0, (int file, struct stat *to), file, to)
ON_FILE(int, fstat64, "stat", 0, (int file, struct stat64 *to), file, to)
ON_PATH(int, stat, "stat", AT_FDCWD, path, 0, (const char *path, struct stat *to), path, to)
ON_PATH(int, stat64, "stat", AT_FDCWD, path, 0, (const char *path, struct stat64 *to), path, to)
ON_PATH(int, lstat, "stat", AT_FDCWD, path, 0, (const char *path, struct stat *to), path, to)
ON_PATH(int, lstat64, "stat", AT_FDCWD, path, 0, (const char *path, struct stat64 *to), path, to)
ON_PATH(int, fstatat, "stat", at, path, 0, (int at, const char *path, struct stat *to, int f),
        at, path, to, f)
ON_PATH(int, fstatat64, "stat", at, path, 0, (int at, const char *path, struct stat64 *to, int f),
        at, path, to, f)
ON_PATH(int, statx, "stat", at, path, 0, (int at, const char *path, int f, unsigned m, struct statx *to),
        at, path, f, m, to)
/* As libraries call them that were built for older systems. */
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat(int, int, struct stat *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
ON_PATH(int, __xstat, "stat", AT_FDCWD, path, 0, (int v, const char *path, struct stat *to), v, path, to)
ON_PATH(int, __xstat64, "stat", AT_FDCWD, path, 0, (int v, const char *path, struct stat64 *to), v, path, to)
ON_PATH(int, __lxstat, "stat", AT_FDCWD, path, 0, (int v, const char *path, struct stat *to), v, path, to)
ON_PATH(int, __lxstat64, "stat", AT_FDCWD, path, 0, (int v, const char *path, struct stat64 *to), v, path, to)
ON_FILE(int, __fxstat, "stat", 0, (int v, int file, struct stat *to), v, file, to)
ON_FILE(int, __fxstat64, "stat", 0, (int v, int file, struct stat64 *to), v, file, to)
ON_PATH(int, __fxstatat, "stat", at, path, 0, (int v, int at, const char *path, struct stat *to, int f),
        v, at, path, to, f)
ON_PATH(int, __fxstatat64, "stat", at, path, 0, (int v, int at, const char *path, struct stat64 *to, int f),
        v, at, path, to, f)
ON_PATH(int, access, "stat", AT_FDCWD, path, 0, (const char *path, int how), path, how)
ON_PATH(int, faccessat, "stat", at, path, 0, (int at, const char *path, int how, int f), at, path, how, f)
ON_PATH(ssize_t, readlink, "stat", AT_FDCWD, path, 0, (const char *path, char *to, size_t n), path, to, n)
ON_PATH(ssize_t, readlinkat, "stat", at, path, 0, (int at, const char *path, char *to, size_t n),
        at, path, to, n)
ON_PATH(int, truncate, "truncate", AT_FDCWD, path, 1, (const char *path, off_t n), path, n)
ON_PATH(int, chmod, "chmod", AT_FDCWD, path, 1, (const char *path, mode_t mode), path, mode)
ON_PATH(int, fchmodat, "chmod", at, path, 1, (int at, const char *path, mode_t mode, int f),
        at, path, mode, f)
ON_PATH(int, utimensat, "chmod", at, path, 1, (int at, const char *path, const struct timespec t[2], int f),
        at, path, t, f)
ON_PATH(int, mkdir, "mkdir", AT_FDCWD, path, 1, (const char *path, mode_t mode), path, mode)
ON_PATH(int, mkdirat, "mkdir", at, path, 1, (int at, const char *path, mode_t mode), at, path, mode)
ON_PATH(int, rmdir, "remove", AT_FDCWD, path, 0, (const char *path), path)
ON_PATH(int, unlink, "remove", AT_FDCWD, path, 0, (const char *path), path)
ON_PATH(int, unlinkat, "remove", at, path, 0, (int at, const char *path, int f), at, path, f)
ON_PATH(int, remove, "remove", AT_FDCWD, path, 0, (const char *path), path)
ON_PATH(int, link, "link", AT_FDCWD, path, 1, (const char *path, const char *other), path, other)
ON_PATH(int, linkat, "link", at, path, 1, (int at, const char *path, int b, const char *other, int f),
        at, path, b, other, f)
ON_PATH(int, symlink, "link", AT_FDCWD, other, 1, (const char *path, const char *other), path, other)
ON_PATH(int, rename, "rename", AT_FDCWD, path, 1, (const char *path, const char *other), path, other)
ON_PATH(int, renameat, "rename", at, path, 1, (int at, const char *path, int b, const char *other),
        at, path, b, other)
ON_PATH(int, renameat2, "rename", at, path, 1, (int at, const char *path, int b, const char *other, unsigned f),
        
        at, path, b, other, f)

/* A file whose closing fails is closed all the same. */
int close(int file) {
    REAL(close);
    int fails = fails_in("close", file, 0), kept = errno, done = real(file);
    if (fails) errno = kept;
    return fails ? -1 : done;
}

DIR *opendir(const char *path) {
    REAL(opendir);
    return fails_on("list", AT_FDCWD, path, 0) ? NULL : real(path);
}

DIR *fdopendir(int file) {
    REAL(fdopendir);
    return fails_in("list", file, 0) ? NULL : real(file);
}

struct dirent *readdir(DIR *of) {
    REAL(readdir);
    return fails_in("list", dirfd(of), 0) ? NULL : real(of);
}

struct dirent64 *readdir64(DIR *of) {
    REAL(readdir64);
    return fails_in("list", dirfd(of), 0) ? NULL : real(of);
}

void *mmap(void *at, size_t size, int how, int flags, int file, off_t from) {
    REAL(mmap);
    return fails_in("map", file, 0) ? MAP_FAILED : real(at, size, how, flags, file, from);
}

void *mmap64(void *at, size_t size, int how, int flags, int file, off64_t from) {
    REAL(mmap64);
    return fails_in("map", file, 0) ? MAP_FAILED : real(at, size, how, flags, file, from);
}
