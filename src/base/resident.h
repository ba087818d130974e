/*
 * Code that was needed once, to start or to send something, stays in a process's memory: the kernel
 * maps sixteen pages around each that is touched. This gives it back.
 */
#ifndef BASE_RESIDENT_H
#define BASE_RESIDENT_H

/*
 * Unmaps the pages of what is only read of the program and its libraries. What is needed again
 * comes back from the page cache, page by page as it is touched. A segment that somebody has
 * changed in memory (a debugger, relocations in code) is left alone. Does nothing where the kernel
 * does not tell. Callable from any thread.
 */
void resident_give_back(void);

#endif
