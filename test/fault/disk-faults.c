/*
 * Loaded into a server by LD_PRELOAD: makes calls on files fail as a broken disk does. What fails is said by the file TEST_DISK_FAULTS,
 * mapped as `struct faults`, which the test writes while the server runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OF_WRITES = 1, OF_SYNCS = 2, OF_READS = 4, OF_ENTRIES = 8 };
enum { NONE, FAIL, SHORT, SLOW, HANG };

struct faults {
  int32_t kind;
  int32_t error;
  int32_t calls;      /* mask */
  int32_t skipped;    /* matching calls that pass before the first that does not */
  int32_t count;      /* calls that do not pass; negative: all */
  int32_t end;        /* only calls at offsets below it; 0: all */
  int32_t injected;   /* written by this library */
  char path[228];     /* a part of the path */
};

static volatile struct faults *faults;

__attribute__((constructor)) static void load(void) {
  const char *name = getenv("TEST_DISK_FAULTS");
  int fd = name == NULL ? -1 : open(name, O_RDWR);
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) faults = map;
  close(fd);
}

/* The kind of the fault of a call on this path, or NONE. */
static int inject_at(const char *path, int call) {
  if (faults == NULL || faults->kind == NONE || (faults->calls & call) == 0) return NONE;
  if (strstr(path, (const char *)faults->path) == NULL) return NONE;
  if (__sync_sub_and_fetch(&faults->skipped, 1) >= 0) return NONE;
  int before = __sync_fetch_and_add(&faults->injected, 1);
  if (faults->count >= 0 && before >= faults->count) {
    __sync_sub_and_fetch(&faults->injected, 1);
    return NONE;
  }
  if (faults->kind == SLOW) {
    usleep(200000);
    return NONE;
  }
  if (faults->kind == HANG) {
    while (faults->kind == HANG) usleep(10000);
    return NONE;
  }
  return faults->kind;
}

/* The same for an open file. `offset` is -1 where there is none. */
static int inject(int fd, int call, off_t offset) {
  char link[64], path[1024];
  if (faults == NULL || faults->kind == NONE || (faults->calls & call) == 0) return NONE;
  if (faults->end > 0 && (offset < 0 || offset >= faults->end)) return NONE;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return NONE;
  path[length] = 0;
  return inject_at(path, call);
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = dlsym(RTLD_NEXT, #name)

/* Half of the bytes; what is one byte long is written. */
#define TRANSFER(fd, call, offset, whole, half) \
  switch (inject(fd, call, offset)) { \
  case FAIL: errno = faults->error; return -1; \
  case SHORT: return half; \
  default: return whole; \
  }

static size_t halved(size_t size) { return size > 1 ? size / 2 : size; }

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  TRANSFER(fd, OF_WRITES, -1, real(fd, data, size), real(fd, data, halved(size)));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  REAL(pwrite);
  TRANSFER(fd, OF_WRITES, offset, real(fd, data, size, offset), real(fd, data, halved(size), offset));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  REAL(pwrite64);
  TRANSFER(fd, OF_WRITES, offset, real(fd, data, size, offset), real(fd, data, halved(size), offset));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  TRANSFER(fd, OF_WRITES, -1, real(fd, parts, count), real(fd, parts, (int)halved((size_t)count)));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  REAL(pwritev);
  TRANSFER(fd, OF_WRITES, offset, real(fd, parts, count, offset), real(fd, parts, (int)halved((size_t)count), offset));
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  REAL(pwritev64);
  TRANSFER(fd, OF_WRITES, offset, real(fd, parts, count, offset), real(fd, parts, (int)halved((size_t)count), offset));
}

ssize_t read(int fd, void *data, size_t size) {
  REAL(read);
  TRANSFER(fd, OF_READS, -1, real(fd, data, size), real(fd, data, halved(size)));
}

ssize_t pread(int fd, void *data, size_t size, off_t offset) {
  REAL(pread);
  TRANSFER(fd, OF_READS, offset, real(fd, data, size, offset), real(fd, data, halved(size), offset));
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset) {
  REAL(pread64);
  TRANSFER(fd, OF_READS, offset, real(fd, data, size, offset), real(fd, data, halved(size), offset));
}

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset) {
  REAL(preadv);
  TRANSFER(fd, OF_READS, offset, real(fd, parts, count, offset), real(fd, parts, (int)halved((size_t)count), offset));
}

ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t offset) {
  REAL(preadv64);
  TRANSFER(fd, OF_READS, offset, real(fd, parts, count, offset), real(fd, parts, (int)halved((size_t)count), offset));
}

int fsync(int fd) {
  REAL(fsync);
  TRANSFER(fd, OF_SYNCS, -1, real(fd), real(fd));
}

int fdatasync(int fd) {
  REAL(fdatasync);
  TRANSFER(fd, OF_SYNCS, -1, real(fd), real(fd));
}

int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  TRANSFER(fd, OF_WRITES, -1, real(fd, size), real(fd, size));
}

int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64);
  TRANSFER(fd, OF_WRITES, -1, real(fd, size), real(fd, size));
}

/* Entries of folders: files that are made, opened for writing, renamed or removed. */

#define ENTRY(path, whole) \
  if (inject_at(path, OF_ENTRIES) == FAIL) { \
    errno = faults->error; \
    return -1; \
  } \
  return whole

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) == 0) return real(path, flags, mode); \
    ENTRY(path, real(path, flags, mode)); \
  }

OPEN(open)
OPEN(open64)

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  ENTRY(path, real(path, mode));
}

int rename(const char *from, const char *to) {
  REAL(rename);
  ENTRY(to, real(from, to));
}

int link(const char *from, const char *to) {
  REAL(link);
  ENTRY(to, real(from, to));
}

int unlink(const char *path) {
  REAL(unlink);
  ENTRY(path, real(path));
}

int rmdir(const char *path) {
  REAL(rmdir);
  ENTRY(path, real(path));
}
