/* SPDX-License-Identifier: MIT */
/*
 * The system calls newlib needs. There are no files and no heap: output goes to the console, and
 * sbrk refuses, so that a program that allocates fails at its first call and not after hours.
 */
#include "boot.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#undef errno
extern int errno;

int boot_console_write(const char *bytes, int n);

int _write(int file, const char *bytes, int n);
int _read(int file, char *bytes, int n);
int _close(int file);
int _lseek(int file, int offset, int whence);
int _fstat(int file, struct stat *st);
int _isatty(int file);
void *_sbrk(ptrdiff_t increment);
int _getpid(void);
int _kill(int pid, int signal);
__attribute__((noreturn)) void _exit(int status);

int _write(int file, const char *bytes, int n) {
  if (file != 1 && file != 2) {
    errno = EBADF;
    return -1;
  }
  return boot_console_write(bytes, n);
}

int _read(int file, char *bytes, int n) {
  (void)file, (void)bytes, (void)n;
  errno = EBADF;
  return -1;
}

int _close(int file) {
  (void)file;
  return 0;
}

int _lseek(int file, int offset, int whence) {
  (void)file, (void)offset, (void)whence;
  return 0;
}

int _fstat(int file, struct stat *st) {
  (void)file;
  st->st_mode = S_IFCHR;
  return 0;
}

int _isatty(int file) {
  (void)file;
  return 1;
}

void *_sbrk(ptrdiff_t increment) {
  (void)increment;
  errno = ENOMEM;
  return (void *)-1;
}

int _getpid(void) {
  return 1;
}

int _kill(int pid, int signal) {
  (void)pid;
  boot_put("abort: signal ");
  boot_put_decimal((uint32_t)signal);
  boot_put("\n");
  boot_exit(BOOT_EXIT_FAILURE);
}

void _exit(int status) {
  boot_exit(status);
}
